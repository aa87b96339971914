"""The command `judgments`."""

from typing import Any

import click

from ndcg_spark.cli import options
from ndcg_spark.cli.command import EXIT_CODES, Command
from ndcg_spark.cli.configuration import is_night, load_arguments
from ndcg_spark.errors import ConfigurationError

#: The options of evaluations that this command lacks, or has with another meaning.
_OF_NIGHTS = ("paths", "judgments", "exclude", "output", "documents", "measures", "relevance", "min_judged_rate")


@click.command(cls=Command, epilog=EXIT_CODES)
@click.argument("a", metavar="A", help="Judgments (qrels), in any format; or, without B, a folder with nights.")
@click.argument("b", metavar="[B]", required=False, help="Other judgments, in the same way.")
@options.of_evaluations(*_OF_NIGHTS)
@click.option("--nights", metavar="N", type=click.IntRange(min=1), help="Nights to look at, without B. [default: 7]")
@options.output_format(*options.FORMATS)
def judgments(a: str, b: str | None, nights: int | None, style: str, **arguments: Any) -> None:
    """Compare two sets of judgments, also by how they rank runs.

    Shows kappa and Krippendorff's alpha with intervals, the matrix of grades, and the queries that agree least. With
    --results, it also shows how A and B rank the runs at the deepest cutoff, and which pairs of runs swap.

    For a folder with nights (--date, else the newest), it shows the relevant documents that no run returned in the last
    nights, and how many queries every run answers perfectly.
    """
    from ndcg_spark.agreement.dead_judgments import NIGHTS
    from ndcg_spark.config import NOT_READ
    from ndcg_spark.job.judgments import compare_judgments
    from ndcg_spark.report.judgments import print_dead_judgments, print_judgments
    from ndcg_spark.report.progress import Progress

    if b is None:
        if not is_night({**arguments, "paths": (a,)}):
            raise ConfigurationError(f"arguments: only {a} is given; give the judgments A and B")
        print_dead_judgments(a, arguments["date"], nights or NIGHTS, style)
        return
    if nights is not None:
        raise ConfigurationError("arguments: --nights is for a folder with nights; omit it, or B")
    has_results = bool(arguments["results"])
    config = load_arguments({**arguments, "judgments": (a,), "results": arguments["results"] or (NOT_READ,)})
    with Progress(style).running() as progress:
        found = compare_judgments(config, b, progress.report_step, has_results)
    print_judgments(found, style)
