"""The inputs of a command: opened on an engine, checked and reported; and their scores, batch by
batch.
"""

import contextlib
import dataclasses
import functools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from pyspark.sql import DataFrame, Row

from ndcg_spark.config import EvaluationConfig
from ndcg_spark.contract import limits
from ndcg_spark.contract.counting import CheckedTables, check_tables, refuse_duplicates
from ndcg_spark.contract.doubtful_scores import about_judged_rates, about_no_values
from ndcg_spark.contract.scan import JudgmentCounts, ResultCounts
from ndcg_spark.convention.refused_queries import (
    JUDGED_TWICE,
    MISSING_QUERY,
    NOT_FINITE,
    RANK_TWICE,
    RETURNED_TWICE,
)
from ndcg_spark.engine import Engine, failure_reason, failures, lost, open_engine
from ndcg_spark.errors import ConventionError, EngineError, InputError, StorageError
from ndcg_spark.inputs.dataframes import kept_rows
from ndcg_spark.inputs.files import BINARY, local_sizes
from ndcg_spark.inputs.source_tables import (
    Source,
    read_excluded,
    read_judgments,
    read_results,
    refuse_changed_files,
)
from ndcg_spark.job.catalog_of_runs import open_items, report_unknown_items
from ndcg_spark.reference import unjudged_gain
from ndcg_spark.schemas import DATASET_SCORES, measure_first, query_key
from ndcg_spark.scoring import refusals
from ndcg_spark.scoring.counted_queries import Slices
from ndcg_spark.scoring.evaluation import Evaluation, lists_of_catalog, query_scores
from ndcg_spark.scoring.prepare import ListsToScore, Tables, prepare
from ndcg_spark.scoring.ranking import as_ranked, documents_of, is_list_by_list, list_by_list
from ndcg_spark.scoring.shown_lists import shown_lists
from ndcg_spark.steps import Clock, report_step
from ndcg_spark.tables.table import DatasetScores, split_slices

#: The judgments and the results.
Sources = tuple[Source, Source]
#: The total bytes below which tables are small, and the number of partitions they get: the example
#: took an eighth less processor time than with 16.
_SMALL_BYTES, _FEW_PARTITIONS = 1 << 20, 2
_TWICE = [refusal.code for refusal in (JUDGED_TWICE, RETURNED_TWICE, RANK_TWICE)]


@dataclasses.dataclass(frozen=True)
class Context:
    engine: Engine
    #: The configuration as given; what is computed is in `evaluation`.
    config: EvaluationConfig
    sources: Sources
    checked: CheckedTables
    #: The results that are scored; several if they are scored in batches.
    lists: Sequence[ListsToScore]
    evaluation: Evaluation
    clock: Clock
    #: The table QUERY_ATTRIBUTES if there is one, and its slices.
    attributes: DataFrame | None = None
    slices: Slices = dataclasses.field(default_factory=Slices)


@contextlib.contextmanager
def engine_for(
    config: EvaluationConfig, clock: Clock | None = None, partitions: int | None = None
) -> Iterator[Engine]:
    with contextlib.ExitStack() as stack:
        with (clock or Clock()).step("engine", "starting the engine"):
            opened = open_engine(config.engine, config.remote, partitions)
            engine = stack.enter_context(opened)
        report_step("engine", engine.name)
        yield engine


def partitions_for(config: EvaluationConfig) -> int | None:
    """Few partitions for small tables on this machine, or None for others (see `open_engine`).

    Each partition is a task, which took longer than its rows for tables of a few thousand rows.
    """
    size = 0.0
    for table in (config.judgments, config.results, config.exclude):
        for path in table.on(config.date).path if table else ():
            for of_file in local_sizes(path):
                size += of_file
                if size > _SMALL_BYTES:
                    return None
    return _FEW_PARTITIONS


def read_inputs(engine: Engine, config: EvaluationConfig, clock: Clock | None = None) -> Context:
    """Both tables of a configuration, checked, reported and prepared for scoring."""
    clock = clock or Clock()
    with clock.step("read", "looking at the inputs"):
        # Computed first, so that a Python gain that cannot be imported is reported before any table
        # is read.
        unjudged_gain(config.convention)
        judgments = read_judgments(
            engine,
            config.judgments.on(config.date),
            config.convention.gain != "judged",
            config.results.on(config.date) if config.is_one_table else None,
        )
        results = results_source(engine, config)
        items = open_items(engine, config, config.measure_set)
    report_notes(judgments, results)
    sources = judgments, results
    with clock.step("check", "reading judgments and results"), translated_failures(sources):
        prepared = prepare(
            Tables(judgments, results, results.without),
            config.options,
            functools.partial(check_tables, judgments, results, config),
            is_sail=engine.kind == "embedded",
        )
    checked = prepared.guarded
    evaluation = dataclasses.replace(prepared.evaluation, items=items)
    report_read(judgments, checked.judgment_counts)
    report_read(results, checked.result_counts)
    _warn(sources, checked, evaluation, config)
    return Context(engine, config, sources, checked, prepared.lists, evaluation, clock)


def _warn(
    sources: Sources,
    checked: CheckedTables,
    evaluation: Evaluation,
    config: EvaluationConfig,
) -> None:
    """Warn of probable mistakes that the counts show."""
    judged, returned = checked.judgment_counts, checked.result_counts
    convention = evaluation.convention
    for sentences in (
        limits.about_input(judged, checked.datasets_without_results, returned, convention),
        limits.about_merged(returned, config),
        limits.about_grades(judged, convention, evaluation.measures),
        limits.about_scores_as_grades(sources[0], judged),
    ):
        for sentence in sentences:
            report_step("warning", sentence)


def report_notes(*sources: Source) -> None:
    """Report what was recognised in tables without being configured."""
    for table in sources:
        for source in table.sources:
            for note in source.notes:
                report_step("read", f"{source.name}: {note}")


def results_source(engine: Engine, config: EvaluationConfig) -> Source:
    """The results and the documents to remove from their lists, located and opened but not read.
    Raises InputError.
    """
    is_ordered = config.convention.order == "file"
    beside = config.judgments.on(config.date) if config.is_one_table else None
    source = read_results(
        engine, config.results.on(config.date), is_ordered=is_ordered, shared_with=beside
    )
    exclude = config.exclude and config.exclude.on(config.date)
    return (
        dataclasses.replace(source, without=read_excluded(engine, exclude)) if exclude else source
    )


def report_read(source: Source, counts: JudgmentCounts | ResultCounts) -> None:
    if isinstance(counts, ResultCounts):
        number, one, several = len({run.run for run in counts.runs}), "run", "runs"
    else:
        number, one, several = sum(counts.queries.values()), "query", "queries"
    what = f"{number:,} {one if number == 1 else several}"
    report_step("read", f"{counts.rows:,} {source.name} of {what} from {source.origin}")
    if isinstance(counts, ResultCounts) and source.without:
        if counts.excluded:
            report_step("excluded", f"{counts.excluded:,} results, by {source.without.origin}")
        else:
            advice = (
                "that is right if the results leave them out already, "
                "otherwise check that both write ids in the same way"
            )
            report_step("warning", f"exclude: {source.without.origin} removes no result; {advice}")
    if counts.rejections:
        report_step(
            "rejected",
            f"{counts.rejected:,} rows of {source.name}: {limits.summary(counts.rejections)}",
        )


class PlanRefusedError(InputError):
    """The engine met a refused row while computing the scores. The message has one example."""

    def __init__(self, code: str, sentence: str) -> None:
        super().__init__(sentence)
        self.code = code


@contextlib.contextmanager
def translated_failures(
    sources: Sequence[Source] = (), output: str | None = None
) -> Iterator[None]:
    """Run the block, and turn an engine's exception into an error of a row, the convention, the
    `output` or the engine.
    """
    try:
        yield
    except failures() as error:
        if refusal := refusals.refused(error):
            is_of_options = refusal[0] == NOT_FINITE.code
            raise (
                ConventionError(refusal[1]) if is_of_options else PlanRefusedError(*refusal)
            ) from error
        if lost(error):
            raise
        kind, reason = type(error).__name__, failure_reason(error)
        if kind == "PythonException":
            last = [kind, *(line.strip() for line in str(error).splitlines() if line.strip())][-1]
            raise ConventionError(
                f"convention: a python: function failed, {last}; correct it"
            ) from error
        if output:
            # Anything read while the output is written has been read before, so it is at fault only
            # if it has changed.
            refuse_changed_files(sources)
            raise StorageError(
                f"output: {output} cannot be written, {reason}; check space, rights and address"
            ) from error
        typed = [
            source.origin
            for table in sources
            for source in table.sources
            if source.format in BINARY
        ]
        damage = f", or a file is damaged, {' or '.join(typed)}" if typed else ""
        raise EngineError(f"engine: {kind}, {reason}; its log may say more{damage}") from error


@contextlib.contextmanager
def count_refusals(context: Context) -> Iterator[None]:
    """Run the block, which computes scores. If a row is refused, the error says how many are, if
    that is known.
    """
    checked, convention = context.checked, context.evaluation.convention
    try:
        with translated_failures(context.sources):
            yield
    except PlanRefusedError as refusal:
        if refusal.code in _TWICE:
            with translated_failures(context.sources):
                refuse_duplicates(checked, *context.sources, convention)
        if refusal.code == MISSING_QUERY.code:
            example = MISSING_QUERY.example_in(refusal.sentence)
            sentence = MISSING_QUERY.sentence(example, checked.counts(0)["missing_queries"])
            raise PlanRefusedError(refusal.code, sentence) from refusal
        raise


class BatchScores(NamedTuple):
    """What is computed of a batch of results, as long as the next batch is not asked for."""

    #: The table QUERY_SCORES.
    query_scores: DataFrame
    #: The runs of the batch.
    runs: DataFrame
    #: All of its lists, if measures of the catalog are asked for.
    shown: DataFrame | None = None


def scores_by_batch(context: Context) -> Iterator[BatchScores]:
    """The scores of each batch of results; lists that all measures share are ranked at once."""
    checked, evaluation = context.checked, context.evaluation
    key = query_key(checked.judgments.columns)
    for batch, (results, runs) in zip(checked.by_batch, context.lists, strict=True):
        if _can_share_lists(evaluation):
            yield from _scores_of_shared_lists(context, batch, runs)
            continue
        shown = None
        if evaluation.measures.of_catalog:
            shown = lists_of_catalog(batch.needed_results, key, evaluation)
        scores = query_scores(checked.judgments, results, runs, evaluation)
        yield BatchScores(scores, runs, shown)


def _can_share_lists(evaluation: Evaluation) -> bool:
    """Whether the lists that are ranked for catalog measures are also those of all scores."""
    measures, depth = evaluation.measures, evaluation.depth
    if not measures.of_catalog or evaluation.rank is not list_by_list:
        return False
    if depth is None or not is_list_by_list(evaluation.convention, depth):
        return False
    deepest = measures.cutoffs_for(*measures.of_catalog)[-1]
    return deepest is not None and deepest <= depth


def _scores_of_shared_lists(
    context: Context, batch: CheckedTables, runs: DataFrame
) -> Iterator[BatchScores]:
    evaluation, judgments = context.evaluation, batch.judgments
    key = query_key(judgments.columns)
    convention, depth = evaluation.convention, evaluation.depth
    lists = shown_lists(batch.needed_results, key, convention, depth, evaluation.rank)
    with contextlib.ExitStack() as stack:
        with context.clock.step("rank", "ranking the results"):
            shown = stack.enter_context(kept_rows(context.engine, lists))
        documents = documents_of(batch.lists_to_score(shown), ["run", *key])
        ranked = dataclasses.replace(evaluation, rank=as_ranked)
        yield BatchScores(query_scores(judgments, documents, runs, ranked), runs, shown)


def accepted_means(context: Context, rows: Iterable[Row | Mapping[str, Any]]) -> DatasetScores:
    """Rows of dataset scores with the requested measures, sorted. Raises InputError if too few
    documents are judged.
    """
    measures = context.evaluation.measures
    columns = measure_first(DATASET_SCORES, measures.columns_of_means)
    means = split_slices({name: row[name] for name in columns} for row in rows)
    refuse_changed_files(context.sources)
    limits.refuse_lost(
        context.checked.judgment_counts, context.checked.result_counts, means.all_queries
    )
    refuse_low_judged_rates(context.config, context.checked, means.all_queries)
    report_unknown_items(means.all_queries, measures)
    for sentence in about_no_values(means.all_queries, measures):
        report_step("warning", sentence)
    return means


def refuse_low_judged_rates(
    config: EvaluationConfig, checked: CheckedTables, rows: Sequence[Mapping[str, Any]]
) -> None:
    """Raise InputError if a run's judged_rate at the deepest cutoff is below `min_judged_rate`;
    warn if it is 0.
    """
    deepest, advice = config.cutoffs[-1], ""
    rates = {
        f"{row['run']} dataset={row['dataset']}": row["judged_rate"]
        for row in rows
        if row["cutoff"] == deepest
    }
    if 0 in rates.values():
        tables, excluded = (checked.judgments, checked.results), checked.result_counts.excluded
        advice = limits.check_ids("document ids", ["doc_id"], *tables, excluded)
    limits.refuse_low_rates(rates, deepest, config.min_judged_rate, advice)
    for sentence in about_judged_rates(rows, deepest, advice):
        report_step("warning", sentence)
