"""One evaluation from its configuration to printed or published scores: read, check, evaluate, publish."""

import contextlib
import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ndcg_spark import interrupts
from ndcg_spark.comparison.verdict import Verdict
from ndcg_spark.config import EvaluationConfig
from ndcg_spark.contract import thresholds, validation
from ndcg_spark.contract.checked import Checked
from ndcg_spark.engine import Engine
from ndcg_spark.inputs.unchanged import Stamp, refuse_changed, stamps_of
from ndcg_spark.job.adapting import adapted, with_highest_grade
from ndcg_spark.job.clock import Clock
from ndcg_spark.job.documents import stage_documents
from ndcg_spark.job.failures import PlanRefusedError, counted, translated_failures
from ndcg_spark.job.gating import Gated, gated, refuse_without_meaning, tell_verdicts
from ndcg_spark.job.handing_over import Taker
from ndcg_spark.job.noticing import tell_doubts, tell_unjudged_runs
from ndcg_spark.job.outcome import (
    Outcome,
    Tell,
    refuse_unjudged,
    rejected,
    sorted_rows,
    tell_rows_read,
    tell_rows_rejected,
)
from ndcg_spark.job.preparing import (
    SliceTables,
    Sources,
    engine_for,
    evaluation_of,
    runs_table,
    scores_of,
    slice_tables,
    sources_of,
)
from ndcg_spark.job.record import commit_record
from ndcg_spark.nights import recovery
from ndcg_spark.nights.publication import Publication
from ndcg_spark.schemas import DATASET_SCORES, QUERY_SCORES, measure_first
from ndcg_spark.scoring.evaluation import Evaluation, dataset_scores, rejected_rows


@dataclasses.dataclass(frozen=True)
class _Work:
    """One evaluation that is running: what it works on and with."""

    engine: Engine
    config: EvaluationConfig
    sources: Sources
    #: Size and time of every file before the tables were checked.
    stamps: dict[str, Stamp]
    evaluation: Evaluation
    tell: Tell
    clock: Clock
    #: What is called when the engine has done its work.
    release: Callable[[], object]
    #: To whom query scores are handed, if to anybody.
    wanted: Taker | None = None
    #: Why the nights are accepted as baselines of later ones, if they are.
    accepted: str | None = None
    #: What the comparisons of a gate are cut and weighted by.
    slices: SliceTables = dataclasses.field(default_factory=SliceTables)


def run(config: EvaluationConfig, tell: Tell, wanted: Taker | None = None, accepted: str | None = None) -> Outcome:
    """Evaluate as configured, and publish the scores if the configuration names an output.

    With a gate, the night is judged before it is published, and it is published whatever the verdict. `accepted` is
    why it is a baseline of later nights all the same.

    With `wanted`, the query scores are handed over: after a night is published, else after the dataset
    scores are computed, so that no row is handed over of an evaluation that is refused.

    Raises
    ------
    NdcgSparkError
        Its class has the exit code. The message says so if anything was published.
    """
    clock = Clock()
    refuse_without_meaning(config, accepted)
    with contextlib.ExitStack() as stack:
        with clock.step("engine"):
            opened = stack.enter_context(engine_for(config))
        tell("engine", opened.name)
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
    with clock.step("read"):
        sources, slices = sources_of(opened, config), slice_tables(opened, config)
    config = adapted(config, sources, tell)
    evaluation = evaluation_of(opened, config)
    work = _Work(
        opened, config, sources, stamps_of(sources), evaluation, tell, clock, release, wanted, accepted, slices
    )
    with clock.step("check"), translated_failures(sources):
        checked = validation.check(*sources, config)
    config = with_highest_grade(config, checked.judgment_counts.best_grade)
    work = dataclasses.replace(work, config=config, evaluation=work.evaluation.under(config.convention))
    tell_rows_read(sources, checked, tell)
    tell_doubts(sources, checked, config, tell)
    if wanted:
        wanted.expect([run.run for run in checked.result_counts.runs])
    try:
        return _outcome(work, checked)
    except PlanRefusedError as refusal:
        if not refusal.is_of_duplicates:
            raise
    # The search for duplicates costs a scan of each table, so it waits until one is known to matter.
    with clock.step("check again"), translated_failures(sources):
        checked = validation.without_duplicates(checked, *sources, config)
    tell_rows_rejected(sources, checked, tell)
    return _outcome(work, checked)


def _outcome(work: _Work, checked: Checked) -> Outcome:
    """The scores of checked tables. PlanRefusedError if duplicates must be looked for; raises as `run` otherwise."""
    try:
        return _scored(work, checked)
    except PlanRefusedError as refusal:
        if refusal.is_of_duplicates:
            raise
        with translated_failures(work.sources):
            raise counted(refusal, checked, runs_table(work.engine, checked), work.evaluation) from refusal


def _scored(work: _Work, checked: Checked) -> Outcome:
    config = work.config
    output = config.dated(config.output) if config.output else None
    with translated_failures(work.sources):
        rows, verdicts = (_collected(work, checked), ()) if output is None else _published(work, checked, output)
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
    )


def _collected(work: _Work, checked: Checked) -> list[dict[str, Any]]:
    """The dataset scores of checked tables, not published."""
    runs = runs_table(work.engine, checked)
    with work.clock.step("evaluate"):
        per_query = scores_of(checked, runs, work.evaluation)
        rows = sorted_rows(dataset_scores(per_query, runs, work.evaluation).collect(), _shown(work))
    _refuse(work, checked, rows)
    if work.wanted:
        work.wanted.hand_over(per_query)
    return rows


def _published(work: _Work, checked: Checked, output: str) -> tuple[list[dict[str, Any]], Sequence[Verdict]]:
    """The dataset scores of checked tables, which are published, and the verdict on each night."""
    counts = checked.counts(len(work.evaluation.cutoffs))
    thresholds.refuse_names([name for name in checked.datasets if name is not None] or [work.config.dataset])
    for sentence in recovery.recover(output):
        work.tell("recover", sentence)
    publication = Publication(output, work.evaluation.evaluation_id)
    with _abandoning(publication):
        with interrupts.cleaned_up_by(publication.abandon):
            rows = _staged(work, checked, publication, counts)
            _refuse(work, checked, rows)
            judged = _gated(work, checked, publication, output, rows)
        work.tell("scored", f"{counts['query_scores']:,} query scores, {counts['dataset_scores']:,} dataset scores")
        # The engine's port need not stay open while we wait for others that publish.
        work.release()
        with work.clock.step("publish"), interrupts.committing(output):
            record = commit_record(work.config, work.evaluation, work.engine, work.sources, checked, work.clock.seconds)
            publication.commit(record, judged.of_records)
    work.tell("wrote", f"{output} ({work.evaluation.evaluation_id})")
    tell_verdicts(judged.verdicts, work.tell)
    if work.wanted:
        work.wanted.hand_over_night(output, work.evaluation.evaluation_id, work.engine.session)
    return rows, judged.verdicts


def _gated(work: _Work, checked: Checked, publication: Publication, output: str, rows: list[dict[str, Any]]) -> Gated:
    """The verdicts on what is staged; none without a gate."""
    gate = work.config.gate
    if gate is None:
        return Gated((), {})
    with work.clock.step("compare"):
        session, slices = work.engine.session, work.slices
        return gated(gate, publication, output, session, work.evaluation, checked, rows, slices, work.accepted)


def _staged(work: _Work, checked: Checked, publication: Publication, counts: Mapping[str, int]) -> list[dict[str, Any]]:
    """The dataset scores, read back from staging, after every table was written there and verified."""
    evaluation, clock, session = work.evaluation, work.clock, work.engine.session
    runs = runs_table(work.engine, checked)
    with clock.step("evaluate"):
        scores = scores_of(checked, runs, evaluation)
        publication.stage("query_scores", scores)
        # Before rows are counted: where they are too few for this, it is no fault of the storage.
        refuse_changed(work.sources, work.stamps)
        publication.verify("query_scores", counts["query_scores"])
    with clock.step("aggregate"):
        staged = publication.read("query_scores", session, QUERY_SCORES)
        publication.stage("dataset_scores", dataset_scores(staged, runs, evaluation))
        publication.verify("dataset_scores", counts["dataset_scores"])
        rows = sorted_rows(publication.read("dataset_scores", session, DATASET_SCORES).collect(), _shown(work))
    if work.config.documents:
        with clock.step("documents"):
            stage_documents(publication, checked, evaluation, session)
    if checked.rejected:
        with clock.step("reject"):
            rejects = rejected_rows(checked.rejected, checked.datasets, evaluation)
            publication.stage("rejected_rows", rejects)
            publication.verify("rejected_rows", sum(breach.rows for breach in checked.breaches))
    return rows


def _shown(work: _Work) -> tuple[str, ...]:
    return measure_first(DATASET_SCORES, work.evaluation.asked.columns)


def _refuse(work: _Work, checked: Checked, rows: list[dict[str, Any]]) -> None:
    """InputError if the scores are not of the tables that were checked, or if too few documents are judged."""
    refuse_changed(work.sources, work.stamps)
    thresholds.refuse_lost(checked.judgment_counts, checked.result_counts, rows)
    refuse_unjudged(rows, work.config)
    tell_unjudged_runs(rows, work.config, work.tell)


@contextlib.contextmanager
def _abandoning(publication: Publication) -> Iterator[None]:
    """Remove what was staged if the block fails."""
    try:
        yield
    except BaseException:
        with contextlib.suppress(Exception):
            publication.abandon()
        raise
