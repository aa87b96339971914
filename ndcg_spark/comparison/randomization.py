"""The randomization test of paired differences: how often random signs give a sum as large as the observed one.

Up to EXACT changed units (queries, or buckets of queries) all combinations of signs are enumerated. With more, signs
are drawn from a distribution that is tilted towards the observed sum (importance sampling by exponential tilting), so
that p values far below 1 in REPLICATES are as exact as large ones. The p value depends only on the differences and the
seed, not on the order of rows or the engine.
"""

import numpy as np
from numpy.typing import NDArray

#: How many signs are drawn at a time, repeatedly until the standard error is at most this share of the p value.
REPLICATES, PRECISION = 10_000, 0.0125
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
_MOST_SIGNS = REPLICATES * UNITS
#: The number of units whose signs are drawn at once: 10,000 numbers for each take 41 MB.
_AT_ONCE = 512

_Numbers = NDArray[np.float64]


def p_value(differences: _Numbers, seed: int = 0) -> float:
    """The two-sided p value of the differences, each the sum of those of a unit's queries; 1 for a sum of 0.

    Differences as small as rounding errors of the largest one count as 0.
    """
    sizes = np.abs(np.asarray(differences, np.float64))
    largest = sizes.max(initial=0.0)
    if not largest > 0:
        return 1.0
    # In a fixed order, and with a largest of 1, so that neither weights nor units of measurement matter.
    order = np.argsort(sizes, kind="stable")
    sizes = sizes[order] / largest
    seen = abs(float(np.sum(np.asarray(differences, np.float64)[order] / largest)))
    changed = sizes[sizes > EQUAL]
    limit = EQUAL * float(changed.sum())
    if seen >= changed.sum() - limit:
        return max(2.0 ** (1 - len(changed)), LEAST)
    exact = len(changed) <= EXACT
    found = _counted(changed, seen - limit) if exact else _drawn(changed, seen, seen - limit, seed)
    return min(1.0, max(found, LEAST))


def _counted(sizes: _Numbers, least: float) -> float:
    """The share of all signs whose sum is at least `least` from 0."""
    sums = np.zeros(1)
    for size in sizes:
        sums = np.concatenate([sums + size, sums - size])
    return float(np.mean(np.abs(sums) >= least))


def _drawn(sizes: _Numbers, seen: float, least: float, seed: int) -> float:
    """Twice the mean of [S >= least] exp(K(t) - t S), where each sign is + with the probability 1 / (1 + exp(-2 t a)).

    K(t) is the sum of log cosh(t a), and t is the tilt at which the mean of S is the observed sum.
    """
    tilt = _tilt(sizes, seen)
    # log cosh x, which does not leave the range of a double.
    cumulant = float(np.sum(tilt * sizes + np.log1p(np.exp(-2 * tilt * sizes)) - np.log(2)))
    chance = np.random.default_rng(seed)
    drawn = np.zeros(0)
    while True:
        sums = _tilted_sums(chance, sizes, tilt)
        drawn = np.append(drawn, np.where(sums >= least, np.exp(cumulant - tilt * np.maximum(sums, least)), 0.0))
        mean, error = float(drawn.mean()), float(drawn.std()) / len(drawn) ** 0.5
        if error <= PRECISION * mean or (len(drawn) + REPLICATES) * len(sizes) > _MOST_SIGNS:
            return 2 * mean


def _tilted_sums(chance: np.random.Generator, sizes: _Numbers, tilt: float) -> _Numbers:
    sums = np.zeros(REPLICATES)
    for start in range(0, len(sizes), _AT_ONCE):
        part = sizes[start : start + _AT_ONCE]
        plus = chance.random((REPLICATES, len(part))) < 1 / (1 + np.exp(-2 * tilt * part))
        sums += 2 * (plus @ part) - part.sum()
    return sums


def _tilt(sizes: _Numbers, seen: float) -> float:
    """The root of sum a tanh(t a) = seen, by bisection: the sum grows with t, from 0 to the sum of the sizes."""
    low, high = 0.0, 1.0
    while float(np.sum(sizes * np.tanh(high * sizes))) < seen and high < 1e9:
        low, high = high, 2 * high
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if float(np.sum(sizes * np.tanh(middle * sizes))) < seen else (low, middle)
    return (low + high) / 2
