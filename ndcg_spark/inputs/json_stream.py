"""JSON text that is read a piece at a time, as far as it is needed; numbers keep the text they are written with."""

import json
import re
from collections.abc import Iterator
from typing import Any, TextIO

from ndcg_spark.inputs.strict_json import DECODER

_PIECE = 1 << 20
_BLANKS = re.compile(r"[ \t\r\n]*")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')


class JsonStream:
    """A cursor in a text with one or more JSON values. What is not strict JSON raises ValueError."""

    def __init__(self, text: TextIO) -> None:
        self._text = text
        self._buffer = ""
        self._at = 0

    def next(self) -> str:
        """The next character that is no blank, which stays the next; empty at the end."""
        while True:
            self._at = _BLANKS.match(self._buffer, self._at).end()  # type: ignore[union-attr]  # it matches nothing too
            if self._at < len(self._buffer) or not self._read_on():
                return self._buffer[self._at : self._at + 1]

    def members(self) -> Iterator[str]:
        """The keys of the object that is next. Whoever takes them reads the value of each before the next key."""
        for _ in self._parts("{", "}"):
            if self.next() != '"':
                raise ValueError(f"a key is expected, and there is {self.next() or 'no more'!r}")
            key = self.value()
            self._take(":")
            yield key

    def entries(self) -> Iterator[None]:
        """Stands before each entry of the array that is next. Whoever takes them reads each entry."""
        return self._parts("[", "]")

    def value(self) -> Any:
        """The value that is next, whole: text for numbers, `strict_json.Members` for objects."""
        self.next()
        while True:
            try:
                value, end = DECODER.raw_decode(self._buffer, self._at)
            except json.JSONDecodeError as error:
                if not self._may_go_on(error.pos) or not self._read_on():
                    raise
                continue
            # A number may go on: of 1.5e+3, 1 and 1.5 are numbers, too.
            if end < len(self._buffer) - len("e+") or not self._read_on():
                self._at = end
                return value

    def _may_go_on(self, at: int) -> bool:
        """Whether an error at this place may be only that the buffer ends: within an escape, a word or a string."""
        is_string = self._buffer[at : at + 1] == '"' and not _STRING.match(self._buffer, at)
        return is_string or at >= len(self._buffer) - len("-Infinity")

    def _parts(self, opening: str, closing: str) -> Iterator[None]:
        self._take(opening)
        if self.next() == closing:
            self._at += 1
            return
        while True:
            yield
            if self.next() == closing:
                self._at += 1
                return
            self._take(",")

    def _take(self, expected: str) -> None:
        found = self.next()
        if found != expected:
            raise ValueError(f"{expected!r} is expected, and there is {found or 'no more'!r}")
        self._at += 1

    def _read_on(self) -> bool:
        """Read as much again as is left, so that a long value is not parsed often. False at the end of the text."""
        rest = len(self._buffer) - self._at
        read = self._text.read(max(_PIECE, rest))
        if read:
            self._buffer, self._at = self._buffer[self._at :] + read, 0
        return bool(read)
