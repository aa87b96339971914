"""The command `compare-lists`."""

from typing import Any

import click

from ndcg_spark.cli import options
from ndcg_spark.cli.command import EXIT_CODES, Command
from ndcg_spark.cli.configuration import load_arguments

#: Options that concern judgments, scores or nights.
_OF_JUDGMENTS = (
    *("paths", "judgments", "results", "output", "documents", "measures", "relevance"),
    *("max_missing_fraction", "max_unjudged_fraction", "min_judged_rate"),
)


@click.command("compare-lists", cls=Command, epilog=EXIT_CODES)
@click.argument("old", metavar="OLD", help="Results: a file, folder, glob or table:catalog.db.name.")
@click.argument("new", metavar="[NEW]", required=False, help="Other results, in the same way.")
@click.option("--baseline", metavar="RUN", help="Run of OLD to compare every run of NEW with. [default: by name]")
@options.number("--persistence", "P", "Persistence of rank-biased overlap, between 0 and 1.", float, 0.9)
@options.number("--queries", "N", "List the N queries of each run that changed most.", click.IntRange(min=0), 10)
@options.of_evaluations(*_OF_JUDGMENTS)
@options.output_format(*options.FORMATS)
def compare_lists(
    old: str, new: str | None, baseline: str | None, persistence: float, queries: int, style: str, **arguments: Any
) -> None:
    """Compare the lists of results without judgments.

    Without NEW, every run of OLD is compared with the --baseline. All queries count, judged or not.
    """
    from ndcg_spark.config import ListsConfig
    from ndcg_spark.errors import ConfigurationError
    from ndcg_spark.job import compare_lists as job
    from ndcg_spark.report.lists import print_lists
    from ndcg_spark.report.progress import shown_steps

    if new is None and baseline is None:
        raise ConfigurationError("arguments: there is no baseline; give NEW, or --baseline RUN")
    sides = [
        None if path is None else load_arguments({**arguments, "results": (path,)}, ListsConfig) for path in (old, new)
    ]
    with shown_steps(style):
        found = job.compare_lists(sides[0], sides[1], baseline, persistence, queries)  # type: ignore[arg-type]  # OLD is always given
    print_lists(found, style)
