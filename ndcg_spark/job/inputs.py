"""A command's inputs, which are opened on an engine, checked and reported, and their scores.

Scores are computed batch by batch.
"""

import contextlib
import dataclasses
import functools
import itertools
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
    """What a command has read, and how it is scored."""

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
    """The number of partitions for small tables on this machine, or None for the engine's default.

    Each partition is a task. For tables of a few thousand rows, starting the tasks took longer than
    computing the rows.
    """
    size = 0.0
    for table in (config.judgments, config.results, config.exclude):
        if table is None:
            continue
        for path in table.on(config.date).path:
            # A folder may have many files, so the sum ends as soon as it is large.
            for file_size in local_sizes(path):
                size += file_size
                if size > _SMALL_BYTES:
                    return None
    return _FEW_PARTITIONS


def read_inputs(engine: Engine, config: EvaluationConfig, clock: Clock | None = None) -> Context:
    """Both tables of a configuration, checked, reported and prepared for scoring."""
    clock = clock or Clock()
    with clock.step("read", "looking at the inputs"):
        # This imports a Python gain, so that a failure is reported before any table is read.
        unjudged_gain(config.convention)
        judgments = read_judgments(
            engine,
            config.judgments.on(config.date),
            needs_grades=config.convention.gain != "judged",
            shared_with=config.results.on(config.date) if config.is_one_table else None,
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
    judgments, _ = sources
    warnings = itertools.chain(
        limits.about_input(judged, checked.datasets_without_results, returned, convention),
        limits.about_merged(returned, config),
        limits.about_grades(judged, convention, evaluation.measures),
        limits.about_scores_as_grades(judgments, judged),
        limits.about_far_grade(judged),
    )
    for warning in warnings:
        report_step("warning", warning)


def report_notes(*sources: Source) -> None:
    """Report what was recognised in tables without being configured."""
    for table in sources:
        for source in table.sources:
            for note in source.notes:
                report_step("read", f"{source.name}: {note}")


def results_source(engine: Engine, config: EvaluationConfig) -> Source:
    """The results and the documents to remove from their lists, opened but not yet read.

    Raises InputError if there is no such table.
    """
    is_ordered = config.convention.order == "file"
    beside = config.judgments.on(config.date) if config.is_one_table else None
    source = read_results(
        engine, config.results.on(config.date), is_ordered=is_ordered, shared_with=beside
    )
    if config.exclude is None:
        return source
    excluded = read_excluded(engine, config.exclude.on(config.date))
    return dataclasses.replace(source, without=excluded)


def report_read(source: Source, counts: JudgmentCounts | ResultCounts) -> None:
    """Report how many rows were read, excluded and rejected."""
    if isinstance(counts, ResultCounts):
        number = len({run.run for run in counts.runs})
        what = "1 run" if number == 1 else f"{number:,} runs"
    else:
        number = sum(counts.queries.values())
        what = "1 query" if number == 1 else f"{number:,} queries"
    report_step("read", f"{counts.rows:,} {source.name} of {what} from {source.origin}")
    if isinstance(counts, ResultCounts) and source.without:
        _report_excluded(source.without, counts)
    if counts.rejections:
        reasons = limits.summary(counts.rejections)
        report_step("rejected", f"{counts.rejected:,} rows of {source.name}: {reasons}")


def _report_excluded(exclude: Source, counts: ResultCounts) -> None:
    if counts.excluded:
        report_step("excluded", f"{counts.excluded:,} results, by {exclude.origin}")
        return
    advice = (
        "that is right if the results leave them out already, "
        "otherwise check that both write ids in the same way"
    )
    report_step("warning", f"exclude: {exclude.origin} removes no result; {advice}")


class PlanRefusedError(InputError):
    """The engine met a refused row while computing the scores. The message has one example."""

    def __init__(self, code: str, sentence: str) -> None:
        super().__init__(sentence)
        self.code = code


@contextlib.contextmanager
def translated_failures(
    sources: Sequence[Source] = (), output: str | None = None
) -> Iterator[None]:
    """Run the block, and turn an engine exception into an error that says what is at fault:
    a row, the convention, the `output` if the block writes it, or the engine.
    """
    try:
        yield
    except failures() as error:
        refusal = refusals.refused(error)
        if refusal is not None:
            code, sentence = refusal
            if code == NOT_FINITE.code:
                raise ConventionError(sentence) from error
            raise PlanRefusedError(code, sentence) from error
        if lost(error):
            raise
        kind, reason = type(error).__name__, failure_reason(error)
        if kind == "PythonException":
            what = f"a python: function failed, {_last_line(error) or kind}"
            raise ConventionError(f"convention: {what}; correct it") from error
        if output:
            # All inputs were read before, so one of them is at fault only if it has changed since.
            refuse_changed_files(sources)
            raise StorageError(
                f"output: {output} cannot be written, {reason}; "
                "check disk space, permissions and address"
            ) from error
        damage = _may_be_damaged(sources)
        raise EngineError(f"engine: {kind}, {reason}; its log may say more{damage}") from error


def _last_line(error: Exception) -> str:
    """The last line of an exception's text that is not blank, or ""."""
    lines = str(error).strip().splitlines()
    return lines[-1].strip() if lines else ""


def _may_be_damaged(tables: Iterable[Source]) -> str:
    """The end of a message, which names the tables whose files only the engine has read, or ""."""
    origins = []
    for table in tables:
        for source in table.sources:
            if source.format in BINARY:
                origins.append(source.origin)
    # Judgments and results may be one table.
    names = " or ".join(dict.fromkeys(origins))
    return f", or a file is damaged, {names}" if names else ""


@contextlib.contextmanager
def count_refusals(context: Context) -> Iterator[None]:
    """Run the block, which computes scores. If a query is refused, the error says how many are
    refused for the same reason, if that is known.
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
            sentence = MISSING_QUERY.sentence(example, checked.input_counts()["missing_queries"])
            raise PlanRefusedError(refusal.code, sentence) from refusal
        raise


class BatchScores(NamedTuple):
    """What is computed from a batch of results; it is valid until the next batch is requested."""

    #: The table QUERY_SCORES.
    query_scores: DataFrame
    #: The batch's runs.
    runs: DataFrame
    #: All lists of the batch, if catalog measures are requested.
    shown: DataFrame | None = None


def scores_by_batch(context: Context) -> Iterator[BatchScores]:
    """The scores for each batch of results. Lists that all measures share are ranked only once."""
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
    """Whether the lists that are ranked for catalog measures can also be used for all scores."""
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
    """Rank a batch's lists, and yield all scores of these lists."""
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
    """Dataset scores with the requested measures, sorted, after the checks of their values.

    Raises InputError if too few documents are judged.
    """
    measures = context.evaluation.measures
    columns = measure_first(DATASET_SCORES, measures.columns_of_means)
    shown_rows = []
    for row in rows:
        shown_rows.append({name: row[name] for name in columns})
    means = split_slices(shown_rows)
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
    """Raise InputError if a run's judged_rate at the deepest cutoff is below `min_judged_rate`.

    Warn if it is 0.
    """
    deepest = config.cutoffs[-1]
    rates = {}
    for row in rows:
        if row["cutoff"] == deepest:
            rates[f"{row['run']} dataset={row['dataset']}"] = row["judged_rate"]
    advice = ""
    if 0 in rates.values():
        excluded = checked.result_counts.excluded
        advice = limits.check_ids(
            "document ids", ["doc_id"], checked.judgments, checked.results, excluded
        )
    limits.refuse_low_rates(rates, deepest, config.min_judged_rate, advice)
    for sentence in about_judged_rates(rows, deepest, advice):
        report_step("warning", sentence)
