"""The rows of the nights that count: as a DataFrame of an engine, or read by this process without one."""

import concurrent.futures
import contextlib
import datetime
import functools
import operator
import os
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from ndcg_spark.convention.measures import COLUMNS
from ndcg_spark.errors import StorageError, first_line
from ndcg_spark.nights.log import Night, committed, log_table, read_again_if_replaced, refuse_replaced
from ndcg_spark.nights.select import select_nights
from ndcg_spark.nights.store import FAILURES, LOG
from ndcg_spark.schemas import DATASET_SCORES, IN_PATHS, KEPT, measure_first
from ndcg_spark.tables.table import without_slices
from ndcg_spark.tables.writers import to_pandas
from ndcg_spark.text import did_you_mean, masked

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import DataFrame, SparkSession

Row = dict[str, Any]
#: Conditions on rows: a column has one of these values, of which None is null.
Where = Mapping[str, Sequence[Any]]


def read_scores(
    output: str | os.PathLike[str],
    table: str = "dataset_scores",
    *,
    date: datetime.date | str | None = None,
    session: "SparkSession | None" = None,
) -> "pd.DataFrame | DataFrame":
    """The rows of a published table for all nights, or for the nights of one date, in its schema and in no order.

    Parameters
    ----------
    output : str or path
        The folder with the published scores.
    table : str
        `dataset_scores`, `query_scores`, `comparisons`, `ranked_documents`, `query_attributes`, `rejected_rows`, or
        `evaluations`, the log.
    date : date or str, optional
        Only nights of this date, one of each dataset.
    session : SparkSession, optional
        The session that reads the rows, for tables that do not fit into memory.

    Returns
    -------
    DataFrame
        Of pandas, or with a session a lazy one of Spark over exactly the files that count when it is made.

    Raises
    ------
    StorageError
        There is no table or night of that name, the output cannot be read, or files of a night are missing.
    ConfigurationError
        There is no night of the date.
    """
    tables = (*KEPT, LOG)
    if table not in tables:
        near = did_you_mean(table, tables)
        raise StorageError(f"read_scores: unknown table {table!r}{near}; choose {', '.join(tables)}")
    return read_again_if_replaced(lambda: _read(str(output), table, None if date is None else str(date), session))


def _read(output: str, table: str, date: str | None, session: "SparkSession | None") -> "pd.DataFrame | DataFrame":
    nights = committed(output)
    if not nights:
        raise StorageError(f"read_scores: there is no published night in {masked(output)}; check the path")
    chosen = nights if date is None else select_nights(nights, output, date)
    if table != LOG and session is not None:
        return read_nights(chosen, table, session)
    rows = log_table(nights.rows, date) if table == LOG else read_rows(chosen, table)
    return to_pandas(rows) if session is None else session.createDataFrame(rows)


def read_nights(nights: Sequence[Night], table: str, session: "SparkSession") -> "DataFrame":
    """The rows of these nights in a table, in its schema and in no order."""
    # Here, because nights are also read where there is no engine.
    from ndcg_spark.inputs.dataframes import union_all

    _refuse_lost(nights, table)
    parts = []
    for night, datasets in _evaluations(nights):
        if paths := [*map(night.store.for_engine, night.files(table))]:
            rows = read_files(session, table, paths, night.evaluated_on, night.evaluation_id)
            parts.append(rows.where(rows["dataset"].isin(datasets)))
    return union_all(parts) if parts else session.createDataFrame(KEPT[table].empty_table())


def read_files(session: "SparkSession", table: str, paths: Sequence[str], date: str, evaluation_id: str) -> "DataFrame":
    """The rows of an evaluation in these files or folders, in the schema of their table."""
    # Here, because nights are also read where there is no engine.
    from pyspark.sql import functions as F
    from pyspark.sql.pandas.types import from_arrow_schema

    key = {"evaluated_on": F.lit(date).cast("date"), "evaluation_id": F.lit(evaluation_id)}
    rows = session.read.schema(from_arrow_schema(stored(table))).parquet(*paths)
    return rows.withColumns(key).select(*KEPT[table].names)


def stored(table: str) -> pa.Schema:
    """The schema of the files of a table: without the columns that are in their paths."""
    return pa.schema([field for field in KEPT[table] if field.name not in IN_PATHS])


def _evaluations(nights: Sequence[Night]) -> list[tuple[Night, list[str]]]:
    """A night of each evaluation of these nights, and all datasets, which share its files."""
    together: dict[tuple[str, str], tuple[Night, list[str]]] = {}
    for night in nights:
        together.setdefault((night.evaluated_on, night.evaluation_id), (night, []))[1].append(night.dataset)
    return [*together.values()]


def read_rows(
    nights: Sequence[Night], table: str, columns: Sequence[str] | None = None, where: Where | None = None
) -> pa.Table:
    """The rows of these nights in a table that satisfy `where`, in no order, read without an engine.

    ReplacedError if a night was evaluated again in the meantime; StorageError if a file is missing, has another size or
    cannot be read.
    """
    schema = pa.schema([KEPT[table].field(name) for name in columns or KEPT[table].names])
    return pa.Table.from_batches(read_batches(nights, table, schema.names, where), schema)


def night_rows(night: Night, table: str, columns: Sequence[str] | None = None, **where: Sequence[Any]) -> list[Row]:
    """The rows of one night that satisfy `where`."""
    return list(read_rows([night], table, columns, where).to_pylist())


def read_batches(
    nights: Sequence[Night], table: str, columns: Sequence[str], where: Where | None = None
) -> Iterator[pa.RecordBatch]:
    """The rows of `read_rows`, part by part."""
    # Here, because it imports pandas, which `nights` and `trend` do without.
    from pyarrow import dataset as ds

    schema, parquet = KEPT[table], ds.ParquetFileFormat()
    for night, datasets in _evaluations(nights):
        day = pa.scalar(night.evaluated_on).cast(pa.date32())
        key = (pc.field("evaluated_on") == day) & (pc.field("evaluation_id") == night.evaluation_id)
        fragments = [
            parquet.make_fragment(path, night.store.system, key, file_size=size)
            for path, size in night.files(table).items()
        ]
        conditions = [
            pc.field(column).isin(pa.array(values, schema.field(column).type))
            for column, values in {"dataset": datasets, **(where or {})}.items()
        ]
        with _lost_files_named([night], table):
            yield from ds.FileSystemDataset(fragments, schema, parquet, night.store.system).to_batches(
                columns=list(columns),
                filter=functools.reduce(operator.and_, conditions),
                fragment_readahead=night.store.at_once,
                batch_readahead=4,
            )


def read_dataset_scores(nights: Sequence[Night]) -> list[list[Row]]:
    """The rows of DATASET_SCORES of all queries of each night, by run and cutoff, ndcg and the measures after the key.

    Those of slices are left out.
    """
    empty = dict.fromkeys(measure_first(DATASET_SCORES, COLUMNS))

    def scores_of_all_queries(night: Night) -> list[Row]:
        key = {"evaluated_on": night.evaluated_on, "evaluation_id": night.evaluation_id}
        # Not a dataset of all files, which takes twice as long where each has a few rows.
        tables = [night.store.read(path).read(use_threads=False) for path in night.files("dataset_scores")]
        # Slices go before rows become dictionaries, which takes longest.
        rows = (row for table in tables for row in table.filter(pc.is_null(table["attribute"])).to_pylist())
        return without_slices({**empty, **row, **key} for row in rows if row["dataset"] == night.dataset)[0]

    threads = nights[0].store.at_once if nights else 1
    with _lost_files_named(nights, "dataset_scores"), concurrent.futures.ThreadPoolExecutor(threads) as pool:
        return list(pool.map(scores_of_all_queries, nights))


@contextlib.contextmanager
def _lost_files_named(nights: Sequence[Night], table: str) -> Iterator[None]:
    """Run the block; if the storage fails in it, the error names the missing or damaged file."""
    try:
        yield
    except FAILURES as error:
        _refuse_lost(nights, table)
        output, why = nights[0].store.location, first_line(error)
        raise StorageError(f"output: {table} in {output} cannot be read, {why}; evaluate the night again") from error


def _refuse_lost(nights: Sequence[Night], table: str) -> None:
    """StorageError or ReplacedError unless the files of these nights are there as they were published."""
    wanted = {path: (night, size) for night in nights for path, size in night.files(table).items()}
    if not wanted:
        return
    store = nights[0].store
    with store.failures("cannot be read"):
        infos = store.system.get_file_info([*wanted])
    wrong = [info for info in infos if info.size != wanted[info.path][1]]
    for info in wrong[:1]:
        night = wanted[info.path][0]
        refuse_replaced(night)
        raise StorageError(
            f"output: {len(wrong)} file(s) in {store.location} are not as they were published, e.g. {info.path} of "
            f"{night} is {'missing' if info.size is None else 'damaged'}; restore it, or evaluate that night again"
        )
