"""Strict JSON (RFC 8259) in which numbers stay the text they are written as, whole or a piece of a file at a time."""

import contextlib
import json
import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, TextIO

from ndcg_spark.errors import InputError, first_line

if TYPE_CHECKING:
    from ndcg_spark.inputs.text_blocks import Row

_LONGEST_TEXT = 1000
_PIECE = 1 << 20
_BLANKS = re.compile(r"[ \t\r\n]*")
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"')


class Members(list[tuple[str, Any]]):
    """The keys and values of an object in their order; a repeated key appears each time."""


class NotANumber:
    """NaN or Infinity, which strict JSON lacks."""


def _refused(name: str) -> NotANumber:
    raise ValueError(f"{name} is not a JSON value")


_PLAIN = {str, type(None)}
#: Objects as Members; ValueError for NaN and Infinity.
LINE = json.JSONDecoder(object_pairs_hook=Members, parse_int=str, parse_float=str, parse_constant=_refused)
#: The same without the error.
_DECODER = json.JSONDecoder(
    object_pairs_hook=Members, parse_int=str, parse_float=str, parse_constant=lambda _: NotANumber()
)


class JsonStream:
    """A cursor in a text with one or more JSON values. What is not strict JSON raises ValueError."""

    def __init__(self, text: TextIO) -> None:
        self._text = text
        self._buffer = ""
        self._at = 0

    def next(self) -> str:
        """The next character that is not a blank, which is not consumed; empty at the end."""
        while True:
            self._at = _BLANKS.match(self._buffer, self._at).end()  # type: ignore[union-attr]  # it matches nothing too
            if self._at < len(self._buffer) or not self._read_on():
                return self._buffer[self._at : self._at + 1]

    def members(self) -> Iterator[str]:
        """The keys of the object that is next. The caller reads the value of each before it takes the next key."""
        self._take("{")
        is_first = True
        while self.next() != "}":
            if not is_first:
                self._take(",")
            is_first = False
            if self.next() != '"':
                raise ValueError(f"a key is expected, not {self.next() or 'the end'!r}")
            key = self.value()
            self._take(":")
            yield key
        self._at += 1

    def value(self) -> Any:
        """The value that is next, whole: text for numbers, `Members` for objects, `NotANumber` for NaN."""
        self.next()
        while True:
            try:
                value, end = _DECODER.raw_decode(self._buffer, self._at)
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

    def _take(self, expected: str) -> None:
        found = self.next()
        if found != expected:
            raise ValueError(f"{expected!r} is expected, not {found or 'the end'!r}")
        self._at += 1

    def _read_on(self) -> bool:
        """Read as much again as is left, so that a long value is not parsed often. False at the end of the text."""
        rest = len(self._buffer) - self._at
        read = self._text.read(max(_PIECE, rest))
        if read:
            self._buffer, self._at = self._buffer[self._at :] + read, 0
        return bool(read)


@contextlib.contextmanager
def refused_unless_whole(where: str) -> Iterator[None]:
    """InputError, with the table and the file `where`, for text that is not valid JSON."""
    try:
        yield
    except (ValueError, RecursionError) as error:
        # Positions are those in what was read of it, which would mislead.
        said = error.msg if isinstance(error, json.JSONDecodeError) else first_line(error)
        reason = "its values nest too deep" if isinstance(error, RecursionError) else said
        raise InputError(f"{where} is not valid JSON, {reason}; write it again") from error


def broken(names: Sequence[str], text: str, fault: str = "broken_line") -> "Row":
    """A broken row of these columns, with as much of its text as a message may show."""
    # Here, because dictionaries are also read where there is no engine.
    from ndcg_spark.inputs.text_blocks import Row

    return Row([None] * len(names), fault, text.encode("utf-8", "backslashreplace").decode()[:_LONGEST_TEXT])


def fault_of(values: Sequence[Any]) -> str | None:
    """What is wrong with these values of a row, which must be text, numbers or null; None if nothing is."""
    kinds = {*map(type, values)}
    if kinds <= _PLAIN:
        return None if is_text(values) else "broken_line"
    return "broken_line" if NotANumber in kinds else "value_is_no_scalar"


def is_text(values: Sequence[str | None]) -> bool:
    """Whether no value has half of a surrogate pair, which is not a character."""
    try:
        "".join(value for value in values if value).encode()
    except UnicodeEncodeError:
        return False
    return True


def shown(value: Any) -> str:
    """A value as JSON, for a message; numbers are in quotes."""
    if isinstance(value, Members):
        return "{" + ", ".join(f"{json.dumps(key)}: {shown(entry)}" for key, entry in value[:9]) + "}"
    if isinstance(value, list):
        return f"[{', '.join(map(shown, value[:9]))}]"
    return "NaN" if isinstance(value, NotANumber) else json.dumps(value, ensure_ascii=False)
