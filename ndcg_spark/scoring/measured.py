"""The measures beside NDCG at every cutoff, made of what `companions` has summed of each list and each query."""

from collections.abc import Callable, Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from ndcg_spark.convention.convention import Convention
from ndcg_spark.convention.cutoffs import Cutoff
from ndcg_spark.convention.measures import Asked
from ndcg_spark.scoring.companions import OTHERS, RELEVANT
from ndcg_spark.scoring.refusals import MISSING_QUERY, NO_RELEVANT, refusal
from ndcg_spark.scoring.sums import named

#: The measures that divide by the number of relevant documents.
_RATIOS = ("recall", "ap", "bpref")


def with_measures(table: DataFrame, key: Sequence[str], convention: Convention, asked: Asked) -> DataFrame:
    """The table with every measure at every cutoff, as `precision_5`, double, from 0 to 1, null where it is left out.

    It has one row per run and judged query, with `returned` and the columns of `companions.of_lists`, all null for a
    missing query, and those of `companions.of_queries`. All measures of a query are left out together: where it is
    missing or without a relevant document, and the convention skips such queries. Where it has none, the convention
    also says what recall, ap and bpref are, which divide by their number; the others are computed.
    """
    if asked.has("ap"):
        # No rank is 0, but `/` fails on Sail with a division by zero where the lists of a batch are empty.
        precisions = F.transform("relevant_ranks", lambda rank, at: F.try_divide(at + 1, rank))
        table = table.withColumn("precisions", precisions)
    if asked.has("err"):
        table = table.withColumn("satisfied", _satisfied(asked.cutoffs_of("err")))
    values: dict[str, Column] = {}
    for name in asked.companions:
        for column, of in _VALUES[name].items():
            for k in asked.cutoffs_of(name):
                values[named(column, k)] = _by_policy(name, of(k, convention), key, convention)
    return table.withColumns(values)


def columns_at(cutoff: Cutoff, asked: Asked) -> dict[str, str]:
    """For each column of the measures, the one of `with_measures` with its values at this cutoff."""
    own = [name for name in asked.companions if cutoff in asked.cutoffs_of(name)]
    return {column: named(column, cutoff) for name in own for column in _VALUES[name]}


def _satisfied(cutoffs: Sequence[Cutoff]) -> Column:
    """A struct with ERR at every cutoff, summed along the list: at each rank the readers who went on so far."""
    names = [named("err", k) for k in cutoffs]
    none = F.lit(0.0)
    start = F.struct(F.lit(1.0).alias("reading"), *(none.alias(name) for name in names))

    def step(so_far: Column, document: Column) -> Column:
        share = so_far["reading"] * document["stop"] / document["rank"]
        sums = (
            (so_far[name] + (share if k is None else F.when(document["rank"] <= k, share).otherwise(none))).alias(name)
            for name, k in zip(names, cutoffs, strict=True)
        )
        return F.struct((so_far["reading"] * (1.0 - document["stop"])).alias("reading"), *sums)

    return F.aggregate("stops", start, step)


def _precision(k: Cutoff, _: Convention) -> Column:
    return _per_rank("relevant", k)


def _judged(k: Cutoff, convention: Convention) -> Column:
    return _per_rank("known" if convention.ties == "average" else "judged", k)


def _per_rank(name: str, k: Cutoff) -> Column:
    """A sum over ranks by their number: k, or of the whole ranking as many as it has."""
    ranks = F.greatest(F.col("returned"), F.lit(1)) if k is None else F.lit(k)
    return F.col(named(name, k)) / ranks


def _recall(k: Cutoff, _: Convention) -> Column:
    return F.col(named("relevant", k)) / _at_least_one(RELEVANT)


def _average_precision(k: Cutoff, _: Convention) -> Column:
    within_k = F.slice("precisions", 1, F.col(named("relevant", k)).cast("int"))
    return _sum(within_k) / _at_least_one(RELEVANT)


def _reciprocal_rank(k: Cutoff, _: Convention) -> Column:
    first = F.col("first_relevant")
    return F.when(first.isNotNull() & (F.lit(True) if k is None else first <= k), 1.0 / first).otherwise(0.0)


def _success(k: Cutoff, _: Convention) -> Column:
    return F.when(F.col(named("relevant", k)) > 0, 1.0).otherwise(0.0)


def _expected_reciprocal_rank(k: Cutoff, _: Convention) -> Column:
    return F.col("satisfied")[named("err", k)]


def _bpref(_: Cutoff, __: Convention) -> Column:
    """As trec_eval 9 computes it: summed along the list, with the number of others so far."""
    relevant = F.col(RELEVANT).cast("double")
    most = F.greatest(F.least(F.col(OTHERS).cast("double"), relevant), F.lit(1.0))
    start = F.struct(F.lit(0.0).alias("others"), F.lit(0.0).alias("sum"))

    def step(so_far: Column, code: Column) -> Column:
        is_relevant = (code % 2).cast("double")
        share = 1.0 - F.least(so_far["others"], relevant) / most
        return F.struct(
            (so_far["others"] + 1.0 - is_relevant).alias("others"), (so_far["sum"] + is_relevant * share).alias("sum")
        )

    return F.aggregate("judged_ranks", start, step)["sum"] / _at_least_one(RELEVANT)


def _sum(numbers: Column) -> Column:
    return F.aggregate(numbers, F.lit(0.0), lambda so_far, number: so_far + number)


def _at_least_one(count: str) -> Column:
    return F.greatest(F.col(count), F.lit(1))


def _rbp(k: Cutoff, _: Convention) -> Column:
    return F.col(named("weighted_worth", k))


def _rbp_residual(k: Cutoff, convention: Convention) -> Column:
    """What the unjudged documents could add; of the whole ranking, as trec_eval has it, also those beyond its end."""
    residual = F.col(named("weighted_unknown", k))
    if k is not None:
        return residual
    beyond = F.pow(F.lit(convention.rbp_persistence), F.col("returned").cast("double"))
    return F.when(residual > 0, residual + beyond).otherwise(residual)


#: By measure, the columns that it has, each with its value for a query that the run has answered.
_VALUES: dict[str, dict[str, Callable[[Cutoff, Convention], Column]]] = {
    "precision": {"precision": _precision},
    "recall": {"recall": _recall},
    "ap": {"ap": _average_precision},
    "rr": {"rr": _reciprocal_rank},
    "success": {"success": _success},
    "rbp": {"rbp": _rbp, "rbp_residual": _rbp_residual},
    "err": {"err": _expected_reciprocal_rank},
    "bpref": {"bpref": _bpref},
    "judged": {"judged_share": _judged},
}


def _by_policy(measure: str, value: Column, key: Sequence[str], convention: Convention) -> Column:
    """The value of a measure where the query counts, and else what the convention says of such queries."""
    # `returned` is null for a missing query, and refuses a list with a document twice.
    missing, without = F.col("returned").isNull(), F.col(RELEVANT) == 0
    left_out = F.lit(None).cast("double")
    computed = F.coalesce(value, F.lit(0.0))
    ratio = {"one": F.lit(1.0)}.get(convention.no_relevant, F.lit(0.0)) if measure in _RATIOS else computed
    nothing = {"skip": left_out, "error": refusal(NO_RELEVANT, key)}.get(convention.no_relevant, ratio)
    counts = F.when(without, nothing).otherwise(computed)
    if convention.missing_query == "zero":
        return F.when(missing & ~without, F.lit(0.0)).otherwise(counts)
    unanswered = left_out if convention.missing_query == "skip" else refusal(MISSING_QUERY, key)
    return F.when(missing, unanswered).otherwise(counts)
