"""One JSON object of all queries, {query: {document: grade or score}}, as BEIR, ranx and pytrec_eval write it.

Results may have their runs around it: {run: {query: {document: score}}}. The file is read a piece at a time, and of its
content only the documents of one query are kept in memory.
"""

import io
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Any, TextIO

from ndcg_spark.errors import InputError, first_line
from ndcg_spark.inputs import strict_json
from ndcg_spark.inputs.files import File
from ndcg_spark.inputs.strict_json import DECODER, Members
from ndcg_spark.inputs.text import Row

_PIECE = 1 << 20
#: The depth of an object that has runs around the queries.
_WITH_RUNS = 3
_BLANKS = re.compile(r"[ \t\r\n]*")


def json_columns(columns: Sequence[str], depth: int) -> list[str]:
    """The columns of an object of this depth, of those that a table has: the outermost key first."""
    value = "relevance" if "relevance" in columns else "score"
    return [*(["run"] if depth == 3 else []), "query_id", "doc_id", *([value] if value in columns else [])]


def object_rows(columns: Sequence[str], depth: int, file: File, where: str) -> Iterator[Row]:
    """The values of an object of this depth as rows of `columns`, the outermost key first.

    A value that is neither text nor a number, and what should be the documents of a query and is not, is a broken row.

    Raises
    ------
    InputError
        The file cannot be read, or is not one whole object of strict JSON.
    """
    with file.opened(where) as stream, io.TextIOWrapper(stream, encoding="utf-8-sig", newline="") as text:
        try:
            yield from _rows(columns, depth, text)
        except (ValueError, RecursionError) as error:
            # Positions are those in what was read of it, which would mislead.
            said = error.msg if isinstance(error, json.JSONDecodeError) else first_line(error)
            reason = "its values nest too deep" if isinstance(error, RecursionError) else said
            raise InputError(f"{where}: {file.path} is not one whole JSON object, {reason}; write it again") from error


def _rows(columns: Sequence[str], depth: int, text: TextIO) -> Iterator[Row]:
    """The rows of the object, and a broken row for a run without documents, which would vanish."""
    entries = _Stream(text).members(depth - 1)
    if depth < _WITH_RUNS:
        yield from _of_queries(columns, entries)
        return
    for run, of_run in groupby(entries, key=lambda entry: entry[0][0]):
        row = None
        for row in _of_queries(columns, of_run):
            yield row
        if row is None:
            yield strict_json.broken(columns, strict_json.shown(Members([(run, Members())])))


def _of_queries(columns: Sequence[str], entries: Iterable[tuple[tuple[str, ...], Any]]) -> Iterator[Row]:
    for keys, documents in entries:
        if not isinstance(documents, Members):
            yield strict_json.broken(columns, strict_json.shown(Members([(keys[-1], documents)])))
            continue
        for document, value in documents:
            values = (*keys, document, value)
            if (value is None or isinstance(value, str)) and strict_json.is_whole(values):
                yield Row(values)
            else:
                inner = Members([(document, value)])
                yield strict_json.row_of(columns, values, strict_json.shown(Members([(keys[-1], inner)])))


class _Stream:
    """JSON text that is read as far as it is needed."""

    def __init__(self, text: TextIO) -> None:
        self._text = text
        self._buffer = ""
        self._at = 0

    def members(self, depth: int) -> Iterator[tuple[tuple[str, ...], Any]]:
        """The keys and the value of every entry `depth` objects deep; ValueError unless that is the whole text.

        An object that is empty above that depth is an entry with fewer keys.
        """
        yield from self._object(depth)
        if self._next():
            raise ValueError(f"after its end there is more, {self._buffer[self._at : self._at + 20]!r}")

    def _object(self, depth: int) -> Iterator[tuple[tuple[str, ...], Any]]:
        self._take("{")
        if self._next() == "}":
            self._at += 1
            return
        while True:
            if self._next() != '"':
                raise ValueError(f"a key is expected, not {self._next()!r}")
            key = self._value()
            self._take(":")
            if depth > 1:
                keys = None
                for keys, value in self._object(depth - 1):
                    yield (key, *keys), value
                if keys is None:
                    yield (key,), Members()
            else:
                yield (key,), self._value()
            if self._next() == "}":
                self._at += 1
                return
            self._take(",")

    def _next(self) -> str:
        """The next character that is no blank; empty at the end."""
        while True:
            self._at = _BLANKS.match(self._buffer, self._at).end()  # type: ignore[union-attr]  # it matches nothing too
            if self._at < len(self._buffer) or not self._more():
                return self._buffer[self._at : self._at + 1]

    def _take(self, expected: str) -> None:
        found = self._next()
        if found != expected:
            raise ValueError(f"{expected!r} is expected, and there is {found or 'no more'!r}")
        self._at += 1

    def _value(self) -> Any:
        self._next()
        while True:
            failed: ValueError | None = None
            try:
                value, end = DECODER.raw_decode(self._buffer, self._at)
            except ValueError as error:
                failed, end = error, getattr(error, "pos", 0)
            # What stands at the end of the buffer may go on in the file; an error far from it may not.
            if failed is None and end < len(self._buffer):
                self._at = end
                return value
            if (failed and end < len(self._buffer) - _PIECE) or not self._more():
                if failed:
                    raise failed
                self._at = end
                return value

    def _more(self) -> bool:
        """Read on: as much again as there is, so that a long value is not parsed often. False at the end."""
        rest = self._buffer[self._at :]
        read = self._text.read(max(_PIECE, len(rest)))
        self._buffer, self._at = rest + read, 0
        return bool(read)
