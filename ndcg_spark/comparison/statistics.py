"""The statistics of paired differences, as functions of numbers and arrays. No Spark, no table.

Which test and why: Urbano, Lima and Hanjalic (SIGIR 2019) measured that the paired t test keeps its level on
scores such as NDCG, where the sign and Wilcoxon tests and the bootstrap do not; `COMPARING.md` has the numbers.
"""

import dataclasses
import math
from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

# scipy.stats is not used because it takes half a second to import.
from scipy.special import betaincinv, fdtrc, stdtr, stdtrit

from ndcg_spark.comparison.moments import Moments

Numbers = NDArray[np.float64]

#: The power at which a difference counts as detectable.
POWER = 0.8
#: The smallest number of changed queries with which t is trusted.
FEWEST_CHANGED = 30
#: How many queries t needs for each unit of the squared skewness of the differences (Kohavi et al. 2014).
PER_SKEWNESS = 355
#: Differences vary only by rounding if their deviation is at most this share of their mean.
SAME = 1e-9
#: The fewest queries that weights may come down to, and the largest share of the weight that one query may have.
FEWEST_EFFECTIVE, LARGEST_SHARE = 30, 0.05
#: The flags of a comparison whose interval proves nothing, because t is doubtful or no query shows what could be lost.
DOUBTS = frozenset({"unchanged", "no_variation", "few_changed", "skewed", "few_effective", "one_weighs_much"})
#: Beyond this many standard errors the correction for skewness stays what it is there.
_CORRECTED = 5.0


@dataclasses.dataclass(frozen=True)
class PairedTest:
    """The result of a paired test: all numbers, or all arrays of one shape, with nan where there is no result."""

    p_value: Any
    interval_low: Any
    interval_high: Any
    effect_size: Any
    minimum_detectable: Any


def paired_t(
    n: ArrayLike,
    mean: ArrayLike,
    deviation: ArrayLike,
    alpha: float = 0.05,
    *,
    freedom: ArrayLike | None = None,
    skewness: ArrayLike = 0.0,
) -> PairedTest:
    """The two-sided paired t test, the interval of 1 - alpha, mean / deviation, and the difference found at POWER.

    `deviation` is that of the sample of n differences, `freedom` the degrees of freedom (n - 1). Where n < 2, nothing
    varies or no double holds how much it varies, every answer is nan.

    `skewness` is that of the mean, 0 for the plain t test. Otherwise p and interval are those of t corrected for
    skewness (Johnson 1978), in the monotone form of Hall (1992), up to five standard errors. COMPARING.md has the
    measured rates of false alarms of both.
    """
    n, mean, deviation, skewness = (np.asarray(each, np.float64) for each in (n, mean, deviation, skewness))
    freedom = n - 1 if freedom is None else np.asarray(freedom, np.float64)
    answers = (n >= 2) & (freedom > 0) & (deviation > 0) & np.isfinite(deviation)
    freedom = np.where(answers, freedom, np.nan)
    spread = np.where(answers, deviation, np.nan)
    error = spread / np.sqrt(np.where(answers, n, np.nan))
    quantile = stdtrit(freedom, 1 - alpha / 2)
    return PairedTest(
        2 * stdtr(freedom, -np.abs(_corrected(mean / error, skewness))),
        mean - _uncorrected(quantile, skewness) * error,
        mean - _uncorrected(-quantile, skewness) * error,
        mean / spread,
        (quantile + stdtrit(freedom, POWER)) * error,
    )


def _corrected(t: Numbers, skewness: Numbers) -> Numbers:
    """The t as it would be without the skewness of the mean: t + g t^2 / 3 + g^2 t^3 / 27 + g / 6."""
    near = np.clip(t, -_CORRECTED, _CORRECTED)
    return np.asarray(t + skewness * near**2 / 3 + skewness**2 * near**3 / 27 + skewness / 6)


def _uncorrected(corrected: Numbers, skewness: Numbers) -> Numbers:
    """The t whose corrected value is `corrected`."""
    far = np.copysign(_CORRECTED, corrected - skewness / 6)
    beyond = np.abs(corrected - skewness / 6) > np.abs(_corrected(far, skewness) - skewness / 6)
    third = np.where(skewness == 0, 1.0, skewness / 3)
    within = (np.cbrt(1 + 3 * third * (corrected - skewness / 6)) - 1) / third
    return np.where(skewness == 0, corrected, np.where(beyond, corrected - _corrected(far, skewness) + far, within))


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


def unadjusted(p_values: ArrayLike) -> Numbers:
    """The p values as they are."""
    return np.array(p_values, np.float64)


#: How p values can be adjusted for their number, by the name of the correction.
CORRECTIONS = {"holm": holm, "bh": benjamini_hochberg, "none": unadjusted}


def slices_differ(n: ArrayLike, mean: ArrayLike, variance: ArrayLike) -> float:
    """The p value of one mean difference in all slices, of F* of Brown and Forsythe (1974); nan if nothing varies.

    The arguments are, for each slice, the number of its queries and the mean and the sample variance of their
    differences. Unlike Welch's F it takes slices without variance, and keeps its level where few queries of a slice
    changed: measured at 0.05 with resampled pairs of real runs 3.9 to 5.1 % (Welch 4.5 to 11.0 %), and with rare losses
    in slices of 10, 30 and 100 queries 10.8 % (Welch 42.8 %).
    """
    n, mean, variance = (np.asarray(each, np.float64) for each in (n, mean, variance))
    total = n.sum()
    parts = (1 - n / total) * variance
    if len(n) < 2 or not parts.sum() > 0:
        return math.nan
    statistic = (n * (mean - (n * mean).sum() / total) ** 2).sum() / parts.sum()
    shares = parts / parts.sum()
    return float(fdtrc(len(n) - 1, 1 / (shares**2 / (n - 1)).sum(), statistic))


def share_bound(count: float, n: float, alpha: float = 0.05) -> float:
    """The largest share that is plausible where `count` of n queries were seen: one-sided, of Clopper and Pearson.

    Of 50 queries without a loss, up to 5.8 % of such queries may be lost (the rule of three: 3 / n).
    """
    return float(betaincinv(count + 1, n - count, 1 - alpha)) if count < n else 1.0


def queries_needed(n: float, detectable: float, wanted: float) -> float:
    """How many queries are needed to detect a difference of `wanted`, if n queries detect one of `detectable`."""
    return n * (detectable / wanted) * (detectable / wanted)


def doubts(moments: Moments, changed: int) -> list[str]:
    """The flags that say why t cannot be trusted with these differences, if any; `changed` is how many are not 0.

    A skewness above 2 sqrt(6 / n) is larger than that of a sample of normal differences.
    """
    if moments.n < 2:
        return ["unchanged", "too_few"] if moments.n and not changed else ["too_few"]
    if not changed:
        return ["unchanged"]
    if moments.deviation <= SAME * abs(moments.mean):
        return ["no_variation"]
    few = ["few_changed"] if changed < FEWEST_CHANGED else []
    squared = moments.skewness * moments.skewness
    is_skewed = moments.n < PER_SKEWNESS * squared and squared * moments.n > 4 * 6
    return [*few, *(["skewed"] if is_skewed else [])]


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
