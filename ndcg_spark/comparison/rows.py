"""The rows of the table COMPARISONS, made of tallies: every statistic, adjusted for how many there are."""

import dataclasses
import datetime
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ndcg_spark.comparison import statistics
from ndcg_spark.comparison.pairing import NO_NIGHT
from ndcg_spark.comparison.slices import ALL, Slice
from ndcg_spark.comparison.tallies import Tally
from ndcg_spark.schemas import COMPARISONS

#: The flags for which t is not taken.
DOUBTED = frozenset({"few_changed", "skewed"})
#: The flags of which there is no p value.
NO_ANSWER = frozenset({"below_min_queries", "no_variation"})

_NAN = float("nan")


@dataclasses.dataclass
class Judged:
    """A tally with what is known of its differences, without weights or with them."""

    tally: Tally
    flags: list[str]
    n: int
    mean: float
    #: The standard error of the mean.
    error: float
    weighted: bool = False
    #: That of the randomization test, if it was asked.
    randomized: float | None = None

    @property
    def is_unchanged(self) -> bool:
        """Whether no query changed, so that the p value is 1."""
        return "unchanged" in self.flags

    @property
    def has_answer(self) -> bool:
        """Whether a test can be asked whether the difference is real."""
        return self.n > 1 and not self.is_unchanged and not NO_ANSWER & set(self.flags)


def without_weights(tally: Tally, min_queries: int) -> Judged:
    """The tally as it is."""
    moments = tally.moments
    flags = [*_flags_of_sides(tally), *statistics.doubts(moments, int(tally.sums["changed"]))]
    if tally.place.slice != ALL and moments.n < min_queries:
        flags.insert(0, "below_min_queries")
    error = moments.deviation / np.sqrt(moments.n) if moments.n else 0.0
    return Judged(tally, flags, moments.n, moments.mean, error)


def with_weights(judged: Judged, squares: float) -> Judged:
    """The same tally with its weights; `squares` as for `statistics.weighted_error`."""
    sums = judged.tally.sums
    n, weight = int(sums["weights"]), sums["weight"]
    flags = list(judged.flags)
    if n < judged.n:
        flags.append("without_weight")
    if n < 2 <= judged.n:
        flags.append("too_few")
    error, mean = 0.0, 0.0
    if n:
        mean = sums["weighted"] / weight
        error = float(np.nan_to_num(statistics.weighted_error(n, squares, weight)))
        flags += statistics.doubts_of_weights(effective_n(judged.tally), sums["largest_weight"] / weight)
    return Judged(judged.tally, flags, n, mean, error, weighted=True)


def effective_n(tally: Tally) -> float:
    """How many queries of equal weights would say as much as these."""
    squares = tally.sums["weight_squares"]
    return tally.sums["weight"] * tally.sums["weight"] / squares if squares else 0.0


def rows_of(
    judged: Sequence[Judged],
    names: Mapping[int, Slice],
    measures: Sequence[str],
    baseline: str | None,
    correction: str,
    alpha: float,
    same_night: bool,
) -> list[dict[str, Any]]:
    """A dictionary with the columns of COMPARISONS for each; p values are adjusted over all of them.

    `baseline` is the name of the baseline's run, None where each run has one of its own name.
    """
    found = statistics.paired_t(
        [each.n for each in judged],
        [each.mean for each in judged],
        # Of the weighted mean, the deviation that has this error.
        [each.error * np.sqrt(each.n) for each in judged],
        alpha,
    )
    p_values = np.array([_p_value(each, t) for each, t in zip(judged, found.p_value, strict=True)])
    adjusted = statistics.CORRECTIONS[correction](p_values)
    rows = []
    for at, each in enumerate(judged):
        place, sums = each.tally.place, each.tally.sums
        attribute, value = names[place.slice]
        means = _means(each)
        answers = each.n > 1 and not NO_ANSWER & set(each.flags)
        interval = (found.interval_low[at], found.interval_high[at]) if each.error > 0 else (each.mean, each.mean)
        row = {
            "dataset": place.dataset,
            "evaluated_on": date_of(place.night),
            "run": place.run,
            "baseline": baseline or place.run,
            "baseline_night": None if same_night else date_of(each.tally.baseline_night),
            "measure": measures[each.tally.measure],
            "cutoff": place.cutoff or None,
            "attribute": attribute,
            "value": value,
            "queries": each.n,
            "unpaired_queries": each.tally.unpaired,
            "changed_queries": int(sums["changed"]),
            "wins": int(sums["wins"]),
            "ties": int(each.tally.moments.n - sums["wins"] - sums["losses"]),
            "losses": int(sums["losses"]),
            "large_losses": int(sums["large_losses"]),
            "test": _test(each),
            "flags": list(each.flags),
            "evaluation_id": each.tally.evaluation_id,
            **means,
            "interval_low": _number(interval[0]) if answers else None,
            "interval_high": _number(interval[1]) if answers else None,
            "p_value": _number(p_values[at]),
            "p_adjusted": _number(adjusted[at]),
            "effect_size": None if each.weighted or not answers else _number(found.effect_size[at]),
            "minimum_detectable": _number(found.minimum_detectable[at]) if answers else None,
            "weight_effective_n": effective_n(each.tally) if each.weighted else None,
        }
        rows.append({name: row[name] for name in COMPARISONS.names})
    return rows


def _flags_of_sides(tally: Tally) -> list[str]:
    """Whether a side has no row at all."""
    return [
        flag for flag, rows in (("run_missing", tally.own_rows), ("baseline_missing", tally.baseline_rows)) if not rows
    ]


def _p_value(judged: Judged, t: float) -> float:
    if judged.is_unchanged and "below_min_queries" not in judged.flags:
        return 1.0
    if not judged.has_answer:
        return _NAN
    return t if judged.randomized is None else judged.randomized


def _test(judged: Judged) -> str | None:
    if not judged.has_answer and not (judged.is_unchanged and "below_min_queries" not in judged.flags):
        return None
    name = "t" if judged.randomized is None else "randomization"
    return f"weighted {name}" if judged.weighted else name


def _means(judged: Judged) -> dict[str, float | None]:
    """The means of both sides over the paired queries, and how they differ; null where they are no finite numbers."""
    sums, n = judged.tally.sums, judged.n
    if not n:
        return dict.fromkeys(("mean", "baseline_mean", "difference", "relative_difference"))
    total = sums["weight"] if judged.weighted else n
    ours, theirs = (
        ("weighted_sum", "weighted_baseline_sum") if judged.weighted else ("paired_sum", "paired_baseline_sum")
    )
    baseline = sums[theirs] / total
    return {
        "mean": _number(sums[ours] / total),
        "baseline_mean": _number(baseline),
        "difference": _number(judged.mean),
        "relative_difference": _number(judged.mean / baseline) if baseline else None,
    }


def _number(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def date_of(night: datetime.date) -> datetime.date | None:
    """The date of a night, None for scores without a date."""
    return None if night == NO_NIGHT else night
