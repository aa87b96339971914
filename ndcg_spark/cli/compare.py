"""The command `compare`."""

from collections.abc import Callable
from typing import Any

import click

from ndcg_spark.cli import options
from ndcg_spark.cli.command import EXIT_CODES, Command


def _default(option: str, metavar: str, words: str, default: str) -> Callable[[Any], Any]:
    return click.option(option, metavar=metavar, help=words, default=default, show_default=True)


@click.command(cls=Command, epilog=EXIT_CODES)
@options.output
@options.night
@options.dataset
@click.option(
    "--baseline", "baselines", multiple=True, metavar="RUN", help="Run to compare the others with. May be repeated."
)
@click.option("--baseline-date", metavar="YYYY-MM-DD|good", help="Night to compare this one with, run by run.")
@click.option("--run", "runs", multiple=True, metavar="RUN", help="Only this run. May be repeated. [default: all]")
@_default("--measures", "MEASURE[@CUTOFF],...", "Measures to compare, e.g. ndcg@10,ndcg@all.", "ndcg")
@options.slices
@click.option("--weights", metavar="FILE", help="Weights of queries (query_id, weight), for weighted rows too.")
@_default("--correction", "holm|bonferroni|bh|none", "Adjustment of p values for the number of comparisons.", "holm")
@options.number("--alpha", "LEVEL", "Significance level; intervals cover 1 - alpha.", float, 0.05)
@options.number("--margin", "DIFFERENCE", "Largest difference that does not matter.", float, 0.01)
@click.option("--unchanged-queries", is_flag=True, help="Leave out queries whose judgments changed since the baseline.")
@click.option("--sort", metavar="COLUMN[:asc|desc]", help="Order of the runs. [default: difference:asc, worst first]")
@click.option("--top", metavar="N", type=click.IntRange(min=1), help="Show the first N comparisons of a table.")
@options.number("--queries", "N", "List the N queries of each run that lost and won most.", click.IntRange(min=0), 0)
@options.output_format(*options.FORMATS)
@options.engine
@options.remote
def compare(
    style: str,
    date: str | None,
    runs: tuple[str, ...],
    measures: str,
    correction: str,
    alpha: float,
    margin: float,
    unchanged_queries: bool,
    sort: str | None,
    top: int | None,
    **arguments: Any,
) -> None:
    """Compare published runs with a baseline.

    Prints differences, confidence intervals, p values and conclusions. A baseline is a run of the same night, another
    night, or a run of another night. Runs that certainly differ by less than --margin are the same.
    """
    from ndcg_spark.comparison.options import ComparisonOptions, measures_of
    from ndcg_spark.job.compare import ComparisonRequest, compare_nights, date_of
    from ndcg_spark.report.comparisons import print_compared
    from ndcg_spark.report.progress import shown_steps
    from ndcg_spark.tables.comparisons import SORT_COLUMNS
    from ndcg_spark.tables.sorting import order_of

    chosen = ComparisonOptions(
        measures_of(measures), alpha, correction, margin=margin, unchanged_queries=unchanged_queries
    )
    order = order_of(sort, SORT_COLUMNS, ()) if sort else None
    request = ComparisonRequest(date=date_of("date", date), runs=list(runs) or None, options=chosen, **arguments)
    with shown_steps(style):
        found = compare_nights(request)
    print_compared(found, style, chosen, order, top)
