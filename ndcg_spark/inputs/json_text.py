"""Reads JSON: one object per line, a list of such objects, or one object with all queries.

An object describes a document, or a query with lists of its documents. pyarrow parses JSON lines. A
block that it refuses is read line by line. A line is broken if it is not one object of strict JSON
with plain values or lists of the same length, if it has a wanted key twice, or if it has a wanted
key that the first lines lack.
"""

import itertools
import json
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from pyarrow import json as arrow_json

from ndcg_spark.errors import InputError, first_line
from ndcg_spark.inputs.delimited import (
    NUMBERS,
    ParsedPart,
    blocks,
    filled_lines,
    valid_lines,
    with_numbers,
)
from ndcg_spark.inputs.files import File
from ndcg_spark.inputs.objects import Objects

_BLANKS = " \t\r\f"
#: The Arrow types of a number column, by the Python type of its first value.
_NUMBER_TYPES = {int: pa.float64(), float: pa.float64(), str: pa.string()}
#: The same for a column of text. The text of a fraction may be an id, so it is not parsed.
_TEXT_TYPES = {int: pa.int64(), str: pa.string()}
_LIST = re.compile(r"\s*\[\s*\{")
_SPACE = re.compile(r"[ \t\r\n]*")
#: The key that identifies a file from mteb.
_MTEB = "mteb_model_meta"
#: How many objects of a list become lines at a time.
_OBJECTS = 10_000
#: How many documents of an object become columns at a time.
_DOCUMENTS = 200_000
#: Objects become tuples of pairs, so that a repeated key appears twice. Numbers become text as they
#: are written, so that long ids remain exact. Only NaN and Infinity, which strict JSON lacks,
#: become numbers.
_decoder = json.JSONDecoder(
    object_pairs_hook=tuple, parse_int=str, parse_float=str, parse_constant=float
)


@dataclass(frozen=True)
class JsonLines:
    """Reads JSON lines, or a list of objects as if each were on its own line."""

    #: The key of each of our columns that the first lines have.
    columns: Mapping[str, str]
    #: The keys of our other columns.
    absent: Sequence[str] = ()
    #: Whether a line has lists of documents. If there are no ranks, a document's position in the
    #: list, from 1, is its rank.
    has_lists: bool = False
    #: Which fields of objects within a line are our columns.
    objects: Objects | None = None
    #: The labels that stand for grades; empty if grades are numbers.
    labels: Collection[str] = ()

    def parts(self, file: File) -> Iterator[bytes]:
        """Yield the file in parts of whole lines, which `read` parses."""
        if not begins_list(file.head()):
            yield from blocks(file)
            return
        lines = objects_of_list(_text(file), file.path)
        while some := list(itertools.islice(lines, _OBJECTS)):
            yield "\n".join(some).encode()

    def read(self, block: bytes) -> ParsedPart:
        """Return the columns of a part, and its lines that are not rows."""
        block, broken = valid_lines(block)
        lines = (line for line in filled_lines(block) if line.strip(_BLANKS))
        table = self._parse_plain_lines(block)
        if table is None:
            return self._read_lines(lines, broken)
        columns = {}
        for ours, theirs in self.columns.items():
            column = table.column(theirs)
            columns[ours] = column if self._is_number(ours) else column.cast(pa.string())
        return ParsedPart(with_numbers(columns, lines, self.labels), broken)

    def _read_lines(self, lines: Iterable[str], broken: Sequence[str]) -> ParsedPart:
        """Return the columns of lines that are read one by one. `broken` are earlier lines."""
        broken = list(broken)
        rows: list[dict[str, str | None]] = []
        line_of_rows: list[str] = []
        for line in lines:
            parsed = self._rows(line)
            if parsed is None:
                broken.append(line)
            else:
                rows.extend(parsed)
                line_of_rows.extend([line] * len(parsed))
        names = [*self.columns, *self._paths]
        if self.has_lists:
            names.append("rank")
        columns = {}
        for name in names:
            columns[name] = pa.chunked_array([[row[name] for row in rows]], pa.string())
        return ParsedPart(with_numbers(columns, line_of_rows, self.labels), broken)

    def _is_number(self, name: str) -> bool:
        """Whether a column has numbers, and not labels for grades."""
        return name in NUMBERS and not (self.labels and name == "relevance")

    def _parse_plain_lines(self, block: bytes) -> pa.Table | None:
        """Return the columns of a block if all lines have plain values like the first, or None."""
        if self.has_lists or self.objects is not None:
            return None
        if any(f'"{key}"'.encode() in block for key in self.absent):
            return None
        try:
            first = json.loads(block.lstrip().partition(b"\n")[0])
            kinds = {}
            for ours, theirs in self.columns.items():
                known = _NUMBER_TYPES if self._is_number(ours) else _TEXT_TYPES
                # A value of a different type raises KeyError.
                kinds[theirs] = known[type(first[theirs])]
            table = arrow_json.read_json(
                pa.BufferReader(block),
                arrow_json.ReadOptions(use_threads=False, block_size=len(block) + 1),
                arrow_json.ParseOptions(
                    explicit_schema=pa.schema(kinds), unexpected_field_behavior="ignore"
                ),
            )
        except (ValueError, KeyError, TypeError, RecursionError):
            return None
        # Arrow would read two objects in a line as two rows, and an object on two lines as one.
        lines = block.strip().count(b"\n") + 1
        objects = block.count(b"}\n{") + 1
        return table if len(table) == lines == objects else None

    def _rows(self, line: str) -> list[dict[str, str | None]] | None:
        """Return a line's rows by our names, or None if it is broken."""
        values = self._values(line)
        if values is None:
            return None
        row = {ours: values.get(theirs) for ours, theirs in self.columns.items()}
        try:
            row |= self._values_in_objects(values)
        except (ValueError, TypeError):
            return None
        rows = _documents(row) if self.has_lists else [row]
        if rows is None:
            return None
        # Numbers are text here. Any other value is an object, a list, true or false.
        for each in rows:
            if not all(value is None or isinstance(value, str) for value in each.values()):
                return None
        return rows

    @property
    def _paths(self) -> Mapping[str, str]:
        """The paths of our columns that are within objects."""
        return {} if self.objects is None else self.objects.paths

    def _values_in_objects(self, values: Mapping[str, Any]) -> dict[str, Any]:
        """Return the values in a line's objects, with the values of documents as lists.

        Raise ValueError or TypeError if the objects do not have the expected form.
        """
        if self.objects is None:
            return {}
        found: dict[str, Any] = dict.fromkeys(self.objects.documents)
        for ours, path in self.objects.row.items():
            found[ours] = _at_path(values, path)
        if not self.objects.documents:
            return found
        documents = values.get(self.objects.column)
        if documents is None:
            return found
        if not isinstance(documents, list):
            raise TypeError
        members = [_members(document) for document in documents]
        for ours, path in self.objects.documents.items():
            found[ours] = [_at_path(fields, path) for fields in members]
        return found

    def _values(self, line: str) -> dict[str, Any] | None:
        """Return the values of an object, or None if it has none of our keys, or one twice."""
        try:
            members = _decode(line)
        except (ValueError, RecursionError):
            return None
        # An object is a tuple of pairs.
        if not isinstance(members, tuple):
            return None
        ours = {*self.columns.values()}
        ours.update(path.partition(".")[0] for path in self._paths.values())
        wanted = [key for key, _ in members if key in ours]
        if not wanted or len(wanted) > len(set(wanted)):
            return None
        values = dict(members)
        # The first lines lack these keys, so their columns would be lost.
        if any(values.get(key) is not None for key in self.absent):
            return None
        return values


def _members(value: Any) -> dict[str, Any]:
    """Return the values of an object.

    Raise TypeError if `value` is not an object, and ValueError if it has a key twice.
    """
    # An object is a tuple of pairs.
    if not isinstance(value, tuple):
        raise TypeError
    members = dict(value)
    if len(members) < len(value):
        raise ValueError
    return members


def _at_path(values: Mapping[str, Any], path: str) -> Any:
    """Return the value at a path of names within objects, or None if it is missing."""
    first, dot, rest = path.partition(".")
    value = values.get(first)
    if not dot or value is None:
        return value
    return _at_path(_members(value), rest)


def begins_list(text: str) -> bool:
    """Whether JSON text is one list of objects."""
    return _LIST.match(text) is not None


def _text(file: File) -> str:
    """Return a file's whole text."""
    with file.open() as stream:
        return str(stream.read().decode("utf-8-sig", "replace"))


def objects_of_list(text: str, path: str) -> Iterator[str]:
    """Yield each object of a list as one line of text.

    Raise InputError where the text has a different form.
    """
    decoder = json.JSONDecoder()
    at = text.index("[") + 1
    end = at
    separator = ","
    while separator == ",":
        at = _after_space(text, at)
        try:
            _, end = decoder.raw_decode(text, at)
        except (ValueError, RecursionError) as error:
            raise _not_json(path, first_line(error)) from error
        # JSON strings contain no line ends, so only those between values are replaced.
        yield text[at:end].replace("\r", " ").replace("\n", " ")
        at = _after_space(text, end)
        separator = text[at : at + 1]
        at += 1
    if separator != "]" or text[at:].strip():
        raise _not_json(path, f"after {text[max(0, end - 40) : end]!r}")


def _not_json(path: str, why: str) -> InputError:
    to_do = "write it again, or write one object per line as .jsonl"
    return InputError(f"{path} is not JSON, {why}; {to_do}")


def _after_space(text: str, at: int) -> int:
    """Return the position of the next character that is not a blank or a line end."""
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _documents(row: Mapping[str, Any]) -> list[dict[str, Any]] | None:
    """Return one row for each document in a row's lists, with its rank.

    Return None if they are not lists of the same length. A query without a list becomes a row
    without a document. There are no rows for an empty list.
    """
    lists = {name: row[name] for name in ("doc_id", *NUMBERS) if row.get(name) is not None}
    if not lists:
        return [{"rank": "1", **row}]
    if any(type(value) is not list for value in lists.values()):
        return None
    lengths = {len(value) for value in lists.values()}
    if len(lengths) > 1:
        return None
    rows = []
    for at in range(lengths.pop()):
        document = {name: value[at] for name, value in lists.items()}
        rows.append({"rank": f"{at + 1}", **row, **document})
    return rows


@dataclass(frozen=True)
class JsonObject:
    """Reads a file that is one object, {query: {document: number}}."""

    #: Our names of query, document and number, in that order.
    names: Sequence[str]
    #: The labels that stand for grades; empty if grades are numbers.
    labels: Collection[str] = ()

    def parts(self, file: File) -> Iterator[list[tuple[str, str, str | None]]]:
        """Yield the rows of some documents at a time. Raise InputError for a different form."""
        with file.open() as stream:
            text = stream.read()
        try:
            queries = _decode(text.decode("utf-8-sig"))
        except (ValueError, RecursionError) as error:
            what = f"{file.path} is not JSON, {first_line(error)}"
            raise InputError(f"{what}; write it again") from error
        queries = _predictions(queries, file.path)
        if not _has_numbers_of_documents(queries):
            form = "{query: {document: number}}"
            to_do = "write it in that form, one file per run, or as JSON lines"
            raise InputError(f"{file.path} is not {form}; {to_do}")
        rows = _rows_of_queries(queries)
        while some := list(itertools.islice(rows, _DOCUMENTS)):
            yield some

    def read(self, rows: Sequence[tuple[str, str, str | None]]) -> ParsedPart:
        """Return the columns of a part, which has a query, a document and a number in each row."""
        values = (pa.chunked_array([column], pa.string()) for column in zip(*rows, strict=True))
        lines = (json.dumps({query: {document: number}}) for query, document, number in rows)
        columns = dict(zip(self.names, values, strict=True))
        return ParsedPart(with_numbers(columns, lines, self.labels))


def _has_numbers_of_documents(queries: Any) -> bool:
    """Whether a decoded value has the form {query: {document: number}}."""
    # An object is a tuple of pairs.
    if not isinstance(queries, tuple):
        return False
    for _, documents in queries:
        if not isinstance(documents, tuple):
            return False
        for _, number in documents:
            # A number is text as it is written. Only NaN and Infinity are floats.
            if isinstance(number, (list, tuple, bool, float)):
                return False
    return True


def _rows_of_queries(queries: Any) -> Iterator[tuple[str, str, str | None]]:
    """Yield the query, the document and the number of each row."""
    for query, documents in queries:
        for document, number in documents:
            yield query, document, number


def _predictions(members: Any, path: str) -> Any:
    """Return the queries in a file from mteb, and any other object unchanged.

    mteb writes {"mteb_model_meta": ..., subset: {split: {query: ...}}}.
    """
    if not isinstance(members, tuple) or _MTEB not in dict(members):
        return members
    names = []
    predictions = []
    for subset, content in members:
        if subset != _MTEB and isinstance(content, tuple):
            for split, queries in content:
                names.append(f"{subset}/{split}")
                predictions.append(queries)
    if len(names) != 1:
        what = f"{path} has the predictions for {len(names)} splits, {', '.join(names)}"
        to_do = "write each split as {query: {document: score}}, one file per split"
        raise InputError(f"{what}; {to_do}")
    return predictions[0]


def _decode(text: str) -> Any:
    """Return the value of JSON text.

    Raise ValueError even for half of a surrogate pair, which is not a character.
    """
    content = _decoder.decode(text)
    if "\\ud" in text or "\\uD" in text:
        # Half of a pair cannot be encoded.
        json.dumps(content, ensure_ascii=False).encode()
    return content
