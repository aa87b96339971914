"""The lowest and the highest NDCG that judging the unjudged documents could give; `extremes` has the method."""

import functools
from collections.abc import Sequence

import pandas as pd
from pyspark import cloudpickle
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.functions import pandas_udf
from pyspark.sql.types import ArrayType, DoubleType

from ndcg_spark import errors, reference, user_functions
from ndcg_spark.convention import options
from ndcg_spark.convention.convention import Convention
from ndcg_spark.convention.cutoffs import Cutoff, column_at
from ndcg_spark.convention.options import TIES
from ndcg_spark.convention.values import MOST_GRADES
from ndcg_spark.errors import ConventionError
from ndcg_spark.reference import unjudged_gain
from ndcg_spark.scoring import extremes, ranking
from ndcg_spark.scoring.gains import gain
from ndcg_spark.scoring.ranking import RANK
from ndcg_spark.scoring.refusals import NEGATIVE_IN_BOUNDS, refusal

#: The gains of a query's judged documents, and all gains that a document can get, arrays of double.
JUDGED_GAINS, GAINS = "judged_gains", "possible_gains"
_NOTHING = {"zero": 0.0, "one": 1.0}


def refuse_unbounded(convention: Convention) -> None:
    """ConventionError if a judgment can change more than its document's gain."""
    c = convention
    reasons = [
        (c.unjudged == "drop", "unjudged=drop removes unjudged documents from their list; set unjudged=zero"),
        (TIES[c.ties].by == "gain", f"ties={c.ties} orders documents by their gain; set ties=doc_id_desc"),
        (
            c.ideal not in ("judged", "judged_capped"),
            f"ideal={c.ideal} is not made of the judged documents; set ideal=judged",
        ),
    ]
    broken = [reason for wrong, reason in reasons if wrong]
    if broken:
        raise ConventionError(f"bounds: not defined under this convention: {'; '.join(broken)}")


def of_queries(documents: DataFrame, key: list[str], convention: Convention, depth: Cutoff) -> DataFrame:
    """One row per judged query: its key, JUDGED_GAINS down to `depth`, the largest first, and GAINS.

    The grades that a document can get are the whole numbers up to the highest grade of the judgments, or `max_grade`.
    If any grade is not whole, they are the grades of the judgments, and 0.
    """
    largest_first = F.sort_array(F.collect_list("gain"), asc=False)
    best = largest_first if depth is None else F.slice(largest_first, 1, depth)
    lowest = F.min("gain")
    gains = F.when(F.coalesce(lowest >= 0, F.lit(True)), best).otherwise(F.array(refusal(NEGATIVE_IN_BOUNDS, key)))
    return documents.groupBy(*key).agg(gains.alias(JUDGED_GAINS)).crossJoin(F.broadcast(_gains(documents, convention)))


def of_lists(convention: Convention) -> dict[str, Column]:
    """The aggregate over the documents of a list that bounds need: the ranks of its unjudged documents, ascending."""
    listed = ranking.is_listed(convention)
    return {"unjudged_ranks": F.sort_array(F.collect_list(F.when(listed & ~F.col("judged"), F.col(RANK))))}


def with_bounds(table: DataFrame, convention: Convention, cutoffs: Sequence[Cutoff]) -> DataFrame:
    """The table with `ndcg_low_K` and `ndcg_high_K` at every cutoff K, null where no judgments give a score.

    It has one row per run and judged query, with dcg_K, `returned` and the column of `of_lists`, all null for a missing
    query, and those of `of_queries`.
    """
    dcg = F.array(*(F.coalesce(column_at("dcg", k), F.lit(0.0)) for k in cutoffs))
    ranks = F.coalesce("unjudged_ranks", F.array().cast("array<int>"))
    rules = extremes.Rules(
        list(cutoffs),
        functools.partial(reference.discounts, rule=convention.discount),
        unjudged_gain(convention),
        convention.ideal == "judged_capped",
        _NOTHING.get(convention.no_relevant, float("nan")),
    )
    returned = F.coalesce("returned", F.lit(0))
    missing = F.col("returned").isNull() if convention.missing_query != "zero" else F.lit(False)
    table = table.withColumn("bounds", _extremes(dcg, ranks, returned, rules))
    return table.withColumns(
        {
            column_at(name, k): F.when(~missing, F.nanvl(F.col("bounds")[2 * at + side], F.lit(None).cast("double")))
            for at, k in enumerate(cutoffs)
            for side, name in enumerate(("ndcg_low", "ndcg_high"))
        }
    )


def _extremes(dcg: Column, ranks: Column, returned: Column, rules: extremes.Rules) -> Column:
    """An array of double: the lowest and the highest NDCG at each cutoff, in turn, null where there is none."""
    send_to_workers()

    def of_lists(
        dcg: pd.Series, ranks: pd.Series, returned: pd.Series, judged_gains: pd.Series, gains: pd.Series
    ) -> pd.Series:
        lists = (list(dcg), list(ranks), list(returned), list(judged_gains))
        return pd.Series(extremes.at_cutoffs(*lists, gains.iloc[0], rules))

    wrapped = pandas_udf(of_lists, ArrayType(DoubleType()))  # type: ignore[call-overload]  # its stub has no default
    computed: Column = wrapped(dcg, ranks, returned, F.col(JUDGED_GAINS), F.col(GAINS))
    return computed


def send_to_workers() -> None:
    """Send the modules of the UDF to the workers along with it, because the workers of a cluster may not have them."""
    for module in (errors, extremes, options, reference, user_functions):
        cloudpickle.register_pickle_by_value(module)  # type: ignore[no-untyped-call]  # it ships no types


def _gains(documents: DataFrame, convention: Convention) -> DataFrame:
    """One row with GAINS: those of all grades that a document can get, and that of an unjudged document."""
    grades = documents.where(F.col("relevance") >= 0)
    highest = F.max("relevance") if isinstance(convention.max_grade, str) else F.lit(convention.max_grade)
    totals = grades.agg(
        F.coalesce(highest, F.lit(0.0)).alias("highest"),
        F.collect_set("relevance").alias("grades"),
        F.coalesce(F.max(F.col("relevance") % 1), F.lit(0.0)).alias("rest"),
    )
    are_whole = (F.col("rest") == 0) & (F.col("highest") <= MOST_GRADES)
    whole = F.sequence(F.lit(0), F.when(are_whole, F.col("highest")).otherwise(F.lit(0.0)).cast("int"))
    grades = totals.select(F.explode(F.array_union(whole.cast("array<double>"), F.col("grades"))).alias("relevance"))
    worth = F.coalesce(gain(F.col("relevance"), convention), F.lit(unjudged_gain(convention)))
    gains = grades.select(worth.alias("gain")).where(F.col("gain") >= 0)
    unjudged = F.array(F.lit(max(unjudged_gain(convention), 0.0)))
    return gains.agg(F.array_union(F.collect_set("gain"), unjudged).alias(GAINS))
