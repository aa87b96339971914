"""Files of text and JSON as Parquet: which reader a shape has, and how its blocks become tables."""

from collections.abc import Iterator, Sequence
from functools import partial

import pyarrow as pa
from pyarrow import compute

from ndcg_spark.engine.scratch import Scratch
from ndcg_spark.inputs.conversion import Converted, converted
from ndcg_spark.inputs.delimited import SEPARATORS, Delimited
from ndcg_spark.inputs.files import File
from ndcg_spark.inputs.json_lines import JsonLines
from ndcg_spark.inputs.json_object import json_columns, object_rows
from ndcg_spark.inputs.lines import Lines
from ndcg_spark.inputs.recognise import Shape
from ndcg_spark.inputs.text import Columns, TextFormat, blocks, columns_of
from ndcg_spark.inputs.values import Constants, numbered, odd_rows, schema_of, table_of


def text_to_parquet(
    shape: Shape, files: Sequence[File], names: Sequence[str], scratch: Scratch, where: str
) -> Converted:
    """The rows of the files, with those columns of `names` that they or their folders have; see `values`.

    What a folder gives counts before what a file has. Raises as `conversion.converted`; InputError for a file that
    cannot be read.
    """
    folders = {ours: shape.columns.get(ours, ours) for ours in names}

    def constants(file: File) -> Constants:
        values = dict(file.partition)
        return {ours: values[theirs] for ours, theirs in folders.items() if theirs in values}

    form = _format(shape, names)
    read = _keys(shape, names) if form is None else form.columns
    has = [ours for ours in names if ours in read or ours in constants(files[0])]
    schema = schema_of(has)

    def of_columns(columns: Columns, file: File) -> pa.Table:
        return _of_text(columns, constants(file), schema)

    if form is None:
        return converted(files, partial(_entries, read, shape.depth, where), of_columns, schema, scratch, where)

    def of_block(block: bytes, file: File) -> pa.Table:
        return _of_block(form, block, constants(file), schema)

    return converted(files, partial(blocks, where=where), of_block, schema, scratch, where)


def _format(shape: Shape, names: Sequence[str]) -> TextFormat | None:
    """The reader of lines; None for one JSON object, whose lines mean nothing."""
    if shape.kind == "json":
        return None
    if shape.layout is not None:
        return Lines(shape.layout)
    called = {ours: shape.columns.get(ours, ours) for ours in names}
    present = {ours: theirs for ours, theirs in called.items() if theirs in shape.fields}
    if shape.kind in SEPARATORS:
        return Delimited(SEPARATORS[shape.kind], shape.header, present)
    absent = [theirs for ours, theirs in called.items() if ours not in present]
    is_ranked = shape.has_lists and "rank" in names and "rank" not in present
    return JsonLines(present, absent, shape.has_lists, is_ranked)


def _keys(shape: Shape, names: Sequence[str]) -> Sequence[str]:
    """Our columns of one JSON object, the outermost key first."""
    if shape.layout is not None:
        return shape.layout.names
    return json_columns(names, shape.depth)


def _entries(names: Sequence[str], depth: int, where: str, file: File) -> Iterator[Columns]:
    return columns_of(names, object_rows(names, depth, file, where))


def _of_block(form: TextFormat, block: bytes, constants: Constants, schema: pa.Schema) -> pa.Table:
    """The rows of a block, the quick way where its lines are regular, else line by line."""
    columns = form.quick(block, as_text=False)
    if columns is not None:
        numbers = numbered(columns, constants)
        odd = odd_rows(columns, numbers, constants)
        if odd is None:
            return table_of(columns, numbers, None, constants, schema)
        # The few lines whose text has to be kept are read alone, if every line became a row.
        lines = block.splitlines() if b"\r" in block else block.removesuffix(b"\n").split(b"\n")
        if len(lines) == len(odd):
            few = b"\n".join(lines[at] for at in compute.indices_nonzero(odd).to_pylist())
            regular = table_of(columns, numbers, None, constants, schema).filter(compute.invert(odd))
            return pa.concat_tables([regular, _of_lines(form, few, constants, schema)])
    columns = form.quick(block, as_text=True)
    return _of_lines(form, block, constants, schema) if columns is None else _of_text(columns, constants, schema)


def _of_lines(form: TextFormat, block: bytes, constants: Constants, schema: pa.Schema) -> pa.Table:
    tables = [_of_text(columns, constants, schema) for columns in columns_of(form.columns, form.rows(block))]
    return pa.concat_tables(tables) if tables else schema.empty_table()


def _of_text(columns: Columns, constants: Constants, schema: pa.Schema) -> pa.Table:
    numbers = numbered(columns, constants)
    return table_of(columns, numbers, odd_rows(columns, numbers, constants), constants, schema)
