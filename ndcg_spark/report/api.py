"""What the commands show as functions, for Python and notebooks: of published nights, and of scores in memory."""

import dataclasses
import datetime
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from ndcg_spark.comparison.api import compare
from ndcg_spark.comparison.trend import lines
from ndcg_spark.config import NightConfig, load
from ndcg_spark.convention.convention import Convention, definition
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.explanation.explain import ExplainRequest
from ndcg_spark.job.explain import explain_night
from ndcg_spark.job.gate import gate_published, newest_date
from ndcg_spark.library import call, make_config
from ndcg_spark.nights.read import iso_date
from ndcg_spark.report.baselines import Request
from ndcg_spark.report.charts import (
    differences_drawing,
    draw,
    means_drawing,
    queries_drawing,
    tone_of,
)
from ndcg_spark.report.comparisons import notes_on_answers, notes_on_tests, significance_marks
from ndcg_spark.report.console import write_file
from ndcg_spark.report.labels import Labels, read_labels
from ndcg_spark.report.nights import trend_view, verdict_view
from ndcg_spark.report.page import Page, write_report
from ndcg_spark.report.scores import explanation_view, paper_table
from ndcg_spark.scores import Scores, SparkScores
from ndcg_spark.scratch import Scratch
from ndcg_spark.tables.format import difference
from ndcg_spark.tables.writers import View
from ndcg_spark.tables.writers import latex as latex_lines
from ndcg_spark.text import unknown_name

_Date = datetime.date | str | None
_Path = str | os.PathLike[str]


def trend(
    output: _Path,
    *,
    dataset: str | None = None,
    run: str | None = None,
    measures: str | None = None,
    last: int = 60,
) -> pd.DataFrame:
    """The scores of an output night by night, with unusual nights flagged, as the command `trend` shows them.

    Arguments are the options of the command: `measures` is like ``ndcg@10,judged_rate`` or ``P@5 AP``, by default the
    headline of the newest night; `last` nights are shown, and statistics use all. A row of pandas per dataset, run,
    measure, cutoff and night, in the columns of ``--format csv``. Raises ConfigurationError if there is no such
    dataset, run, measure or night, and StorageError if the output cannot be read.
    """
    return trend_view(*lines(str(output), dataset, run, measures, last)).to_pandas()


def report_night(
    output: _Path,
    file: _Path | None = None,
    *,
    date: _Date = None,
    dataset: str | None = None,
    run: str | None = None,
    measure: str | None = None,
    baseline: str | None = None,
    baseline_date: _Date = None,
    labels: _Path | None = None,
) -> Page:
    """The page of a night, as the command `report` writes it: a notebook shows it, and `print` its first sentences.

    It is written to the HTML `file`, if that is given. Other arguments are the options of the command: by default the
    newest night, compared as its gate did, else with the newest comparable one. Raises as the command does.
    """
    if not isinstance(labels, str | os.PathLike | None):
        raise ConfigurationError(f"labels: give the path of a CSV file, not a {type(labels).__name__}")
    names = read_labels(Path(labels)) if labels else Labels()
    request = Request(dataset, run, measure, baseline, _text(baseline_date), labels=names)
    return write_report(str(output), Path(file) if file else None, _text(date), request)


def gate_night(
    output: _Path,
    config: _Path | Mapping[str, Any],
    *,
    date: _Date = None,
    dataset: str | None = None,
    accept_baseline: str | None = None,
) -> View:
    """The verdicts of a gate on a published night, as the command `gate` shows them. The scores stay as they are.

    `config` is a TOML file with a [gate], or what such a file says, ``{"gate": {"baseline": [...], "check": [...]}}``.
    By default the night is the newest one. `accept_baseline` is the reason for accepting it as a baseline for later
    nights; its record keeps the reason. `json()` of what is returned has the verdicts, each with `verdict` (pass, fail,
    none), `reason`, `sentence` and `exit_code`; `to_pandas` and `to_arrow` have a row per result. Raises as the command
    does, but a night that fails its gate gets a verdict and raises no error.
    """
    source = config if isinstance(config, Mapping) else Path(config)
    asked = {"output": str(output), "date": _text(date) or newest_date(str(output), dataset)}
    settings = load(source, asked, NightConfig)
    return verdict_view(gate_published(settings, str(output), dataset, accept_baseline))


def explain(
    source: Any,
    results: Any = None,
    *,
    query: str,
    run: str | None = None,
    baseline: str | None = None,
    cutoff: int | str | None = None,
    dataset: str | None = None,
    date: _Date = None,
    baseline_date: _Date = None,
    convention: Convention | str | None = None,
    relevance: float | None = None,
    exclude: Any = None,
) -> View:
    """The score of one query, document by document, as the command `explain` shows it.

    `source` is what `evaluate` returned, the folder of a night that keeps its documents, or judgments beside results,
    as `evaluate` takes them. Pickled scores and those of Spark DataFrames keep no documents: give the two tables, which
    are fetched from Spark. By default every run is explained, in the newest night, at the headline's cutoff if NDCG has
    it, else at the deepest rank; `baseline` is the run, and `baseline_date` the night, to show the changes since.
    `convention`, `relevance` and `exclude` are for two tables only.

    What is returned shows tables of ranks, losses and changes; `to_pandas` and `to_arrow` have a row per run and rank,
    `json()` all. Raises as the command does: ConfigurationError if there is no such query or run, InputError if a table
    is refused.

    Examples
    --------
    >>> judgments = {"q1": {"d1": 2, "d2": 0, "d3": 1}}
    >>> results = {"q1": {"d3": 0.9, "d1": 0.8, "d2": 0.1}}
    >>> explanation = explain(judgments, results, query="q1", convention="trec_eval")
    >>> [round(adds, 4) for adds in explanation.to_pandas()["contribution"]]  # 1, and 2 / log2(3)
    [1.0, 1.2619, 0.0]
    """
    rank = None if cutoff is None else str(cutoff)
    request = ExplainRequest(str(query), run, baseline, dataset, rank, _text(baseline_date))
    is_scored, is_night = isinstance(source, Scores), isinstance(source, str | os.PathLike) and results is None
    is_of_tables = bool(convention or relevance) or exclude is not None
    if ((date or baseline_date) and not is_night) or (is_of_tables and (is_night or is_scored)):
        raise ConfigurationError("explain: dates are for nights, and convention, relevance and exclude for two tables")
    if is_night:
        return explanation_view(explain_night(str(source), _text(date), request))
    if isinstance(source, SparkScores) or (results is None and getattr(source, "inputs", None) is None):
        what = "no documents are known, as pickled scores and those of Spark keep none"
        raise ConfigurationError(f"explain: {what}; give a night's folder, or judgments and results")
    settings, scratch = {"convention": convention or "standard"}, Scratch()
    given = {"judgments": source, "results": results, "exclude": exclude}
    config = source.inputs if is_scored else make_config(given, settings, scratch, relevance)
    return explanation_view(call("job.explain.explain_on", config, request))


@dataclasses.dataclass(frozen=True, repr=False)
class Plot:
    """A chart, which a notebook shows; `svg` is its text."""

    svg: str

    def save(self, file: str | Path) -> None:
        """Write the chart to an SVG file."""
        if Path(file).suffix != ".svg":
            raise ConfigurationError(f"file: {file} is no SVG file; name it .svg, and convert it with a browser")
        write_file("file", Path(file), self.svg)

    def _repr_svg_(self) -> str:
        return self.svg


def plot_queries(scores: Scores | SparkScores, run: str, baseline: str, measure: str | None = None) -> Plot:
    """The difference of every query, from the largest loss to the largest gain, and both scores of each.

    `scores` is what `evaluate` returned; `measure` is such as ``ndcg@10`` or ``AP``, by default the first. Of very many
    queries some at equal distances are drawn. Raises ConfigurationError if there is no such run or measure, or no query
    that both runs have a score for.
    """
    scores = _in_pandas(scores)
    table = scores.per_query(measure)
    for option, name in (("run", run), ("baseline", baseline)):
        if name not in table:
            raise unknown_name(option, "run", name, list(map(str, table.columns)))
    both = pd.DataFrame({"run": table[run], "baseline": table[baseline]}).dropna()
    if both.empty:
        raise ConfigurationError(f"run: {run} and {baseline} have no query in common that has a score; name others")
    both["change"] = both["run"] - both["baseline"]
    both["tone"] = both["change"].map(tone_of)
    both["query"] = [" ".join(query) if isinstance(query, tuple) else query for query in both.index]
    lost, unchanged, won = (int((both["tone"] == tone).sum()) for tone in ("bad", "mid", "ok"))
    mean = difference(both["change"].mean())
    counts = f"{lost:,} lost, {unchanged:,} unchanged, {won:,} won; mean {mean}"
    title = f"{run} minus {baseline}, {measure or scores.table().columns[0]}, query by query"
    rows = _rows(both.sort_values("change"))
    drawing = queries_drawing(title, f"{title}: {counts}", counts, rows, run, baseline)
    return Plot(draw(drawing))


def plot_runs(scores: Scores | SparkScores, baseline: str | None = None, measure: str | None = None) -> Plot:
    """The mean of every run, the best first; with a baseline the difference from it, with its interval.

    `scores` is what `evaluate` returned; `measure` is such as ``ndcg@10`` or ``AP``, by default the first. Raises
    ConfigurationError if there is no such run or measure.
    """
    scores = _in_pandas(scores)
    measure = measure or str(scores.table().columns[0])
    means = scores.per_query(measure).mean().sort_values(ascending=False)
    if baseline is None:
        title = f"mean {measure}"
        label = f"{title} of {len(means)} runs"
        by_run = {str(run): mean for run, mean in means.items()}
        return Plot(draw(means_drawing(title, label, by_run)))
    compared = _rows(compare(scores, baseline, measures=measure, full=True))
    compared = [row for row in compared if row["attribute"] is None]
    missing = [row["run"] for row in compared if "run_missing" in row["flags"]]
    compared = [row for row in compared if row["difference"] is not None]
    compared.sort(key=lambda row: (-row["difference"], row["run"]))
    title = f"{measure} minus that of {baseline}, with 95 % intervals"
    if missing:
        title += f"; {', '.join(missing)} returned nothing"
    label = ", ".join(f"{row['run']} {difference(row['difference'])}" for row in compared[:20])
    return Plot(draw(differences_drawing(title, f"{title}: {label}", compared)))


def latex(scores: Scores | SparkScores, baseline: str | None = None, correction: str = "holm") -> str:
    """The scores as the table of a paper: a row per run, the best in bold; ``print(latex(scores, "bm25"))``.

    With a baseline, scores that differ significantly have stars, as with ``--format latex``; `correction` says how p
    values are adjusted, as in `compare`. Raises ConfigurationError if there is no such run or correction.
    """
    if isinstance(baseline, list | tuple):
        raise ConfigurationError("baseline: a table has one; give the name of a run")
    scores = _in_pandas(scores)
    rows = [row for row in _rows(scores.dataset_scores) if row["attribute"] is None]
    notes = [definition(row["convention"], row["formula"], scores.measures) for row in rows[:1]]
    marks = None
    if baseline is not None:
        compared = _rows(compare(scores, baseline, correction=correction, full=True))
        notes += notes_on_tests(compared, correction) + notes_on_answers(compared)
        marks = significance_marks(compared)
    return "\n".join(latex_lines(paper_table(rows, notes, scores.measures, marks)))


def _text(date: _Date) -> str | None:
    return None if date is None else iso_date(date)


def _in_pandas(scores: Scores | SparkScores) -> Scores:
    if not isinstance(scores, Scores | SparkScores):
        raise ConfigurationError(f"scores: give the Scores that evaluate() returned, not a {type(scores).__name__}")
    return scores.to_pandas()


def _rows(table: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows of a table, None where there is no value."""
    rows: list[dict[Any, Any]] = table.astype(object).mask(table.isna(), None).to_dict("records")
    return rows
