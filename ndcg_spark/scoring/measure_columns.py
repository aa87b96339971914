"""Measures other than NDCG, computed in the same pass over the same ranked documents.

`convention.measures` defines each measure.
"""

from collections.abc import Iterator, Mapping, Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ndcg_spark import sql
from ndcg_spark.convention.convention import Convention
from ndcg_spark.convention.measures import Cutoff, Measure, MeasureSet, Names, column_at
from ndcg_spark.errors import ConventionError
from ndcg_spark.scoring import ranking
from ndcg_spark.scoring.ideal import counted_grade
from ndcg_spark.scoring.ranking import RANK, count_where, sums_at

#: The highest grade of the judgments, as a column of judged documents.
HIGHEST = "highest_grade"
#: The numbers of relevant and of other judged documents of a query.
RELEVANT, OTHERS = "relevant_documents", "other_documents"
#: A column of ranked documents: 1 if the document is judged, otherwise 0.
KNOWN = "known"
#: Represents the whole ranking when a rank is compared with a cutoff.
_LAST_RANK = 2**31 - 1


def refuse_averaged(convention: Convention, measures: MeasureSet) -> None:
    wrong = [name for name, measure in measures.beside_ndcg.items() if not measure.averages]
    if convention.ties == "average" and wrong:
        raise ConventionError(
            f"measures: {', '.join(wrong)} needs one order of equal scores, but ties=average "
            "averages over all orderings; remove the measure, or use, for example, ties=doc_id_desc"
        )


def with_highest_grade_column(
    documents: DataFrame,
    judgments: DataFrame,
    key: list[str],
    convention: Convention,
    measures: MeasureSet,
) -> DataFrame:
    """The judged documents, with the column HIGHEST if needed.

    It is needed if a measure uses it and the convention does not set it.
    """
    if not measures.needs_highest_grade or not isinstance(convention.max_grade, str):
        return documents
    # Before a document's grades are merged: the best grade that a judge could give.
    counted = F.expr(counted_grade(HIGHEST, convention))
    if convention.max_grade == "highest_of_query":
        highest_of_queries = highest_grade(judgments, key).withColumn(HIGHEST, counted)
        return highest_of_queries.join(documents, on=key, how="inner")
    highest_of_all = highest_grade(judgments).withColumn(HIGHEST, counted)
    return F.broadcast(highest_of_all).crossJoin(documents)


def highest_grade(judgments: DataFrame, key: Sequence[str] = ()) -> DataFrame:
    """Each query's highest grade; without a key, one row with the highest of all judgments."""
    return judgments.groupBy(*key).agg(F.max("relevance").alias(HIGHEST))


def query_aggregates(convention: Convention, measures: MeasureSet) -> dict[str, str]:
    if not measures.beside_ndcg:
        return {}
    judged = "gain is not null"
    relevant = _is_relevant(convention)
    return {
        RELEVANT: count_where(f"{judged} and {relevant}"),
        OTHERS: count_where(f"{judged} and not {relevant}"),
    }


def document_columns(convention: Convention, measures: MeasureSet) -> dict[str, str]:
    """Columns of ranked documents and their judgments; all are doubles and averaged over ties.

    `known` (judged) is always present. `relevant`, `known` and `unjudged` are 1 or 0. `worth` is
    the grade as a share of the highest grade, from 0 to 1. `stop` is the probability that the
    document satisfies the reader (Chapelle et al. 2009).
    """
    highest = HIGHEST
    if not isinstance(convention.max_grade, str):
        highest = sql.number(convention.max_grade)
    grade = f"greatest({counted_grade('relevance', convention)}, 0D)"
    graded = f"judged and {highest} > 0"
    stop = f"pow(2D, {grade} - {highest}) - pow(2D, -{highest})"
    columns = {
        "relevant": f"if(judged and {_is_relevant(convention)}, 1D, 0D)",
        KNOWN: "if(judged, 1D, 0D)",
        "unjudged": "if(judged, 0D, 1D)",
        "worth": f"if({graded}, {grade} / {highest}, 0D)",
        "stop": f"if({graded}, {stop}, 0D)",
    }
    needed = {column for measure in measures.beside_ndcg.values() for column in measure.documents}
    needed.add(KNOWN)
    return {name: column for name, column in columns.items() if name in needed}


def rank_columns(convention: Convention, measures: MeasureSet) -> dict[str, str]:
    """The columns that measures sum over ranks, unless documents already have them."""
    at = _names(convention)
    columns = {}
    for measure in measures.beside_ndcg.values():
        for name, formula in measure.sums.items():
            if formula is not None:
                columns[name] = formula(at)
    return columns


def list_aggregates(convention: Convention, measures: MeasureSet) -> dict[str, str]:
    at = _names(convention)
    aggregates: dict[str, str] = {}
    for name, measure in measures.beside_ndcg.items():
        for column in measure.sums:
            value = f"case when {at.listed} then {column} end"
            aggregates |= sums_at(measures.cutoffs_for(name), column, value)
        for column, formula in measure.lists.items():
            aggregates[column] = formula(at)
    return aggregates


def measure_values(
    convention: Convention, measures: MeasureSet
) -> Iterator[tuple[str, str, Measure]]:
    """The name of each measure at each cutoff, its SQL, and the measure."""
    for name, measure in measures.beside_ndcg.items():
        for column, formula in measure.values.items():
            for k in measures.cutoffs_for(name):
                sums = {total: column_at(total, k) for total in measure.sums}
                at = _names(convention, k, sums)
                yield column_at(column, k), formula(at), measure


def _names(
    convention: Convention,
    cutoff: Cutoff = None,
    sums: Mapping[str, str] | None = None,
) -> Names:
    return Names(
        rank=RANK,
        listed=ranking.is_listed(convention),
        k=cutoff or _LAST_RANK,
        ranks="greatest(returned, 1)" if cutoff is None else str(cutoff),
        is_whole=cutoff is None,
        persistence=convention.rbp_persistence,
        sums=sums or {},
    )


def _is_relevant(convention: Convention) -> str:
    """Whether a judged document is relevant."""
    if isinstance(convention.relevant_from, str):
        return "true"
    grade = counted_grade("relevance", convention)
    return f"coalesce({grade} >= {sql.number(convention.relevant_from)}, false)"
