"""The command `report`."""

from pathlib import Path
from typing import Any

import click

from ndcg_spark.cli import options
from ndcg_spark.cli.command import Command
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.report.console import echo


@click.command(cls=Command)
@options.output
@click.option("--html", type=options.FILE, metavar="FILE", help="HTML file to write.")
@click.option("--site", type=options.FILE, metavar="FOLDER", help="Write a page per night, an index and latest.html.")
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
@click.option(
    "--slices", metavar="FILE", help="Slices of queries (query_id, attribute, value), not those of the night."
)
@click.option(
    "--labels",
    type=options.FILE,
    metavar="FILE",
    help="Texts to show for ids: query_id and text, or doc_id, text and link.",
)
def report(
    output: str,
    html: Path | None,
    site: Path | None,
    date: str | None,
    slices: str | None,
    labels: Path | None,
    **arguments: Any,
) -> None:
    """Write a night as one HTML page, or all nights as a site.

    A page needs no network. It begins with the verdict: which run is better or worse, by how much, how sure that is,
    since when, which queries caused it, why, and what to do. Details follow, folded.
    """
    from ndcg_spark.job.about_queries import read_files_of_queries
    from ndcg_spark.report.labels import Labels, read_labels
    from ndcg_spark.report.night_data import Request
    from ndcg_spark.report.page import write_report, write_site
    from ndcg_spark.report.progress import shown_steps

    if (html is None) == (site is None) or (site is not None and date is not None):
        raise ConfigurationError(
            "arguments: a report is one page or a site; give --html FILE, or --site without --date"
        )
    with shown_steps():
        attributes, _ = read_files_of_queries([slices] if slices else [], [], "auto", None)
        request = Request(**arguments, attributes=attributes)
        names = read_labels(labels) if labels else Labels()
        if html is not None:
            write_report(output, html, date, request, names)
        elif site is not None:
            write_site(output, site, request, names)
    echo([str(html or site)])
