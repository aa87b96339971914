"""The commands for published nights and for one query, as functions for Python and notebooks."""

import datetime
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from ndcg_spark.api import tasks
from ndcg_spark.api.evaluate import compute, make_config
from ndcg_spark.api.scores import Scores, SparkScores
from ndcg_spark.comparison.human_grades import HumanGrades, sample_to_grade
from ndcg_spark.comparison.trend import lines
from ndcg_spark.config import NightConfig, load
from ndcg_spark.convention.convention import Convention
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.explanation.query import ExplainRequest
from ndcg_spark.job.decisions import Decision
from ndcg_spark.job.explain_query import explain_night, explain_on, night_documents_to_judge
from ndcg_spark.job.gate import date_to_judge, gate_published
from ndcg_spark.nights.copies import Rescored
from ndcg_spark.nights.reader import iso_date
from ndcg_spark.report.console import write_file
from ndcg_spark.report.labels import Labels, read_labels
from ndcg_spark.report.night_tables import trend_view, verdict_view
from ndcg_spark.report.outline import Request
from ndcg_spark.report.page import Page, write_report
from ndcg_spark.report.printed_scores import explanation_view
from ndcg_spark.schemas import TO_JUDGE
from ndcg_spark.scratch import Scratch
from ndcg_spark.tables.writers import View

_Date = datetime.date | str | None
_Path = str | os.PathLike[str]


def _folder(output: object) -> str:
    """The folder of published nights. ConfigurationError for scores, which are not published."""
    if isinstance(output, str | os.PathLike):
        return str(output)
    what = f"give the folder of published nights, not a {type(output).__name__}"
    raise ConfigurationError(f"output: {what}; the command evaluate publishes a night")


def trend(
    output: _Path,
    *,
    dataset: str | None = None,
    run: str | None = None,
    measures: str | None = None,
    last: int = 60,
) -> pd.DataFrame:
    """An output's scores, night by night, with unusual nights flagged, as the command `trend`
    shows them.

    The arguments are the command's options. `measures` has the form ``ndcg@10,judged_rate`` or
    ``P@5 AP``; the default is the measure that orders the newest night's runs. The last `last`
    nights are returned, but statistics use all nights.

    Returns a pandas row per dataset, run, measure, cutoff and night, with the columns of the
    command's CSV. `value` is the published score, and `chained` is the score on the scale of the
    newest judgments, if kept lists allow the conversion. Raises ConfigurationError if there is no
    such dataset, run, measure or night, and StorageError if the output cannot be read.
    """
    return trend_view(*lines(_folder(output), dataset, run, measures, last)).to_pandas()


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
    human: Any = None,
    assume_missing_at_random: bool = False,
) -> Page:
    """A night's page, as the command `report` writes it. A notebook shows the page, and
    `print` shows its first sentences.

    The page is written to the HTML `file` if one is given. The other arguments are the options of
    the command. By default the newest night is compared with the baselines of its gate or, without
    a gate, with the newest comparable night. Raises the same errors as the command.
    """
    if not isinstance(labels, str | os.PathLike | None):
        raise ConfigurationError(
            f"labels: give the path of a CSV file, not a {type(labels).__name__}"
        )
    names = read_labels(Path(labels)) if labels else Labels()
    grades = None if human is None else HumanGrades(human, assume_missing_at_random)
    request = Request(
        dataset,
        run,
        measure,
        baseline,
        _date_text(baseline_date),
        labels=names,
        human=grades,
    )
    return write_report(_folder(output), Path(file) if file else None, _date_text(date), request)


def gate_night(
    output: _Path,
    config: _Path | Mapping[str, Any],
    *,
    date: _Date = None,
    dataset: str | None = None,
    accept_baseline: str | None = None,
    runs: Sequence[str] = (),
    acknowledge: str | None = None,
    until: _Date = None,
    withdraw: bool = False,
) -> View:
    """The verdicts of a gate on a published night, as the command `gate` shows them. The scores do
    not change.

    `config` is a TOML file with a [gate], or the contents of such a file, ``{"gate": {"baseline":
    [...], "check": [...]}}``. The default night is the newest one.

    `accept_baseline` is the reason for accepting the night as a baseline for later nights, by
    default for all `runs`. `acknowledge` is the reason why its failure is a known loss. For 14
    days, or `until` a date, later nights that fail in the same way and do not lose more end as if
    they had passed. `withdraw` withdraws the acceptance or the acknowledgement. The log keeps
    all reasons.

    `json()` of the result contains the verdicts, each with `verdict` (pass, fail, none), `reason`,
    `sentence` and `exit_code`. `to_pandas` and `to_arrow` return a row for each result of a check.
    Raises the same errors as the command, except that a night that fails its gate gets a verdict
    instead of an error.
    """
    source = config if isinstance(config, Mapping) else Path(config)
    folder = _folder(output)
    arguments = {"output": folder, "date": _date_text(date) or date_to_judge(folder, dataset)}
    settings = load(source, arguments, NightConfig)
    decision = Decision(accept_baseline, tuple(runs), acknowledge, _date_text(until), withdraw)
    return verdict_view(gate_published(settings, folder, dataset, decision))


def rescore(
    output: _Path,
    judgments: Any = None,
    *,
    since: _Date = None,
    dataset: str | None = None,
    relevance: float | None = None,
    grades: Mapping[str, float] | None = None,
) -> Rescored:
    """Score the kept lists of nights under different judgments, as the command `rescore` does.

    `judgments`, `relevance` and `grades` are given as for `evaluate`. By default, the judgments of
    each dataset's newest night are used. `since` is the first date of the nights to score. The
    published scores do not change; ``read_scores(output, judgments="newest")`` reads the new ones.
    The result has the number of nights that were scored (`made`), the number that already had these
    scores (`kept`), and a sentence for each night that cannot be scored again (`refused`), such as
    one that kept no documents. Raises ConfigurationError if there is no night or no judgments are
    kept, InputError if the judgments are refused, and StorageError if the output cannot be read or
    written.
    """
    scratch = Scratch()
    tables = {} if judgments is None else {"judgments": judgments}
    config = make_config(tables, {"convention": "standard"}, scratch, relevance, grades=grades)
    return compute(tasks.rescore, config, _folder(output), _date_text(since), dataset)


def judge_next(
    output: _Path,
    *,
    date: _Date = None,
    dataset: str | None = None,
    run: str | None = None,
    baseline_date: _Date = None,
    baseline: str | None = None,
    documents: int = 100,
    sample: int | None = None,
    seed: int = 1,
    cutoff: int | None = None,
    show_grades: bool = False,
    human: Sequence[Any] = (),
    file: _Path | None = None,
) -> pd.DataFrame:
    """The documents of published nights that people should judge next, as the command shows them.

    By default these are the unjudged documents, at most `documents` of them, that matter most to
    the runs, or to the difference from another night or run.

    With `sample`, about that many of the documents that moved are drawn at random with `seed`,
    whether or not they are judged. Fill in the column `grade` of the result or of the `file`, and
    pass it to ``compare(output, human=)``. `human` are earlier samples with grades. A sample with
    the same seed is continued. Samples with other seeds show where the judge makes more errors, and
    more documents are drawn there. `cutoff` defaults to the cutoff of the night's NDCG. Raises the
    same errors as the command.
    """
    chosen: dict[str, Any] = {
        "date": _date_text(date),
        "dataset": dataset,
        "run": run,
        "baseline_date": _date_text(baseline_date),
        "baseline": baseline,
    }
    if sample is None:
        if show_grades or human or file is not None or cutoff is not None:
            what = "show_grades, human, file and cutoff are for a sample; give its size"
            raise ConfigurationError(f"judge_next: {what}")
        rows = night_documents_to_judge(_folder(output), documents, **chosen)
        return pd.DataFrame(rows, columns=TO_JUDGE.names)
    drawn = sample_to_grade(_folder(output), sample, seed, human=human, cutoff=cutoff, **chosen)
    if file is not None:
        write_file("file", Path(file), drawn.text(show_grades))
    return drawn.frame(show_grades)


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
    grades: Mapping[str, float] | None = None,
    exclude: Any = None,
) -> View:
    """Explain the score of one query, document by document, as the command `explain` does.

    `source` is the result of `evaluate`, the folder of a night that keeps its documents, or
    judgments, with results as the next argument, both as `evaluate` takes them. Pickled scores and
    scores of Spark DataFrames keep no documents; for these, give the two tables, which are fetched
    from Spark.

    By default every run is explained, and for a folder the newest night. The cutoff is that of the
    measure that orders the runs if this is NDCG, otherwise the deepest rank. `baseline` is the run,
    and `baseline_date` the night, that the list is compared with. `convention`, `relevance`,
    `grades` and `exclude` are only for two tables.

    The result shows tables of ranks, losses and changes. `to_pandas` and `to_arrow` return a row
    per run and rank, and `json()` returns everything. Raises the same errors as the command:
    ConfigurationError if there is no such query or run, and InputError if a table is refused.

    Examples
    --------
    >>> judgments = {"q1": {"d1": 2, "d2": 0, "d3": 1}}
    >>> results = {"q1": {"d3": 0.9, "d1": 0.8, "d2": 0.1}}
    >>> explanation = explain(judgments, results, query="q1", convention="trec_eval")
    >>> [round(adds, 4) for adds in explanation.to_pandas()["contribution"]]  # 1, and 2 / log2(3)
    [1.0, 1.2619, 0.0]
    """
    rank = None if cutoff is None else str(cutoff)
    request = ExplainRequest(str(query), run, baseline, dataset, rank, _date_text(baseline_date))
    for_nights = {"date": date, "baseline_date": baseline_date}
    for_tables = {
        "convention": convention,
        "relevance": relevance,
        "grades": grades,
        "exclude": exclude,
        "results": results,
    }
    if isinstance(source, str | os.PathLike) and results is None:
        _refuse_others("a night", for_tables)
        return explanation_view(explain_night(str(source), _date_text(date), request))
    # The temporary folders are removed with it, when this function ends.
    scratch = Scratch()
    config = None
    if isinstance(source, Scores | SparkScores):
        _refuse_others("scores", {**for_nights, **for_tables})
        config = getattr(source, "inputs", None)
    else:
        _refuse_others("judgments and results", for_nights)
        if results is not None:
            tables = {"judgments": source, "results": results, "exclude": exclude}
            settings = {"convention": convention or "standard"}
            config = make_config(tables, settings, scratch, relevance, grades=grades)
    if config is None:
        what = "pickled scores and the scores of Spark DataFrames do not keep documents"
        advice = "give a night's folder, or judgments and results"
        raise ConfigurationError(f"explain: {what}; {advice}")
    return explanation_view(compute(explain_on, config, request))


def _refuse_others(explained: str, others: Mapping[str, object]) -> None:
    """Raise ConfigurationError for arguments that cannot be used with what is explained."""
    for name, value in others.items():
        if value is not None:
            what = f"{name} cannot be used with {explained}; leave it out"
            raise ConfigurationError(f"explain: {what}")


def _date_text(date: _Date) -> str | None:
    return None if date is None else iso_date(date)
