"""The command `evaluate`."""

import contextlib
import functools
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ndcg_spark.cli.command import GATE_CODES, Command
from ndcg_spark.cli.configuration import load_arguments
from ndcg_spark.cli.options import FILE, accept_option, evaluation_options, junit_option, output_format
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.report.saying import say, silent
from ndcg_spark.report.streams import printing

if TYPE_CHECKING:
    from ndcg_spark.config import EvaluationConfig
    from ndcg_spark.job.outcome import Outcome
    from ndcg_spark.job.quick_look import QuickLook
    from ndcg_spark.sheets.sorting import Order

#: What query scores are printed in: they are too many for a page.
_OF_QUERIES = ("table", "json", "csv", "spreadsheet")


@click.command(cls=Command, epilog=GATE_CODES)
@evaluation_options()
@output_format("table", "json", "csv", "spreadsheet", "markdown", "latex")
@click.option("--per-query", is_flag=True, help="Print the scores of every query; JSON has an object per line.")
@click.option("--sort", metavar="COLUMN[@CUTOFF][:asc|:desc]", help="Order of the printed rows.")
@click.option("--report", type=FILE, metavar="FILE", help="Also write an HTML report of the scores to this file.")
@click.option("--explain-plan", is_flag=True, help="Print how the scores would be computed; compute nothing.")
@accept_option
@junit_option
@click.option("--baseline", metavar="RUN", help="Compare the scores of every other run with this run's.")
def evaluate(
    style: str,
    per_query: bool,
    sort: str | None,
    report: Path | None,
    explain_plan: bool,
    accept_baseline: str | None,
    junit: Path | None,
    baseline: str | None,
    **arguments: Any,
) -> None:
    """Score results against judgments, per query and per dataset.

    Paths may contain {date}. With a [gate] in the configuration, the gate checks the night before it is published.
    """
    from ndcg_spark.job.checking import explain
    from ndcg_spark.job.evaluating import run as run_job
    from ndcg_spark.job.handing_over import QueryScores, Taker
    from ndcg_spark.report.junit import refuse_unwritable, write_junit
    from ndcg_spark.report.per_query import print_query_scores
    from ndcg_spark.report.terminal import Progress
    from ndcg_spark.sheets import sorting

    config = load_arguments(arguments)
    columns = sorting.OF_QUERIES if per_query else sorting.OF_DATASETS
    order = None if sort is None else sorting.order_of(sort, columns, config.cutoffs, config.asked.columns)
    others = (sort, report, accept_baseline)
    _refuse_contradictions(style, per_query, explain_plan, baseline, junit, config, *others)
    if explain_plan:
        say(explain(config).split("\n"))
        return

    def take(rows: Iterable[Mapping[str, Any]]) -> None:
        with printing():
            print_query_scores(rows, style, config.asked.columns)

    if junit is not None:
        refuse_unwritable(junit)
    comparison = _comparison(baseline, config)
    taker: Taker | None = QueryScores(take, order) if per_query else comparison
    with contextlib.ExitStack() as outputs:
        with Progress(silent(style)).running() as progress:
            evaluated = functools.partial(run_job, wanted=taker, accepted=accept_baseline, doing=progress.doing)
            if report is None:
                outcome = evaluated(config, progress.tell)
            else:
                from ndcg_spark.report.reports import reported

                writing = reported(config, report, progress.tell, evaluated, comparison)
                outcome, write_report = outputs.enter_context(writing)
        # The last is written first, and each whatever becomes of the others.
        if not per_query:
            outputs.callback(_print, outcome, comparison, style, order)
        if report is not None:
            outputs.callback(write_report)
        if junit is not None:
            outputs.callback(write_junit, junit, outcome.verdicts)
    raise SystemExit(outcome.exit_code)


def _refuse_contradictions(
    style: str,
    per_query: bool,
    explain_plan: bool,
    baseline: str | None,
    junit: Path | None,
    config: "EvaluationConfig",
    *others: object,
) -> None:
    if per_query and style not in _OF_QUERIES:
        raise ConfigurationError(f"arguments: --per-query prints {', '.join(_OF_QUERIES)}, not {style}")
    if per_query and baseline:
        raise ConfigurationError("arguments: --per-query prints queries and --baseline compares runs; leave one out")
    if explain_plan and (style != "table" or per_query or any(each is not None for each in (baseline, junit, *others))):
        raise ConfigurationError(
            "arguments: --explain-plan prints text and computes nothing; leave out --format, --baseline, "
            "--accept-baseline, --junit, --report, --per-query and --sort"
        )
    if junit is not None and config.gate is None:
        raise ConfigurationError("arguments: --junit needs a [gate] in the configuration")


def _print(outcome: "Outcome", comparison: "QuickLook | None", style: str, order: "Order | None") -> None:
    from ndcg_spark.report.formats import print_outcome

    with printing():
        if comparison and comparison.found:
            # Imported here, because an evaluation without a baseline need not wait for statistics.
            from ndcg_spark.report.comparisons import print_beside_scores

            print_beside_scores(outcome, comparison.found, style, order)
        else:
            print_outcome(outcome, style, order)


def _comparison(baseline: str | None, config: "EvaluationConfig") -> "QuickLook | None":
    """What compares the runs with the baseline; without one, nothing that compares is even imported."""
    if baseline is None:
        return None
    from ndcg_spark.job.quick_look import QuickLook

    return QuickLook(baseline, config.asked)
