"""Statistics for paired differences: the t test, the randomization test, and adjusted p values.

The paired t test keeps its level on scores such as NDCG, as `COMPARING.md` shows. The randomization
test says how often random signs give a sum as large as the observed one. For up to EXACT changed
units (queries, or buckets of queries) all signs are enumerated. Otherwise they are drawn from a
distribution that is tilted towards the observed sum (importance sampling by exponential tilting),
so that p values far below 1 / draws are as exact as large ones.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ndcg_spark.tolerance import EQUAL

Numbers = NDArray[np.float64]

CORRECTIONS = ("holm", "bonferroni", "bh", "none")
#: The power at which a difference counts as detectable.
POWER = 0.8
#: No p value is smaller than this, because smaller numbers lose digits.
MIN_P = float(np.finfo(np.float64).tiny)

#: With this many changed units or fewer, every combination of signs is enumerated.
EXACT = 16
#: Up to this many queries, each query is a unit; above it, the units are this many buckets of
#: queries. Flipping buckets is a subgroup of flipping queries, so the test remains valid.
UNITS = 4_096
#: How many draws there are; and for a precise p value, how many at a time until the standard error
#: is at most this share of it, or until there are more signs than in one batch with the largest
#: possible number of units.
DRAWS, REPLICATES, PRECISION = 1_000, 10_000, 0.0125
#: The signed-rank test is exact up to this many differences, as in scipy.
EXACT_RANKS = 50
#: How many signs are drawn at once: with more, the system keeps clearing memory.
_AT_ONCE = 1 << 15


def paired_t(
    n: ArrayLike,
    mean: ArrayLike,
    deviation: ArrayLike,
    alpha: float = 0.05,
    *,
    freedom: ArrayLike | None = None,
) -> dict[str, Any]:
    """The COMPARISONS columns of the two-sided paired t test, with an interval at level 1 - alpha.

    `largest` is the largest difference of either sign in the interval at level 1 - 2 alpha.
    `deviation` is the standard deviation of the n differences, and `freedom` is the degrees of
    freedom (n - 1). All are numbers or arrays of one shape. If n < 2, if nothing varies, or if the
    variation does not fit a double, all results are nan.
    """
    # scipy is imported only where it is needed: its smallest part takes as long to import as
    # pandas, and scipy.stats takes four times that.
    from scipy.special import stdtr, stdtrit

    n, mean, deviation = (np.asarray(number, np.float64) for number in (n, mean, deviation))
    freedom = n - 1 if freedom is None else np.asarray(freedom, np.float64)
    answers = (n >= 2) & (freedom > 0) & (deviation > 0) & np.isfinite(deviation)
    freedom, n, spread = (np.where(answers, number, np.nan) for number in (freedom, n, deviation))
    error = spread / np.sqrt(n)
    quantile = stdtrit(freedom, 1 - alpha / 2)
    return {
        "p_value": 2 * stdtr(freedom, -np.abs(mean / error)),
        "interval_low": mean - quantile * error,
        "interval_high": mean + quantile * error,
        "effect_size": mean / spread,
        "minimum_detectable": (quantile + stdtrit(freedom, POWER)) * error,
        "largest": np.abs(mean) + stdtrit(freedom, 1 - alpha) * error,
    }


def largest_plausible(n: int, mean: float, half: float, alpha: float) -> float:
    """The `largest` of `paired_t`, given half the width of its interval."""
    from scipy.special import stdtrit

    error = half / float(stdtrit(n - 1, 1 - alpha / 2))
    return abs(mean) + float(stdtrit(n - 1, 1 - alpha)) * error


def weighted_error(apart: Numbers, weights: Numbers) -> float:
    """The standard error of the weighted mean of differences, as in weighted least squares with
    HC1.
    """
    n, total = len(apart), float(np.sum(weights))
    squares = np.sum((weights * (apart - np.sum(weights * apart) / total)) ** 2)
    return float(np.sqrt(n / (n - 1) * squares)) / total if n > 1 else float("nan")


class Total(NamedTuple):
    """The sum of the mean differences of several pieces, tested as one number."""

    total: float
    error: float
    freedom: float
    #: The contribution of each query to the sum; these get random signs.
    units: Numbers


def total_of_pieces(pieces: Sequence[Numbers], weights: Sequence[Numbers]) -> Total:
    """The sum of the weighted mean differences of pieces, such as those of a chain of nights.

    Each piece has a difference per query (NaN if it leaves the query out) and a weight per query.
    A query in several pieces contributes to all of them, so its contributions are added before
    they are squared. With one piece, this is the variance of the paired t test.
    """
    total = 0.0
    freedom = np.inf
    contributions = np.zeros(len(pieces[0]))
    units = np.zeros(len(pieces[0]))
    is_in_one = np.zeros(len(pieces[0]), np.bool_)
    for apart, weight in zip(pieces, weights, strict=True):
        is_in = ~np.isnan(apart) & ~np.isnan(weight)
        own = np.where(is_in, weight, 0.0)
        differences = np.where(is_in, apart, 0.0)
        share = own / own.sum()
        mean = float(np.sum(share * differences))
        total += mean
        contributions += share * (differences - mean)
        units += share * differences
        is_in_one |= is_in
        freedom = min(freedom, float(own.sum() ** 2 / np.sum(own**2)) - 1)
    queries = np.count_nonzero(is_in_one)
    variance = queries / (queries - 1) * float(np.sum(contributions**2)) if queries > 1 else np.nan
    return Total(total, float(np.sqrt(variance)), freedom, units)


def adjusted(p_values: ArrayLike, correction: str) -> Numbers:
    """P values adjusted for their number.

    `holm` (1979) and `bonferroni` bound the probability of any false alarm. `bh` (Benjamini and
    Hochberg 1995) bounds the expected share of false alarms. `none` leaves p values unchanged.
    """
    result = np.array(p_values, np.float64)
    order = np.argsort(result, kind="stable")
    ascending, rank, count = result[order], np.arange(1, len(order) + 1), len(order)
    if correction == "holm":
        ascending = np.maximum.accumulate(ascending * (count + 1 - rank))
    elif correction == "bh":
        ascending = np.minimum.accumulate((ascending * count / rank)[::-1])[::-1]
    elif correction == "bonferroni":
        ascending = ascending * count
    result[order] = np.minimum(ascending, 1.0)
    return result


def signed_ranks(differences: Numbers) -> float:
    """The two-sided p value of Wilcoxon's signed-rank test (1945), as in scipy's `wilcoxon`.

    Differences of 0 are left out; if there are no others, p is 1. It is exact for up to
    EXACT_RANKS differences, even if sizes are equal and share their mean rank. For more, it uses
    a normal approximation.
    """
    known = differences[differences != 0]
    sizes = np.abs(known)
    n = len(sizes)
    if not n:
        return 1.0
    ranks = _mean_ranks(sizes)
    above = float(ranks[known > 0].sum())
    if len(differences) > EXACT_RANKS:
        from scipy.special import ndtr

        ties = np.unique(sizes, return_counts=True)[1]
        correction = float(np.sum(ties**3 - ties)) / 48
        variance = n * (n + 1) * (2 * n + 1) / 24 - correction
        z = (above - n * (n + 1) / 4) / variance**0.5
        return float(2 * ndtr(-abs(z)))
    # Doubled ranks are whole numbers, so that their sums can be counted.
    doubled = np.rint(2 * ranks).astype(np.int64)
    chances = np.ones(1)
    for rank in doubled:
        with_rank = np.concatenate([np.zeros(rank), chances])
        without = np.concatenate([chances, np.zeros(rank)])
        chances = (with_rank + without) / 2
    observed = round(2 * above)
    tail = min(float(chances[: observed + 1].sum()), float(chances[observed:].sum()))
    return min(1.0, 2 * tail)


def _mean_ranks(sizes: Numbers) -> Numbers:
    """The rank of each size, from 1; equal sizes share the mean of their ranks."""
    _, inverse, counts = np.unique(sizes, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    means: Numbers = last - (counts - 1) / 2
    return means[inverse]


def random_signs(differences: Numbers, *, precise: bool = False) -> float:
    """The two-sided p value of the randomization test for the differences of units; 1 if their sum
    is 0.

    It depends neither on the order of the differences nor on their unit of measurement.
    Differences as small as the rounding error of the largest one are treated as 0.
    """
    differences = differences[np.argsort(np.abs(differences), kind="stable")]
    if not np.any(differences):
        return 1.0
    differences = differences / np.abs(differences[-1])
    observed, sizes = abs(float(np.sum(differences))), np.abs(differences)
    sizes = sizes[sizes > EQUAL]
    least = observed - EQUAL * float(sizes.sum())
    if observed >= sizes.sum() * (1 - EQUAL):
        p = 2.0 ** (1 - len(sizes))
    elif len(sizes) <= EXACT:
        sums = np.zeros(1)
        for size in sizes:
            sums = np.concatenate([sums + size, sums - size])
        p = float(np.mean(np.abs(sums) >= least))
    else:
        p = _drawn(sizes, observed, least, precise)
    return min(1.0, max(p, MIN_P))


def _drawn(sizes: Numbers, observed: float, least: float, precise: bool) -> float:
    """The mean of [|S| >= least] exp(K(t)) / cosh(t S), where each sign is + with probability 1 /
    (1 + exp(-2 t a)).

    K(t) is the sum of log cosh(t a), and t is the tilt at which the mean of S is the observed sum.
    Because |S| has the same distribution under -t, this samples from the mixture of both, so that
    p values near 1 are as precise as small ones.
    """
    tilt = _tilt(sizes, observed)
    cumulant = float(np.sum(_log_cosh(tilt * sizes)))
    chance, drawn, draws = np.random.default_rng(0), np.zeros(0), REPLICATES if precise else DRAWS
    share = 1 / (1 + np.exp(-2 * tilt * sizes))
    while True:
        sums = np.zeros(draws)
        for part in np.array_split(sums, 1 + draws * len(sizes) // _AT_ONCE):
            # Not `@`, whose threads use four times the processor time and are slower.
            part[:] = (
                2 * np.einsum("ij,j->i", chance.random((len(part), len(sizes))) < share, sizes)
                - sizes.sum()
            )
        sums = np.abs(sums)
        drawn = np.append(
            drawn, np.where(sums >= least, np.exp(cumulant - _log_cosh(tilt * sums)), 0.0)
        )
        mean, error = float(drawn.mean()), float(drawn.std()) / len(drawn) ** 0.5
        if (
            not precise
            or error <= PRECISION * mean
            or (len(drawn) + draws) * len(sizes) > REPLICATES * UNITS
        ):
            return mean


def _log_cosh(x: Numbers) -> Numbers:
    """The logarithm of cosh x, computed without overflow."""
    value: Numbers = np.logaddexp(x, -x) - np.log(2)
    return value


def _tilt(sizes: Numbers, observed: float) -> float:
    """The root of sum a tanh(t a) = observed, by Newton's method.

    The sum is concave in t and 0 at 0, so every step from there remains below the root.
    """
    tilt = 0.0
    for _ in range(200):
        tanh = np.tanh(tilt * sizes)
        slope = float(np.sum(sizes * sizes * (1 - tanh * tanh)))
        step = (observed - float(np.sum(sizes * tanh))) / slope if slope > 0 else 0.0
        tilt += step
        if step <= 1e-12 * tilt:
            break
    return tilt
