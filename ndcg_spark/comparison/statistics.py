"""The statistics of paired differences, as functions of numbers and arrays. No Spark, no table.

Which test and why: Urbano, Lima and Hanjalic (SIGIR 2019) measured that the paired t test keeps its level on
scores such as NDCG, where the sign and Wilcoxon tests and the bootstrap do not; `COMPARING.md` has the numbers.
"""

import dataclasses
from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

# scipy.stats is not used because it takes half a second to import.
from scipy.special import betaincinv, stdtr, stdtrit

Numbers = NDArray[np.float64]

#: The power at which a difference counts as detectable.
POWER = 0.8
#: With fewer changed queries the row is flagged.
FEWEST_CHANGED = 10
#: Differences vary only by rounding if their deviation is at most this share of their mean.
SAME = 1e-9
#: The fewest queries that weights may come down to, and the largest share of the weight that one query may have.
FEWEST_EFFECTIVE, LARGEST_SHARE = 30, 0.05
#: The flags of a comparison whose interval proves nothing, because t is doubtful or no query shows what could be lost.
DOUBTS = frozenset({"unchanged", "no_variation", "few_changed", "few_effective", "one_weighs_much", "doubt"})


@dataclasses.dataclass(frozen=True)
class PairedTest:
    """The result of a paired test: all numbers, or all arrays of one shape, with nan where there is no result."""

    p_value: Any
    interval_low: Any
    interval_high: Any
    effect_size: Any
    minimum_detectable: Any


def paired_t(
    n: ArrayLike, mean: ArrayLike, deviation: ArrayLike, alpha: float = 0.05, *, freedom: ArrayLike | None = None
) -> PairedTest:
    """The two-sided paired t test, the interval of 1 - alpha, mean / deviation, and the difference found at POWER.

    `deviation` is that of the sample of n differences, `freedom` the degrees of freedom (n - 1). Where n < 2, nothing
    varies or no double holds how much it varies, every answer is nan.
    """
    n, mean, deviation = (np.asarray(each, np.float64) for each in (n, mean, deviation))
    freedom = n - 1 if freedom is None else np.asarray(freedom, np.float64)
    answers = (n >= 2) & (freedom > 0) & (deviation > 0) & np.isfinite(deviation)
    freedom = np.where(answers, freedom, np.nan)
    spread = np.where(answers, deviation, np.nan)
    error = spread / np.sqrt(np.where(answers, n, np.nan))
    quantile = stdtrit(freedom, 1 - alpha / 2)
    return PairedTest(
        2 * stdtr(freedom, -np.abs(mean / error)),
        mean - quantile * error,
        mean + quantile * error,
        mean / spread,
        (quantile + stdtrit(freedom, POWER)) * error,
    )


def weighted_error(n: ArrayLike, squares: ArrayLike, weight: ArrayLike) -> Numbers:
    """The standard error of a weighted mean difference, as weighted least squares with HC1 gives it.

    `squares` is the sum of weight^2 (difference - weighted mean)^2, `weight` the sum of the weights. nan for n < 2.
    """
    n, squares, weight = (np.asarray(each, np.float64) for each in (n, squares, weight))
    small = np.where(n > 1, n / np.where(n > 1, n - 1, 1), np.nan)
    return np.asarray(np.sqrt(small * squares) / weight)


def holm(p_values: ArrayLike) -> Numbers:
    """Adjusted p values of Holm (1979): the chance of any false alarm among them stays below alpha. nan stays nan."""
    return _adjusted(p_values, _holm)


def benjamini_hochberg(p_values: ArrayLike) -> Numbers:
    """Adjusted p values of Benjamini and Hochberg (1995): the expected share of false alarms. nan stays nan."""
    return _adjusted(p_values, _benjamini_hochberg)


def bonferroni(p_values: ArrayLike) -> Numbers:
    """P values times their number. nan stays nan."""
    return _adjusted(p_values, lambda ascending: ascending * len(ascending))


def unadjusted(p_values: ArrayLike) -> Numbers:
    """The p values as they are."""
    return np.array(p_values, np.float64)


#: How p values can be adjusted for their number, by the name of the correction.
CORRECTIONS = {"holm": holm, "bonferroni": bonferroni, "bh": benjamini_hochberg, "none": unadjusted}


def share_bound(count: float, n: float, alpha: float = 0.05) -> float:
    """The largest share that is plausible where `count` of n queries were seen: one-sided, of Clopper and Pearson.

    Of 50 queries without a loss, up to 5.8 % of such queries may be lost (the rule of three: 3 / n).
    """
    return float(betaincinv(count + 1, n - count, 1 - alpha)) if count < n else 1.0


def queries_needed(n: float, detectable: float, wanted: float) -> float:
    """How many queries are needed to detect a difference of `wanted`, if n queries detect one of `detectable`."""
    return n * (detectable / wanted) * (detectable / wanted)


def doubts_of_weights(effective: float, largest_share: float) -> list[str]:
    """The flags that say why weights make a mean depend on few queries, if any."""
    few = ["few_effective"] if effective < FEWEST_EFFECTIVE else []
    return [*few, *(["one_weighs_much"] if largest_share > LARGEST_SHARE else [])]


def is_doubted(flags: Collection[str]) -> bool:
    """Whether the interval of a comparison with these flags proves nothing."""
    return not DOUBTS.isdisjoint(flags)


def _adjusted(p_values: ArrayLike, adjust: Any) -> Numbers:
    adjusted = np.array(p_values, np.float64)
    tested = ~np.isnan(adjusted)
    order = np.argsort(adjusted[tested], kind="stable")
    back = np.empty(len(order), np.int64)
    back[order] = np.arange(len(order))
    adjusted[tested] = np.minimum(adjust(adjusted[tested][order]), 1.0)[back]
    return adjusted


def _holm(ascending: Numbers) -> Numbers:
    return np.maximum.accumulate(ascending * np.arange(len(ascending), 0, -1))


def _benjamini_hochberg(ascending: Numbers) -> Numbers:
    count = len(ascending)
    return np.minimum.accumulate((ascending * count / np.arange(1, count + 1))[::-1])[::-1]
