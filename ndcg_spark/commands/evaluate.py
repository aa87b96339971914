"""The command `evaluate`."""

import contextlib
import functools
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ndcg_spark.commands.gate import Accepted, JUnitFile
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.options import Json, OutputFormat
from ndcg_spark.report.saying import say, silent
from ndcg_spark.report.streams import printing

if TYPE_CHECKING:
    from ndcg_spark.config import EvaluationConfig
    from ndcg_spark.job.inline_comparison import InlineComparison
    from ndcg_spark.job.outcome import Outcome
    from ndcg_spark.sheets.sorting import Order


def evaluate(
    config: "EvaluationConfig",
    format_: OutputFormat = None,
    json_: Json = False,
    per_query: Annotated[
        bool,
        typer.Option("--per-query", help="Print every query's scores instead: table, json lines, csv or spreadsheet."),
    ] = False,
    sort: Annotated[
        str | None, typer.Option(metavar="COLUMN[@CUTOFF][:asc|:desc]", help="Order of what is printed.")
    ] = None,
    report: Annotated[
        Path | None, typer.Option("--report", metavar="FILE", help="Write a page of HTML about the scores, too.")
    ] = None,
    explain_plan: Annotated[
        bool, typer.Option("--explain-plan", help="Print how it would compute; compute nothing.")
    ] = False,
    accept_baseline: Accepted = None,
    junit: JUnitFile = None,
    baseline: Annotated[
        str | None, typer.Option(metavar="RUN", help="Compare the scores of every run with those of this one.")
    ] = None,
) -> None:
    """Score results against judgments, per query and per dataset.

    Paths may have {date} in them. With a [gate] in the configuration a night has a verdict before it is published.
    """
    from ndcg_spark.job.checking import explain
    from ndcg_spark.job.evaluating import run as run_job
    from ndcg_spark.job.handing_over import QueryScores, Taker
    from ndcg_spark.report import formats
    from ndcg_spark.report.junit import refuse_unwritable, write_junit
    from ndcg_spark.report.per_query import print_query_scores
    from ndcg_spark.report.terminal import Progress
    from ndcg_spark.sheets import sorting

    style = formats.chosen(format_, json_, formats.OF_QUERIES if per_query else formats.FORMATS)
    columns = sorting.OF_QUERIES if per_query else sorting.OF_DATASETS
    order = None if sort is None else sorting.order_of(sort, columns, config.cutoffs, config.asked.columns)
    if baseline and per_query:
        raise ConfigurationError("arguments: --per-query prints queries and --baseline compares runs; leave one out")
    if explain_plan:
        _refuse_beside_plan(format_, json_, per_query, sort, baseline, report, accept_baseline is not None, junit)
        say(explain(config).split("\n"))
        return

    def take(rows: Iterable[Mapping[str, Any]]) -> None:
        with printing():
            print_query_scores(rows, style, config.asked.columns)

    if junit is not None:
        if config.gate is None:
            raise ConfigurationError("arguments: --junit needs a gate; add [gate] to the configuration")
        refuse_unwritable(junit)
    look = _look(baseline, config)
    taker: Taker | None = QueryScores(take, order) if per_query else look
    with contextlib.ExitStack() as outputs:
        with Progress(silent(style)).running() as progress:
            evaluated = functools.partial(run_job, wanted=taker, accepted=accept_baseline, doing=progress.doing)
            if report is None:
                outcome = evaluated(config, progress.tell)
            else:
                from ndcg_spark.report.reports import reported

                writing = reported(config, report, progress.tell, evaluated, look)
                outcome, write_report = outputs.enter_context(writing)
        # The last is written first, and each whatever becomes of the others.
        if not per_query:
            outputs.callback(_print, outcome, look, style, order)
        if report is not None:
            outputs.callback(write_report)
        if junit is not None:
            outputs.callback(write_junit, junit, outcome.verdicts)
    raise typer.Exit(outcome.exit_code)


def _print(outcome: "Outcome", look: "InlineComparison | None", style: str, order: "Order | None") -> None:
    from ndcg_spark.report.formats import print_outcome

    with printing():
        if look and look.found:
            # Imported here, because an evaluation without a baseline need not wait for statistics.
            from ndcg_spark.report.comparisons import print_beside_scores

            print_beside_scores(outcome, look.found, style, order)
        else:
            print_outcome(outcome, style, order)


def _look(baseline: str | None, config: "EvaluationConfig") -> "InlineComparison | None":
    """Who compares the runs with the baseline; without one, nothing that compares is even imported."""
    if baseline is None:
        return None
    from ndcg_spark.job.inline_comparison import InlineComparison

    return InlineComparison(baseline, config.asked)


def _refuse_beside_plan(*given: object) -> None:
    if any(given):
        raise ConfigurationError(
            "arguments: --explain-plan prints text and computes nothing; leave --format, --json, --baseline, "
            "--accept-baseline, --junit, --report, --per-query and --sort out"
        )
