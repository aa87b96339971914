"""Where a run is night by night when nothing happens, and since when it is somewhere else.

The usual range comes from the nights before the level began to move, because a range of the last
nights follows a slow loss down and swallows it.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ndcg_spark.comparison.trend import FLOOR, MIN_NIGHTS, Point

Values = NDArray[np.float64]
#: The usual range in standard deviations, and how these follow from the median absolute deviation.
_DEVIATIONS, _OF_MAD = 3.0, 1.4826
#: How much better a moving level has to describe the nights than one that stays: an F value.
_CLEARLY = 20.0
#: A level has to move by so many standard deviations of a night.
_LARGE = 2.0
#: A moved level is seen in at least so many nights.
_SEEN = 3


class Move(NamedTuple):
    """A level that moved: since which night, by how much until the last one, and how."""

    since: str
    size: float
    #: Whether it moves night by night; else it moved once.
    is_slope: bool


class UsualRange(NamedTuple):
    low: float
    high: float
    #: Of so many nights, the first and the last of them.
    nights: int
    first: str
    last: str
    move: Move | None


class _Fit(NamedTuple):
    error: float
    start: int
    size: float
    is_slope: bool


def usual_range(points: Sequence[Point]) -> UsualRange | None:
    """The usual range of nights that can be compared with the last of them; None if they are few."""
    known = [point for point in points if point.value is not None]
    if len(known) <= MIN_NIGHTS:
        return None
    values = np.array([point.value for point in known], np.float64)
    fit = _moved(values)
    usual = known[:-1] if fit is None else known[: fit.start]
    base = values[: len(usual)]
    center = float(np.median(base))
    width = max(_DEVIATIONS * _deviation(base), FLOOR)
    move = None if fit is None else Move(known[fit.start].date, fit.size, fit.is_slope)
    ends = (usual[0].date, usual[-1].date)
    return UsualRange(center - width, center + width, len(usual), *ends, move)


def _deviation(values: Values) -> float:
    return _OF_MAD * float(np.median(np.abs(values - np.median(values))))


def _moved(values: Values) -> _Fit | None:
    """How the level moved and has not come back; None if it stays."""
    if len(values) < MIN_NIGHTS + _SEEN:
        return None
    smooth = _without_single_nights(values)
    fit = min(_fits(smooth), key=lambda one: one.error)
    stays = float(np.sum((smooth - smooth.mean()) ** 2))
    freedom = len(values) - 3
    is_clear = stays - fit.error > _CLEARLY * fit.error / freedom
    least = max(FLOOR, _LARGE * _deviation(values[: fit.start]))
    # What has come back is where it was.
    last = float(np.median(smooth[-_SEEN:]) - np.median(values[: fit.start]))
    is_away = last * fit.size > 0 and abs(last) > abs(fit.size) / 2
    return fit if is_clear and is_away and abs(fit.size) > least else None


def _without_single_nights(values: Values) -> Values:
    """Each night as the median of itself and its neighbours, so that one night moves nothing."""
    smooth = values.copy()
    for at in range(1, len(values) - 1):
        smooth[at] = np.median(values[at - 1 : at + 2])
    return smooth


def _fits(values: Values) -> list[_Fit]:
    """The nights described by a level that moves from each possible night on."""
    at = np.arange(len(values))
    fits = []
    for start in range(MIN_NIGHTS, len(values) - _SEEN + 1):
        slope = np.maximum(at - start + 1, 0).astype(np.float64)
        step = (at >= start).astype(np.float64)
        for shape, is_slope in ((slope, True), (step, False)):
            centered = shape - shape.mean()
            rate = float(centered @ values / (centered @ centered))
            rest = values - values.mean() - rate * centered
            fits.append(_Fit(float(rest @ rest), start, rate * float(shape[-1]), is_slope))
    return fits
