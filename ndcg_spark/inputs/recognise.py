"""What shape the files of a table have: their format, what their columns are called, where the fields of a line are.

Names of files tell the format, and the first lines of the files the rest: whether text has a header, whether JSON is
one object of all queries, and which of the names that other tools use there are. Where lines may mean several things,
they are refused with what to write to choose one.
"""

import dataclasses
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ndcg_spark.config import TableConfig
from ndcg_spark.conforming import refuse_alike, refuse_own
from ndcg_spark.errors import ConfigurationError, InputError
from ndcg_spark.inputs import layouts, nested_json
from ndcg_spark.inputs.aliases import is_known, is_of_quepid, refuse_list_as_text, resolved
from ndcg_spark.inputs.delimited import SEPARATORS, header_names
from ndcg_spark.inputs.files import File, of_each
from ndcg_spark.inputs.footers import Footer
from ndcg_spark.inputs.layouts import Layout
from ndcg_spark.inputs.swapped import refuse_other

_LINES = 200
_SHOWN_KEYS = 10
_MARK = re.compile(r'"(?:[^"\\]|\\.)*"|[{}\[\]:,]|[^\s{}\[\]:,"]+')


@dataclasses.dataclass(frozen=True)
class Shape:
    """How the files of one table are to be read."""

    #: parquet, orc, delta, iceberg, csv, tsv, jsonl; trec: text without a header; json: one object of all queries;
    #: nested: JSON of queries with their documents in an array, as OpenSearch and Quepid write it.
    kind: str
    #: What the files call each of our columns; those that are absent have our own names.
    columns: Mapping[str, str]
    #: Where the fields of a line of text without header are, or which key of one JSON object is what; else None.
    layout: Layout | None = None
    #: Our columns that the files or their folders have, as far as first lines or footers tell.
    has: frozenset[str] = frozenset()
    #: The names of the fields in the files themselves, in their order.
    fields: tuple[str, ...] = ()
    #: How deep the objects of JSON are nested: 2 for {query: {document: value}}, 3 with the runs around them.
    depth: int = 0
    #: The line that all files of CSV and TSV begin with.
    header: str = ""
    #: Whether lines of JSON hold lists of documents.
    has_lists: bool = False
    #: Whether the files are exports of Quepid, which have rows for what is not rated, or was not found.
    is_of_quepid: bool = False

    def notes(self, config: TableConfig) -> list[str]:
        """What was recognised and not configured, in sentences for people."""
        sentences = []
        if self.layout and self.layout.words not in (layouts.QRELS.words, layouts.RUN.words):
            what = "one JSON object" if self.kind == "json" else "lines without a header"
            sentences.append(f"{what}, read as: {self.layout.words}")
        renamed = [
            f"{n} is {c}" for n, c in self.columns.items() if c != n and n not in config.columns and n in self.has
        ]
        if renamed:
            sentences.append(", ".join(renamed))
        return sentences


def named(
    kind: str,
    fields: Sequence[str],
    folders: Sequence[str],
    config: TableConfig,
    names: Iterable[str],
    place: str,
) -> Shape:
    """The shape of a table whose columns have names, in its files or as those of their folders."""
    known = [*fields, *folders]
    columns = resolved(config.columns, names, known, place)
    has = frozenset(name for name, column in columns.items() if column in known)
    return Shape(kind, columns, has=has, fields=tuple(fields))


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
        kind = _kind_of_json(first, kind, names, where)
    if kind == "nested":
        has = frozenset({*nested_json.COLUMNS.get(where, ()), *folders} & set(names))
        return Shape("nested", {"query_id": config.columns.get("query_id", "query_id")}, has=has)
    if kind == "json":
        return _of_json(first, config, names, place)
    if kind == "jsonl":
        return _of_json_lines(first, folders, config, names, place)
    some = _whole_lines(first)
    if kind == "trec" and where not in layouts.LAYOUTS:
        raise InputError(
            f"{place} has no ending that tells its format; end it in .csv, .tsv, .jsonl, .parquet or .orc, with the "
            "names of the columns in it"
        )
    is_separated = kind in SEPARATORS
    shape = (_separated if is_separated else _of_fields)(kind, some, folders, config, names, where, place)
    if shape.kind in SEPARATORS:
        return _with_header(shape, first_file, first, others, where)
    if shape.layout and not _numbered(config) and shape.layout is not layouts.USUAL[where]:
        heads = of_each(others, lambda file: _whole_lines(file.head(where)))
        for file, some in zip(others, heads, strict=True):
            refusal = layouts.contradiction(some, shape.layout, where, f"{where}: {file.path}")
            if refusal:
                raise refusal
    return shape


def keys_in(lines: Sequence[str]) -> list[str]:
    """The keys of the objects that the lines hold, in their order."""
    return list({key: None for line in lines for key in _object_in(line) or ()})


def _whole_lines(text: str) -> list[str]:
    """The first lines of a file's head that are not blank."""
    return [line for line in (line.strip("\ufeff \t\r\f") for line in text.split("\n")) if line][:_LINES]


def _kind_of_json(text: str, kind: str, names: Iterable[str], where: str) -> str:
    """Which kind of JSON a file is that begins with an object."""
    keys = keys_in(_whole_lines(text)[:1])
    if any(is_known(name, key) for name in names for key in keys):
        return "jsonl"
    if where in nested_json.COLUMNS and nested_json.is_nested(text):
        return "nested"
    return "json" if kind == "json" or _depth_of(text) > 1 else "jsonl"


def _of_json_lines(text: str, folders: Sequence[str], config: TableConfig, names: Sequence[str], place: str) -> Shape:
    some = _whole_lines(text)
    keys = keys_in(some)
    shape = named("jsonl", keys, folders, config, names, place)
    wanted = [shape.columns.get(name, name) for name in names]
    kept = [name for name in wanted if name in keys]
    other = _other_json(some[0] if some else "", bool(kept))
    if other:
        told = ", ".join(name for name in wanted if name != "dataset")
        raise InputError(
            f"{place} is {other}, not JSON lines; write one object a line, with the keys {told}, or TREC text"
        )
    if not keys:
        raise InputError(f"{place}: no line is a JSON object; give the format with format if it is another")
    refuse_other(keys, wanted, place)
    if not kept:
        shown = ", ".join(keys[:_SHOWN_KEYS]).encode("utf-8", "replace").decode()
        raise InputError(
            f"{place}: none of {', '.join(wanted)} is a key of the first lines; they have {shown}; map names in the "
            "configuration with columns"
        )
    documents = shape.columns.get("doc_id", "doc_id")
    rows = (row for row in map(_object_in, some) if row and row.get(documents) is not None)
    return dataclasses.replace(shape, has_lists=isinstance(next(rows, {}).get(documents), list))


def _other_json(first: str, has_keys: bool) -> str | None:
    """What a file that begins with this line is, in words; None if it may be JSON lines."""
    if re.match(r"\[\s*(\{|$)", first):
        return "one JSON array"
    if first.startswith("{") and first.endswith(("{", "[")):
        return "a JSON object of several lines"
    if has_keys:
        return None
    if re.match(r'\{\s*"([^"\\]|\\.)*"\s*:\s*[\[{]', first):
        return "one JSON object of many, like {query: {document: score}}"
    return "a JSON object of several lines" if first.startswith("{") and _object_in(first) is None else None


def _of_json(text: str, config: TableConfig, names: Iterable[str], place: str) -> Shape:
    numbered = _numbered(config)
    if config.columns and not numbered:
        raise ConfigurationError(
            f"{place}: columns are mapped, and one JSON object has no names; leave columns out, or give the number of "
            "each: 1 for the outermost key"
        )
    depth = _depth_of(text)
    most = 3 if "run" in names else 2
    if not 2 <= depth <= most:
        runs = ", or {run: {query: {document: score}}}" if most == 3 else ""
        raise InputError(
            f"{place} is one JSON object of depth {depth}, and {{query: {{document: number}}}}{runs} is read; write it "
            "so, or as JSON lines"
        )
    if numbered:
        layout = layouts.given(numbered, [" ".join("?" * (depth + 1))], place)
        if len(layout.positions) <= depth:
            raise ConfigurationError(
                f"{place}: {len(numbered)} columns are mapped of {depth + 1}; give the number of each"
            )
        return Shape("json", {}, layout, frozenset(layout.positions), depth=depth)
    has = {"query_id", "doc_id", "relevance" if "relevance" in names else "score", *(["run"] if depth == 3 else [])}
    return Shape("json", {}, has=frozenset(has & set(names)), depth=depth)


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
    numbered = _numbered(config)
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
    numbered = _numbered(config)
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


def _numbered(config: TableConfig) -> dict[str, str]:
    """The columns that are mapped, if they are mapped to numbers of fields."""
    numbers = all(field.isascii() and field.isdecimal() for field in config.columns.values())
    return dict(config.columns) if numbers else {}


def _of_layout(layout: Layout, folders: Sequence[str]) -> Shape:
    return Shape("trec", {}, layout, frozenset({*layout.positions, *folders}))


def _names(line: str, separator: str) -> list[str]:
    try:
        return header_names(line, separator)
    except ValueError:
        return []


def _depth_of(text: str) -> int:
    """How many objects are around the first value of a text that is no object: 2 for ``{"q": {"d": 1}}``.

    Empty objects tell nothing, so that the next value counts; 2 if there is no other. 0 for what is no object.
    """
    depth, is_value = 0, False
    for mark in _MARK.findall(text):
        if mark == "{":
            depth, is_value = depth + 1, False
        elif mark == "}":
            depth, is_value = depth - 1, False
        elif mark == ":":
            is_value = True
        elif mark == "[" or is_value or depth == 0:
            return depth
    return 2 if text.lstrip().startswith("{") else 0


def _object_in(line: str) -> dict[str, Any] | None:
    """The object that a line holds; None if it holds none."""
    try:
        row: Any = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return row if isinstance(row, dict) else None
