"""How trends are printed: a line of blocks per run, unusual nights and why; rows for programs."""

import dataclasses
import sys
from collections.abc import Iterator, Sequence
from typing import Any

from ndcg_spark.comparison.trend import Point, TrendLine, last_stretch
from ndcg_spark.convention.cutoffs import format_cutoff
from ndcg_spark.tables.table import TextTable, counted, name, number, signed, text_table
from ndcg_spark.tables.verdicts import in_words
from ndcg_spark.views import View

#: The signs of a line, from its lowest value to its highest; the others for a stdout without them.
_BLOCKS, _DIGITS = "▁▂▃▄▅▆▇█", "01234567"
#: Where the line is not joined, and a night without a score.
_BREAK, _NOTHING = "|", "."
#: Values that differ by no more are drawn alike: a sum in another order.
_SAME = 1e-9
#: At most so many runs of an event are named, and so many events shown.
_NAMED, _EVENTS = 3, 30
_COLUMNS = (
    *("dataset", "evaluated_on", "run", "measure", "cutoff", "value", "queries", "breaks"),
    *("median", "low", "high", "flags", "why", "level_since", "level_change", "verdict", "notes"),
)


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
        events = [name("since", "date"), name("what"), name("why")]
        tables.append(text_table([*names, *events], unusual, title="Unusual nights"))
    return tables


def _row(line: TrendLine) -> dict[str, Any]:
    comparable = last_stretch(line.points)
    values = [point.value for point in comparable if point.value is not None]
    since, change = comparable[-1].level_since, comparable[-1].level_change
    return {
        "dataset": line.dataset,
        "measure": _measure(line),
        "run": line.run,
        "trend": drawn(line.points),
        "nights": len(line.points),
        "verdict": _verdict(line.points[-1]),
        "first": values[0] if values else None,
        "last": values[-1] if values else None,
        "lowest": min(values, default=None),
        "highest": max(values, default=None),
        "change": values[-1] - values[0] if values else None,
        "level": "-" if since is None else f"{signed(change)} since {since}",
    }


def _verdict(point: Point) -> str:
    """The verdict on a night in words."""
    return in_words(vars(point)) if point.verdict else "-"


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

    breaks = (_BREAK if point.breaks and number else "" for number, point in enumerate(points))
    return "".join(gap + sign(point.value) for gap, point in zip(breaks, points, strict=True))


def _measure(line: TrendLine) -> str:
    return f"{line.measure}@{format_cutoff(line.cutoff)}"


def _unusual_nights(lines: Sequence[TrendLine]) -> list[dict[str, str]]:
    """The nights on which something begins that is unusual, with one row for all runs that share it."""
    runs: dict[tuple[str, ...], list[str]] = {}
    for line in lines:
        before: set[str] = set()
        for date, events in _events(line):
            for what, why in events:
                if what == "note" or what not in before:
                    runs.setdefault((date, line.dataset, _measure(line), what, why), []).append(line.run)
            before = {what for what, _ in events}
    rows = []
    for (date, dataset, measure, what, why), named in sorted(runs.items())[-_EVENTS:]:
        of_measure = sum((line.dataset, _measure(line)) == (dataset, measure) for line in lines)
        more = f" and {len(named) - _NAMED} more" if len(named) > _NAMED else ""
        run = "all" if len(named) == of_measure > 1 else ", ".join(named[:_NAMED]) + more
        rows.append({"dataset": dataset, "measure": measure, "run": run, "date": date, "what": what, "why": why})
    return rows


def _events(line: TrendLine) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """By date, what is unusual and why."""
    for point in line.points:
        events, verdict = [("note", note) for note in point.notes], _verdict(point)
        if point.breaks:
            events.append(("break", f"other {' and other '.join(point.breaks)} than the night before"))
        events += [(code.replace("_", " "), words) for code, words in point.flags]
        if verdict not in ("-", "pass"):
            events.append((verdict, "verdict of the gate"))
        yield point.date, events


def _rows(line: TrendLine) -> Iterator[dict[str, Any]]:
    for point in line.points:
        yield {
            **{field: getattr(line, field) for field in ("dataset", "run", "measure", "cutoff")},
            **vars(point),
            "evaluated_on": point.date,
            "breaks": " ".join(point.breaks),
            "flags": " ".join(code for code, _ in point.flags),
            "why": "; ".join(words for _, words in point.flags),
            "notes": "; ".join(point.notes),
        }
