"""The scores of checked tables are written and verified, judged by the gate if there is one, and published."""

import dataclasses
import platform
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
import pyspark
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

import ndcg_spark
from ndcg_spark.config import EvaluationConfig
from ndcg_spark.contract.changes import refuse_changed
from ndcg_spark.convention.measures import MEASURES, deepest_finite
from ndcg_spark.gate.settings import GateConfig
from ndcg_spark.gate.verdict import Verdict, unverified_verdict
from ndcg_spark.inputs.source_tables import Source
from ndcg_spark.job.acceptance import warn_if_ended
from ndcg_spark.job.inputs import (
    Context,
    Means,
    accepted_means,
    scores_by_batch,
    translated_failures,
)
from ndcg_spark.job.verify import verify
from ndcg_spark.nights.commit import Publication
from ndcg_spark.nights.expire import leftovers, remove
from ndcg_spark.nights.log import NOT_VERIFIED, committed
from ndcg_spark.schemas import query_key
from ndcg_spark.scoring.evaluation import dataset_scores, kept_attributes, ranked_documents, rejected_rows
from ndcg_spark.scoring.ideal import ideal_sizes, judged_documents
from ndcg_spark.scoring.lists import rows_with_keys
from ndcg_spark.steps import report_step
from ndcg_spark.text import masked_within

if TYPE_CHECKING:
    from ndcg_spark.comparison.matrix import QueryTables

_LIST = ["dataset", "run", "query_id"]


class Published(NamedTuple):
    """Scores that are published."""

    means: Means
    #: Reads the query scores.
    query_scores: Callable[[], DataFrame]
    #: A verdict per night; empty without a gate.
    verdicts: list[Verdict]
    #: What the log says of the spot check.
    verified: str


def publish(
    context: Context,
    tables: "QueryTables",
    output: str,
    accepted: str | None = None,
    unverified: str | None = None,
) -> Published:
    """Publish the scores, and what the gate says of them.

    `unverified` is the reason why scores are published that the spot check does not agree with.
    """
    config, evaluation, session = context.config, context.evaluation, context.engine.session
    for sentence in remove(output, leftovers(output)):
        report_step("removed", sentence)
    verdicts: list[Verdict] = []
    with Publication(output, evaluation.evaluated_on.isoformat(), evaluation.evaluation_id) as publication:
        rows = write_scores(context, publication)
        _write_others(context, publication)
        means = accepted_means(context, rows)
        verified = verify(context, publication.stored("query_scores"), rows, tables[0], unverified)
        record = {**night_record(context), "verified": verified}
        datasets: dict[str, dict[str, Any]] = {}
        for name in dict.fromkeys(row["dataset"] for row in means[0]):
            datasets[name] = {"means": logged_means(config, means, name)}
        if verified.startswith(NOT_VERIFIED):
            date = config.date.isoformat()
            verdicts = [unverified_verdict(name, date, str(unverified)) for name in sorted(datasets)]
        elif config.gate is not None:
            verdicts = _judged(context, config.gate, publication, record, tables, accepted)
        else:
            known = committed(output, [config.date.isoformat()])
            for name in datasets:
                # Only a gate takes an acceptance over.
                warn_if_ended(publication.night(name, record), known, None, is_kept=False)
        for verdict in verdicts:
            datasets[verdict.dataset] |= verdict.log_entries()
        with context.clock.step("publish", "publishing"):
            record["seconds"] = context.clock.with_total()
            superseded = publication.commit(record, datasets)
    report_step("wrote", f"{output} ({evaluation.evaluation_id})")
    for sentence in superseded:
        report_step("superseded", sentence)
    if verdicts:
        # Imported here, because an evaluation without a gate need not wait for statistics.
        from ndcg_spark.job.gate import report_verdicts

        report_verdicts(verdicts, output, config.source["file"])
    return Published(means, lambda: publication.read("query_scores", session), verdicts, verified)


def _judged(
    context: Context,
    gate: GateConfig,
    publication: Publication,
    record: dict[str, Any],
    tables: "QueryTables",
    accepted: str | None,
) -> list[Verdict]:
    """The verdicts of the gate on what was written; also keeps the documents of what changed most."""
    # Imported here, because an evaluation without a gate need not wait for statistics.
    from ndcg_spark.comparison.differences import ComparisonOptions
    from ndcg_spark.job.gate import judge_written

    documents, datasets = context.config.documents, record["datasets"]
    with context.clock.step("compare", "comparing with the baselines of the gate"):
        limit = documents if isinstance(documents, int) else 0
        options = ComparisonOptions(attributes=tables[0], weights=tables[1], queries=limit)
        results = judge_written(gate, publication, record, datasets, options, accepted)
    changed = [(name, *query) for name, judged in results.items() for query in judged.changed]
    if changed:
        with context.clock.step("documents", "keeping the documents of the queries that changed most"):
            lists = pa.table(dict(zip(_LIST, zip(*changed, strict=True), strict=True)))
            _write_documents(context, publication, context.engine.session.createDataFrame(lists))
        report_step("documents", f"kept for {len(changed):,} lists that changed most")
    return [judged.verdict for judged in results.values()]


def write_scores(context: Context, publication: Publication) -> list[dict[str, Any]]:
    """Write both tables of scores, and read back how many rows they have; the rows of DATASET_SCORES."""
    evaluation, clock, checked = context.evaluation, context.clock, context.checked
    counts = checked.counts(len(evaluation.cutoffs))
    with clock.step("evaluate", "evaluating the results"):
        for scores, _ in scores_by_batch(context):
            _write_table(context, publication, "query_scores", scores)
        # This comes before rows are counted: if a changed input is why there are too few, the storage is not at fault.
        refuse_changed(checked.seen)
        publication.verify("query_scores", counts["query_scores"])
    with clock.step("aggregate", "averaging the query scores"):
        written = publication.read("query_scores", context.engine.session)
        table = dataset_scores(written, checked.runs(), evaluation, context.slices)
        rows = [row.asDict() for row in table.collect()]
        # Every list of nights reads this small table. An engine may write several files, and this is one.
        publication.write_rows("dataset_scores", rows)
        slice_rows = sum(row["attribute"] is not None for row in rows)
        publication.verify("dataset_scores", counts["dataset_scores"] + slice_rows)
    return rows


def _write_others(context: Context, publication: Publication) -> None:
    """Write and verify the other tables that need no gate."""
    evaluation, clock, checked = context.evaluation, context.clock, context.checked
    if context.config.documents == "all":
        with clock.step("documents", "keeping the documents"):
            _write_documents(context, publication)
    if context.attributes is not None:
        attributes = kept_attributes(context.attributes, checked.judgments, evaluation)
        _write_table(context, publication, "query_attributes", attributes)
        publication.verify("query_attributes", attributes.count())
    if checked.rejected:
        with clock.step("reject", "keeping the rejected rows"):
            _write_table(
                context, publication, "rejected_rows", rejected_rows(checked.rejected, checked.datasets, evaluation)
            )
            publication.verify("rejected_rows", sum(rejection.rows for rejection in checked.rejections))


def _write_table(context: Context, publication: Publication, name: str, table: DataFrame) -> None:
    with translated_failures(context.sources, publication.location):
        publication.write(name, table)


def _write_documents(context: Context, publication: Publication, lists: DataFrame | None = None) -> None:
    """Write the table RANKED_DOCUMENTS of these lists, by default of all, each with the ideal ranking of its query.

    There must be as many rows as the query scores say were returned, and as many as the ideal rankings are deep.
    """
    checked, evaluation = context.checked, context.evaluation
    convention, depth = evaluation.convention, deepest_finite(evaluation.cutoffs)
    key, judgments = query_key(checked.judgments.columns), checked.published_judgments
    if lists is not None:
        judgments = rows_with_keys(judgments, lists, key)
    for number, batch in enumerate(checked.by_batch):
        # Pruning by ranks drops documents that tie with the last one, if ranks break ties.
        needed = batch.results if convention.ties == "rank" else batch.needed_results
        results = batch.of_judged_queries(needed)
        if lists is not None:
            results = rows_with_keys(results, lists, ["run", *key])
        documents = ranked_documents(judgments, results, evaluation, with_ideal=number == 0)
        _write_table(context, publication, "ranked_documents", documents)
    # These are read from the inputs once more.
    refuse_changed(checked.seen)
    at_depth = F.col("cutoff").isNull() if depth is None else F.col("cutoff") == depth
    scores = publication.read("query_scores", context.engine.session).where(at_depth)
    if lists is not None:
        scores = rows_with_keys(scores, lists, _LIST)
    rows = scores.agg(F.sum("returned")).collect()[0][0] or 0
    if not convention.has_own_ideal:
        sizes = ideal_sizes(judged_documents(judgments, key, convention), key, depth)
        rows += sizes.agg(F.sum("ranks")).collect()[0][0] or 0
    publication.verify("ranked_documents", rows)


def logged_means(config: EvaluationConfig, means: Means, dataset: str) -> list[dict[str, Any]]:
    """The mean NDCG and the mean of the headline of a dataset, by run and cutoff.

    The log keeps them when the scores of the night are replaced.
    """
    headline = MEASURES[config.measure_set.headline(config.cutoffs)[0]].column
    kept = []
    for row in means[0]:
        if row["dataset"] == dataset:
            key = {"run": row["run"], "cutoff": row["cutoff"]}
            kept.append({**key, "ndcg": row["ndcg"], headline: row[headline]})
    return kept


def night_record(context: Context) -> dict[str, Any]:
    """What the log keeps of an evaluation, as JSON values without secrets: what was computed from what."""
    config, checked, convention = context.config, context.checked, context.evaluation.convention
    inputs = {other.name: _files(other) for source in context.sources for other in source.sources}
    for source, counts in zip(context.sources, (checked.judgment_counts, checked.result_counts), strict=True):
        # Inputs with equal fingerprints have the same rows, in any order and format.
        fingerprints = {name or config.dataset: digits for name, digits in counts.fingerprints.items()}
        known = {"rows": counts.rows, "fingerprint": counts.fingerprint, "fingerprints": fingerprints}
        inputs[source.name] |= known
    record = {
        "configuration": {**config.for_log({"convention"}), **config.source},
        "convention": convention.label,
        "options": convention.options(),
        "formula": convention.formula,
        "datasets": [config.dataset if name is None else name for name in checked.datasets],
        "datasets_without_results": checked.datasets_without_results,
        "engine": context.engine.name,
        "versions": {
            "ndcg_spark": ndcg_spark.__version__,
            "pyspark": pyspark.__version__,
            "python": platform.python_version(),
        },
        "inputs": inputs,
        "counts": checked.counts(len(context.evaluation.cutoffs)),
        "rejected": [dataclasses.asdict(rejection) for rejection in checked.rejections],
        "seconds": context.clock.with_total(),
    }
    # Paths and server names are kept; passwords and keys in them are not.
    return {name: masked_within(value) for name, value in record.items()}


def _files(source: Source) -> dict[str, Any]:
    files = [
        {"path": file.path} | ({"version": file.snapshot.version} if file.snapshot else {"size": file.size})
        for file in source.files
    ]
    return {"format": source.format, "files": files, "recognised": list(source.notes)}
