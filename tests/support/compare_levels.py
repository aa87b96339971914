"""False alarms and coverage of comparisons, measured by simulation.

python tests/support/compare_levels.py prints the tables of COMPARING.md, in a minute.
"""

import sys
from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from ndcg_spark.comparison import statistics
from ndcg_spark.comparison.moments import Moments
from ndcg_spark.comparison.randomization import p_value

DRAWS = 2_000
_Numbers = NDArray[np.float64]
_Draw = Callable[[np.random.Generator, int], _Numbers]


def _two(share: float, loss: float, other: float, others: float) -> _Draw:
    """Differences of which a share is `loss`, another share `other`, and the rest 0."""

    def draw(chance: np.random.Generator, n: int) -> _Numbers:
        place = chance.random((DRAWS, n))
        return np.where(place < share, loss, np.where(place < share + others, other, 0.0))

    return draw


#: Differences whose true mean is 0.
DIFFERENCES: dict[str, _Draw] = {
    "normal": lambda chance, n: chance.normal(0, 0.1, (DRAWS, n)),
    "exponential": lambda chance, n: chance.exponential(1, (DRAWS, n)) - 1,
    "lognormal": lambda chance, n: chance.lognormal(0, 1, (DRAWS, n)) - np.exp(0.5),
    "10 % lose 0.5, all others gain": _two(0.1, -0.5, 0.5 * 0.1 / 0.9, 0.9),
    "5 % lose 0.5, all others gain": _two(0.05, -0.5, 0.5 * 0.05 / 0.95, 0.95),
    "80 % unchanged, others normal": lambda chance, n: (
        chance.normal(0, 1, (DRAWS, n)) * (chance.random((DRAWS, n)) < 0.2)
    ),
    "2 % gain 0.45, 18 % lose 0.05": _two(0.02, 0.45, -0.05, 0.18),
}


def compared(apart: _Numbers) -> tuple[float, bool, str]:
    """The p value that `compare` gives such differences, whether its interval has 0, and the test."""
    n, center = len(apart), float(apart.mean())
    variance = float(apart.var())
    skewness = float(((apart - center) ** 3).mean()) / variance**1.5 if variance > 0 else 0.0
    moments = Moments.of([(n, center, variance, skewness)])
    flags = statistics.doubts(moments, int((np.abs(apart) > 1e-9).sum()))
    if "unchanged" in flags or "no_variation" in flags:
        return p_value(apart), "unchanged" in flags, "none"
    is_corrected = flags == ["skewed"]
    t = statistics.paired_t(n, center, moments.deviation, skewness=moments.skewness_of_mean if is_corrected else 0.0)
    covers = bool(t.interval_low <= 0 <= t.interval_high)
    if "few_changed" in flags:
        return p_value(apart), covers, "randomization"
    return float(t.p_value), covers, "corrected t" if is_corrected else "t"


def weighted_coverage(chance: np.random.Generator, n: int, sigma: float) -> float:
    """The coverage of the weighted interval of normal differences, with lognormal weights."""
    weight, apart = chance.lognormal(0, sigma, (DRAWS, n)), chance.normal(0, 0.1, (DRAWS, n))
    total = weight.sum(axis=1)
    mean = (weight * apart).sum(axis=1) / total
    error = statistics.weighted_error(n, (weight**2 * (apart - mean[:, None]) ** 2).sum(axis=1), total)
    freedom = total**2 / (weight**2).sum(axis=1) - 1
    t = statistics.paired_t(n, mean, error * np.sqrt(n), freedom=freedom)
    return float(np.mean((t.interval_low <= 0) & (t.interval_high >= 0)))


def lines() -> Iterator[str]:
    """The lines of the tables."""
    yield (f"{'differences':32s}    n      t  compare  coverage  tests")
    for name, draw in DIFFERENCES.items():
        for n in (50, 200):
            samples = draw(np.random.default_rng([n, 1]), n)
            t = statistics.paired_t(n, samples.mean(axis=1), samples.std(axis=1, ddof=1)).p_value
            found = [compared(sample) for sample in samples]
            tests = {test: sum(each[2] == test for each in found) for test in dict.fromkeys(each[2] for each in found)}
            alarms, covered = (np.mean([each[0] < 0.05 for each in found]), np.mean([each[1] for each in found]))
            yield (f"{name:32s} {n:4d} {np.mean(t < 0.05):6.1%} {alarms:8.1%} {covered:9.1%}  {tests}")
    for sigma in (1.0, 1.5):
        coverage = weighted_coverage(np.random.default_rng(2), 50, sigma)
        yield (f"interval with lognormal({sigma}) weights of 50 queries: covers {coverage:.1%}")


if __name__ == "__main__":
    sys.stdout.writelines(f"{line}\n" for line in lines())
