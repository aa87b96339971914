"""The typed rows of files of plain text (see `plain_text`), with what their folders and the configuration give."""

import dataclasses
from collections.abc import Iterator, Mapping
from pathlib import Path

import pyarrow as pa
from pyarrow import fs

from ndcg_spark.inputs.files import File
from ndcg_spark.inputs.layouts import Layout
from ndcg_spark.inputs.plain_text import NotPlainError, blocks, columns_of
from ndcg_spark.inputs.run_files import UNIT
from ndcg_spark.schemas import BROKEN_LINE

#: The fewest rows that are written together, as the engine takes time and memory for each part of a file.
_TOGETHER = 150_000
#: Text with few values, of which each is written once. Only documents have many.
_FEW, _MANY = pa.dictionary(pa.int32(), pa.string()), pa.string()
_NUMBERS = {"double": pa.float64(), "int": pa.int32()}


@dataclasses.dataclass(frozen=True)
class PlainRows:
    """How a row is made of a line."""

    layout: Layout
    #: The columns, in order, with the engine's names for their types.
    types: Mapping[str, str]
    #: The columns that have one value in all rows.
    constants: Mapping[str, str | float]
    #: The number of each file's unit, by path.
    units: Mapping[str, int]

    @property
    def schema(self) -> pa.Schema:
        """The columns as they are written."""
        texts = {name: _MANY if name == "doc_id" else _FEW for name in self.types}
        return pa.schema([(name, _NUMBERS.get(kind, texts[name])) for name, kind in self.types.items()])

    def can_be_told(self, file: File) -> bool:
        """Whether every column is a field of a line, as at least one is, or has one value in all rows of a file."""
        given = self._given(file)
        fields = {name: self.layout.positions.get(name) for name in self.types if name not in given}
        if any(kind in _NUMBERS and isinstance(given.get(name), str) for name, kind in self.types.items()):
            # A folder's name, which the engine makes a number of.
            return False
        # An empty line may be a line of one field to Arrow, and no field can have two types.
        known = bool(fields) and None not in fields.values() and len(set(fields.values())) == len(fields)
        return known and self.layout.fields > 1

    def tables(self, file: File) -> Iterator[pa.Table]:
        """The rows of a file, a block at a time. NotPlainError where it is not plain, or cannot be read."""
        try:
            system, place = file.located("text")
            given = self._given(file)
            with system.open_input_stream(place, compression="gzip" if file.compressed else None) as stream:
                for block in blocks(stream):
                    yield self._table(block, given)
        except (OSError, pa.ArrowException) as error:
            # The engine says why.
            raise NotPlainError("no text") from error

    def _given(self, file: File) -> dict[str, object]:
        """The columns that have one value in all rows of the file."""
        unit = {UNIT: self.units[file.path]} if self.units else {}
        return {BROKEN_LINE: None, **dict(file.partition), **unit, **self.constants}

    def _table(self, block: bytes, given: Mapping[str, object]) -> pa.Table:
        schema = self.schema
        places = {name: self.layout.positions[name] for name in schema.names if name not in given}
        found = columns_of(block, self.layout.fields, {at: schema.field(name).type for name, at in places.items()})
        rows = len(next(iter(found.values())))
        columns = [
            found[places[field.name]] if field.name in places else _repeated(given[field.name], field.type, rows)
            for field in schema
        ]
        return pa.table(columns, schema)


class Sheet:
    """A Parquet file for rows. At the end of the block it is there if it has rows, and nothing was raised."""

    def __init__(self, rows: PlainRows, target: Path) -> None:
        from pyarrow import parquet

        few = [field.name for field in rows.schema if field.type == _FEW]
        self._target, self._waiting, self._rows = target, list[pa.Table](), 0
        self._writer = parquet.ParquetWriter(
            target,
            rows.schema,
            filesystem=fs.LocalFileSystem(),
            compression="lz4",
            # Without Arrow's own types, text is plain text to the engine.
            store_schema=False,
            use_dictionary=few,
            # Every part has rows of all kinds, so no plan would leave out a part by them.
            write_statistics=False,
        )

    def __enter__(self) -> "Sheet":
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        whole = False
        try:
            if kind is None:
                self._write()
            self._writer.close()
            whole = kind is None and self._rows > 0
        finally:
            if not whole:
                self._target.unlink(missing_ok=True)

    def add(self, table: pa.Table) -> None:
        """Write a table, once there are enough rows."""
        self._waiting.append(table)
        if sum(table.num_rows for table in self._waiting) >= _TOGETHER:
            self._write()

    def _write(self) -> None:
        if self._waiting:
            table = pa.concat_tables(self._waiting).unify_dictionaries()
            self._waiting.clear()
            self._rows += table.num_rows
            self._writer.write_table(table)


def _repeated(value: object, kind: pa.DataType, rows: int) -> pa.Array:
    if value is None:
        return pa.nulls(rows, kind)
    if kind != _FEW:
        # -0.0 becomes 0.0, as in `conforming`.
        return pa.repeat(pa.scalar(value + 0 if isinstance(value, float) else value, kind), rows)
    return pa.DictionaryArray.from_arrays(pa.repeat(pa.scalar(0, pa.int32()), rows), pa.array([value], pa.string()))
