"""Inputs held to the contract: what was read of files, or the words of the refusal; and tables of rows."""

import functools
import re
from collections.abc import Iterable
from typing import Any

import tables
from pyspark.sql import DataFrame, SparkSession

from ndcg_spark import config
from ndcg_spark.contract import counting as contract
from ndcg_spark.contract.counting import CheckedTables
from ndcg_spark.engine import Engine
from ndcg_spark.errors import NdcgSparkError
from ndcg_spark.inputs import source_tables
from ndcg_spark.inputs.batches import Runs
from ndcg_spark.inputs.files import File
from ndcg_spark.inputs.source_tables import Source
from ndcg_spark.scoring.prepare import Tables, prepare


def check_tables(
    judgments: Source,
    results: Source,
    wanted: config.EvaluationConfig,
) -> CheckedTables:
    """Both tables as the job counts them."""
    guard = functools.partial(contract.check_tables, judgments, results, wanted)
    sources = Tables(judgments, results, results.without)
    return prepare(sources, wanted.options, guard, is_sail=True).guarded


def check(engine: Engine, settings: dict) -> dict:
    """The rows of each run, or `error` and its `code`, of an evaluation's input."""
    try:
        wanted = config.validate(settings, "test")
        judgments = source_tables.read_judgments(engine, wanted.judgments)
        results = source_tables.read_results(engine, wanted.results)
        return {
            run.run: run.rows for run in check_tables(judgments, results, wanted).result_counts.runs
        }
    except NdcgSparkError as error:
        return {"error": str(error), "code": error.exit_code}


def is_as_expected(outcome: dict, expected: dict | str) -> None:
    """Assert that `check` has these rows by run, or a refusal with these words, a regular expression."""
    assert (
        outcome == expected
        if isinstance(expected, dict)
        else re.search(expected, outcome.get("error", ""))
    ), outcome


def settings(**given: Any) -> config.EvaluationConfig:
    """The configuration of an evaluation that accepts bad rows."""
    paths = {"judgments": {"path": "judgments"}, "results": {"path": "results"}}
    return config.validate({**paths, "max_rejected_fraction": 1, **given}, "test")


def tables_of(
    session: SparkSession,
    judged: Iterable[tables.Row] | DataFrame,
    returned: Iterable[tables.Row] | DataFrame,
    *,
    files: list[File] | None = None,
    runs: Runs | None = None,
    without: Source | None = None,
    **given: Any,
) -> CheckedTables:
    made = [
        rows if isinstance(rows, DataFrame) else tables.table(session, rows, columns)
        for rows, columns in ((judged, tables.JUDGMENTS_READ), (returned, tables.RESULTS_READ))
    ]
    judgments = Source(made[0], "judgments", "parquet", [])
    results = Source(made[1], "results", "parquet", files or [], without=without, runs=runs or {})
    return check_tables(judgments, results, settings(**given))
