"""Two sets of results from storage compared list by list; they are checked as for an evaluation."""

import dataclasses
from typing import Any

from pyspark.sql import DataFrame

from ndcg_spark import rules
from ndcg_spark.config import EvaluationConfig
from ndcg_spark.contract import limits
from ndcg_spark.contract.check import check_lists
from ndcg_spark.contract.duplicates import refuse_in_lists
from ndcg_spark.convention.cutoffs import by_depth
from ndcg_spark.engine import Engine
from ndcg_spark.errors import InputError
from ndcg_spark.inputs.engine_files import materializer
from ndcg_spark.inputs.read import Source, refuse_changed
from ndcg_spark.job.failures import PlanRefusedError, translated_failures
from ndcg_spark.job.setup import engine_for, results_of
from ndcg_spark.lists import compared_runs, list_changes, most_changed, refuse_unusable, summarized
from ndcg_spark.steps import report_step


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
    good: DataFrame
    needed: DataFrame
    runs: set[str]


def compare_lists(
    old: EvaluationConfig, new: EvaluationConfig | None, baseline: str | None, persistence: float, queries: int
) -> ListComparison:
    """Compare the lists of new results with those of old results, or the old runs with one of themselves.

    `queries` is how many of the most changed queries are named for each run and cutoff. Raises as an evaluation does
    for its results; ConfigurationError if the baseline or every run is unknown, or ties need judgments.
    """
    cutoffs = refuse_unusable(old.convention, old.cutoffs, persistence)
    with engine_for(old) as engine:
        sides = [_side(engine, config) for config in (new, old) if config is not None]
        sources = [side.source for side in sides]
        if len({"dataset" in side.good.columns for side in sides}) > 1:
            raise InputError("results: only one side has a column dataset; name it in both or in neither")
        runs = compared_runs(sides[0].runs, sides[-1].runs, baseline)
        how = (runs, baseline, old.convention, cutoffs, persistence, old.dataset)
        try:
            with translated_failures(sources):
                compared = _comparison(engine, list_changes(sides[0].needed, sides[-1].needed, *how), queries)
        except PlanRefusedError:
            for side in sides:
                with translated_failures(sources):
                    refuse_in_lists(side.source, [side.good], side.config.convention)
            raise
        refuse_changed(sources)
    report_step("compared", f"{len(runs):,} runs with {baseline or 'the runs of the same names'}")
    return compared


def _comparison(engine: Engine, changes: DataFrame, queries: int) -> ListComparison:
    """The comparison in a table LIST_CHANGES, which is read twice."""

    def place(row: dict[str, Any]) -> tuple[Any, ...]:
        return row["dataset"], row["run"], by_depth(row["cutoff"])

    materialize = materializer(engine, "list_changes")
    table = materialize([changes]) if materialize else changes.persist()
    rows = [row.asDict() for row in summarized(table).collect()]
    most = [row.asDict() for row in most_changed(table, queries).collect()] if queries else []
    return ListComparison(sorted(rows, key=place), sorted(most, key=lambda row: (*place(row), row["place"])))


def _side(engine: Engine, config: EvaluationConfig) -> _Side:
    """The checked results of one side."""
    source = results_of(engine, config)
    for note in source.notes:
        report_step("read", f"{source.name}: {note}")
    options = rules.options_without_scores(config.convention, source.table.columns)
    config = config.model_copy(update={"convention": config.convention.replace(**options)})
    with translated_failures([source]):
        good, counts, needed = check_lists(source, config)
    report_step("read", f"{counts.rows:,} results of {len(counts.runs):,} runs from {source.place}")
    if counts.breaches:
        report_step("rejected", f"{counts.bad:,} rows of {source.place}: {limits.summary(counts.breaches)}")
    return _Side(source, config, good, needed, {run.run for run in counts.runs})
