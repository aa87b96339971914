"""The command `report`."""

from pathlib import Path
from typing import Any

import click

from ndcg_spark.cli import options
from ndcg_spark.cli.command import Command
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.interrupts import set_outcome
from ndcg_spark.report.console import echo


@click.command("report", cls=Command)
@options.output
@click.option("--html", type=options.FILE, metavar="FILE", required=True, help="HTML file to write.")
@options.night
@options.dataset
@click.option("--run", metavar="RUN", help="Run to show in detail. [default: one that fails, else the best]")
@click.option("--baseline", metavar="RUN", help="Run to compare with. [default: that of the gate]")
@click.option("--baseline-date", metavar="YYYY-MM-DD|last_good", help="Night to compare with.")
@click.option("--slices", metavar="FILE", help="Also compare these slices of queries: query_id, attribute, value.")
@click.option("--png", type=options.FILE, metavar="FOLDER", help="Also write the plots to this folder.")
@options.engine
@options.remote
def write_report(
    output: str,
    baseline: str | None,
    baseline_date: str | None,
    slices: str | None,
    engine: str,
    remote: str | None,
    **arguments: Any,
) -> None:
    """Write a report of a night as one HTML page.

    The page needs no network. It contains the runs with intervals, the verdict, differences query by query, the trend,
    and the queries that lost and won most, each document by document if the night keeps its documents. Only a baseline
    needs an engine.
    """
    from ndcg_spark.report.baseline import Baseline
    from ndcg_spark.report.progress import Progress
    from ndcg_spark.report.reports import write_report as write

    is_compared = baseline or baseline_date
    if slices and not is_compared:
        raise ConfigurationError("arguments: --slices needs a comparison; give --baseline or --baseline-date too")
    compared_with = Baseline(baseline, baseline_date, slices, engine, remote) if is_compared else None
    set_outcome("run it again")
    with Progress().running() as progress:
        written: list[Path] = write(output, **arguments, baseline=compared_with, report_step=progress.report_step)
    echo(map(str, written))
