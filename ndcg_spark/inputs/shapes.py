"""How the text files of a table are to be read: by their format, the number of fields in a line,
and their names.
"""

import json
import re
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import product
from statistics import mode
from typing import Any

import pandas as pd

from ndcg_spark.config import TableConfig
from ndcg_spark.errors import InputError, within
from ndcg_spark.inputs.column_names import is_alias, resolve_columns
from ndcg_spark.inputs.delimited import Delimited, separator_of
from ndcg_spark.inputs.files import File, map_files
from ndcg_spark.inputs.json_text import JsonLines, JsonObject
from ndcg_spark.inputs.quotes import NUMBER, are_literal, header_of, values
from ndcg_spark.text import refuse_alike
from ndcg_spark.voices import Advice, Do, Either, GiveFormat, NumberColumns

_SEPARATORS = {"csv": ",", "tsv": "\t"}
_RUN = "query_id 2 doc_id rank score run"
#: By table and number of fields in a line without a header, the names of the fields: ours, or their
#: numbers.
_LAYOUTS = {
    "judgments": {
        4: "query_id 2 doc_id relevance",
        3: "query_id doc_id relevance",
        2: "query_id doc_id",
    },
    "results": {
        6: _RUN,
        5: "query_id 2 doc_id 4 5",
        4: "query_id doc_id 3 4",
        3: "query_id doc_id 3",
    },
    "exclude": {2: "query_id doc_id"},
}
#: From 100,000,000 on, a whole number is a time in seconds: March 1973.
_TIME = r"[1-9][0-9]{8,}"
#: A compressed file of fewer bytes may have nothing in it.
_EMPTY_GZIP = 200
_COMPRESSED = (
    "which are compressed by gzip; end the name of the file in .gz, or send the pipe through zcat"
)
_LINES, _LINE_END = 200, re.compile(r"\r\n?|\n")
_JSON_TEXT = re.compile(r'"(?:[^"\\]|\\.)*+"')


@dataclass(frozen=True)
class Shape:
    #: parquet, orc, delta, iceberg, csv, tsv, jsonl; trec: text without a header; json: one object
    #: of all queries.
    kind: str
    #: What the files call each of our columns; those that are absent have our own names.
    columns: Mapping[str, str]
    #: Our columns that the files or their folders have, as far as first lines or footers show.
    has: frozenset[str] = frozenset()
    #: The names of the fields in the files themselves, in their order; where they have none, ours,
    #: or their numbers.
    fields: tuple[str, ...] = ()
    #: What is between the names of the header; empty if there is none. And how many lines it has.
    header_separator: str = ""
    header_lines: int = 0
    #: Whether quotes in CSV and TSV belong to the values; see `quotes`.
    has_literal_quotes: bool = False
    #: Whether lines of JSON hold lists of documents.
    has_lists: bool = False
    #: Of `columns`, those that folders give and the files in them have; a file with another value
    #: is refused.
    in_both: Mapping[str, str] = field(default_factory=dict)

    def notes(self, config: TableConfig) -> list[str]:
        """What was recognised and not configured, in sentences for people."""
        layout = " ".join(self.fields)
        if self.kind in ("trec", "json") and layout not in (_RUN, _LAYOUTS["judgments"][4]):
            return [f"read as {layout}"]
        given = [
            (name, self.columns.get(name, name)) for name in sorted(self.has - {*config.columns})
        ]
        renamed = [f"{name} is {column}" for name, column in given if column != name]
        return [", ".join(renamed)] if renamed else []

    def reader(
        self, names: Sequence[str], labels: Collection[str] = ()
    ) -> Delimited | JsonLines | JsonObject:
        called = {ours: self.columns.get(ours, ours) for ours in names}
        present = {ours: theirs for ours, theirs in called.items() if theirs in self.fields}
        if self.kind == "json":
            return JsonObject(self.fields, labels)
        if self.kind == "jsonl":
            absent = [theirs for ours, theirs in called.items() if ours not in present]
            return JsonLines(present, absent, self.has_lists, labels)
        separator = self.header_separator or _SEPARATORS.get(self.kind, "")
        lines, is_literal = self.header_lines, self.has_literal_quotes
        return Delimited(self.fields, present, separator, lines, is_literal, labels)


@dataclass(frozen=True)
class TableContext:
    name: str
    #: The first file, for messages.
    origin: str
    config: TableConfig
    names: Sequence[str]
    folders: Sequence[str] = ()

    def shape(self, kind: str, fields: Sequence[str]) -> Shape:
        known = [*fields, *self.folders]
        with within(self.origin):
            columns = resolve_columns(self.config.columns, self.names, known)
        has = frozenset(name for name, column in columns.items() if column in known)
        return Shape(kind, columns, has, tuple(fields))

    def numbered(self, kind: str, names: Sequence[str]) -> Shape:
        """The shape of files whose fields have these names, unless the configuration says which of
        them, from 1, is.
        """
        mapped, ours = (
            self.config.columns,
            {field: name for name, field in self.config.columns.items()},
        )
        names = tuple(
            name if name not in mapped and f"{at}" not in ours else ours.get(f"{at}", f"{at}")
            for at, name in enumerate(names, 1)
        )
        columns = {**mapped, **{name: name for name in names if not name.isdecimal()}}
        return Shape(kind, columns, frozenset({*names, *self.folders}), names)

    def names_columns(self, fields: Sequence[str]) -> bool:
        """Whether two of our columns, at least, have one of their names among the fields."""
        named = [name for name in self.names if any(is_alias(name, field) for field in fields)]
        return len(named) > 1

    def has_named(self, fields: Sequence[str]) -> bool:
        return any(is_alias(*pair) for pair in product(self.names, fields))


def text_shape(files: Sequence[File], kind: str, table: TableContext) -> Shape:
    """The shape of text of the format `kind`, by the first lines of the first file; InputError if
    it is not clear.
    """
    first, *others = [file for file in files if not _is_empty(file)] or list(files[:1])
    text = first.head()
    lines = [line for line in (line.strip(" \t\f") for line in _LINE_END.split(text)) if line][
        :_LINES
    ]
    if kind in ("jsonl", "json"):
        return _json_shape(text, lines, table)
    mapped = table.config.columns.values()
    if kind in _SEPARATORS and not (mapped and all(map(str.isdecimal, mapped))):
        # TSV without a header is common.
        names = [name.strip('"') for name in lines[0].split("\t")] if lines else []
        if kind == "csv" or table.config.format or table.has_named(names):
            return _header_shape(kind, first, others, table)
        kind = "trec"
    return _layout_shape(lines, kind, table)


def _is_empty(file: File) -> bool:
    if file.path.endswith(".gz") and file.size < _EMPTY_GZIP:
        return not file.head().strip()
    return not file.size


def _header_shape(kind: str, first: File, others: Sequence[File], table: TableContext) -> Shape:
    texts = map_files([first, *others], lambda file: _LINE_END.sub("\n", file.head()))
    separator = separator_of(kind, texts[0].partition("\n")[0])
    header, *further = (header_of(text, separator) for text in texts)
    for file, other in zip(others, further, strict=True):
        if other.text != header.text:
            raise InputError(
                f"files with different headers, {first.path} has {header.text!r}, "
                f"{file.path} has {other.text!r}; write them alike"
            )
    if header.names is None:
        raise InputError(
            f"{table.origin}: the header {header.text[:200]!r} has a quote that does not end, or "
            "text after one that does; correct it"
        )
    with within(table.origin):
        refuse_alike(header.names)
    return replace(
        table.shape(kind, header.names),
        header_separator=separator,
        header_lines=header.lines,
        has_literal_quotes=header.is_literal,
    )


def _layout_shape(lines: Sequence[str], kind: str, table: TableContext) -> Shape:
    separator = _SEPARATORS.get(kind)
    layouts = _LAYOUTS[table.name]
    is_run = table.name == "results"
    rows = _rows(lines, separator, is_run)
    fields = mode(map(len, rows)) if rows else max(layouts)
    usual = pd.DataFrame(
        [row for row in rows if len(row) == fields], columns=range(fields), dtype=str
    )
    names = layouts.get(fields, "").split() or [f"{at}" for at in range(1, fields + 1)]
    if is_run and fields == 3 and (usual[2] == (usual.groupby(0).cumcount() + 1).astype(str)).all():
        names[2] = "rank"
    shape, is_mapped, problem = table.numbered(kind, names), table.config.columns, ""
    advice: Advice | None = None
    if separator and lines:
        shape = replace(shape, has_literal_quotes=are_literal(lines[0], lines[0], separator))
    if lines and lines[0].startswith("\x1f\ufffd"):
        problem = _COMPRESSED
    elif rows and table.names_columns(rows[0]):
        problem = "which are names of columns"
        remove = Do(words="for fields by number remove the line")
        named = GiveFormat(table.name, "tsv or csv", words="for files with names")
        advice = Either((named, remove), ", ")
    elif is_run and fields in layouts and not {"rank", "score"} & {*shape.has, *shape.columns}:
        problem = "one of which may be a rank or a score"
        choices = ("rank", max(3, fields - 1)), ("score", fields)
        swap = Do(words="if these are judgments, give them first, then the results")
        advice = Either((NumberColumns(table.name, choices, " or "), swap), "; ")
    elif not is_mapped and names[3:] == ["relevance"] and rows and _are_times(usual[3]):
        problem = "the last of which is a time"
        advice = NumberColumns(table.name, (("query_id", 1), ("doc_id", 2), ("relevance", 3)))
    elif not is_mapped and fields == 6 and table.name == "judgments":
        problem = "which look like results; give the judgments first, then the results"
    elif not is_mapped and (fields not in layouts or (lines and lines[0].startswith(("{", "[")))):
        problem = "which are not known"
        numbers = NumberColumns(table.name, (("query_id", 1), ("doc_id", 2)))
        advice = Either((numbers, GiveFormat(table.name, "csv, tsv, jsonl or json")))
    if problem:
        first = lines[0][:200] if lines else ""
        raise InputError(
            f"{table.origin}: {fields} fields in a line, e.g. {first!r}, {problem}", advice
        )
    return shape


def _rows(lines: Sequence[str], separator: str | None, is_run: bool) -> list[list[str]]:
    """The fields of the lines."""
    if separator:
        return [values(line, separator) or line.split(separator) for line in lines]
    rows = [re.split(r"[ \t\f]+", line) for line in lines]
    # More fields than a run has belong to its name.
    return [row[:6] for row in rows] if is_run else rows


def _are_times(grades: "pd.Series[str]") -> bool:
    """Whether all that are numbers are times. A line of names, or a broken one, proves nothing."""
    given = grades[grades.str.fullmatch(NUMBER)]
    return bool(len(given)) and bool(given.str.fullmatch(_TIME).all())


def _json_shape(text: str, lines: Sequence[str], table: TableContext) -> Shape:
    objects: list[dict[str, Any]] = []
    for line in lines:
        with suppress(ValueError, RecursionError, AttributeError):
            objects.append(dict(json.loads(line).items()))
    keys = [*dict.fromkeys(key for row in objects for key in row)]
    is_object = re.match(r"\s*\{[^{}]*\{", _JSON_TEXT.sub("", text))
    if table.config.format == "json" or (
        table.config.format is None and is_object and not table.has_named(keys)
    ):
        return table.numbered(
            "json", ["query_id", "doc_id", "relevance" if table.name == "judgments" else "score"]
        )
    shape = table.shape("jsonl", keys)
    if not shape.has - {*table.folders}:
        first = lines[0][:200] if lines else ""
        raise InputError(
            f"{table.origin} begins with {first!r}, not JSON lines with columns of {table.name}; "
            "write an object a line, or {query: {document: number}}"
        )
    documents = [row.get(shape.columns.get("doc_id", "doc_id")) for row in objects]
    has_lists = isinstance(next((value for value in documents if value is not None), None), list)
    return replace(
        shape,
        has_lists=has_lists,
        has=shape.has | ({"rank"} & {*table.names} if has_lists else set()),
    )
