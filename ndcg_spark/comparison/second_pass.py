"""What needs a second pass over some comparisons: the spread of weighted differences, randomized p values."""

from collections.abc import Sequence
from functools import reduce
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from ndcg_spark.comparison import randomization
from ndcg_spark.comparison.aggregates import NOISE, Aggregate, difference
from ndcg_spark.comparison.pairing import STATUSES
from ndcg_spark.comparison.places import Place
from ndcg_spark.tables.sorting import DECIMALS


def spreads(table: DataFrame, aggregates: Sequence[Aggregate], measures: int) -> list[tuple[float, float]]:
    """For each aggregate the sums of the squares and of the cubes of weight (difference - weighted mean). Runs a job.

    The weighted mean must be known beforehand, because subtracting large sums would lose digits.
    """
    if not aggregates:
        return []
    centers = [each.total("weighted") / each.total("weight") for each in aggregates]
    rows = _rows_of(table, aggregates, center=pa.array(centers, pa.float64()))
    apart = F.col("weight") * (_difference(measures) - F.col("center"))
    sums = rows.groupBy("id").agg(F.sum(apart * apart).alias("squares"), F.sum(apart * apart * apart).alias("cubes"))
    found = {row["id"]: (row["squares"] or 0.0, row["cubes"] or 0.0) for row in sums.collect()}
    return [found.get(number, (0.0, 0.0)) for number in range(len(aggregates))]


def randomized(
    table: DataFrame, aggregates: Sequence[Aggregate], measures: int, seed: int
) -> list[tuple[float, float]]:
    """For each aggregate the p value of the randomization test without weights and with them. Runs a job.

    It fetches one difference per query or, for more than UNITS queries, one per bucket of queries. Without weights the
    second p value is 1.
    """
    if not aggregates:
        return []
    bucketed = pa.array([each.moments.n > randomization.UNITS for each in aggregates], pa.bool_())
    bucket = (F.crc32(F.col("query_id").cast("binary")) % randomization.UNITS).cast("string")
    unit = F.when(F.col("bucketed"), bucket).otherwise(F.col("query_id"))
    rows = _rows_of(table, aggregates, bucketed=bucketed).withColumns({"apart": _difference(measures), "unit": unit})
    weighted = F.sum(F.coalesce(F.col("apart") * F.col("weight"), F.lit(0.0))).alias("weighted")
    sums = rows.where(F.col("apart").isNotNull()).groupBy("id", "unit").agg(F.sum("apart").alias("apart"), weighted)
    of_comparisons = dict(iter(sums.toPandas().groupby("id")))
    p_values = {
        name: [randomization.p_value(of_comparisons[at][name].to_numpy(), seed) for at in range(len(aggregates))]
        for name in ("apart", "weighted")
    }
    return list(zip(p_values["apart"], p_values["weighted"], strict=True))


def extremes(paired: DataFrame, places: Sequence[Place], measures: Sequence[str], queries: int) -> list[dict[str, Any]]:
    """The rows `Comparison.queries`: per place and measure, at most `queries` that lost and that won. Runs a job."""
    ends = [_end(paired, number, is_loss) for number in range(len(measures)) for is_loss in (True, False)]
    largest = Window.partitionBy("place", "measure", "is_loss").orderBy(
        F.round(F.abs("difference"), DECIMALS).desc(), "query_id"
    )
    ranked = reduce(DataFrame.union, ends).withColumn("rank", F.row_number().over(largest))
    rows = ranked.where(F.col("rank") <= queries).orderBy("place", "measure", F.desc("is_loss"), "rank").collect()
    return [
        {
            "dataset": place.own.dataset,
            "evaluated_on": place.night,
            "run": place.own.run,
            "baseline": place.baseline_run,
            "measure": measures[row["measure"]],
            "cutoff": place.cutoff,
            "query_id": row["query_id"],
            "baseline_status": STATUSES[row["baseline_status"]],
            "status": STATUSES[row["status"]],
            "baseline_score": row["baseline"],
            "score": row["score"],
            "difference": row["difference"],
        }
        for row in rows
        for place in [places[row["place"]]]
    ]


def _end(paired: DataFrame, number: int, is_loss: bool) -> DataFrame:
    """The pairs of one measure that lost, or those that won."""
    apart = difference(number)
    return paired.where((-apart if is_loss else apart) > NOISE).select(
        *("place", "query_id", "baseline_status", "status"),
        F.lit(number).alias("measure"),
        F.lit(is_loss).alias("is_loss"),
        F.col(f"baseline_{number}").alias("baseline"),
        F.col(f"score_{number}").alias("score"),
        apart.alias("difference"),
    )


def _difference(measures: int) -> Column:
    """The difference of the measure whose number is in the column `measure`."""
    return F.coalesce(*(F.when(F.col("measure") == number, difference(number)) for number in range(measures)))


def _rows_of(table: DataFrame, aggregates: Sequence[Aggregate], **more: pa.Array) -> DataFrame:
    """The paired rows of these comparisons with the columns id (the place in the list), measure, and more."""
    columns = {
        "id": range(len(aggregates)),
        "place": [each.number for each in aggregates],
        **{name: [getattr(each, name) for each in aggregates] for name in ("slice", "measure")},
    }
    wanted = pa.table({name: pa.array(values, pa.int32()) for name, values in columns.items()} | more)
    return table.join(F.broadcast(table.sparkSession.createDataFrame(wanted)), on=["place", "slice"], how="inner")
