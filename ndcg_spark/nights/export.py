"""Copies the current nights to Delta tables, Iceberg tables or tables of a Spark catalog.

An export is idempotent.
"""

import contextlib
import functools
import os
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa

from ndcg_spark.errors import ConfigurationError, NdcgSparkError, StorageError, first_line
from ndcg_spark.nights.log import Night, committed, log_table
from ndcg_spark.nights.reader import read_night_batches, read_nights, refuse_changed_nights
from ndcg_spark.nights.store import LOG
from ndcg_spark.schemas import EVALUATIONS, KEPT
from ndcg_spark.text import masked

#: The tables and their schemas. The log comes last: until it is replaced, the old numbers of the
#: date remain current.
TABLES = {**KEPT, LOG: EVALUATIONS}
_NEVER_NULL = ("dataset", "evaluated_on")
#: Alternative spellings of column types: wide text, and the name of a list's values.
_SPELLING = re.compile(r"large_|_view|(?<=<)\w+(?=:)")


def export(
    output: str,
    to: str,
    date: str | None = None,
    since: str | None = None,
    report: Callable[[str], None] = print,
) -> None:
    """Copy the current nights of all dates, of one date, or since a date.

    `report` is called with a sentence for each date. ConfigurationError, before anything is
    written, if there is no such night or target, or if a table has a different shape.
    """
    known = committed(output)
    earliest = since or ""
    if date is None:
        known.refuse_damaged([day for day in known.damaged if day >= earliest])
    else:
        known.refuse_damaged([date])
    dates = set()
    for night in known:
        if date in (None, night.evaluated_on) and night.evaluated_on >= earliest:
            dates.add(night.evaluated_on)
    if not dates:
        raise ConfigurationError(
            f"output: no published nights on these dates in {masked(output)}; check the path"
        )
    try:
        with _target(to) as target:
            for name in TABLES:
                _refuse_other_shape(name, target.schema(name))
            # Nights that are evaluated again in the meantime are exported again.
            while dates:
                for day in sorted(dates):
                    nights = [night for night in known if night.evaluated_on == day]
                    _replace_date(target, day, nights)
                    report(f"exported {len(nights)} night(s) for {day} to {masked(to)}")
                rows_before = [night.row for night in known]
                known = committed(output, dates)
                dates = {night.evaluated_on for night in known if night.row not in rows_before}
    except NdcgSparkError:
        raise
    except Exception as error:  # the libraries raise many kinds
        raise StorageError(
            f"export: {masked(to)} failed: {masked(first_line(error))}; run it again"
        ) from error


def _replace_date(target: "_Tables", date: str, nights: Sequence[Night]) -> None:
    """Replace the rows of a date in every table by those of its nights."""
    # Checked before any table of the date is replaced.
    refuse_changed_nights(nights)
    for name in KEPT:
        target.replace(name, date, nights)
    # Only the log has the configuration, which may be secret.
    with _private_files():
        target.replace(LOG, date, nights)


@contextlib.contextmanager
def _private_files() -> Iterator[None]:
    """Let only the owner and the group read what this process writes in the block."""
    # The old mask is returned only when a new one is set.
    before = os.umask(0o027)
    os.umask(before | 0o027)
    try:
        yield
    finally:
        os.umask(before)


def _refuse_other_shape(name: str, existing: pa.Schema | None) -> None:
    """Raise ConfigurationError if an existing table has different columns.

    `existing` is its schema, or None if there is no such table. It may lack columns, which are then
    added, except those that are never null.
    """
    if existing is None:
        return
    ours, theirs = _columns(TABLES[name]), _columns(existing)
    wrong = theirs - ours
    for column, kind in ours - theirs:
        if column in _NEVER_NULL:
            wrong.add((column, kind))
    if wrong:
        what = f"export: the table {name} has a different shape: {len(wrong)} column(s) differ"
        example = " ".join(min(wrong))
        advice = "name a different target, or drop the table"
        raise ConfigurationError(f"{what}, e.g. {example}; {advice}")


def _columns(schema: pa.Schema) -> set[tuple[str, str]]:
    """The name and the type of each column, with the same spelling for equivalent types."""
    return {(field.name, _SPELLING.sub("", str(field.type))) for field in schema}


def _exported_rows(name: str, nights: Sequence[Night]) -> pa.RecordBatchReader:
    """The rows of some nights for a table of the target."""
    if name == LOG:
        return log_table(night.row for night in nights).to_reader()
    return pa.RecordBatchReader.from_batches(
        TABLES[name], read_night_batches(nights, name, TABLES[name].names)
    )


@contextlib.contextmanager
def _target(to: str) -> Iterator["_Tables"]:
    """The tables that a text such as delta:PATH names.

    ConfigurationError if they cannot be written from here.
    """
    form, _, address = to.partition(":")
    try:
        if form == "delta" and address:
            yield _Delta(address)
        elif form == "iceberg" and "." in address:
            yield _Iceberg(address)
        elif form == "table" and address:
            from ndcg_spark.engine import open_engine

            with open_engine("spark") as engine:
                yield _Spark(engine.session, address)
        else:
            what = "delta:PATH, iceberg:CATALOG.NAMESPACE or table:CATALOG.SCHEMA"
            raise ConfigurationError(f"export: {masked(to)} does not name tables; write {what}")
    except ModuleNotFoundError as error:
        extra = "spark" if form == "table" else form
        advice = f"pip install 'ndcg-spark[{extra}]', or NDCG_SPARK_EXTRAS={extra} with nightly.sh"
        raise ConfigurationError(f"export: {masked(to)} needs {error.name}; {advice}") from error


class _Delta:
    """Delta tables. As in the classes below, `replace` creates tables and adds columns, and raises
    the exceptions of the library.
    """

    def __init__(self, path: str) -> None:
        import deltalake

        from ndcg_spark.inputs.storage import delta_address, delta_options

        self._library = deltalake
        self._options = {"storage_options": delta_options()}
        address = os.path.expanduser(path)  # noqa: PTH111  # a URI
        refusal = functools.partial(ConfigurationError, option="export")
        self._root = delta_address(address, refusal).rstrip("/")

    def schema(self, name: str) -> pa.Schema | None:
        address = f"{self._root}/{name}"
        if not self._library.DeltaTable.is_deltatable(address, **self._options):
            return None
        table = self._library.DeltaTable(address, **self._options)
        return pa.schema(table.schema().to_arrow())

    def replace(self, name: str, date: str, nights: Sequence[Night]) -> None:
        self._library.write_deltalake(
            f"{self._root}/{name}",
            _exported_rows(name, nights),
            partition_by=["evaluated_on"],
            mode="overwrite",
            predicate=f"evaluated_on = DATE '{date}'",
            schema_mode="merge",
            **self._options,
        )


class _Iceberg:
    """Iceberg tables. Each file has rows of one date, so it can be replaced as a whole without
    partitions.
    """

    def __init__(self, name: str) -> None:
        from pyiceberg.catalog import load_catalog
        from pyiceberg.exceptions import NotInstalledError

        catalog, _, self._namespace = name.partition(".")
        try:
            self._catalog = load_catalog(catalog)
        # A library of the catalog is missing, or a setting is wrong.
        except (NotInstalledError, ValueError) as error:
            raise ConfigurationError(
                f"export: the catalog {catalog} cannot be opened: {masked(first_line(error))}"
            ) from error

    def schema(self, name: str) -> pa.Schema | None:
        named = f"{self._namespace}.{name}"
        if not self._catalog.table_exists(named):
            return None
        schema: pa.Schema = self._catalog.load_table(named).schema().as_arrow()
        return schema

    def replace(self, name: str, date: str, nights: Sequence[Night]) -> None:
        self._catalog.create_namespace_if_not_exists(self._namespace)
        named = f"{self._namespace}.{name}"
        table = self._catalog.create_table_if_not_exists(named, TABLES[name])
        rows: pa.RecordBatchReader | pa.Table = _exported_rows(name, nights)
        # pyiceberg can stream only into tables without partitions.
        if not table.spec().is_unpartitioned():
            rows = rows.read_all()
        with table.update_schema() as change:
            change.union_by_name(TABLES[name])
        with warnings.catch_warnings():
            # A date that is exported for the first time does not replace any rows.
            warnings.filterwarnings("ignore", message="Delete operation did not match any records")
            table.overwrite(rows, f"evaluated_on = '{date}'")


class _Spark:
    """Tables of a catalog that a Spark session knows."""

    def __init__(self, session: Any, address: str) -> None:
        self._session = session
        self._namespace = address

    def _quoted_name(self, name: str) -> str:
        """A table's quoted name, with its catalog and schema."""
        parts = [*self._namespace.split("."), name]
        return ".".join(f"`{part}`" for part in parts)

    def schema(self, name: str) -> pa.Schema | None:
        from pyspark.sql.pandas.types import to_arrow_schema

        table = self._quoted_name(name)
        if not self._session.catalog.tableExists(table):
            return None
        return to_arrow_schema(self._session.table(table).schema)

    def replace(self, name: str, date: str, nights: Sequence[Night]) -> None:
        from pyspark.sql import functions as F
        from pyspark.sql.pandas.types import from_arrow_schema

        table = self._quoted_name(name)
        columns = {}
        for field in from_arrow_schema(TABLES[name]):
            columns[field.name] = f"`{field.name}` {field.dataType.simpleString()}"
        create = f"CREATE TABLE IF NOT EXISTS {table} ({', '.join(columns.values())})"
        self._session.sql(f"{create} PARTITIONED BY (evaluated_on)")
        lacking = columns.keys() - self._session.table(table).columns
        if lacking:
            added = ", ".join(columns[column] for column in sorted(lacking))
            self._session.sql(f"ALTER TABLE {table} ADD COLUMNS ({added})")
        if name == LOG:
            rows = self._session.createDataFrame(_exported_rows(name, nights).read_all())
        else:
            rows = read_nights(nights, name, self._session)
        rows.writeTo(table).overwrite(F.expr(f"evaluated_on = DATE '{date}'"))


_Tables = _Delta | _Iceberg | _Spark
