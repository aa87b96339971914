"""One evaluation, from its configuration to printed or published scores: read, check, evaluate,
publish.
"""

import contextlib
import dataclasses
import functools
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import DoubleType

from ndcg_spark.config import EvaluationConfig
from ndcg_spark.contract.changes import refuse_changed
from ndcg_spark.contract.doubtful_scores import about_attributes
from ndcg_spark.convention.measures import MEASURES, NDCG_ONLY, RUN_COLUMNS, Cutoff, MeasureSet
from ndcg_spark.engine import Engine, kept_open
from ndcg_spark.engine.sessions import keep_rows
from ndcg_spark.errors import BUG, ConfigurationError, EngineError, about
from ndcg_spark.gate.verdict import Verdict, worst_exit_code
from ndcg_spark.inputs.dataframes import read_arrow
from ndcg_spark.inputs.query_tables import QueryTables
from ndcg_spark.job.catalog_of_runs import measured_runs
from ndcg_spark.job.inputs import (
    Context,
    accepted_means,
    count_refusals,
    engine_for,
    partitions_for,
    read_inputs,
    scores_by_batch,
    translated_failures,
)
from ndcg_spark.job.other_ids import about_renamed_queries
from ndcg_spark.job.publish_scores import Published, publish, write_scores
from ndcg_spark.job.reasons import refuse_no_reason
from ndcg_spark.job.verify import verify
from ndcg_spark.nights.commit import Publication, log_attempt
from ndcg_spark.scoring.counted_queries import make_slices
from ndcg_spark.scoring.evaluation import dataset_scores, new_id
from ndcg_spark.spot_check.subject import fetch_scores
from ndcg_spark.steps import Clock, report_step
from ndcg_spark.tables.table import DatasetScores
from ndcg_spark.text import unknown_name
from ndcg_spark.tolerance import DECIMALS
from ndcg_spark.voices import voice_of

if TYPE_CHECKING:
    from ndcg_spark.comparison.runs import Comparison

#: The columns of QUERY_SCORES that a comparison needs in addition to the measures.
_COMPARED = (
    "dataset",
    "evaluated_on",
    "run",
    "query_id",
    "cutoff",
    "evaluation_id",
    "status",
    "returned",
    "judged",
)


@dataclasses.dataclass(frozen=True)
class EvaluationOutcome:
    """The outcome of an evaluation, which the command prints as JSON."""

    evaluation_id: str
    convention: str
    formula: str
    engine: str
    #: The rows of the table DATASET_SCORES for all queries, sorted by dataset, run and cutoff, the
    #: whole ranking last. Their measures are NDCG, which is first, and the requested measures.
    dataset_scores: list[dict[str, Any]]
    counts: dict[str, int]
    #: How many rows of each table were rejected for each reason, with an example each.
    rejected: list[dict[str, Any]]
    output: str | None
    #: The duration of each step in seconds.
    seconds: dict[str, float]
    #: The requested measures; empty for NDCG only.
    measures: MeasureSet = NDCG_ONLY
    #: The verdict on each night; empty without a gate.
    verdicts: Sequence[Verdict] = ()
    #: How many lists were recomputed in plain Python, or why differing scores were published.
    verified: str = ""
    #: The measure that the runs are ordered by, such as ndcg@10.
    headline: str | None = None
    #: The rows of DATASET_SCORES for slices, sorted by attribute, value, and then as above.
    slice_scores: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    #: The datasets that are judged but have no results, and so no scores.
    datasets_without_results: list[str] = dataclasses.field(default_factory=list)
    #: The runs compared with a baseline, printed with the scores.
    comparison: "Comparison | None" = None

    @property
    def datasets(self) -> list[str]:
        return sorted({row["dataset"] for row in self.dataset_scores})

    @property
    def exit_code(self) -> int:
        return worst_exit_code(self.verdicts)


def evaluate(
    config: EvaluationConfig,
    accepted: str | None = None,
    baseline: str | None = None,
    write_queries: Callable[[DataFrame], object] | None = None,
    engine: Engine | None = None,
    unverified: str | None = None,
) -> EvaluationOutcome:
    """Evaluate as configured, and publish the scores if the configuration names an output.

    The scores are published whatever the verdict is. `accepted` is the reason why the night is a
    baseline for later nights even if it does not pass. `unverified` is the reason to publish scores
    even if plain Python computes different ones. After all checks, `write_queries` is called with
    the table QUERY_SCORES, and the runs are compared with the run `baseline`. An `engine` that is
    given is not closed.
    """
    clock = Clock()
    _refuse_unusable(config, accepted, unverified)
    _refuse_unusable_gate(config, accepted)
    opening = kept_open(engine) if engine else engine_for(config, clock, partitions_for(config))
    with _failures_logged(config), opening as opened:
        context, tables = _with_query_tables(read_inputs(opened, config, clock))
        _warn_of_renamed_queries(context)
        _refuse_unknown_baseline(context, baseline)
        checked, convention = context.checked, context.evaluation.convention
        output = config.dated(config.output) if config.output else None
        scored: Scored | Published
        verdicts: list[Verdict] = []
        comparison = None
        with count_refusals(context):
            if output is None:
                scored = _scored(context, tables.attributes, str(opened.scratch.folder()))
            else:
                scored = publish(context, tables, output, accepted, unverified)
                verdicts = scored.verdicts
            means = scored.means
            _warn_of_unmatched(tables.attributes, means)
            if write_queries:
                write_queries(scored.query_scores())
            if baseline is not None:
                per_query = scored.query_scores()
                comparison = _compared(per_query, means, tables, baseline, config.measure_set)
        return EvaluationOutcome(
            context.evaluation.evaluation_id,
            convention.label,
            convention.formula,
            opened.name,
            means.all_queries,
            counts=checked.counts(len(config.cutoffs)),
            rejected=[dataclasses.asdict(rejection) for rejection in checked.rejections],
            output=output,
            seconds=context.clock.with_total(),
            measures=config.measure_set,
            headline=config.headline,
            slice_scores=means.slices,
            verdicts=verdicts,
            verified=scored.verified,
            datasets_without_results=checked.datasets_without_results,
            comparison=comparison,
        )


def _warn_of_renamed_queries(context: Context) -> None:
    with translated_failures(context.sources):
        for sentence in about_renamed_queries(context):
            report_step("warning", sentence)


class Scored(NamedTuple):
    """Scores that are checked but not published."""

    means: DatasetScores
    #: Reads the query scores with the engine.
    query_scores: Callable[[], DataFrame]
    #: Reads the query scores in this process.
    arrow: Callable[[], pa.Table]
    #: The log entry about the spot check.
    verified: str
    #: The datasets that are judged but have no results.
    datasets_without_results: Sequence[str] = ()
    #: The fingerprint of the catalog's items, if measures look any up.
    items_fingerprint: str | None = None


def score_unpublished(
    engine: Engine, config: EvaluationConfig, folder: str
) -> tuple[Scored, pa.Table | None]:
    """Evaluate as configured but publish nothing.

    Returns the scores, and the table QUERY_ATTRIBUTES if there are slices. The query scores are
    kept in the folder. Raises EngineError if this process cannot read what the engine writes there.
    """
    if not engine.sees_local_files:
        raise EngineError(
            f"engine: {engine.name} does not read files on this machine; give session="
        )
    context, tables = _with_query_tables(read_inputs(engine, config))
    with count_refusals(context):
        scored = _scored(context, tables.attributes, folder)
        _warn_of_unmatched(tables.attributes, scored.means)
    items = context.evaluation.items
    scored = scored._replace(
        datasets_without_results=context.checked.datasets_without_results,
        items_fingerprint=None if items is None else items.items.fingerprint,
    )
    return scored, tables.attributes


def _with_query_tables(context: Context) -> tuple[Context, QueryTables]:
    """The context with its slices, and the query tables that the configuration names."""
    config = context.config
    if not config.query_attributes and not config.query_weights:
        return context, QueryTables()
    # Imported here so that an evaluation without such tables does not wait for statistics.
    from ndcg_spark.comparison.matrix import read_query_tables

    tables = read_query_tables(config)
    attributes = tables.attributes
    if attributes is None:
        return context, tables
    to_engine = about("query_attributes")(functools.partial(read_arrow, context.engine))
    slices = make_slices(attributes, to_engine)
    with_slices = dataclasses.replace(context, attributes=to_engine(attributes), slices=slices)
    return with_slices, tables


def _warn_of_unmatched(attributes: pa.Table | None, means: DatasetScores) -> None:
    """Warn of attributes of queries that were not scored."""
    for notice in about_attributes(means.slices, attributes):
        report_step("warning", notice)


@contextlib.contextmanager
def _failures_logged(config: EvaluationConfig) -> Iterator[None]:
    """Log the block's failure in the output, unless the configuration is wrong."""
    try:
        yield
    except Exception as error:
        code = getattr(error, "exit_code", BUG)
        if config.output and code != ConfigurationError.exit_code:
            entries: dict[str, Any] = {
                "configuration": config.for_log(),
                "engine": config.engine,
                "voice": voice_of(config.source["file"]),
            }
            entries |= getattr(error, "log_entries", {})
            output, date = config.dated(config.output), config.date.isoformat()
            log_attempt(output, date, new_id(), error, code, **entries)
        raise


def _refuse_unusable(
    config: EvaluationConfig, accepted: str | None, unverified: str | None
) -> None:
    if unverified is None:
        return
    refuse_no_reason(unverified, "publish-unverified")
    if config.output is None:
        raise ConfigurationError(
            "nothing is published without an output; name one", option="publish-unverified"
        )
    if accepted is not None:
        raise ConfigurationError(
            "scores that are not verified cannot be a baseline; do not accept them",
            option="publish-unverified",
        )


def _refuse_unusable_gate(config: EvaluationConfig, accepted: str | None) -> None:
    if config.gate is None and accepted is None:
        return
    # Imported here so that an evaluation without a gate does not wait for statistics.
    from ndcg_spark.job.gate import usable_gate

    usable_gate(config, accepted)


def _refuse_unknown_baseline(context: Context, baseline: str | None) -> None:
    runs = {run.run for run in context.checked.result_counts.runs}
    if baseline is not None and baseline not in runs:
        raise unknown_name("baseline", "run", baseline, runs)


def _scored(context: Context, attributes: pa.Table | None, folder: str) -> Scored:
    """The scores, checked but not published."""
    evaluation, engine = context.evaluation, context.engine
    if not engine.sees_local_files:
        return _scored_far(context, attributes)
    # Scores are written and read back like those of a night, so the checked scores are printed.
    date = evaluation.evaluated_on.isoformat()
    publication = Publication(folder, date, evaluation.evaluation_id)
    rows = write_scores(context, publication)
    means = accepted_means(context, rows)
    verified = verify(context, publication.stored("query_scores"), rows, attributes)
    query_scores = functools.partial(publication.read, "query_scores", engine.session)
    arrow = functools.partial(publication.table, "query_scores")
    return Scored(means, query_scores, arrow, verified.in_words)


def _scored_far(context: Context, attributes: pa.Table | None) -> Scored:
    """The same if the engine and this process share no folder: the rows to check are fetched."""
    evaluation = context.evaluation
    with context.clock.step("evaluate", "evaluating the results"):
        # Only the embedded engine, which shares its folders, has several batches.
        (batch,) = scores_by_batch(context)
        scores = keep_rows(batch.query_scores, context.engine.scratch)
        of_runs = None
        if batch.shown is not None:
            of_runs = context.engine.session.createDataFrame(measured_runs(batch.shown, evaluation))
        table = dataset_scores(scores, batch.runs, evaluation, context.slices, of_runs)
        rows = [row.asDict() for row in table.collect()]
    means = accepted_means(context, rows)
    number = context.checked.counts(len(evaluation.cutoffs))["query_scores"]
    seed, folder = evaluation.evaluation_id, context.engine.scratch.folder()
    fetched = fetch_scores(scores, number, seed, folder)
    refuse_changed(context.checked.seen)
    compared = rows if fetched.bucket is None else None
    verified = verify(context, fetched.stored, compared, attributes, bucket=fetched.bucket)
    return Scored(means, lambda: scores, scores.toArrow, verified.in_words)


class QueryOrder(NamedTuple):
    """The column that the query scores are sorted by first."""

    column: str
    is_descending: bool = False


def query_scores_in_order(
    scores: DataFrame,
    first: QueryOrder | None = None,
) -> Iterator[dict[str, Any]]:
    """The rows of QUERY_SCORES, sorted by `first` if given, then dataset, run, query and cutoff."""
    # The engine sorts and streams them, because there may be more than fit into memory.
    keys = [F.asc_nulls_last(name) for name in ("dataset", "run", "query_id", "cutoff")]
    if first is not None:
        is_score = scores.schema[first.column].dataType == DoubleType()
        value = F.round(first.column, DECIMALS) if is_score else F.col(first.column)
        keys.insert(0, value.desc_nulls_last() if first.is_descending else value.asc_nulls_last())
    return (row.asDict() for row in scores.orderBy(*keys).toLocalIterator())


def _compared(
    scores: DataFrame,
    means: DatasetScores,
    tables: QueryTables,
    baseline: str,
    measure_set: MeasureSet,
) -> "Comparison":
    """Compare the runs with the run `baseline`."""
    # Imported here so that an evaluation without a baseline does not wait for statistics.
    from ndcg_spark.comparison.differences import ComparisonOptions
    from ndcg_spark.comparison.runs import compare_sources
    from ndcg_spark.comparison.score_tables import sources, with_means

    # The columns that are compared, each at the cutoffs that were requested for it.
    measures: dict[str, list[Cutoff] | None] = {}
    for name, _ in measure_set.pairs:
        measures[MEASURES[name].column] = measure_set.cutoffs_for(name)
    if not measures:
        measures["ndcg"] = None
    # A measure of a run, such as coverage, has no value for a query.
    of_queries = [name for name in measures if name not in RUN_COLUMNS]
    rows = scores.select(*_COMPARED, *of_queries).toArrow()
    options = ComparisonOptions(
        measures, [baseline], attributes=tables.attributes, weights=tables.weights
    )
    sources_with_means = []
    for source in sources(rows, of_queries, "query_scores"):
        sources_with_means.append(with_means(source, means.all_queries, measure_set.of_runs))
    return compare_sources(sources_with_means, None, options)
