"""Count, mean, variance and skewness of sets of differences, combined without subtracting large sums."""

import dataclasses
import math
from collections.abc import Iterable

import numpy as np

#: How many differences a set has, their mean, and the variance and the skewness of the population.
Part = tuple[int, float | None, float | None, float | None]


@dataclasses.dataclass(frozen=True)
class Moments:
    """How many differences there are, their mean, and the sums of their squared and cubed distances from it."""

    n: int = 0
    mean: float = 0.0
    squares: float = 0.0
    cubes: float = 0.0

    @classmethod
    def of(cls, parts: Iterable[Part]) -> "Moments":
        """The moments of sets of differences combined, without subtracting large sums; undefined ones count as 0.

        A mean that is not a finite number is kept, because 0 would say that nothing was lost.
        """
        known = [
            (n, mean, max(_number(variance), 0.0), _number(skew))
            for n, mean, variance, skew in parts
            if n and mean is not None
        ]
        n = sum(part[0] for part in known)
        if not n:
            return cls()
        first = known[0][1]
        mean = first + sum(part[0] * (part[1] - first) for part in known) / n
        squares = cubes = 0.0
        for count, of_part, variance, skewness in known:
            # Products, because a power that leaves the range of a double raises an error.
            apart = of_part - mean if len(known) > 1 else 0.0
            squares += count * (variance + apart * apart)
            cubes += count * (skewness * _to_the_1_5(variance) + 3 * apart * variance + apart * apart * apart)
        return cls(n, mean, squares, cubes)

    @property
    def deviation(self) -> float:
        """The standard deviation of the sample; 0 for fewer than two."""
        return float(np.sqrt(self.squares / (self.n - 1))) if self.n > 1 else 0.0

    @property
    def skewness(self) -> float:
        """The skewness of the population; 0 where nothing varies."""
        return float(self.cubes / self.n / _to_the_1_5(self.squares / self.n)) if self.squares > 0 else 0.0

    @property
    def skewness_of_mean(self) -> float:
        """The skewness of the mean of n differences: that of the population over sqrt(n)."""
        return self.skewness / math.sqrt(self.n) if self.n else 0.0


def _to_the_1_5(value: float) -> float:
    return value * math.sqrt(value)


def _number(value: float | None) -> float:
    return value if value is not None and np.isfinite(value) else 0.0
