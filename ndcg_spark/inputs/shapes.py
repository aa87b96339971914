"""Decides how to read the text files of a table: by their format, the number of fields in a line,
and the names of the fields.
"""

import json
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import islice, product
from statistics import mode
from typing import Any, NamedTuple

import pandas as pd
import pyarrow as pa

from ndcg_spark.config import DocumentsConfig, JudgmentsConfig, TableConfig
from ndcg_spark.errors import InputError, within
from ndcg_spark.inputs.column_names import is_alias, resolve_columns
from ndcg_spark.inputs.comments import first_lines
from ndcg_spark.inputs.delimited import Delimited, separator_of
from ndcg_spark.inputs.files import File, map_files
from ndcg_spark.inputs.headers import BLANKS, blank_fields, mapped_separator
from ndcg_spark.inputs.json_text import JsonLines, JsonObject, begins_list, objects_of_list
from ndcg_spark.inputs.objects import (
    Kind,
    Kinds,
    Objects,
    find_objects,
    kinds_of_json,
    kinds_of_schema,
    plain_names,
)
from ndcg_spark.inputs.quotes import NUMBER, are_literal, header_of, values
from ndcg_spark.inputs.reshape import ways_without_scores
from ndcg_spark.inputs.separators import UNREAD, has_blanks_within_tabs, unread_separator
from ndcg_spark.text import refuse_alike
from ndcg_spark.voices import Advice, Do, Either, GiveFormat, NumberColumns

_SEPARATORS = {"csv": ",", "tsv": "\t"}
_RUN = "query_id 2 doc_id rank score run"
#: The names of the fields in files without a header, by table and number of fields: our names, or
#: the numbers of the fields.
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
#: The fields that are often the ids, and our number columns.
_IDS: tuple[tuple[str, int], ...] = (("query_id", 1), ("doc_id", 2))
_NUMBERS = ("relevance", "rank", "score")
#: A column has numbers if more than this share of its fields are numbers.
_MOST = 0.5
#: A whole number from 100,000,000 on is a time in seconds: that is March 1973.
_TIME = r"[1-9][0-9]{8,}"
#: A compressed file with fewer bytes than this may be empty.
_EMPTY_GZIP = 200
_COMPRESSED = (
    "which are compressed with gzip; end the file name in .gz, or send the pipe through zcat"
)
_LINES, _LINE_END = 200, re.compile(r"\r\n?|\n")
#: A line of ranker features: a grade, a query, and numbered values, if there are any.
_FEATURES = re.compile(r"\S+\s+qid:\S+\s+(\d+:|#)")
_JSON_TEXT = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"')


@dataclass(frozen=True)
class Shape:
    #: parquet, orc, delta, iceberg, csv, tsv or jsonl; trec for text without a header; json for one
    #: object with all queries.
    kind: str
    #: The files' name for each of our columns; a column that is absent here has our own name.
    columns: Mapping[str, str]
    #: Our columns that the files or their folders have, as far as first lines or footers show.
    has: frozenset[str] = frozenset()
    #: The names of the fields in the files themselves, in order. Fields without a name have our
    #: name, or their number.
    fields: tuple[str, ...] = ()
    #: The separator between the names of the header, empty if there is no header; and the number of
    #: header lines.
    header_separator: str = ""
    header_lines: int = 0
    #: Whether quotes in CSV and TSV belong to the values; see `quotes`.
    has_literal_quotes: bool = False
    #: Whether JSON lines have lists of documents.
    has_lists: bool = False
    #: Which of our columns are within objects of a row.
    objects: Objects | None = None
    #: The separator between the ids of a cell, by its name in `reshape`; None if a cell has one id.
    separator_of_ids: str | None = None
    #: Whether the order of the rows is the rank, and our columns that identify a list.
    is_ordered: bool = False
    list_key: tuple[str, ...] = ("dataset", "run", "query_id")
    #: The part of `columns` that both folders and the files in them have. A file with a different
    #: value is refused.
    in_both: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_reshaped(self) -> bool:
        """Whether files with types become rows of documents before any engine reads them."""
        has_deep_objects = self.objects is not None and not self.objects.is_plain
        return has_deep_objects or self.separator_of_ids is not None or self.is_ordered

    @property
    def has_places(self) -> bool:
        """Whether positions, in a cell or among the rows, are the ranks."""
        return self.separator_of_ids is not None or self.is_ordered

    def notes(self, config: TableConfig) -> list[str]:
        """Return sentences for people about what was recognised without being configured."""
        layout = " ".join(self.fields)
        is_by_position = self.kind in ("trec", "json") and not self.header_lines
        if is_by_position and layout not in (_RUN, _LAYOUTS["judgments"][4]):
            return [f"read as {layout}"]
        given = [
            (name, self.columns.get(name, name)) for name in sorted(self.has - {*config.columns})
        ]
        within = {} if self.objects is None else self.objects.documents
        beside = [
            f"{name} is {column}" for name, column in given if column != name and name not in within
        ]
        documents = [f"{name} is {column}" for name, column in given if name in within]
        return [", ".join(renamed) for renamed in (beside, documents) if renamed]

    def reader(
        self, names: Sequence[str], labels: Collection[str] = ()
    ) -> Delimited | JsonLines | JsonObject:
        called = {ours: self.columns.get(ours, ours) for ours in names}
        present = {ours: theirs for ours, theirs in called.items() if theirs in self.fields}
        if self.kind == "json":
            return JsonObject(self.fields, labels)
        if self.kind == "jsonl":
            absent = [theirs for ours, theirs in called.items() if ours not in present]
            paths = {} if self.objects is None else self.objects.paths
            at_top = {ours: theirs for ours, theirs in present.items() if ours not in paths}
            return JsonLines(at_top, absent, self.has_lists, self.objects, labels)
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
    #: Whether the order of the rows is the rank.
    is_ordered: bool = False

    def typed_shape(self, kind: str, schema: pa.Schema) -> Shape:
        """Return the shape of files whose columns have types."""
        kinds = kinds_of_schema(schema)
        with within(self.origin):
            found = find_objects(kinds, self.names, self.config.columns)
        if found is None:
            return self.shape(kind, schema.names)
        return self.shape_with_objects(kind, plain_names(kinds), found)

    def shape(self, kind: str, fields: Sequence[str]) -> Shape:
        known = [*fields, *self.folders]
        with within(self.origin):
            columns = resolve_columns(self.config.columns, self.names, known)
            self._refuse_lost(columns, known)
        has = frozenset(name for name, column in columns.items() if column in known)
        return Shape(kind, columns, has, tuple(fields))

    def _refuse_lost(self, columns: Mapping[str, str], known: Sequence[str]) -> None:
        """Raise InputError if the user names a column that is absent."""
        for ours, theirs in self.config.columns.items():
            if columns[ours] in known:
                continue
            to_do = "correct the name"
            if theirs.isdecimal():
                to_do = "give its name, because numbers work only if every column has one"
            what = f"no column {theirs!r} for {ours}; it has {', '.join(known)}"
            raise InputError(f"{what}; {to_do}")

    def shape_with_objects(self, kind: str, plain: Sequence[str], objects: Objects) -> Shape:
        """Return the shape of rows with objects and with these `plain` columns."""
        known = [*plain, *self.folders]
        names = [name for name in self.names if name not in objects.paths]
        mapped = {ours: name for ours, name in self.config.columns.items() if ours in names}
        with within(self.origin):
            columns = resolve_columns(mapped, names, known)
        columns.update(objects.paths)
        has = {name for name, column in columns.items() if column in known} | {*objects.paths}
        fields = (*plain, *objects.paths.values())
        return Shape(kind, columns, frozenset(has), fields, objects=objects)

    def numbered(self, kind: str, names: Sequence[str]) -> Shape:
        """Return the shape of files whose fields have these names.

        The configuration may assign our columns to fields by number, from 1, instead.
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
        given = {ours for ours, theirs in mapped.items() if theirs in self.folders}
        return Shape(kind, columns, frozenset({*names, *self.folders, *given}), names)

    def names_columns(self, fields: Sequence[str]) -> bool:
        """Whether the fields include names of at least two of our columns."""
        named = [name for name in self.names if any(is_alias(name, field) for field in fields)]
        return len(named) > 1

    @property
    def mapped_names(self) -> dict[str, str]:
        """The user's names for columns of the files, by our names, without field numbers."""
        return {
            ours: theirs
            for ours, theirs in self.config.columns.items()
            if not theirs.isdecimal() and theirs not in self.folders
        }

    @property
    def has_several_ids(self) -> bool:
        """Whether the user says that a cell has several ids."""
        return isinstance(self.config, DocumentsConfig) and self.config.split_ids is not None

    @property
    def has_labels(self) -> bool:
        """Whether the user gives grades to labels."""
        return isinstance(self.config, JudgmentsConfig) and self.config.grades is not None

    def has_named(self, fields: Sequence[str]) -> bool:
        return any(is_alias(*pair) for pair in product(self.names, fields))


def text_shape(files: Sequence[File], kind: str, table: TableContext) -> Shape:
    """Return the shape of text in the format `kind`, from the first lines of the first file.

    Raise InputError if the shape is not clear.
    """
    first, *others = [file for file in files if not _is_empty(file)] or list(files[:1])
    text = first.head()
    if kind in ("jsonl", "json"):
        return _json_shape(text, _filled(text), table)
    lines = _filled(text)
    # CSV has no comments.
    rows = lines if kind == "csv" else first_lines(lines, first.path)
    separator = _header_separator(text, lines, rows, kind, table)
    if separator == BLANKS:
        return _blank_header_shape(first, others, table)
    if separator:
        return _header_shape(separator, kind, [first, *others], table)
    mapped = table.config.columns.values()
    if kind in _SEPARATORS and not (mapped and all(map(str.isdecimal, mapped))):
        kind = "trec"
    _refuse_lost_names(lines, table)
    return _layout_shape(rows if kind == "trec" else lines, kind, table)


def _filled(text: str) -> list[str]:
    lines = (line.strip(" \t\f") for line in _LINE_END.split(text))
    return [line for line in lines if line][:_LINES]


def _header_separator(
    text: str, lines: Sequence[str], rows: Sequence[str], kind: str, table: TableContext
) -> str | None:
    """Return what separates the names of the header, or None if there is no header."""
    first = lines[0] if lines else ""
    names = table.mapped_names.values()
    if names:
        own = separator_of(kind, first) if kind in _SEPARATORS else ""
        row = rows[0] if rows else ""
        separator = mapped_separator(_LINE_END.sub("\n", text), row, names, own)
        if separator:
            return separator
    mapped = table.config.columns.values()
    if kind not in _SEPARATORS or (mapped and all(map(str.isdecimal, mapped))):
        return None
    # TSV without a header is common.
    fields = [name.strip('"') for name in first.split("\t")]
    if kind == "csv" or table.config.format or table.has_named(fields):
        return separator_of(kind, first)
    return None


def _is_empty(file: File) -> bool:
    if file.path.endswith(".gz") and file.size < _EMPTY_GZIP:
        return not file.head().strip()
    return not file.size


def _header_shape(separator: str, kind: str, files: Sequence[File], table: TableContext) -> Shape:
    texts = map_files(files, lambda file: _LINE_END.sub("\n", file.head()))
    headers = [header_of(text, separator) for text in texts]
    _refuse_other_headers(files, [header.text for header in headers])
    header = headers[0]
    if header.names is None:
        raise InputError(
            f"{table.origin}: the header {header.text[:200]!r} has an unclosed quote, or "
            "text after a closing quote; correct it"
        )
    _refuse_unread_separator(header.text, table)
    with within(table.origin):
        refuse_alike(header.names)
    if kind == "trec":
        kind = "tsv" if separator == "\t" else "csv"
    return replace(
        table.shape(kind, header.names),
        header_separator=separator,
        header_lines=header.lines,
        has_literal_quotes=header.is_literal,
    )


def _refuse_unread_separator(header: str, table: TableContext) -> None:
    for separator in UNREAD:
        if table.names_columns(header.split(separator)):
            what = f"{table.origin}: the header {header[:200]!r} has {separator} between its names"
            raise InputError(f"{what}; use tabs, commas or semicolons instead")


def _blank_header_shape(first: File, others: Sequence[File], table: TableContext) -> Shape:
    """Return the shape of files with blanks between their fields, and names on the first line."""
    files = [first, *others]
    rows = map_files(files, lambda file: first_lines(_filled(file.head()), file.path))
    # A file may contain only comments.
    known = [file for file, lines in zip(files, rows, strict=True) if lines]
    headers = [" ".join(blank_fields(lines[0])) for lines in rows if lines]
    _refuse_other_headers(known, headers)
    names = headers[0].split(" ")
    with within(table.origin):
        refuse_alike(names)
    return replace(table.shape("trec", names), header_lines=1)


def _refuse_other_headers(files: Sequence[File], headers: Sequence[str]) -> None:
    for file, header in zip(files, headers, strict=True):
        if header != headers[0]:
            raise InputError(
                f"files with different headers, {files[0].path} has {headers[0]!r}, "
                f"{file.path} has {header!r}; use the same header"
            )


def _refuse_lost_names(lines: Sequence[str], table: TableContext) -> None:
    """Raise InputError if the user names columns but the first line has none of these names."""
    for ours, theirs in table.mapped_names.items():
        first = lines[0][:200] if lines else ""
        words = "if it names no columns, number all of them:"
        numbers = NumberColumns(table.name, _IDS, words=words)
        raise InputError(
            f"{table.origin}: no column {theirs!r} for {ours} in the first line {first!r}",
            Either((Do(words="correct the name"), numbers), "; "),
        )


def _layout_shape(lines: Sequence[str], kind: str, table: TableContext) -> Shape:
    separator = _SEPARATORS.get(kind)
    layouts = _layouts(table)
    rows = _rows(lines, separator, table.name == "results")
    fields = mode(map(len, rows)) if rows else max(layouts)
    usual = pd.DataFrame(
        [row for row in rows if len(row) == fields], columns=range(fields), dtype=str
    )
    names = layouts.get(fields, "").split() or [f"{at}" for at in range(1, fields + 1)]
    if table.name == "results" and fields == 3 and _are_numbered(usual):
        names[2] = "rank"
    shape = table.numbered(kind, names)
    if separator and lines:
        shape = replace(shape, has_literal_quotes=are_literal(lines[0], lines[0], separator))
    problem = _problem_of_text(lines, rows, table)
    if problem is None and kind == "trec":
        problem = _problem_of_separator(lines, rows, usual, shape, table)
    if problem is None and table.name == "results" and not table.is_ordered:
        problem = _problem_of_order(shape, usual, table)
    if problem is None and not table.config.columns:
        problem = _problem_of_layout(lines, names, usual, table)
    if problem is not None:
        parted = zip(lines, rows, strict=True)
        example = next((line for line, row in parted if len(row) == fields), "")
        raise InputError(
            f"{table.origin}: {fields} fields in a line, e.g. {example[:200]!r}, {problem.what}",
            problem.advice,
        )
    return shape


def _layouts(table: TableContext) -> Mapping[int, str]:
    layouts = _LAYOUTS[table.name]
    # Two fields are enough if positions are the ranks.
    has_places = table.is_ordered or table.has_several_ids
    return {**layouts, 2: "query_id doc_id"} if has_places else layouts


class _Problem(NamedTuple):
    """Why lines without a header cannot be read."""

    what: str
    advice: Advice | None = None


def _problem_of_text(
    lines: Sequence[str], rows: Sequence[Sequence[str]], table: TableContext
) -> _Problem | None:
    """Return the problem of text in an unsupported form, whatever columns the user names."""
    first = lines[0] if lines else ""
    if first.startswith("\x1f\ufffd"):
        return _Problem(_COMPRESSED)
    if _FEATURES.match(first):
        return _Problem(
            "which are a ranker's features (LETOR, SVMlight)",
            Do(
                words="write the grade, the number after qid: and the document of each line as "
                "CSV with the columns query_id, doc_id and relevance, and the ranker's scores with "
                "query_id, doc_id and score"
            ),
        )
    if rows and table.names_columns(rows[0]):
        remove = Do(words="to name fields by number, remove the line")
        named = GiveFormat(table.name, "tsv or csv", words="for files with names")
        return _Problem("which are column names", Either((named, remove), ", "))
    return None


def _problem_of_separator(
    lines: Sequence[str],
    rows: Sequence[Sequence[str]],
    usual: pd.DataFrame,
    shape: Shape,
    table: TableContext,
) -> _Problem | None:
    """Return the problem of lines that blanks do not split into their fields."""
    separator = unread_separator(lines, rows)
    if separator:
        in_its_place = Do(words="use tabs instead, without blanks, or write CSV")
        return _Problem(f"which are separated by {separator}", in_its_place)
    if _has_numbers(usual, shape, table):
        return None
    if not has_blanks_within_tabs(lines):
        return None
    fields = _IDS
    if table.name == "judgments":
        fields = (*_IDS, ("relevance", 3))
    words = "end its name in .tsv and"
    if table.origin.endswith((".tsv", ".tsv.gz")):
        words = ""
    numbers = NumberColumns(table.name, fields, words=words)
    return _Problem("which are separated by tabs and contain blanks", numbers)


def _has_numbers(usual: pd.DataFrame, shape: Shape, table: TableContext) -> bool:
    """Whether the fields are numbers where a layout has numbers; false without a layout."""
    has_some = table.has_labels
    for at, name in enumerate(shape.fields):
        # The second TREC field is always one word or a number, not part of a text.
        is_text = name == "2" and usual[at].nunique() > 1
        is_ours = name in _NUMBERS and not table.has_labels
        # A line may be broken.
        if (is_text or is_ours) and usual[at].str.fullmatch(NUMBER).mean() <= _MOST:
            return False
        has_some = has_some or is_ours
    return has_some


def _problem_of_order(shape: Shape, usual: pd.DataFrame, table: TableContext) -> _Problem | None:
    """Return the problem of results without a score or a rank if a field may be one of them."""
    fields = len(usual.columns)
    if {"rank", "score"} & {*shape.has, *shape.columns} or table.has_several_ids:
        return None
    if fields not in _layouts(table) and (fields != 2 or table.config.columns):
        return None
    are_numbers = [usual[at].str.fullmatch(NUMBER).any() for at in range(2, fields)]
    if not any(are_numbers):
        return _problem_without_numbers(shape, usual, table)
    choices = ("rank", max(3, fields - 1)), ("score", fields)
    swap = Do(words="if these are judgments, give them first, then the results")
    advice = Either((NumberColumns(table.name, choices, " or "), swap), "; ")
    return _Problem("one of which may be a rank or a score", advice)


def _problem_without_numbers(
    shape: Shape, usual: pd.DataFrame, table: TableContext
) -> _Problem | None:
    at = 1
    if "doc_id" in shape.fields:
        at = shape.fields.index("doc_id")
    documents = pa.chunked_array([usual[at].tolist()], pa.string())
    ways = ways_without_scores(documents)
    if table.config.columns:
        return _Problem("without a rank or a score", ways)
    numbers = NumberColumns(table.name, _IDS)
    named = GiveFormat(table.name, "csv, tsv, jsonl or json")
    return _Problem("without a rank or a score", Either((ways, numbers, named)))


def _problem_of_layout(
    lines: Sequence[str], names: Sequence[str], usual: pd.DataFrame, table: TableContext
) -> _Problem | None:
    """Return the problem of lines whose fields the user does not name."""
    first = lines[0] if lines else ""
    fields = len(names)
    if names[3:] == ["relevance"] and len(usual) and _are_times(usual[3]):
        numbered = NumberColumns(table.name, (*_IDS, ("relevance", 3)))
        return _Problem("the last of which is a time", numbered)
    if fields == 6 and table.name == "judgments":
        return _Problem("which look like results; give the judgments first, then the results")
    if fields not in _layouts(table) or first.startswith(("{", "[")):
        numbered = NumberColumns(table.name, _likely_fields(usual, table))
        formats = GiveFormat(table.name, "csv, tsv, jsonl or json")
        return _Problem("which is not a known layout", Either((numbered, formats)))
    return None


def _likely_fields(usual: pd.DataFrame, table: TableContext) -> tuple[tuple[str, int], ...]:
    """Return the fields, by number, that may be our columns; for judgments, including a grade."""
    fields = len(usual.columns)
    if table.name != "judgments" or fields < 3:
        return _IDS
    document = 2
    # The second TREC field is often the same in all lines.
    if fields > 3 and usual[1].nunique() == 1:
        document = 3
    if not usual[document].str.fullmatch(NUMBER).all():
        return _IDS
    return ("query_id", 1), ("doc_id", document), ("relevance", document + 1)


def _are_numbered(usual: pd.DataFrame) -> bool:
    """Whether the third field numbers the lines of each query: 1, 2, 3."""
    counted = usual.groupby(0).cumcount() + 1
    return bool((usual[2] == counted.astype(str)).all())


def _rows(lines: Sequence[str], separator: str | None, is_run: bool) -> list[list[str]]:
    """Return the fields of the lines."""
    if separator:
        return [values(line, separator) or line.split(separator) for line in lines]
    rows = [blank_fields(line) for line in lines]
    # Extra fields of a run belong to its name.
    return [row[:6] for row in rows] if is_run else rows


def _are_times(grades: "pd.Series[str]") -> bool:
    """Whether all numbers are times. Other values, as in a header or a broken line, are ignored."""
    given = grades[grades.str.fullmatch(NUMBER)]
    return bool(len(given)) and bool(given.str.fullmatch(_TIME).all())


def _json_shape(text: str, lines: Sequence[str], table: TableContext) -> Shape:
    is_list = begins_list(text)
    objects = _first_objects(_first_of_list(text) if is_list else lines)
    kinds = kinds_of_json(objects)
    with within(table.origin):
        found = find_objects(kinds, table.names, table.config.columns)
    is_object = re.match(r"\s*\{[^{}]*\{", _JSON_TEXT.sub("", text))
    has_documents = found is not None and found.column
    # If the first of several lines is a whole object, the file is not one object.
    is_of_some_lines = len(lines) > 1 and bool(_first_objects(lines[:1]))
    is_of_lines = is_list or has_documents or is_of_some_lines or table.has_named([*kinds])
    is_asked = table.config.format == "json" and not is_list
    if is_asked or (table.config.format is None and is_object and not is_of_lines):
        return table.numbered(
            "json", ["query_id", "doc_id", "relevance" if table.name == "judgments" else "score"]
        )
    shape = _with_objects(kinds, found, table)
    if not shape.has - {*table.folders}:
        first = lines[0][:200] if lines else ""
        raise InputError(
            f"{table.origin} begins with {first!r}, not JSON lines with columns of {table.name}; "
            "write one object per line, or {query: {document: number}}"
        )
    documents = kinds.get(shape.columns.get("doc_id", "doc_id"))
    has_lists = bool(has_documents) or documents is Kind.LIST
    return replace(
        shape,
        has_lists=has_lists,
        has=shape.has | ({"rank"} & {*table.names} if has_lists else set()),
    )


def _first_of_list(text: str) -> list[str]:
    """Return the first objects of a list, whose text may end anywhere."""
    first: list[str] = []
    with suppress(InputError):
        first.extend(islice(objects_of_list(text, ""), _LINES))
    return first


def _first_objects(lines: Iterable[str]) -> list[dict[str, Any]]:
    objects: list[dict[str, Any]] = []
    for line in lines:
        with suppress(ValueError, RecursionError, AttributeError):
            objects.append(dict(json.loads(line).items()))
    return objects


def _with_objects(kinds: Kinds, found: Objects | None, table: TableContext) -> Shape:
    """Return the shape of JSON lines; columns within objects are named by their paths."""
    if found is None:
        return table.shape("jsonl", [*kinds])
    return table.shape_with_objects("jsonl", plain_names(kinds), found)
