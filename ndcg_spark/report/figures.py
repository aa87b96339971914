"""The plots of a report, each with its title, what it shows in words, and the numbers that it is drawn from."""

import dataclasses
from collections.abc import Sequence
from typing import Any, TypeVar

from ndcg_spark.convention.measures import written
from ndcg_spark.report import charts
from ndcg_spark.report.charts import Chart
from ndcg_spark.report.night_data import TIE, NightData
from ndcg_spark.tables.table import TextTable, counted, name, number, signed, text_table

_Row = TypeVar("_Row")
#: A plot shows at most this many runs; its table has all of them.
_MOST_RUNS = 40
#: At most this many rows of the table behind a plot are shown, evenly chosen.
_MOST_ROWS = 50


@dataclasses.dataclass(frozen=True)
class Figure:
    """A plot, and the table behind it."""

    #: What a file of it is called, and its place on a page.
    name: str
    title: str
    words: str
    chart: Chart
    table: TextTable


def figures(data: NightData) -> list[Figure]:
    """The plots that there are data for."""
    shown = [_runs(data)]
    # Where no query changed, there is nothing to draw.
    if data.baseline is not None and any(abs(each.difference or 0.0) > TIE for each in data.queries):
        shown += [_differences(data), _pairs(data), _histogram(data)]
    if any(len(line.points) > 1 for line in data.trend):
        shown.append(_trend(data))
    return shown


def _runs(data: NightData) -> Figure:
    shown = [row for row in data.means if row["ndcg"] is not None]
    rows = [{"run": row["run"], "mean": row["ndcg"], "low": row["low"], "high": row["high"]} for row in shown]
    order = written(*data.measure_set.headline([data.cutoff]))
    words = f"Mean {data.measure} of each run and its 95 % interval of t over the queries; the best by {order} on top."
    table = text_table([name("run"), *map(number, ("mean", "low", "high"))], rows)
    return Figure("runs", "Runs with their intervals", words, charts.runs_chart(rows[:_MOST_RUNS], data.measure), table)


def _differences(data: NightData) -> Figure:
    known = [(each.query_id, each.difference) for each in data.queries if each.difference is not None]
    chart = charts.differences_chart([difference for _, difference in known], f"difference to {data.baseline}")
    words = f"What each of {len(known):,} queries won (above 0) or lost (below 0) against {data.baseline}, in order."
    table = text_table([name("query", 0), number("difference", 1, signed)], _some(known))
    return Figure("differences", "Differences, query by query", words, chart, table)


def _pairs(data: NightData) -> Figure:
    rows = [(each.query_id, each.baseline, each.ndcg) for each in data.queries]
    known = [(query, one, other) for query, one, other in rows if one is not None and other is not None]
    baseline = str(data.baseline)
    chart = charts.pairs_chart([(one, other) for _, one, other in known], data.run, baseline)
    words = f"Each query by its score with {baseline} and with {data.run}: above the dashed line it became better."
    table = text_table([name("query", 0), number(baseline, 1), number(data.run, 2)], _some(known))
    return Figure("pairs", "Baseline against run", words, chart, table)


def _histogram(data: NightData) -> Figure:
    differences = [each.difference for each in data.queries if each.difference is not None]
    changed = [each for each in differences if abs(each) > TIE]
    bins: list[dict[str, Any]] = []
    for edge in range(-10, 10):
        low, high = edge / 10, (edge + 1) / 10
        # The queries that did not change stand apart, as they are often most of all.
        if edge == 0:
            bins.append({"label": "0", "queries": len(differences) - len(changed)})
        inside = sum(low <= each < high if low < 0 else low < each <= high for each in changed)
        bins.append({"label": f"{low:+.1f} to {high:+.1f}", "queries": inside})
    filled = [place for place, each in enumerate(bins) if each["queries"]]
    shown = bins[filled[0] : filled[-1] + 1] if filled else []
    chart = charts.histogram(shown, f"difference to {data.baseline}")
    words = "How many queries changed by how much; those that did not change stand apart."
    table = text_table([name("difference", "label"), number("queries", form=counted)], shown)
    return Figure("histogram", "How large the differences are", words, chart, table)


def _trend(data: NightData) -> Figure:
    rows = [
        (line.run, point.date, point.value, ", ".join(point.breaks), ", ".join(flag.code for flag in point.flags))
        for line in data.trend
        for point in line.points
    ]
    columns = [name("run", 0), name("date", 1), number("ndcg", 2), name("break", 3), name("stands out", 4)]
    words = "The score night by night. The line is not joined where the convention or the judgments changed."
    table = text_table(columns, rows[-10 * _MOST_ROWS :])
    return Figure("trend", "Trend", words, charts.trend_chart(data.trend), table)


def _some(rows: Sequence[_Row]) -> list[_Row]:
    """At most _MOST_ROWS of the rows, evenly chosen, the first and the last among them."""
    if len(rows) <= _MOST_ROWS:
        return list(rows)
    return [rows[round(number * (len(rows) - 1) / (_MOST_ROWS - 1))] for number in range(_MOST_ROWS)]
