"""`evaluate` and `describe` for Spark DataFrames, and for other tables with a session.

`evaluate` returns lazy scores, which are computed when they are used. `describe` computes at once.
"""

import dataclasses
import functools
import warnings
from collections.abc import Mapping
from typing import Any, NamedTuple

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from ndcg_spark import rules
from ndcg_spark.api.scores import NO_RESULTS, SparkScores
from ndcg_spark.config import TablesConfig, missing_items
from ndcg_spark.contract.limits import about_merged, is_mostly_merged
from ndcg_spark.contract.scan import ResultCounts, RunCounts
from ndcg_spark.convention.refused_queries import MERGED
from ndcg_spark.engine import open_session, require_read_values, sail_version
from ndcg_spark.engine.sessions import kept_in_block
from ndcg_spark.errors import ConfigurationError, InputError, about
from ndcg_spark.inputs.dataframes import dataframes_in, frame, merge_local_partitions, with_grades
from ndcg_spark.inputs.grade_labels import Labels
from ndcg_spark.inputs.items import make_items
from ndcg_spark.inputs.memory import RUN, is_spark, to_arrow
from ndcg_spark.inputs.one_table import is_one_table
from ndcg_spark.inputs.query_tables import attribute_rows
from ndcg_spark.job.catalog_of_runs import about_unknown_items
from ndcg_spark.job.describe_results import described_rows, refuse_judged
from ndcg_spark.job.inputs import translated_failures
from ndcg_spark.schemas import EXCLUDE, ITEMS, JUDGMENTS, RESULTS, query_key
from ndcg_spark.scoring.catalog_columns import EngineItems, refuse_dependent
from ndcg_spark.scoring.counted_queries import Slices, make_slices
from ndcg_spark.scoring.evaluation import (
    Evaluation,
    dataset_scores,
    lists_of_catalog,
    query_scores,
    run_measures,
)
from ndcg_spark.scoring.prepare import Prepared, Tables, prepare, prepare_lists
from ndcg_spark.scoring.raising import (
    RaisingTables,
    count_merged_lists,
    raise_in_plan,
    raise_in_results,
)
from ndcg_spark.spot_check.lazy import LazyCheck


class SparkTable(NamedTuple):
    """A table of a session, with our column names."""

    table: DataFrame
    name: str
    origin: str = "the table"


class GivenItems(NamedTuple):
    """The items of the catalog as the user gave them; Spark DataFrames are fetched."""

    items: Any = None
    interactions: Any = None


def evaluate_tables(
    tables: Mapping[str, Any],
    config: TablesConfig,
    session: SparkSession | None,
    catalog: GivenItems,
) -> SparkScores:
    """The lazy scores of tables in memory or in Spark, as `evaluate` returns them for a session.

    Attributes and items are fetched into this process and validated; nothing else is computed.
    """
    session = session or _session_of(tables) or open_session()
    require_read_values(session)
    items = _items(catalog, config, session)
    frames = _frames(tables, config, session)
    guard = functools.partial(raise_in_plan, frames)
    prepared = prepare(frames, config.options, guard, is_sail=_is_sail(session))
    evaluation = dataclasses.replace(prepared.evaluation, items=items)
    # Only a job reads results in several batches.
    (batch,) = prepared.lists
    per_query = query_scores(prepared.judgments, batch.results, batch.runs, evaluation)
    attributes, slices = _attributes(tables["query_attributes"], session)
    numbers = _numbers_of_runs(prepared, evaluation)
    scores = dataset_scores(per_query, batch.runs, evaluation, slices, numbers)
    check = LazyCheck(frames, prepared.judgments, evaluation, attributes)
    return SparkScores(
        query_scores=per_query,
        dataset_scores=scores,
        convention=evaluation.convention.label,
        measures=evaluation.measures,
        attributes=attributes,
        runs=_names_of_runs(tables["results"], config),
        check=check.query_scores,
        items_fingerprint=None if items is None else items.items.fingerprint,
    )


def _numbers_of_runs(prepared: Prepared[RaisingTables], evaluation: Evaluation) -> DataFrame | None:
    """The measures that have one number per run; None if none of them is measured."""
    if not evaluation.measures.of_catalog:
        return None
    key = query_key(prepared.judgments.columns)
    shown = lists_of_catalog(prepared.guarded.results, key, evaluation)
    return run_measures(shown, key, evaluation)


def _names_of_runs(results: Any, config: TablesConfig) -> list[str]:
    """The runs that a dictionary of DataFrames names, because one of them may have no rows."""
    is_by_run = config.run is None and isinstance(results, Mapping) and is_spark(results)
    return list(results) if is_by_run else []


def describe_tables(
    tables: Mapping[str, Any],
    config: TablesConfig,
    session: SparkSession | None,
    catalog: GivenItems,
) -> list[dict[str, Any]]:
    """The rows that describe tables in memory or in Spark, computed by their session."""
    session = session or _session_of(tables) or open_session()
    require_read_values(session)
    measures = config.measure_set
    refuse_judged(measures)
    refuse_dependent(config.convention, measures)
    items = _items(catalog, config, session)
    results = SparkTable(_results(tables["results"], config, session), "results")
    exclude = _exclude(tables["exclude"], config, session)
    checks = prepare_lists(results, exclude, config.options)
    good_results = raise_in_results(results, exclude, checks)
    with translated_failures():
        if checks.may_have_two_runs:
            _report_merged(good_results, config)
        rows = described_rows(
            good_results,
            checks.convention,
            measures,
            items,
            config.dataset,
            kept_in_block,
            is_sail=_is_sail(session),
        )
    if not rows:
        raise InputError(NO_RESULTS)
    for sentence in about_unknown_items(rows, measures):
        warnings.warn(sentence, stacklevel=3)
    return rows


def _report_merged(results: DataFrame, config: TablesConfig) -> None:
    """Warn of lists that may be made of two runs; raise InputError if a run has mostly such lists.

    A command does the same with a table that does not tell which file each row is from.
    """
    runs = []
    for row in count_merged_lists(results).collect():
        counts = row.asDict()
        counts.setdefault("dataset", None)
        runs.append(RunCounts(**counts))
    runs.sort(key=lambda run: (run.dataset or "", run.run))
    for run in runs:
        if is_mostly_merged(run):
            dataset = f"dataset={run.dataset} " if run.dataset else ""
            example = f"{dataset}run={run.run} query_id={run.merged_query}"
            raise InputError(MERGED.sentence(example, run.merged_lists))
    for notice in about_merged(ResultCounts(rows=0, runs=runs), config):
        warnings.warn(str(notice), stacklevel=4)


def _is_sail(session: SparkSession) -> bool:
    return sail_version(session) is not None


def _items(catalog: GivenItems, config: TablesConfig, session: SparkSession) -> EngineItems | None:
    """The items of the catalog for the engine, or None if no measure needs them."""
    measures = config.measure_set
    if not measures.of_items:
        return None
    if catalog.items is None and catalog.interactions is None:
        notice = missing_items(measures.of_items)
        raise ConfigurationError(notice.sentence, notice.advice)
    rows = used = None
    if catalog.items is not None:
        with about("items"):
            rows = to_arrow(catalog.items, ITEMS.names)
    if catalog.interactions is not None:
        with about("interactions"):
            used = to_arrow(catalog.interactions, ["query_id", "doc_id"])
    items = make_items(rows, used, config.items_users, measures)
    return EngineItems.of(items, measures, functools.partial(_local, session))


def _local(session: SparkSession, table: pa.Table) -> DataFrame:
    """A table of this process in the session."""
    return merge_local_partitions(session.createDataFrame(table))


def _session_of(tables: Mapping[str, Any]) -> SparkSession | None:
    """The session of the first table that has one."""
    for table in tables.values():
        for dataframe in dataframes_in(table):
            return dataframe.sparkSession
    return None


def _frames(tables: Mapping[str, Any], config: TablesConfig, session: SparkSession) -> Tables:
    """The tables as DataFrames of the session, with the grade and run that apply to all rows."""
    if is_one_table(tables["judgments"], tables["results"]):
        raise InputError(
            "judgments: no column doc_id, and Spark rows have no order by which to name documents; "
            "add a column doc_id with the ids, give what toArrow() returns without a session, or "
            "write the table as Parquet and give its path twice"
        )
    return Tables(
        SparkTable(_judgments(tables["judgments"], config, session), "judgments"),
        SparkTable(_results(tables["results"], config, session), "results"),
        _exclude(tables["exclude"], config, session),
    )


def _exclude(given: Any, config: TablesConfig, session: SparkSession) -> SparkTable | None:
    """The documents to exclude, or None."""
    if given is None:
        return None
    with about("exclude"):
        separator = config.split_ids.get("exclude")
        return SparkTable(frame(given, EXCLUDE, session, separator), "exclude")


def _judgments(given: Any, config: TablesConfig, session: SparkSession) -> DataFrame:
    """The judgments, with the configured grades."""
    schema = JUDGMENTS if config.relevance is None else _without(JUDGMENTS, "relevance")
    with about("judgments"):
        judgments = frame(given, schema, session, config.split_ids.get("judgments"))
    if config.grades is not None:
        with about("judgments"):
            judgments = with_grades(judgments, Labels(config.grades))
    needs_grades = config.convention.gain != "judged"
    grade = rules.constant_grade(config.relevance, needs_grades, judgments.columns)
    if grade is None:
        return judgments
    return judgments.withColumn("relevance", F.lit(grade))


def _results(given: Any, config: TablesConfig, session: SparkSession) -> DataFrame:
    """The results, with the configured run if they do not name their runs."""
    # The column of runs is ignored if the run has a name.
    is_named = config.run is not None and not isinstance(given, Mapping)
    schema = _without(RESULTS, "run") if is_named else RESULTS
    with about("results"):
        is_ordered = config.convention.order == "file"
        separator = config.split_ids.get("results")
        results = frame(given, schema, session, separator, is_ordered=is_ordered)
    if config.run is None and "run" in results.columns:
        return results
    return results.withColumn("run", F.lit(config.run or RUN))


def _without(schema: pa.Schema, name: str) -> pa.Schema:
    return schema.remove(schema.get_field_index(name))


def _attributes(given: Any, session: SparkSession) -> tuple[pa.Table | None, Slices | None]:
    """The table QUERY_ATTRIBUTES and its slices, or None if there are no attributes."""
    if given is None:
        return None, None
    with about("query_attributes"):
        rows = to_arrow(given, None)
    attributes = attribute_rows(rows)
    return attributes, make_slices(attributes, functools.partial(_local, session))
