"""The command `compare`."""

from typing import Any

import click

from ndcg_spark.cli.command import EXIT_CODES, Command
from ndcg_spark.cli.options import (
    dataset_option,
    engine_option,
    night_option,
    output_argument,
    output_format,
    remote_option,
)
from ndcg_spark.report.saying import silent
from ndcg_spark.report.streams import printing


@click.command(cls=Command, epilog=EXIT_CODES)
@output_argument
@night_option
@dataset_option
@click.option("--baseline", metavar="RUN", help="Run to compare every other run with.")
@click.option(
    "--baseline-date", metavar="YYYY-MM-DD|last_good", help="Night to compare this one with, each run with itself."
)
@click.option(
    "--run", "runs", multiple=True, metavar="RUN", help="Compare only this run. May be repeated. [default: all]"
)
@click.option(
    "--measures",
    metavar="MEASURE[@CUTOFF],...",
    default="ndcg",
    show_default=True,
    help="Measures to compare, e.g. ndcg@10,ndcg@all.",
)
@click.option(
    "--slices", metavar="FILE", help="Slices of queries: query_id, attribute, value; or query_id and a column for each."
)
@click.option("--weights", metavar="FILE", help="Weights of queries (query_id, weight): adds a weighted row to each.")
@click.option(
    "--correction",
    metavar="holm|bh|none",
    default="holm",
    show_default=True,
    help="Adjustment of p values for the number of comparisons.",
)
@click.option(
    "--test",
    metavar="t|randomization",
    default="t",
    show_default=True,
    help="Significance test; t is replaced by randomization where it cannot be trusted.",
)
@click.option("--alpha", type=float, default=0.05, show_default=True, help="Level of the intervals: 1 - alpha.")
@click.option(
    "--queries",
    type=click.IntRange(min=0),
    metavar="N",
    default=0,
    show_default=True,
    help="List the N queries of each run that lost most, and the N that won most.",
)
@output_format("table", "json", "csv", "spreadsheet", "markdown", "latex")
@engine_option
@remote_option
def compare(style: str, date: str | None, runs: tuple[str, ...], measures: str, **arguments: Any) -> None:
    """Compare published runs with a baseline.

    Prints differences, confidence intervals and p values. The baseline is a run of the same night, another night, or a
    run of another night.
    """
    from ndcg_spark.comparison.measures import measures_of
    from ndcg_spark.job.comparing import compare_nights
    from ndcg_spark.job.comparison_request import Request, date_of
    from ndcg_spark.report.comparisons import print_compared
    from ndcg_spark.report.terminal import Progress

    request = Request(date=date_of("date", date), runs=list(runs) or None, measures=measures_of(measures), **arguments)
    with Progress(silent(style)).running() as progress:
        found = compare_nights(request, progress.tell)
    with printing():
        print_compared(found, style, request.correction, request.alpha, list(request.measures))
