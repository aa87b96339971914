"""The plots of a report, each with its title, what it shows in words, and the numbers that it is drawn from."""

import dataclasses
from collections.abc import Sequence
from typing import Any, TypeVar

from ndcg_spark.convention.measures import written
from ndcg_spark.report import charts
from ndcg_spark.report.charts import Chart
from ndcg_spark.report.night_data import TIE, NightData
from ndcg_spark.sheets.sheet import Sheet, rounded, sheet

_Row = TypeVar("_Row")
#: A figure of all runs shows at most so many; its table has all of them.
_MOST_RUNS = 40
#: Of longer tables behind a plot, so many rows are evenly chosen.
_MOST_ROWS = 50


@dataclasses.dataclass(frozen=True)
class Figure:
    """A plot, and the table behind it."""

    #: What a file of it is called, and its place on a page.
    name: str
    title: str
    words: str
    chart: Chart
    sheet: Sheet


def figures(data: NightData) -> list[Figure]:
    """The plots that the data have something to show in."""
    found = [_runs(data)]
    # Of queries that are all as they were, there is nothing to draw.
    if data.baseline is not None and any(abs(each.difference or 0.0) > TIE for each in data.queries):
        found += [_differences(data), _pairs(data), _histogram(data)]
    if any(len(line.points) > 1 for line in data.trend):
        found.append(_trend(data))
    return found


def _runs(data: NightData) -> Figure:
    named = [(run, mean) for run, mean in data.means.items() if mean.mean is not None]
    rows = [{"run": run, "mean": mean.mean, "low": mean.low, "high": mean.high} for run, mean in named[:_MOST_RUNS]]
    cells = ([run, rounded(mean.mean), rounded(mean.low), rounded(mean.high)] for run, mean in named)
    table = sheet(["run", "mean", "low", "high"], cells, [1, 2, 3])
    title, measure = "Runs with their intervals", written("ndcg", data.cutoff)
    order = written(*data.asked.headline([data.cutoff]))
    words = f"Mean {measure} of each run and its 95 % interval of t over the queries; the best by {order} on top."
    return Figure("runs", title, words, charts.runs_chart(rows, measure), table)


def _differences(data: NightData) -> Figure:
    known = [(each.query_id, each.difference) for each in data.queries if each.difference is not None]
    cells = ([query, f"{difference:+.4f}"] for query, difference in _some(known))
    chart = charts.differences_chart([difference for _, difference in known], f"difference to {data.baseline}")
    words = f"What each of {len(known):,} queries won (above 0) or lost (below 0) against {data.baseline}, in order."
    return Figure(
        "differences", "Differences, query by query", words, chart, sheet(["query", "difference"], cells, [1])
    )


def _pairs(data: NightData) -> Figure:
    pairs = [(each.query_id, each.baseline, each.ndcg) for each in data.queries]
    known = [(query, one, other) for query, one, other in pairs if one is not None and other is not None]
    baseline = str(data.baseline)
    cells = ([query, rounded(one), rounded(other)] for query, one, other in _some(known))
    chart = charts.pairs_chart([(one, other) for _, one, other in known], data.run, baseline)
    words = f"Each query by its score with {baseline} and with {data.run}: above the dashed line it became better."
    return Figure("pairs", "Baseline against run", words, chart, sheet(["query", baseline, data.run], cells, [1, 2]))


def _histogram(data: NightData) -> Figure:
    differences = [each.difference for each in data.queries if each.difference is not None]
    bins = []
    for edge in range(-10, 10):
        low, high = edge / 10, (edge + 1) / 10
        # The queries that did not change stand apart, as they are often most of all.
        if edge == 0:
            unchanged = sum(abs(each) <= TIE for each in differences)
            bins.append({"label": "0", "queries": unchanged})
        inside = (low <= each < high if low < 0 else low < each <= high for each in differences if abs(each) > TIE)
        bins.append({"label": f"{low:+.1f} to {high:+.1f}", "queries": sum(inside)})
    shown = [each for number, each in enumerate(bins) if _is_within(bins, number)]
    cells = ([str(each["label"]), f"{each['queries']:,}"] for each in shown)
    chart = charts.histogram(shown, f"difference to {data.baseline}")
    words = "How many queries changed by how much; those that did not change stand apart."
    table = sheet(["difference", "queries"], cells, [1])
    return Figure("histogram", "How large the differences are", words, chart, table)


def _trend(data: NightData) -> Figure:
    cells = [
        [line.run, point.date, rounded(point.value), ", ".join(point.breaks), ", ".join(f.code for f in point.flags)]
        for line in data.trend
        for point in line.points
    ]
    table = sheet(["run", "date", "ndcg", "break", "stands out"], cells[-10 * _MOST_ROWS :], [2])
    words = "The score night by night. The line is not joined where the convention or the judgments changed."
    return Figure("trend", "Trend", words, charts.trend_chart(data.trend), table)


def _some(rows: Sequence[_Row]) -> list[_Row]:
    """At most _MOST_ROWS of the rows, evenly chosen, the first and the last among them."""
    if len(rows) <= _MOST_ROWS:
        return list(rows)
    return [rows[round(number * (len(rows) - 1) / (_MOST_ROWS - 1))] for number in range(_MOST_ROWS)]


def _is_within(bins: Sequence[dict[str, Any]], number: int) -> bool:
    """Whether a bin lies between the first and the last that has queries."""
    filled = [place for place, each in enumerate(bins) if each["queries"]]
    return bool(filled) and filled[0] <= number <= filled[-1]
