"""What the charts of a page draw, with places in percent."""

import itertools
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ndcg_spark.comparison.trend import Point, TrendLine
from ndcg_spark.report.words import TONES

if TYPE_CHECKING:
    from ndcg_spark.report.night import NightData

#: At most so many runs and bars are drawn.
_RUNS, _BARS = 6, 240


def forest(data: "NightData") -> dict[str, Any]:
    rows = [row for row in data.compared.values() if row["difference"] is not None]
    rows.sort(key=lambda row: (row["run"] != data.run, row["conclusion"] not in TONES, -abs(row["difference"])))
    shown = sorted(rows[:_RUNS], key=lambda row: (row["difference"], row["run"]))
    result = data.result(data.run) or {}
    limit = -result["allowed"] if result.get("allowed") else None
    return difference_chart(shown, limit, len(rows) - len(shown)) | {"margin": data.options.margin, "limited": data.run}


def difference_chart(rows: Sequence[Mapping[str, Any]], limit: float | None = None, more: int = 0) -> dict[str, Any]:
    """The differences of these rows of COMPARISONS, and the limit; `more` are not drawn."""
    columns = {"at": "difference", "low": "interval_low", "high": "interval_high"}
    known = [0.0, limit or 0.0, *(row[column] or 0.0 for row in rows for column in columns.values())]
    low, high = min([*known, -1e-3]), max([*known, 1e-3])

    def at(value: float | None) -> float | None:
        return None if value is None else 4 + 92 * (value - low) / (high - low)

    marks = [{"row": row, **{end: at(row[column]) for end, column in columns.items()}} for row in rows]
    return {"rows": marks, "zero": at(0.0), "limit": at(limit), "allowed": limit, "more": more}


def trend(line: TrendLine) -> dict[str, Any]:
    points = [(at, point) for at, point in enumerate(line.points) if point.value is not None]
    known = (value for _, point in points for value in (point.value, point.low, point.high))
    values = [value for value in known if value is not None] or [0.0]
    # The same numbers added in another order make no slope.
    margin = max(0.1 * (max(values) - min(values)), 0.001)
    low, high = min(values) - margin, max(values) + margin

    def point_at(at: float, value: float | None) -> str:
        return f"{2 + 96 * at / max(1, len(line.points) - 1):.1f},{100 * (high - (value or 0.0)) / (high - low):.1f}"

    parts, areas = [], []
    stretches = list(itertools.accumulate(bool(point.breaks) for point in line.points))
    for _, group in itertools.groupby(points, lambda pair: stretches[pair[0]]):
        stretch = list(group)
        parts.append([point_at(at, point.value) for at, point in stretch])
        ends: list[tuple[float, Point]] = [(at, point) for at, point in stretch if point.low is not None]
        # The range of a single night would have no width.
        ends = [(ends[0][0] - 0.5, ends[0][1]), *ends] if len(ends) == 1 else ends
        areas.append([point_at(at, p.low) for at, p in ends] + [point_at(at, p.high) for at, p in reversed(ends)])
    return {
        "lines": parts,
        "areas": [area for area in areas if area],
        "last": parts[-1][-1] if parts else "98,50",
        "low": low,
        "high": high,
    }


def bars(changes: Sequence[Any]) -> list[tuple[float, Any]]:
    step = max(1.0, len(changes) / _BARS)
    shown = [changes[int(at * step)] for at in range(int(len(changes) / step))]
    if shown:
        shown[-1] = changes[-1]
    return [(100 * at / len(shown), change) for at, change in enumerate(shown)]
