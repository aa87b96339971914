"""A run's scores, night by night: which nights stand out, and which cannot be compared with
earlier nights.

A band around the median, based on the median absolute deviation (MAD), detects single nights; one
bad night does not move it. A CUSUM (Page 1954) detects a change in the level that no single night
shows, and its date.

The lists of the nights around a change of judgments have been scored under both sets of judgments.
So the line continues: its earlier part is shifted into units of the newer judgments.
"""

import dataclasses
import itertools
import json
import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from ndcg_spark.comparison.baselines import is_accepted_for
from ndcg_spark.comparison.falls import LEVEL, LOWER, MOST, fall_of
from ndcg_spark.comparison.judgment_changes import Change, Metric, changes_of_run
from ndcg_spark.convention.convention import Convention, why_no_value
from ndcg_spark.convention.measures import (
    CATALOG_COLUMNS,
    COLUMNS,
    RUN_COLUMNS,
    Cutoff,
    by_depth,
    measure_at,
    measure_heading,
)
from ndcg_spark.convention.parsing import ALL_CUTOFFS, parse_columns, parse_cutoff
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.nights.catalog_kinds import catalog_kind
from ndcg_spark.nights.log import Night, Nights, committed
from ndcg_spark.nights.reader import (
    gaps_in_words,
    nights_of_dataset,
    read_again,
    read_dataset_scores,
    returned_nothing,
)
from ndcg_spark.tables.format import difference, score
from ndcg_spark.text import day, unknown_name

if TYPE_CHECKING:
    from ndcg_spark.comparison.sources import ScoreCache

#: The measures that every night has.
_ALWAYS = ("ndcg", "ndcg_pooled", "ndcg_stddev", "ndcg_stderr", "dcg", "judged_rate")
#: The measures that can be followed from night to night.
MEASURES = (*_ALWAYS, *COLUMNS, *RUN_COLUMNS)
#: A night is compared with the median of at most WINDOW comparable nights before it, if there are
#: at least MIN_NIGHTS.
WINDOW, MIN_NIGHTS = 28, 7
#: How far from the median a night may be, in standard deviations, which are estimated from the MAD
#: as for a normal distribution.
_DEVIATIONS, _OF_MAD = 3.0, 1.4826
#: The smallest distance that is flagged, because nights of an unchanged system have a MAD of 0.
FLOOR = 0.005
#: The flag of a night without a value because the run returned nothing.
NOTHING = "returned_nothing"
#: The flag of a night that was published although plain Python disagrees with its scores.
UNVERIFIED = "not_verified"
#: The flag of a night on which no judgment had the run's document ids.
UNMEASURED = "not_measured"
#: A CUSUM compares with the first REFERENCE comparable nights, subtracts SLACK from every
#: deviation, and flags a sum of LIMIT, all in standard deviations. A single night contributes at
#: most the band's deviation.
REFERENCE, SLACK, LIMIT = 28, 0.5, 8.0


class ScoredNight(NamedTuple):
    """A run's night at a cutoff."""

    night: Night
    #: Its row of DATASET_SCORES.
    row: Mapping[str, Any]
    convention: str


#: The nights of each run and cutoff.
Series = dict[tuple[str, Cutoff], list[ScoredNight]]
#: A convention and a fingerprint of judgments; nights with the same kind are comparable.
_Kind = tuple[str, str]


class _DatedScore(NamedTuple):
    """A night as `trend_points` needs it."""

    date: str
    value: float | None
    convention: str
    #: The fingerprint of the judgments; for a catalog measure, what its value depends on.
    judgments: str

    @property
    def kind(self) -> _Kind:
        return self.convention, self.judgments


@dataclasses.dataclass
class Point:
    """A night in a trend."""

    date: str
    value: float | None
    #: Which of `convention` and `judgments` changed since the night before; for a catalog measure,
    #: which of `convention` and `items`.
    breaks: tuple[str, ...] = ()
    #: The band of the comparable nights before it; None if there are too few.
    median: float | None = None
    low: float | None = None
    high: float | None = None
    #: Why it stands out: `low`, `high`, `level_fell`, `level_rose`, NOTHING,
    #: UNVERIFIED or UNMEASURED, each with a sentence.
    flags: tuple[tuple[str, str], ...] = ()
    queries: int = 0
    #: The checks' verdict for this run; None if there are no checks.
    verdict: str | None = None
    accepted: str | None = None
    #: The night's verdict, its sentence, and the `runs` that it is about; None if it passed.
    gate: Mapping[str, Any] | None = None
    notes: Sequence[str] = ()
    #: The value in units of the newest judgments that the line reaches without an interruption.
    chained: float | None = None
    #: Whether it cannot be compared with the night before, not even across a change of judgments.
    interrupted: bool = False
    #: Whether somebody vouched for the run at this point, so that earlier falls do not matter.
    restarts: bool = False
    #: The scores of the lists around a change of judgments on both sides, if the line continues.
    change: Change | None = None


@dataclasses.dataclass(frozen=True)
class TrendLine:
    """A run's trend by a measure at a cutoff."""

    dataset: str
    run: str
    measure: str
    cutoff: int | None
    points: Sequence[Point]
    #: The nights since the last break, including those before the `points`.
    stretch: Sequence[Point] = ()
    #: The nights since the last interruption, across changes of judgments, including those before
    #: the `points`.
    chain: Sequence[Point] = ()

    @property
    def key(self) -> dict[str, Any]:
        return {field: getattr(self, field) for field in ("dataset", "run", "measure", "cutoff")}


def last_stretch(points: Sequence[Point]) -> list[Point]:
    """The nights since the last break. Only these are comparable with the last night."""
    breaks = [at for at, point in enumerate(points) if point.breaks]
    start = breaks[-1] if breaks else 0
    return list(points[start:])


def chained_stretch(points: Sequence[Point]) -> list[Point]:
    """The nights since the last interruption, whose `chained` values share a unit."""
    interruptions = [at for at, point in enumerate(points) if point.interrupted]
    start = interruptions[-1] if interruptions else 0
    return list(points[start:])


class Falling(NamedTuple):
    """The date on which a run fell, and how far the newest night is below the earlier level."""

    since: str
    difference: float

    @property
    def in_words(self) -> str:
        """For verdicts: `falling since 15 October: -0.0204`."""
        return f"falling since {day(self.since)}: {difference(self.difference)}"


def falling_since(points: Sequence[Point]) -> Falling | None:
    """The fall that the newest nights are in; None if they are not lower.

    It uses the nights since the last accepted one, or since a change of judgments that cannot be
    crossed. It does not decide anything, because a line can fall without a loss if judgments age.
    """
    known = _level_stretch(points)
    accepted = [at for at, point in enumerate(known) if point.restarts]
    if accepted:
        known = known[accepted[-1] :]
    fall = fall_of([point.chained or 0.0 for point in known])
    return None if fall is None else Falling(known[fall.first].date, fall.difference)


def _level_stretch(points: Sequence[Point]) -> list[Point]:
    """The nights with a chained value since the level was last interrupted.

    An interruption of the line also interrupts the level, and so does a change of judgments whose
    sides disagree.
    """
    start = 0
    for at, point in enumerate(points):
        sides_disagree = point.change is not None and point.change.sides_disagree
        if point.interrupted or sides_disagree:
            start = at
    return [point for point in points[start:] if point.chained is not None]


def falls_of_night(
    nights: Sequence[Night],
    dataset: str,
    date: str,
    metrics: Mapping[str, tuple[str, Cutoff]],
    scores: "ScoreCache | None" = None,
) -> dict[str, Falling]:
    """The runs whose level falls in the newest nights up to a date.

    `metrics`: the measure and cutoff of each run, `{"bm25": ("ndcg", 10)}`. StorageError or
    InputError if these nights cannot be read.
    """
    own = [night for night in nights if night.dataset == dataset and night.evaluated_on <= date]
    history = History(Nights(own[-MOST - 1 :]), scores)
    falls = {}
    for run, (measure, cutoff) in metrics.items():
        # A lower catalog measure is not a loss.
        if measure in MEASURES and measure not in CATALOG_COLUMNS:
            falling = falling_since(history.points(dataset, run, measure, cutoff))
            if falling is not None:
                falls[run] = falling
    return falls


def trend_points(
    nights: Sequence[tuple[str, float | None, str, str]],
    changes: Mapping[str, Change] | None = None,
    *,
    is_of_catalog: bool = False,
) -> list[Point]:
    """The nights with their breaks, the band that each is compared with, and its flags.

    They are given by date, each with its date, score, convention and judgments. Nights with the
    same convention and judgments are comparable, even if others lie between them. `changes`: the
    changes of judgments across which the line continues, by the date of the night after each.
    Catalog measures have items instead of judgments, and values of any size.
    """
    dated = [_DatedScore(*night) for night in nights]
    floor = floor_of([night.value for night in dated], is_of_catalog=is_of_catalog)
    points: list[Point] = []
    comparable: dict[_Kind, list[Point]] = {}
    before = None
    for night in dated:
        point = Point(night.date, night.value)
        if before is not None:
            point.breaks = _breaks(before, night, is_of_catalog=is_of_catalog)
        points.append(point)
        if night.value is not None:
            comparable.setdefault(night.kind, []).append(point)
        before = night
    for own in comparable.values():
        _add_bands(own, floor)
    _add_lines(points, [night.kind for night in dated], changes or {}, floor)
    return points


def _breaks(before: _DatedScore, night: _DatedScore, *, is_of_catalog: bool) -> tuple[str, ...]:
    """What changed since the night before: `("judgments",)`."""
    breaks = []
    if before.convention != night.convention:
        breaks.append("convention")
    if before.judgments != night.judgments:
        breaks.append("items" if is_of_catalog else "judgments")
    return tuple(breaks)


def floor_of(values: Iterable[float | None], *, is_of_catalog: bool) -> float:
    """The smallest distance that is flagged.

    FLOOR is meant for values from 0 to 1; for values of any size it is a share of their median.
    """
    known = [abs(value) for value in values if value is not None]
    if not is_of_catalog or not known:
        return FLOOR
    return FLOOR * statistics.median(known)


class _Place(NamedTuple):
    """Where nights with the same convention and judgments are drawn."""

    #: Nights with the same number are on one line.
    line: int
    #: How far their scores are above those under the line's first judgments.
    offset: float
    #: Nights with the same number are checked together for a change in the level.
    level: int


def _add_lines(
    points: Sequence[Point],
    kinds: Sequence[_Kind],
    changes: Mapping[str, Change],
    floor: float,
) -> None:
    """Add the line that each night is on, across new judgments, and the changes in its level."""
    places = _places(points, kinds, changes)
    measured: list[tuple[Point, _Place]] = []
    for point, kind in zip(points, kinds, strict=True):
        if point.value is not None:
            measured.append((point, places[kind]))
    newest_offsets: dict[int, float] = {}
    levels: dict[int, list[tuple[Point, float]]] = {}
    line_before = None
    for point, place in measured:
        point.interrupted = line_before is not None and place.line != line_before
        line_before = place.line
        newest_offsets[place.line] = place.offset
        levels.setdefault(place.level, []).append((point, place.offset))
    for point, place in measured:
        point.chained = (point.value or 0.0) - place.offset + newest_offsets[place.line]
    for own in levels.values():
        _add_levels([point for point, _ in own], [offset for _, offset in own], floor)


def _places(
    points: Sequence[Point],
    kinds: Sequence[_Kind],
    changes: Mapping[str, Change],
) -> dict[_Kind, _Place]:
    """The place of each kind of night; nights that return to a kind get the same place again.

    Each kind starts a line of its own, unless a change of judgments connects it with an earlier
    one. Also sets the `change` of each point at which a line continues.
    """
    places: dict[_Kind, _Place] = {}
    kind_of_date: dict[str, _Kind] = {}
    for point, kind in zip(points, kinds, strict=True):
        if point.value is None:
            continue
        change = changes.get(point.date)
        before = None
        if change is not None and change.before in kind_of_date:
            before = places[kind_of_date[change.before]]
        if kind not in places:
            number = len(places)
            if change is None or before is None:
                places[kind] = _Place(number, 0.0, number)
            else:
                # If the sides disagree, it is not known whether the level changed.
                level = number if change.sides_disagree else before.level
                places[kind] = _Place(before.line, before.offset + change.shift, level)
        if before is not None and before.line == places[kind].line:
            point.change = change
        kind_of_date[point.date] = kind
    return places


def _add_bands(points: Sequence[Point], floor: float) -> None:
    """Add the band of each of these comparable nights, and flag the nights outside it."""
    values = [point.value or 0.0 for point in points]
    for at in range(MIN_NIGHTS, len(points)):
        point = points[at]
        before = values[max(0, at - WINDOW) : at]
        median = statistics.median(before)
        mad = statistics.median(abs(value - median) for value in before)
        width = max(_DEVIATIONS * _OF_MAD * mad, floor)
        point.median, point.low, point.high = median, median - width, median + width
        # Rounded as they are shown: a value shown as an end of the range is inside it.
        value = round(values[at], 4)
        low, high = round(point.low, 4), round(point.high, 4)
        nights = f"the usual range of the {len(before)} previous comparable nights"
        usual = f"{score(low)} to {score(high)}, {nights}"
        if value < low:
            point.flags = (("low", f"{score(value)} is below {usual}"),)
        elif value > high:
            point.flags = (("high", f"{score(value)} is above {usual}"),)


def _add_levels(points: Sequence[Point], offsets: Sequence[float], floor: float) -> None:
    """Flag changes in the level, in units of the judgments of the night that shows it."""
    values = [(point.value or 0.0) - offset for point, offset in zip(points, offsets, strict=True)]
    start = 0
    while change := _level_change(values, start, floor):
        shown = change.shown
        moved = statistics.fmean(values[change.first : shown + 1]) - change.before
        before = score(change.before + offsets[shown])
        level = f"{before} in the {REFERENCE} nights from {points[start].date}"
        since = points[change.first].date
        sentence = f"level since {since}: {difference(moved)}, from {level}"
        code = "level_fell" if values[shown] < change.before else "level_rose"
        points[shown].flags += ((code, sentence),)
        start = shown + 1


class _LevelChange(NamedTuple):
    """A change in the level: the night that shows it, its first night, and the level before it."""

    shown: int
    first: int
    before: float


def _level_change(values: Sequence[float], start: int, floor: float) -> _LevelChange | None:
    """The first change from the level of the REFERENCE nights that begin with `start`."""
    reference = values[start : start + REFERENCE]
    if len(reference) < REFERENCE:
        return None
    center = statistics.fmean(reference)
    deviation = max(statistics.stdev(reference), floor / _DEVIATIONS)
    # By the sign of the deviation: the sum, and the first night since the sum was 0.
    sums = dict.fromkeys((-1, 1), (0.0, start + REFERENCE))
    for at in range(start + REFERENCE, len(values)):
        distance = max(-_DEVIATIONS, min((values[at] - center) / deviation, _DEVIATIONS))
        for sign, (total, first) in sums.items():
            larger = max(0.0, total + sign * distance - SLACK)
            sums[sign] = larger, first if larger else at + 1
            if larger > LIMIT:
                return _LevelChange(at, first, center)
    return None


class History:
    """The nights of one reading of the log, with their dataset scores and trends.

    Everything that is read or computed is cached.
    """

    def __init__(self, nights: Nights, scores: "ScoreCache | None" = None) -> None:
        self.nights = nights
        self._scores: dict[Night, list[dict[str, Any]]] = {}
        self._series: dict[str, Series] = {}
        self._points: dict[tuple[str, str, str, Cutoff], list[Point]] = {}
        #: The query scores, which are needed only for changes that the log does not have.
        self._cache: ScoreCache | None = scores
        #: Reads a night's dataset scores from a cache that was given.
        self._mean_rows = None if scores is None else scores.mean_rows
        #: By line, the dates of changes of judgments that cannot be crossed.
        self.not_crossed: dict[tuple[str, str, str, Cutoff], list[str]] = {}

    def nights_of(self, dataset: str) -> list[Night]:
        return [night for night in self.nights if night.dataset == dataset]

    def read(self, nights: Sequence[Night]) -> None:
        """Read the scores of these nights in parallel, which is faster."""
        new = [night for night in nights if night not in self._scores]
        if self._mean_rows is not None:
            for night in new:
                self._scores[night] = [dict(row) for row in self._mean_rows(night)]
            return
        self._scores.update(zip(new, read_dataset_scores(new), strict=True))

    def scores(self, night: Night) -> list[dict[str, Any]]:
        """A night's DATASET_SCORES rows, without slices."""
        self.read([night])
        return self._scores[night]

    def series(self, dataset: str) -> "Series":
        """A dataset's nights that have a row, by run and cutoff."""
        if dataset not in self._series:
            nights = self.nights_of(dataset)
            self.read(nights)
            # For all runs at once: there may be thousands, each with a few rows in every night.
            self._series[dataset] = _series([(night, self._scores[night]) for night in nights])
        return self._series[dataset]

    def points(self, dataset: str, run: str, measure: str, cutoff: Cutoff) -> list[Point]:
        """A run's score, night by night.

        Except for `chained`, a point depends only on the nights up to its own.
        """
        key = (dataset, run, measure, cutoff)
        if key not in self._points:
            series = self.series(dataset).get((run, cutoff), ())
            values = _values(series, measure)
            measured = []
            for scored, value in zip(series, values, strict=True):
                if value is not None:
                    measured.append(scored.night)
            changes: dict[str, Change] = {}
            if measure not in CATALOG_COLUMNS:
                changes, others = changes_of_run(
                    run, (measure, cutoff), measured, self._facts_of_copies
                )
                self.not_crossed[key] = others
            self._points[key] = _points(series, values, changes, measure)
        return self._points[key]

    def _facts_of_copies(
        self,
        run: str,
        metric: Metric,
        before: Night,
        after: Night,
    ) -> Mapping[str, Any] | None:
        """The facts of a change of judgments, computed from kept copies."""
        # Imported here, so that lists of nights do not wait for statistics.
        from ndcg_spark.comparison.kept_changes import facts_of_copies
        from ndcg_spark.comparison.sources import ScoreCache

        if self._cache is None:
            self._cache = ScoreCache(self.scores)
        return facts_of_copies(run, metric, before, after, self._cache)

    def trends(
        self,
        dataset: str,
        run: str | None,
        measures: str | None,
        last: int,
    ) -> list[TrendLine]:
        """The trends of one run or of all runs of a dataset, as `lines` returns them."""
        dates_of_run: dict[str, set[str]] = {}
        for (name, _), scored in self.series(dataset).items():
            if run in (None, name):
                dates = dates_of_run.setdefault(name, set())
                dates.update(one.night.evaluated_on for one in scored)
        all_dates = sorted(set[str]().union(*dates_of_run.values()))
        first = min(all_dates[-last:], default="")
        rows_by_night = [(night, self._scores[night]) for night in self.nights_of(dataset)]
        metrics = metrics_of_lines(measures, rows_by_night)
        trends = []
        for name, (measure, cutoff) in itertools.product(sorted(dates_of_run), metrics):
            points = self.points(dataset, name, measure, cutoff)
            shown = [point for point in points if point.date >= first]
            if shown:
                stretch = last_stretch(points)
                chain = chained_stretch(points)
                trends.append(TrendLine(dataset, name, measure, cutoff, shown, stretch, chain))
        return trends


def _series(nights: Iterable[tuple[Night, Sequence[Mapping[str, Any]]]]) -> Series:
    """The nights, each given with its DATASET_SCORES rows, by run and cutoff."""
    series: Series = {}
    for night, rows in nights:
        convention = json.dumps(night.record["options"], sort_keys=True)
        for row in rows:
            scored = ScoredNight(night, row, convention)
            series.setdefault((row["run"], row["cutoff"]), []).append(scored)
    return series


@read_again
def lines(
    output: str,
    dataset: str | None = None,
    run: str | None = None,
    measures: str | None = None,
    last: int = 60,
) -> tuple[list[TrendLine], list[str]]:
    """An output's trends by dataset, run and measure, and notes.

    A trend has the nights that have its run. `measures`: for example `ndcg@10,judged_rate`, by
    default the newest night's headline. Only the `last` nights are returned (of the run, if
    one is named), but statistics use all nights. ConfigurationError if there are no nights, or if
    there is no such dataset, run, measure or cutoff. StorageError if a night cannot be read.
    """
    history = History(committed(output))
    nights = nights_of_dataset(history.nights, output, dataset)
    history.read(nights)
    runs: set[str] = set()
    for night in nights:
        runs.update(row["run"] for row in history.scores(night))
    if run is not None and run not in runs:
        raise unknown_name("run", "run", run, runs)
    trends = []
    for name in dict.fromkeys(night.dataset for night in nights):
        trends += history.trends(name, run, measures, last)
    notes = list(gaps_in_words(history.nights, dataset))
    notes += _no_values(history, trends)
    notes += _too_few_comparable(trends)
    notes += _too_few_for_level(trends)
    notes += _not_crossed(history, trends)
    notes += _falls(trends)
    return trends, notes


def counted_in(measure: str) -> str:
    """The column that counts a mean's queries."""
    if measure in CATALOG_COLUMNS:
        return "listed_queries"
    return "relevant_queries" if measure in COLUMNS else "queries"


def _no_values(history: History, trends: Iterable[TrendLine]) -> list[str]:
    """Sentences about nights in which a measure was evaluated but no query has a value."""
    empty: dict[tuple[str, str, Cutoff], list[Mapping[str, Any]]] = {}
    for line in trends:
        if line.measure not in ("ndcg", *COLUMNS):
            continue
        counted = counted_in(line.measure)
        for night, row, _ in history.series(line.dataset).get((line.run, line.cutoff), ()):
            if night.evaluated_on < line.points[0].date or returned_nothing(row):
                continue
            if row[line.measure] is None and row[counted] == 0:
                empty.setdefault((line.dataset, line.measure, line.cutoff), []).append(row)
    sentences = []
    for (dataset, measure, cutoff), rows in empty.items():
        name = f"{dataset}: no value for {measure_at(measure, cutoff)}"
        sentences.append(f"{name} {_when_and_why(measure, rows)}")
    return sentences


def _when_and_why(measure: str, rows: Sequence[Mapping[str, Any]]) -> str:
    """How many nights have rows without a value, the last of these nights, and why."""
    last = max(rows, key=lambda row: row["evaluated_on"])
    nights = len({row["evaluated_on"] for row in rows})
    why = why_no_value(measure, Convention.parse(last["convention"]))
    return f"in {nights:,} night(s), most recently on {last['evaluated_on']}: {why}"


def _too_few_comparable(trends: Sequence[TrendLine]) -> list[str]:
    """How many nights have no band, because too few comparable nights are before them."""
    dates = set()
    with_band = set()
    for line in trends:
        for point in line.points:
            dates.add(point.date)
            if point.median is not None:
                with_band.add(point.date)
    without = dates - with_band
    if not without:
        return []
    count = f"{len(without)} of {len(dates)} nights (last: {max(without)})"
    few = f"have fewer than {MIN_NIGHTS} nights with the same convention and judgments before them"
    return [f"{count} {few}, too few to tell whether they are unusual"]


def _too_few_for_level(trends: Sequence[TrendLine]) -> list[str]:
    """What the line with the fewest nights can show, if it cannot show changes of the level."""
    counts = [len(_level_stretch(line.chain)) for line in trends]
    least = min(counts, default=REFERENCE)
    if least >= REFERENCE:
        return []
    slow = f"detecting a slow change in level needs {REFERENCE} nights on one line"
    fall = f"a fall that has lasted {LOWER} nights needs {LEVEL + LOWER}"
    return [f"{slow}, and there are {least}; {fall}, and single unusual nights need fewer"]


def _not_crossed(history: History, trends: Sequence[TrendLine]) -> list[str]:
    """Where lines are interrupted at new judgments, and the command that can join them."""
    dates: dict[str, None] = {}
    for line in trends:
        key = (line.dataset, line.run, line.measure, line.cutoff)
        shown = line.points[0].date
        for date in history.not_crossed.get(key, ()):
            if date > shown:
                dates[date] = None
    if not dates:
        return []
    where = f"the line is interrupted at {len(dates)} change(s) of judgments (last: {max(dates)})"
    why = "too few lists there are scored under both, or too few queries are judged by both"
    return [f"{where}: {why}; ndcg-spark rescore scores kept lists under both"]


def _falls(trends: Sequence[TrendLine]) -> list[str]:
    """A sentence for each line whose level is falling."""
    sentences = []
    for line in trends:
        # A lower catalog measure is not a loss.
        if line.measure in CATALOG_COLUMNS:
            continue
        falling = falling_since(line.chain)
        if falling is not None:
            name = f"{line.dataset}: {measure_at(line.measure, line.cutoff)} of {line.run}"
            sentences.append(f"{name} has been {falling.in_words}")
    return sentences


def _values(series: Sequence[ScoredNight], measure: str) -> list[float | None]:
    """The values, with None for nights that measured nothing, even if missing queries score 0."""
    depends_on_judgments = measure not in CATALOG_COLUMNS
    values = []
    for night, row, _ in series:
        is_measured = not returned_nothing(row) and night.unverified is None
        if depends_on_judgments and row["run"] in night.unmeasured:
            is_measured = False
        values.append(row[measure] if is_measured else None)
    return values


def _points(
    series: Sequence[ScoredNight],
    values: Sequence[float | None],
    changes: Mapping[str, Change],
    measure: str,
) -> list[Point]:
    """A line's points, from its nights, values and changes of judgments."""
    nights = []
    is_of_catalog = measure in CATALOG_COLUMNS
    for (night, _, convention), value in zip(series, values, strict=True):
        judgments = night.row["judgments_fingerprint"]
        if is_of_catalog:
            # The shown lists do not depend on judgments.
            judgments = catalog_kind(night, measure)
        nights.append((night.evaluated_on, value, convention, judgments))
    points = trend_points(nights, changes, is_of_catalog=is_of_catalog)
    for point, (night, row, _) in zip(points, series, strict=True):
        if returned_nothing(row):
            point.flags += ((NOTHING, "it returned nothing for any judged query"),)
        if not is_of_catalog and row["run"] in night.unmeasured:
            point.flags += ((UNMEASURED, night.unmeasured[row["run"]]),)
        if night.unverified is not None:
            point.flags += ((UNVERIFIED, f"its scores are not verified: {night.unverified}"),)
        point.queries = row["queries"]
        point.notes = night.notes
        point.accepted = night.row["accepted"]
        point.restarts = is_accepted_for(night, row["run"])
        if night.record["verdict"]:
            _add_verdict(point, row["run"], night.record["verdict"])
    return points


def _add_verdict(point: Point, run: str, verdict: Mapping[str, Any]) -> None:
    """Add the checks' verdict for a run and, if the night did not pass, the night's verdict."""
    results = verdict["results"]
    can_fail = [row for row in results if row["severity"] == "fail"]
    # If nothing was measured, even checks that only warn keep a night from passing.
    deciding = can_fail or results
    point.verdict = _verdict_for_run(run, verdict["verdict"], deciding)
    if verdict["verdict"] == "pass":
        return
    runs = [row["run"] for row in deciding if row["result"] == "fail"]
    if not runs:
        runs = [row["run"] for row in deciding if row["result"] != "pass"]
    point.gate = {
        "verdict": verdict["verdict"],
        "sentence": verdict["sentence"],
        "accepted": point.accepted,
        "runs": list(dict.fromkeys(filter(None, runs))),
    }


def _verdict_for_run(run: str, verdict: str, results: Iterable[Mapping[str, Any]]) -> str | None:
    """The results' verdict for a run, or for no run in particular; None without results."""
    words = {row["result"] for row in results if row["run"] in (run, None)}
    if not words:
        return None
    if verdict == "pass" or words == {"pass"}:
        return "pass"
    return "fail" if "fail" in words else "none"


def metrics_of_lines(
    text: str | None, nights: Sequence[tuple[Night, Sequence[Mapping[str, Any]]]]
) -> list[tuple[str, Cutoff]]:
    """Parse measures and cutoffs from a text; by default, the newest night's headline.

    The nights come with their DATASET_SCORES. A measure without a cutoff gets the headline's, if
    the newest night evaluated it there.
    """
    newest, newest_rows = nights[-1]
    measures = newest.measure_set
    if not text:
        text = measure_heading(*measures.headline([row["cutoff"] for row in newest_rows]))
    chosen = []
    for measure, cutoff in parse_columns(text, MEASURES):
        by_night = [_cutoffs(measure, night, rows) for night, rows in nights]
        if cutoff == ALL_CUTOFFS:
            rank = measures.main_cutoff(measure, by_night[-1])
        else:
            rank = parse_cutoff(cutoff)
        evaluated = set().union(*by_night)
        if rank not in evaluated:
            raise _not_evaluated_in_nights((measure, rank), evaluated, newest_rows)
        chosen.append((measure, rank))
    return list(dict.fromkeys(chosen))


def _not_evaluated_in_nights(
    metric: Metric, evaluated: Iterable[Cutoff], newest_rows: Sequence[Mapping[str, Any]]
) -> ConfigurationError:
    """The error that names a measure's evaluated cutoffs, or all measures without any."""
    measure, _ = metric
    known = [measure_at(measure, cutoff) for cutoff in sorted(evaluated, key=by_depth)]
    if not known:
        for name in MEASURES:
            if any(row[name] is not None for row in newest_rows):
                known.append(name)
    what = f"nights: {measure_at(*metric)} was not evaluated"
    return ConfigurationError(f"{what}; available: {', '.join(known)}")


def _cutoffs(measure: str, night: Night, rows: Sequence[Mapping[str, Any]]) -> set[Cutoff]:
    """The cutoffs at which a night evaluated a measure, even if the value is null."""
    if measure in _ALWAYS:
        return {row["cutoff"] for row in rows}
    requested = {cutoff for column, cutoff in night.measure_set.metrics if column == measure}
    with_value = {row["cutoff"] for row in rows if row[measure] is not None}
    return requested | with_value
