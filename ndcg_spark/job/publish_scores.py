"""Write, verify and publish the scores of checked tables, after the gate's verdict if there is a
gate.
"""

import dataclasses
import platform
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
import pyspark
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

import ndcg_spark
from ndcg_spark.config import EvaluationConfig
from ndcg_spark.contract.changes import refuse_changed
from ndcg_spark.contract.scan import Counts, JudgmentCounts
from ndcg_spark.convention.measures import MEASURES, deepest_finite
from ndcg_spark.errors import StorageError, first_line
from ndcg_spark.gate.settings import GateConfig
from ndcg_spark.gate.verdict import Verdict, unverified_verdict
from ndcg_spark.inputs.query_tables import QueryTables
from ndcg_spark.inputs.source_tables import Source
from ndcg_spark.job.acceptance import warn_if_ended
from ndcg_spark.job.catalog_of_runs import items_for_log, measured_runs
from ndcg_spark.job.inputs import (
    Context,
    accepted_means,
    scores_by_batch,
    translated_failures,
)
from ndcg_spark.job.other_ids import runs_with_unknown_ids
from ndcg_spark.job.verify import Verified, verify
from ndcg_spark.nights.commit import Publication
from ndcg_spark.nights.copies import JUDGED, WHOLE_LISTS, Copy, has_judgments, keep_judgments
from ndcg_spark.nights.expire import leftovers, remove
from ndcg_spark.nights.log import Nights, committed
from ndcg_spark.nights.store import FAILURES
from ndcg_spark.rules import BY_CONVENTION
from ndcg_spark.schemas import query_key
from ndcg_spark.scoring.evaluation import (
    dataset_scores,
    kept_attributes,
    ranked_documents,
    rejected_rows,
)
from ndcg_spark.scoring.ideal import ideal_sizes, judged_documents
from ndcg_spark.scoring.lists import rows_with_keys, rows_without_keys, without_repeats
from ndcg_spark.steps import report_step
from ndcg_spark.tables.table import DatasetScores
from ndcg_spark.text import masked_within
from ndcg_spark.voices import OPTIONS

if TYPE_CHECKING:
    from ndcg_spark.gate.decide import Judged

#: A list's key.
_LIST = ["dataset", "run", "query_id"]
#: Kept judgments pass through this process's memory.
MOST_JUDGMENTS = 20_000_000


class Published(NamedTuple):
    """Scores that are published."""

    means: DatasetScores
    #: Reads the query scores.
    query_scores: Callable[[], DataFrame]
    #: A verdict per night; empty without a gate.
    verdicts: list[Verdict]
    #: The log entry about the spot check.
    verified: str


def publish(
    context: Context,
    tables: QueryTables,
    output: str,
    accepted: str | None = None,
    unverified: str | None = None,
) -> Published:
    """Publish the scores and the gate's verdicts on them.

    `unverified` is the reason to publish scores even if plain Python computes different ones.
    """
    config, evaluation, session = context.config, context.evaluation, context.engine.session
    for sentence in remove(output, leftovers(output)):
        report_step("removed", sentence)
    date = evaluation.evaluated_on.isoformat()
    verdicts: list[Verdict] = []
    with Publication(output, date, evaluation.evaluation_id) as publication:
        rows = write_scores(context, publication)
        _write_other_tables(context, publication)
        means = accepted_means(context, rows)
        per_query = publication.stored("query_scores")
        verified = verify(context, per_query, rows, tables.attributes, unverified)
        record = _whole_record(context, means.all_queries, verified)
        if config.kept_documents in WHOLE_LISTS:
            _keep_judgments(context, publication, record)
        # What the log keeps about each dataset.
        entries: dict[str, dict[str, Any]] = {}
        for name in dict.fromkeys(row["dataset"] for row in means.all_queries):
            entries[name] = {"means": logged_means(config, means, name)}
        if verified.unverified is not None:
            verdicts = [unverified_verdict(name, date, verified.unverified) for name in entries]
            verdicts.sort(key=lambda verdict: verdict.dataset)
            for verdict in verdicts:
                entries[verdict.dataset] |= verdict.log_entries()
        elif config.gate is not None:
            judged = _verdicts(context, config.gate, publication, record, tables, accepted)
            verdicts = [judgement.verdict for judgement in judged.values()]
            for name, judgement in judged.items():
                entries[name] |= judgement.log_entries()
        else:
            _warn_of_ended_acceptances(publication, record, entries)
        with context.clock.step("publish", "publishing"):
            record["seconds"] = context.clock.with_total()
            superseded = publication.commit(record, entries)
    report_step("wrote", f"{output} ({evaluation.evaluation_id})")
    for sentence in superseded:
        report_step("superseded", sentence)
    if verdicts:
        # Imported here so that an evaluation without a gate does not wait for statistics.
        from ndcg_spark.job.gate import report_verdicts

        report_verdicts(verdicts, output, config.source["file"])
    return Published(
        means, lambda: publication.read("query_scores", session), verdicts, verified.in_words
    )


def _whole_record(
    context: Context, rows: Sequence[Mapping[str, Any]], verified: Verified
) -> dict[str, Any]:
    """What the log keeps about an evaluation; `rows` are the means over all queries."""
    record = {**night_record(context), "verified": verified.in_words}
    unknown = runs_with_unknown_ids(context, rows)
    if unknown:
        record["inputs"]["results"]["unknown_ids"] = unknown
    return record


def _warn_of_ended_acceptances(
    publication: Publication, record: dict[str, Any], datasets: Iterable[str]
) -> None:
    """Warn of acceptances that an evaluation without a gate ends; only a gate keeps them."""
    nights = committed(publication.store)
    for name in datasets:
        warn_if_ended(publication.night(name, record), nights, None, is_kept=False)


def _verdicts(
    context: Context,
    gate: GateConfig,
    publication: Publication,
    record: dict[str, Any],
    tables: QueryTables,
    accepted: str | None,
) -> "dict[str, Judged]":
    """The gate's verdicts on the written scores, by dataset.

    Also keeps the documents of the lists that changed most, if the configuration says so.
    """
    # Imported here so that an evaluation without a gate does not wait for statistics.
    from ndcg_spark.comparison.differences import ComparisonOptions
    from ndcg_spark.job.gate import judge_written

    nights = committed(publication.store)
    _report_kept(context, publication, nights)
    make_needed_copies(context, publication, record, nights)
    documents, datasets = context.config.kept_documents, record["datasets"]
    with context.clock.step("compare", "comparing with the gate's baselines"):
        options = ComparisonOptions(
            attributes=tables.attributes,
            weights=tables.weights,
            queries=documents if isinstance(documents, int) else 0,
        )
        judged = judge_written(gate, publication, record, datasets, options, accepted)
    changed = []
    for dataset, judgement in judged.items():
        for run, query in judgement.changed:
            changed.append({"dataset": dataset, "run": run, "query_id": query})
    if changed:
        with context.clock.step(
            "documents", "keeping the documents of the queries that changed most"
        ):
            lists = context.engine.session.createDataFrame(pa.Table.from_pylist(changed))
            _write_documents(context, publication, lists)
        report_step("documents", f"kept for {len(changed):,} lists that changed most")
    return judged


def write_scores(context: Context, publication: Publication) -> list[dict[str, Any]]:
    """Write both tables of scores, and verify how many rows they have.

    Returns the rows of DATASET_SCORES.
    """
    evaluation, clock, checked = context.evaluation, context.clock, context.checked
    counts = checked.counts(len(evaluation.cutoffs))
    measured_parts = []
    for batch in scores_by_batch(context):
        with clock.step("evaluate", "evaluating the results"):
            _write_table(context, publication, "query_scores", batch.query_scores)
        if batch.shown is not None:
            with clock.step("catalog", "measuring what the runs show of the catalog"):
                measured_parts.append(measured_runs(batch.shown, evaluation))
    with clock.step("evaluate", "evaluating the results"):
        # Checked before rows are counted, so that a changed input is not reported as a storage
        # that lost rows.
        refuse_changed(checked.seen)
        publication.verify("query_scores", counts["query_scores"])
    session = context.engine.session
    with clock.step("aggregate", "averaging the query scores"):
        of_runs = None
        if measured_parts:
            of_runs = session.createDataFrame(pa.concat_tables(measured_parts))
        written = publication.read("query_scores", session)
        table = dataset_scores(written, checked.runs(), evaluation, context.slices, of_runs)
        rows = [row.asDict() for row in table.collect()]
        # Written by this process as one file, because every listing of nights reads it. An engine
        # may write several.
        publication.write_rows("dataset_scores", rows)
        slice_rows = sum(row["attribute"] is not None for row in rows)
        publication.verify("dataset_scores", counts["dataset_scores"] + slice_rows)
    return rows


def _write_other_tables(context: Context, publication: Publication) -> None:
    """Write and verify the tables that are not scores and need no gate."""
    evaluation, clock, checked = context.evaluation, context.clock, context.checked
    if context.config.kept_documents in WHOLE_LISTS:
        with clock.step("documents", "keeping the documents"):
            _write_documents(context, publication)
    if context.attributes is not None:
        attributes = kept_attributes(context.attributes, checked.judgments, evaluation)
        _write_table(context, publication, "query_attributes", attributes)
        publication.verify("query_attributes", attributes.count())
    if checked.rejected:
        with clock.step("reject", "keeping the rejected rows"):
            rejected = rejected_rows(checked.rejected, checked.datasets, evaluation)
            _write_table(context, publication, "rejected_rows", rejected)
            count = sum(rejection.rows for rejection in checked.rejections)
            publication.verify("rejected_rows", count)


def _write_table(context: Context, publication: Publication, name: str, table: DataFrame) -> None:
    with translated_failures(context.sources, publication.location):
        publication.write(name, table)


def _write_documents(
    context: Context, publication: Publication, lists: DataFrame | None = None
) -> None:
    """Write and verify the table RANKED_DOCUMENTS of these lists, or of all lists if None.

    It also has the ideal rankings of their queries.
    """
    checked, evaluation = context.checked, context.evaluation
    convention = evaluation.convention
    key = query_key(checked.judgments.columns)
    judgments = checked.published_judgments
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
    unjudged_rows = 0
    if lists is None and context.config.kept_documents == "everything":
        unjudged_rows = _write_unjudged_lists(context, publication)
    # The inputs were read once more.
    refuse_changed(checked.seen)
    expected = unjudged_rows + _count_returned(context, publication, lists)
    if not convention.has_own_ideal:
        depth = deepest_finite(evaluation.cutoffs)
        sizes = ideal_sizes(judged_documents(judgments, key, convention), key, depth)
        expected += sizes.agg(F.sum("ranks")).collect()[0][0] or 0
    publication.verify("ranked_documents", expected)


def _count_returned(context: Context, publication: Publication, lists: DataFrame | None) -> int:
    """How many documents these lists have down to the deepest cutoff, by the query scores."""
    depth = deepest_finite(context.evaluation.cutoffs)
    at_depth = F.col("cutoff").isNull() if depth is None else F.col("cutoff") == depth
    scores = publication.read("query_scores", context.engine.session).where(at_depth)
    if lists is not None:
        scores = rows_with_keys(scores, lists, _LIST)
    returned: int | None = scores.agg(F.sum("returned")).collect()[0][0]
    return returned or 0


def _write_unjudged_lists(context: Context, publication: Publication) -> int:
    """Write the lists of queries that nobody judged, and return how many documents they contain.

    A list that would be refused if its query were judged is left out.
    """
    checked, evaluation = context.checked, context.evaluation
    key = query_key(checked.judgments.columns)
    rows = 0
    for batch in checked.by_batch:
        # Not needed_results, which lacks the results of unjudged queries.
        unjudged = rows_without_keys(batch.results, checked.judgments, key)
        lists = without_repeats(unjudged, ["run", *key], evaluation.convention)
        documents = ranked_documents(checked.judgments, lists, evaluation, with_ideal=False)
        _write_table(context, publication, "ranked_documents", documents)
        rows += documents.count()
    return rows


def _report_kept(context: Context, publication: Publication, nights: Nights) -> None:
    """On an output's first night, report the size of documents that are kept by default."""
    if nights or context.config.documents is not None:
        return
    rows, size = publication.size("ranked_documents")
    if rows:
        what = f"kept {rows:,} in {size:,} bytes, {size / rows:.0f} each"
        why = "so that nights can be compared when the judgments change"
        report_step("documents", f"{what}, {why}; documents = N keeps fewer")


def _keep_judgments(context: Context, publication: Publication, record: dict[str, Any]) -> None:
    """Keep every dataset's judgments once, so that other nights can be scored under them."""
    checked, store = context.checked, publication.store
    fingerprints = {}
    for dataset in record["datasets"]:
        fingerprint = publication.night(dataset, record).row["judgments_fingerprint"]
        fingerprints[dataset] = fingerprint
    why_not = _why_judgments_are_not_kept(checked.judgment_counts)
    try:
        new = []
        for name, fingerprint in fingerprints.items():
            if not has_judgments(store, name, fingerprint):
                new.append(name)
        if new and why_not:
            report_step("warning", f"judgments: {why_not}, so no night is scored again under them")
        elif new:
            with context.clock.step("judgments", "keeping the judgments"):
                for name, rows in _judgments_of(context, new):
                    keep_judgments(store, name, fingerprints[name], rows)
    except FAILURES as error:
        report_step("warning", f"judgments: they cannot be kept, {first_line(error)}")


def _why_judgments_are_not_kept(counts: JudgmentCounts) -> str | None:
    """The reason, or None if they can be kept."""
    for rejection in counts.rejections:
        if rejection.reason in BY_CONVENTION:
            return f"the convention rejects some of them ({rejection.reason})"
    if counts.rows > MOST_JUDGMENTS:
        return f"they are more than {MOST_JUDGMENTS:,} rows"
    return None


def _judgments_of(context: Context, datasets: Sequence[str]) -> Iterator[tuple[str, pa.Table]]:
    """Each of these datasets with its accepted judgments."""
    judgments = context.checked.judgments
    names_datasets = "dataset" in judgments.columns
    for name in datasets:
        own = judgments.where(F.col("dataset") == name) if names_datasets else judgments
        with translated_failures(context.sources):
            rows = own.select(*JUDGED.names).toArrow()
        # The inputs were read once more.
        refuse_changed(context.checked.seen)
        yield name, rows


def make_needed_copies(
    context: Context,
    publication: Publication,
    record: dict[str, Any],
    nights: Nights,
) -> None:
    """Score the nights that the gate compares with tonight under tonight's judgments, and tonight's
    lists under the judgments of those nights.
    """
    # Imported here so that an evaluation without a gate does not wait for statistics.
    from ndcg_spark.comparison.sources import ScoreCache
    from ndcg_spark.gate.needed import needed_copies
    from ndcg_spark.job.rescore import make_copies

    if context.config.gate is None:
        return
    wanted: list[Copy] = []
    try:
        for dataset in sorted(record["datasets"]):
            tonight = publication.night(dataset, record)
            wanted.extend(needed_copies(context.config.gate, tonight, nights, ScoreCache()))
    except StorageError as error:
        report_step("warning", f"no night is scored under other judgments: {error.worded(OPTIONS)}")
    if not wanted:
        return
    with context.clock.step("rescore", "scoring kept lists under other judgments"):
        refused = make_copies(context.engine, wanted)
    if refused:
        others = f"; and {len(refused) - 1} more" if len(refused) > 1 else ""
        report_step("warning", f"{refused[0]}{others}")


def logged_means(
    config: EvaluationConfig, means: DatasetScores, dataset: str
) -> list[dict[str, Any]]:
    """A dataset's means, by run and cutoff: NDCG, and the measure that runs are ordered by.

    The log keeps them after the night's scores are replaced.
    """
    measure, _ = config.measure_set.headline(config.cutoffs)
    column = MEASURES[measure].column
    names = ["run", "cutoff", "ndcg", column]
    kept = []
    for row in means.all_queries:
        if row["dataset"] == dataset:
            kept.append({name: row[name] for name in names})
    return kept


def night_record(context: Context) -> dict[str, Any]:
    """What was computed from which inputs, for the log: JSON values without secrets."""
    config, checked, convention = context.config, context.checked, context.evaluation.convention
    configuration = {**config.for_log({"convention"}), **config.source}
    if context.evaluation.measures.needs_highest_grade:
        # The options contain the highest grade itself.
        configuration["max_grade"] = config.convention.max_grade
    record = {
        "configuration": configuration,
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
        "inputs": _inputs_for_log(context),
        "counts": checked.counts(len(context.evaluation.cutoffs)),
        "rejected": [dataclasses.asdict(rejection) for rejection in checked.rejections],
        "seconds": context.clock.with_total(),
    }
    # Paths and server names are kept, but not passwords and keys in them.
    return {name: masked_within(value) for name, value in record.items()}


def _inputs_for_log(context: Context) -> dict[str, dict[str, Any]]:
    """The files, rows and fingerprints of each input table, by its name."""
    config, checked = context.config, context.checked
    judgments, results = context.sources
    inputs = {}
    for source in (*judgments.sources, *results.sources):
        inputs[source.name] = _files_for_log(source)
    inputs[judgments.name] |= _counts_for_log(checked.judgment_counts, config)
    inputs[results.name] |= _counts_for_log(checked.result_counts, config)
    if context.evaluation.items is not None:
        inputs["items"] = items_for_log(config, context.evaluation.items.items)
    return inputs


def _counts_for_log(counts: Counts, config: EvaluationConfig) -> dict[str, Any]:
    # Inputs with equal fingerprints have the same rows, in any order and format.
    fingerprints = {}
    for dataset, digits in counts.fingerprints.items():
        fingerprints[dataset or config.dataset] = digits
    return {"rows": counts.rows, "fingerprint": counts.fingerprint, "fingerprints": fingerprints}


def _files_for_log(source: Source) -> dict[str, Any]:
    """A table's files, and what was recognised in them."""
    files = []
    for file in source.files:
        state = {"version": file.snapshot.version} if file.snapshot else {"size": file.size}
        files.append({"path": file.path, **state})
    return {"format": source.format, "files": files, "recognised": list(source.notes)}
