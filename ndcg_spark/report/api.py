"""The commands for published nights as functions, for Python and notebooks; `explain` also takes tables."""

import datetime
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ndcg_spark import background
from ndcg_spark.comparison.trend import lines
from ndcg_spark.config import NightConfig, load, validate
from ndcg_spark.convention.convention import Convention
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.explanation.facts import ExplainRequest
from ndcg_spark.job.explain import explain_night
from ndcg_spark.job.gate import gate_published, newest_date
from ndcg_spark.library import explained
from ndcg_spark.report.explanations import explanation_view
from ndcg_spark.report.night import Request
from ndcg_spark.report.nights import trend_view
from ndcg_spark.report.page import Page, write_report
from ndcg_spark.report.verdicts import verdict_view
from ndcg_spark.report.words import Labels, read_labels
from ndcg_spark.scores import Scores, SparkScores
from ndcg_spark.tables.writers import View

if TYPE_CHECKING:
    import pandas as pd

_Date = datetime.date | str | None
_Path = str | os.PathLike[str]


def trend(
    output: _Path,
    *,
    dataset: str | None = None,
    run: str | None = None,
    measures: str | None = None,
    last: int = 60,
) -> "pd.DataFrame":
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
    *source: Any,
    query: str,
    run: str | None = None,
    baseline: str | None = None,
    cutoff: int | str | None = None,
    dataset: str | None = None,
    date: _Date = None,
    baseline_date: _Date = None,
    convention: Convention | str | None = None,
    relevance: float | None = None,
) -> View:
    """The score of one query, document by document, as the command `explain` shows it.

    Parameters
    ----------
    *source : Scores, a path, or two tables
        What `evaluate` returned; the folder of a night that keeps its documents; or judgments and results as
        `evaluate` takes them, all of which are checked.
    query, run, baseline, dataset : str
        The query, the run to explain (by default every one), and the run to show the changes since.
    cutoff : int or str, optional
        A rank, or `all`; by default that of the headline, or 10.
    date, baseline_date : date or str, optional
        Which night of the folder to explain, by default the newest; and the night to show the changes since.
    convention, relevance : optional
        For tables only, as `evaluate` takes them. A night has its own.

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
    request = ExplainRequest(query, run, baseline, dataset, rank, _text(baseline_date))
    if len(source) == 1 and isinstance(source[0], Scores) and source[0].inputs is not None:
        return explanation_view(background.call("explain", source[0].inputs, request))
    if len(source) == 1 and isinstance(source[0], SparkScores):
        raise ConfigurationError("explain: scores of a Spark session keep no documents; give judgments and results")
    if len(source) == 1 and isinstance(source[0], (str, os.PathLike)):
        if convention is not None or relevance is not None:
            raise ConfigurationError("convention: a night has its own; leave out convention and relevance")
        return explanation_view(explain_night(str(source[0]), _text(date), request))
    if len(source) != 2 or date is not None or baseline_date is not None:
        raise ConfigurationError("explain: give the folder of a night, and perhaps its date; or judgments and results")
    chosen: dict[str, Any] = {"convention": convention or Convention()}
    if background.is_for(*source):
        return explanation_view(explained(*source, chosen, request, relevance=relevance))
    # Only DataFrames of Spark need an engine here.
    from ndcg_spark.inputs.read import Source
    from ndcg_spark.job.explain import explain_query
    from ndcg_spark.spark_library import graded_judgments, results_with_runs, session_for

    config = validate(chosen, "arguments", NightConfig)
    session = session_for(*source)
    tables = graded_judgments(source[0], session, config.convention, relevance), results_with_runs(source[1], session)
    judgments, results = map(Source, tables, ("judgments", "results"), ["a table"] * 2, [[], []])
    return explanation_view(explain_query(config, request, (judgments, results)))


def _text(date: _Date) -> str | None:
    return None if date is None else str(date)
