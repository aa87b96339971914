"""The commands `check` and `judge-next`: what the input contains, and which documents to judge next."""

from typing import Any

import click

from ndcg_spark.cli import options
from ndcg_spark.cli.command import EXIT_CODES, Command
from ndcg_spark.cli.configuration import is_night, load_arguments

#: The options about scores, which a check does not compute, and those that do not apply to a list of documents.
_OF_SCORES = ("output", "documents", "cutoffs", "measures", "dataset")
_OF_MEASURES = ("output", "documents", "measures")


@click.command(cls=Command, epilog=EXIT_CODES)
@options.of_evaluations(*_OF_SCORES)
@options.output_format("table", "json")
def check(style: str, **arguments: Any) -> None:
    """Validate judgments and results without scoring them.

    Unlike an evaluation, this looks for duplicates everywhere, not only where they could change a score.
    """
    from ndcg_spark.job.check import check_inputs
    from ndcg_spark.report.progress import shown_steps
    from ndcg_spark.report.scores import print_check

    config = load_arguments(arguments)
    with shown_steps(style):
        counts = check_inputs(config)
    print_check(counts, style)


@click.command("judge-next", cls=Command, epilog=EXIT_CODES)
@options.of_evaluations(*_OF_MEASURES)
@options.number("--documents", "N", "Number of documents, those that matter most first.", click.IntRange(min=1), 100)
@options.output_format(*options.FORMATS)
def judge_next(documents: int, style: str, **arguments: Any) -> None:
    """List the unjudged documents that matter most to the runs.

    Takes judgments and results, or a folder with a published night and its documents (--date, else the newest; --run
    and --dataset choose of these). These are the documents that most runs rank highest, within the deepest cutoff.
    Judging tools can load the output of --format csv.
    """
    from ndcg_spark.report.progress import shown_steps
    from ndcg_spark.report.scores import print_documents

    chosen = {name: arguments[name] for name in ("date", "dataset", "run")}
    if is_night({**arguments, **dict.fromkeys(chosen)}):
        from ndcg_spark.job.night_pool import unjudged_documents

        print_documents(unjudged_documents(arguments["paths"][0], documents, **chosen), style)
        return
    from ndcg_spark.job.annotation_pool import documents_to_judge

    config = load_arguments(arguments)
    with shown_steps(style):
        rows = documents_to_judge(config, documents)
    print_documents(rows, style)
