"""The scores of checked tables are written and verified, judged by the gate if there is one, and
published.
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
from ndcg_spark.contract.scan import JudgmentCounts
from ndcg_spark.convention.measures import MEASURES, deepest_finite
from ndcg_spark.errors import StorageError, first_line
from ndcg_spark.gate.settings import GateConfig
from ndcg_spark.gate.verdict import Verdict, unverified_verdict
from ndcg_spark.inputs.source_tables import Source
from ndcg_spark.job.acceptance import warn_if_ended
from ndcg_spark.job.catalog_of_runs import items_for_log
from ndcg_spark.job.inputs import (
    Context,
    accepted_means,
    measured_runs,
    scores_by_batch,
    translated_failures,
)
from ndcg_spark.job.other_ids import runs_with_unknown_ids
from ndcg_spark.job.verify import Verified, verify
from ndcg_spark.nights.commit import Publication
from ndcg_spark.nights.copies import JUDGED, WHOLE_LISTS, has_judgments, keep_judgments
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
    from ndcg_spark.comparison.matrix import QueryTables
    from ndcg_spark.gate.decide import Judged

_LIST = ["dataset", "run", "query_id"]
#: Kept judgments pass through the memory of this process.
MOST_JUDGMENTS = 20_000_000


class Published(NamedTuple):
    """Scores that are published."""

    means: DatasetScores
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
    with Publication(
        output, evaluation.evaluated_on.isoformat(), evaluation.evaluation_id
    ) as publication:
        rows = write_scores(context, publication)
        _write_others(context, publication)
        means = accepted_means(context, rows)
        verified = verify(context, publication.stored("query_scores"), rows, tables[0], unverified)
        record = _whole_record(context, means.all_queries, verified)
        if config.kept_documents in WHOLE_LISTS:
            _keep_judgments(context, publication, record)
        datasets: dict[str, dict[str, Any]] = {}
        for name in dict.fromkeys(row["dataset"] for row in means.all_queries):
            datasets[name] = {"means": logged_means(config, means, name)}
        if verified.unverified is not None:
            date, reason = config.date.isoformat(), verified.unverified
            verdicts = [unverified_verdict(name, date, reason) for name in sorted(datasets)]
            for verdict in verdicts:
                datasets[verdict.dataset] |= verdict.log_entries()
        elif config.gate is not None:
            judgements = _judged(context, config.gate, publication, record, tables, accepted)
            verdicts = [judged.verdict for judged in judgements.values()]
            for name, judged in judgements.items():
                datasets[name] |= judged.log_entries()
        else:
            _warn_of_ended_acceptances(publication, record, datasets)
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
    return Published(
        means, lambda: publication.read("query_scores", session), verdicts, verified.in_words
    )


def _whole_record(
    context: Context, rows: Sequence[Mapping[str, Any]], verified: Verified
) -> dict[str, Any]:
    """What the log keeps; `rows` are those of DATASET_SCORES of all queries."""
    record = {**night_record(context), "verified": verified.in_words}
    unknown = runs_with_unknown_ids(context, rows)
    if unknown:
        record["inputs"]["results"]["unknown_ids"] = unknown
    return record


def _warn_of_ended_acceptances(
    publication: Publication, record: dict[str, Any], datasets: Iterable[str]
) -> None:
    """Warn of acceptances that an evaluation without a gate ends: only a gate takes them over."""
    nights = committed(publication.store)
    for name in datasets:
        warn_if_ended(publication.night(name, record), nights, None, is_kept=False)


def _judged(
    context: Context,
    gate: GateConfig,
    publication: Publication,
    record: dict[str, Any],
    tables: "QueryTables",
    accepted: str | None,
) -> "dict[str, Judged]":
    """The verdicts of the gate on what was written, by dataset.

    Also keeps the documents of what changed most.
    """
    # Imported here, because an evaluation without a gate need not wait for statistics.
    from ndcg_spark.comparison.differences import ComparisonOptions
    from ndcg_spark.job.gate import judge_written

    nights = committed(publication.store)
    _report_kept(context, publication, nights)
    make_needed_copies(context, publication, record, nights)
    documents, datasets = context.config.kept_documents, record["datasets"]
    with context.clock.step("compare", "comparing with the baselines of the gate"):
        limit = documents if isinstance(documents, int) else 0
        options = ComparisonOptions(attributes=tables[0], weights=tables[1], queries=limit)
        results = judge_written(gate, publication, record, datasets, options, accepted)
    changed = [(name, *query) for name, judged in results.items() for query in judged.changed]
    if changed:
        with context.clock.step(
            "documents", "keeping the documents of the queries that changed most"
        ):
            lists = pa.table(dict(zip(_LIST, zip(*changed, strict=True), strict=True)))
            _write_documents(context, publication, context.engine.session.createDataFrame(lists))
        report_step("documents", f"kept for {len(changed):,} lists that changed most")
    return results


def write_scores(context: Context, publication: Publication) -> list[dict[str, Any]]:
    """Write both tables of scores, and read back how many rows they have; the rows of
    DATASET_SCORES.
    """
    evaluation, clock, checked = context.evaluation, context.clock, context.checked
    counts = checked.counts(len(evaluation.cutoffs))
    parts = []
    for batch in scores_by_batch(context):
        with clock.step("evaluate", "evaluating the results"):
            _write_table(context, publication, "query_scores", batch.query_scores)
        if batch.shown is not None:
            with clock.step("catalog", "measuring what the runs show of the catalog"):
                parts.append(measured_runs(batch.shown, context))
    with clock.step("evaluate", "evaluating the results"):
        # This comes before rows are counted: if a changed input is why there are too few, the
        # storage is not at fault.
        refuse_changed(checked.seen)
        publication.verify("query_scores", counts["query_scores"])
    session = context.engine.session
    with clock.step("aggregate", "averaging the query scores"):
        of_runs = session.createDataFrame(pa.concat_tables(parts)) if parts else None
        written = publication.read("query_scores", session)
        table = dataset_scores(written, checked.runs(), evaluation, context.slices, of_runs)
        rows = [row.asDict() for row in table.collect()]
        # Every list of nights reads this small table. An engine may write several files, and this
        # is one.
        publication.write_rows("dataset_scores", rows)
        slice_rows = sum(row["attribute"] is not None for row in rows)
        publication.verify("dataset_scores", counts["dataset_scores"] + slice_rows)
    return rows


def _write_others(context: Context, publication: Publication) -> None:
    """Write and verify the other tables that need no gate."""
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
            _write_table(
                context,
                publication,
                "rejected_rows",
                rejected_rows(checked.rejected, checked.datasets, evaluation),
            )
            publication.verify(
                "rejected_rows", sum(rejection.rows for rejection in checked.rejections)
            )


def _write_table(context: Context, publication: Publication, name: str, table: DataFrame) -> None:
    with translated_failures(context.sources, publication.location):
        publication.write(name, table)


def _write_documents(
    context: Context, publication: Publication, lists: DataFrame | None = None
) -> None:
    """Write the table RANKED_DOCUMENTS of these lists, by default of all, each with the ideal
    ranking of its query.

    There must be as many rows as the query scores say were returned, and as many as the ideal
    rankings are deep.
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
    others = 0
    if lists is None and context.config.kept_documents == "everything":
        others = _write_unjudged_lists(context, publication)
    # These are read from the inputs once more.
    refuse_changed(checked.seen)
    at_depth = F.col("cutoff").isNull() if depth is None else F.col("cutoff") == depth
    scores = publication.read("query_scores", context.engine.session).where(at_depth)
    if lists is not None:
        scores = rows_with_keys(scores, lists, _LIST)
    rows = others + (scores.agg(F.sum("returned")).collect()[0][0] or 0)
    if not convention.has_own_ideal:
        sizes = ideal_sizes(judged_documents(judgments, key, convention), key, depth)
        rows += sizes.agg(F.sum("ranks")).collect()[0][0] or 0
    publication.verify("ranked_documents", rows)


def _write_unjudged_lists(context: Context, publication: Publication) -> int:
    """Write the lists of queries that no judgment names, and count their documents.

    A list that would be refused if its query were judged is left out.
    """
    checked, evaluation = context.checked, context.evaluation
    key = query_key(checked.judgments.columns)
    rows = 0
    for batch in checked.by_batch:
        # Not needed_results: these lack what is below the deepest cutoff in lists of judged
        # queries, and any result in others.
        unjudged = rows_without_keys(batch.results, checked.judgments, key)
        lists = without_repeats(unjudged, ["run", *key], evaluation.convention)
        documents = ranked_documents(checked.judgments, lists, evaluation, with_ideal=False)
        _write_table(context, publication, "ranked_documents", documents)
        rows += documents.count()
    return rows


def _report_kept(context: Context, publication: Publication, nights: Nights) -> None:
    """Say on the first night of an output what documents cost that nobody has asked for."""
    if nights or context.config.documents is not None:
        return
    rows, size = publication.size("ranked_documents")
    if rows:
        what = f"kept {rows:,} in {size:,} bytes, {size / rows:.0f} each"
        why = "so that nights can be compared when the judgments change"
        report_step("documents", f"{what}, {why}; documents = N keeps fewer")


def _keep_judgments(context: Context, publication: Publication, record: dict[str, Any]) -> None:
    """Keep the judgments of every dataset, once, for when other nights are scored under them."""
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
    for rejection in counts.rejections:
        if rejection.reason in BY_CONVENTION:
            return f"the convention rejects some of them ({rejection.reason})"
    return f"they are more than {MOST_JUDGMENTS:,} rows" if counts.rows > MOST_JUDGMENTS else None


def _judgments_of(context: Context, datasets: Sequence[str]) -> Iterator[tuple[str, pa.Table]]:
    """The accepted judgments of these datasets."""
    judgments = context.checked.judgments
    names_datasets = "dataset" in judgments.columns
    for name in datasets:
        own = judgments.where(F.col("dataset") == name) if names_datasets else judgments
        with translated_failures(context.sources):
            rows = own.select(*JUDGED.names).toArrow()
        # They are read from the inputs once more.
        refuse_changed(context.checked.seen)
        yield name, rows


def make_needed_copies(
    context: Context,
    publication: Publication,
    record: dict[str, Any],
    nights: Nights,
) -> None:
    """Score the nights of the gate under tonight's judgments, and tonight under theirs."""
    # Imported here, because an evaluation without a gate need not wait for statistics.
    from ndcg_spark.gate.needed import needed_copies
    from ndcg_spark.job.rescore import Wanted, make_copies

    if context.config.gate is None:
        return
    wanted = []
    try:
        for dataset in sorted(record["datasets"]):
            tonight = publication.night(dataset, record)
            for night, fingerprint in needed_copies(context.config.gate, tonight, nights):
                wanted.append(Wanted(night, fingerprint))
    except StorageError as error:
        report_step("warning", f"no night is scored under other judgments: {error.worded(OPTIONS)}")
    if not wanted:
        return
    with context.clock.step("rescore", "scoring kept lists under other judgments"):
        refused = make_copies(context.engine, wanted)
    if refused:
        more = f"; and {len(refused) - 1} more" if len(refused) > 1 else ""
        report_step("warning", f"{refused[0]}{more}")


def logged_means(
    config: EvaluationConfig, means: DatasetScores, dataset: str
) -> list[dict[str, Any]]:
    """The mean NDCG and the mean of the headline measure of a dataset, by run and cutoff.

    The log keeps them when the scores of the night are replaced.
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
    """What the log keeps of an evaluation, as JSON values without secrets: what was computed from
    what.
    """
    config, checked, convention = context.config, context.checked, context.evaluation.convention
    inputs = {}
    for source in context.sources:
        for other in source.sources:
            inputs[other.name] = _files_for_log(other)
    for source, counts in zip(
        context.sources, (checked.judgment_counts, checked.result_counts), strict=True
    ):
        # Inputs with equal fingerprints have the same rows, in any order and format.
        fingerprints = {
            name or config.dataset: digits for name, digits in counts.fingerprints.items()
        }
        known = {
            "rows": counts.rows,
            "fingerprint": counts.fingerprint,
            "fingerprints": fingerprints,
        }
        inputs[source.name] |= known
    if context.evaluation.items is not None:
        inputs["items"] = items_for_log(config, context.evaluation.items.items)
    configuration = {**config.for_log({"convention"}), **config.source}
    if context.evaluation.measures.needs_highest_grade:
        # The options have the highest grade itself.
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
        "inputs": inputs,
        "counts": checked.counts(len(context.evaluation.cutoffs)),
        "rejected": [dataclasses.asdict(rejection) for rejection in checked.rejections],
        "seconds": context.clock.with_total(),
    }
    # Paths and server names are kept; passwords and keys in them are not.
    return {name: masked_within(value) for name, value in record.items()}


def _files_for_log(source: Source) -> dict[str, Any]:
    files = []
    for file in source.files:
        state = {"version": file.snapshot.version} if file.snapshot else {"size": file.size}
        files.append({"path": file.path, **state})
    return {"format": source.format, "files": files, "recognised": list(source.notes)}
