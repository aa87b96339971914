"""The commands `nights` and `trend`, which show what was published, and `note`, which adds a note to a night."""

from typing import Any

import click

from ndcg_spark.cli import options
from ndcg_spark.cli.command import Command
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.interrupts import set_outcome
from ndcg_spark.report.console import echo

_LAST = "Number of nights to show; statistics use all nights."
_MAX_DROP = "Largest loss since the anchor that is not reported."
_FLOOR = "Smallest distance from the median of earlier nights that is reported."


@click.command(cls=Command)
@options.output
@click.option("--measures", metavar="MEASURE[,...]", help="Measures of the best run to show, e.g. P@5 AP.")
@options.output_format(*options.FORMATS)
def nights(output: str, measures: str | None, style: str) -> None:
    """List the published nights with their scores.

    CSV and JSON contain all scores of all runs.
    """
    from ndcg_spark.nights.read import read_dataset_scores
    from ndcg_spark.nights.records import committed, read_again_if_replaced
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
@click.option(
    "--since", "anchor", metavar="YYYY-MM-DD", help="Date of the anchor. [default: the first comparable nights]"
)
@options.number("--max-drop", "DIFFERENCE", _MAX_DROP, click.FloatRange(min=0), 0.02)
@options.number("--floor", "DIFFERENCE", _FLOOR, click.FloatRange(min=0), 0.005)
@options.output_format("table", "json", "csv")
def trend(output: str, style: str, max_drop: float, **request: Any) -> None:
    """Show the scores of the nights, and point out unusual ones.

    A line is interrupted where the convention or the judgments changed.
    """
    from ndcg_spark.comparison.trend_data import TrendRequest, lines
    from ndcg_spark.report.trends import print_trends

    print_trends(lines(output, TrendRequest(**request, allowed_drop=max_drop)), style)


@click.command(cls=Command)
@options.output
@click.argument("date", metavar="DATE", help="Date of the night, YYYY-MM-DD.")
@click.argument("text", metavar="TEXT", help='What to remember about it, such as "new ranker".')
@options.dataset
def note(output: str, date: str, text: str, dataset: str | None) -> None:
    """Add a note to a night for trend and report to show.

    A night that is evaluated again keeps its notes.
    """
    from ndcg_spark.nights.records import add_note, committed
    from ndcg_spark.nights.selection import select_nights

    if not text.strip():
        raise ConfigurationError("arguments: the note is empty; say what to remember about the night")
    set_outcome("run it again, as it may be half done")
    nights = select_nights(committed(output), output, date, dataset)
    for night in nights:
        add_note(night, text.strip())
    echo(f"noted for {night}" for night in nights)
