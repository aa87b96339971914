"""The commands `nights` and `trend`, which show what was published, and `note`, which adds a note to a night."""

from typing import Any

import click

from ndcg_spark.cli import options
from ndcg_spark.cli.command import Command
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.report.console import echo

_LAST = "Number of nights to show; statistics use all nights."
_FLOOR = "Smallest distance from the median of earlier nights that is reported."


@click.command(cls=Command)
@options.output
@click.option("--measures", metavar="MEASURE[,...]", help="Measures of the best run to show, e.g. P@5 AP.")
@options.output_format(*options.FORMATS)
def nights(output: str, measures: str | None, style: str) -> None:
    """List the published nights with their scores.

    CSV and JSON contain all scores of all runs.
    """
    from ndcg_spark.nights.log import committed, read_again_if_replaced
    from ndcg_spark.nights.read import read_dataset_scores
    from ndcg_spark.report.nights import print_nights, shown_measures

    shown = shown_measures(measures, style)
    published, scores = read_again_if_replaced(lambda: (known := committed(output), read_dataset_scores(known)))
    print_nights(published, scores, style, shown)


@click.command(cls=Command)
@options.output
@options.dataset
@click.option("--run", metavar="RUN", help="Only this run.")
@click.option("--measures", metavar="MEASURE[@CUTOFF],...", help="Measures to follow. [default: the headline]")
@options.number("--last", "N", _LAST, click.IntRange(min=1), 60)
@options.number("--floor", "DIFFERENCE", _FLOOR, click.FloatRange(min=0), 0.005)
@options.output_format("table", "json", "csv")
def trend(output: str, style: str, **request: Any) -> None:
    """Show the scores of the nights, and point out unusual ones.

    A line is interrupted where the convention or the judgments changed.
    """
    from ndcg_spark.comparison.trend import TrendRequest, lines
    from ndcg_spark.report.trends import print_trends

    print_trends(*lines(output, TrendRequest(**request)), style)


@click.command(cls=Command)
@options.output
@click.option(
    "--to", required=True, metavar="TABLES", help="delta:PATH, iceberg:CATALOG.NAMESPACE or table:CATALOG.SCHEMA."
)
@click.option("--date", metavar="YYYY-MM-DD", help="Only the nights of this date.")
@click.option("--since", metavar="YYYY-MM-DD", help="Only the nights of this date and later.")
def export(output: str, to: str, date: str | None, since: str | None) -> None:
    """Copy nights to tables of Delta, Iceberg or a catalog.

    The rows of each date are replaced, so that repeating it changes nothing. Missing tables are created.
    """
    from ndcg_spark.nights.export import export as export_nights

    export_nights(output, to, date, since, lambda sentence: echo([sentence]))


@click.command(cls=Command)
@options.output
@click.argument("date", metavar="DATE", help="Date of the night, YYYY-MM-DD.")
@click.argument("text", metavar="TEXT", help='What to remember about it, such as "new ranker".')
@options.dataset
def note(output: str, date: str, text: str, dataset: str | None) -> None:
    """Add a note to a night for trend and report to show.

    A night that is evaluated again keeps its notes.
    """
    from ndcg_spark.nights.log import add_note, committed
    from ndcg_spark.nights.select import select_nights

    if not text.strip():
        raise ConfigurationError("arguments: the note is empty; say what to remember about the night")
    nights = select_nights(committed(output), output, date, dataset)
    for night in nights:
        add_note(night, text.strip())
    echo(f"noted for {night}" for night in nights)
