"""The commands that show what has been evaluated: one query, the nights as a line, a report."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ndcg_spark.arguments import KeptNight, configured
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.interrupts import stand
from ndcg_spark.options import EngineName, Json, KeptScores, engine_of
from ndcg_spark.report.saying import say, silent
from ndcg_spark.report.streams import printing

if TYPE_CHECKING:
    from ndcg_spark.config import EvaluationConfig

#: The options that explaining a query does not have, or has with another meaning.
_NOT_OF_A_QUERY = ("output", "documents", "cutoffs", "dataset", "run", "wait_for_input")


@configured(*_NOT_OF_A_QUERY, or_night=True)
def explain_query(
    source: "EvaluationConfig | KeptNight",
    query: Annotated[str, typer.Option(metavar="ID", help="The query to explain.")],
    run: Annotated[str | None, typer.Option(help="The run to explain. [default: every run]")] = None,
    baseline: Annotated[str | None, typer.Option(metavar="RUN", help="Show what moved since this run.")] = None,
    dataset: Annotated[str | None, typer.Option(help="The dataset of the query, if there are several.")] = None,
    cutoff: Annotated[
        str | None, typer.Option(metavar="RANK", help="A rank, or all. [default: that of the headline, or 10]")
    ] = None,
    format_: Annotated[
        str | None, typer.Option("--format", help="table, json, markdown or html. [default: table]")
    ] = None,
    json_: Json = False,
) -> None:
    """Explain the score of one query, document by document.

    Of judgments and results, or of the folder that keeps a night with its documents (--date, else the newest).

    What each document adds and loses, what would help most, which relevant documents are not there, and what those
    could change that nobody judged.
    """
    from ndcg_spark.explanation.asked import Asked
    from ndcg_spark.report import explained, formats
    from ndcg_spark.report.terminal import Progress

    style = formats.chosen(format_, json_, explained.FORMATS)
    asked = Asked(query, run, baseline, dataset, cutoff)
    if isinstance(source, KeptNight):
        from ndcg_spark.job.explaining_nights import explain_night

        found = explain_night(source.output, source.date, asked)
    else:
        from ndcg_spark.job.explaining import explain_query as explain_inputs

        with Progress(silent(style)).running() as progress:
            found = explain_inputs(source, asked, progress.tell)
    with printing():
        explained.print_explained(found, style)


def show_trend(
    output: KeptScores,
    dataset: Annotated[str | None, typer.Option(help="Only this dataset.")] = None,
    run: Annotated[str | None, typer.Option(help="Only this run.")] = None,
    measures: Annotated[
        str | None,
        typer.Option(metavar="NAME[@CUTOFF],...", help="What is followed. [default: what was asked for first]"),
    ] = None,
    last: Annotated[int, typer.Option(min=1, help="How many nights are shown; all are reckoned with.")] = 60,
    since: Annotated[
        str | None, typer.Option(metavar="YYYY-MM-DD", help="The anchor. [default: the first comparable nights]")
    ] = None,
    max_drop: Annotated[float, typer.Option(min=0, help="How much may be lost since the anchor.")] = 0.02,
    format_: Annotated[
        str | None, typer.Option("--format", help="table, json, csv, spreadsheet, png or svg. [default: table]")
    ] = None,
    json_: Json = False,
) -> None:
    """Show the nights as lines, and what stands out.

    A line breaks where the convention or the judgments changed.
    """
    from ndcg_spark.comparison.trend_data import TrendRequest, lines
    from ndcg_spark.report import formats, trends

    style = formats.chosen(format_, json_, trends.FORMATS)
    found = lines(output, TrendRequest(dataset, run, (), measures, last, since, max_drop))
    with printing():
        trends.print_trends(found, style)


def write_report(
    output: KeptScores,
    html: Annotated[Path, typer.Option("--html", metavar="FILE", help="The page to write.")],
    date: Annotated[str | None, typer.Option(metavar="YYYY-MM-DD", help="The night. [default: the newest]")] = None,
    dataset: Annotated[str | None, typer.Option(help="Only this dataset.")] = None,
    run: Annotated[
        str | None, typer.Option(help="The run that is looked at. [default: one that fails, else the best]")
    ] = None,
    baseline: Annotated[
        str | None, typer.Option(metavar="RUN", help="The run that it is held against. [default: as the gate did]")
    ] = None,
    baseline_date: Annotated[
        str | None, typer.Option(metavar="YYYY-MM-DD|last_good", help="The night that it is held against.")
    ] = None,
    slices: Annotated[
        str | None, typer.Option(metavar="FILE", help="Compare these slices too: query_id, attribute, value.")
    ] = None,
    png: Annotated[Path | None, typer.Option("--png", metavar="FOLDER", help="Write the plots there too.")] = None,
    engine: EngineName = None,
    remote: Annotated[str | None, typer.Option(metavar="URL", help="A Spark Connect server, sc://host:port.")] = None,
) -> None:
    """Write a report of a night as one HTML page.

    It needs no network, and has the runs with intervals, the verdict, differences query by query, the trend, and the
    queries that lost and won most, each document by document if the night keeps its documents. Only a baseline needs
    an engine.
    """
    from ndcg_spark.report.against import Baseline
    from ndcg_spark.report.reports import write
    from ndcg_spark.report.terminal import Progress

    against = None
    if baseline or baseline_date:
        against = Baseline(baseline, baseline_date, slices, engine_of(engine), remote)
    elif slices:
        raise ConfigurationError("arguments: --slices needs a comparison; give --baseline or --baseline-date too")
    stand("run it again")
    with Progress().running() as progress:
        written = write(output, html, date, dataset, run, against, png, progress.tell)
    say(map(str, written))
