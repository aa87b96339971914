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

#: Half the width of the usual range in standard deviations.
_DEVIATIONS = 3.0
#: The ratio of the standard deviation of normal values to their median absolute deviation.
_OF_MAD = 1.4826
#: A line is mostly a slope if the slope explains at least this share of its variance.
_SLOPE = 0.8
Values = NDArray[np.float64]


class UsualRange(NamedTuple):
    low: float
    high: float
    #: The number of nights that it comes from.
    nights: int
    #: The first night with a different level; None if the level did not move.
    moved_on: str | None = None
    #: When the run fell, and by how much; None if it is not lower.
    falling: Falling | None = None


def usual_range(points: Sequence[Point], *, is_of_catalog: bool = False) -> UsualRange | None:
    """The usual range of a line's nights, ordered by date; None if there are too few.

    An accepted night starts a new level. Catalog measures are unbounded, and can fall without a
    loss.
    """
    known = _since_accepted(points)[-MOST:]
    if len(known) <= MIN_NIGHTS:
        return None
    values = np.array([point.chained for point in known], np.float64)
    # Smaller movements are not a different level.
    floor = floor_of(values.tolist(), is_of_catalog=is_of_catalog)
    first_moved = _first_moved(values * FLOOR / floor) if floor else None
    # Without a different level, the range comes from all nights before the last one.
    usual = values[:-1] if first_moved is None else values[:first_moved]
    deviation = _deviation(usual)
    if first_moved is None and _slides(values, floor):
        # The line moves throughout, so only the first nights can be used.
        first_moved = MIN_NIGHTS
        usual = values[:first_moved]
        # Differences remove the slope; each is between two nights, hence the square root.
        deviation = _deviation(np.diff(usual)) / 2**0.5
    center = float(np.median(usual))
    width = max(_DEVIATIONS * deviation, floor)
    return UsualRange(
        low=center - width,
        high=center + width,
        nights=len(usual),
        moved_on=None if first_moved is None else known[first_moved].date,
        falling=None if is_of_catalog else falling_since(points),
    )


def _since_accepted(points: Sequence[Point]) -> list[Point]:
    """The line's nights that have a value, from the newest accepted one on if there is one."""
    known = [point for point in chained_stretch(points) if point.chained is not None]
    accepted = [at for at, point in enumerate(known) if point.restarts]
    return known[accepted[-1] :] if accepted else known


def _deviation(values: Values) -> float:
    """The standard deviation, estimated from the median so that outliers have no effect."""
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
