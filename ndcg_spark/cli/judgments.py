"""The command `judgments`."""

from typing import Any

import click

from ndcg_spark.cli import options
from ndcg_spark.cli.command import EXIT_CODES, Command
from ndcg_spark.cli.configuration import load_arguments

#: The options of evaluations that this command lacks, or has with another meaning.
_OTHERS = ("paths", "judgments", "exclude", "output", "documents", "measures", "relevance", "min_judged_rate")


@click.command(cls=Command, epilog=EXIT_CODES)
@click.argument("a", metavar="A", help="Judgments (qrels), in any format.")
@click.argument("b", metavar="B", help="Other judgments, in the same way.")
@options.of_evaluations(*_OTHERS)
@options.output_format(*options.FORMATS)
def judgments(a: str, b: str, style: str, **arguments: Any) -> None:
    """Compare two sets of judgments, also by how they rank runs.

    Shows Cohen's kappa and Krippendorff's alpha. With --results, it also shows how far A and B rank the runs in the
    same order, by their NDCG at the deepest cutoff.
    """
    from ndcg_spark.config import AgreementConfig
    from ndcg_spark.job.judgments import compare_judgments
    from ndcg_spark.report.judgments import print_judgments
    from ndcg_spark.report.progress import shown_steps

    config = load_arguments({**arguments, "judgments": (a,)}, AgreementConfig)
    with shown_steps(style):
        found = compare_judgments(config, b)
    print_judgments(found, style)
