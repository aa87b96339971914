"""The rows of the nights that count: as a DataFrame of an engine, or read by this process without one."""

import concurrent.futures
import contextlib
import functools
import operator
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import parquet as pq

from ndcg_spark.convention.measures import COLUMNS
from ndcg_spark.errors import StorageError, first_line
from ndcg_spark.masking import masked
from ndcg_spark.nights.log import Night, committed, refuse_replaced
from ndcg_spark.nights.store import FAILURES
from ndcg_spark.schemas import DATASET_SCORES, IN_PATHS, KEPT, measure_first
from ndcg_spark.tables.sorting import without_slices

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

Row = dict[str, Any]
#: Conditions on rows: a column has one of these values, of which None is null.
Where = Mapping[str, Sequence[Any]]


def read_evaluation(output: str, evaluation_id: str, date: str, session: "SparkSession") -> "DataFrame":
    """The QUERY_SCORES of an evaluation that was just published; no other night is read.

    Raises StorageError as `read_nights`, or because all its nights were evaluated again in the meantime.
    """
    nights = [night for night in committed(output, [date]) if night.evaluation_id == evaluation_id]
    if not nights:
        raise StorageError(f"output: {evaluation_id} in {masked(output)} was replaced before its scores were read")
    return read_nights(nights, "query_scores", session)


def read_nights(nights: Sequence[Night], table: str, session: "SparkSession") -> "DataFrame":
    """The rows of these nights, at least one, in a table: in its schema and in no order.

    Raises
    ------
    ReplacedError
        A night was evaluated again or removed in the meantime.
    StorageError
        A file of a night is missing or has another size.
    """
    # Here, because nights are also read where there is no engine.
    from pyspark.sql import functions as F

    _refuse_lost(nights, table)
    parts = []
    for (date, evaluation_id), datasets, night in _evaluations(nights):
        if paths := [*map(night.store.for_engine, night.files(table))]:
            rows = read_files(session, table, paths, date, evaluation_id)
            parts.append(rows.where(F.col("dataset").isin(datasets)))
    return _union(parts) if parts else session.createDataFrame(KEPT[table].empty_table())


def read_files(session: "SparkSession", table: str, paths: Sequence[str], date: str, evaluation_id: str) -> "DataFrame":
    """The rows of an evaluation in these files or folders, in the schema of their table."""
    from pyspark.sql import functions as F
    from pyspark.sql.pandas.types import from_arrow_schema

    key = {"evaluated_on": F.lit(date).cast("date"), "evaluation_id": F.lit(evaluation_id)}
    rows = session.read.schema(from_arrow_schema(stored(table))).parquet(*paths)
    return rows.withColumns(key).select(*KEPT[table].names)


def stored(table: str) -> pa.Schema:
    """The schema of the files of a table: without the columns that are in their paths."""
    return pa.schema([field for field in KEPT[table] if field.name not in IN_PATHS])


def kept_attributes(night: Night, session: "SparkSession") -> "DataFrame | None":
    """The QUERY_ATTRIBUTES that a night was evaluated with; None if it had none. Raises as `read_nights`."""
    if not night.kept_rows("query_attributes"):
        return None
    return read_nights([night], "query_attributes", session).drop(*IN_PATHS)


def _evaluations(nights: Sequence[Night]) -> Iterator[tuple[tuple[str, str], list[str], Night]]:
    """The evaluations of these nights: date and id, the datasets, which share the files, and one of the nights."""
    found: dict[tuple[str, str], list[Night]] = {}
    for night in nights:
        found.setdefault((night.evaluated_on, night.evaluation_id), []).append(night)
    for key, together in found.items():
        yield key, [night.dataset for night in together], together[0]


def _union(parts: "Sequence[DataFrame]") -> "DataFrame":
    """All rows; as a tree, because a long chain of unions overflows an engine's stack."""
    while len(parts) > 1:
        pairs = [parts[at : at + 2] for at in range(0, len(parts), 2)]
        parts = [functools.reduce(lambda one, other: one.union(other), pair) for pair in pairs]
    return parts[0]


def _refuse_lost(nights: Sequence[Night], table: str) -> None:
    """StorageError or ReplacedError unless the files of these nights are there as they were published."""
    if not nights:
        return
    store = nights[0].store
    with store.failures("cannot be read"):
        sizes = store.sizes({path for night in nights for path in night.files(table)})
    for night in nights:
        wrong = [path for path, size in night.files(table).items() if sizes[path] != size]
        if wrong:
            refuse_replaced([night])
            state = "is missing" if sizes[wrong[0]] is None else "is damaged"
            raise StorageError(
                f"output: {len(wrong)} file(s) of {night} in {store.place} are not as they were published, e.g. "
                f"{wrong[0]} {state}; restore it, or evaluate that night again"
            )


def read_rows(
    nights: Sequence[Night], table: str, columns: Sequence[str] | None = None, where: Where | None = None
) -> pa.Table:
    """The rows of these nights in a table that satisfy `where`, in no order, read without an engine.

    Raises
    ------
    ReplacedError, StorageError
        As `read_nights`, or a file cannot be read.
    """
    with _lost_files_named(nights, table):
        tables = [scanner.to_table() for scanner in scanners(nights, table, columns, where)]
    schema = KEPT[table]
    empty = (schema if columns is None else pa.schema([schema.field(name) for name in columns])).empty_table()
    return pa.concat_tables([empty, *tables])


def read_batches(
    nights: Sequence[Night], table: str, columns: Sequence[str], where: Where | None = None
) -> Iterator[pa.RecordBatch]:
    """The rows of `read_rows`, part by part. Raises as `read_rows`."""
    with _lost_files_named(nights, table):
        for scanner in scanners(nights, table, columns, where):
            yield from scanner.to_batches()


def scanners(
    nights: Sequence[Night], table: str, columns: Sequence[str] | None = None, where: Where | None = None
) -> Iterator[Any]:
    """The rows of `read_rows` as pyarrow scanners, one for each evaluation. They raise FAILURES."""
    # Here, because it imports pandas, which `nights` and `trend` do without.
    from pyarrow import dataset as ds

    schema, parquet = KEPT[table], ds.ParquetFileFormat()
    for (date, evaluation_id), datasets, night in _evaluations(nights):
        day = pa.scalar(date).cast(pa.date32())
        key = (pc.field("evaluated_on") == day) & (pc.field("evaluation_id") == evaluation_id)
        fragments = [
            parquet.make_fragment(night.store.at(path), night.store.system, key, file_size=size)
            for path, size in night.files(table).items()
        ]
        conditions = [_is_in(column, values) for column, values in {"dataset": datasets, **(where or {})}.items()]
        yield ds.FileSystemDataset(fragments, schema, parquet, night.store.system).scanner(
            columns=None if columns is None else list(columns),
            filter=functools.reduce(operator.and_, conditions),
            fragment_readahead=night.store.at_once,
            batch_readahead=4,
        )


def _is_in(column: str, values: Sequence[Any]) -> pc.Expression:
    """Whether a column has one of these values, of which None is null."""
    others = [value for value in values if value is not None]
    conditions = [pc.field(column).isin(others)] if others else []
    return functools.reduce(operator.or_, [*conditions, *([pc.field(column).is_null()] if None in values else [])])


@contextlib.contextmanager
def _lost_files_named(nights: Sequence[Night], table: str) -> Iterator[None]:
    """Run the block; if the storage fails in it, the error names the missing or damaged file."""
    try:
        yield
    except FAILURES as error:
        _refuse_lost(nights, table)
        place = nights[0].store.place
        raise StorageError(
            f"output: {table} in {place} cannot be read, {first_line(error)}; evaluate the night again"
        ) from error


def read_dataset_scores(nights: Sequence[Night]) -> list[list[Row]]:
    """The rows of DATASET_SCORES of all queries of each night, by run and cutoff, ndcg and the measures after the key.

    Those of slices are left out. Raises as `read_rows`.
    """
    empty = dict.fromkeys(measure_first(DATASET_SCORES, COLUMNS))

    def rows_of(night: Night) -> list[Row]:
        key = {"evaluated_on": night.evaluated_on, "evaluation_id": night.evaluation_id}
        # Not a dataset of all files, which takes twice as long where each has a few rows.
        files = [pa.BufferReader(night.store.read(path)) for path in night.files("dataset_scores")]
        tables = [pq.ParquetFile(file).read(use_threads=False) for file in files]
        # Slices go before rows become dictionaries, which takes longest.
        whole = (table.filter(pc.is_null(table["attribute"])).to_pylist() for table in tables)
        own = ({**empty, **row, **key} for rows in whole for row in rows if row["dataset"] == night.dataset)
        return without_slices(own)[0]

    threads = nights[0].store.at_once if nights else 1
    with _lost_files_named(nights, "dataset_scores"), concurrent.futures.ThreadPoolExecutor(threads) as pool:
        return list(pool.map(rows_of, nights))


class NightRows:
    """The tables of one night, read without an engine, in no order. Methods raise as `read_rows`."""

    def __init__(self, night: Night) -> None:
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
