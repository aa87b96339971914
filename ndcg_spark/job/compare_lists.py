"""Two sets of results compared list by list, without judgments."""

import dataclasses
from typing import Any

from pyspark.sql import DataFrame

from ndcg_spark import rules
from ndcg_spark.config import EvaluationConfig
from ndcg_spark.contract import limits
from ndcg_spark.contract.check import check_lists
from ndcg_spark.contract.counts import ResultCounts
from ndcg_spark.contract.duplicates import lists_without_duplicates
from ndcg_spark.convention.cutoffs import by_depth
from ndcg_spark.engine import Engine, open_engine
from ndcg_spark.errors import ConfigurationError, InputError
from ndcg_spark.inputs.engine_files import materializer
from ndcg_spark.inputs.read import Source
from ndcg_spark.inputs.unchanged import Stamp, refuse_changed, stamps_of
from ndcg_spark.job.compare import ComparisonRequest, baselines_of
from ndcg_spark.job.failures import PlanRefusedError, translated_failures
from ndcg_spark.job.progress import ReportStep
from ndcg_spark.job.setup import engine_for, results_of
from ndcg_spark.lists.api import as_list_changes
from ndcg_spark.lists.changes import list_changes, ranked_lists, refuse_cutoffs, refuse_unknown_order
from ndcg_spark.lists.nights import KeptLists, changes_of_nights, refused_lists
from ndcg_spark.lists.pairs import compared_runs, paired
from ndcg_spark.lists.summary import most_changed, summarized
from ndcg_spark.nights.log import Night, committed, read_again_if_replaced, unreplaced
from ndcg_spark.nights.select import select_nights
from ndcg_spark.schemas import query_key
from ndcg_spark.text import unknown_name


@dataclasses.dataclass(frozen=True)
class ListComparison:
    """How much the lists changed, as plain data."""

    #: The rows of `summarized`, by dataset, run and cutoff.
    rows: list[dict[str, Any]]
    #: The rows of LIST_CHANGES of the queries that changed most, for each run and cutoff, the most changed first.
    queries: list[dict[str, Any]]


@dataclasses.dataclass(frozen=True)
class _Side:
    source: Source
    config: EvaluationConfig
    #: The good rows, and those of them that are not too deep.
    results: DataFrame
    cut: DataFrame
    counts: ResultCounts
    stamps: dict[str, Stamp]


def compare_lists(
    old: EvaluationConfig,
    new: EvaluationConfig | None,
    baseline: str | None,
    persistence: float,
    queries: int,
    report_step: ReportStep,
) -> ListComparison:
    """Compare the lists of new results with those of old results, or the old runs with one of themselves.

    `queries` is how many of the most changed queries are named for each run and cutoff.

    Raises
    ------
    NdcgSparkError
        As an evaluation does for its results; the baseline or every run is unknown; ties need judgments.
    """
    refuse_unknown_order(old.convention)
    cutoffs = refuse_cutoffs(old.cutoffs, persistence)
    with engine_for(old) as engine:
        report_step("engine", engine.name)
        sides = [_side(engine, config, report_step) for config in (new, old) if config is not None]
        if len({"dataset" in side.results.columns for side in sides}) > 1:
            raise InputError("results: only one side has a column dataset; name it in both or in neither")
        names = [{run.run for run in side.counts.runs} for side in sides]
        runs = compared_runs(names[0], names[-1], baseline)

        def found(tables: list[DataFrame]) -> ListComparison:
            key = query_key(tables[0].columns)
            ranked = [
                ranked_lists(table, key, side.config.convention, cutoffs[-1])
                for table, side in zip(tables, sides, strict=True)
            ]
            pair = paired(ranked[0], ranked[-1], runs, baseline)
            changes = list_changes(*pair, ["run", *key], old.convention, cutoffs, persistence)
            return _comparison(engine, as_list_changes(changes, baseline, old.dataset), queries)

        sources = [side.source for side in sides]
        try:
            with translated_failures(sources):
                comparison = found([side.cut for side in sides])
        except PlanRefusedError as refusal:
            if not refusal.is_of_duplicates:
                raise
            with translated_failures(sources):
                once = [lists_without_duplicates(s.results, s.counts, s.source, s.config) for s in sides]
                comparison = found(once)
        for side in sides:
            refuse_changed([side.source], side.stamps)
    report_step("compared", f"{len(runs):,} runs with {baseline or 'the runs of the same names'}")
    return comparison


def compare_lists_of_nights(
    request: ComparisonRequest, queries: int, persistence: float, report_step: ReportStep
) -> ListComparison:
    """Compare the lists that published nights keep with those of a baseline. Raises as `compare_nights`.

    ConfigurationError if a night does not keep its lists, those of two nights mean different things, or there are
    several baselines.
    """
    if len(request.baselines) > 1:
        raise ConfigurationError("arguments: --lists compares with one --baseline, but several are given; name one")
    return read_again_if_replaced(lambda: _compare_nights(request, queries, persistence, report_step))


def _compare_nights(
    request: ComparisonRequest, queries: int, persistence: float, report_step: ReportStep
) -> ListComparison:
    nights = committed(request.output)
    tonight = select_nights(nights, request.output, request.date.isoformat() if request.date else None, request.dataset)
    others = baselines_of(nights, tonight, request.baseline_date) if request.baseline_date else {}
    pairs = [(night, others.get(night.dataset, night)) for night in tonight]
    for night, other in pairs:
        refused = refused_lists(night.record, other.record)
        if refused:
            raise ConfigurationError(f"lists: {night.dataset}: {refused[1]}")
    refuse_cutoffs([], persistence)
    found = ListComparison([], [])
    with unreplaced([*tonight, *others.values()]), open_engine(request.engine, request.remote) as engine:
        report_step("engine", engine.name)
        with translated_failures(()):
            for night, other in pairs:
                changes = _changes_of_night(engine, request, night, other, persistence)
                of_night = _comparison(engine, changes, queries)
                found = ListComparison(found.rows + of_night.rows, found.queries + of_night.queries)
    return found


def _changes_of_night(
    engine: Engine, request: ComparisonRequest, night: Night, other: Night, persistence: float
) -> DataFrame:
    """The table LIST_CHANGES of a night and its baseline, which is the night itself if a run of it is."""
    new = KeptLists.of(night, engine.session)
    old = new if other is night else KeptLists.of(other, engine.session)
    baseline = next(iter(request.baselines), None)
    runs = compared_runs(new.runs, old.runs, baseline)
    runs = [run for run in runs if request.runs is None or run in request.runs]
    if not runs:
        raise unknown_name("run", "run", (request.runs or ("",))[0], new.runs)
    return changes_of_nights(new, old, runs, baseline, persistence)


def _comparison(engine: Engine, changes: DataFrame, queries: int) -> ListComparison:
    """The comparison in a table LIST_CHANGES, which is read twice."""
    materialize = materializer(engine, "list_changes")
    table = materialize([changes]) if materialize else changes.persist()
    rows = [row.asDict() for row in summarized(table).collect()]
    most = [row.asDict() for row in most_changed(table, queries).collect()] if queries else []
    return ListComparison(sorted(rows, key=_place), sorted(most, key=lambda row: (*_place(row), row["place"])))


def _place(row: dict[str, Any]) -> tuple[Any, ...]:
    return row["dataset"], row["run"], by_depth(row["cutoff"])


def _side(engine: Engine, config: EvaluationConfig, report_step: ReportStep) -> _Side:
    """The checked results of one side."""
    source = results_of(engine, config)
    for note in source.notes:
        report_step("read", f"{source.name}: {note}")
    options = rules.options_without_scores(config.convention, source.table.columns)
    config = config.model_copy(update={"convention": config.convention.replace(**options)})
    stamps = stamps_of([source])
    with translated_failures([source]):
        good, counts, cut = check_lists(source, config)
    report_step("read", f"{counts.rows:,} results of {len(counts.runs):,} runs from {source.place}")
    if counts.breaches:
        rows = sum(breach.rows for breach in counts.breaches)
        report_step("rejected", f"{rows:,} rows of {source.place}: {limits.summary(counts.breaches)}")
    return _Side(source, config, good, good if cut is None else cut(good), counts, stamps)
