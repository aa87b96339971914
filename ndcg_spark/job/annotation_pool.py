"""The unjudged documents to judge next; the input is checked as for an evaluation, but nothing is published."""

from typing import Any

from pyspark.sql import functions as F

from ndcg_spark.config import EvaluationConfig
from ndcg_spark.contract.check import check_tables
from ndcg_spark.contract.duplicates import refuse_duplicates
from ndcg_spark.job.failures import translated_failures
from ndcg_spark.job.progress import report_rows_read
from ndcg_spark.job.scores import results_to_score
from ndcg_spark.job.setup import context_of, engine_for
from ndcg_spark.schemas import TO_JUDGE
from ndcg_spark.scoring.evaluation import to_judge
from ndcg_spark.steps import report_step
from ndcg_spark.tables.sorting import DECIMALS


def documents_to_judge(config: EvaluationConfig, most: int) -> list[dict[str, Any]]:
    """The first rows of TO_JUDGE, at most `most`, the largest weight first, then by dataset, query and document.

    Documents that `unjudged=drop` removes from their lists are included, at their ranks in the results.

    Raises
    ------
    NdcgSparkError
        As an evaluation does.
    """
    with engine_for(config) as engine:
        report_step("engine", engine.name)
        context = context_of(engine, config)
        sources, config = context.sources, context.config
        # Lists without their unjudged documents would have none to find.
        evaluation = context.evaluation.under(config.convention.replace(unjudged="zero"))
        with translated_failures(sources):
            checked = check_tables(*sources, config)
            # No list is scored here, which would meet a document that is returned twice.
            refuse_duplicates(checked, *sources, config.convention)
            report_rows_read(sources, checked)
            table = to_judge(checked.judgments, results_to_score(checked, checked.needed_results), evaluation)
            first = (
                table.orderBy(F.round("weight", DECIMALS).desc(), "dataset", "query_id", "doc_id").limit(most).collect()
            )
    return [{name: row[name] for name in TO_JUDGE.names} for row in first]
