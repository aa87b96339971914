"""Detects that a run's level has fallen: nights that are level, and then step or slide down.

A CUSUM needs four weeks of nights. This needs two, and finds the first lower night. It considers
all lines that are level and then change once, suddenly or night by night, and takes the one that
fits the nights best.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

#: How many of the newest nights are used; how many must be level, and how many must be lower.
MOST, LEVEL, LOWER = 60, 7, 5
#: How much the sum of squared distances from the line to the nights must decrease, in variances of
#: the nights around the line. Unchanged systems reach it in fewer than one in 1,000 nights.
_LEAST = 40.0
#: The smallest deviation of nights, because the nights of an unchanged system do not vary at all.
_DEVIATION = 0.005 / 3


class Fall(NamedTuple):
    """A fall in the level that still applies on the newest night."""

    #: The index of the first lower night.
    first: int
    #: How far the newest night is below the level, as a negative number.
    difference: float


def fall_of(values: Sequence[float]) -> Fall | None:
    """The fall that still applies on the newest of these nights, or None."""
    nights = np.asarray(values[-MOST:], dtype=np.float64)
    if len(nights) < LEVEL + LOWER:
        return None
    distances = nights - nights.mean()
    total = float(distances @ distances)
    best = max(_changes(distances), key=lambda change: change.explained)
    # Three numbers are fitted: the line's level, the size of the change, and its first night.
    variance = max((total - best.explained) / (len(nights) - 3), _DEVIATION**2)
    if best.difference >= 0 or best.explained < _LEAST * variance:
        return None
    left_out = len(values) - len(nights)
    return Fall(left_out + best.first, best.difference)


class _Change(NamedTuple):
    """A possible change in the level."""

    #: How much of the sum of squared distances to the mean it explains.
    explained: float
    #: The index of its first night.
    first: int
    difference: float


def _changes(distances: NDArray[np.float64]) -> Iterator[_Change]:
    """Each possible change of the level, fitted by least squares to the distances to the mean."""
    number = np.arange(len(distances), dtype=np.float64)
    for first in range(LEVEL, len(distances) - LOWER + 1):
        slide = np.maximum(0.0, number - first + 1)
        step = np.where(number >= first, 1.0, 0.0)
        for shape in (step, slide):
            centered = shape - shape.mean()
            square = float(centered @ centered)
            slope = float(centered @ distances) / square
            yield _Change(slope**2 * square, first, slope * float(shape[-1]))
