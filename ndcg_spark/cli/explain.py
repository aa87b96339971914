"""The command `explain`."""

from typing import Any

import click

from ndcg_spark.cli import options
from ndcg_spark.cli.command import EXIT_CODES, Command
from ndcg_spark.cli.configuration import is_night, load_arguments
from ndcg_spark.errors import ConfigurationError

#: The options of evaluations that this command lacks, or has with another meaning.
_NOT_OF_A_QUERY = ("output", "documents", "cutoffs", "dataset", "run")


@click.command(cls=Command, epilog=EXIT_CODES)
@options.of_evaluations(*_NOT_OF_A_QUERY)
@click.option("--query", metavar="ID", required=True, help="Query to explain.")
@click.option("--run", metavar="RUN", help="Run to explain. [default: every run]")
@click.option("--baseline", metavar="RUN", help="Also show what changed since this run.")
@click.option("--baseline-date", metavar="YYYY-MM-DD", help="Also show what changed since this night.")
@click.option("--dataset", metavar="NAME", help="Dataset of the query, if there are several.")
@click.option("--cutoff", metavar="RANK", help="A rank, or all. [default: that of the headline, or 10]")
@options.output_format("table", "json", "markdown", "html")
def explain(
    query: str,
    run: str | None,
    baseline: str | None,
    baseline_date: str | None,
    dataset: str | None,
    cutoff: str | None,
    style: str,
    **arguments: Any,
) -> None:
    """Explain the score of one query, document by document.

    Takes judgments and results, or a folder with a published night and its documents (--date, else the newest).

    Shows what each document adds and loses, and which relevant documents are missing.
    """
    from ndcg_spark.explanation.facts import ExplainRequest
    from ndcg_spark.report.explanations import print_explanations
    from ndcg_spark.report.progress import shown_steps

    request = ExplainRequest(query, run, baseline, dataset, cutoff, baseline_date)
    if is_night(arguments):
        from ndcg_spark.job.explain_night import explain_night

        explained = explain_night(arguments["paths"][0], arguments["date"], request)
    elif baseline_date is not None:
        raise ConfigurationError("arguments: --baseline-date is for published nights; give their folder alone")
    else:
        from ndcg_spark.job.explain import explain_query

        with shown_steps(style):
            explained = explain_query(load_arguments(arguments), request)
    print_explanations(explained, style)
