"""The scores of checked tables are written and verified, judged by the gate if there is one, and published."""

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from ndcg_spark import slices
from ndcg_spark.contract.check import CheckedTables
from ndcg_spark.gate.verdict import Verdict
from ndcg_spark.inputs.read import refuse_changed
from ndcg_spark.job.outcome import night_record
from ndcg_spark.job.scores import (
    MeansOf,
    evaluating,
    refuse_scores,
    results_to_score,
    runs_table,
    scores_by_part,
    shown_columns,
    sorted_rows,
)
from ndcg_spark.job.setup import Context
from ndcg_spark.nights.expire import remove, waste
from ndcg_spark.nights.publish import Publication
from ndcg_spark.schemas import RANKED_DOCUMENTS, query_key
from ndcg_spark.scoring.evaluation import (
    Evaluation,
    dataset_scores,
    kept_attributes,
    ranked_documents,
    rejected_rows,
)
from ndcg_spark.scoring.ideal import ideal_sizes, judged_documents
from ndcg_spark.steps import report_step

_LIST = ["dataset", "run", "query_id"]


def publish(context: Context, checked: CheckedTables, output: str) -> tuple[MeansOf, list[Verdict]]:
    """Publish the scores of checked tables; returns the dataset scores, and the verdict on each night."""
    config, evaluation, session = context.config, context.evaluation, context.engine.session
    for sentence in remove(output, waste(output)):
        report_step("removed", sentence)
    date = evaluation.evaluated_on.isoformat()
    verdicts: list[Verdict] = []
    of_datasets: Mapping[str, Mapping[str, Any]] = {}
    with Publication(output, date, evaluation.evaluation_id) as publication:
        counts = checked.counts(len(evaluation.cutoffs))
        means = _write(context, checked, publication, counts)
        refuse_scores(context, checked, means)
        if config.gate is not None:
            # Imported here, because an evaluation without a gate need not wait for statistics.
            from ndcg_spark.job.gate import gate_written

            with context.clock.step("compare", "comparing with the baselines of the gate"):
                most = config.documents if isinstance(config.documents, int) else 0
                verdicts, of_datasets, changed = gate_written(
                    config.gate, context, checked, publication, output, means[0], most
                )
            if changed:
                with context.clock.step("documents", "keeping the documents of the queries that changed most"):
                    _write_documents(publication, checked, evaluation, session, _lists_table(changed, session))
                report_step("documents", f"kept for {len(changed):,} lists that changed most")
        scores = f"{counts['query_scores']:,} query scores, {counts['dataset_scores']:,} dataset scores"
        scores += f", {len(means[1]):,} slice scores" if means[1] else ""
        report_step("scored", scores)
        context.release()
        with context.clock.step("publish", "publishing"):
            datasets = {row["dataset"] for row in means[0]}
            superseded = publication.commit(night_record(context, checked), datasets, of_datasets)
    report_step("wrote", f"{output} ({evaluation.evaluation_id})")
    for sentence in superseded:
        report_step("superseded", sentence)
    if verdicts:
        from ndcg_spark.job.gate import report_verdicts

        report_verdicts(verdicts)
    if context.consumer:
        context.consumer.consume(publication.read("query_scores", session), context.slices.attributes)
    return means, verdicts


def _write(context: Context, checked: CheckedTables, publication: Publication, counts: Mapping[str, int]) -> MeansOf:
    """Write and verify every table that needs no gate; returns the dataset scores, read back from the output."""
    evaluation, clock, session = context.evaluation, context.clock, context.engine.session
    runs = runs_table(context.engine, checked)
    with clock.step("evaluate", evaluating(checked)):
        for scores, _ in scores_by_part(context.engine, checked, evaluation):
            publication.write("query_scores", scores)
        # This comes before rows are counted: if a changed input is why there are too few, the storage is not at fault.
        refuse_changed(context.sources)
        publication.verify("query_scores", counts["query_scores"])
    with clock.step("aggregate", "averaging the query scores"):
        written = publication.read("query_scores", session)
        table = dataset_scores(written, runs, evaluation, context.slices.of_queries)
        rows = [row.asDict() for row in table.collect()]
        # Every list of nights reads this small table. An engine may write several files, and this is one.
        publication.write_rows("dataset_scores", rows)
        means = sorted_rows(rows, shown_columns(context))
        publication.verify("dataset_scores", counts["dataset_scores"] + len(means[1]))
    if context.config.documents == "all":
        with clock.step("documents", "keeping the documents"):
            _write_documents(publication, checked, evaluation, session)
    if context.slices.attributes is not None:
        attributes = kept_attributes(slices.long(context.slices.attributes), checked.judgments, evaluation)
        publication.write("query_attributes", attributes)
        publication.verify("query_attributes", attributes.count())
    if checked.rejected:
        with clock.step("reject", "keeping the rejected rows"):
            publication.write("rejected_rows", rejected_rows(checked.rejected, checked.datasets, evaluation))
            publication.verify("rejected_rows", sum(breach.rows for breach in checked.breaches))
    return means


def _write_documents(
    publication: Publication,
    checked: CheckedTables,
    evaluation: Evaluation,
    session: SparkSession,
    lists: DataFrame | None = None,
) -> None:
    """Write the table RANKED_DOCUMENTS where the query scores already are, part by part, and verify its rows.

    `lists` are those that are kept, by dataset, run and query_id, each with the ideal ranking of its query; by default
    all are. There must be as many rows as the query scores say were returned, and as many as the ideal rankings are
    deep.
    """
    key = query_key(checked.judgments.columns)
    judgments = checked.published_judgments
    queries = None if lists is None else lists.select(*key).distinct()
    if queries is not None:
        judgments = judgments.join(queries, on=key, how="left_semi")
    for number, part in enumerate(checked.parts):
        # Pruning by ranks drops documents that tie with the last one, if ranks break ties.
        whole = evaluation.convention.ties == "rank"
        results = results_to_score(part, part.results if whole else part.needed_results)
        if queries is not None:
            results = results.join(queries, on=key, how="left_semi")
        documents = ranked_documents(judgments, results, evaluation, with_ideal=number == 0)
        if lists is not None:
            # Rows without a run belong to the ideal rankings.
            marked = documents.join(lists.withColumn("kept", F.lit(True)), on=_LIST, how="left")
            documents = marked.where(F.col("run").isNull() | F.col("kept").isNotNull()).select(*RANKED_DOCUMENTS.names)
        publication.write("ranked_documents", documents)
    depth = evaluation.deepest_finite
    at_depth = F.col("cutoff").isNull() if depth is None else F.col("cutoff") == depth
    scores = publication.read("query_scores", session).where(at_depth)
    if lists is not None:
        scores = scores.join(lists, on=_LIST, how="left_semi")
    rows = scores.agg(F.sum("returned")).collect()[0][0] or 0
    publication.verify("ranked_documents", rows + _ideal_rows(judgments, evaluation))


def _ideal_rows(judgments: DataFrame, evaluation: Evaluation) -> int:
    """How many rows the ideal rankings of these judgments have."""
    if evaluation.convention.ideal == "retrieved":
        return 0
    key = query_key(judgments.columns)
    judged = judged_documents(judgments, key, evaluation.convention)
    sizes = ideal_sizes(judged, key, evaluation.deepest_finite)
    return int(sizes.agg(F.sum("ranks")).collect()[0][0] or 0)


def _lists_table(lists: Sequence[tuple[str, str, str]], session: SparkSession) -> DataFrame:
    """One row per list: dataset, run, query_id."""
    columns = zip(_LIST, zip(*lists, strict=True), strict=True)
    return session.createDataFrame(pa.table({name: pa.array(values, pa.string()) for name, values in columns}))
