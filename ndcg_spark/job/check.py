"""The input is validated without being scored."""

import dataclasses
from typing import Any

from ndcg_spark.config import EvaluationConfig
from ndcg_spark.contract.check import check_tables
from ndcg_spark.contract.duplicates import refuse_duplicates
from ndcg_spark.convention.measures import NDCG_ONLY
from ndcg_spark.job.failures import translated_failures
from ndcg_spark.job.progress import report_rows_read, warn_of_input
from ndcg_spark.job.scores import (
    counted_refusals,
    refuse_unjudged,
    scores_by_part,
    sorted_rows,
)
from ndcg_spark.job.setup import context_of, engine_for
from ndcg_spark.scoring.evaluation import dataset_scores
from ndcg_spark.steps import report_step

_RATE = ("dataset", "run", "cutoff", "judged_rate")


def check_inputs(config: EvaluationConfig) -> dict[str, Any]:
    """Validate both tables by the rules of the configured convention: for JSON.

    Returns `counts`, `rejected`, `datasets_without_results` and `judged_rate`.

    Raises
    ------
    InputError
        More rows break a rule than the budget allows, or a limit is exceeded. A document that occurs twice for one
        query breaks a rule at any depth here, unless an option merges its rows.
    """
    with engine_for(config) as engine:
        report_step("engine", engine.name)
        context = context_of(engine, config)
        sources, config = context.sources, context.config
        deepest = dataclasses.replace(context.evaluation, cutoffs=config.cutoffs[-1:], measures=NDCG_ONLY)
        with translated_failures(sources):
            checked = check_tables(*sources, config)
            refuse_duplicates(checked, *sources, config.convention)
        report_rows_read(sources, checked)
        warn_of_input(sources, checked, config)
        with counted_refusals(context, checked, deepest):
            parts = scores_by_part(engine, checked, deepest)
            means = (dataset_scores(scores, runs, deepest).select(*_RATE) for scores, runs in parts)
            rates = [row for of_part in means for row in of_part.collect()]
    rows, _ = sorted_rows(rates, _RATE)
    refuse_unjudged(context, rows)
    counts = {name: count for name, count in checked.counts(0).items() if not name.endswith("_scores")}
    return {
        "counts": counts,
        "rejected": [dataclasses.asdict(breach) for breach in checked.breaches],
        "datasets_without_results": checked.datasets_without_results,
        "judged_rate": rows,
    }
