"""The commands `nights` and `trend`: what has been published."""

import click

from ndcg_spark.cli.command import Command
from ndcg_spark.cli.options import dataset_option, output_argument, output_format
from ndcg_spark.report.streams import printing


@click.command("nights", cls=Command)
@output_argument
@click.option("--measures", help="Measures of the best run to show, e.g. P@5 AP.")
@output_format("table", "json", "csv", "spreadsheet", "markdown", "latex")
def list_nights(output: str, measures: str | None, style: str) -> None:
    """List the published nights with their scores.

    CSV and JSON contain all scores of all runs.
    """
    from ndcg_spark.nights.read import dataset_scores
    from ndcg_spark.nights.records import committed, read_again_if_replaced
    from ndcg_spark.report.nights import print_nights, shown

    asked = shown(measures, style)
    found, scores = read_again_if_replaced(lambda: (nights := committed(output), dataset_scores(nights)))
    with printing():
        print_nights(found, scores, style, asked)


@click.command("trend", cls=Command)
@output_argument
@dataset_option
@click.option("--run", help="Only this run.")
@click.option("--measures", metavar="NAME[@CUTOFF],...", help="Measures to follow. [default: the headline]")
@click.option(
    "--last",
    type=click.IntRange(min=1),
    metavar="N",
    default=60,
    show_default=True,
    help="Number of nights to show; statistics use all nights.",
)
@click.option("--since", metavar="YYYY-MM-DD", help="The anchor. [default: the first comparable nights]")
@click.option(
    "--max-drop",
    type=click.FloatRange(min=0),
    metavar="DIFFERENCE",
    default=0.02,
    show_default=True,
    help="Largest loss since the anchor that is not reported.",
)
@output_format("table", "json", "csv", "spreadsheet", "png", "svg")
def show_trend(
    output: str,
    dataset: str | None,
    run: str | None,
    measures: str | None,
    last: int,
    since: str | None,
    max_drop: float,
    style: str,
) -> None:
    """Show the scores of the nights as lines, and unusual nights.

    A line is interrupted where the convention or the judgments changed.
    """
    from ndcg_spark.comparison.nightly import Wanted, lines
    from ndcg_spark.report.trends import print_trends

    found = lines(output, Wanted(dataset, run, (), measures, last, since, max_drop))
    with printing():
        print_trends(found, style)
