"""The commands `check` and `judge-next`: what is in the input, and which documents to have judged next."""

from typing import Any

import click

from ndcg_spark.cli.command import EXIT_CODES, Command
from ndcg_spark.cli.configuration import load_arguments
from ndcg_spark.cli.options import evaluation_options, output_format
from ndcg_spark.report.saying import silent
from ndcg_spark.report.streams import as_json, printing

#: Options of evaluations that concern scores, which a check does not compute.
_OF_SCORES = ("output", "documents", "cutoffs", "measures", "bounds", "dataset")
#: Those that a list of documents does not have.
_OF_MEASURES = ("output", "documents", "measures", "bounds", "wait_for_input")


@click.command(cls=Command, epilog=EXIT_CODES)
@evaluation_options(*_OF_SCORES)
@output_format("table", "json")
def check(style: str, **arguments: Any) -> None:
    """Validate judgments and results without scoring them.

    Unlike an evaluation, this looks for duplicates everywhere, not only where they could change a score.
    """
    from ndcg_spark.job.checking import check as check_input
    from ndcg_spark.report.terminal import Progress, print_check

    config = load_arguments(arguments)
    with Progress(silent(style)).running() as progress:
        found = check_input(config, progress.tell)
    with printing():
        if style == "json":
            print(as_json(found))
        else:
            print_check(found)


@click.command("judge-next", cls=Command, epilog=EXIT_CODES)
@evaluation_options(*_OF_MEASURES)
@click.option(
    "--documents",
    type=click.IntRange(min=1),
    metavar="N",
    default=100,
    show_default=True,
    help="Number of documents, those that matter most first.",
)
@output_format("table", "json", "csv", "spreadsheet", "markdown", "latex")
def judge_next(documents: int, style: str, **arguments: Any) -> None:
    """List the unjudged documents that matter most to the runs.

    These are the documents that most runs rank highest, within the deepest cutoff. With --format csv the list is a file
    that judging tools can load.
    """
    from ndcg_spark.job.judging_next import documents_to_judge
    from ndcg_spark.report.terminal import Progress
    from ndcg_spark.report.to_judge import print_documents

    config = load_arguments(arguments)
    with Progress(silent(style)).running() as progress:
        found = documents_to_judge(config, documents, progress.tell)
    with printing():
        print_documents(found, style)
