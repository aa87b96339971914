"""Files of text and JSON as Parquet: which reader a shape has, and how its blocks become tables."""

import io
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from types import MappingProxyType

import pyarrow as pa
from pyarrow import compute

from ndcg_spark.engine.scratch import Scratch
from ndcg_spark.inputs import json_object
from ndcg_spark.inputs.csv_text import SEPARATORS, CsvText
from ndcg_spark.inputs.files import File
from ndcg_spark.inputs.json_lines import JsonLines
from ndcg_spark.inputs.json_object import columns_of_object
from ndcg_spark.inputs.parquet_copy import ParquetCopy, write_copy
from ndcg_spark.inputs.shapes import Shape
from ndcg_spark.inputs.stored import with_folders
from ndcg_spark.inputs.text_blocks import Columns, TextFormat, blocks, columns_of
from ndcg_spark.inputs.trec_text import TrecText
from ndcg_spark.inputs.values import Constants, numbers_of, odd_rows, schema_of, table_of
from ndcg_spark.schemas import FAULT, WRITTEN


def text_to_parquet(
    shape: Shape,
    files: Sequence[File],
    names: Sequence[str],
    scratch: Scratch,
    where: str,
    of_folders: Mapping[str, str] = MappingProxyType({}),
) -> ParquetCopy:
    """The rows of the files, with those columns of `names` that they or their folders have; see `values`.

    What a folder gives counts before what a file has, which must not differ in the columns `of_folders`. Raises as
    `conversion.converted`; InputError for a file that cannot be read.
    """
    folders = {ours: shape.columns.get(ours, ours) for ours in names}
    form = _format(shape, names)
    read = _keys(shape, names) if form is None else form.columns
    both = {ours: theirs for ours, theirs in of_folders.items() if ours in read}

    def constants(file: File) -> Constants:
        values = dict(file.partition)
        return {ours: values[theirs] for ours, theirs in folders.items() if theirs in values and ours not in both}

    has = [ours for ours in names if ours in read or ours in constants(files[0])]
    # A message shows the fields of a line without a header in their order.
    schema = schema_of(sorted(has, key=[*shape.layout.names, *names].index) if shape.layout else has)

    def of_entries(columns: Columns, file: File) -> pa.Table:
        return with_folders(_of_text(columns, constants(file), schema), both, file, where)

    def of_block(block: bytes, file: File) -> pa.Table:
        table = _of_block(form, block, constants(file), schema) if form else schema.empty_table()
        table = with_folders(table, both, file, where)
        return _without_empty(table) if shape.is_of_quepid else table

    if form is None:
        return write_copy(files, partial(_entries, shape, read, where), of_entries, schema, scratch, where)
    return write_copy(files, partial(blocks, where=where), of_block, schema, scratch, where)


def _format(shape: Shape, names: Sequence[str]) -> TextFormat | None:
    """The reader of lines; None for JSON that is not one object a line."""
    if shape.kind == "json":
        return None
    if shape.layout is not None:
        return TrecText(shape.layout)
    called = {ours: shape.columns.get(ours, ours) for ours in names}
    present = {ours: theirs for ours, theirs in called.items() if theirs in shape.fields}
    if shape.kind in SEPARATORS:
        return CsvText(SEPARATORS[shape.kind], shape.header, present)
    absent = [theirs for ours, theirs in called.items() if ours not in present]
    is_ranked = shape.has_lists and "rank" in names and "rank" not in present
    return JsonLines(present, absent, shape.has_lists, is_ranked)


def _keys(shape: Shape, names: Sequence[str]) -> Sequence[str]:
    """Our columns in the rows of JSON that is not one object a line."""
    return columns_of_object(names, shape.depth) if shape.layout is None else shape.layout.names


def _entries(shape: Shape, names: Sequence[str], where: str, file: File) -> Iterator[Columns]:
    place = f"{where}: {file.path}"
    with file.open(where) as stream, io.TextIOWrapper(stream, encoding="utf-8-sig", newline="") as text:
        yield from columns_of(names, json_object.rows(names, shape.depth, text, place))


def _without_empty(table: pa.Table) -> pa.Table:
    """The rows of Quepid's exports without those of unrated documents, and of queries that found nothing."""
    name = WRITTEN["relevance"] if "relevance" in table.column_names else "doc_id"
    return table.filter(compute.or_(table.column(name).is_valid(), table.column(FAULT).is_valid()))


def _of_block(form: TextFormat, block: bytes, constants: Constants, schema: pa.Schema) -> pa.Table:
    """The rows of a block, the quick way where its lines are regular, else line by line."""
    columns = form.quick(block, as_text=False)
    if columns is not None:
        numbers = numbers_of(columns, constants)
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
    numbers = numbers_of(columns, constants)
    return table_of(columns, numbers, odd_rows(columns, numbers, constants), constants, schema)
