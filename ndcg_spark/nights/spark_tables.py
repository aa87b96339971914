"""The tables of an output that Spark writes and reads: of a catalog, or in folders of Delta."""

import atexit
import contextlib
import functools
import os
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from ndcg_spark.engine import lost, open_engine, running_session
from ndcg_spark.errors import ConfigurationError, StorageError
from ndcg_spark.masking import masked
from ndcg_spark.nights.table_format import (
    EVERYWHERE,
    ConflictError,
    Counts,
    Staged,
    Where,
    cast_to,
    counted,
    storage_failures,
)
from ndcg_spark.schemas import PARTITIONS

#: The formats whose tables have transactions and versions.
_FORMATS = ("delta", "iceberg")


class SparkTables:
    """The tables of a catalog's schema or, if `form` is delta, in the subfolders of a folder; see `TableFormat`."""

    needs_engine = True

    def __init__(self, form: str, place: str) -> None:
        self.place = masked(f"{form}:{place}")
        self._form, self._where = form, place
        self._formats: dict[str, str] = {}
        self._bases: dict[str, int | None] = {}
        if form != "delta" and not place.strip("."):
            raise ConfigurationError(f"output: {self.place} names no schema; write {form}:CATALOG.SCHEMA")

    @property
    def _session(self) -> SparkSession:
        """The running session; a command that otherwise needs no engine gets one of Spark until the process ends."""
        running = running_session()
        if running is not None:
            return running
        until_exit = contextlib.ExitStack()
        atexit.register(until_exit.close)
        return until_exit.enter_context(open_engine("spark", os.environ.get("SPARK_REMOTE"))).session

    def absent(self, names: Sequence[str]) -> list[str]:
        """See `TableFormat`."""
        with storage_failures(self.place, "the tables cannot be found"):
            return [name for name in names if not self._exists(name)]

    def columns(self, name: str) -> pa.Schema:
        """See `TableFormat`."""
        with self._failures(f"{name} cannot be read"):
            return to_arrow_schema(self._session.table(self._refreshed(name)).schema)

    def create(self, name: str, schema: StructType) -> None:
        """See `TableFormat`. ConfigurationError where the catalog makes tables without transactions."""
        with storage_failures(self.place, f"{name} cannot be made"):
            writer = self._session.createDataFrame([], schema).writeTo(self._name(name))
            if self._form != "table":
                writer = writer.using(self._form)
            writer.partitionedBy(*map(F.col, PARTITIONS)).create()
        try:
            self._format(name)
        except ConfigurationError:
            self._session.sql(f"DROP TABLE {self._name(name)}")
            raise

    def begin(self, names: Sequence[str]) -> None:
        """See `TableFormat`."""
        with self._failures("the tables cannot be read"):
            self._bases = {name: self._version(name) for name in names}

    def replace(self, name: str, rows: Staged | pa.Table, schema: StructType, where: Where) -> int | None:
        """See `TableFormat`."""
        is_watched, base = name in self._bases, self._bases.pop(name, None)
        try:
            with self._failures(f"{name} cannot be written"):
                # Delta itself only notices others that write at the same moment.
                if is_watched and self._has_changed(name, base, where):
                    raise ConflictError(self.place)
                if isinstance(rows, Staged):
                    table = self._session.read.schema(schema).parquet(rows.folder)
                else:
                    table = self._session.createDataFrame(rows, schema)
                writer = table.select(*schema.names).writeTo(self._name(name))
                if is_watched and self._format(name) == "iceberg":
                    writer = writer.option("isolation-level", "serializable")
                    writer = writer if base is None else writer.option("validate-from-snapshot-id", str(base))
                writer.overwrite(_condition(where))
                return self._version(name)
        except StorageError as error:
            # Only the message of Iceberg's exceptions reaches this process.
            if is_watched and self._has_changed(name, base, where):
                raise ConflictError(self.place) from error
            raise

    def _has_changed(self, name: str, base: int | None, where: Where) -> bool:
        """Whether these nights have rows of other evaluations than at the version `base`; None for an empty table."""
        with self._failures(f"{name} cannot be read"):
            if self._version(name) == base:
                return False
        return self.counts(name, None, where) != ({} if base is None else self.counts(name, base, where))

    def versions(self, name: str) -> Iterator[int]:
        """See `TableFormat`."""
        newest = self._version(name)
        if newest is None:
            return
        yield newest
        with self._failures(f"the versions of {name} cannot be read"):
            if self._format(name) == "delta":
                found = self._session.sql(f"DESCRIBE HISTORY {self._name(name)}").select("version")
            else:
                kept = self._session.table(f"{self._name(name)}.history").where("is_current_ancestor")
                found = kept.orderBy(F.desc("made_current_at")).select("snapshot_id")
            every = [int(row[0]) for row in found.collect()]
        yield from (version for version in every if version != newest)

    def counts(self, name: str, version: int | None = None, where: Where = EVERYWHERE) -> Counts:
        """See `TableFormat`."""
        with self._failures(f"{name} cannot be read"):
            rows = self._at(name, version, where).groupBy(*PARTITIONS).agg(F.count(F.lit(1)).alias("rows"))
            return counted(rows.toArrow())

    def scan(self, name: str, schema: StructType, where: Where, version: int | None = None) -> pa.RecordBatchReader:
        """See `TableFormat`."""
        with self._failures(f"{name} cannot be read"):
            found = self.frame(name, schema, where, version, self._session).toArrow()
        return cast_to(to_arrow_schema(schema), found.to_reader(), self.place, name)

    def frame(
        self, name: str, schema: StructType, where: Where, version: int | None, session: SparkSession
    ) -> DataFrame:
        """See `TableFormat`."""
        return self._at(name, version, where).select(*schema.names)

    def _name(self, name: str) -> str:
        if self._form == "delta":
            return f"delta.`{self._where.rstrip('/')}/{name}`"
        return ".".join(f"`{part}`" for part in [*self._where.split("."), name])

    def _refreshed(self, name: str) -> str:
        """The name of a table, refreshed: within a session, Iceberg's catalog keeps a table as it was first read."""
        if self._format(name) == "iceberg":
            self._session.catalog.refreshTable(self._name(name))
        return self._name(name)

    def _exists(self, name: str) -> bool:
        from pyspark.errors import AnalysisException

        if self._form != "delta":
            return bool(self._session.catalog.tableExists(self._name(name)))
        try:
            _ = self._session.table(self._name(name)).schema
        except AnalysisException as error:
            if (error.getCondition() or "").startswith(("DELTA_", "PATH_NOT_FOUND")):
                return False
            raise
        return True

    def _format(self, name: str) -> str:
        """The format of a table. ConfigurationError if it has no transactions."""
        if self._form in _FORMATS:
            return self._form
        if name not in self._formats:
            rows = self._session.sql(f"DESCRIBE TABLE EXTENDED {self._name(name)}").collect()
            of_name = {row["col_name"]: row["data_type"] for row in rows}
            self._formats[name] = str(of_name.get("Provider", "")).lower()
        if self._formats[name] not in _FORMATS:
            raise ConfigurationError(
                f"output: {self.place} makes tables of {self._formats[name] or 'an unknown format'}, which have no "
                "transactions; name a catalog of Delta or Iceberg, or set spark.sql.sources.default=delta"
            )
        return self._formats[name]

    def _version(self, name: str) -> int | None:
        place = self._refreshed(name)
        if self._format(name) == "delta":
            found = self._session.sql(f"DESCRIBE HISTORY {place} LIMIT 1").first()
        else:
            found = self._session.table(f"{place}.refs").where("name = 'main'").select("snapshot_id").first()
        return None if found is None else int(found[0])

    def _at(self, name: str, version: int | None, where: Where) -> DataFrame:
        place = self._refreshed(name)
        if version is None:
            table = self._session.table(place)
        else:
            # Names are quoted, and come from the configuration.
            table = self._session.sql(f"SELECT * FROM {place} VERSION AS OF {int(version)}")  # noqa: S608
        return table.where(_condition(where)) if where else table

    @contextlib.contextmanager
    def _failures(self, what: str) -> Any:
        try:
            with storage_failures(self.place, what):
                yield
        except StorageError as error:
            cause = error.__cause__
            if cause is not None and lost(cause):
                raise cause from None
            raise


def _condition(where: Where) -> Column:
    parts = []
    for column, values in where.items():
        literals = [F.lit(value) for value in values if value is not None]
        is_in = F.col(column) == literals[0] if len(literals) == 1 else F.col(column).isin(literals)
        parts.append(is_in | F.col(column).isNull() if None in values else is_in)
    return functools.reduce(Column.__and__, parts)
