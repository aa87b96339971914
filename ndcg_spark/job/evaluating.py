"""One evaluation from its configuration to printed or published scores: read, check, evaluate, publish."""

import contextlib
import dataclasses
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ndcg_spark import interrupts
from ndcg_spark.config import EvaluationConfig
from ndcg_spark.contract import thresholds, validation
from ndcg_spark.contract.checked import Checked
from ndcg_spark.engine import Engine, open_engine
from ndcg_spark.inputs.unchanged import Stamp, refuse_changed, stamps_of
from ndcg_spark.job.clock import Clock
from ndcg_spark.job.failures import PlanRefusedError, counted, explained
from ndcg_spark.job.outcome import (
    Outcome,
    Tell,
    refuse_unjudged,
    rejected,
    sorted_rows,
    tell_what_was_read,
    tell_what_was_rejected,
)
from ndcg_spark.job.preparing import Sources, evaluation_of, runs_table, sources_of
from ndcg_spark.job.record import commit_record
from ndcg_spark.nights import recovery
from ndcg_spark.nights.publication import Publication
from ndcg_spark.schemas import DATASET_SCORES, QUERY_SCORES
from ndcg_spark.scoring import evaluation
from ndcg_spark.scoring.evaluation import Evaluation


@dataclasses.dataclass(frozen=True)
class _Work:
    """One evaluation on its way."""

    engine: Engine
    config: EvaluationConfig
    sources: Sources
    #: The files of both tables as they were before they were checked.
    stamps: dict[str, Stamp]
    plan: Evaluation
    tell: Tell
    clock: Clock
    #: What is called when the engine has done its work.
    release: Callable[[], object]


def run(config: EvaluationConfig, tell: Tell) -> Outcome:
    """Evaluate as configured; the outcome's scores are published if the configuration names an output.

    Raises
    ------
    NdcgSparkError
        Of the class that tells the exit code; nothing was published then.
    """
    clock = Clock()
    with contextlib.ExitStack() as stack:
        with clock.step("engine"):
            opened = stack.enter_context(open_engine(config.engine, config.remote))
        tell("engine", opened.name)
        return run_on(opened, config, tell, clock, release=opened.close)


def run_on(
    opened: Engine,
    config: EvaluationConfig,
    tell: Tell,
    clock: Clock,
    release: Callable[[], object] = lambda: None,
) -> Outcome:
    """Evaluate as configured, on an engine that is open and stays so. Raises as `run`.

    `release` is called when the engine has done its work and only publishing is left.
    """
    with clock.step("read"):
        sources = sources_of(opened, config)
    work = _Work(opened, config, sources, stamps_of(sources), evaluation_of(opened, config), tell, clock, release)
    with clock.step("check"), explained(sources):
        checked = validation.check(*sources, config)
    tell_what_was_read(sources, checked, tell)
    try:
        return _outcome(work, checked)
    except PlanRefusedError as refusal:
        if not refusal.is_of_duplicates:
            with explained(sources):
                raise counted(refusal, checked, runs_table(opened, checked), work.plan) from refusal
    with clock.step("check again"), explained(sources):
        checked = validation.without_duplicates(checked, *sources, config)
    tell_what_was_rejected(sources, checked, tell)
    return _outcome(work, checked)


def _outcome(work: _Work, checked: Checked) -> Outcome:
    config = work.config
    output = config.dated(config.output) if config.output else None
    with explained(work.sources):
        rows = _collected(work, checked) if output is None else _published(work, checked, output)
    return Outcome(
        work.plan.evaluation_id,
        config.convention.label,
        config.convention.formula,
        work.engine.name,
        rows,
        checked.counts(len(config.cutoffs)),
        rejected(checked),
        output,
        work.clock.with_total(),
    )


def _collected(work: _Work, checked: Checked) -> list[dict[str, Any]]:
    """The dataset scores of checked tables, computed in one plan and kept nowhere."""
    plan, runs = work.plan, runs_table(work.engine, checked)
    with work.clock.step("evaluate"):
        per_query = evaluation.query_scores(checked.judgments, checked.listed, runs, plan)
        rows = sorted_rows(evaluation.dataset_scores(per_query, runs, plan).collect())
    _refuse(work, checked, rows)
    return rows


def _published(work: _Work, checked: Checked, output: str) -> list[dict[str, Any]]:
    """The dataset scores of checked tables, read back from what was published."""
    counts = checked.counts(len(work.plan.cutoffs))
    thresholds.refuse_names([name for name in checked.datasets if name is not None] or [work.config.dataset])
    for sentence in recovery.recover(output):
        work.tell("recover", sentence)
    publication = Publication(output, work.plan.evaluation_id)
    with _abandoning(publication):
        with interrupts.cleaned_up_by(publication.abandon):
            rows = _staged(work, checked, publication, counts)
            _refuse(work, checked, rows)
        work.tell("scored", f"{counts['query_scores']:,} query scores, {counts['dataset_scores']:,} dataset scores")
        # The engine's port need not stay open while we wait for others that publish.
        work.release()
        with work.clock.step("publish"), interrupts.committing(output):
            record = commit_record(work.config, work.plan, work.engine, work.sources, checked, work.clock.seconds)
            publication.commit(record)
    work.tell("wrote", f"{output} ({work.plan.evaluation_id})")
    return rows


def _staged(work: _Work, checked: Checked, publication: Publication, counts: Mapping[str, int]) -> list[dict[str, Any]]:
    """The dataset scores, read back from staging, where every table is written and verified."""
    plan, clock, session = work.plan, work.clock, work.engine.session
    runs = runs_table(work.engine, checked)
    with clock.step("evaluate"):
        scores = evaluation.query_scores(checked.judgments, checked.listed, runs, plan)
        publication.stage("query_scores", scores)
        # Before rows are counted: where they are too few for this, it is no fault of the storage.
        refuse_changed(work.sources, work.stamps)
        publication.verify("query_scores", counts["query_scores"])
    with clock.step("aggregate"):
        staged = publication.read("query_scores", session, QUERY_SCORES)
        publication.stage("dataset_scores", evaluation.dataset_scores(staged, runs, plan))
        publication.verify("dataset_scores", counts["dataset_scores"])
        rows = sorted_rows(publication.read("dataset_scores", session, DATASET_SCORES).collect())
    if checked.rejected:
        with clock.step("reject"):
            rejects = evaluation.rejected_rows(checked.rejected, checked.datasets, plan)
            publication.stage("rejected_rows", rejects)
            publication.verify("rejected_rows", sum(breach.rows for breach in checked.breaches))
    return rows


def _refuse(work: _Work, checked: Checked, rows: list[dict[str, Any]]) -> None:
    """Refuse scores of tables that are not what was checked, and runs that too little is judged of."""
    refuse_changed(work.sources, work.stamps)
    thresholds.refuse_lost(checked.judged, checked.returned, rows)
    refuse_unjudged(rows, work.config)


@contextlib.contextmanager
def _abandoning(publication: Publication) -> Iterator[None]:
    """Leave nothing staged when an evaluation fails."""
    try:
        yield
    except BaseException:
        with contextlib.suppress(Exception):
            publication.abandon()
        raise
