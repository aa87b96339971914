"""How trends are printed: a line of blocks per run, unusual nights and why; rows for programs."""

import dataclasses
import itertools
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from ndcg_spark.comparison.trend import Level, Point, TrendLine, last_stretch
from ndcg_spark.convention.cutoffs import format_cutoff
from ndcg_spark.report.console import print_result
from ndcg_spark.tables.sorting import best_first
from ndcg_spark.tables.table import TextTable, counted, name, number, signed, text_table
from ndcg_spark.tables.verdicts import in_words
from ndcg_spark.views import View

#: The signs of a line, from its lowest value to its highest; the others for a stdout without them.
_BLOCKS, _DIGITS = "▁▂▃▄▅▆▇█", "01234567"
#: Where the line is not joined, and a night without a score.
_BREAK, _NOTHING = "|", "."
#: Values that differ by no more are drawn alike: a sum in another order.
_SAME = 1e-9
#: At most this many runs of an event are named.
_NAMED = 3
_CHANGED = {"convention": "another convention", "judgments": "other judgments"}
_COLUMNS = (
    *("dataset", "evaluated_on", "run", "measure", "cutoff", "value", "queries", "breaks"),
    *("median", "low", "high", "flags", "why", "level_since", "level_change", "verdict", "notes"),
)


def print_trends(lines: Sequence[TrendLine], missing: Sequence[str], style: str) -> None:
    """Print the trends."""
    view = trend_view(lines, missing)
    print_result(style, view.tables, view.json, view.columns, view.rows())


def trend_view(lines: Sequence[TrendLine], missing: Sequence[str] = ()) -> View:
    """The trends, a row for each line and night."""
    return View(
        lambda: trend_tables(lines, missing),
        lambda: list(map(dataclasses.asdict, lines)),
        _COLUMNS,
        lambda: (row for line in lines for row in _rows(line)),
    )


def trend_tables(lines: Sequence[TrendLine], missing: Sequence[str] = ()) -> list[TextTable]:
    """A table with a row per line, the nights that are `missing` below it, and a table of unusual nights."""
    first, last = (pick(point.date for line in lines for point in line.points) for pick in (min, max))
    # What tells the lines apart: the dataset only where there are several.
    several = len({line.dataset for line in lines}) > 1
    names = [*([name("dataset")] if several else []), name("measure"), name("run")]
    scores = [number("first"), number("last"), number("change", form=signed), number("lowest"), number("highest")]
    rows = [_row(line) for line in lines]
    levels = [name("level")] if any(row["level"] != "-" for row in rows) else []
    columns = [*names, name("trend"), number("nights", form=counted), *scores, *levels, name("verdict")]
    tables = [text_table(columns, rows, missing, title=f"trend from {first} to {last}", is_first=True)]
    unusual = _unusual_nights(lines)
    if unusual:
        events = [name("nights"), name("what"), name("why")]
        tables.append(text_table([*names, *events], unusual, title="Unusual nights"))
    return tables


def _row(line: TrendLine) -> dict[str, Any]:
    comparable = last_stretch(line.points)
    values = [point.value for point in comparable if point.value is not None]
    return {
        "dataset": line.dataset,
        "measure": _measure(line),
        "run": line.run,
        "trend": drawn(line.points),
        "nights": len(line.points),
        "level": _level(comparable[-1].level),
        "verdict": _verdicts(line)[-1],
        "first": values[0] if values else None,
        "last": values[-1] if values else None,
        "lowest": min(values, default=None),
        "highest": max(values, default=None),
        "change": values[-1] - values[0] if values else None,
    }


def _level(level: Level | None) -> str:
    return "-" if level is None else f"{signed(level.change)} since {level.since}"


def _verdicts(line: TrendLine) -> list[str]:
    """The verdict on each night in words."""
    accepted = line.accepted or [None] * len(line.verdicts)
    return [
        in_words({"verdict": verdict, "accepted": reason}) if verdict else "-"
        for verdict, reason in zip(line.verdicts, accepted, strict=True)
    ]


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


def best_runs(lines: Sequence[TrendLine]) -> list[str]:
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


def _measure(line: TrendLine) -> str:
    return f"{line.measure}@{format_cutoff(line.cutoff)}"


def _unusual_nights(lines: Sequence[TrendLine]) -> list[dict[str, str]]:
    """Unusual nights, by date, with one row for all runs that share the same event."""
    runs: dict[tuple[str, ...], list[str]] = {}
    for line in lines:
        for date, *event in _events(line):
            runs.setdefault((date, line.dataset, _measure(line), *event), []).append(line.run)
    rows = []
    for (_, dataset, measure, *event), named in sorted(runs.items()):
        of_measure = sum((line.dataset, _measure(line)) == (dataset, measure) for line in lines)
        more = f" and {len(named) - _NAMED} more" if len(named) > _NAMED else ""
        run = "all" if len(named) == of_measure > 1 else ", ".join(named[:_NAMED]) + more
        row = {"dataset": dataset, "measure": measure, "run": run}
        rows.append({**row, **dict(zip(("nights", "what", "why"), event, strict=True))})
    return rows


def _events(line: TrendLine) -> Iterator[tuple[str, str, str, str]]:
    """The events of a line: its first date, the nights, what and why.

    Consecutive nights with the same event are one event, with the reason of the last of them.
    """
    marked = [
        (number, point.date, what, why)
        for number, (point, verdict, notes) in enumerate(zip(line.points, _verdicts(line), _notes(line), strict=True))
        for what, why in _marks(point, verdict, notes)
    ]
    # The reason of a flag has the numbers of its night; another verdict is another event.
    kinds = [(what, why if what in ("verdict", "break", "note") else None) for _, _, what, why in marked]
    for kind in dict.fromkeys(kinds):
        what = kind[0]
        nights = [
            (number, date, why) for (number, date, _, why), other in zip(marked, kinds, strict=True) if other == kind
        ]
        # The difference of a number and its place is the same for neighbours.
        for _, group in itertools.groupby(enumerate(nights), key=lambda pair: pair[1][0] - pair[0]):
            together = [night for _, night in group]
            first, last = together[0], together[-1]
            several = f"{first[1]} to {last[1]} ({len(together)})" if len(together) > 1 else first[1]
            yield first[1], several, what, last[2]


def _notes(line: TrendLine) -> Sequence[Sequence[str]]:
    return line.notes or [()] * len(line.points)


def _marks(point: Point, verdict: str, notes: Sequence[str]) -> Iterator[tuple[str, str]]:
    yield from (("note", note) for note in notes)
    if point.breaks:
        yield "break", f"{' and '.join(_CHANGED[name] for name in point.breaks)} than the night before"
    for flag in point.flags:
        yield flag.code, flag.words
    if verdict not in ("-", "pass"):
        yield "verdict", verdict


def _rows(line: TrendLine) -> Iterator[dict[str, Any]]:
    for point, queries, verdict, notes in zip(line.points, line.queries, line.verdicts, _notes(line), strict=True):
        band = dataclasses.asdict(point.band) if point.band else {}
        level = dataclasses.asdict(point.level) if point.level else {}
        yield {
            **{field: getattr(line, field) for field in ("dataset", "run", "measure", "cutoff")},
            **{field: band.get(field) for field in ("median", "low", "high")},
            "evaluated_on": point.date,
            "value": point.value,
            "queries": queries,
            "breaks": " ".join(point.breaks),
            "flags": " ".join(flag.code for flag in point.flags),
            "why": "; ".join(flag.words for flag in point.flags),
            **{f"level_{field}": level.get(field) for field in ("since", "change")},
            "verdict": verdict,
            "notes": "; ".join(notes),
        }
