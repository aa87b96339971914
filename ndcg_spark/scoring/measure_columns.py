"""The measures besides NDCG, in the same pass over the same ranked documents; `convention.measures`
defines each.
"""

from collections.abc import Iterator, Mapping, Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from ndcg_spark.convention.convention import Convention
from ndcg_spark.convention.measures import Cutoff, Measure, MeasureSet, Names, column_at
from ndcg_spark.errors import ConventionError
from ndcg_spark.scoring import ranking
from ndcg_spark.scoring.ideal import counted_grade
from ndcg_spark.scoring.ranking import RANK, sums_at

#: The highest grade of the judgments, as a column of judged documents.
HIGHEST = "highest_grade"
#: How many judged documents of a query are relevant, and how many are not.
RELEVANT, OTHERS = "relevant_documents", "other_documents"
#: Whether a document is judged, as 1 or 0: a column of ranked documents.
KNOWN = "known"
#: Stands for the whole ranking where a rank is compared with a cutoff.
_LAST_RANK = 2**31 - 1


def refuse_averaged(convention: Convention, measures: MeasureSet) -> None:
    wrong = [name for name, measure in measures.beside_ndcg.items() if not measure.averages]
    if convention.ties == "average" and wrong:
        raise ConventionError(
            f"measures: {', '.join(wrong)} needs one order of equal scores, but ties=average "
            "averages over all orders; remove it, or set for example ties=doc_id_desc"
        )


def with_highest_of_query(
    documents: DataFrame,
    judgments: DataFrame,
    key: list[str],
    convention: Convention,
    measures: MeasureSet,
) -> DataFrame:
    """The judged documents, with the column HIGHEST if a measure needs it and the convention does
    not set it.
    """
    if not measures.needs_highest_grade or not isinstance(convention.max_grade, str):
        return documents
    # Before grades of a document are merged: the best grade that a judge could give.
    by_query = key if convention.max_grade == "highest_of_query" else []
    counted = {HIGHEST: counted_grade(F.col(HIGHEST), convention)}
    highest = highest_grade(judgments, by_query).withColumns(counted)
    if by_query:
        return highest.join(documents, on=key, how="inner")
    return F.broadcast(highest).crossJoin(documents)


def highest_grade(judgments: DataFrame, key: Sequence[str] = ()) -> DataFrame:
    """The highest grade of each query; without a key one row with that of all judgments."""
    return judgments.groupBy(*key).agg(F.max("relevance").alias(HIGHEST))


def query_aggregates(convention: Convention, measures: MeasureSet) -> dict[str, Column]:
    if not measures.beside_ndcg:
        return {}
    judged = F.col("gain").isNotNull()
    relevant = _is_relevant(judged, convention)
    return {RELEVANT: F.count_if(relevant), OTHERS: F.count_if(judged & ~relevant)}


def document_columns(convention: Convention, measures: MeasureSet) -> dict[str, Column]:
    """Columns of ranked documents and their judgments, all double, which are averaged over ties.

    `known` (judged) is always there. `relevant`, `known` and `unjudged` are 1 or 0, `worth` is the
    share of the highest grade, from 0 to 1, and `stop` the probability that the document satisfies
    the reader (Chapelle et al. 2009).
    """
    judged = F.col("judged")
    highest = (
        F.col(HIGHEST) if isinstance(convention.max_grade, str) else F.lit(convention.max_grade)
    )
    grade = F.greatest(counted_grade(F.col("relevance"), convention), F.lit(0.0))
    graded = judged & (highest > 0)
    stop = F.pow(F.lit(2.0), grade - highest) - F.pow(F.lit(2.0), -highest)
    columns = {
        "relevant": F.when(_is_relevant(judged, convention), 1.0).otherwise(0.0),
        KNOWN: F.when(judged, 1.0).otherwise(0.0),
        "unjudged": F.when(judged, 0.0).otherwise(1.0),
        "worth": F.when(graded, grade / highest).otherwise(0.0),
        "stop": F.when(graded, stop).otherwise(0.0),
    }
    needed = {column for measure in measures.beside_ndcg.values() for column in measure.documents}
    needed.add(KNOWN)
    return {name: column for name, column in columns.items() if name in needed}


def rank_columns(convention: Convention, measures: MeasureSet) -> dict[str, Column]:
    """What measures sum over ranks, where that is no column of documents already."""
    at, columns = _names(convention), {}
    for measure in measures.beside_ndcg.values():
        for name, formula in measure.sums.items():
            if formula is not None:
                columns[name] = F.expr(formula(at))
    return columns


def list_aggregates(convention: Convention, measures: MeasureSet) -> dict[str, Column]:
    listed, at = ranking.is_listed(convention), _names(convention)
    aggregates: dict[str, Column] = {}
    for name, measure in measures.beside_ndcg.items():
        for column in measure.sums:
            aggregates |= sums_at(measures.cutoffs_for(name), column, F.when(listed, F.col(column)))
        aggregates |= {column: F.expr(formula(at)) for column, formula in measure.lists.items()}
    return aggregates


def measure_values(
    convention: Convention, measures: MeasureSet
) -> Iterator[tuple[str, Column, Measure]]:
    for name, measure in measures.beside_ndcg.items():
        for column, formula in measure.values.items():
            for k in measures.cutoffs_for(name):
                sums = {total: column_at(total, k) for total in measure.sums}
                at = _names(convention, k, sums)
                yield column_at(column, k), F.expr(formula(at)), measure


def _names(
    convention: Convention,
    cutoff: Cutoff = None,
    sums: Mapping[str, str] | None = None,
) -> Names:
    return Names(
        rank=RANK,
        listed=ranking.LISTED if ranking.removes_documents(convention) else "true",
        k=cutoff or _LAST_RANK,
        ranks="greatest(returned, 1)" if cutoff is None else str(cutoff),
        is_whole=cutoff is None,
        persistence=convention.rbp_persistence,
        sums=sums or {},
    )


def _is_relevant(judged: Column, convention: Convention) -> Column:
    if isinstance(convention.relevant_from, str):
        return judged
    enough = counted_grade(F.col("relevance"), convention) >= F.lit(convention.relevant_from)
    return judged & F.coalesce(enough, F.lit(False))
