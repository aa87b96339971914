"""What the measures beside NDCG need of documents, lists and queries, in the same pass over the same ranked documents.

What concerns a document is a column of it; what concerns a list is a sum over its documents, or an array of its judged
ones. `measured` makes the measures of these.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from ndcg_spark.convention.convention import Convention
from ndcg_spark.convention.measures import GRADED, MEASURES, Asked
from ndcg_spark.errors import ConventionError
from ndcg_spark.scoring import ranking
from ndcg_spark.scoring.gains import counted
from ndcg_spark.scoring.ranking import RANK
from ndcg_spark.scoring.sums import named, within

#: The highest grade of the judgments, as a column of judged documents.
HIGHEST = "highest_grade"
#: How many documents of a query are relevant, and how many of its judged documents are not.
RELEVANT, OTHERS = "relevant_documents", "other_documents"

#: Which measures each sum over documents is for.
_SUMS = {
    "relevant": ("precision", "recall", "success", "ap"),
    "weighted_worth": ("rbp",),
    "weighted_unknown": ("rbp",),
    "known": ("judged",),
}
#: Which measures each column of documents is for.
_USES = {
    "relevant": ("precision", "recall", "success", "ap", "rr", "bpref"),
    "known": ("judged",),
    "unknown": ("rbp",),
    "worth": ("rbp",),
    "stop": ("err",),
}


def refuse_averaged(convention: Convention, asked: Asked) -> None:
    """ConventionError if ties are averaged and a measure has no expectation that is a sum over ranks."""
    wrong = [name for name in asked.companions if not MEASURES[name].averages]
    if convention.ties == "average" and wrong:
        raise ConventionError(
            f"measures: {', '.join(wrong)} would need one order of equal scores, and ties=average takes them all; "
            "leave it out, or set another ties, such as ties=doc_id_desc"
        )


def with_highest(
    documents: DataFrame, judgments: DataFrame, key: list[str], convention: Convention, asked: Asked
) -> DataFrame:
    """The judged documents, with the column HIGHEST if a measure needs it and the convention does not say it.

    The highest grade of all is that of the `judgments` before those of one document are merged, as the check finds it.
    """
    if not asked.has(*GRADED) or not isinstance(convention.max_grade, str):
        return documents
    highest = F.max(counted(F.col("relevance"), convention)).alias(HIGHEST)
    if convention.max_grade == "highest_of_query":
        return documents.join(documents.groupBy(*key).agg(highest), on=key, how="inner")
    return documents.crossJoin(F.broadcast(judgments.agg(highest)))


def of_queries(convention: Convention) -> dict[str, Column]:
    """Aggregates over the judged documents of a query: how many of them are RELEVANT, and how many are OTHERS."""
    judged = F.col("gain").isNotNull()
    relevant = _is_relevant(judged, convention)
    return {RELEVANT: F.count_if(relevant), OTHERS: F.count_if(judged & ~relevant)}


def of_documents(convention: Convention, asked: Asked) -> dict[str, Column]:
    """Columns of ranked documents that were looked up in the judgments, all double: what is averaged over ties.

    `relevant`, `known` (judged) and `unknown` are 1 or 0, `worth` is the share of the highest grade, from 0 to 1, and
    `stop` the probability that the document satisfies the reader (Chapelle et al. 2009).
    """
    judged = F.col("judged")
    highest = F.col(HIGHEST) if isinstance(convention.max_grade, str) else F.lit(convention.max_grade)
    grade = F.greatest(counted(F.col("relevance"), convention), F.lit(0.0))
    graded = judged & (highest > 0)
    stop = F.pow(F.lit(2.0), grade - highest) - F.pow(F.lit(2.0), -highest)
    columns = {
        "relevant": F.when(_is_relevant(judged, convention), 1.0).otherwise(0.0),
        "known": F.when(judged, 1.0).otherwise(0.0),
        "unknown": F.when(judged, 0.0).otherwise(1.0),
        "worth": F.when(graded, grade / highest).otherwise(0.0),
        "stop": F.when(graded, stop).otherwise(0.0),
    }
    # Where ties are not averaged, known documents are counted already.
    unused = set() if convention.ties == "average" else {"known"}
    return {name: column for name, column in columns.items() if asked.has(*_USES[name]) and name not in unused}


def weighted(convention: Convention, asked: Asked) -> dict[str, Column]:
    """Columns of documents whose ties are settled: what has the weight of its rank in RBP (Moffat and Zobel 2008)."""
    if not asked.has("rbp"):
        return {}
    p = convention.rbp_persistence
    weight = F.lit(1.0 - p) * F.pow(F.lit(p), (F.col(RANK) - 1).cast("double"))
    return {f"weighted_{name}": weight * F.col(name) for name in ("worth", "unknown")}


def of_lists(convention: Convention, asked: Asked) -> dict[str, Column]:
    """Aggregates over the documents of a list, by name: sums at every cutoff, and arrays for what depends on order.

    The arrays are of judged documents, in the order of their ranks: `relevant_ranks`, the ranks of the relevant ones;
    `stops`, rank and probability of each that may satisfy the reader; `judged_ranks`, twice the rank of each, and one
    more if it is relevant.
    """
    listed = F.col(ranking.LISTED) if ranking.takes_documents_off(convention) else F.lit(True)
    rank, relevant = F.col(RANK), F.col("relevant")
    aggregates: dict[str, Column] = {}
    for name, measures in _SUMS.items():
        if name == "known" and convention.ties != "average":
            continue
        for k in asked.cutoffs_of(*measures):
            aggregates[named(name, k)] = F.sum(F.when(listed & within(RANK, k), F.col(name)))
    if asked.has("rr"):
        aggregates["first_relevant"] = F.min(F.when(listed & (relevant > 0), rank))
    if asked.has("ap"):
        aggregates["relevant_ranks"] = _in_order(F.when(listed & (relevant > 0), rank))
    if asked.has("err"):
        stop = F.struct(rank.alias("rank"), F.col("stop"))
        aggregates["stops"] = _in_order(F.when(listed & (F.col("stop") > 0), stop))
    if asked.has("bpref"):
        aggregates["judged_ranks"] = _in_order(F.when(listed & F.col("judged"), rank * 2 + relevant.cast("int")))
    return aggregates


def _is_relevant(judged: Column, convention: Convention) -> Column:
    if isinstance(convention.relevant_from, str):
        return judged
    enough = counted(F.col("relevance"), convention) >= F.lit(convention.relevant_from)
    return judged & F.coalesce(enough, F.lit(False))


def _in_order(column: Column) -> Column:
    return F.sort_array(F.collect_list(column))
