"""Text as Parquet: the columns of its parts, those of its folders, and the lines that are not rows."""

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from typing import Any

import pyarrow as pa
from pyarrow import compute

from ndcg_spark.errors import InputError
from ndcg_spark.inputs.delimited import FEW, NUMBERS, constant
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
    in_both: Collection[str],
    scratch: Scratch,
    where: str,
) -> ParquetCopy:
    """The rows of text files, with those of our columns `names` that the files or their folders have.

    InputError if a file has another value than its folder in one of the columns `in_both`.
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
        for ours in in_both:
            refuse_other_value(read.columns[ours], ours, called[ours], file, where)
        columns = {name: column for name, column in read.columns.items() if name not in given}
        tables = [_filled(columns, len(next(iter(read.columns.values()))), given, schema)]
        if read.broken:
            faults, lines = (pa.chunked_array([[*texts]], pa.string()) for texts in zip(*read.broken, strict=True))
            tables.append(_filled({FAULT: faults, LINE: lines}, len(lines), given, schema))
        return pa.concat_tables(tables)

    return write_copy(files, partial(reader.parts, where=where), table_of, schema, scratch, where)


def refuse_other_value(values: pa.ChunkedArray, ours: str, theirs: str, file: File, where: str) -> None:
    """InputError if a column of a file has another value than the folder of the file."""
    value = dict(file.partition)[theirs]
    kind = pa.float64() if ours in NUMBERS else pa.string()
    values = values.cast(kind)
    other = values.filter(compute.not_equal(values, constant(value, kind, 1)[0]))
    if len(other):
        raise InputError(
            f"{where}: {file.path} has rows with {theirs}={other[0]}, and its folder is {theirs}={value}; correct one, "
            "or give that folder itself as the path, so that its name does not count"
        )


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
