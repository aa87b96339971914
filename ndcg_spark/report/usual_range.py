"""The range of a run's scores in nights when nothing happens.

The usual range comes from the nights before the level began to move. A range of the last nights
would follow a slow loss down and hide it.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ndcg_spark.comparison.falls import MOST, fall_of
from ndcg_spark.comparison.trend import (
    FLOOR,
    MIN_NIGHTS,
    Falling,
    Point,
    chained_stretch,
    falling_since,
    floor_of,
)

#: The usual range in standard deviations, and their ratio to the median absolute deviation.
_DEVIATIONS, _OF_MAD = 3.0, 1.4826


#: From this share of the nights' variance explained by a slope, there is little else.
_SLOPE = 0.8
Values = NDArray[np.float64]


class UsualRange(NamedTuple):
    low: float
    high: float
    #: The number of nights that it comes from.
    nights: int
    #: The first night with a different level; None if the level did not move.
    moved_on: str | None = None
    #: Since when the run has been lower, and by how much; None if it is not lower.
    falling: Falling | None = None


def usual_range(points: Sequence[Point], *, is_of_catalog: bool = False) -> UsualRange | None:
    """The usual range of a line's nights, ordered by date; None if there are too few.

    An accepted night starts a new level. Catalog measures are unbounded, and can fall without a
    loss.
    """
    known = [point for point in chained_stretch(points) if point.chained is not None]
    accepted = [at for at, point in enumerate(known) if point.restarts]
    known = known[accepted[-1] if accepted else 0 :][-MOST:]
    if len(known) <= MIN_NIGHTS:
        return None
    values = np.array([point.chained for point in known], np.float64)
    floor = floor_of(values.tolist(), is_of_catalog=is_of_catalog)
    first = _first_moved(values * FLOOR / floor) if floor else None
    base = values[:-1] if first is None else values[:first]
    center = float(np.median(base))
    deviation = _deviation(base)
    if first is None and _slides(values, floor):
        # The line moves throughout, so only the first nights can be used.
        first = MIN_NIGHTS
        base = values[:first]
        center = float(np.median(base))
        deviation = _deviation(np.diff(base)) / 2**0.5
    width = max(_DEVIATIONS * deviation, floor)
    moved_on = None if first is None else known[first].date
    ends = (center - width, center + width)
    falling = None if is_of_catalog else falling_since(points)
    return UsualRange(*ends, len(base), moved_on, falling)


def _deviation(values: Values) -> float:
    return _OF_MAD * float(np.median(np.abs(values - np.median(values))))


def _slides(values: Values, floor: float) -> bool:
    """Whether a line is mostly a slope from its first night on."""
    number = np.arange(len(values), dtype=np.float64)
    slope = float(np.polyfit(number, values, 1)[0])
    total = float(np.var(values))
    explained = slope**2 * float(np.var(number))
    return abs(slope) * len(values) > 2 * floor and explained > _SLOPE * total


def _first_moved(values: Values) -> int | None:
    """The first night of a lower or higher level; None if the level does not change."""
    for sign in (1.0, -1.0):
        fall = fall_of(list(sign * values))
        if fall is not None:
            return fall.first
    return None
