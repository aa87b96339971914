"""The unjudged documents to judge next; the input is checked as for an evaluation, but nothing is published."""

from typing import Any

from pyspark.sql import functions as F

from ndcg_spark.config import EvaluationConfig
from ndcg_spark.contract.check import check_tables
from ndcg_spark.job.adapting import adapted
from ndcg_spark.job.duplicates import without_duplicates
from ndcg_spark.job.failures import translated_failures
from ndcg_spark.job.outcome import Tell, tell_rows_read
from ndcg_spark.job.preparing import engine_for, evaluation_of, results_of, sources_of
from ndcg_spark.schemas import TO_JUDGE
from ndcg_spark.scoring.evaluation import to_judge
from ndcg_spark.tables.sorting import DECIMALS


def documents_to_judge(config: EvaluationConfig, most: int, tell: Tell) -> list[dict[str, Any]]:
    """The first rows of TO_JUDGE, at most `most`, the largest weight first, then by dataset, query and document.

    Documents that `unjudged=drop` takes off their lists are among them, at the ranks which they have in the results.

    Raises
    ------
    NdcgSparkError
        As an evaluation does.
    """
    with engine_for(config) as opened:
        tell("engine", opened.name)
        sources = sources_of(opened, config)
        config = adapted(config, sources, tell)
        evaluation = evaluation_of(opened, config)
        # On a list that unjudged documents have left there are none to find.
        evaluation = evaluation.under(config.convention.replace(unjudged="zero"))
        with translated_failures(sources):
            # No sum of a list is computed here, which would meet a document that is returned twice.
            checked = without_duplicates(check_tables(*sources, config), sources, config)
            tell_rows_read(sources, checked, tell)
            table = to_judge(checked.judgments, results_of(checked, evaluation), evaluation)
            first = (
                table.orderBy(F.round("weight", DECIMALS).desc(), "dataset", "query_id", "doc_id").limit(most).collect()
            )
    return [{name: row[name] for name in TO_JUDGE.names} for row in first]
