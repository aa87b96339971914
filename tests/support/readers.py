"""What readers that know nothing of this project find in an output: pyarrow and DuckDB, which must find the same."""

import contextlib

import duckdb
import pyarrow.parquet as pq
from pyarrow import fs

from ndcg_spark.nights import committed
from ndcg_spark.nights.store import TABLES

NOTHING = {table: [] for table in TABLES}


def plain(output):
    """The rows (evaluation_id, ndcg) of every table, sorted."""
    found = by_pyarrow(output)
    if "://" not in str(output):
        assert {table: _duckdb(str(output), table) for table in TABLES} == found
    return found


def by_pyarrow(output):
    """As `plain`, of the faster reader alone, where it is asked hundreds of times."""
    return {table: _read(str(output), table) for table in TABLES}


def records(output):
    """The evaluations that have a record, in the order of their nights."""
    return [night.record["evaluation_id"] for night in committed.committed(str(output))]


def _read(output, table):
    system, place = fs.FileSystem.from_uri(output) if "://" in output else (fs.LocalFileSystem(), output)
    found = system.get_file_info(fs.FileSelector(f"{place}/{table}", recursive=True, allow_not_found=True))
    paths = [info.path for info in found if info.path.endswith(".parquet")]
    rows = [row for path in paths for row in pq.ParquetFile(system.open_input_file(path)).read().to_pylist()]
    return sorted((row["evaluation_id"], row["ndcg"]) for row in rows)


def _duckdb(output, table):
    glob = f"{output}/{table}/*/*/*.parquet"
    query = "select evaluation_id, ndcg from read_parquet(?, hive_partitioning=true) order by all"
    with duckdb.connect() as connection, contextlib.suppress(duckdb.IOException):
        # It refuses a pattern that no file matches.
        return connection.execute(query, [glob]).fetchall()
    return []
