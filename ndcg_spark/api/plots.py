"""An evaluation's scores as charts and as a LaTeX table for a paper."""

import dataclasses
from pathlib import Path
from typing import Any

import pandas as pd

from ndcg_spark.api.compare import compare_tables
from ndcg_spark.api.scores import Scores, SparkScores
from ndcg_spark.comparison.differences import ComparisonOptions
from ndcg_spark.convention.convention import definition
from ndcg_spark.convention.measures import catalog_definitions
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.report.charts import (
    differences_drawing,
    draw,
    means_drawing,
    queries_drawing,
    tone_of,
)
from ndcg_spark.report.comparisons import notes_on_answers, notes_on_tests, significance_marks
from ndcg_spark.report.console import write_file
from ndcg_spark.report.printed_scores import paper_table
from ndcg_spark.report.query_counts import notes_on_pairs
from ndcg_spark.tables.format import difference
from ndcg_spark.tables.writers import latex as latex_lines
from ndcg_spark.text import unknown_name


@dataclasses.dataclass(frozen=True, repr=False)
class Plot:
    """A chart that a notebook shows; `svg` is its text."""

    svg: str

    def save(self, file: str | Path) -> None:
        """Write the chart to an SVG file."""
        if Path(file).suffix != ".svg":
            raise ConfigurationError(
                f"file: {file} does not end in .svg; save the chart as .svg, then use a browser to "
                "convert it"
            )
        write_file("file", Path(file), self.svg)

    def _repr_svg_(self) -> str:
        return self.svg


def plot_queries(
    scores: Scores | SparkScores, run: str, baseline: str, measure: str | None = None
) -> Plot:
    """Plot the two scores of every query and their difference, from the largest loss to the largest
    gain.

    `scores` is the result of `evaluate`; `measure` is, for example, ``ndcg@10`` or ``AP``, by
    default the first. If there are very many queries, only a part is drawn, evenly spaced. Raises
    ConfigurationError if there is no such run or measure, or if no query has a score from both
    runs.
    """
    scores = _in_pandas(scores)
    table = scores.per_query(measure)
    for option, name in (("run", run), ("baseline", baseline)):
        if name not in table:
            raise unknown_name(option, "run", name, list(map(str, table.columns)))
    both = pd.DataFrame({"run": table[run], "baseline": table[baseline]}).dropna()
    if both.empty:
        raise ConfigurationError(
            f"run: {run} and {baseline} have no query in common that has a score; name others"
        )
    both["change"] = both["run"] - both["baseline"]
    both["tone"] = both["change"].map(tone_of)
    both["query"] = [" ".join(query) if isinstance(query, tuple) else query for query in both.index]
    lost = int((both["tone"] == "bad").sum())
    unchanged = int((both["tone"] == "mid").sum())
    won = int((both["tone"] == "ok").sum())
    mean = difference(both["change"].mean())
    counts = f"{lost:,} lost, {unchanged:,} unchanged, {won:,} won; mean {mean}"
    title = f"{run} minus {baseline}, {measure or scores.table().columns[0]}, query by query"
    rows = _rows(both.sort_values("change"))
    drawing = queries_drawing(title, f"{title}: {counts}", counts, rows, run, baseline)
    return Plot(draw(drawing))


def plot_runs(
    scores: Scores | SparkScores, baseline: str | None = None, measure: str | None = None
) -> Plot:
    """Plot every run's mean, the best first; with a baseline, the differences from it, with
    their confidence intervals.

    `scores` is the result of `evaluate`; `measure` is, for example, ``ndcg@10`` or ``AP``, by
    default the first. Raises ConfigurationError if there is no such run or measure.
    """
    scores = _in_pandas(scores)
    measure = measure or str(scores.table().columns[0])
    means = scores.per_query(measure).mean().sort_values(ascending=False)
    if baseline is None:
        title = f"mean {measure}"
        label = f"{title} of {len(means)} runs"
        by_run = {str(run): mean for run, mean in means.items()}
        return Plot(draw(means_drawing(title, label, by_run)))
    rows = compare_tables(scores, baseline, measure, ComparisonOptions()).rows
    all_queries = [row for row in rows if row["attribute"] is None]
    missing = [row["run"] for row in all_queries if "run_missing" in row["flags"]]
    compared = [row for row in all_queries if row["difference"] is not None]
    compared.sort(key=lambda row: (-row["difference"], row["run"]))
    title = f"{measure} minus that of {baseline}, with 95% intervals"
    if missing:
        title += f"; {', '.join(missing)} returned nothing"
    label = ", ".join(f"{row['run']} {difference(row['difference'])}" for row in compared[:20])
    return Plot(draw(differences_drawing(title, f"{title}: {label}", compared)))


def latex(
    scores: Scores | SparkScores, baseline: str | None = None, correction: str = "holm"
) -> str:
    """Return the scores as a LaTeX table with a row per run and the best score in bold. Use
    ``print(latex(scores, "bm25"))``.

    With a baseline, scores that differ significantly are starred, as in the command's LaTeX.
    `correction` says how p values are adjusted, as in `compare`. Raises ConfigurationError if there
    is no such run or correction.
    """
    if isinstance(baseline, list | tuple):
        raise ConfigurationError("baseline: a table has only one; give the name of a run")
    scores = _in_pandas(scores)
    rows = [row for row in _rows(scores.dataset_scores) if row["attribute"] is None]
    notes = []
    if rows:
        # All rows of an evaluation have the same convention.
        notes.append(definition(rows[0]["convention"], rows[0]["formula"], scores.measures))
    notes += [*catalog_definitions(scores.measures), *scores.macro.notes]
    marks = None
    if baseline is not None:
        options = ComparisonOptions(correction=correction)
        compared = compare_tables(scores, baseline, None, options).rows
        notes += notes_on_tests(compared, correction) + notes_on_answers(compared)
        notes += notes_on_pairs(compared, rows)
        marks = significance_marks(compared)
    table = paper_table(rows, notes, scores.measures, marks, scores.macro.rows)
    return "\n".join(latex_lines(table))


def _in_pandas(scores: Scores | SparkScores) -> Scores:
    """The scores in pandas. Raises ConfigurationError for anything but scores."""
    if not isinstance(scores, Scores | SparkScores):
        raise ConfigurationError(
            f"scores: give the Scores that evaluate() returned, not a {type(scores).__name__}"
        )
    return scores.to_pandas()


def _rows(table: pd.DataFrame) -> list[dict[str, Any]]:
    """A table's rows, with None for missing values."""
    rows: list[dict[Any, Any]] = table.astype(object).mask(table.isna(), None).to_dict("records")
    return rows
