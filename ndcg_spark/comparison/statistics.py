"""Statistics for paired differences: the t test, the randomization test, and adjusted p values.

The paired t test keeps its level on scores such as NDCG, as `COMPARING.md` shows. The randomization
test computes how often random signs give a sum as large as the observed one. For up to EXACT
changed units (queries, or buckets of queries) all signs are enumerated. Otherwise they are drawn
from a distribution that is tilted towards the observed sum (importance sampling by exponential
tilting), so that p values far below 1 / draws are as exact as large ones.
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
#: How many sums are drawn.
DRAWS = 1_000
#: For a precise p value, REPLICATES are drawn at a time, until the standard error is at most the
#: share PRECISION of the p value, or until REPLICATES * UNITS signs have been drawn.
REPLICATES, PRECISION = 10_000, 0.0125
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
    """The COMPARISONS columns for the two-sided paired t test, with an interval at level 1 - alpha.

    `largest` is the largest difference of either sign in the interval at level 1 - 2 alpha.
    `deviation` is the standard deviation of the n differences, and `freedom` is the degrees of
    freedom, n - 1 by default. All are numbers or arrays of one shape. If n < 2, if nothing varies,
    or if the variation does not fit a double, all results are nan.
    """
    # scipy is imported only where it is needed: its smallest part takes as long to import as
    # pandas, and scipy.stats takes four times that.
    from scipy.special import stdtr, stdtrit

    n = np.asarray(n, np.float64)
    mean = np.asarray(mean, np.float64)
    deviation = np.asarray(deviation, np.float64)
    freedom = n - 1 if freedom is None else np.asarray(freedom, np.float64)
    is_testable = (n >= 2) & (freedom > 0) & (deviation > 0) & np.isfinite(deviation)
    freedom = np.where(is_testable, freedom, np.nan)
    deviation = np.where(is_testable, deviation, np.nan)
    error = deviation / np.sqrt(np.where(is_testable, n, np.nan))
    quantile = stdtrit(freedom, 1 - alpha / 2)
    return {
        "p_value": 2 * stdtr(freedom, -np.abs(mean / error)),
        "interval_low": mean - quantile * error,
        "interval_high": mean + quantile * error,
        "effect_size": mean / deviation,
        "minimum_detectable": (quantile + stdtrit(freedom, POWER)) * error,
        "largest": np.abs(mean) + stdtrit(freedom, 1 - alpha) * error,
    }


def largest_plausible(n: int, mean: float, half: float, alpha: float) -> float:
    """The `largest` of `paired_t`, given half the width of its interval."""
    from scipy.special import stdtrit

    error = half / float(stdtrit(n - 1, 1 - alpha / 2))
    return abs(mean) + float(stdtrit(n - 1, 1 - alpha)) * error


def weighted_error(differences: Numbers, weights: Numbers) -> float:
    """The standard error of the weighted mean of differences, as in weighted least squares with
    HC1.
    """
    n = len(differences)
    if n < 2:
        return float("nan")
    total = float(np.sum(weights))
    mean = np.sum(weights * differences) / total
    squares = np.sum((weights * (differences - mean)) ** 2)
    return float(np.sqrt(n / (n - 1) * squares)) / total


class Total(NamedTuple):
    """The sum of the mean differences of several pieces, tested as one number."""

    total: float
    error: float
    freedom: float
    #: Each query's contribution to the sum. These contributions get random signs.
    units: Numbers


def total_of_pieces(pieces: Sequence[Numbers], weights: Sequence[Numbers]) -> Total:
    """The sum of the weighted mean differences of pieces, such as those of a chain of nights.

    Each piece has a difference per query (NaN if it leaves the query out) and a weight per query.
    A query in several pieces contributes to all of them, so its contributions are added before
    they are squared. With one piece, this is the paired t test's variance.
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
    error = np.nan
    if queries > 1:
        variance = queries / (queries - 1) * float(np.sum(contributions**2))
        error = float(np.sqrt(variance))
    return Total(total, error, freedom, units)


def adjusted(p_values: ArrayLike, correction: str) -> Numbers:
    """P values adjusted for their number.

    `holm` (1979) and `bonferroni` bound the probability of any false alarm. `bh` (Benjamini and
    Hochberg 1995) bounds the expected share of false alarms. `none` leaves p values unchanged.
    """
    result = np.array(p_values, np.float64)
    order = np.argsort(result, kind="stable")
    ascending = result[order]
    count = len(order)
    rank = np.arange(1, count + 1)
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

    Differences of 0 are left out; if there are no others, p is 1. It is exact for up to EXACT_RANKS
    differences, even if some sizes are equal and share their mean rank. For more, it uses a normal
    approximation.
    """
    known = differences[differences != 0]
    if not len(known):
        return 1.0
    ranks = _mean_ranks(np.abs(known))
    rank_sum = float(ranks[known > 0].sum())
    if len(differences) > EXACT_RANKS:
        return _p_of_normal(np.abs(known), rank_sum)
    return _p_of_enumeration(ranks, rank_sum)


def _p_of_normal(sizes: Numbers, rank_sum: float) -> float:
    """The p value of a sum of ranks, by the normal approximation with a correction for ties."""
    from scipy.special import ndtr

    n = len(sizes)
    ties = np.unique(sizes, return_counts=True)[1]
    correction = float(np.sum(ties**3 - ties)) / 48
    variance = n * (n + 1) * (2 * n + 1) / 24 - correction
    z = (rank_sum - n * (n + 1) / 4) / variance**0.5
    return float(2 * ndtr(-abs(z)))


def _p_of_enumeration(ranks: Numbers, rank_sum: float) -> float:
    """The p value of a sum of ranks, from the chance of every possible sum."""
    # Doubled ranks are whole numbers, so that their sums can be counted.
    doubled = np.rint(2 * ranks).astype(np.int64)
    # By doubled sum: its chance if each rank is added with probability 1/2.
    chances = np.ones(1)
    for rank in doubled:
        with_rank = np.concatenate([np.zeros(rank), chances])
        without = np.concatenate([chances, np.zeros(rank)])
        chances = (with_rank + without) / 2
    observed = round(2 * rank_sum)
    tail = min(float(chances[: observed + 1].sum()), float(chances[observed:].sum()))
    return min(1.0, 2 * tail)


def _mean_ranks(sizes: Numbers) -> Numbers:
    """Each size's rank, from 1; equal sizes share the mean of their ranks."""
    _, inverse, counts = np.unique(sizes, return_inverse=True, return_counts=True)
    last = np.cumsum(counts)
    means: Numbers = last - (counts - 1) / 2
    return means[inverse]


def in_buckets(differences: Numbers, buckets: NDArray[np.int64]) -> Numbers:
    """The units whose signs are randomized: the differences of queries or, if there are many, their
    sums over buckets of queries.
    """
    if len(differences) <= UNITS:
        return differences
    return np.bincount(buckets, differences, UNITS).astype(np.float64)


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
    observed = abs(float(np.sum(differences)))
    sizes = np.abs(differences)
    sizes = sizes[sizes > EQUAL]
    # A sum that equals the observed one except for rounding errors is as large.
    least = observed - EQUAL * float(sizes.sum())
    if observed >= sizes.sum() * (1 - EQUAL):
        # Only two combinations of signs have a sum as large: all + and all -.
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
    """The p value of random signs by importance sampling.

    It is the mean of [|S| >= least] exp(K(t)) / cosh(t S) over sums S of the sizes a with random
    signs, where each sign is + with probability 1 / (1 + exp(-2 t a)). K(t) is the sum of
    log cosh(t a), and t is the tilt at which the mean of S is the observed sum. Because |S| has the
    same distribution under -t, this samples from the mixture of both, so that p values near 1 are
    as precise as small ones.
    """
    tilt = _tilt(sizes, observed)
    cumulant = float(np.sum(_log_cosh(tilt * sizes)))
    plus = 1 / (1 + np.exp(-2 * tilt * sizes))
    chance = np.random.default_rng(0)
    draws = REPLICATES if precise else DRAWS
    terms = np.zeros(0)
    while True:
        sums = np.abs(_random_sums(sizes, plus, draws, chance))
        weights = np.exp(cumulant - _log_cosh(tilt * sums))
        terms = np.append(terms, np.where(sums >= least, weights, 0.0))
        mean = float(terms.mean())
        error = float(terms.std()) / len(terms) ** 0.5
        is_last = (len(terms) + draws) * len(sizes) > REPLICATES * UNITS
        if not precise or error <= PRECISION * mean or is_last:
            return mean


def _random_sums(sizes: Numbers, plus: Numbers, draws: int, chance: np.random.Generator) -> Numbers:
    """Sums of the sizes with random signs; `plus` is the probability of + for each size."""
    sums = np.zeros(draws)
    for part in np.array_split(sums, 1 + draws * len(sizes) // _AT_ONCE):
        is_plus = chance.random((len(part), len(sizes))) < plus
        # Not `@`, whose threads use four times the processor time and are slower.
        part[:] = 2 * np.einsum("ij,j->i", is_plus, sizes) - sizes.sum()
    return sums


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
