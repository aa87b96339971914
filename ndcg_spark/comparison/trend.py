"""The scores of a run, night by night: where they cannot be compared with earlier ones, and which nights stand out.

A band of a median and a median absolute deviation (MAD), which one bad night does not move, detects single nights. A
CUSUM (Page 1954) detects a change of the level that no single night shows, and since when.
"""

import dataclasses
import statistics
from collections.abc import Sequence

#: A night is compared with the median of at most WINDOW comparable nights before it, if there are at least LEAST.
WINDOW, LEAST = 28, 7
#: How far from the median a night may be, in standard deviations, estimated from the MAD as for normal values.
_DEVIATIONS, _OF_MAD = 3.0, 1.4826
#: The smallest distance that is flagged, because nights of an unchanged system have a MAD of 0.
FLOOR = 0.005
#: A CUSUM compares with the first REFERENCE comparable nights, takes SLACK off every deviation, and flags a sum of
#: LIMIT, all in standard deviations. A single night counts for at most the deviation of the band.
REFERENCE, SLACK, LIMIT = 28, 0.5, 8.0
#: The drop since the anchor is that between medians of LEVEL nights, so that it takes more than one bad night.
LEVEL = 7
#: How large that drop may be by default.
ALLOWED_DROP = 0.02


@dataclasses.dataclass(frozen=True)
class NightScore:
    """The score of one night, and what another night must share with it to be comparable."""

    date: str
    #: None if no query is left for a mean.
    value: float | None
    convention: str
    judgments: str


@dataclasses.dataclass(frozen=True)
class Flag:
    """Why a night stands out: `low`, `high`, `drop`, `level_fell` or `level_rose`, and a sentence with the numbers."""

    code: str
    words: str


@dataclasses.dataclass(frozen=True)
class Band:
    """Where the score of a night is expected: the median of the comparable nights before, and the distance from it."""

    median: float
    low: float
    high: float
    #: How many nights the median is taken over.
    nights: int


@dataclasses.dataclass(frozen=True)
class Level:
    """A change of the level that a CUSUM has found."""

    #: The first night of the new level.
    since: str
    #: The mean of the nights since then, minus the level before.
    change: float


@dataclasses.dataclass(frozen=True)
class Point:
    """A night of a trend."""

    date: str
    value: float | None
    #: Which of `convention` and `judgments` changed since the night before; the line is interrupted here.
    breaks: tuple[str, ...]
    #: None if there are too few earlier comparable nights.
    band: Band | None
    flags: tuple[Flag, ...]
    #: Nights of one stretch follow each other without a break.
    stretch: int = 0
    #: The last change of the level up to this night, among comparable nights.
    level: Level | None = None


def last_stretch(points: Sequence[Point]) -> list[Point]:
    """The nights since the last break, which alone can be compared with the last of them."""
    return [point for point in points if point.stretch == points[-1].stretch]


def trend(
    nights: Sequence[NightScore],
    allowed_drop: float = ALLOWED_DROP,
    anchor: str | None = None,
    floor: float = FLOOR,
) -> list[Point]:
    """The nights, which come by date, with their breaks, the band that each is compared with, and its flags.

    Nights with the same convention and judgments are comparable, even if others lie between them. `anchor` is the date
    from which drops and levels are counted; without it, each convention and set of judgments is anchored at its first
    nights. `floor` is the smallest distance from the median that is flagged: three standard deviations at least.
    """
    points: list[Point] = []
    known: dict[tuple[str, str], list[NightScore]] = {}
    cusums: dict[tuple[str, str], _Cusum] = {}
    for at, night in enumerate(nights):
        before = nights[at - 1] if at else night
        breaks = [name for name in ("convention", "judgments") if getattr(before, name) != getattr(night, name)]
        alike = known.setdefault((night.convention, night.judgments), [])
        cusum = cusums.setdefault((night.convention, night.judgments), _Cusum(floor / _DEVIATIONS))
        band = _band([other.value for other in alike[-WINDOW:] if other.value is not None], floor)
        flags = []
        if night.value is not None:
            alike.append(night)
            flags = [*_outlier(night.value, band), *_drop(alike, allowed_drop, anchor)]
            if anchor is None or night.date >= anchor:
                flags += cusum.flags(night.date, night.value)
        stretch = (points[-1].stretch if points else 0) + bool(breaks)
        points.append(Point(night.date, night.value, tuple(breaks), band, tuple(flags), stretch, cusum.level))
    return points


@dataclasses.dataclass
class _Cusum:
    """The sums of deviations from a level, downwards and upwards, of one set of comparable nights."""

    least_deviation: float
    #: The first nights of the level.
    reference: list[float] = dataclasses.field(default_factory=list)
    #: By the sign of the deviation: the sum, and the nights since it was last 0.
    sums: dict[int, float] = dataclasses.field(default_factory=lambda: {-1: 0.0, 1: 0.0})
    runs: dict[int, list[tuple[str, float]]] = dataclasses.field(default_factory=lambda: {-1: [], 1: []})
    level: Level | None = None
    #: The level before the last change, and the nights since.
    before: float = 0.0
    after: list[float] = dataclasses.field(default_factory=list)

    def flags(self, date: str, value: float) -> list[Flag]:
        """Add the next night. Returns a flag if it shows that the level has changed; then a new reference begins."""
        if self.level is not None:
            self.after.append(value)
            self.level = Level(self.level.since, statistics.fmean(self.after) - self.before)
        if len(self.reference) < REFERENCE:
            self.reference.append(value)
            return []
        center = statistics.fmean(self.reference)
        deviation = max(statistics.stdev(self.reference), self.least_deviation)
        distance = max(-_DEVIATIONS, min((value - center) / deviation, _DEVIATIONS)) if deviation else 0.0
        for sign in (-1, 1):
            self.sums[sign] = max(0.0, self.sums[sign] + sign * distance - SLACK)
            self.runs[sign] = [*self.runs[sign], (date, value)] if self.sums[sign] else []
            if self.sums[sign] > LIMIT:
                return [self._changed(sign, center)]
        return []

    def _changed(self, sign: int, center: float) -> Flag:
        since, self.after = self.runs[sign][0][0], [value for _, value in self.runs[sign]]
        self.before, self.level = center, Level(since, statistics.fmean(self.after) - center)
        self.reference, self.sums, self.runs = [], {-1: 0.0, 1: 0.0}, {-1: [], 1: []}
        words = f"level since {since}: {self.level.change:+.4f}, from {center:.4f} in the nights before"
        return Flag("level_fell" if sign < 0 else "level_rose", words)


def _band(values: Sequence[float], floor: float) -> Band | None:
    if len(values) < LEAST:
        return None
    middle = statistics.median(values)
    mad = statistics.median(abs(value - middle) for value in values)
    width = max(_DEVIATIONS * _OF_MAD * mad, floor)
    return Band(middle, middle - width, middle + width, len(values))


def _outlier(value: float, band: Band | None) -> list[Flag]:
    if band is None or band.low <= value <= band.high:
        return []
    code, side = ("low", "below") if value < band.low else ("high", "above")
    width = band.high - band.median
    usual = f"{band.median:.4f} +- {width:.4f}, the band around the median of {band.nights} comparable nights"
    return [Flag(code, f"{value:.4f} is {side} {usual}")]


def _drop(nights: Sequence[NightScore], allowed: float, anchor: str | None) -> list[Flag]:
    """A flag for the drop of the last nights' level since the anchor, if that is more than allowed."""
    known = [each for each in nights if anchor is None or each.date >= anchor]
    if len(known) < 2 * LEVEL:
        return []
    first, last = (statistics.median(each.value or 0.0 for each in part) for part in (known[:LEVEL], known[-LEVEL:]))
    if first - last <= allowed:
        return []
    since = f"{first:.4f}, that of {LEVEL} nights from {known[0].date}"
    return [Flag("drop", f"the median of {LEVEL} nights, {last:.4f}, is {first - last:.4f} below {since}")]
