"""Trends as people see them: a line of blocks per run, what stands out and why; rows for programs; pictures."""

import dataclasses
import itertools
import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from ndcg_spark.comparison.trend import Point
from ndcg_spark.comparison.trend_data import TrendLine as Line
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.report.records import CSV, print_csv
from ndcg_spark.report.sections import Section, print_sections
from ndcg_spark.report.streams import as_json
from ndcg_spark.sheets.sheet import Sheet, at, rounded, sheet
from ndcg_spark.sheets.sorting import best_first
from ndcg_spark.sheets.verdicts import in_words

FORMATS = ("table", "json", *CSV, "png", "svg")
#: The signs of a line, from its lowest value to its highest; the others for a stdout without them.
_BLOCKS, _DIGITS = "▁▂▃▄▅▆▇█", "01234567"
#: Where the line is not joined, and a night without a score.
_BREAK, _NOTHING = "|", "."
#: Values that differ by no more are drawn alike: a sum in another order.
_SAME = 1e-9
#: So many runs are named of which the same is said.
_NAMED = 3
_CHANGED = {"convention": "another convention", "judgments": "other judgments"}
_COLUMNS = (
    *("dataset", "evaluated_on", "run", "measure", "cutoff", "value", "queries", "breaks"),
    *("median", "low", "high", "flags", "why", "verdict"),
)


def print_trends(lines: Sequence[Line], style: str) -> None:
    """Print the trends in the format. A picture is written to stdout as it is."""
    if style == "json":
        print(as_json([dataclasses.asdict(line) for line in lines]))
    elif style in CSV:
        print_csv(_COLUMNS, (row for line in lines for row in _rows(line)), style)
    elif style in ("png", "svg"):
        _print_picture(lines, style)
    else:
        print_sections(sections(lines), style)


def sections(lines: Sequence[Line]) -> list[Section]:
    """A sheet with a row per line, and one with what stands out."""
    first, last = (pick(point.date for line in lines for point in line.points) for pick in (min, max))
    parts = [Section(f"trend from {first} to {last}", [], _lines(lines), is_first=True)]
    rows = _standing_out(lines)
    if rows:
        headings = [*_names(lines), "nights", "what", "why"]
        parts.append(Section("What stands out", [], sheet(headings, rows, [])))
    return parts


def _lines(lines: Sequence[Line]) -> Sheet:
    names = _names(lines)
    headings = [*names, "trend", "nights", "first", "last", "change", "lowest", "highest", "verdict"]
    rows = []
    for line in lines:
        values = [point.value for point in line.points if point.value is not None]
        last = [*values[-1:], None][0]
        change = f"{values[-1] - values[0]:+z.4f}" if values else "-"
        extremes = [rounded(min(values, default=None)), rounded(max(values, default=None))]
        counted = [str(len(line.points)), rounded([*values, None][0]), rounded(last), change, *extremes]
        rows.append([*_name(line)[-len(names) :], drawn(line.points), *counted, _in_words(line.verdicts[-1])])
    numbers = ("nights", "first", "last", "change", "lowest", "highest")
    return sheet(headings, rows, map(headings.index, numbers))


def drawn(points: Sequence[Point]) -> str:
    """The values as a line of blocks, each night a sign, with a bar where the line is not joined."""
    encoding = (getattr(sys.stdout, "encoding", None) or "utf-8").lower()
    signs = _BLOCKS if encoding.startswith("utf") else _DIGITS
    values = [point.value for point in points if point.value is not None]
    low, high = min(values, default=0.0), max(values, default=0.0)

    def sign(value: float | None) -> str:
        if value is None:
            return _NOTHING
        share = (value - low) / (high - low) if high - low > _SAME else 0.5
        return signs[min(int(share * len(signs)), len(signs) - 1)]

    return "".join(
        (_BREAK if point.breaks and number else "") + sign(point.value) for number, point in enumerate(points)
    )


def best_runs(lines: Sequence[Line]) -> list[str]:
    """The runs of the lines, the best of each dataset first: by the last score of its first measure, then by name."""
    headlines: dict[str, tuple[str, int | None]] = {}
    scores: dict[str, dict[str, float | None]] = {}
    for line in lines:
        if headlines.setdefault(line.dataset, (line.measure, line.cutoff)) == (line.measure, line.cutoff):
            scores.setdefault(line.dataset, {})[line.run] = line.points[-1].value
    places = dict.fromkeys((line.run for line in lines), len(lines))
    for of_dataset in scores.values():
        for place, (run, _) in enumerate(sorted(of_dataset.items(), key=lambda item: best_first(item[1], item[0]))):
            places[run] = min(place, places[run])
    return sorted(places, key=lambda run: (places[run], run))


def _names(lines: Iterable[Line]) -> list[str]:
    """The columns that tell the lines apart: dataset and measure only where there are several."""
    return ["dataset", "measure", "run"] if len({(line.dataset) for line in lines}) > 1 else ["measure", "run"]


def _name(line: Line) -> list[str]:
    return [line.dataset, f"{line.measure}@{at(line.cutoff)}", line.run]


def _standing_out(lines: Sequence[Line]) -> list[list[str]]:
    """What stands out, by date: a row for all runs of which the same is said."""
    runs: dict[tuple[str, ...], list[str]] = {}
    for line in lines:
        *about, run = _name(line)
        for event in _events(line):
            runs.setdefault((event[0], *about, *event[1:]), []).append(run)
    names = _names(lines)
    rows = []
    for key, named in sorted(runs.items()):
        _, dataset, measure, *said_of_them = key
        of_measure = sum(_name(line)[:2] == [dataset, measure] for line in lines)
        said = "all" if len(named) == of_measure > 1 else ", ".join(named[:_NAMED])
        more = f" and {len(named) - _NAMED} more" if said != "all" and len(named) > _NAMED else ""
        rows.append([*[dataset, measure, said + more][-len(names) :], *said_of_them])
    return rows


def _events(line: Line) -> Iterator[tuple[str, str, str, str]]:
    """What stands out in a line: the first date, the nights, what and why.

    Nights one after another are told once, by the last of them, if what stands out is the same.
    """
    marked = [
        (number, point.date, what, why)
        for number, (point, verdict) in enumerate(zip(line.points, line.verdicts, strict=True))
        for what, why in _marks(point, verdict)
    ]
    for what in dict.fromkeys(mark[2] for mark in marked):
        nights = [(number, date, why) for number, date, name, why in marked if name == what]
        # The difference of a number and its place is the same for neighbours.
        for _, group in itertools.groupby(enumerate(nights), key=lambda pair: pair[1][0] - pair[0]):
            together = [night for _, night in group]
            first, last = together[0], together[-1]
            several = f"{first[1]} to {last[1]} ({len(together)})" if len(together) > 1 else first[1]
            yield first[1], several, what, last[2]


def _marks(point: Point, verdict: str | None) -> Iterator[tuple[str, str]]:
    if point.breaks:
        yield "break", f"{' and '.join(_CHANGED[name] for name in point.breaks)} than the night before"
    for flag in point.flags:
        yield flag.code, flag.words
    if verdict not in (None, "pass"):
        yield "verdict", _in_words(verdict)


def _in_words(verdict: str | None) -> str:
    return in_words({"verdict": verdict}) if verdict else "-"


def _rows(line: Line) -> Iterator[dict[str, Any]]:
    for point, queries, verdict in zip(line.points, line.queries, line.verdicts, strict=True):
        band = dataclasses.asdict(point.band) if point.band else {}
        yield {
            "dataset": line.dataset,
            "evaluated_on": point.date,
            "run": line.run,
            "measure": line.measure,
            "cutoff": line.cutoff,
            "value": point.value,
            "queries": queries,
            "breaks": " ".join(point.breaks),
            **{name: band.get(name) for name in ("median", "low", "high")},
            "flags": " ".join(flag.code for flag in point.flags),
            "why": "; ".join(flag.words for flag in point.flags),
            "verdict": verdict,
        }


def _print_picture(lines: Sequence[Line], style: str) -> None:
    from ndcg_spark.report.charts import picture, trend_chart

    if style == "png" and sys.stdout.isatty():
        raise ConfigurationError("format: a PNG is not text; write it to a file, as in --format png > trend.png")
    content = picture(trend_chart(lines), style)
    sys.stdout.flush()
    sys.stdout.buffer.write(content)
