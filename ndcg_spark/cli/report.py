"""The command `report`."""

from pathlib import Path

import click

from ndcg_spark.cli.command import Command
from ndcg_spark.cli.options import (
    FILE,
    dataset_option,
    engine_option,
    night_option,
    output_argument,
    remote_option,
)
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.interrupts import stand
from ndcg_spark.report.saying import say


@click.command("report", cls=Command)
@output_argument
@click.option("--html", type=FILE, metavar="FILE", required=True, help="HTML file to write.")
@night_option
@dataset_option
@click.option("--run", help="Run to show in detail. [default: one that fails, else the best]")
@click.option("--baseline", metavar="RUN", help="Run to compare with. [default: as the gate did]")
@click.option("--baseline-date", metavar="YYYY-MM-DD|last_good", help="Night to compare with.")
@click.option("--slices", metavar="FILE", help="Also compare these slices of queries: query_id, attribute, value.")
@click.option("--png", type=FILE, metavar="FOLDER", help="Also write the plots to this folder.")
@engine_option
@remote_option
def write_report(
    output: str,
    html: Path,
    date: str | None,
    dataset: str | None,
    run: str | None,
    baseline: str | None,
    baseline_date: str | None,
    slices: str | None,
    png: Path | None,
    engine: str,
    remote: str | None,
) -> None:
    """Write a report of a night as one HTML page.

    The page needs no network. It contains the runs with intervals, the verdict, differences query by query, the trend,
    and the queries that lost and won most, each document by document if the night keeps its documents. Only a baseline
    needs an engine.
    """
    from ndcg_spark.report.against import Baseline
    from ndcg_spark.report.reports import write
    from ndcg_spark.report.terminal import Progress

    against = None
    if baseline or baseline_date:
        against = Baseline(baseline, baseline_date, slices, engine, remote)
    elif slices:
        raise ConfigurationError("arguments: --slices needs a comparison; give --baseline or --baseline-date too")
    stand("run it again")
    with Progress().running() as progress:
        written = write(output, html, date, dataset, run, against, png, progress.tell)
    say(map(str, written))
