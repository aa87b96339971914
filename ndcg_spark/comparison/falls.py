"""Whether the level of a run has fallen: nights that are level, and then step or slide down.

A CUSUM needs four weeks of nights. This needs two, and says since when. It considers all lines
that are level and then change once, suddenly or night by night, and takes the one that fits the
nights best.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

#: How many of the newest nights are used; how many must be level, and how many must be lower.
MOST, LEVEL, LOWER = 60, 7, 5
#: How much the squared distances to the nights must fall, in variances of the nights around the
#: line. Unchanged systems reach it in fewer than one in 1,000 nights.
_LEAST = 40.0
#: The smallest deviation of nights, as the nights of an unchanged system have none.
_DEVIATION = 0.005 / 3


class Fall(NamedTuple):
    #: The index of the first lower night.
    first: int
    #: How far the newest night is below the level, as a negative number.
    difference: float


def fall_of(values: Sequence[float]) -> Fall | None:
    """The fall that the newest of these nights are in; None if there is none."""
    nights = np.asarray(values[-MOST:], dtype=np.float64)
    if len(nights) < LEVEL + LOWER:
        return None
    apart = nights - nights.mean()
    total = float(apart @ apart)
    explained, first, difference = max(_changes(apart), key=lambda change: change[0])
    variance = max((total - explained) / (len(nights) - 3), _DEVIATION**2)
    if difference >= 0 or explained < _LEAST * variance:
        return None
    return Fall(first + len(values) - len(nights), difference)


def _changes(apart: NDArray[np.float64]) -> Iterator[tuple[float, int, float]]:
    """Each possible change of the level: what it explains, its first night, and its size."""
    number = np.arange(len(apart), dtype=np.float64)
    for first in range(LEVEL, len(apart) - LOWER + 1):
        slide = np.maximum(0.0, number - first + 1)
        step = np.where(number >= first, 1.0, 0.0)
        for shape in (step, slide):
            centered = shape - shape.mean()
            square = float(centered @ centered)
            slope = float(centered @ apart) / square
            yield slope**2 * square, first, slope * float(shape[-1])
