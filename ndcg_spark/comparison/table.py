"""The rows of the table COMPARISONS: every statistic of each aggregate, p values adjusted within their families."""

import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ndcg_spark.comparison import randomization, statistics
from ndcg_spark.comparison.aggregates import Aggregate
from ndcg_spark.comparison.conclusions import conclusion
from ndcg_spark.comparison.families import adjust
from ndcg_spark.comparison.options import ComparisonOptions
from ndcg_spark.schemas import COMPARISONS
from ndcg_spark.slices import ALL, Slice
from ndcg_spark.tables.comparison_notes import OTHER_JUDGMENTS

#: The flags with which the randomization test takes the place of t.
_RANDOMIZED = frozenset({"few_changed", "few_effective", "one_weighs_much"})


_OF_T = ("interval_low", "interval_high", "effect_size", "minimum_detectable")
#: Numbers of queries above this are as good as infinite, and do not fit into a 64-bit integer.
MOST_QUERIES = 1e15


@dataclasses.dataclass
class Estimate:
    """The mean difference of an aggregate with its standard error, without weights or with them."""

    aggregate: Aggregate
    flags: list[str]
    n: int
    mean: float
    error: float
    #: The skewness of the mean, which is that of the differences over sqrt(n).
    skewness: float
    weighted: bool = False
    #: The p value of the randomization test, if that was run.
    randomized: float | None = None

    @property
    def is_tested(self) -> bool:
        """Whether a test can tell whether the difference is real."""
        return self.n > 1 and not {"unchanged", "below_min_queries"}.intersection(self.flags)

    def needs_randomization(self, test: str) -> bool:
        """Whether its p value must come from the randomization test; `test` is the test in the options."""
        is_doubted = test == "randomization" or not _RANDOMIZED.isdisjoint(self.flags)
        return self.is_tested and is_doubted and "no_variation" not in self.flags

    @property
    def is_corrected(self) -> bool:
        """Whether its interval, and its p value if it is that of a t test, are corrected for skewness.

        With few changed queries the skewness of the sample says more about chance than about the differences.
        """
        return "skewed" in self.flags and "few_changed" not in self.flags

    @property
    def freedom(self) -> float:
        """The degrees of freedom of its t test."""
        return (self.effective_n if self.weighted else self.n) - 1

    @property
    def effective_n(self) -> float:
        """How many queries of equal weight would be as informative as these."""
        total = self.aggregate.total
        squares = total("weight_squares")
        return total("weight") * total("weight") / squares if squares else 0.0

    @property
    def test(self) -> str | None:
        """The test of its p value; None if there is none."""
        if not self.is_tested:
            return None
        is_randomized = self.randomized is not None or "no_variation" in self.flags
        name = "randomization" if is_randomized else "corrected t" if self.is_corrected else "t"
        return f"weighted {name}" if self.weighted else name

    def p_value(self, t: float) -> float:
        """Its p value, given that of the t test as `t`; nan if there is none."""
        if "unchanged" in self.flags and "below_min_queries" not in self.flags:
            return 1.0
        if not self.is_tested:
            return float("nan")
        if "no_variation" in self.flags:
            # Only two of all combinations of signs have a sum as large: all as observed, and all flipped.
            return max(2.0 ** (1 - self.n), randomization.LEAST)
        return t if self.randomized is None else self.randomized


def unweighted(aggregate: Aggregate, min_queries: int) -> Estimate:
    """The estimate in which every query counts the same."""
    moments = aggregate.moments
    flags = [
        flag
        for flag, side in (("run_missing", "status"), ("baseline_missing", "baseline_status"))
        if not aggregate.has(side)
    ]
    flags += statistics.doubts(moments, int(aggregate.total("changed")))
    if aggregate.slice != ALL and moments.n < min_queries:
        flags.insert(0, "below_min_queries")
    if aggregate.rejudged:
        flags.append(OTHER_JUDGMENTS)
    error = moments.deviation / np.sqrt(moments.n) if moments.n else 0.0
    return Estimate(aggregate, flags, moments.n, moments.mean, error, moments.skewness_of_mean)


def weighted(plain: Estimate, squares: float, cubes: float) -> Estimate:
    """The estimate with weights; `squares` as for `statistics.weighted_error`, `cubes` their third powers."""
    aggregate = plain.aggregate
    n, weight = int(aggregate.total("weights")), aggregate.total("weight")
    skewness = cubes / squares / np.sqrt(squares) if squares > 0 else 0.0
    found = Estimate(aggregate, list(plain.flags), n, 0.0, 0.0, float(np.nan_to_num(skewness)), weighted=True)
    if n < plain.n:
        found.flags.append("without_weight")
    if n < 2 <= plain.n:
        found.flags.append("too_few")
    if n:
        found.mean = aggregate.total("weighted") / weight
        found.error = float(np.nan_to_num(statistics.weighted_error(n, squares, weight)))
        found.flags += statistics.doubts_of_weights(found.effective_n, aggregate.largest_weight / weight)
    return found


def rows(
    estimates: Sequence[Estimate], slices: Mapping[int, Slice], options: ComparisonOptions
) -> list[dict[str, Any]]:
    """A dictionary with the columns of COMPARISONS for each estimate; p values are adjusted within their families."""
    t = statistics.paired_t(
        [each.n for each in estimates],
        [each.mean for each in estimates],
        # For a weighted mean, the standard deviation that would give this error.
        [each.error * np.sqrt(each.n) for each in estimates],
        options.alpha,
        freedom=[each.freedom for each in estimates],
        skewness=[each.skewness if each.is_corrected else 0.0 for each in estimates],
    )
    found = []
    for at, each in enumerate(estimates):
        aggregate, place = each.aggregate, each.aggregate.place
        of_queries = {name: int(aggregate.total(name)) for name in ("changed", "wins", "losses", "lost_0")}
        of_t: dict[str, float | None] = dict.fromkeys(_OF_T)
        if each.n > 1 and "below_min_queries" not in each.flags:
            of_t = {name: _number(getattr(t, name)[at]) for name in of_t}
            if not each.error > 0:
                of_t["interval_low"] = of_t["interval_high"] = _number(each.mean)
        if each.weighted:
            of_t["effect_size"] = None
        row = {
            "dataset": place.own.dataset,
            "evaluated_on": place.night,
            "run": place.own.run,
            "baseline": place.baseline_run,
            "baseline_night": place.baseline_night,
            "measure": options.names[aggregate.measure],
            "cutoff": place.cutoff,
            **dict(zip(("attribute", "value"), slices[aggregate.slice], strict=True)),
            "queries": each.n,
            "unpaired_queries": aggregate.unpaired,
            "changed_queries": of_queries["changed"],
            "wins": of_queries["wins"],
            "ties": aggregate.moments.n - of_queries["wins"] - of_queries["losses"],
            "losses": of_queries["losses"],
            "large_losses": of_queries["lost_0"],
            "test": each.test,
            "flags": list(each.flags),
            "evaluation_id": place.evaluation_id,
            **_means(each),
            **of_t,
            "p_value": _number(each.p_value(t.p_value[at])),
            "queries_needed": None,
            "weight_effective_n": each.effective_n if each.weighted else None,
        }
        if of_t["minimum_detectable"] is not None:
            needed = statistics.queries_needed(each.n, of_t["minimum_detectable"], options.wanted)
            row["queries_needed"] = math.ceil(needed) if needed < MOST_QUERIES else None
        found.append(row)
    adjust(found, options)
    for row in found:
        row["conclusion"] = conclusion(row, options.alpha, options.margin)
    return [{name: row[name] for name in COMPARISONS.names} for row in found]


def _means(estimate: Estimate) -> dict[str, float | None]:
    """The means of both sides over the paired queries, and how they differ; null where they are not finite numbers."""
    names = ("mean", "baseline_mean", "difference", "relative_difference")
    if not estimate.n:
        return dict.fromkeys(names)
    total = estimate.aggregate.total
    kind, over = ("weighted", total("weight")) if estimate.weighted else ("paired", estimate.n)
    mean, baseline = (total(f"{kind}{side}_sum") / over for side in ("", "_baseline"))
    relative = estimate.mean / baseline if baseline else float("nan")
    return {name: _number(n) for name, n in zip(names, (mean, baseline, estimate.mean, relative), strict=True)}


def _number(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None
