"""Decides how to read a table's text files: by their format, the number of fields in a line,
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
from ndcg_spark.inputs.quotes import are_literal, excel_separator, header_of, values
from ndcg_spark.inputs.reshape import ways_without_scores
from ndcg_spark.inputs.separators import UNREAD, has_blanks_within_tabs, unread_separator
from ndcg_spark.text import PLAIN_NUMBER, refuse_alike
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
#: The fields that are often the ids.
_IDS: tuple[tuple[str, int], ...] = (("query_id", 1), ("doc_id", 2))
#: Our columns of numbers.
_NUMBERS = ("relevance", "rank", "score")
#: A column has numbers if more than this share of its fields are numbers.
_MOST = 0.5
#: A whole number from 100,000,000 on is a time in seconds: that is March 1973.
_TIME = r"[1-9][0-9]{8,}"
#: A compressed file with fewer bytes than this may be empty.
_EMPTY_GZIP = 200
#: How a decoded gzip file begins.
_GZIP_START = "\x1f\ufffd"
#: The end of the message about lines of a gzip file.
_COMPRESSED = (
    "which are compressed with gzip; end the file name in .gz, or send the pipe through zcat"
)
#: The number of first lines that show a file's shape.
_LINES = 200
_LINE_END = re.compile(r"\r\n?|\n")
#: A line of ranker features: a grade, a query, and numbered values, if there are any.
_FEATURES = re.compile(r"\S+\s+qid:\S+\s+(\d+:|#)")
_JSON_TEXT = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"')
#: The start of an object that contains an object, once JSON_TEXT is removed.
_OBJECT_IN_OBJECT = re.compile(r"\s*\{[^{}]*\{")


@dataclass(frozen=True)
class Shape:
    """How to read the files of a table, and the names that they have for our columns."""

    #: parquet, orc, delta, iceberg, csv, tsv or jsonl; trec for text without a header; json for one
    #: object with all queries.
    kind: str
    #: The name of each of our columns in the files, such as `{"doc_id": "docno"}`; a column that is
    #: absent here has our own name.
    columns: Mapping[str, str]
    #: Our columns that the files or folders have, according to the first lines or the footers.
    has: frozenset[str] = frozenset()
    #: The names of the fields in the files themselves, in order. Fields without a name have our
    #: name, or their number.
    fields: tuple[str, ...] = ()
    #: The separator between the names in the header; empty if there is no header or if blanks
    #: separate the names.
    header_separator: str = ""
    header_lines: int = 0
    #: Whether quotes in CSV and TSV belong to the values; see `quotes`.
    has_literal_quotes: bool = False
    #: Whether JSON lines have lists of documents.
    has_lists: bool = False
    #: Which of our columns are within objects of a row.
    objects: Objects | None = None
    #: The separator between a cell's ids, by its name in `reshape`; None if a cell has one id.
    separator_of_ids: str | None = None
    #: Whether the order of the rows is the rank.
    is_ordered: bool = False
    #: Our columns that identify a ranked list.
    list_key: tuple[str, ...] = ("dataset", "run", "query_id")
    #: The part of `columns` that exists both as folders and in the files below them. A file whose
    #: value differs from its folder's is refused.
    in_both: Mapping[str, str] = field(default_factory=dict)

    @property
    def paths(self) -> Mapping[str, str]:
        """The paths of our columns within objects, such as `{"doc_id": "hits.docid"}`."""
        return {} if self.objects is None else self.objects.paths

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
        """Return what was recognised without being configured, such as `["doc_id is docno"]`.

        The columns of rows share one note, and so do the columns of documents within a row.
        """
        has_no_names = self.kind in ("trec", "json") and not self.header_lines
        layout = " ".join(self.fields)
        if has_no_names and layout not in (_RUN, _LAYOUTS["judgments"][4]):
            return [f"read as {layout}"]
        in_documents: Collection[str] = ()
        if self.objects is not None:
            in_documents = self.objects.documents
        row_columns = []
        document_columns = []
        for name in sorted(self.has.difference(config.columns)):
            column = self.columns.get(name, name)
            if name in in_documents:
                document_columns.append(f"{name} is {column}")
            elif column != name:
                row_columns.append(f"{name} is {column}")
        return [", ".join(columns) for columns in (row_columns, document_columns) if columns]

    def reader(
        self, names: Sequence[str], labels: Collection[str] = ()
    ) -> Delimited | JsonLines | JsonObject:
        """Return the reader of text files that returns our columns `names`.

        The `labels` stand for grades.
        """
        if self.kind == "json":
            return JsonObject(self.fields, labels)
        present = {}
        absent = []
        for ours in names:
            theirs = self.columns.get(ours, ours)
            if theirs in self.fields:
                present[ours] = theirs
            else:
                absent.append(theirs)
        if self.kind == "jsonl":
            at_top = {ours: theirs for ours, theirs in present.items() if ours not in self.paths}
            return JsonLines(at_top, absent, self.has_lists, self.objects, labels)
        return Delimited(
            self.fields,
            present,
            separator=self.header_separator or _SEPARATORS.get(self.kind, ""),
            header_lines=self.header_lines,
            has_literal_quotes=self.has_literal_quotes,
            labels=labels,
        )


@dataclass(frozen=True)
class TableContext:
    """What is known about a table before its shape is known."""

    #: judgments, results or exclude.
    name: str
    #: The first file, for messages.
    origin: str
    config: TableConfig
    #: Our columns that are wanted.
    names: Sequence[str]
    #: The columns that folders add.
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
        """Return the shape of files with these columns."""
        known = list(fields) + list(self.folders)
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
        known = list(plain) + list(self.folders)
        paths = objects.paths
        names = [name for name in self.names if name not in paths]
        mapped = {ours: name for ours, name in self.config.columns.items() if ours in names}
        with within(self.origin):
            columns = resolve_columns(mapped, names, known)
        has = {name for name, column in columns.items() if column in known}
        columns.update(paths)
        has.update(paths)
        fields = tuple(plain) + tuple(paths.values())
        return Shape(kind, columns, frozenset(has), fields, objects=objects)

    def numbered(self, kind: str, names: Sequence[str]) -> Shape:
        """Return the shape of files whose fields usually have these names.

        The user may say that one of our columns is in a different field, by its number from 1, or
        in a folder, by the folder's name.
        """
        by_field = {theirs: ours for ours, theirs in self.config.columns.items()}
        fields = []
        for number, name in enumerate(names, 1):
            field_number = str(number)
            if field_number in by_field:
                fields.append(by_field[field_number])
            elif name in self.config.columns:
                # The user says that this column is in a different field.
                fields.append(field_number)
            else:
                fields.append(name)
        columns = dict(self.config.columns)
        for name in fields:
            if not name.isdecimal():
                columns[name] = name
        has = set(fields).union(self.folders)
        for ours, theirs in self.config.columns.items():
            if theirs in self.folders:
                has.add(ours)
        return Shape(kind, columns, frozenset(has), tuple(fields))

    def has_one_name(self, fields: Sequence[str]) -> bool:
        """Whether at least one of the fields is a name of one of our columns."""
        return any(is_alias(name, field) for name, field in product(self.names, fields))

    def has_two_names(self, fields: Sequence[str]) -> bool:
        """Whether the fields include names of at least two of our columns."""
        found = {name for name, field in product(self.names, fields) if is_alias(name, field)}
        return len(found) > 1

    @property
    def has_only_numbers(self) -> bool:
        """Whether the user names columns, and all of them by field number."""
        mapped = self.config.columns.values()
        return bool(mapped) and all(map(str.isdecimal, mapped))

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


def text_shape(files: Sequence[File], kind: str, table: TableContext) -> Shape:
    """Return the shape of text in the format `kind`, from the first lines of the first file.

    Raise InputError if the shape is not clear.
    """
    # If all files are empty, the error is about the first one.
    filled = [file for file in files if not _is_empty(file)] or list(files[:1])
    text = filled[0].head()
    lines = _filled_lines(text)
    if kind in ("jsonl", "json"):
        return _json_shape(text, lines, table)
    # CSV has no comments.
    rows = lines if kind == "csv" else first_lines(lines, filled[0].path)
    separator = _header_separator(text, lines, rows, kind, table)
    if separator == BLANKS:
        return _blank_header_shape(filled, table)
    if separator:
        return _header_shape(separator, kind, filled, table)
    if kind in _SEPARATORS and not table.has_only_numbers:
        kind = "trec"
    _refuse_lost_names(lines, table)
    return _layout_shape(rows if kind == "trec" else lines, kind, table)


def _filled_lines(text: str) -> list[str]:
    """Return the first lines of the text that are not blank, without outer blanks."""
    lines = (line.strip(" \t\f") for line in _LINE_END.split(text))
    return [line for line in lines if line][:_LINES]


def _header_separator(
    text: str, lines: Sequence[str], rows: Sequence[str], kind: str, table: TableContext
) -> str | None:
    """Return the separator of the names in the header, or None if there is no header."""
    first = _first_line(lines)
    text = _LINE_END.sub("\n", text)
    own = ""
    above = ""
    if kind in _SEPARATORS:
        above = excel_separator(text)
        own = above or separator_of(kind, first)
    names = table.mapped_names.values()
    if names:
        separator = mapped_separator(text, _first_line(rows), names, own)
        if separator:
            return separator
    if own and _is_header(first, kind, table, is_below_separator=bool(above)):
        return own
    return None


def _is_header(first: str, kind: str, table: TableContext, *, is_below_separator: bool) -> bool:
    """Whether the first line of CSV or TSV has the names of the fields.

    It always has them if Excel names the separator above it.
    """
    if table.has_only_numbers:
        return False
    if kind == "csv" or table.config.format or is_below_separator:
        return True
    # TSV without a header is common.
    fields = [name.strip('"') for name in first.split("\t")]
    return table.has_one_name(fields)


def _first_line(lines: Sequence[str]) -> str:
    """Return the first line, or "" if there are no lines."""
    return next(iter(lines), "")


def _is_empty(file: File) -> bool:
    """Whether a file has no text. Small compressed files are opened to see that."""
    if file.path.endswith(".gz") and file.size < _EMPTY_GZIP:
        return not file.head().strip()
    return not file.size


def _header_shape(separator: str, kind: str, files: Sequence[File], table: TableContext) -> Shape:
    """Return the shape of files with names on the first line and this separator between them."""
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
    """Raise InputError if an unsupported separator splits the header into our names."""
    for separator in UNREAD:
        if table.has_two_names(header.split(separator)):
            what = f"{table.origin}: the header {header[:200]!r} has {separator} between its names"
            raise InputError(f"{what}; use tabs, commas or semicolons instead")


def _blank_header_shape(files: Sequence[File], table: TableContext) -> Shape:
    """Return the shape of files with names on the first line and blanks between their fields."""
    rows = map_files(files, lambda file: first_lines(_filled_lines(file.head()), file.path))
    # A file may contain only comments.
    known = [file for file, lines in zip(files, rows, strict=True) if lines]
    headers = [" ".join(blank_fields(lines[0])) for lines in rows if lines]
    _refuse_other_headers(known, headers)
    names = headers[0].split(" ")
    with within(table.origin):
        refuse_alike(names)
    return replace(table.shape("trec", names), header_lines=1)


def _refuse_other_headers(files: Sequence[File], headers: Sequence[str]) -> None:
    """Raise InputError if a file has a different header from the first file."""
    for file, header in zip(files, headers, strict=True):
        if header != headers[0]:
            raise InputError(
                f"files with different headers, {files[0].path} has {headers[0]!r}, "
                f"{file.path} has {header!r}; use the same header"
            )


def _refuse_lost_names(lines: Sequence[str], table: TableContext) -> None:
    """Raise InputError if the user names columns but the first line has none of these names."""
    for ours, theirs in table.mapped_names.items():
        first = _first_line(lines)[:200]
        words = "if it names no columns, number all of them:"
        numbers = NumberColumns(table.name, _IDS, words=words)
        raise InputError(
            f"{table.origin}: no column {theirs!r} for {ours} in the first line {first!r}",
            Either((Do(words="correct the name"), numbers), "; "),
        )


@dataclass(frozen=True)
class _Sample:
    """The first lines of a table without a header."""

    table: TableContext
    lines: Sequence[str]
    #: Each line's fields.
    rows: Sequence[Sequence[str]]
    #: The number of fields that most lines have.
    fields: int
    #: The rows with that many fields; the columns are numbered from 0.
    usual: pd.DataFrame

    @property
    def first_line(self) -> str:
        return _first_line(self.lines)

    @property
    def example(self) -> str:
        """The first line with the usual number of fields."""
        for line, row in zip(self.lines, self.rows, strict=True):
            if len(row) == self.fields:
                return line
        return ""


def _sample(lines: Sequence[str], separator: str | None, table: TableContext) -> _Sample:
    """Return a table's first lines, split into their fields."""
    rows = _rows(lines, separator, table.name == "results")
    fields = mode(map(len, rows)) if rows else max(_layouts(table))
    whole = [row for row in rows if len(row) == fields]
    usual = pd.DataFrame(whole, columns=range(fields), dtype=str)
    return _Sample(table, lines, rows, fields, usual)


def _layout_shape(lines: Sequence[str], kind: str, table: TableContext) -> Shape:
    """Return the shape of files without a header, whose number of fields shows their layout.

    Raise InputError if it does not.
    """
    separator = _SEPARATORS.get(kind)
    sample = _sample(lines, separator, table)
    names = _layouts(table).get(sample.fields, "").split()
    if not names:
        names = [str(number) for number in range(1, sample.fields + 1)]
    if table.name == "results" and sample.fields == 3 and _has_ranks(sample.usual):
        names[2] = "rank"
    shape = table.numbered(kind, names)
    problem = _problem(sample, shape, names)
    if problem is not None:
        lead = f"{table.origin}: {sample.fields} fields in a line, e.g. {sample.example[:200]!r}"
        raise InputError(f"{lead}, {problem.what}", problem.advice)
    if separator and lines:
        shape = replace(shape, has_literal_quotes=are_literal(lines[0], lines[0], separator))
    return shape


def _layouts(table: TableContext) -> Mapping[int, str]:
    """Return the names of the fields by the number of fields, such as {2: "query_id doc_id"}."""
    layouts = _LAYOUTS[table.name]
    if table.is_ordered or table.has_several_ids:
        # Two fields are enough if positions are the ranks.
        return {**layouts, 2: "query_id doc_id"}
    return layouts


class _Problem(NamedTuple):
    """Why lines without a header cannot be read."""

    what: str
    advice: Advice | None = None


def _problem(sample: _Sample, shape: Shape, names: Sequence[str]) -> _Problem | None:
    """Return the first problem of the lines, or None. The `names` are those of their layout."""
    table = sample.table
    problem = _problem_of_form(sample)
    if problem is None and shape.kind == "trec":
        problem = _problem_of_separator(sample, shape)
    if problem is None and table.name == "results" and not table.is_ordered:
        problem = _problem_of_order(sample, shape)
    if problem is None and not table.config.columns:
        problem = _problem_of_layout(sample, names)
    return problem


def _problem_of_form(sample: _Sample) -> _Problem | None:
    """Return the problem of text in an unsupported form, whatever columns the user names."""
    first, rows, table = sample.first_line, sample.rows, sample.table
    if first.startswith(_GZIP_START):
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
    if rows and table.has_two_names(rows[0]):
        remove = Do(words="to name fields by number, remove the line")
        named = GiveFormat(table.name, "tsv or csv", words="for files with names")
        return _Problem("which are column names", Either((named, remove), ", "))
    return None


def _problem_of_separator(sample: _Sample, shape: Shape) -> _Problem | None:
    """Return the problem of lines that blanks do not split into their fields."""
    table = sample.table
    separator = unread_separator(sample.lines, sample.rows)
    if separator:
        use_tabs = Do(words="use tabs instead, without blanks, or write CSV")
        return _Problem(f"which are separated by {separator}", use_tabs)
    # If numbers are where the layout has numbers, blanks are the separators.
    if _has_numbers(sample, shape) or not has_blanks_within_tabs(sample.lines):
        return None
    fields = _IDS
    if table.name == "judgments":
        fields = (*_IDS, ("relevance", 3))
    words = "end its name in .tsv and"
    if table.origin.endswith((".tsv", ".tsv.gz")):
        words = ""
    numbers = NumberColumns(table.name, fields, words=words)
    return _Problem("which are separated by tabs and contain blanks", numbers)


def _has_numbers(sample: _Sample, shape: Shape) -> bool:
    """Whether the fields that should be numbers are numbers; False if no field should be one."""
    number_columns = () if sample.table.has_labels else _NUMBERS
    for at, name in enumerate(shape.fields):
        values_of_field = sample.usual[at]
        # The second TREC field is always one word or a number, not part of a text.
        is_odd_second_field = name == "2" and values_of_field.nunique() > 1
        should_be_number = is_odd_second_field or name in number_columns
        share_of_numbers = values_of_field.str.fullmatch(PLAIN_NUMBER).mean()
        # A line may be broken.
        if should_be_number and share_of_numbers <= _MOST:
            return False
    has_number_column = not set(_NUMBERS).isdisjoint(shape.fields)
    return has_number_column or sample.table.has_labels


def _problem_of_order(sample: _Sample, shape: Shape) -> _Problem | None:
    """Return the problem of results if no field is known to be the score or the rank."""
    table, fields = sample.table, sample.fields
    known = shape.has.union(shape.columns)
    if "rank" in known or "score" in known:
        return None
    if table.has_several_ids:
        # Positions are the ranks.
        return None
    has_only_ids = fields == 2 and not table.config.columns
    if fields not in _layouts(table) and not has_only_ids:
        # `_problem_of_layout` reports it, unless the user names the columns.
        return None
    number_fields = [
        at for at in range(2, fields) if sample.usual[at].str.fullmatch(PLAIN_NUMBER).any()
    ]
    if not number_fields:
        return _problem_without_numbers(sample, shape)
    choices = ("rank", max(3, fields - 1)), ("score", fields)
    swap = Do(words="if these are judgments, give them first, then the results")
    advice = Either((NumberColumns(table.name, choices, " or "), swap), "; ")
    return _Problem("one of which may be a rank or a score", advice)


def _problem_without_numbers(sample: _Sample, shape: Shape) -> _Problem:
    """Return the problem of results in which no field could be a score or a rank."""
    table = sample.table
    at = 1
    if "doc_id" in shape.fields:
        at = shape.fields.index("doc_id")
    documents = pa.chunked_array([sample.usual[at].tolist()], pa.string())
    ways = ways_without_scores(documents)
    if table.config.columns:
        return _Problem("without a rank or a score", ways)
    numbers = NumberColumns(table.name, _IDS)
    named = GiveFormat(table.name, "csv, tsv, jsonl or json")
    return _Problem("without a rank or a score", Either((ways, numbers, named)))


def _problem_of_layout(sample: _Sample, names: Sequence[str]) -> _Problem | None:
    """Return the problem of lines whose fields the user does not name."""
    table, usual = sample.table, sample.usual
    if names[3:] == ["relevance"] and len(usual) and _are_times(usual[3]):
        numbered = NumberColumns(table.name, (*_IDS, ("relevance", 3)))
        return _Problem("the last of which is a time", numbered)
    if sample.fields == 6 and table.name == "judgments":
        return _Problem("which look like results; give the judgments first, then the results")
    if sample.fields not in _layouts(table) or sample.first_line.startswith(("{", "[")):
        numbered = NumberColumns(table.name, _likely_fields(usual, table))
        formats = GiveFormat(table.name, "csv, tsv, jsonl or json")
        return _Problem("which is not a known layout", Either((numbered, formats)))
    return None


def _likely_fields(usual: pd.DataFrame, table: TableContext) -> tuple[tuple[str, int], ...]:
    """Return the numbers of the fields that may be our columns, such as `(("query_id", 1), ...)`.

    For judgments, they may include the grade.
    """
    fields = len(usual.columns)
    if table.name != "judgments" or fields < 3:
        return _IDS
    document = 2
    # The second TREC field is often the same in all lines.
    if fields > 3 and usual[1].nunique() == 1:
        document = 3
    if not usual[document].str.fullmatch(PLAIN_NUMBER).all():
        return _IDS
    return ("query_id", 1), ("doc_id", document), ("relevance", document + 1)


def _has_ranks(usual: pd.DataFrame) -> bool:
    """Whether the third field numbers each query's lines: 1, 2, 3."""
    counted = usual.groupby(0).cumcount() + 1
    return bool((usual[2] == counted.astype(str)).all())


def _rows(lines: Sequence[str], separator: str | None, is_run: bool) -> list[list[str]]:
    """Return each line's fields. Without a separator, blanks separate them."""
    rows = []
    for line in lines:
        if separator:
            rows.append(values(line, separator) or line.split(separator))
        elif is_run:
            # Extra fields of a run belong to its name.
            rows.append(blank_fields(line)[:6])
        else:
            rows.append(blank_fields(line))
    return rows


def _are_times(grades: "pd.Series[str]") -> bool:
    """Whether all grades that are numbers are times.

    Other values, as in a header or a broken line, are ignored.
    """
    given = grades[grades.str.fullmatch(PLAIN_NUMBER)]
    return bool(len(given)) and bool(given.str.fullmatch(_TIME).all())


def _json_shape(text: str, lines: Sequence[str], table: TableContext) -> Shape:
    """Return the shape of JSON that begins with this text and these lines."""
    if begins_list(text):
        kinds = kinds_of_json(_objects(_first_items(text)))
    else:
        kinds = kinds_of_json(_objects(lines))
    with within(table.origin):
        found = find_objects(kinds, table.names, table.config.columns)
    has_documents = found is not None and bool(found.column)
    has_rows = has_documents or table.has_one_name(list(kinds))
    if _is_one_object(text, lines, has_rows, table.config.format):
        number = "relevance" if table.name == "judgments" else "score"
        return table.numbered("json", ["query_id", "doc_id", number])
    if found is None:
        shape = table.shape("jsonl", list(kinds))
    else:
        shape = table.shape_with_objects("jsonl", plain_names(kinds), found)
    if not _are_rows(kinds, lines):
        _refuse_without_columns(shape, lines, table)
    documents = kinds.get(shape.columns.get("doc_id", "doc_id"))
    if not has_documents and documents is not Kind.LIST:
        return shape
    has = shape.has
    if "rank" in table.names:
        # Positions in the lists are ranks.
        has |= {"rank"}
    return replace(shape, has_lists=True, has=has)


def _are_rows(kinds: Kinds, lines: Sequence[str]) -> bool:
    """Whether several lines are objects without nested ones: what they lack is found later."""
    is_flat = all(isinstance(kind, Kind) for kind in kinds.values())
    return is_flat and len(_objects(lines)) > 1


def _refuse_without_columns(shape: Shape, lines: Sequence[str], table: TableContext) -> None:
    """Raise InputError if JSON lines have none of our columns."""
    has_columns = bool(shape.has.difference(table.folders))
    if not has_columns:
        what = f"{table.origin} begins with {_first_line(lines)[:200]!r}"
        to_do = "write one object per line, or {query: {document: number}}"
        raise InputError(f"{what}, not JSON lines with columns of {table.name}; {to_do}")


def _is_one_object(
    text: str, lines: Sequence[str], has_rows: bool, given_format: str | None
) -> bool:
    """Whether the file is one object with all queries, `{"q1": {"d1": 2}, "q2": ...}`.

    With `has_rows`, the first objects have our columns or lists of documents.
    """
    if begins_list(text):
        return False
    if given_format is not None:
        return given_format == "json"
    # If the first of several lines is a whole object, the file is not one object.
    is_line_whole = len(lines) > 1 and bool(_objects(lines[:1]))
    if has_rows or is_line_whole:
        return False
    return _OBJECT_IN_OBJECT.match(_JSON_TEXT.sub("", text)) is not None


def _first_items(text: str) -> list[str]:
    """Return the first objects of a JSON list as text. The text may end within an object."""
    first: list[str] = []
    with suppress(InputError):
        first.extend(islice(objects_of_list(text, ""), _LINES))
    return first


def _objects(lines: Iterable[str]) -> list[dict[str, Any]]:
    """Return the lines that are JSON objects, parsed."""
    objects: list[dict[str, Any]] = []
    for line in lines:
        with suppress(ValueError, RecursionError):
            value = json.loads(line)
            if isinstance(value, dict):
                objects.append(value)
    return objects
