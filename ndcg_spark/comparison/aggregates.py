"""The aggregation of a comparison: one pass, whatever the number of queries, runs, cutoffs and slices."""

import dataclasses
import functools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from ndcg_spark.comparison.moments import Moments
from ndcg_spark.comparison.pairing import REJUDGED, STATUSES
from ndcg_spark.comparison.places import Place
from ndcg_spark.errors import InputError
from ndcg_spark.slices import ALL

Row = Mapping[str, Any]

#: Differences of at most this size are rounding noise from adding numbers in another order.
NOISE = 1e-9


def difference(number: int) -> Column:
    """The difference of a measure, null where either side has no value."""
    return F.col(f"score_{number}") - F.col(f"baseline_{number}")


def aggregated(table: DataFrame, measures: int, tie: float, losses: Sequence[float]) -> DataFrame:
    """One row per place, slice and pair of statuses of a table of `pairing.paired` with slice and weight, in no order.

    Columns: rows; repeated and baseline_repeated, the surplus rows of each side; attributed and weighed, the rows with
    an attribute and with a weight; rejudged, the pairs with different judgments; and for each measure the numbered
    columns of `_of_measure`. Variance and skewness are the engine's own, which adds up distances from the mean.
    """
    return table.groupBy("place", "slice", "status", "baseline_status").agg(
        F.count(F.lit(1)).alias("rows"),
        F.sum(F.greatest(F.col("times") - 1, F.lit(0))).alias("repeated"),
        F.sum(F.greatest(F.col("baseline_times") - 1, F.lit(0))).alias("baseline_repeated"),
        F.count("weight").alias("weighed"),
        F.count_if("attributed").alias("attributed"),
        F.count_if("rejudged").alias("rejudged"),
        *(column for number in range(measures) for column in _of_measure(number, tie, losses)),
    )


def _of_measure(number: int, tie: float, losses: Sequence[float]) -> list[Column]:
    """The counts and sums of one measure over paired queries (with a difference) and over all queries with a score."""
    score, baseline, apart = F.col(f"score_{number}"), F.col(f"baseline_{number}"), difference(number)
    weight = F.when(apart.isNotNull(), F.col("weight"))
    columns = {
        "pairs": F.count(apart),
        "mean": F.avg(apart),
        "variance": F.var_pop(apart),
        "skewness": F.skewness(apart),
        "changed": F.count_if(F.abs(apart) > NOISE),
        "wins": F.count_if(apart > tie),
        "losses": F.count_if(apart < -tie),
        # A loss that equals the limit up to rounding counts as a loss.
        **{f"lost_{size}": F.count_if(apart <= -loss + NOISE) for size, loss in enumerate(losses)},
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
    return [column.alias(f"{name}_{number}") for name, column in columns.items()]


@dataclasses.dataclass(frozen=True)
class Aggregate:
    """The counts and sums of one comparison: a place, a slice and a measure, with a row for each pair of statuses."""

    place: Place
    number: int
    slice: int
    measure: int
    rows: Sequence[Row]

    def total(self, name: str) -> float:
        """A count or a sum of `aggregated`, over all statuses."""
        return sum(self._values(name))

    @functools.cached_property
    def moments(self) -> Moments:
        """The moments of the differences of its paired queries."""
        names = ("pairs", "mean", "variance", "skewness")
        return Moments.of([tuple(row[f"{name}_{self.measure}"] for name in names) for row in self.rows])

    @property
    def largest_weight(self) -> float:
        """The largest weight of a paired query."""
        return max(self._values("largest_weight"), default=0.0)

    @property
    def unpaired(self) -> int:
        """How many queries have a value on one side only; queries in neither mean are not counted."""
        return int(self.total("scores") + self.total("baselines")) - 2 * self.moments.n

    @property
    def has_scores(self) -> bool:
        """Whether any query has a value on either side."""
        return bool(self.total("scores") or self.total("baselines"))

    @property
    def queries(self) -> int:
        """How many queries either side has, with or without a value."""
        return sum(row["rows"] for row in self.rows)

    @property
    def rejudged(self) -> int:
        """How many queries of both sides were judged differently without being left out for it."""
        return sum(row["rejudged"] for row in self.rows if STATUSES.get(row["status"]) != REJUDGED)

    def has(self, status: str) -> bool:
        """Whether the side that this column describes, `status` or `baseline_status`, has any query."""
        return any(row[status] is not None for row in self.rows)

    @property
    def change(self) -> float | None:
        """The change of the mean, each side over its own queries; None where a side has no value."""
        scores, baselines = self.total("scores"), self.total("baselines")
        return self.total("sum") / scores - self.total("baseline_sum") / baselines if scores and baselines else None

    def transitions(self) -> list[tuple[str | None, str | None, int, float | None]]:
        """For every pair of statuses (None where a side lacks the query), how many queries, and their part of `change`.

        Scores are measured from the baseline's mean, so that a new or missing query changes the mean by as much as it
        is better or worse than average.
        """
        scores, baselines = self.total("scores"), self.total("baselines")
        center = self.total("baseline_sum") / baselines if baselines else 0.0
        found = []
        for row in self.rows:
            change = None
            if scores and baselines:
                ours, theirs = (
                    (row[f"{total}_{self.measure}"] or 0.0) - row[f"{count}_{self.measure}"] * center
                    for total, count in (("sum", "scores"), ("baseline_sum", "baselines"))
                )
                change = ours / scores - theirs / baselines
            statuses = STATUSES.get(row["baseline_status"]), STATUSES.get(row["status"])
            found.append((*statuses, row["rows"], change))
        return sorted(found, key=lambda part: (str(part[0]), str(part[1])))

    def _values(self, name: str) -> list[float]:
        return [row[f"{name}_{self.measure}"] or 0 for row in self.rows]


def aggregates(rows: Iterable[Row], places: Sequence[Place], measures: int) -> list[Aggregate]:
    """The rows of `aggregated` by comparison, sorted by place, slice and measure; InputError for repeated queries."""
    together: dict[tuple[int, int], list[Row]] = {}
    for row in rows:
        together.setdefault((row["place"], row["slice"]), []).append(row)
    sorted_runs = sorted(together.items(), key=lambda item: item[0])
    for (number, slice_), of_place in sorted_runs:
        if slice_ == ALL:
            _refuse_repeated(of_place, places[number].own.run)
    return [
        Aggregate(places[number], number, slice_, measure, of_place)
        for (number, slice_), of_place in sorted_runs
        for measure in range(measures)
    ]


def _refuse_repeated(rows: Sequence[Row], run: str) -> None:
    repeated, of_baseline = (sum(row[name] or 0 for row in rows) for name in ("repeated", "baseline_repeated"))
    if repeated:
        raise InputError(
            f"query_scores: {repeated:,} row(s) of run={run} repeat a query at a cutoff; give each query once, of one "
            "evaluation"
        )
    if of_baseline:
        raise InputError(
            f"baseline: {of_baseline:,} row(s) that run={run} is compared with repeat a query at a cutoff; give the "
            "scores of one evaluation, each query once"
        )
