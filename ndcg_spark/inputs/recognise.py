"""What shape the files of a table have: their format, what their columns are called, where the fields of a line are.

Names of files tell the format, and the first lines of the files the rest: whether text has a header, whether JSON is
one object of all queries, and which of the names that other tools use there are. Where lines may mean several things,
they are refused with what to write to choose one.
"""

import dataclasses
from collections.abc import Sequence

from ndcg_spark.casting import refuse_alike, refuse_own
from ndcg_spark.config import TableConfig
from ndcg_spark.errors import ConfigurationError, InputError
from ndcg_spark.inputs import layouts, nested_json
from ndcg_spark.inputs.aliases import is_of_quepid, refuse_list_as_text
from ndcg_spark.inputs.delimited import SEPARATORS, header_names
from ndcg_spark.inputs.files import File, of_each
from ndcg_spark.inputs.footers import Footer
from ndcg_spark.inputs.json_shapes import kind_of_json, of_json, of_json_lines
from ndcg_spark.inputs.layouts import Layout
from ndcg_spark.inputs.shapes import Shape, named, numbers_of_fields, whole_lines


def of_columns(
    files: Sequence[File], found: Sequence[Footer], kind: str, config: TableConfig, names: Sequence[str], where: str
) -> Shape:
    """The shape of files that tell their columns."""
    folders = [key for key, _ in files[0].partition]
    return named(kind, list(found[0].columns), folders, config, names, f"{where}: {files[0].path}")


def of_text(files: Sequence[File], kind: str, config: TableConfig, names: Sequence[str], where: str) -> Shape:
    """The shape of text of the format `kind`, which its first lines tell, as those of all files do.

    `names` are the columns that the table may have, and `where` is its name.

    Raises
    ------
    InputError
        A file cannot be read, files differ, two columns may be the same one of ours, or lines may mean several things.
    ConfigurationError
        Columns are mapped in a format that has no names.
    """
    first_file, *others = [file for file in files if file.size] or list(files[:1])
    first, place = first_file.head(where), f"{where}: {first_file.path}"
    folders = [key for key, _ in first_file.partition]
    if kind in ("trec", "jsonl", "json") and config.format in (None, "json") and first.lstrip().startswith("{"):
        kind = kind_of_json(first, kind, names, where)
    if kind == "nested":
        has = frozenset({*nested_json.COLUMNS.get(where, ()), *folders} & set(names))
        return Shape("nested", {"query_id": config.columns.get("query_id", "query_id")}, has=has)
    if kind == "json":
        return of_json(first, config, names, place)
    if kind == "jsonl":
        return of_json_lines(first, folders, config, names, place)
    some = whole_lines(first)
    if kind == "trec" and where not in layouts.LAYOUTS:
        raise InputError(
            f"{place} has no ending that tells its format; end it in .csv, .tsv, .jsonl, .parquet or .orc, with the "
            "names of the columns in it"
        )
    is_separated = kind in SEPARATORS
    shape = (_separated if is_separated else _of_fields)(kind, some, folders, config, names, where, place)
    if shape.kind in SEPARATORS:
        return _with_header(shape, first_file, first, others, where)
    if shape.layout and not numbers_of_fields(config) and shape.layout is not layouts.USUAL[where]:
        heads = of_each(others, lambda file: whole_lines(file.head(where)))
        for file, some in zip(others, heads, strict=True):
            refusal = layouts.contradiction(some, shape.layout, where, f"{where}: {file.path}")
            if refusal:
                raise refusal
    return shape


def _separated(
    kind: str,
    some: Sequence[str],
    folders: Sequence[str],
    config: TableConfig,
    names: Sequence[str],
    where: str,
    place: str,
) -> Shape:
    """CSV or TSV; text without a header, if the first line names no column of ours and all lines have one layout."""
    header = _names(some[0], SEPARATORS[kind]) if some else []
    numbered = numbers_of_fields(config)
    if numbered and config.format is None:
        return _of_layout(layouts.given(numbered, some, place), folders)
    shape = named(kind, header, folders, config, names, place)
    if kind == "csv" or config.format or shape.has - set(folders) or config.columns or where not in layouts.LAYOUTS:
        return shape
    layout = layouts.recognised(some, where, "relevance" in names)
    if layout:
        return _of_layout(layout, folders)
    refusal = layouts.ambiguous(some, where, place)
    # A header of other names has no number in it.
    if refusal and any(layouts.is_number(field) for field in some[0].split()):
        raise refusal
    return shape


def _of_fields(
    _: str,
    some: Sequence[str],
    folders: Sequence[str],
    config: TableConfig,
    names: Sequence[str],
    where: str,
    place: str,
) -> Shape:
    """Lines of fields between blanks; CSV or TSV, if the first line names both a query and a document."""
    numbered = numbers_of_fields(config)
    if numbered:
        return _of_layout(layouts.given(numbered, some, place), folders)
    for kind, separator in SEPARATORS.items() if config.format is None and some else ():
        shape = named(kind, _names(some[0], separator), folders, config, names, place)
        if {"query_id", "doc_id"} <= shape.has:
            return shape
    if config.columns:
        raise ConfigurationError(
            f"{where}: columns are mapped, and TREC text has no names; leave columns out, or give the number of each "
            "field, from 1"
        )
    usual = layouts.USUAL[where]
    rows = [line.split() for line in some]
    # Bad lines are the contract's to count, so one good line is enough.
    if usual is not layouts.QRELS and any(
        len(row) == usual.fields or (usual.open and len(row) > usual.fields) for row in rows
    ):
        return _of_layout(usual, folders)
    layout = layouts.recognised(some, where, "relevance" in names)
    if layout is None:
        refusal = layouts.ambiguous(some, where, place)
        if refusal:
            raise refusal
    return _of_layout(layout or usual, folders)


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
    refuse_own(found, place)
    refuse_list_as_text(shape.columns, place)
    return dataclasses.replace(shape, header=header, is_of_quepid=is_of_quepid(found))


def _header(head: str) -> str:
    return head.split("\n", 1)[0].rstrip("\r")


def _of_layout(layout: Layout, folders: Sequence[str]) -> Shape:
    return Shape("trec", {}, layout, frozenset({*layout.positions, *folders}))


def _names(line: str, separator: str) -> list[str]:
    try:
        return header_names(line, separator)
    except ValueError:
        return []
