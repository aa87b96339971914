"""The scores of a run, night by night: where they cannot be compared with earlier ones, and which nights stand out.

A band of a median and a median absolute deviation (MAD), which one bad night does not move, detects single nights. A
CUSUM (Page 1954) detects a change of the level that no single night shows, and since when.
"""

import dataclasses
import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ndcg_spark.comparison.comparable import convention_key, fingerprint
from ndcg_spark.convention.cutoffs import Cutoff, format_cutoff
from ndcg_spark.convention.measures import COLUMNS, written
from ndcg_spark.convention.parsing import columns_of, measure_set_in
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.nights.log import Night, committed, read_again_if_replaced
from ndcg_spark.nights.read import read_dataset_scores
from ndcg_spark.nights.select import nights_of_dataset, unpublished
from ndcg_spark.text import unknown_name

#: What can be followed from night to night.
MEASURES = ("ndcg", "ndcg_pooled", "ndcg_stddev", "ndcg_stderr", "dcg", "judged_rate", *COLUMNS)
#: A night is compared with the median of at most WINDOW comparable nights before it, if there are at least LEAST.
WINDOW, LEAST = 28, 7
#: How far from the median a night may be, in standard deviations, estimated from the MAD as for normal values.
_DEVIATIONS, _OF_MAD = 3.0, 1.4826
#: The smallest distance that is flagged, because nights of an unchanged system have a MAD of 0.
FLOOR = 0.005
#: A CUSUM compares with the first REFERENCE comparable nights, takes SLACK off every deviation, and flags a sum of
#: LIMIT, all in standard deviations. A single night counts for at most the deviation of the band.
REFERENCE, SLACK, LIMIT = 28, 0.5, 8.0

#: A night, and a row of its dataset scores; and all of its rows.
_Scored = tuple[Night, Mapping[str, Any]]
_Night = tuple[Night, Sequence[Mapping[str, Any]]]


#: The date of a night, its score, its convention, and its judgments; None if no query is left for a mean.
NightScore = tuple[str, float | None, str, str]


@dataclasses.dataclass
class Point:
    """A night of a trend."""

    date: str
    value: float | None
    #: Which of `convention` and `judgments` changed since the night before; the line is interrupted here.
    breaks: tuple[str, ...] = ()
    #: Nights of one stretch follow each other without a break.
    stretch: int = 0
    #: How many comparable nights before it the band is of; without a band if there are too few.
    comparable: int = 0
    median: float | None = None
    low: float | None = None
    high: float | None = None
    #: Why it stands out: `low`, `high`, `level_fell` or `level_rose`, each with a sentence.
    flags: tuple[tuple[str, str], ...] = ()
    #: The first night of the last change of the level up to this night, among comparable nights, and by how much.
    level_since: str | None = None
    level_change: float | None = None
    #: How many queries it is a mean of.
    queries: int = 0
    verdict: str | None = None
    #: The reason why somebody accepted the night.
    accepted: str | None = None
    notes: Sequence[str] = ()


def last_stretch(points: Sequence[Point]) -> list[Point]:
    """The nights since the last break, which alone can be compared with the last of them."""
    return [point for point in points if point.stretch == points[-1].stretch]


def trend(nights: Sequence[NightScore], floor: float = FLOOR) -> list[Point]:
    """The nights, which come by date, with their breaks, the band that each is compared with, and its flags.

    Nights with the same convention and judgments are comparable, even if others lie between them. `floor` is the
    smallest distance from the median that is flagged: three standard deviations at least.
    """
    points: list[Point] = []
    known: dict[tuple[str, str], _Cusum] = {}
    for at, (date, value, *kind) in enumerate(nights):
        pairs = zip(("convention", "judgments"), kind, nights[max(at - 1, 0)][2:], strict=True)
        breaks = tuple(name for name, one, other in pairs if one != other)
        cusum = known.setdefault((kind[0], kind[1]), _Cusum(floor / _DEVIATIONS))
        point = Point(date, value, breaks, (points[-1].stretch if points else 0) + bool(breaks))
        _add_band(point, cusum.nights[-WINDOW:], floor)
        if value is not None:
            point.flags += cusum.flags(date, value)
        point.level_since, point.level_change = cusum.since, cusum.change
        points.append(point)
    return points


@dataclasses.dataclass
class _Cusum:
    """The sums of deviations from a level, downwards and upwards, of one set of comparable nights."""

    least_deviation: float
    nights: list[float] = dataclasses.field(default_factory=list)
    #: The first nights of the level.
    reference: list[float] = dataclasses.field(default_factory=list)
    #: By the sign of the deviation: the sum, and the nights since it was last 0.
    sums: dict[int, float] = dataclasses.field(default_factory=lambda: {-1: 0.0, 1: 0.0})
    runs: dict[int, list[tuple[str, float]]] = dataclasses.field(default_factory=lambda: {-1: [], 1: []})
    #: The first night of the last change of the level; the mean of the nights since then, minus the level before.
    since: str | None = None
    change: float | None = None
    #: The level before the last change, and the nights since.
    before: float = 0.0
    after: list[float] = dataclasses.field(default_factory=list)

    def flags(self, date: str, value: float) -> tuple[tuple[str, str], ...]:
        """Add the next night. Returns a flag if it shows that the level has changed; then a new reference begins."""
        self.nights.append(value)
        if self.since is not None:
            self.after.append(value)
            self.change = statistics.fmean(self.after) - self.before
        if len(self.reference) < REFERENCE:
            self.reference.append(value)
            return ()
        center = statistics.fmean(self.reference)
        deviation = max(statistics.stdev(self.reference), self.least_deviation)
        distance = max(-_DEVIATIONS, min((value - center) / deviation, _DEVIATIONS)) if deviation else 0.0
        for sign in (-1, 1):
            self.sums[sign] = max(0.0, self.sums[sign] + sign * distance - SLACK)
            self.runs[sign] = [*self.runs[sign], (date, value)] if self.sums[sign] else []
            if self.sums[sign] > LIMIT:
                self.since, self.after = self.runs[sign][0][0], [value for _, value in self.runs[sign]]
                self.before, self.change = center, statistics.fmean(self.after) - center
                self.reference, self.sums, self.runs = [], {-1: 0.0, 1: 0.0}, {-1: [], 1: []}
                words = f"level since {self.since}: {self.change:+.4f}, from {center:.4f} in the nights before"
                return (("level_fell" if sign < 0 else "level_rose", words),)
        return ()


def _add_band(point: Point, values: Sequence[float], floor: float) -> None:
    """Give a night the band of the comparable nights before it, and a flag if it lies outside."""
    if len(values) < LEAST:
        return
    point.comparable, point.median = len(values), statistics.median(values)
    mad = statistics.median(abs(value - point.median) for value in values)
    width = max(_DEVIATIONS * _OF_MAD * mad, floor)
    point.low, point.high = point.median - width, point.median + width
    if point.value is not None and not point.low <= point.value <= point.high:
        code, side = ("low", "below") if point.value < point.low else ("high", "above")
        usual = f"{point.median:.4f} +- {width:.4f}, the band around the median of {len(values)} comparable nights"
        point.flags = ((code, f"{point.value:.4f} is {side} {usual}"),)


@dataclasses.dataclass(frozen=True)
class TrendRequest:
    """Which trends are requested."""

    dataset: str | None = None
    run: str | None = None
    #: A text like `ndcg@10,judged_rate`; None for the headline of the newest night. The headline's cutoff is also used
    #: for a measure without one, if the night has a value there.
    measures: str | None = None
    #: How many of the newest nights are shown; the statistics use all nights.
    last: int = 60
    #: The smallest distance from the median that is flagged.
    floor: float = FLOOR


@dataclasses.dataclass(frozen=True)
class TrendLine:
    """The trend of one run and measure at one cutoff."""

    dataset: str
    run: str
    measure: str
    cutoff: int | None
    points: Sequence[Point]


def lines(output: str, request: TrendRequest) -> tuple[list[TrendLine], list[str]]:
    """The requested trends, by dataset, run, and measure in the order of the request; only of nights with the run.

    And a sentence for each night that is missing.

    ConfigurationError if there is no night, or no such dataset, run, measure or cutoff; StorageError.
    """
    nights, missing = read_again_if_replaced(lambda: _read(output, request.dataset))
    # Once for all runs: there may be thousands, each a few rows of every night.
    series: dict[str, dict[tuple[str, Cutoff], list[_Scored]]] = {}
    for night, rows in nights:
        of_dataset = series.setdefault(night.dataset, {})
        for row in rows:
            of_dataset.setdefault((row["run"], row["cutoff"]), []).append((night, row))
    runs = {run for of_dataset in series.values() for run, _ in of_dataset}
    if request.run is not None and request.run not in runs:
        raise unknown_name("run", "run", request.run, runs)
    trends = []
    for dataset, of_dataset in series.items():
        measures = _measures(request.measures, [(night, rows) for night, rows in nights if night.dataset == dataset])
        names = {run for run, _ in of_dataset if request.run in (None, run)}
        trends += [
            _line(of_dataset[run, cutoff], run, measure, cutoff, request)
            for run in sorted(names)
            for measure, cutoff in measures
            if (run, cutoff) in of_dataset
        ]
    return [line for line in trends if line.points], missing


def _read(output: str, dataset: str | None) -> tuple[list[_Night], list[str]]:
    """The nights of a dataset, or of all, each with its rows of DATASET_SCORES; and which are missing."""
    known = committed(output)
    nights = nights_of_dataset(known, output, dataset)
    return list(zip(nights, read_dataset_scores(nights), strict=True)), unpublished(known, dataset)


def _line(scored: Sequence[_Scored], run: str, measure: str, cutoff: Cutoff, request: TrendRequest) -> TrendLine:
    scores = []
    for night, row in scored:
        judgments = str(fingerprint(night.record, "judgments", night.dataset))
        scores.append((night.evaluated_on, row[measure], convention_key(night.record), judgments))
    points = trend(scores, request.floor)[-request.last :]
    for point, (night, row) in zip(points, scored[-request.last :], strict=True):
        point.queries, point.verdict, point.accepted = row["queries"], night.row["verdict"], night.row["accepted"]
        point.notes = night.notes
    return TrendLine(scored[0][0].dataset, run, measure, cutoff, points)


def _measures(text: str | None, nights: Sequence[_Night]) -> list[tuple[str, Cutoff]]:
    """The measures and cutoffs from a text like `ndcg@10,judged_rate@all`, or the headline of the newest night."""
    known = {format_cutoff(row["cutoff"]): row["cutoff"] for _, rows in reversed(nights) for row in rows}
    night, newest = nights[-1]
    asked = measure_set_in(night.record.get("configuration") or {})
    headline = written(*asked.headline([row["cutoff"] for row in newest]))
    places = []
    for measure, cutoff in columns_of(text or headline, MEASURES):
        if cutoff != "each" and cutoff not in known:
            raise ConfigurationError(
                f"measures: {measure}@{cutoff} was not evaluated; the cutoffs are {', '.join(known)}"
            )
        chosen = asked.main_cutoff(measure, _cutoffs(newest, measure)) if cutoff == "each" else known[cutoff]
        if measure != "ndcg" and not any(chosen in _cutoffs(rows, measure) for _, rows in nights):
            raise ConfigurationError(
                f"measures: {measure}@{format_cutoff(chosen)} was not evaluated in these nights; ndcg-spark nights "
                "OUTPUT --format csv shows what was"
            )
        places.append((measure, chosen))
    return list(dict.fromkeys(places))


def _cutoffs(rows: Iterable[Mapping[str, Any]], measure: str) -> list[Cutoff]:
    """The cutoffs at which a measure has a value."""
    return [row["cutoff"] for row in rows if row.get(measure) is not None]
