"""The command `report`."""

from typing import Any

import click

from ndcg_spark.cli import options
from ndcg_spark.cli.command import Command
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.report.console import echo


@click.command(cls=Command)
@options.output
@click.option("--html", type=options.FILE, metavar="FILE", required=True, help="HTML file to write.")
@options.night
@options.dataset
@click.option("--run", metavar="RUN", help="Run to show in detail. [default: one that is worse, else the best]")
@click.option("--measure", metavar="MEASURE", help="Measure to show, e.g. ndcg@10. [default: the gate's first]")
@click.option("--baseline", metavar="RUN", help="Run to compare with.")
@click.option(
    "--baseline-date",
    metavar="YYYY-MM-DD|good",
    help="Night to compare with. [default: as the gate did, else the newest with the same judgments]",
)
@click.option("--slices", metavar="FILE", help="Also compare these slices of queries: query_id, attribute, value.")
@options.engine
@options.remote
def report(
    output: str,
    baseline: str | None,
    baseline_date: str | None,
    slices: str | None,
    engine: str,
    remote: str | None,
    **arguments: Any,
) -> None:
    """Write a report of a night as one HTML page.

    The page needs no network. It begins with an answer: whether the night is worse, by how much, how certain that is,
    which queries caused it and why, and what to do next. Then come the differences of all runs, the queries that lost
    and won most (document by document if the night keeps its documents), the tables, and the trend. Comparing needs an
    engine unless the gate has already compared.
    """
    from ndcg_spark.report.baseline import Baseline
    from ndcg_spark.report.progress import shown_steps
    from ndcg_spark.report.reports import write_report

    requested = Baseline(baseline, baseline_date, slices, engine, remote)
    if slices and not requested.is_named:
        raise ConfigurationError("arguments: --slices needs a comparison; give --baseline or --baseline-date too")
    with shown_steps():
        write_report(output, **arguments, baseline=requested)
    echo([str(arguments["html"])])
