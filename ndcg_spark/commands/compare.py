"""The command `compare`: its options, and the call of the job that they describe."""

from typing import Annotated

import typer

from ndcg_spark.options import EngineName, Json, OutputFormat, engine_of
from ndcg_spark.report.saying import silent
from ndcg_spark.report.streams import printing

Text = str | None


def compare(
    output: Annotated[str, typer.Argument(metavar="OUTPUT", help="The folder that keeps the scores.")],
    date: Annotated[Text, typer.Option(metavar="YYYY-MM-DD", help="Which night. [default: the newest]")] = None,
    dataset: Annotated[Text, typer.Option(help="Of which dataset. [default: of every one]")] = None,
    baseline: Annotated[
        Text, typer.Option(metavar="RUN", help="The run that every other one is compared with.")
    ] = None,
    baseline_date: Annotated[
        Text,
        typer.Option(metavar="YYYY-MM-DD|last_good", help="The night that this one is compared with, run by run."),
    ] = None,
    run: Annotated[
        list[str] | None, typer.Option(metavar="RUN", help="Compare this run. May be repeated. [default: all]")
    ] = None,
    measures: Annotated[
        str, typer.Option(metavar="MEASURE[@CUTOFF],...", help="What is compared, e.g. ndcg@10,ndcg@all.")
    ] = "ndcg",
    slices: Annotated[
        Text, typer.Option(metavar="FILE", help="query_id, attribute, value; or query_id and a column for each.")
    ] = None,
    weights: Annotated[
        Text, typer.Option(metavar="FILE", help="query_id, weight: every row once more, weighted.")
    ] = None,
    correction: Annotated[
        str, typer.Option(metavar="holm|bh|none", help="How p is adjusted for the number of comparisons.")
    ] = "holm",
    test: Annotated[
        str, typer.Option(metavar="t|randomization", help="The test; t is replaced where it cannot be trusted.")
    ] = "t",
    alpha: Annotated[float, typer.Option(help="The interval is that of 1 - alpha.")] = 0.05,
    queries: Annotated[
        int, typer.Option(min=0, metavar="N", help="Name the N queries that lost and won most, of each run.")
    ] = 0,
    format_: OutputFormat = None,
    json_: Json = False,
    engine: EngineName = None,
    remote: Annotated[Text, typer.Option(metavar="URL", help="A Spark Connect server, sc://host:port.")] = None,
) -> None:
    """Compare published runs with a baseline.

    Shows differences, confidence intervals and p values. The baseline is a run of the same night, another night, or a
    run of another night.
    """
    from ndcg_spark.comparison.options import ComparisonOptions, measures_of
    from ndcg_spark.job.compare import ComparisonRequest, compare_nights, date_of
    from ndcg_spark.report.comparisons import print_compared
    from ndcg_spark.report.formats import chosen
    from ndcg_spark.report.terminal import Progress

    style = chosen(format_, json_)
    options = ComparisonOptions(measures_of(measures), alpha, correction, test)
    request = ComparisonRequest(
        output,
        date_of("date", date),
        dataset,
        baseline,
        baseline_date,
        run,
        options,
        slices,
        weights,
        queries,
        engine_of(engine),
        remote,
    )
    with Progress(silent(style)).running() as progress:
        found = compare_nights(request, progress.tell)
    with printing():
        print_compared(found, style, correction, alpha, options.names)
