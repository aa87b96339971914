"""The scores of a run, night by night: where they cannot be compared with those before, and which stand out.

Robust statistics of few numbers: a median and a median absolute deviation (MAD), which one bad night does not move.
"""

import dataclasses
import statistics
from collections.abc import Sequence

#: A night is compared with the median of at most WINDOW comparable nights before it, and of at least LEAST.
WINDOW, LEAST = 28, 7
#: How far from the median a night may be, in standard deviations as the MAD tells them for normal values.
_DEVIATIONS, _OF_MAD = 3.0, 1.4826
#: The least distance that is flagged, as nights of an unchanged system have a MAD of 0.
FLOOR = 0.005
#: The drop since the anchor is that between medians of LEVEL nights, so that it takes more than one bad night.
LEVEL = 7
#: How large that drop may be by default.
ALLOWED_DROP = 0.02


@dataclasses.dataclass(frozen=True)
class NightScore:
    """The score of one night, and what it must share with another to be compared with it."""

    date: str
    #: None if no query is left for a mean.
    value: float | None
    convention: str
    judgments: str


@dataclasses.dataclass(frozen=True)
class Flag:
    """Why a night stands out: `low`, `high` or `drop`, and a sentence with the numbers."""

    code: str
    words: str


@dataclasses.dataclass(frozen=True)
class Band:
    """Where the score of a night is no surprise: the median of the comparable nights before, and how far from it."""

    median: float
    low: float
    high: float
    #: How many nights the median is of.
    nights: int


@dataclasses.dataclass(frozen=True)
class Point:
    """A night of a trend."""

    date: str
    value: float | None
    #: What changed since the night before, of `convention` and `judgments`: the line is not joined here.
    breaks: tuple[str, ...]
    #: None where the comparable nights before are too few.
    band: Band | None
    flags: tuple[Flag, ...]


def trend(nights: Sequence[NightScore], allowed_drop: float = ALLOWED_DROP, anchor: str | None = None) -> list[Point]:
    """The nights, which come by date, with their breaks, the band that each is compared with, and its flags.

    Comparable are nights with the same convention and judgments, also if others lie between. `anchor` is the date from
    which drops are counted; without it, each convention and set of judgments is anchored at its first nights.
    """
    points = []
    known: dict[tuple[str, str], list[NightScore]] = {}
    for at, night in enumerate(nights):
        before = nights[at - 1] if at else night
        breaks = [name for name in ("convention", "judgments") if getattr(before, name) != getattr(night, name)]
        alike = known.setdefault((night.convention, night.judgments), [])
        band = _band([other.value for other in alike[-WINDOW:] if other.value is not None])
        flags = []
        if night.value is not None:
            alike.append(night)
            flags = [*_outlier(night.value, band), *_drop(alike, allowed_drop, anchor)]
        points.append(Point(night.date, night.value, tuple(breaks), band, tuple(flags)))
    return points


def _band(values: Sequence[float]) -> Band | None:
    if len(values) < LEAST:
        return None
    middle = statistics.median(values)
    mad = statistics.median(abs(value - middle) for value in values)
    width = max(_DEVIATIONS * _OF_MAD * mad, FLOOR)
    return Band(middle, middle - width, middle + width, len(values))


def _outlier(value: float, band: Band | None) -> list[Flag]:
    if band is None or band.low <= value <= band.high:
        return []
    code, side = ("low", "below") if value < band.low else ("high", "above")
    width = band.high - band.median
    usual = f"{band.median:.4f} +- {width:.4f}, the median of {band.nights} comparable nights"
    return [Flag(code, f"{value:.4f} is {side} {usual}")]


def _drop(nights: Sequence[NightScore], allowed: float, anchor: str | None) -> list[Flag]:
    """The drop of the last nights' level since the anchor, if it is more than allowed."""
    known = [each for each in nights if anchor is None or each.date >= anchor]
    if len(known) < 2 * LEVEL:
        return []
    first, last = (statistics.median(each.value or 0.0 for each in part) for part in (known[:LEVEL], known[-LEVEL:]))
    if first - last <= allowed:
        return []
    since = f"{first:.4f}, that of {LEVEL} nights from {known[0].date}"
    return [Flag("drop", f"the median of {LEVEL} nights, {last:.4f}, is {first - last:.4f} below {since}")]
