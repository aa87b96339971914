"""What only a second pass over some comparisons can tell: the error of a weighted mean, and randomized p values."""

from collections.abc import Sequence
from functools import reduce
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from ndcg_spark.comparison import aggregation, randomization
from ndcg_spark.comparison.pairing import STATUSES
from ndcg_spark.comparison.rows import date_of
from ndcg_spark.comparison.tallies import Tally
from ndcg_spark.tables.sorting import DECIMALS

#: What is compared, beside the measure and the slice.
_PLACE = ("dataset", "night", "run", "cutoff")


def squares(table: DataFrame, tallies: Sequence[Tally], measures: Sequence[str]) -> list[float]:
    """For each tally the sum of weight^2 (difference - weighted mean)^2. An action.

    The weighted mean must be known before, as a difference of large sums would lose digits.
    """
    if not tallies:
        return []
    centers = [tally.sums["weighted"] / tally.sums["weight"] for tally in tallies]
    wanted = _wanted(table, tallies, center=pa.array(centers, pa.float64()))
    found = {row["id"]: row["squares"] for row in aggregation.squared(table, wanted, measures).collect()}
    return [found.get(at) or 0.0 for at in range(len(tallies))]


def randomized(
    table: DataFrame, tallies: Sequence[Tally], measures: Sequence[str], seed: int
) -> list[tuple[float, float]]:
    """For each tally the p value of the randomization test without weights and with them, if there are any. An action.

    It fetches a difference per query or, of more than UNITS, per bucket of queries.
    """
    if not tallies:
        return []
    bucketed = pa.array([tally.moments.n > randomization.UNITS for tally in tallies], pa.bool_())
    wanted = _wanted(table, tallies, bucketed=bucketed)
    sums = aggregation.summed(table, wanted, measures, randomization.UNITS).toPandas()
    alike: dict[tuple[str, ...], list[pd.DataFrame]] = {}
    for _, of_tally in sums.sort_values(["id", "unit"]).groupby("id"):
        alike.setdefault(tuple(of_tally["unit"]), []).append(of_tally)
    found: dict[int, tuple[float, float]] = {}
    names = ["apart", *(["weighted"] if any(tally.sums["weight"] for tally in tallies) else [])]
    # Comparisons of the same queries, such as those of all runs, share their signs.
    for units, frames in alike.items():
        columns = [frame[name].to_numpy() for frame in frames for name in names]
        p_values = randomization.p_values(units, np.stack(columns, axis=1), seed)
        for frame, of_frame in zip(frames, p_values.reshape(-1, len(names)).tolist(), strict=True):
            found[int(frame["id"].iloc[0])] = (of_frame[0], of_frame[-1])
    return [found[at] for at in range(len(tallies))]


def furthest(paired: DataFrame, measures: Sequence[str], queries: int) -> list[dict[str, Any]]:
    """The rows `Compared.queries`, without the baseline: of each run, measure and cutoff so many. An action."""
    ends = [_end(paired, at, is_loss) for at in range(len(measures)) for is_loss in (True, False)]
    far = Window.partitionBy(*_PLACE, "measure", "is_loss").orderBy(
        F.round(F.abs("difference"), DECIMALS).desc(), "query_id"
    )
    ranked = (
        reduce(DataFrame.union, ends).withColumn("place", F.row_number().over(far)).where(F.col("place") <= queries)
    )
    # The whole ranking is last, as it is among the comparisons.
    order = ("dataset", "night", "run", F.col("cutoff") == 0, "cutoff", "measure", F.desc("is_loss"), "place")
    rows = ranked.orderBy(*order).collect()
    return [
        {
            "dataset": row["dataset"],
            "evaluated_on": date_of(row["night"]),
            "run": row["run"],
            "measure": measures[row["measure"]],
            "cutoff": row["cutoff"] or None,
            "query_id": row["query_id"],
            "baseline_status": STATUSES[row["baseline_status"]],
            "status": STATUSES[row["status"]],
            "baseline_score": row["baseline"],
            "score": row["score"],
            "difference": row["difference"],
        }
        for row in rows
    ]


def _end(paired: DataFrame, at: int, is_loss: bool) -> DataFrame:
    """The pairs of one measure that lost, or those that won."""
    apart = aggregation.difference(at)
    return paired.where((-apart if is_loss else apart) > aggregation.NOISE).select(
        *_PLACE,
        *("query_id", "baseline_status", "status"),
        F.lit(at).alias("measure"),
        F.lit(is_loss).alias("is_loss"),
        F.col(f"baseline_{at}").alias("baseline"),
        F.col(f"score_{at}").alias("score"),
        apart.alias("difference"),
    )


def _wanted(table: DataFrame, tallies: Sequence[Tally], **more: pa.Array) -> DataFrame:
    """One row per tally: id, its place in the list; measure; the columns of its place; and more."""
    places = [tally.place for tally in tallies]
    columns = {
        "id": pa.array(range(len(tallies)), pa.int32()),
        "measure": pa.array([tally.measure for tally in tallies], pa.int32()),
        **{name: pa.array([getattr(p, name) for p in places], pa.string()) for name in ("dataset", "run")},
        "night": pa.array([place.night for place in places], pa.date32()),
        **{name: pa.array([getattr(p, name) for p in places], pa.int32()) for name in ("cutoff", "slice")},
        **more,
    }
    return F.broadcast(table.sparkSession.createDataFrame(pa.table(columns)))
