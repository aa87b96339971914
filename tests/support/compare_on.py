"""Comparisons on the engine named, in a process of its own that stays: a process is either classic or Connect.

Opening an engine takes a second and a comparison a seventh of one, so the tests of a process share it.
"""

import dataclasses
import os
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from evaluate_on import session_of
from programs import PROCESSES
from pyspark.sql import SparkSession
from servers import QUICK_JAVA

from ndcg_spark import compare
from ndcg_spark.comparison.compare import Comparison, compare_tables
from ndcg_spark.comparison.options import ComparisonOptions
from ndcg_spark.errors import NdcgSparkError

Rows = list[dict[str, Any]]


def rows_on(session: SparkSession, scores: Any, baseline: Any, **options: Any) -> Rows:
    """The rows of `compare`, from tables of pyarrow."""
    tables = [scores, baseline, *(options.get(name) for name in ("attributes", "weights"))]
    scores, baseline, attributes, weights = (
        session.createDataFrame(table) if hasattr(table, "schema") else table for table in tables
    )
    found = compare(scores, baseline, **{**options, "attributes": attributes, "weights": weights})
    return found.toArrow().to_pylist()


def compared_on(session: SparkSession, *tables: Any, **options: Any) -> Comparison:
    """What `compare_tables` finds, from tables of pyarrow."""
    made = [session.createDataFrame(table) if hasattr(table, "schema") else table for table in tables]
    optional = {
        name: session.createDataFrame(value) if hasattr(value, "schema") else value for name, value in options.items()
    }
    names = {field.name for field in dataclasses.fields(ComparisonOptions)}
    options = {name: value for name, value in optional.items() if name in names}
    others = {name: value for name, value in optional.items() if name not in names}
    own, other, *runs = [*made, *[None] * (2 - len(made))]
    return compare_tables(own, other, [run for run in runs if run], ComparisonOptions(**options), **others)


class Elsewhere:
    """An engine in another process, which compares."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def rows(self, scores: Any, baseline: Any, **options: Any) -> Rows:
        return self._asked(rows_on, scores, baseline, **options)

    def compared(self, *tables: Any, **options: Any) -> Comparison:
        return self._asked(compared_on, *tables, **options)

    def _asked(self, function: Any, *arguments: Any, **options: Any) -> Any:
        self._connection.send((function, arguments, options))
        found, error = self._connection.recv()
        if error is not None:
            raise error
        return found


@contextmanager
def elsewhere(engine: str) -> Iterator[Elsewhere]:
    """An engine in another process: embedded, connect for a server of its own, or the URL of a server."""
    ours, theirs = PROCESSES.Pipe()
    process = PROCESSES.Process(target=_serve, args=(theirs, engine), daemon=True)
    process.start()
    theirs.close()
    try:
        yield Elsewhere(ours)
    finally:
        ours.close()
        process.join()


def _serve(connection: Any, engine: str) -> None:
    os.environ.update(QUICK_JAVA)
    with session_of(engine) as session:
        if engine != "embedded":
            session.conf.set("spark.sql.shuffle.partitions", "1")
        while True:
            try:
                function, arguments, options = connection.recv()
            except EOFError:
                return
            try:
                connection.send((function(session, *arguments, **options), None))
            except NdcgSparkError as error:
                connection.send((None, error))
            except Exception:  # noqa: BLE001  # the test fails with what is said here
                connection.send((None, AssertionError(traceback.format_exc())))
