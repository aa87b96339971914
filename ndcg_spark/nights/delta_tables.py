"""The tables of an output in Delta, a folder each, written and read by the library `deltalake`."""

import datetime
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from ndcg_spark.errors import ConfigurationError
from ndcg_spark.inputs.delta import address_of, storage_options
from ndcg_spark.masking import masked
from ndcg_spark.nights.table_format import (
    EVERYWHERE,
    Counts,
    Staged,
    TableFormat,
    Where,
    cast_to,
    counted,
    storage_failures,
)
from ndcg_spark.schemas import PARTITIONS


class DeltaTables(TableFormat):
    """Tables in the subfolders of one folder; see `TableFormat`."""

    needs_engine = False

    def __init__(self, path: str) -> None:
        self.place = masked(f"delta:{path}")
        self._address = address_of(path, "output", ConfigurationError)
        self._bases: dict[str, Any] = {}

    def absent(self, names: Sequence[str]) -> list[str]:
        """See `TableFormat`."""
        from deltalake import DeltaTable

        with storage_failures(self.place, "the tables cannot be found"):
            return [name for name in names if not DeltaTable.is_deltatable(self._path(name), storage_options())]

    def columns(self, name: str) -> pa.Schema:
        """See `TableFormat`."""
        return pa.schema(self._table(name).schema().to_arrow())

    def create(self, name: str, schema: StructType) -> None:
        """See `TableFormat`."""
        from deltalake import DeltaTable

        with storage_failures(self.place, f"{name} cannot be made"):
            DeltaTable.create(
                self._path(name),
                to_arrow_schema(schema),
                mode="ignore",
                partition_by=list(PARTITIONS),
                storage_options=storage_options(),
            )

    def begin(self, names: Sequence[str]) -> None:
        """See `TableFormat`."""
        self._bases = {name: self._table(name) for name in names}

    def replace(self, name: str, rows: Staged | pa.Table, schema: StructType, where: Where) -> int:
        """See `TableFormat`. Rows that do not satisfy `where` are refused."""
        from deltalake import write_deltalake
        from deltalake.exceptions import CommitFailedError

        table = self._bases.get(name) or self._table(name)
        data = rows.rows.scanner().to_reader() if isinstance(rows, Staged) else rows
        with storage_failures(self.place, f"{name} cannot be written", (CommitFailedError,)):
            write_deltalake(table, data, mode="overwrite", predicate=_predicate(where))
        return int(table.version())

    def versions(self, name: str) -> Iterator[int]:
        """See `TableFormat`."""
        table = self._table(name)
        yield int(table.version())
        with storage_failures(self.place, f"the versions of {name} cannot be read"):
            yield from (int(commit["version"]) for commit in table.history() if commit["version"] < table.version())

    def counts(self, name: str, version: int | None = None, where: Where = EVERYWHERE) -> Counts:
        """See `TableFormat`."""
        table = self._table(name, version)
        with storage_failures(self.place, f"{name} cannot be read"):
            files = pa.table(table.get_add_actions(flatten=True))
            # A table without files has no such columns.
            if not files.num_rows:
                return Counts()
            rows = files.select([*(f"partition.{column}" for column in PARTITIONS), "num_records"])
            return counted(rows.rename_columns([*PARTITIONS, "rows"]), where)

    def scan(self, name: str, schema: StructType, where: Where, version: int | None = None) -> pa.RecordBatchReader:
        """See `TableFormat`."""
        table = self._table(name, version)
        with storage_failures(self.place, f"{name} cannot be read"):
            found = pa.RecordBatchReader.from_stream(table.scan(columns=schema.names, predicate=_predicate(where)))
        return cast_to(to_arrow_schema(schema), found, self.place, name)

    def _path(self, name: str) -> str:
        return f"{self._address.rstrip('/')}/{name}"

    def _table(self, name: str, version: int | None = None) -> Any:
        from deltalake import DeltaTable

        at = "" if version is None else f" at version {version}"
        with storage_failures(self.place, f"{name} cannot be read{at}"):
            return DeltaTable(self._path(name), version=version, storage_options=storage_options())


def _predicate(where: Where) -> str | None:
    """The condition in the SQL of deltalake; None if it has no columns."""
    return " and ".join(_of_column(column, values) for column, values in where.items()) or None


def _of_column(column: str, values: Sequence[Any]) -> str:
    literals = [_literal(value) for value in values if value is not None]
    equal = [f"{column} = {literals[0]}" if len(literals) == 1 else f"{column} IN ({', '.join(literals)})"]
    return f"({' or '.join([*(equal if literals else []), *([f'{column} IS NULL'] if None in values else [])])})"


def _literal(value: Any) -> str:
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    return f"date '{value}'" if isinstance(value, datetime.date) else str(value)
