"""`ndcg-spark judge-next`: which documents to have judged next."""

from typing import TYPE_CHECKING, Annotated

import typer

from ndcg_spark.options import Json, OutputFormat
from ndcg_spark.report.saying import silent
from ndcg_spark.report.streams import printing

if TYPE_CHECKING:
    from ndcg_spark.config import EvaluationConfig


def judge_next(
    config: "EvaluationConfig",
    documents: Annotated[int, typer.Option(min=1, help="How many documents, the most telling first.")] = 100,
    format_: OutputFormat = None,
    json_: Json = False,
) -> None:
    """List the unjudged documents that matter most to the runs.

    Those are the ones that stand highest in most runs, within the deepest cutoff. With --format csv it is a file that a
    judging tool can load.
    """
    from ndcg_spark.job.annotation_pool import documents_to_judge
    from ndcg_spark.report import formats
    from ndcg_spark.report.terminal import Progress
    from ndcg_spark.report.to_judge import print_documents

    style = formats.chosen(format_, json_)
    with Progress(silent(style)).running() as progress:
        found = documents_to_judge(config, documents, progress.tell)
    with printing():
        print_documents(found, style)
