"""Text as Parquet: the columns of its parts, those of its folders, and the lines that are not rows."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import pyarrow as pa
from pyarrow import compute

from ndcg_spark.inputs.delimited import FEW, constant
from ndcg_spark.inputs.files import File
from ndcg_spark.inputs.parquet_copy import ParquetCopy, write_copy
from ndcg_spark.inputs.shapes import Shape
from ndcg_spark.schemas import FAULT, LINE
from ndcg_spark.scratch import Scratch

_NUMBERS = {"relevance": pa.float64(), "score": pa.float64(), "rank": pa.int32()}
_TYPES = {**_NUMBERS, "doc_id": pa.string(), LINE: pa.string()}


def text_to_parquet(
    shape: Shape,
    files: Sequence[File],
    names: Sequence[str],
    scratch: Scratch,
    where: str,
) -> ParquetCopy:
    """The rows of text files, with those of our columns `names` that the files or their folders have.

    A folder's value counts before the file's.
    """
    reader = shape.reader(names)
    called = {ours: shape.columns.get(ours, ours) for ours in names}

    def constants(file: File) -> dict[str, str | None]:
        values = dict(file.partition)
        return {ours: values[theirs] for ours, theirs in called.items() if theirs in values}

    has = [name for name in names if name in reader.names or name in constants(files[0])]
    schema = pa.schema([(name, _TYPES.get(name, FEW)) for name in (*has, FAULT, LINE)])

    def table_of(part: Any, file: File) -> pa.Table:
        read, given = reader.read(part), constants(file)
        columns = {name: column for name, column in read.columns.items() if name not in given}
        tables = [_filled(columns, len(next(iter(read.columns.values()))), given, schema)]
        if read.broken:
            faults, lines = (pa.chunked_array([[*texts]], pa.string()) for texts in zip(*read.broken, strict=True))
            tables.append(_filled({FAULT: faults, LINE: lines}, len(lines), given, schema))
        return pa.concat_tables(tables)

    return write_copy(files, partial(reader.parts, where=where), table_of, schema, scratch, where)


def _filled(
    columns: Mapping[str, pa.ChunkedArray], rows: int, constants: Mapping[str, str | None], schema: pa.Schema
) -> pa.Table:
    """The table of this schema, whose other columns have one value in all rows."""
    filled = []
    for field in schema:
        column = columns.get(field.name)
        if column is None:
            filled.append(constant(constants.get(field.name), field.type, rows))
        elif field.type == FEW and not pa.types.is_dictionary(column.type):
            filled.append(compute.dictionary_encode(column))
        else:
            filled.append(column if column.type == field.type else column.cast(field.type))
    return pa.table(filled, schema)
