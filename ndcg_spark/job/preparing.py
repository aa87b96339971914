"""What every command prepares from the configuration before it scores, checks or explains."""

import dataclasses
from contextlib import AbstractContextManager
from typing import TypeVar

import pyarrow as pa
from pyspark.sql import DataFrame

from ndcg_spark.config import EvaluationConfig
from ndcg_spark.contract.tables import CheckedTables
from ndcg_spark.engine import Engine, open_engine
from ndcg_spark.inputs.read import (
    Source,
    read_attributes,
    read_excluded,
    read_judgments,
    read_results,
    read_weights,
)
from ndcg_spark.reference import unjudged_gain
from ndcg_spark.schemas import query_key
from ndcg_spark.scoring.evaluation import Evaluation, new_id, query_scores
from ndcg_spark.scoring.lists import of_judged_queries
from ndcg_spark.scoring.ranking import brought_together, by_window, list_by_list
from ndcg_spark.table_config import TableConfig

#: The judgments and the results.
Sources = tuple[Source, Source]
_Table = TypeVar("_Table", bound=TableConfig)
#: The share of results of queries that nobody judged up to which it does not pay to find and leave them out, for which
#: the judgments are read once more.
_NOT_WORTH_A_SCAN = 0.1


@dataclasses.dataclass(frozen=True)
class SliceTables:
    """The tables that comparisons are cut and weighted by, if there are any."""

    attributes: DataFrame | None = None
    weights: DataFrame | None = None


def engine_for(config: EvaluationConfig) -> AbstractContextManager[Engine]:
    """The engine that the configuration asks for, not yet open. Raises EngineError."""
    staging = config.staging or (f"{config.dated(config.output).rstrip('/')}/_staging" if config.output else None)
    return open_engine(config.engine, config.remote, staging)


def sources_of(opened: Engine, config: EvaluationConfig) -> Sources:
    """Both tables, found and opened but not read. Raises InputError, ConventionError."""
    # Computed first, so that a Python gain that cannot be imported is reported before any table is read.
    unjudged_gain(config.convention)
    graded = config.convention.gain != "judged"
    of_judgments, of_results = _dated(config, config.judgments), _dated(config, config.results)
    judgments = read_judgments(opened, of_judgments, of_judgments.path, graded)
    results = read_results(opened, of_results, of_results.path)
    if config.exclude:
        of_excluded = _dated(config, config.exclude)
        excluded = read_excluded(opened, of_excluded, of_excluded.path)
        results = dataclasses.replace(results, without=excluded)
    return judgments, results


def _dated(config: EvaluationConfig, table: _Table) -> _Table:
    """Where a table is, and as of when it is read, with the evaluation's date in place of {date}."""
    as_of = config.dated(table.as_of) if isinstance(table.as_of, str) else table.as_of
    return table.model_copy(update={"path": [config.dated(path) for path in table.path], "as_of": as_of})


def slice_tables(opened: Engine, config: EvaluationConfig) -> SliceTables:
    """The attributes and the weights of queries that the configuration names. Raises InputError."""
    found, attributes, weights = SliceTables(), config.query_attributes, config.query_weights
    if attributes:
        attributes = _dated(config, attributes)
        table = read_attributes(opened, attributes.path, attributes)
        found = dataclasses.replace(found, attributes=table)
    if weights:
        weights = _dated(config, weights)
        table = read_weights(opened, weights.path, weights)
        found = dataclasses.replace(found, weights=table)
    return found


def evaluation_of(opened: Engine, config: EvaluationConfig) -> Evaluation:
    """The evaluation that the configuration describes, under a new id, ranked in the way that is fastest here."""
    rank = list_by_list if opened.kind == "embedded" else by_window
    return Evaluation(
        config.convention, config.cutoffs, config.date, new_id(), config.dataset, rank, config.measure_set
    )


def scores_of(checked: CheckedTables, runs: DataFrame, evaluation: Evaluation) -> DataFrame:
    """The table QUERY_SCORES of checked tables, computed in the way that is fastest for what the check has found."""
    few = checked.unjudged_rows <= _NOT_WORTH_A_SCAN * checked.result_counts.rows
    # Where results are not brought together, leaving some out does so.
    whole = few and _brings_together(checked, evaluation)
    results = _pruned(checked, evaluation) if whole else results_of(checked, evaluation)
    return query_scores(checked.judgments, results, runs, evaluation)


def results_of(checked: CheckedTables, evaluation: Evaluation) -> DataFrame:
    """Of checked results those that can matter to a score: of judged queries, and without what the check has pruned."""
    return results_to_score(checked, _pruned(checked, evaluation))


def results_to_score(checked: CheckedTables, results: DataFrame) -> DataFrame:
    """CheckedTables results without those of queries that nobody judged."""
    return of_judged_queries(results, checked.judgments) if checked.unjudged_rows else results


def _pruned(checked: CheckedTables, evaluation: Evaluation) -> DataFrame:
    """CheckedTables results without what the check has pruned."""
    results = checked.pruned_results
    if _brings_together(checked, evaluation):
        return brought_together(results, query_key(checked.judgments.columns))
    return results


def _brings_together(checked: CheckedTables, evaluation: Evaluation) -> bool:
    """Whether the results are cut down by their ranks, and no much smaller part of them is of judged queries.

    Others move fewer rows where Spark cuts them down itself, before it moves any.
    """
    counts = checked.result_counts
    cut = checked.pruning is not None and counts.untrusted is not None
    return evaluation.rank is by_window and cut and 2 * checked.unjudged_rows <= counts.rows


def runs_table(opened: Engine, checked: CheckedTables) -> DataFrame:
    """The table that `evaluation.count_unjudged_queries` computes, built from counts that the check already has."""
    runs = checked.result_counts.runs
    columns = {
        "run": pa.array([run.run for run in runs], pa.string()),
        "unjudged_queries": pa.array([run.unjudged_queries for run in runs], pa.int64()),
    }
    if "dataset" in checked.judgments.columns:
        columns = {"dataset": pa.array([run.dataset for run in runs], pa.string()), **columns}
    # Built from Arrow, because a table built from rows makes classic Spark start Python workers.
    return opened.session.createDataFrame(pa.table(columns))
