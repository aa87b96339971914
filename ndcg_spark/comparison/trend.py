"""The scores of a run, night by night: where they cannot be compared with earlier ones, and which nights stand out.

A band of a median and a median absolute deviation (MAD), which one bad night does not move, detects single nights. A
CUSUM (Page 1954) detects a change of the level that no single night shows, and since when.
"""

import dataclasses
import itertools
import json
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from ndcg_spark.convention.measures import COLUMNS, Cutoff, by_depth, format_cutoff, written
from ndcg_spark.convention.parsing import ALL_CUTOFFS, parse_columns, parse_cutoff
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.nights.log import Night, committed
from ndcg_spark.nights.read import read_dataset_scores
from ndcg_spark.nights.select import nights_of_dataset, unpublished
from ndcg_spark.text import unknown_name

#: What can be followed from night to night.
MEASURES = ("ndcg", "ndcg_pooled", "ndcg_stddev", "ndcg_stderr", "dcg", "judged_rate", *COLUMNS)
#: A night is compared with the median of at most WINDOW comparable nights before it, if there are at least MIN_NIGHTS.
WINDOW, MIN_NIGHTS = 28, 7
#: How far from the median a night may be, in standard deviations, estimated from the MAD as for normal values.
_DEVIATIONS, _OF_MAD = 3.0, 1.4826
#: The smallest distance that is flagged, because nights of an unchanged system have a MAD of 0.
FLOOR = 0.005
#: A CUSUM compares with the first REFERENCE comparable nights, takes SLACK off every deviation, and flags a sum of
#: LIMIT, all in standard deviations. A single night counts for at most the deviation of the band.
REFERENCE, SLACK, LIMIT = 28, 0.5, 8.0

#: A night with its rows of DATASET_SCORES; and with one of them, its convention and its judgments.
_Night = tuple[Night, Sequence[Mapping[str, Any]]]
_Scored = tuple[Night, Mapping[str, Any], tuple[str, str]]


@dataclasses.dataclass
class Point:
    """A night of a trend."""

    date: str
    #: None if no query is left for a mean.
    value: float | None
    #: Which of `convention` and `judgments` changed since the night before; the line is interrupted here.
    breaks: tuple[str, ...] = ()
    #: The band of comparable nights before it; none if there are too few.
    median: float | None = None
    low: float | None = None
    high: float | None = None
    #: Why it stands out: `low`, `high`, `level_fell` or `level_rose`, each with a sentence.
    flags: tuple[tuple[str, str], ...] = ()
    #: The first night of the last change of the level up to this night, among comparable nights, and by how much.
    level_since: str | None = None
    level_change: float | None = None
    queries: int = 0
    verdict: str | None = None
    accepted: str | None = None
    notes: Sequence[str] = ()


@dataclasses.dataclass(frozen=True)
class TrendLine:
    """The trend of one run and measure at one cutoff."""

    dataset: str
    run: str
    measure: str
    cutoff: int | None
    points: Sequence[Point]


def last_stretch(points: Sequence[Point]) -> list[Point]:
    """The nights since the last break, which alone can be compared with the last of them."""
    return list(points[max((at for at, point in enumerate(points) if point.breaks), default=0) :])


def trend(nights: Sequence[tuple[str, float | None, str, str]], floor: float = FLOOR) -> list[Point]:
    """The nights with their breaks, the band that each is compared with, and its flags.

    They come by date, each with its date, score, convention and judgments. Those with the same convention and judgments
    are comparable, even if others lie between them. `floor` is the smallest distance from the median that is flagged:
    three standard deviations at least.
    """
    points: list[Point] = []
    comparable: dict[tuple[str, ...], list[Point]] = {}
    for at, (date, value, *kind) in enumerate(nights):
        pairs = zip(("convention", "judgments"), kind, nights[max(at - 1, 0)][2:], strict=True)
        breaks = tuple(name for name, one, other in pairs if one != other)
        points.append(Point(date, value, breaks))
        comparable.setdefault(tuple(kind), []).append(points[-1])
    for own in comparable.values():
        _add_bands(own, floor)
        _add_levels(own, floor / _DEVIATIONS)
    return points


def _add_bands(points: Sequence[Point], floor: float) -> None:
    """Give comparable nights the band of those before them, and a flag where they lie outside."""
    values: list[float] = []
    for point in points:
        before = values[-WINDOW:]
        if len(before) >= MIN_NIGHTS:
            median = statistics.median(before)
            mad = statistics.median(abs(value - median) for value in before)
            width = max(_DEVIATIONS * _OF_MAD * mad, floor)
            point.median, point.low, point.high = median, median - width, median + width
            if point.value is not None and not point.low <= point.value <= point.high:
                code, side = ("low", "below") if point.value < median else ("high", "above")
                usual = f"{median:.4f} +- {width:.4f}, the band around the median of {len(before)} comparable nights"
                point.flags = ((code, f"{point.value:.4f} is {side} {usual}"),)
        if point.value is not None:
            values.append(point.value)


def _add_levels(points: Sequence[Point], least_deviation: float) -> None:
    """Tell comparable nights since when the level is another, and flag those that show it: there a new one begins."""
    dates: list[str] = []
    values: list[float] = []
    # The first nights of the level and of its last change, and the level before that.
    start, since, before = 0, -1, 0.0
    center = deviation = 0.0
    # By the sign of the deviation: the sum, and the first night since it was 0.
    sums: dict[int, tuple[float, int]] = {}
    for point in points:
        changed, at = 0, len(values)
        if point.value is not None:
            dates.append(point.date)
            values.append(point.value)
            if at == start + REFERENCE:
                center = statistics.fmean(values[start:at])
                deviation, sums = (
                    max(statistics.stdev(values[start:at]), least_deviation),
                    {-1: (0.0, at), 1: (0.0, at)},
                )
            if at >= start + REFERENCE and deviation:
                distance = max(-_DEVIATIONS, min((point.value - center) / deviation, _DEVIATIONS))
                for sign, (total, first) in sums.items():
                    larger = max(0.0, total + sign * distance - SLACK)
                    sums[sign] = larger, first if larger else at + 1
                changed = next((sign for sign, (total, _) in sums.items() if total > LIMIT), 0)
        if changed:
            start, since, before = at + 1, sums[changed][1], center
        if since >= 0:
            point.level_since, point.level_change = dates[since], statistics.fmean(values[since:]) - before
        if changed:
            words = f"level since {dates[since]}: {point.level_change:+.4f}, from {before:.4f} in the nights before"
            point.flags += (("level_fell" if changed < 0 else "level_rose", words),)


def lines(
    output: str,
    dataset: str | None = None,
    run: str | None = None,
    measures: str | None = None,
    last: int = 60,
    floor: float = FLOOR,
) -> tuple[list[TrendLine], list[str]]:
    """The trends of an output, by dataset, run and measure, only of nights with the run; a sentence per missing night.

    `measures` is like `ndcg@10,judged_rate`, by default the headline of the newest night. Only the `last` nights are
    returned; statistics use all. ConfigurationError if there is no night, or no such dataset, run, measure or cutoff;
    StorageError.
    """
    nights, missing = _read(output, dataset)
    runs = {row["run"] for _, rows in nights for row in rows}
    if run is not None and run not in runs:
        raise unknown_name("run", "run", run, runs)
    trends = []
    for name, own in itertools.groupby(nights, lambda scored: scored[0].dataset):
        scored = list(own)
        # Once for all runs: there may be thousands, each a few rows of every night.
        series: dict[tuple[str, Cutoff], list[_Scored]] = {}
        for night, rows in scored:
            kind = json.dumps(night.record["options"], sort_keys=True), night.row["judgments_fingerprint"]
            for row in rows:
                series.setdefault((row["run"], row["cutoff"]), []).append((night, row, kind))
        metrics = _metrics(measures, scored)
        trends += [
            TrendLine(name, one, measure, cutoff, _points(series[one, cutoff], measure, floor)[-last:])
            for one in sorted({one for one, _ in series if run in (None, one)})
            for measure, cutoff in metrics
            if (one, cutoff) in series
        ]
    return trends, missing


def _read(output: str, dataset: str | None) -> tuple[list[_Night], list[str]]:
    """The nights, sorted by dataset and date, and sentences about those that are missing."""
    known = committed(output)
    nights = nights_of_dataset(known, output, dataset)
    return list(zip(nights, read_dataset_scores(nights), strict=True)), unpublished(known, dataset)


def _points(scored: Sequence[_Scored], measure: str, floor: float) -> list[Point]:
    points = trend([(night.evaluated_on, row[measure], *kind) for night, row, kind in scored], floor)
    for point, (night, row, _) in zip(points, scored, strict=True):
        point.queries, point.verdict, point.accepted = row["queries"], night.row["verdict"], night.row["accepted"]
        point.notes = night.notes
    return points


def _metrics(text: str | None, nights: Sequence[_Night]) -> list[tuple[str, Cutoff]]:
    """The measures and cutoffs of a text, or the headline of the newest night.

    A measure without a cutoff has that of the headline, if the newest night has a value there.
    """
    night, newest = nights[-1]
    asked = night.measure_set
    metrics = []
    for measure, cutoff in parse_columns(text or written(*asked.headline([row["cutoff"] for row in newest])), MEASURES):
        cutoffs = {row["cutoff"] for _, rows in nights for row in rows if measure == "ndcg" or row[measure] is not None}
        valued = [row["cutoff"] for row in newest if row[measure] is not None]
        chosen = asked.main_cutoff(measure, valued) if cutoff == ALL_CUTOFFS else parse_cutoff(cutoff)
        if chosen not in cutoffs:
            known = ", ".join(map(format_cutoff, sorted(cutoffs, key=by_depth))) or "none"
            raise ConfigurationError(
                f"measures: {measure}@{format_cutoff(chosen)} was not evaluated in these nights; "
                f"evaluated cutoffs: {known}"
            )
        metrics.append((measure, chosen))
    return list(dict.fromkeys(metrics))
