"""Two commands that publish no scores: check the input, and explain how an evaluation would be computed."""

import contextlib
import dataclasses
import io
from typing import Any

from ndcg_spark.config import EvaluationConfig
from ndcg_spark.contract import exclusions
from ndcg_spark.contract.check import check_tables, typed_tables
from ndcg_spark.convention.measures import NDCG_ONLY
from ndcg_spark.job import late_inputs
from ndcg_spark.job.adapting import adapted
from ndcg_spark.job.duplicates import without_duplicates
from ndcg_spark.job.failures import PlanRefusedError, counted, translated_failures
from ndcg_spark.job.noticing import tell_doubts, tell_unjudged_runs
from ndcg_spark.job.outcome import Tell, refuse_unjudged, rejected, sorted_rows, tell_rows_read
from ndcg_spark.job.preparing import engine_for, evaluation_of, runs_table, scores_of, sources_of
from ndcg_spark.scoring.evaluation import count_unjudged_queries, dataset_scores, query_scores
from ndcg_spark.scoring.lists import of_judged_queries
from ndcg_spark.scoring.plan_description import steps

_RATE = ("dataset", "run", "cutoff", "judged_rate")


def check(config: EvaluationConfig, tell: Tell) -> dict[str, Any]:
    """Hold both tables to the rules of the configured convention: `counts`, `rejected` and `judged_rate`, for JSON.

    Raises
    ------
    InputError
        More rows break a rule than the budget allows, or a limit is exceeded. A document that occurs twice for one
        query breaks a rule at any depth here, unless an option merges its rows.
    """
    with engine_for(config) as opened:
        tell("engine", opened.name)
        late_inputs.wait(opened, config, tell)
        sources = sources_of(opened, config)
        config = adapted(config, sources, tell)
        deepest = dataclasses.replace(evaluation_of(opened, config), cutoffs=config.cutoffs[-1:], measures=NDCG_ONLY)
        with translated_failures(sources):
            checked = check_tables(*sources, config)
        checked = without_duplicates(checked, sources, config)
        tell_rows_read(sources, checked, tell)
        tell_doubts(sources, checked, config, tell)
        runs = runs_table(opened, checked)
        try:
            with translated_failures(sources):
                per_query = scores_of(checked, runs, deepest)
                rates = dataset_scores(per_query, runs, deepest).select(*_RATE).collect()
        except PlanRefusedError as refusal:
            with translated_failures(sources):
                raise counted(refusal, checked, runs, deepest) from refusal
    rows = sorted_rows(rates, _RATE)
    refuse_unjudged(rows, config)
    tell_unjudged_runs(rows, config, tell)
    counts = {name: count for name, count in checked.counts(0).items() if not name.endswith("_scores")}
    return {"counts": counts, "rejected": rejected(checked), "judged_rate": rows}


def explain(config: EvaluationConfig) -> str:
    """How the evaluation would be computed: its steps in words, then the engine's plan. Nothing is computed."""
    with engine_for(config) as opened:
        sources = sources_of(opened, config)
        config = adapted(config, sources, lambda *_: None)
        judgments, results = typed_tables(*sources, config)
        excluded = sources[1].without
        results = exclusions.remove_excluded(results, excluded) if excluded else results
        evaluation = evaluation_of(opened, config)
        runs = count_unjudged_queries(judgments, results)
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            query_scores(judgments, of_judged_queries(results, judgments), runs, evaluation).explain()
        numbered = [f"{number}. {step}" for number, step in enumerate(steps(evaluation), start=1)]
        return "\n".join([opened.name, *numbered, "", printed.getvalue().strip()])
