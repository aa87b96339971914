"""JSON lines: one object a line, of a document, or of a query with lists of its documents and their numbers.

A line must be exactly one object of strict JSON (RFC 8259). It is broken if anything follows the object; if it has
single quotes, comments, trailing commas, NaN, Infinity or half of a surrogate pair; or if it has none of the wanted
keys, one of them twice, or one that the first lines lack, so that nothing is lost silently. Names are case-sensitive.
A number keeps the text it is written with, so long ids stay exact.
"""

import dataclasses
import io
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from ndcg_spark.inputs import strict_json
from ndcg_spark.inputs.strict_json import Members
from ndcg_spark.inputs.text_blocks import Columns, Row, is_plain_text, lines, with_line_feeds

_AROUND = "\ufeff \t\r\f"
#: The columns that have a value for each document of a list.
_OF_DOCUMENTS = ("doc_id", "relevance", "score", "rank")
#: How a number is stored for each of our columns; ids and grades keep their text only as whole numbers.
_NUMBERS: Mapping[str, Mapping[type, pa.DataType]] = {"score": {int: pa.float64(), float: pa.float64()}}
_WHOLE: Mapping[type, pa.DataType] = {int: pa.int64()}
_MINUS_ZERO = re.compile(rb"-0\s*[,}]")
#: A line with fewer brackets surely nests less deep than Python's stack; Arrow has no such limit.
_FEW_BRACKETS = 300
#: What Arrow takes for numbers, also under keys that are not read.
_NO_NUMBERS, _NO_NUMBER = (b"NaN", b"Inf"), re.compile(rb"[:,\[]\s*-?(?:NaN|Inf)")


@dataclasses.dataclass(frozen=True)
class JsonLines:
    """Objects with these keys."""

    #: The keys of our columns, by our names.
    names: Mapping[str, str]
    #: The keys of those of our columns that the first lines lack.
    absent: Sequence[str] = ()
    #: Whether lines hold lists of documents.
    has_lists: bool = False
    #: Whether the position in such a list, from 1, is the rank.
    is_ranked: bool = False

    @property
    def columns(self) -> Sequence[str]:
        """Our names of the columns."""
        return [*self.names, *(["rank"] if self.is_ranked else [])]

    def quick(self, block: bytes, *, as_text: bool) -> Columns | None:
        """The columns, if every line is one object whose values are like those of the first."""
        block = with_line_feeds(block)
        count = _number_of(ord("\n"), block) + (not block.endswith(b"\n"))
        kinds = {} if as_text or self.has_lists or not is_plain_text(block) else self._kinds(block.partition(b"\n")[0])
        if not kinds or block.count(b"}\n{") + 1 != count or not block.endswith((b"}", b"}\n")):
            return None
        if any(f'"{name}"'.encode() in block for name in self.absent):
            return None
        if (any(name in block for name in _NO_NUMBERS) and _NO_NUMBER.search(block)) or _nests_deep(block, count):
            return None
        # As a whole number -0 loses its sign, and an id is text.
        whole = [ours for ours, theirs in self.names.items() if pa.types.is_integer(kinds[theirs]) and ours != "rank"]
        if whole and _MINUS_ZERO.search(block):
            return None
        table = _read(block, kinds)
        if table is None or len(table) != count or all(table.column(name).null_count for name in kinds):
            return None
        columns = {ours: table.column(theirs) for ours, theirs in self.names.items()}
        return {
            name: column.cast(pa.string()) if pa.types.is_integer(column.type) and name != "rank" else column
            for name, column in columns.items()
        }

    def rows(self, block: bytes) -> Iterator[Row]:
        """The rows of any lines."""
        for line, is_valid in lines(block, _AROUND):
            members = _object(line) if is_valid else Members()
            found = dict(members)
            is_row = any(found.get(name) is not None for name in self.names.values())
            if not is_row or self._has_twice(members) or _has_half_a_pair(line, members):
                yield self._broken(line)
            elif self.has_lists:
                yield from self._of_lists(found, line)
            elif any(found.get(name) is not None for name in self.absent):
                yield self._broken(line)
            else:
                yield self._row([found.get(name) for name in self.names.values()], line)

    def _has_twice(self, members: Members) -> bool:
        """Whether a wanted key occurs twice, so that nothing shows which of its values is meant."""
        keys = [key for key, _ in members]
        return len(keys) > len({*keys}) and any(keys.count(name) > 1 for name in self.names.values())

    def _of_lists(self, found: Mapping[str, Any], line: str) -> Iterator[Row]:
        """One row per document; a query without a list is a row without a document, an empty list has no rows."""
        lists = {name: found.get(self.names[name]) for name in _OF_DOCUMENTS if name in self.names}
        given = [value for value in lists.values() if value is not None]
        if any(type(value) is not list for value in given):
            yield self._broken(line)
        elif len({len(value) for value in given}) > 1:
            yield self._broken(line, "lists_of_unequal_length")
        else:
            for at in range(len(given[0]) if given else 1):
                values = [_at(lists[name], at) if name in lists else found.get(key) for name, key in self.names.items()]
                yield self._row([*values, str(at + 1)] if self.is_ranked else values, line)

    def _row(self, values: Sequence[Any], line: str) -> Row:
        is_plain = all(value is None or isinstance(value, str) for value in values)
        return Row(values) if is_plain else self._broken(line, "value_is_no_scalar")

    def _broken(self, line: str, fault: str = "broken_line") -> Row:
        return Row([None] * len(self.columns), fault, line)

    def _kinds(self, line: bytes) -> dict[str, pa.DataType]:
        """The types of the values in the first line, by their keys; empty if one is missing or not a plain value."""
        try:
            found = json.loads(line)
        except (ValueError, RecursionError):
            return {}
        kinds = {}
        for ours, theirs in self.names.items():
            value = found.get(theirs) if isinstance(found, dict) else None
            kind = pa.string() if isinstance(value, str) else _NUMBERS.get(ours, _WHOLE).get(type(value))
            if kind is None:
                return {}
            kinds[theirs] = kind
        return kinds


def _read(block: bytes, kinds: Mapping[str, pa.DataType]) -> pa.Table | None:
    from pyarrow import json as arrow_json

    try:
        return arrow_json.read_json(
            io.BytesIO(block),
            read_options=arrow_json.ReadOptions(use_threads=False, block_size=len(block) + 1),
            parse_options=arrow_json.ParseOptions(
                explicit_schema=pa.schema(list(kinds.items())), unexpected_field_behavior="ignore"
            ),
        )
    except pa.ArrowInvalid:
        return None


def _nests_deep(block: bytes, lines: int) -> bool:
    """Whether a line of the block may nest values so deep that Python does not read it."""
    opening = sum(_number_of(bracket, block) for bracket in b"{[")
    return opening > lines + _FEW_BRACKETS and any(
        line.count(b"{") + line.count(b"[") > _FEW_BRACKETS for line in block.split(b"\n")
    )


def _number_of(code: int, block: bytes) -> int:
    """How often a byte is in the block; numpy counts many in less than half the time."""
    return int(np.count_nonzero(np.frombuffer(block, np.uint8) == code))


def _at(values: list[Any] | None, at: int) -> Any:
    return None if values is None else values[at]


def _object(line: str) -> Members:
    """The object of a line; an empty one if the line is not an object."""
    try:
        found = strict_json.LINE.decode(line)
    except (ValueError, RecursionError):
        return Members()
    return found if isinstance(found, Members) else Members()


def _has_half_a_pair(line: str, members: Members) -> bool:
    """Whether a text has half of a surrogate pair, which is not a character."""
    return "\\ud" in line.lower() and not strict_json.is_text([json.dumps(members, ensure_ascii=False)])
