"""The rows of the evaluations that count: as a DataFrame of an engine, or read by this process without one."""

import concurrent.futures
import contextlib
import functools
import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from ndcg_spark.convention.measures import COLUMNS
from ndcg_spark.errors import StorageError
from ndcg_spark.masking import masked
from ndcg_spark.nights.layout import AT_ONCE, FAILURES, Store, folder_of
from ndcg_spark.nights.records import CommittedNight, committed, read_records, refuse_replaced
from ndcg_spark.nights.sink import Sink
from ndcg_spark.nights.table_format import Where
from ndcg_spark.schemas import DATASET_SCORES, KEPT, PARTITIONS, measure_first
from ndcg_spark.tables.sorting import without_slices

Row = dict[str, Any]
_T = TypeVar("_T")
#: Up to this many nights are each read from their own files alone.
_FEW = 10


def read_evaluation(output: str, evaluation_id: str, session: SparkSession) -> DataFrame:
    """The QUERY_SCORES of an evaluation that was just published; no other night is read.

    Raises
    ------
    StorageError
        As `read_nights`, or all its nights were evaluated again in the meantime.
    """
    nights = [night for night in committed(output) if night.evaluation_id == evaluation_id]
    if not nights:
        raise StorageError(f"output: {evaluation_id} in {masked(output)} was replaced before its scores were read")
    return read_nights(nights, "query_scores", session)


def read_nights(nights: Sequence[CommittedNight], table: str, session: SparkSession) -> DataFrame:
    """The rows of these nights, at least one, in a table: in its schema and in no order.

    Raises
    ------
    StorageError
        A file that a record names is missing or has another size, or there is a file that belongs to no evaluation.
    """
    store, schema = nights[0].store, KEPT[table]
    if isinstance(store, Sink):
        return _unless_replaced(nights, lambda: store.frame(nights, table, session))
    read_records(nights)
    every = _refuse_lost(nights, table)
    parts = [night for night in nights if night.files(table)]
    if not parts:
        return session.createDataFrame([], schema)
    # Engines disagree about what a percent sign in a URI stands for.
    if len(parts) <= _FEW and not ("://" in store.output and any("%" in night.folder for night in parts)):
        return functools.reduce(DataFrame.union, (_of_one(night, table, session) for night in parts))
    # An engine reads a whole table with every file in it.
    strays = [path for path in every if not folder_of(path)]
    if strays:
        raise StorageError(
            f"output: {len(strays)} file(s) in {store.place} belong to no evaluation, e.g. {strays[0]}; move them away"
        )
    rows = session.read.schema(schema).parquet(store.for_engine(table))
    keys = [f"{night.dataset}/{night.evaluated_on}/{night.evaluation_id}" for night in nights]
    key = F.concat_ws("/", "dataset", F.col("evaluated_on").cast("string"), "evaluation_id")
    return rows.where(key.isin(keys)).select(*schema.names)


def _of_one(night: CommittedNight, table: str, session: SparkSession) -> DataFrame:
    """The rows of one night, from its own files alone, so damage to another night does not matter."""
    schema = KEPT[table]
    stored = StructType([field for field in schema if field.name not in PARTITIONS])
    rows = session.read.schema(stored).parquet(*map(night.in_folder.for_engine, night.files(table)))
    key = {"dataset": night.dataset, "evaluated_on": night.evaluated_on, "evaluation_id": night.evaluation_id}
    of_key = {name: F.lit(value).cast(schema[name].dataType) for name, value in key.items()}
    return rows.withColumns(of_key).select(*schema.names)


def _refuse_lost(nights: Sequence[CommittedNight], table: str) -> list[str]:
    """The paths of all files of a table. StorageError or ReplacedError unless those of these nights are unchanged."""
    store = nights[0].in_folder
    with store.failures("cannot be read"):
        sizes = store.files(table, ".parquet")
    for night in nights:
        files = night.files(table).items()
        wrong = [path for path, size in files if path not in sizes or size not in (None, sizes[path])]
        if wrong:
            refuse_replaced([night])
            state = "is damaged" if wrong[0] in sizes else "is missing"
            raise StorageError(
                f"output: {len(wrong)} file(s) of {night} in {store.place} are not as they were published, e.g. "
                f"{wrong[0]} {state}; restore it, or evaluate that night again"
            )
    return list(sizes)


def read_rows(
    nights: Sequence[CommittedNight],
    table: str,
    columns: Sequence[str] | None = None,
    where: Where | None = None,
) -> pa.Table:
    """The rows of these nights in a table that satisfy `where`, in no order, read without an engine.

    Only an output of tables that Spark alone can read needs it.

    Raises
    ------
    StorageError
        As `read_nights`, or a file cannot be read.
    """
    # Here, because it imports pandas, which `nights` and `trend` do without.
    from pyarrow import dataset as ds

    schema, parquet = to_arrow_schema(KEPT[table]), ds.ParquetFileFormat()
    if not nights:
        return schema.empty_table()
    store = nights[0].store
    if isinstance(store, Sink):
        return _unless_replaced(nights, lambda: store.read(nights, table, columns, where or {}))
    read_records(nights)
    _refuse_lost(nights, table)
    with _lost_files_named(nights, table):
        fragments = [
            parquet.make_fragment(
                store.at(path),
                store.system,
                (pc.field("dataset") == night.dataset)
                & (pc.field("evaluated_on") == pa.scalar(night.evaluated_on).cast(pa.date32()))
                & (pc.field("evaluation_id") == night.evaluation_id),
                file_size=size,
            )
            for night in nights
            for path, size in night.files(table).items()
        ]
        if not fragments:
            return schema.empty_table()
        found = ds.FileSystemDataset(fragments, schema, parquet, store.system)
        conditions = [_is_in(column, values) for column, values in (where or {}).items()]
        return found.to_table(
            columns=None if columns is None else list(columns),
            filter=functools.reduce(operator.and_, conditions) if conditions else None,
            fragment_readahead=AT_ONCE,
        )


def _is_in(column: str, values: Sequence[Any]) -> pc.Expression:
    """Whether a column has one of these values, of which None is null."""
    others = [value for value in values if value is not None]
    conditions = [pc.field(column).isin(others)] if others else []
    return functools.reduce(operator.or_, [*conditions, *([pc.field(column).is_null()] if None in values else [])])


def _unless_replaced(nights: Sequence[CommittedNight], read: Callable[[], _T]) -> _T:
    """What `read` returns; if it fails because a night was evaluated again, ReplacedError."""
    try:
        return read()
    except StorageError:
        refuse_replaced(nights)
        raise


@contextlib.contextmanager
def _lost_files_named(nights: Sequence[CommittedNight], table: str) -> Iterator[None]:
    """Run the block; if the storage fails in it, the error names the missing or damaged file."""
    try:
        yield
    except FAILURES as error:
        _refuse_lost(nights, table)
        place = nights[0].store.place
        raise StorageError(f"output: {table} in {place} cannot be read, {error}; evaluate the night again") from error


def read_dataset_scores(nights: Sequence[CommittedNight]) -> list[list[Row]]:
    """The rows of DATASET_SCORES of all queries of each night, by run and cutoff, ndcg and the measures after the key.

    Those of slices are left out. Raises as `read_rows`.
    """
    if not nights:
        return []
    columns = measure_first(DATASET_SCORES, COLUMNS)
    if isinstance(nights[0].store, Sink):
        return _by_night(nights, read_rows(nights, "dataset_scores").to_pylist(), columns)
    read_records(nights)
    _refuse_lost(nights, "dataset_scores")

    def rows_of(night: CommittedNight) -> list[Row]:
        empty = dict.fromkeys(columns)
        key = {"dataset": night.dataset, "evaluated_on": night.evaluated_on, "evaluation_id": night.evaluation_id}
        # Not a dataset of all files, which takes twice as long where each has a few rows.
        files = [_whole_file(night.in_folder, path) for path in night.files("dataset_scores")]
        return without_slices({**empty, **row, **key} for file in files for row in file.to_pylist())[0]

    with _lost_files_named(nights, "dataset_scores"), concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
        return list(pool.map(rows_of, nights))


def _by_night(nights: Sequence[CommittedNight], rows: Sequence[Row], columns: Sequence[str]) -> list[list[Row]]:
    """The rows of each night, by run and cutoff."""
    of_nights: dict[tuple[str, str], list[Row]] = {(night.dataset, night.evaluated_on): [] for night in nights}
    for row in rows:
        date = row["evaluated_on"].isoformat()
        of_nights[row["dataset"], date].append({**dict.fromkeys(columns), **row, "evaluated_on": date})
    return [without_slices(of_night)[0] for of_night in of_nights.values()]


def _whole_file(store: Store, path: str) -> pa.Table:
    with store.open(path) as file:
        return pq.ParquetFile(file).read(use_threads=False)


class NightRows:
    """The tables of one night, read without an engine, in no order. Methods raise as `read_rows`."""

    def __init__(self, night: CommittedNight) -> None:
        self._night = night

    def rows_of(self, table: str, query: str) -> list[Row]:
        """The rows of one query."""
        return self._rows(table, where={"query_id": [query]})

    def rows_of_queries(self, table: str, queries: Sequence[str], runs: Sequence[str]) -> list[Row]:
        """The rows of these queries and runs, and those of no run."""
        return self._rows(table, where={"query_id": queries, "run": [*runs, None]})

    def scores_at(self, cutoff: int | None, run: str, measure: str = "ndcg") -> dict[str, tuple[str, float | None]]:
        """The status and the score of every query of a run at a cutoff, by query; `measure` is a column of scores."""
        where: Where = {"cutoff": [cutoff], "run": [run]}
        rows = self._rows("query_scores", ["query_id", "status", measure], where)
        return {row["query_id"]: (row["status"], row[measure]) for row in rows}

    def comparisons(self) -> list[Row]:
        """The rows of COMPARISONS, which the gate has compared; none without a gate."""
        return self._rows("comparisons")

    def queries(self) -> list[str]:
        """Every query that has scores."""
        return list(read_rows([self._night], "query_scores", ["query_id"])["query_id"].unique().to_pylist())

    def has_documents(self) -> bool:
        """Whether the night keeps its documents."""
        return bool(self._night.kept_rows("ranked_documents"))

    def _rows(self, table: str, columns: Sequence[str] | None = None, where: Where | None = None) -> list[Row]:
        return list(read_rows([self._night], table, columns, where).to_pylist())
