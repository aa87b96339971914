"""What shape text has: its format, what its columns are called, where the fields of a line are.

The names of files determine the format, and their first lines the rest: whether text has a header, whether JSON is
one object of all queries, and which names of other tools it uses. Lines that may mean several things are refused, with
advice on what to write to choose one.
"""

import dataclasses
from collections.abc import Sequence

from ndcg_spark.casting import refuse_alike
from ndcg_spark.errors import ConfigurationError, InputError
from ndcg_spark.inputs import trec_layouts
from ndcg_spark.inputs.column_names import is_of_quepid
from ndcg_spark.inputs.csv_text import SEPARATORS, header_names
from ndcg_spark.inputs.files import File, of_each
from ndcg_spark.inputs.json_shapes import of_json_text
from ndcg_spark.inputs.shapes import Shape, TableContext, whole_lines
from ndcg_spark.inputs.trec_layouts import Layout


def of_text(files: Sequence[File], kind: str, table: TableContext) -> Shape:
    """The shape of text of the format `kind`, by its first lines; those of all files must agree.

    Raises
    ------
    InputError
        A file cannot be read, files differ, two columns may be the same one of ours, or lines may mean several things.
    ConfigurationError
        Columns are mapped in a format that has no names.
    """
    first, *others = [file for file in files if file.size] or list(files[:1])
    where = table.name
    text = first.head(where)
    table = dataclasses.replace(table, place=f"{where}: {first.path}")
    may_be_json = kind in ("trec", "jsonl", "json") and table.config.format in (None, "json")
    if kind in ("jsonl", "json") or (may_be_json and text.lstrip().startswith("{")):
        return of_json_text(text, kind, table)
    if kind == "trec" and where not in trec_layouts.LAYOUTS:
        raise InputError(
            f"{table.place} has no ending of a format; end it in .csv, .tsv, .jsonl, .parquet or .orc, with "
            "the names of the columns in it"
        )
    some = whole_lines(text)
    shape = _of_named(kind, some, table) if kind in SEPARATORS else _of_fields(some, table)
    if shape.kind in SEPARATORS:
        return _with_header(shape, first, text, others, where)
    if shape.layout and not table.numbers_of_fields and shape.layout is not trec_layouts.RUN:
        heads = of_each(others, lambda file: whole_lines(file.head(where)))
        for file, some in zip(others, heads, strict=True):
            refusal = trec_layouts.contradiction(some, shape.layout, where, f"{where}: {file.path}")
            if refusal:
                raise refusal
    return shape


def _of_named(kind: str, some: Sequence[str], table: TableContext) -> Shape:
    """CSV or TSV; text without a header, if the first line names no column of ours and all lines have one layout."""
    config, numbers = table.config, table.numbers_of_fields
    if numbers and config.format is None:
        return _of_layout(trec_layouts.layout_by_numbers(numbers, some, table.place), table)
    shape = table.shape(kind, _names(some[0], SEPARATORS[kind]) if some else [])
    is_certain = kind == "csv" or config.format or config.columns or table.name not in trec_layouts.LAYOUTS
    if is_certain or shape.has - set(table.folders):
        return shape
    # A header of other names has no number in it.
    has_number = any(trec_layouts.is_number(field) for line in some[:1] for field in line.split())
    return _of_recognised(some, table, may_be_refused=has_number) or shape


def _of_fields(some: Sequence[str], table: TableContext) -> Shape:
    """Lines of fields between blanks; CSV or TSV, if the first line names both a query and a document."""
    config = table.config
    if table.numbers_of_fields:
        return _of_layout(trec_layouts.layout_by_numbers(table.numbers_of_fields, some, table.place), table)
    for kind, separator in SEPARATORS.items() if config.format is None and some else ():
        shape = table.shape(kind, _names(some[0], separator))
        if {"query_id", "doc_id"} <= shape.has:
            return shape
    if config.columns:
        raise ConfigurationError(
            f"{table.name}: columns are mapped, and TREC text has no names; leave columns out, or give the number of "
            "each field, from 1"
        )
    usual = trec_layouts.USUAL[table.name]
    counts = {len(line.split()) for line in some}
    # Bad lines are the contract's to count, so one good line is enough.
    is_usual = usual is not trec_layouts.QRELS and any(
        count == usual.fields or (usual.open and count > usual.fields) for count in counts
    )
    return (None if is_usual else _of_recognised(some, table)) or _of_layout(usual, table)


def _of_recognised(some: Sequence[str], table: TableContext, may_be_refused: bool = True) -> Shape | None:
    """The shape of lines that have one layout, else None; InputError for lines that may mean several things."""
    layout = trec_layouts.layout_of(some, table.name, "relevance" in table.names)
    refusal = trec_layouts.ambiguous(some, table.name, table.place) if layout is None and may_be_refused else None
    if refusal:
        raise refusal
    return _of_layout(layout, table) if layout else None


def _with_header(shape: Shape, first: File, head: str, others: Sequence[File], where: str) -> Shape:
    """The shape with the line that all files begin with; InputError where they differ, or for names that are alike."""
    header = _header(head)
    for file, other in zip(others, of_each(list(others), lambda file: _header(file.head(where))), strict=True):
        if other != header:
            raise InputError(
                f"{where}: files with different headers, {first.path} has {header!r}, {file.path} has {other!r}; "
                "write them alike"
            )
    place = f"{where}: {first.path}"
    try:
        found = header_names(header, SEPARATORS[shape.kind])
    except ValueError as error:
        raise InputError(f"{place}, {error}; write it again, or name its format") from error
    if "\ufffd" in header:
        raise InputError(f"{place} has a header that is not UTF-8, {header!r}; write it again")
    refuse_alike(found, place)
    return dataclasses.replace(shape, header=header, is_of_quepid=is_of_quepid(found))


def _header(head: str) -> str:
    return head.split("\n", 1)[0].rstrip("\r")


def _of_layout(layout: Layout, table: TableContext) -> Shape:
    return Shape("trec", {}, layout, frozenset({*layout.positions, *table.folders}))


def _names(line: str, separator: str) -> list[str]:
    try:
        return header_names(line, separator)
    except ValueError:
        return []
