"""One evaluation from its configuration to printed or published scores: read, check, evaluate, publish."""

import contextlib
import dataclasses
from collections.abc import Callable
from functools import partial
from typing import Any

from ndcg_spark.config import EvaluationConfig
from ndcg_spark.contract.check import check_tables
from ndcg_spark.contract.tables import CheckedTables
from ndcg_spark.engine import Engine
from ndcg_spark.inputs.unchanged import stamps_of
from ndcg_spark.job import late_inputs, under_way
from ndcg_spark.job.adapting import adapted, with_highest_grade
from ndcg_spark.job.clock import Clock
from ndcg_spark.job.duplicates import searched_if_met, without_duplicates
from ndcg_spark.job.failures import PlanRefusedError, counted, translated_failures
from ndcg_spark.job.gate import refuse_unusable
from ndcg_spark.job.handing_over import Taker
from ndcg_spark.job.noticing import tell_doubts
from ndcg_spark.job.outcome import (
    Outcome,
    Tell,
    rejected,
    sorted_rows,
    tell_rows_read,
    tell_rows_rejected,
)
from ndcg_spark.job.preparing import (
    engine_for,
    evaluation_of,
    runs_table,
    scores_of,
    slice_tables,
    sources_of,
)
from ndcg_spark.job.publishing import published
from ndcg_spark.job.under_way import Doing
from ndcg_spark.job.work import Work, refuse_scores, shown_columns
from ndcg_spark.scoring.evaluation import dataset_scores


def run(
    config: EvaluationConfig,
    tell: Tell,
    wanted: Taker | None = None,
    accepted: str | None = None,
    doing: Doing = lambda _: None,
) -> Outcome:
    """Evaluate as configured, and publish the scores if the configuration names an output.

    With a gate, the night is judged before it is published, and it is published whatever the verdict. `accepted` is
    why it is a baseline of later nights all the same.

    With `wanted`, the query scores are handed over: after a night is published, else after the dataset
    scores are computed, so that no row is handed over of an evaluation that is refused. `doing` is told what each
    step does when it begins.

    Raises
    ------
    NdcgSparkError
        Its class has the exit code. The message says so if anything was published.
    """
    clock = Clock(doing)
    refuse_unusable(config, accepted)
    with contextlib.ExitStack() as stack:
        with clock.step("engine", under_way.ENGINE):
            opened = stack.enter_context(engine_for(config))
        tell("engine", opened.name)
        if config.wait_for_input:
            with clock.step("wait", under_way.WAITING):
                late_inputs.wait(opened, config, tell)
        return run_on(opened, config, tell, clock, opened.close if wanted is None else lambda: None, wanted, accepted)


def run_on(
    opened: Engine,
    config: EvaluationConfig,
    tell: Tell,
    clock: Clock,
    release: Callable[[], object] = lambda: None,
    wanted: Taker | None = None,
    accepted: str | None = None,
) -> Outcome:
    """Evaluate as configured, on an engine that is open and stays so. Raises as `run`.

    `release` is called when the engine has done its work and only publishing is left.
    """
    with clock.step("read", under_way.LOOKING):
        sources, slices = sources_of(opened, config), slice_tables(opened, config)
    config = adapted(config, sources, tell)
    evaluation = evaluation_of(opened, config)
    work = Work(opened, config, sources, stamps_of(sources), evaluation, tell, clock, release, wanted, accepted, slices)
    with clock.step("check", under_way.reading(sources)), translated_failures(sources):
        checked = check_tables(*sources, config)
    config = with_highest_grade(config, checked.judgment_counts.best_grade)
    work = dataclasses.replace(work, config=config, evaluation=work.evaluation.under(config.convention))
    tell_rows_read(sources, checked, tell)
    tell_doubts(sources, checked, config, tell)
    if wanted:
        wanted.expect([run.run for run in checked.result_counts.runs])

    def search(checked: CheckedTables) -> CheckedTables:
        with clock.step("check again", under_way.reading(sources)):
            searched = without_duplicates(checked, sources, config)
        tell_rows_rejected(sources, searched, tell)
        return searched

    return searched_if_met(partial(_outcome, work), checked, search)


def _outcome(work: Work, checked: CheckedTables) -> Outcome:
    """The scores of checked tables. PlanRefusedError if duplicates must be looked for; raises as `run` otherwise."""
    try:
        return _scored(work, checked)
    except PlanRefusedError as refusal:
        if refusal.is_of_duplicates:
            raise
        with translated_failures(work.sources):
            raise counted(refusal, checked, runs_table(work.engine, checked), work.evaluation) from refusal


def _scored(work: Work, checked: CheckedTables) -> Outcome:
    config = work.config
    output = config.dated(config.output) if config.output else None
    with translated_failures(work.sources):
        rows, verdicts = (_collected(work, checked), ()) if output is None else published(work, checked, output)
    return Outcome(
        work.evaluation.evaluation_id,
        config.convention.label,
        config.convention.formula,
        work.engine.name,
        rows,
        checked.counts(len(config.cutoffs)),
        rejected(checked),
        output,
        work.clock.with_total(),
        config.measures,
        config.bounds,
        verdicts,
        config.headline,
    )


def _collected(work: Work, checked: CheckedTables) -> list[dict[str, Any]]:
    """The dataset scores of checked tables, not published."""
    runs = runs_table(work.engine, checked)
    with work.clock.step("evaluate", under_way.evaluating(checked)):
        per_query = scores_of(checked, runs, work.evaluation)
        rows = sorted_rows(dataset_scores(per_query, runs, work.evaluation).collect(), shown_columns(work))
    refuse_scores(work, checked, rows)
    if work.wanted:
        work.wanted.hand_over(per_query)
    return rows
