"""Copies of the nights that count in tables of Delta, Iceberg or a Spark catalog; repeating it changes nothing."""

import contextlib
import datetime
import os
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa

from ndcg_spark.errors import ConfigurationError, NdcgSparkError, StorageError, first_line
from ndcg_spark.masking import masked
from ndcg_spark.nights.log import Night, committed, log_table
from ndcg_spark.nights.read import read_nights, scanners
from ndcg_spark.nights.select import select_nights
from ndcg_spark.nights.store import LOG
from ndcg_spark.schemas import EVALUATIONS, KEPT

#: The tables and their schemas. The log comes last: while it is old, so are its numbers of the date.
TABLES = {**KEPT, LOG: EVALUATIONS}
#: How often nights are exported again because they were evaluated again in the meantime.
_TIMES = 10
#: Iceberg's rows in memory at once: pyiceberg cannot write a stream into a partitioned table.
_ROWS = 1_000_000
#: What spells the type of a column in another way: wide text, and the name of a list's values.
_SPELLING = re.compile(r"large_|_view|(?<=<)\w+(?=:)")


def export(
    output: str, to: str, date: str | None = None, since: str | None = None, report: Callable[[str], None] = print
) -> None:
    """Copy the nights that count, of all dates, of one, or since one; `report` is called with a sentence for each date.

    Raises
    ------
    ConfigurationError
        There is no such night, no such place, or a table has another shape; then nothing is written.
    StorageError
        A table cannot be written, or the output cannot be read. Run it again.
    """
    known = committed(output)
    wanted = known if since else select_nights(known, output, date) if date else known
    dates = sorted({night.evaluated_on for night in wanted if since is None or night.evaluated_on >= since})
    known.refuse_damaged(known.damaged if date is None else [date])
    if not dates:
        raise ConfigurationError(
            f"output: no published night to export in {masked(output)}; check the path and --since"
        )
    place = masked(to)
    with _target(to) as target:
        with _failures(place, "its tables cannot be prepared"):
            _prepare(target, place)
        for _ in range(_TIMES):
            for day in dates:
                nights = [night for night in known if night.evaluated_on == day]
                for name in TABLES:
                    with _failures(place, f"{name} of {day} cannot be written"):
                        target.replace(name, day, nights)
                report(f"exported {len(nights)} night(s) of {day} to {place}")
            before, known = {*map(_version, known)}, committed(output, dates)
            dates = sorted({night.evaluated_on for night in known if _version(night) not in before})
            if not dates:
                return
    raise StorageError(f"export: nights of {dates[0]} change faster than they are exported; run it again")


def _version(night: Night) -> tuple[Any, ...]:
    return night.dataset, night.evaluated_on, night.evaluation_id, night.row["revision"]


def _prepare(target: "_Delta | _Iceberg | _Spark", place: str) -> None:
    """Create what is missing. ConfigurationError, before anything is written, if a table has another shape."""
    found = {name: target.schema(name) for name in TABLES}
    for name, schema in found.items():
        if schema is not None:
            _refuse_shape(f"{place}: table {name}", schema, TABLES[name])
    for name, schema in found.items():
        if schema is None:
            target.create(name, TABLES[name])
        elif lacking := [field for field in TABLES[name] if field.name not in schema.names]:
            target.add(name, lacking)


def _refuse_shape(where: str, found: pa.Schema, wanted: pa.Schema) -> None:
    kinds, there = ({field.name: _SPELLING.sub("", str(field.type)) for field in each} for each in (wanted, found))
    wrong = [f"{name} ({kind})" for name, kind in there.items() if kinds.get(name) != kind]
    wrong += [f"{name} (missing)" for name in ("dataset", "evaluated_on") if name not in there]
    if wrong:
        raise ConfigurationError(
            f"export: {where} has another shape, {len(wrong)} column(s) differ, e.g. {wrong[0]}; name another place, "
            "or drop the table"
        )


def _rows(name: str, date: str, nights: Sequence[Night]) -> pa.RecordBatchReader:
    """The rows of nights of one date in a table. Each has that date, so that no other is replaced."""
    schema = TABLES[name]
    if name == LOG:
        return log_table({**night.row, "evaluated_on": date} for night in nights).to_reader()
    batches = (batch for scanner in scanners(nights, name) for batch in scanner.to_reader())
    return pa.RecordBatchReader.from_batches(schema, (batch.cast(schema) for batch in batches))


@contextlib.contextmanager
def _failures(place: str, what: str) -> Iterator[None]:
    try:
        yield
    except NdcgSparkError:
        raise
    except Exception as error:  # the libraries raise many kinds
        raise StorageError(f"export: {place}: {what}, {masked(first_line(error))}; run it again") from error


@contextlib.contextmanager
def _target(to: str) -> Iterator["_Delta | _Iceberg | _Spark"]:
    """The tables that a text such as delta:PATH names. ConfigurationError where nobody here can write them."""
    form, _, place = to.partition(":")
    if form not in ("delta", "iceberg", "table") or not place:
        raise ConfigurationError(
            f"export: {masked(to)} names no tables; write delta:PATH, iceberg:CATALOG.NAMESPACE or table:CATALOG.SCHEMA"
        )
    if form == "table":
        from ndcg_spark.engine import open_engine

        with open_engine("spark") as engine:
            yield _Spark(engine.session, place)
        return
    library = {"delta": "deltalake", "iceberg": "pyiceberg"}[form]
    try:
        yield _Delta(place) if form == "delta" else _Iceberg(place)
    except ModuleNotFoundError as error:
        raise ConfigurationError(f"export: {masked(to)} needs {library}; pip install 'ndcg-spark[{form}]'") from error


class _Delta:
    """Tables of Delta. Like those below, it raises whatever its library raises."""

    def __init__(self, path: str) -> None:
        import deltalake

        from ndcg_spark.inputs.delta import address_of, storage_options

        self._library, self._options = deltalake, storage_options()
        self._root = address_of(os.path.expanduser(path), "export", ConfigurationError).rstrip("/")  # noqa: PTH111  # a URI

    def _table(self, name: str) -> Any:
        return self._library.DeltaTable(f"{self._root}/{name}", storage_options=self._options)

    def schema(self, name: str) -> pa.Schema | None:
        is_there = self._library.DeltaTable.is_deltatable(f"{self._root}/{name}", self._options)
        return pa.schema(self._table(name).schema().to_arrow()) if is_there else None

    def create(self, name: str, schema: pa.Schema) -> None:
        place, by = f"{self._root}/{name}", ["evaluated_on"]
        self._library.DeltaTable.create(place, schema, mode="ignore", partition_by=by, storage_options=self._options)

    def add(self, name: str, fields: Sequence[pa.Field]) -> None:
        self._table(name).alter.add_columns(self._library.Schema.from_arrow(pa.schema(fields)).fields)

    def replace(self, name: str, date: str, nights: Sequence[Night]) -> None:
        rows = _rows(name, date, nights)
        predicate = f"evaluated_on = DATE '{date}'"
        self._library.write_deltalake(self._table(name), rows, mode="overwrite", predicate=predicate)


class _Iceberg:
    """Tables of Iceberg."""

    def __init__(self, name: str) -> None:
        from pyiceberg.catalog import load_catalog

        catalog, _, self._namespace = name.partition(".")
        if not self._namespace:
            raise ConfigurationError(f"export: iceberg:{name} names no namespace; write iceberg:CATALOG.NAMESPACE")
        with _failures(f"iceberg:{name}", "the catalog does not open"):
            self._catalog = load_catalog(catalog)

    def schema(self, name: str) -> pa.Schema | None:
        place = f"{self._namespace}.{name}"
        return self._catalog.load_table(place).schema().as_arrow() if self._catalog.table_exists(place) else None

    def create(self, name: str, schema: pa.Schema) -> None:
        self._catalog.create_namespace_if_not_exists(self._namespace)
        making = self._catalog.create_table_transaction(f"{self._namespace}.{name}", schema)
        with making, making.update_spec() as partitions:
            partitions.add_identity("evaluated_on")

    def add(self, name: str, fields: Sequence[pa.Field]) -> None:
        with self._catalog.load_table(f"{self._namespace}.{name}").update_schema() as change:
            change.union_by_name(pa.schema(fields))

    def replace(self, name: str, date: str, nights: Sequence[Night]) -> None:
        table = self._catalog.load_table(f"{self._namespace}.{name}")
        parts = _parts(_rows(name, date, nights))
        with table.transaction() as writing, warnings.catch_warnings():
            # A date that is exported for the first time replaces nothing.
            warnings.filterwarnings("ignore", message="Delete operation did not match any records")
            writing.overwrite(next(parts), overwrite_filter=f"evaluated_on = '{date}'")
            for part in parts:
                writing.append(part)


def _parts(rows: pa.RecordBatchReader) -> Iterator[pa.Table]:
    """The rows in tables of about a million; at least one table."""
    waiting: list[pa.RecordBatch] = []
    for batch in rows:
        waiting.append(batch)
        if sum(each.num_rows for each in waiting) >= _ROWS:
            yield pa.Table.from_batches(waiting, rows.schema)
            waiting = []
    yield pa.Table.from_batches(waiting, rows.schema)


class _Spark:
    """Tables of a catalog of Spark."""

    def __init__(self, session: Any, place: str) -> None:
        from pyspark.sql import functions
        from pyspark.sql.pandas import types

        self._session, self._place, self._functions, self._types = session, place, functions, types

    def _name(self, name: str) -> str:
        return ".".join(f"`{part}`" for part in [*self._place.split("."), name])

    def schema(self, name: str) -> pa.Schema | None:
        is_there = self._session.catalog.tableExists(self._name(name))
        return self._types.to_arrow_schema(self._session.table(self._name(name)).schema) if is_there else None

    def create(self, name: str, schema: pa.Schema) -> None:
        empty = self._session.createDataFrame([], self._types.from_arrow_schema(schema))
        empty.writeTo(self._name(name)).partitionedBy(self._functions.col("evaluated_on")).create()

    def add(self, name: str, fields: Sequence[pa.Field]) -> None:
        kinds = self._types.from_arrow_schema(pa.schema(fields))
        columns = ", ".join(f"`{field.name}` {field.dataType.simpleString()}" for field in kinds)
        self._session.sql(f"ALTER TABLE {self._name(name)} ADD COLUMNS ({columns})")

    def replace(self, name: str, date: str, nights: Sequence[Night]) -> None:
        if name == LOG:
            rows = self._session.createDataFrame(_rows(name, date, nights).read_all())
        else:
            rows = read_nights(nights, name, self._session)
        condition = self._functions.col("evaluated_on") == self._functions.lit(datetime.date.fromisoformat(date))
        rows.writeTo(self._name(name)).overwrite(condition)
