"""The command `evaluate`."""

import contextlib
import functools
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ndcg_spark.cli import options
from ndcg_spark.cli.command import GATE_CODES, Command
from ndcg_spark.cli.configuration import load_arguments
from ndcg_spark.errors import ConfigurationError

if TYPE_CHECKING:
    from ndcg_spark.job.consumers import InlineComparison
    from ndcg_spark.job.outcome import EvaluationOutcome
    from ndcg_spark.tables.sorting import Order

#: The formats for query scores: those that can hold any number of rows.
_QUERY_FORMATS = ("table", "json", "csv")


@click.command(cls=Command, epilog=GATE_CODES)
@options.of_evaluations()
@options.output_format(*options.FORMATS)
@click.option("--per-query", is_flag=True, help="Print the scores of every query; JSON is one object per line.")
@click.option("--sort", metavar="COLUMN[@CUTOFF][:asc|:desc]", help="Order of the printed rows.")
@click.option("--report", type=options.FILE, metavar="FILE", help="Also write an HTML report of the scores.")
@options.accept_baseline
@options.junit
@click.option("--baseline", metavar="RUN", help="Compare every other run with this one.")
@options.slices
@click.option(
    "--metrics-file", metavar="FILE", help="Also write the means for Prometheus, to a file that ends in .prom."
)
@click.option("--on-end", metavar="COMMAND", help="Run this at the end, however it ends, with JSON on its stdin.")
@click.option("--after", type=int, hidden=True)  # for nightly.sh: what remains to be done after this exit code
def evaluate(
    style: str,
    per_query: bool,
    sort: str | None,
    report: Path | None,
    accept_baseline: str | None,
    junit: Path | None,
    baseline: str | None,
    after: int | None,
    **arguments: Any,
) -> None:
    """Score results against judgments, per query and per dataset.

    Paths may contain {date}. With a [gate] in the configuration, the gate checks the night before it is published.
    """
    from ndcg_spark.job import consumers
    from ndcg_spark.job import evaluate as job
    from ndcg_spark.monitoring import finish, notifying
    from ndcg_spark.report.progress import Progress, shown_steps
    from ndcg_spark.report.scores import print_query_scores
    from ndcg_spark.report.verdicts import refuse_unwritable, write_junit
    from ndcg_spark.tables import sorting

    config = load_arguments(arguments)
    if after is not None:
        with shown_steps(style):
            finish(config, after)
        return
    with (
        Progress(style).listening() as progress,
        notifying(config) as outcomes,
        contextlib.ExitStack() as outputs,
    ):
        columns = sorting.OF_QUERIES if per_query else sorting.OF_DATASETS
        order = None if sort is None else sorting.order_of(sort, columns, config.cutoffs, config.measure_set.columns)
        if per_query and style not in _QUERY_FORMATS:
            raise ConfigurationError(f"arguments: --per-query prints {', '.join(_QUERY_FORMATS)}, not {style}")
        if per_query and baseline:
            raise ConfigurationError("arguments: --per-query prints queries and --baseline compares runs; omit one")
        if junit is not None:
            if config.gate is None:
                raise ConfigurationError("arguments: --junit needs a [gate] in the configuration")
            refuse_unwritable(junit)
        comparison = None if baseline is None else consumers.InlineComparison(baseline, config.measure_set)
        print_rows = functools.partial(print_query_scores, style=style, measures=config.measure_set.columns)
        consumer: consumers.Consumer | None = consumers.QueryScores(print_rows, order) if per_query else comparison
        with progress.spinner():
            evaluated = functools.partial(job.evaluate, consumer=consumer, accepted=accept_baseline)
            if report is None:
                outcome = evaluated(config)
            else:
                from ndcg_spark.report.page import evaluated_with_report

                writing = evaluated_with_report(config, report, evaluated, baseline)
                outcome, write_report = outputs.enter_context(writing)
        outcomes.append(outcome)
        # The last one is written first, and each one is written even if another fails.
        if not per_query:
            outputs.callback(_print, outcome, comparison, style, order)
        if report is not None:
            outputs.callback(write_report)
        if junit is not None:
            outputs.callback(write_junit, junit, outcome.verdicts)
    raise SystemExit(outcomes[-1].exit_code)


def _print(
    outcome: "EvaluationOutcome", comparison: "InlineComparison | None", style: str, order: "Order | None"
) -> None:
    if comparison and comparison.result:
        # Imported here, because an evaluation without a baseline need not wait for statistics.
        from ndcg_spark.report.comparisons import print_with_comparison

        print_with_comparison(outcome, comparison.result, style, order)
    else:
        from ndcg_spark.report.scores import print_outcome

        print_outcome(outcome, style, order)
