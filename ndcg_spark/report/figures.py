"""The plots of a report, each with its title, what it shows and leaves out in words, and its numbers."""

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

from ndcg_spark.report import charts
from ndcg_spark.report.baseline import NightComparison, Row
from ndcg_spark.report.charts import Chart
from ndcg_spark.report.night_data import TIE, NightData
from ndcg_spark.report.trends import trend_tables
from ndcg_spark.tables.comparisons import interval, p_value
from ndcg_spark.tables.table import TextTable, counted, name, number, rounded, signed, text_table

#: A plot shows at most this many runs; the table of runs has all of them.
_MOST_RUNS = 40


@dataclasses.dataclass(frozen=True)
class Figure:
    """A plot, and the tables behind it; none if a table of the page has its numbers."""

    #: Its place on a page.
    name: str
    title: str
    words: str
    chart: Chart
    tables: Sequence[TextTable] = ()


def overview(data: NightData) -> Figure:
    """The differences of all runs to their baselines; the means of the runs if there are none."""
    return _forest(data, data.comparison) if data.comparison and data.compared else _means(data)


def details(data: NightData) -> list[Figure]:
    """The other plots that there are data for."""
    shown = []
    # Where no query changed, there is nothing to draw.
    if data.baseline is not None and any(abs(each.difference or 0.0) > TIE for each in data.queries):
        shown += [_differences(data), _pairs(data), _histogram(data)]
    if any(len(line.points) > 1 for line in data.trend):
        shown.append(_trend(data))
    return shown


def _forest(data: NightData, found: NightComparison) -> Figure:
    rows: list[dict[str, Any]] = [
        {
            "run": run,
            "value": row["difference"],
            "low": row["interval_low"],
            "high": row["interval_high"],
            "side": _side(row, found),
            "words": f"{run}: {signed(row['difference'])} ({interval(row)}), p {p_value(row['p_adjusted'])}",
        }
        for run, row in data.compared.items()
        if row["difference"] is not None
    ]
    if found.run and not found.date:
        of_baseline = {"value": 0.0, "low": None, "high": None, "side": "the baseline", "words": "the baseline"}
        rows.append({"run": found.run, **of_baseline})
    rows.sort(key=lambda row: (row["value"], row["run"]))
    # The ends are what a reader looks for, and the run and its baseline what the page is about.
    half = _MOST_RUNS // 2
    shown = [
        row
        for place, row in enumerate(rows)
        if place < half or place >= len(rows) - half or row["run"] in (data.run, found.run)
    ]
    allowed = found.allowed_drop(data.run, data.place)
    words = [
        f"Difference of {data.measure} to {found.run or 'the same run'}{f' of {found.date}' if found.date else ''}, "
        f"and its {100 * (1 - found.alpha):g} % interval, each by itself; the largest loss on top.",
        f"{len(shown)} of {len(rows):,} runs: those at the ends; the table has all." if len(shown) < len(rows) else "",
        "The baseline is marked." if found.run and not found.date else "",
        f"Shaded: the drop of {allowed:g} that the gate allows." if allowed else "",
    ]
    chart = charts.intervals_chart(shown, f"difference of {data.measure}", (-(allowed or 0.0), 0.0))
    return Figure("runs", "Differences of the runs", " ".join(filter(None, words)), chart)


def _side(row: Row, found: NightComparison) -> str:
    if "unchanged" in row["flags"]:
        return "unchanged"
    return charts.side_of(row["difference"]) if found.is_sure(row) else "not told apart"


def _means(data: NightData) -> Figure:
    known = [row for row in data.means if row.get(data.place[0]) is not None]
    rows = [
        {
            **{name: row[name] for name in ("run", "low", "high")},
            "value": row[data.place[0]],
            "side": "mean",
            "words": f"{row['run']}: {rounded(row[data.place[0]])}",
        }
        for row in known
    ]
    words = f"Mean {data.measure} of each run and its 95 % interval of t over the queries, the best on top."
    if len(rows) > _MOST_RUNS:
        words += f" The best {_MOST_RUNS} of {len(rows):,} runs; the table has all."
    return Figure("runs", "Runs with their intervals", words, charts.intervals_chart(rows[:_MOST_RUNS], data.measure))


def _differences(data: NightData) -> Figure:
    known = {each.query_id: each.difference for each in data.queries if each.difference is not None}
    chart = charts.differences_chart(known, f"difference from {data.baseline}")
    words = f"What each of {len(known):,} queries won (above 0) or lost (below 0) against {data.baseline}, in order."
    if len(known) > charts.MOST_BARS:
        words += " This many are drawn as a curve."
    return Figure("differences", "Differences, query by query", words, chart)


def _pairs(data: NightData) -> Figure:
    known = [
        (each.query_id, each.baseline, each.score)
        for each in data.queries
        if each.baseline is not None and each.score is not None
    ]
    baseline = str(data.baseline)
    words = f"Each query by its score with {baseline} and with {data.run}: above the dashed line it became better."
    return Figure("pairs", "Baseline against run", words, charts.pairs_chart(known, data.run, baseline))


def _histogram(data: NightData) -> Figure:
    differences = [each.difference for each in data.queries if each.difference is not None]
    changed = [each for each in differences if abs(each) > TIE]
    bins: list[dict[str, Any]] = []
    # Only sums of gains can differ by more than 1.
    width = math.ceil(max(1.0, *map(abs, differences))) / 10
    for edge in range(-10, 10):
        low, high = edge * width, (edge + 1) * width
        # The queries that did not change stand apart, because they are often the majority.
        if edge == 0:
            bins.append({"label": "0", "queries": len(differences) - len(changed)})
        inside = sum(low <= each < high if low < 0 else low < each <= high for each in changed)
        bins.append({"label": f"{low:+.1f} to {high:+.1f}", "queries": inside})
    filled = [place for place, each in enumerate(bins) if each["queries"]]
    shown = bins[filled[0] : filled[-1] + 1] if filled else []
    chart = charts.histogram(shown, f"difference from {data.baseline}")
    words = "How many queries changed by how much; those that did not change stand apart."
    table = text_table([name("difference", "label"), number("queries", form=counted)], shown)
    return Figure("histogram", "How large the differences are", words, chart, [table])


def _trend(data: NightData) -> Figure:
    words = "The score night by night. The line is not joined where the convention or the judgments changed."
    if len(data.trend) < len(data.runs):
        words += f" {len(data.trend)} of {len(data.runs):,} runs."
    return Figure("trend", "Trend", words, charts.trend_chart(data.trend), trend_tables(data.trend))
