"""The one aggregation of a comparison: whatever the number of queries, runs, cutoffs and slices, one pass over them."""

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from ndcg_spark.comparison.pairing import numbered

#: What is aggregated by, beside the slice: see `pairing.paired`.
GROUP = ("alone", "night", "run", "dataset", "cutoff", "slice", "baseline_night", "status", "baseline_status")
#: A difference of which this is the size or less is the noise of adding up in another order.
NOISE = 1e-9


def difference(at: int) -> Column:
    """The difference of a measure, null where either side has no value."""
    return F.col(f"score_{at}") - F.col(f"baseline_{at}")


def aggregated(table: DataFrame, measures: Sequence[str], tie: float, large_loss: float) -> DataFrame:
    """One row per GROUP of a table of `pairing.paired` with the columns slice and weight, in no order.

    Columns: rows, weighed (rows with a weight), attributed (rows with an attribute), and for each
    measure what `_of_measure` has, numbered. Variance and skewness are the engine's own, which adds up distances from
    the mean.
    """
    numbers = [column for at in range(len(numbered("score", measures))) for column in _of_measure(at, tie, large_loss)]
    return table.groupBy(*GROUP).agg(
        F.count(F.lit(1)).alias("rows"),
        F.count("weight").alias("weighed"),
        F.count_if("attributed").alias("attributed"),
        *numbers,
    )


def _of_measure(at: int, tie: float, large_loss: float) -> list[Column]:
    """Of paired queries (with a difference) and of all queries with a score, the counts and sums of one measure."""
    score, baseline, apart = F.col(f"score_{at}"), F.col(f"baseline_{at}"), difference(at)
    weight = F.when(apart.isNotNull(), F.col("weight"))
    columns = {
        "pairs": F.count(apart),
        "mean": F.avg(apart),
        "variance": F.var_pop(apart),
        "skewness": F.skewness(apart),
        "changed": F.count_if(F.abs(apart) > NOISE),
        "wins": F.count_if(apart > tie),
        "losses": F.count_if(apart < -tie),
        # What is lost to the last digit counts as lost.
        "large_losses": F.count_if(apart <= -large_loss + NOISE),
        "paired_sum": F.sum(F.when(apart.isNotNull(), score)),
        "paired_baseline_sum": F.sum(F.when(apart.isNotNull(), baseline)),
        "scores": F.count(score),
        "sum": F.sum(score),
        "baselines": F.count(baseline),
        "baseline_sum": F.sum(baseline),
        "weights": F.count(weight),
        "weight": F.sum(weight),
        "weight_squares": F.sum(weight * weight),
        "largest_weight": F.max(weight),
        "weighted": F.sum(weight * apart),
        "weighted_sum": F.sum(weight * score),
        "weighted_baseline_sum": F.sum(weight * baseline),
    }
    return [column.alias(f"{name}_{at}") for name, column in columns.items()]


def counted(runs: DataFrame) -> DataFrame:
    """One row per night, run, dataset and cutoff of scores not yet paired: rows, evaluation_id. In no order."""
    return runs.groupBy("night", "run", "dataset", "cutoff").agg(
        F.count("query_id").alias("rows"), F.max("evaluation_id").alias("evaluation_id")
    )


def squared(table: DataFrame, wanted: DataFrame, measures: Sequence[str]) -> DataFrame:
    """One row per comparison `id`: squares, the sum of weight^2 (difference - center)^2, in no order.

    `wanted` has id, measure (its number), center, and the columns of GROUP that tell a comparison: see `of`.
    """
    apart = F.col("weight") * (chosen(measures) - F.col("center"))
    return of(table, wanted).groupBy("id").agg(F.sum(apart * apart).alias("squares"))


def of(table: DataFrame, wanted: DataFrame) -> DataFrame:
    """The paired rows of some comparisons, each beside its row of `wanted`; one row per comparison and query."""
    return table.where(~F.col("alone")).join(wanted, on=["night", "run", "dataset", "cutoff", "slice"], how="inner")


def chosen(measures: Sequence[str]) -> Column:
    """The difference of the measure whose number is in the column `measure`."""
    return F.coalesce(*(F.when(F.col("measure") == at, difference(at)) for at in range(len(measures))))


def summed(table: DataFrame, wanted: DataFrame, measures: Sequence[str], units: int) -> DataFrame:
    """One row per comparison `id` and unit: the sums of its differences, and of these times the weights; no order.

    `wanted` is as for `squared`, with `bucketed`: whether a unit is one of `units` buckets of queries, or a query.
    """
    apart = chosen(measures)
    bucket = (F.crc32(F.col("query_id").cast("binary")) % units).cast("string")
    unit = F.when(F.col("bucketed"), bucket).otherwise(F.col("query_id"))
    paired = of(table, wanted).withColumns({"apart": apart, "unit": unit}).where(F.col("apart").isNotNull())
    weighted = F.sum(F.coalesce(F.col("apart") * F.col("weight"), F.lit(0.0)))
    return paired.groupBy("id", "unit").agg(F.sum("apart").alias("apart"), weighted.alias("weighted"))
