"""The randomization test of paired differences: how often random signs give a sum as large as the observed one.

Up to EXACT changed units (queries, or buckets of queries) all combinations of signs are enumerated. With more, signs
are drawn from a distribution that is tilted towards the observed sum (importance sampling by exponential tilting), so
that p values far below 1 / draws are as exact as large ones. The p value depends only on the differences, not on the
order of rows.
"""

import numpy as np

from ndcg_spark.comparison.matrix import Numbers

#: How many signs are drawn; and for a precise p value, how many at a time until the standard error is at most this
#: share of it.
DRAWS, REPLICATES, PRECISION = 1_000, 10_000, 0.0125
#: With this many changed units or fewer, every combination of signs is enumerated.
EXACT = 16
#: Up to this many queries, each query is a unit; beyond, the units are this many buckets of queries. Flipping buckets
#: is a subgroup of flipping queries, so the test stays valid.
UNITS = 4_096
#: Sums that differ by less than this share of the largest sum count as equal.
EQUAL = 1e-9
#: No p value is smaller than this, because smaller numbers lose digits.
LEAST = float(np.finfo(np.float64).tiny)

#: No more signs than this are drawn in total, which is one draw for the largest possible number of units.
_MAX_SIGNS = REPLICATES * UNITS
#: The number of units whose signs are drawn at once: 10,000 numbers for each take 41 MB.
_AT_ONCE = 512


def p_value(differences: Numbers, *, precise: bool = False) -> float:
    """The two-sided p value of the differences, each the sum of those of a unit's queries; 1 for a sum of 0.

    Differences as small as rounding errors of the largest one count as 0.
    """
    # In a fixed order, and with a largest of 1, so that the units of measurement do not matter.
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
        p = _counted(sizes, least)
    else:
        p = _drawn(sizes, observed, least, precise)
    return min(1.0, max(p, LEAST))


def _counted(sizes: Numbers, least: float) -> float:
    """The share of all signs whose sum is at least `least` from 0."""
    sums = np.zeros(1)
    for size in sizes:
        sums = np.concatenate([sums + size, sums - size])
    return float(np.mean(np.abs(sums) >= least))


def _drawn(sizes: Numbers, observed: float, least: float, precise: bool) -> float:
    """Twice the mean of [S >= least] exp(K(t) - t S), where each sign is + with the probability 1 / (1 + exp(-2 t a)).

    K(t) is the sum of log cosh(t a), and t is the tilt at which the mean of S is the observed sum.
    """
    tilt = _tilt(sizes, observed)
    # log cosh x, which does not leave the range of a double.
    cumulant = float(np.sum(tilt * sizes + np.log1p(np.exp(-2 * tilt * sizes)) - np.log(2)))
    chance = np.random.default_rng(0)
    drawn = np.zeros(0)
    draws = REPLICATES if precise else DRAWS
    while True:
        sums = _tilted_sums(chance, sizes, tilt, draws)
        drawn = np.append(drawn, np.where(sums >= least, np.exp(cumulant - tilt * np.maximum(sums, least)), 0.0))
        mean, error = float(drawn.mean()), float(drawn.std()) / len(drawn) ** 0.5
        if not precise or error <= PRECISION * mean or (len(drawn) + draws) * len(sizes) > _MAX_SIGNS:
            return 2 * mean


def _tilted_sums(chance: np.random.Generator, sizes: Numbers, tilt: float, draws: int) -> Numbers:
    sums = np.zeros(draws)
    for start in range(0, len(sizes), _AT_ONCE):
        part = sizes[start : start + _AT_ONCE]
        plus = chance.random((draws, len(part))) < 1 / (1 + np.exp(-2 * tilt * part))
        # Not `plus @ part`, whose threads take four times the processor time, and longer.
        sums += 2 * np.einsum("ij,j->i", plus, part) - part.sum()
    return sums


def _tilt(sizes: Numbers, observed: float) -> float:
    """The root of sum a tanh(t a) = observed, by Newton's method.

    The sum is concave in t and 0 at 0, so that from there every step stays below the root.
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
