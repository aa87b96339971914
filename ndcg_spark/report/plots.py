"""Scores in memory as charts, drawn as on the page of a night, and as the table of a paper."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from ndcg_spark.comparison.api import compare
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.report import shapes
from ndcg_spark.report.page import framed, shared
from ndcg_spark.scores import Scores, SparkScores
from ndcg_spark.tables.comparisons import in_words, notes_of_test
from ndcg_spark.tables.scores import marks_of, paper_table
from ndcg_spark.tables.writers import latex as latex_lines
from ndcg_spark.tables.writers import rendered
from ndcg_spark.text import unknown_name

#: Differences of at most this size are ties.
_TIE = 1e-9


@dataclasses.dataclass(frozen=True)
class Plot:
    """A chart, which a notebook shows; `html` is its page, which needs no network."""

    html: str

    def save(self, file: str | Path) -> None:
        """Write the chart to an HTML file."""
        Path(file).write_text(self.html, encoding="utf-8")

    def _repr_html_(self) -> str:
        return framed(self.html, "22em")

    def __repr__(self) -> str:
        return f"a chart of {len(self.html):,} characters of HTML; a notebook shows it, and save writes it"


def plot_queries(scores: Scores | SparkScores, run: str, baseline: str, measure: str | None = None) -> Plot:
    """How many queries a run lost and won, and the difference of each from the largest loss to the largest gain.

    Parameters
    ----------
    scores : Scores or SparkScores
        What `evaluate` returned.
    run, baseline : str
        The run, and the one that it is compared with.
    measure : str, optional
        Such as ``ndcg@10`` or ``AP``; by default the first.

    Raises
    ------
    ConfigurationError
        There is no such run or measure, or no query that both runs have a score for.
    """
    scores = scores.to_pandas() if isinstance(scores, SparkScores) else scores
    table = scores.per_query(measure)
    for option, name in (("run", run), ("baseline", baseline)):
        if name not in table:
            raise unknown_name(option, "run", name, list(map(str, table.columns)))
    changes = (table[run] - table[baseline]).dropna().sort_values().tolist()
    if not changes:
        raise ConfigurationError(f"run: {run} and {baseline} have no query in common that has a score; name others")
    row = {"queries": len(changes), "losses": sum(change < -_TIE for change in changes)}
    row["wins"] = sum(change > _TIE for change in changes)
    row["ties"] = row["queries"] - row["losses"] - row["wins"]
    title = f"{run} against {baseline}: {measure or scores.table().columns[0]} of every query"
    return _plot(title, row=row, changes=changes, bars=shapes.bars(changes))


def plot_runs(scores: Scores | SparkScores, baseline: str, measure: str | None = None) -> Plot:
    """The difference of every run from the baseline with its interval, the worst first.

    Parameters
    ----------
    scores : Scores or SparkScores
        What `evaluate` returned.
    baseline : str
        The run that the others are compared with.
    measure : str, optional
        Such as ``ndcg@10`` or ``AP``; by default the first.

    Raises
    ------
    ConfigurationError
        There is no such run or measure.
    """
    scores = scores.to_pandas() if isinstance(scores, SparkScores) else scores
    shown = measure or str(scores.table().columns[0])
    rows = _rows(compare(scores, baseline, measures=shown, full=True))
    compared = [row for row in rows if row["attribute"] is None and row["difference"] is not None]
    shape = shapes.differences(sorted(compared, key=lambda row: (row["difference"], row["run"])))
    return _plot(f"{shown} against {baseline}", shape=shape)


def latex(scores: Scores | SparkScores, baseline: str | None = None) -> str:
    """The scores as the table of a paper: a row per run, the best in bold; ``print(latex(scores, "bm25"))``.

    With a baseline, scores that differ significantly have stars, as with ``--format latex``.

    Raises
    ------
    ConfigurationError
        There is no such run.
    """
    scores = scores.to_pandas() if isinstance(scores, SparkScores) else scores
    rows = [row for row in _rows(scores.dataset_scores) if row["attribute"] is None]
    notes, marks = [f"{row['convention']}: {row['formula']}" for row in rows[:1]], {}
    if baseline is not None:
        measures = list(map(str, scores.table().columns))
        compared = _rows(compare(scores, baseline, measures=measures, full=True))
        notes, marks = [*notes, *notes_of_test(compared, "holm")], marks_of(compared)
    return "\n".join(latex_lines(paper_table(rows, None, notes, scores.measures, marks)))


def _rows(table: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows of a table, None where there is no value."""
    rows: list[dict[Any, Any]] = table.astype(object).mask(table.isna(), None).to_dict("records")
    return rows


def _plot(title: str, **chart: Any) -> Plot:
    values: Mapping[str, Any] = {**shared(), "title": title, "conclusion": in_words, **chart}
    return Plot(rendered("report/chart.html.j2", **values))
