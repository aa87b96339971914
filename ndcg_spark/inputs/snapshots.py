"""One version of a table whose log tells which rows it has, such as a table of Delta or Iceberg."""

import dataclasses
from collections.abc import Callable, Iterable

import pyarrow as pa
from pyspark.sql import DataFrame

#: The formats that are read so.
TABLES = ("delta", "iceberg")


@dataclasses.dataclass(frozen=True)
class Snapshot:
    """A version of a table; None if it has none yet, or if only the engine knows."""

    version: int | None
    schema: pa.Schema = dataclasses.field(default_factory=lambda: pa.schema([]))
    #: Reads the columns of these names; whatever it raises is a reason to refuse the table.
    scan: Callable[[list[str]], Iterable[pa.RecordBatch]] = lambda _: ()
    #: The table, where the engine reads it by itself.
    table: DataFrame | None = None

    @property
    def types(self) -> dict[str, pa.DataType]:
        """The columns, with the types that they are copied with."""
        return {field.name: _plain_type(field.type) for field in self.schema}


def _plain_type(kind: pa.DataType) -> pa.DataType:
    """The type that every engine reads the same values with."""
    if pa.types.is_dictionary(kind):
        return _plain_type(kind.value_type)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return pa.list_(_plain_type(kind.value_type))
    if pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return pa.string()
    is_bytes = pa.types.is_large_binary(kind) or pa.types.is_binary_view(kind) or pa.types.is_fixed_size_binary(kind)
    return pa.binary() if is_bytes else kind
