"""Charts in SVG: where their lines and bars are, in percent; plots of scores in memory, and the table of a paper."""

import dataclasses
import itertools
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from ndcg_spark.comparison.api import compare
from ndcg_spark.comparison.trend import TrendLine
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.report import words
from ndcg_spark.report.comparisons import notes_on_tests, significance_marks
from ndcg_spark.report.night import NightData
from ndcg_spark.report.scores import paper_table
from ndcg_spark.scores import Scores, SparkScores
from ndcg_spark.tables.writers import latex as latex_lines
from ndcg_spark.tables.writers import rendered
from ndcg_spark.text import unknown_name

#: At most so many runs and bars are drawn.
_RUNS, _BARS = 6, 240
#: Differences of at most this size are ties.
_TIE = 1e-9


def forest(data: NightData) -> dict[str, Any]:
    """The differences of runs with their intervals, the run in detail and then the surest ones first."""
    rows = [row for row in data.compared.values() if row["difference"] is not None]
    rows.sort(key=lambda row: (row["run"] != data.run, row["conclusion"] not in words.TONES, -abs(row["difference"])))
    shown = sorted(rows[:_RUNS], key=lambda row: (row["difference"], row["run"]))
    result = data.result(data.run) or {}
    return difference_chart(shown, -result["allowed"] if result.get("allowed") else None, len(rows) - len(shown))


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
    """The scores of nights as lines that are not joined where they cannot be compared, and the usual range."""
    points = [(at, point) for at, point in enumerate(line.points) if point.value is not None]
    values = [value for _, point in points for value in (point.value, point.low, point.high) if value is not None] or [
        0.0
    ]
    # The same numbers added in another order make no slope.
    margin = max(0.1 * (max(values) - min(values)), 0.001)
    low, high = min(values) - margin, max(values) + margin

    def point_at(at: int, value: float | None) -> str:
        return f"{2 + 96 * at / max(1, len(line.points) - 1):.1f},{100 * (high - (value or 0.0)) / (high - low):.1f}"

    parts, areas = [], []
    stretches = list(itertools.accumulate(bool(point.breaks) for point in line.points))
    for _, group in itertools.groupby(points, lambda pair: stretches[pair[0]]):
        stretch = list(group)
        parts.append([point_at(at, point.value) for at, point in stretch])
        ends = [(at, point) for at, point in stretch if point.low is not None]
        areas.append([point_at(at, p.low) for at, p in ends] + [point_at(at, p.high) for at, p in reversed(ends)])
    return {
        "lines": parts,
        "areas": [area for area in areas if area],
        "last": parts[-1][-1] if parts else "98,50",
        "low": low,
        "high": high,
    }


def bars(changes: Sequence[Any]) -> list[tuple[float, Any]]:
    """The differences of queries in order, of very many those at equal distances, each with its position."""
    step = max(1.0, len(changes) / _BARS)
    shown = [changes[int(at * step)] for at in range(int(len(changes) / step))]
    if shown:
        shown[-1] = changes[-1]
    return [(100 * at / len(shown), change) for at, change in enumerate(shown)]


@dataclasses.dataclass(frozen=True)
class Plot:
    """A chart, which a notebook shows; `svg` is its text."""

    svg: str

    def save(self, file: str | Path) -> None:
        """Write the chart to an SVG file."""
        if Path(file).suffix != ".svg":
            raise ConfigurationError(f"file: {file} is no SVG file; name it .svg, and convert it with a browser")
        Path(file).write_text(self.svg, encoding="utf-8")

    def _repr_svg_(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return f"a chart of {len(self.svg):,} characters of SVG; a notebook shows it, and save writes it"


def plot_queries(scores: Scores | SparkScores, run: str, baseline: str, measure: str | None = None) -> Plot:
    """The difference of every query, from the largest loss to the largest gain, and both scores of each.

    `scores` is what `evaluate` returned; `measure` is such as ``ndcg@10`` or ``AP``, by default the first. Of very many
    queries some at equal distances are drawn. Raises ConfigurationError if there is no such run or measure, or no query
    that both runs have a score for.
    """
    scores = scores.to_pandas() if isinstance(scores, SparkScores) else scores
    table = scores.per_query(measure)
    for option, name in (("run", run), ("baseline", baseline)):
        if name not in table:
            raise unknown_name(option, "run", name, list(map(str, table.columns)))
    both = pd.DataFrame({"run": table[run], "baseline": table[baseline]}).dropna()
    if both.empty:
        raise ConfigurationError(f"run: {run} and {baseline} have no query in common that has a score; name others")
    both["change"] = both["run"] - both["baseline"]
    both["tone"] = ["bad" if change < -_TIE else "ok" if change > _TIE else "mid" for change in both["change"]]
    both["query"] = [" ".join(query) if isinstance(query, tuple) else query for query in both.index]
    lost, unchanged, won = (int((both["tone"] == tone).sum()) for tone in ("bad", "mid", "ok"))
    counts = f"{lost:,} lost, {unchanged:,} unchanged, {won:,} won; mean {words.change(both['change'].mean())}"
    title = f"{run} less {baseline}, {measure or scores.table().columns[0]}, query by query"
    return _plot(
        title,
        f"{title}: {counts}",
        dots=True,
        bars=bars(both.sort_values("change").to_dict("records")),
        most=max(both["change"].abs().max(), _TIE),
        low=min([0.0, *both["run"], *both["baseline"]]),
        high=max([1.0, *both["run"], *both["baseline"]]),
        counts=counts,
        run=run,
        baseline=baseline,
    )


def plot_runs(scores: Scores | SparkScores, baseline: str | None = None, measure: str | None = None) -> Plot:
    """The mean of every run, the best first; with a baseline the difference from it, with its interval.

    `scores` is what `evaluate` returned; `measure` is such as ``ndcg@10`` or ``AP``, by default the first. Raises
    ConfigurationError if there is no such run or measure.
    """
    scores = scores.to_pandas() if isinstance(scores, SparkScores) else scores
    measure = measure or str(scores.table().columns[0])
    if baseline is None:
        means = scores.per_query(measure).mean().sort_values(ascending=False)
        low, width = min(0.0, means.min()), max(means.max() - min(0.0, means.min()), _TIE)
        rows = [
            {"row": {"run": run, "mean": mean, "conclusion": None}, "at": 100 * (mean - low) / width, "low": None}
            for run, mean in means.items()
        ]
        return _plot(f"mean {measure}", f"mean {measure} of {len(rows)} runs", shape={"rows": rows, "zero": None})
    compared = _rows(compare(scores, baseline, measures=measure, full=True))
    compared = [row for row in compared if row["attribute"] is None and row["difference"] is not None]
    compared.sort(key=lambda row: (-row["difference"], row["run"]))
    title = f"{measure} less that of {baseline}, with 95 % intervals"
    label = ", ".join(f"{row['run']} {words.change(row['difference'])}" for row in compared[:20])
    return _plot(title, f"{title}: {label}", shape=difference_chart(compared))


def latex(scores: Scores | SparkScores, baseline: str | None = None) -> str:
    """The scores as the table of a paper: a row per run, the best in bold; ``print(latex(scores, "bm25"))``.

    With a baseline, scores that differ significantly have stars, as with ``--format latex``. Raises ConfigurationError
    if there is no such run.
    """
    scores = scores.to_pandas() if isinstance(scores, SparkScores) else scores
    rows = [row for row in _rows(scores.dataset_scores) if row["attribute"] is None]
    notes, marks = [f"{row['convention']}: {row['formula']}" for row in rows[:1]], None
    if baseline is not None:
        measures = list(map(str, scores.table().columns))
        compared = _rows(compare(scores, baseline, measures=measures, full=True))
        notes, marks = [*notes, *notes_on_tests(compared, "holm")], significance_marks(compared)
    return "\n".join(latex_lines(paper_table(rows, notes, scores.measures, marks)))


def _rows(table: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows of a table, None where there is no value."""
    rows: list[dict[Any, Any]] = table.astype(object).mask(table.isna(), None).to_dict("records")
    return rows


def _plot(title: str, label: str, **chart: Any) -> Plot:
    return Plot(rendered("report/plots.svg.j2", words=words, title=title, label=label, **chart))
