"""The scores of checked tables are staged, judged by the gate if there is one, and published."""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ndcg_spark import interrupts
from ndcg_spark.contract import limits
from ndcg_spark.contract.tables import CheckedTables
from ndcg_spark.gate.verdict import Verdict
from ndcg_spark.inputs.unchanged import refuse_changed
from ndcg_spark.job import under_way
from ndcg_spark.job.documents import MOST_LOST, queries_table, stage_documents
from ndcg_spark.job.gate import GatedNights, report_verdicts
from ndcg_spark.job.outcome import sorted_rows
from ndcg_spark.job.preparing import runs_table, scores_of
from ndcg_spark.job.record import commit_record
from ndcg_spark.job.work import Work, refuse_scores, shown_columns
from ndcg_spark.nights.expire import remove, waste
from ndcg_spark.nights.publish import Publication
from ndcg_spark.schemas import DATASET_SCORES, QUERY_SCORES
from ndcg_spark.scoring.evaluation import dataset_scores, rejected_rows


def published(work: Work, checked: CheckedTables, output: str) -> tuple[list[dict[str, Any]], Sequence[Verdict]]:
    """The dataset scores of checked tables, which are published, and the verdict on each night."""
    counts = checked.counts(len(work.evaluation.cutoffs))
    limits.refuse_names([name for name in checked.datasets if name is not None] or [work.config.dataset])
    for sentence in remove(output, waste(output)):
        work.tell("recover", sentence)
    publication = Publication(output, work.evaluation.evaluation_id)
    with _abandoning(publication):
        with interrupts.cleaned_up_by(publication.abandon):
            rows = _staged(work, checked, publication, counts)
            refuse_scores(work, checked, rows)
            judged = _gated(work, checked, publication, output, rows)
            _keep_worst(work, checked, publication, judged)
        work.tell("scored", f"{counts['query_scores']:,} query scores, {counts['dataset_scores']:,} dataset scores")
        work.release()
        with work.clock.step("publish", under_way.PUBLISHING), interrupts.committing(output):
            record = commit_record(
                work.config, work.evaluation, work.engine, work.sources, checked, work.clock.with_total()
            )
            superseded = publication.commit(record, judged.of_records)
    work.tell("wrote", f"{output} ({work.evaluation.evaluation_id})")
    for sentence in superseded:
        work.tell("superseded", sentence)
    report_verdicts(judged.verdicts, work.tell)
    if work.wanted:
        work.wanted.hand_over_night(output, work.evaluation.evaluation_id, work.engine.session)
    return rows, judged.verdicts


def _gated(
    work: Work, checked: CheckedTables, publication: Publication, output: str, rows: list[dict[str, Any]]
) -> GatedNights:
    """The verdicts on what is staged; none without a gate."""
    gate = work.config.gate
    if gate is None:
        return GatedNights((), {})
    # Imported here, because an evaluation without a gate need not wait for statistics.
    from ndcg_spark.job.gate_nights import gate_staged

    with work.clock.step("compare", under_way.COMPARING):
        session, slices = work.engine.session, work.slices
        lost = MOST_LOST if work.config.documents == "worst" else 0
        return gate_staged(
            gate, publication, output, session, work.evaluation, checked, rows, slices, work.accepted, lost
        )


def _keep_worst(work: Work, checked: CheckedTables, publication: Publication, judged: GatedNights) -> None:
    """Stage the documents of the queries that lost most, if they are to be kept and there are such queries."""
    if work.config.documents == "worst" and judged.lost:
        session = work.engine.session
        with work.clock.step("documents", under_way.DOCUMENTS):
            stage_documents(publication, checked, work.evaluation, session, queries_table(judged.lost, session))
        work.tell("documents", f"kept for {len(judged.lost):,} lists, of the queries that lost most")


def _staged(
    work: Work, checked: CheckedTables, publication: Publication, counts: Mapping[str, int]
) -> list[dict[str, Any]]:
    """The dataset scores, read back from staging, after every table was written there and verified."""
    evaluation, clock, session = work.evaluation, work.clock, work.engine.session
    runs = runs_table(work.engine, checked)
    with clock.step("evaluate", under_way.evaluating(checked)):
        scores = scores_of(checked, runs, evaluation)
        publication.stage("query_scores", scores)
        # Before rows are counted: where they are too few for this, it is no fault of the storage.
        refuse_changed(work.sources, work.stamps)
        publication.verify("query_scores", counts["query_scores"])
    with clock.step("aggregate", under_way.AVERAGING):
        staged = publication.read("query_scores", session, QUERY_SCORES)
        publication.stage("dataset_scores", dataset_scores(staged, runs, evaluation))
        publication.verify("dataset_scores", counts["dataset_scores"])
        rows = sorted_rows(publication.rows("dataset_scores", DATASET_SCORES), shown_columns(work))
    if work.config.documents == "top":
        with clock.step("documents", under_way.DOCUMENTS):
            stage_documents(publication, checked, evaluation, session)
    if checked.rejected:
        with clock.step("reject", under_way.REJECTED):
            rejects = rejected_rows(checked.rejected, checked.datasets, evaluation)
            publication.stage("rejected_rows", rejects)
            publication.verify("rejected_rows", sum(breach.rows for breach in checked.breaches))
    return rows


@contextlib.contextmanager
def _abandoning(publication: Publication) -> Iterator[None]:
    """Remove what was staged if the block fails."""
    try:
        yield
    except BaseException:
        with contextlib.suppress(Exception):
            publication.abandon()
        raise
