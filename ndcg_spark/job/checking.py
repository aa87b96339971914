"""The commands that score nothing: hold the input to its rules, or say how an evaluation would be computed."""

import contextlib
import dataclasses
import io
from typing import Any

from ndcg_spark.config import EvaluationConfig
from ndcg_spark.contract import validation
from ndcg_spark.engine import open_engine
from ndcg_spark.job.failures import PlanRefusedError, counted, explained
from ndcg_spark.job.outcome import Tell, refuse_unjudged, rejected, sorted_rows, tell_what_was_read
from ndcg_spark.job.preparing import evaluation_of, runs_table, sources_of
from ndcg_spark.scoring import evaluation
from ndcg_spark.scoring.in_words import steps

_RATE = ("dataset", "run", "cutoff", "judged_rate")


def check(config: EvaluationConfig, tell: Tell) -> dict[str, Any]:
    """Hold both tables to the rules of the configured convention: `counts`, `rejected` and `judged_rate`.

    Raises
    ------
    InputError
        More rows break a rule than the budget allows, or a limit is passed. Documents that stand twice anywhere in a
        table break one here, unless an option merges them.
    """
    with open_engine(config.engine, config.remote) as opened:
        tell("engine", opened.name)
        sources = sources_of(opened, config)
        plan = dataclasses.replace(evaluation_of(opened, config), cutoffs=config.cutoffs[-1:])
        with explained(sources):
            checked = validation.without_duplicates(validation.check(*sources, config), *sources, config)
        tell_what_was_read(sources, checked, tell)
        runs = runs_table(opened, checked)
        try:
            with explained(sources):
                per_query = evaluation.query_scores(checked.judgments, checked.listed, runs, plan)
                rates = evaluation.dataset_scores(per_query, runs, plan).select(*_RATE).collect()
        except PlanRefusedError as refusal:
            with explained(sources):
                raise counted(refusal, checked, runs, plan) from refusal
    rows = sorted_rows(rates, _RATE)
    refuse_unjudged(rows, config)
    counts = {name: count for name, count in checked.counts(0).items() if not name.endswith("_scores")}
    return {"counts": counts, "rejected": rejected(checked), "judged_rate": rows}


def explain(config: EvaluationConfig) -> str:
    """How the evaluation would be computed: what is cut where and why, in words, and the engine's plan. No action."""
    with open_engine(config.engine, config.remote) as opened:
        tables = validation.typed(*sources_of(opened, config), config)
        plan = evaluation_of(opened, config)
        runs = evaluation.count_unjudged_queries(*tables)
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            evaluation.query_scores(*tables, runs, plan).explain()
        numbered = [f"{number}. {step}" for number, step in enumerate(steps(plan), start=1)]
        return "\n".join([opened.name, *numbered, "", printed.getvalue().strip()])
