"""Where the lines and bars of charts are, in percent of their width and height; templates draw them."""

from collections.abc import Sequence
from typing import Any

from ndcg_spark.comparison.trend import TrendLine
from ndcg_spark.report.baseline import Row
from ndcg_spark.report.night_data import NightData
from ndcg_spark.report.words import TONES

#: At most so many runs and bars are drawn.
_RUNS, _BARS = 6, 240


def forest(data: NightData) -> dict[str, Any]:
    """The differences of runs with their intervals, the run in detail and then the surest ones first."""
    rows = [row for row in data.compared.values() if row["difference"] is not None]
    rows.sort(key=lambda row: (row["run"] != data.run, row["conclusion"] not in TONES, -abs(row["difference"])))
    shown = sorted(rows[:_RUNS], key=lambda row: (row["difference"], row["run"]))
    result = data.result(data.run)
    limit = None if result is None or not result["allowed"] else -result["allowed"]
    return differences(shown, limit, len(rows) - len(shown))


def differences(rows: Sequence[Row], limit: float | None = None, more: int = 0) -> dict[str, Any]:
    """The differences of these rows of COMPARISONS, and the limit; `more` are not drawn."""
    ends_of = {"at": "difference", "low": "interval_low", "high": "interval_high"}
    known = [row[column] for row in rows for column in ends_of.values() if row[column] is not None]
    known += [0.0] if limit is None else [0.0, limit]
    low, high = min([*known, -1e-3]), max([*known, 1e-3])

    def at(value: float | None) -> float | None:
        return None if value is None else 4 + 92 * (value - low) / (high - low)

    marks = [{"row": row, **{end: at(row[column]) for end, column in ends_of.items()}} for row in rows]
    return {"rows": marks, "zero": at(0.0), "limit": at(limit), "allowed": limit, "more": more}


def trend(line: TrendLine) -> dict[str, Any]:
    """The scores of nights as lines that are not joined where they cannot be compared, and the usual range."""
    points = [(at, point) for at, point in enumerate(line.points) if point.value is not None]
    bands = [end for _, point in points for end in (point.low, point.high) if end is not None]
    values = [point.value or 0.0 for _, point in points]
    low, high = min([*values, *bands]), max([*values, *bands])
    # The same numbers added in another order make no slope.
    margin = max(0.1 * (high - low), 0.001)
    low, high = low - margin, high + margin

    def place(at: int, value: float) -> str:
        return f"{2 + 96 * at / max(1, len(line.points) - 1):.1f},{100 * (high - value) / (high - low):.1f}"

    parts: list[list[str]] = []
    ranges: list[list[tuple[str, str]]] = []
    for at, point in points:
        if point.breaks or not parts:
            parts.append([])
            ranges.append([])
        parts[-1].append(place(at, point.value or 0.0))
        if point.low is not None and point.high is not None:
            ranges[-1].append((place(at, point.high), place(at, point.low)))
    areas = [" ".join([*(one for one, _ in area), *(other for _, other in reversed(area))]) for area in ranges if area]
    return {
        "lines": [" ".join(part) for part in parts],
        "areas": areas,
        "last": parts[-1][-1],
        "low": low,
        "high": high,
    }


def bars(changes: Sequence[Any]) -> list[tuple[float, Any]]:
    """The differences of queries in order, of very many those at equal distances, each with its place."""
    step = max(1.0, len(changes) / _BARS)
    shown = [changes[int(at * step)] for at in range(int(len(changes) / step))]
    if shown:
        shown[-1] = changes[-1]
    return [(100 * at / len(shown), change) for at, change in enumerate(shown)]
