"""The statistics of paired differences, as functions of numbers and arrays.

Which test and why: Urbano, Lima and Hanjalic (SIGIR 2019) measured that the paired t test keeps its level on
scores such as NDCG, where the sign and Wilcoxon tests and the bootstrap do not; `COMPARING.md` has the numbers.
"""

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

# scipy.stats is not used because it takes half a second to import.
from scipy.special import stdtr, stdtrit

Numbers = NDArray[np.float64]

#: How p values can be adjusted for their number.
CORRECTIONS = ("holm", "bonferroni", "bh", "none")
#: The power at which a difference counts as detectable.
POWER = 0.8
#: With fewer changed queries the row is flagged.
FEWEST_CHANGED = 10
#: Differences vary only by rounding if their deviation is at most this share of their mean.
SAME = 1e-9


@dataclasses.dataclass(frozen=True)
class PairedTest:
    """The result of a paired test: all numbers, or all arrays of one shape, with nan where there is no result."""

    p_value: Any
    interval_low: Any
    interval_high: Any
    effect_size: Any
    minimum_detectable: Any
    #: The largest difference, of either sign, in the interval of 1 - 2 alpha.
    largest: Any


def paired_t(
    n: ArrayLike, mean: ArrayLike, deviation: ArrayLike, alpha: float = 0.05, *, freedom: ArrayLike | None = None
) -> PairedTest:
    """The two-sided paired t test, the interval of 1 - alpha, mean / deviation, and the difference found at POWER.

    `deviation` is that of the sample of n differences, `freedom` the degrees of freedom (n - 1). Where n < 2, nothing
    varies or no double holds how much it varies, every answer is nan.
    """
    n, mean, deviation = (np.asarray(number, np.float64) for number in (n, mean, deviation))
    freedom = n - 1 if freedom is None else np.asarray(freedom, np.float64)
    answers = (n >= 2) & (freedom > 0) & (deviation > 0) & np.isfinite(deviation)
    freedom, n, spread = (np.where(answers, number, np.nan) for number in (freedom, n, deviation))
    error = spread / np.sqrt(n)
    quantile = stdtrit(freedom, 1 - alpha / 2)
    return PairedTest(
        2 * stdtr(freedom, -np.abs(mean / error)),
        mean - quantile * error,
        mean + quantile * error,
        mean / spread,
        (quantile + stdtrit(freedom, POWER)) * error,
        np.abs(mean) + stdtrit(freedom, 1 - alpha) * error,
    )


def weighted_error(apart: Numbers, weights: Numbers) -> float:
    """The standard error of the weighted mean of differences, as weighted least squares with HC1 gives it."""
    n, total = len(apart), float(np.sum(weights))
    squares = np.sum((weights * (apart - np.sum(weights * apart) / total)) ** 2)
    return float(np.sqrt(n / (n - 1) * squares)) / total if n > 1 else float("nan")


def adjusted(p_values: ArrayLike, correction: str) -> Numbers:
    """P values adjusted for their number; nan stays nan and does not count.

    `holm` (1979) and `bonferroni` bound the chance of any false alarm, `bh` (Benjamini and Hochberg 1995) the expected
    share of false alarms; `none` leaves them as they are.
    """
    result = np.array(p_values, np.float64)
    tested = np.flatnonzero(~np.isnan(result))
    order = tested[np.argsort(result[tested], kind="stable")]
    ascending, rank, count = result[order], np.arange(1, len(order) + 1), len(order)
    if correction == "holm":
        ascending = np.maximum.accumulate(ascending * (count + 1 - rank))
    elif correction == "bh":
        ascending = np.minimum.accumulate((ascending * count / rank)[::-1])[::-1]
    elif correction == "bonferroni":
        ascending = ascending * count
    result[order] = np.minimum(ascending, 1.0)
    return result
