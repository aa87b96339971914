"""The command `judgments`."""

from typing import Any

import click

from ndcg_spark.cli import options
from ndcg_spark.cli.command import EXIT_CODES, Command
from ndcg_spark.cli.configuration import load_arguments

#: The options of evaluations that this command lacks, or has with another meaning.
_OF_NIGHTS = (
    *("paths", "judgments", "exclude", "output", "documents", "measures", "bounds", "relevance", "min_judged_rate"),
    "wait_for_input",
)


@click.command(cls=Command, epilog=EXIT_CODES)
@click.argument("a", metavar="A", help="Judgments (qrels): a file, folder, glob or table:catalog.db.name.")
@click.argument("b", metavar="B", help="Other judgments, in the same way.")
@options.of_evaluations(*_OF_NIGHTS)
@options.output_format(*options.FORMATS)
def judgments(a: str, b: str, style: str, **arguments: Any) -> None:
    """Compare two sets of judgments, also by how they rank runs.

    Shows kappa and Krippendorff's alpha with intervals, the matrix of grades, and the queries that agree least. With
    --results also how A and B rank the runs at the deepest cutoff, and which pairs of runs swap.
    """
    from ndcg_spark.job.judgments import compare_judgments
    from ndcg_spark.report.judgments import print_judgments
    from ndcg_spark.report.progress import Progress

    has_results = bool(arguments["results"])
    config = load_arguments({**arguments, "judgments": (a,), "results": arguments["results"] or ("not read",)})
    with Progress(style).running() as progress:
        found = compare_judgments(config, b, progress.report_step, has_results)
    print_judgments(found, style)
