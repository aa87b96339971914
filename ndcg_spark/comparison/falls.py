"""Whether the level of a run has fallen: nights that are level, and then step or slide down.

A CUSUM needs four weeks of nights. This needs two, and says since when: of all lines that are level
and then change once, at once or night by night, it takes the one that is nearest to the nights.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

#: So many of the newest nights are looked at; so many have to be level, and so many to be lower.
MOST, LEVEL, LOWER = 60, 7, 5
#: By how much the squared distances to the nights must fall, in variances of the nights beside the
#: line. Unchanged systems reach it in less than one of 1,000 nights.
_LEAST = 40.0
#: The least deviation of nights, as those of an unchanged system have none.
_DEVIATION = 0.005 / 3


class Fall(NamedTuple):
    #: The first of the nights that is lower.
    first: int
    #: How far the newest is below the level, a negative number.
    difference: float


def fall_of(values: Sequence[float]) -> Fall | None:
    """The fall that the newest of these nights, by date, are in; None if there is none."""
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
    """Each change of the level: what it explains, its first night, and how far the newest moved."""
    number = np.arange(len(apart), dtype=np.float64)
    for first in range(LEVEL, len(apart) - LOWER + 1):
        slide = np.maximum(0.0, number - first + 1)
        step = np.where(number >= first, 1.0, 0.0)
        for shape in (step, slide):
            centered = shape - shape.mean()
            square = float(centered @ centered)
            slope = float(centered @ apart) / square
            yield slope**2 * square, first, slope * float(shape[-1])
