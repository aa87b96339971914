"""Strict JSON (RFC 8259) in which numbers stay the text they are written as, and rows of it as Arrow batches.

This is the rule of `json_lines`, for JSON that no engine can read: there, an engine parses lines.
"""

import json
from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from ndcg_spark.inputs.copying import empty
from ndcg_spark.schemas import BROKEN_LINE, NO_SCALAR, UNEQUAL

_ROWS = 1 << 16
_LONGEST_TEXT = 1000


class Members(list[tuple[str, Any]]):
    """The keys and values of an object in their order; a key that is repeated is there as often."""


class _NotANumber:
    """NaN or Infinity, which strict JSON lacks."""


DECODER = json.JSONDecoder(
    object_pairs_hook=Members, parse_int=str, parse_float=str, parse_constant=lambda _: _NotANumber()
)

#: The values of a row's columns, the text of a row that is none, and the column that says why, if there is one for it.
Row = tuple[Sequence[str | None], str | None, str | None]


def broken(names: Sequence[str], text: str, why: str | None = None) -> Row:
    """A row that is none, for these columns; `why` is NO_SCALAR, UNEQUAL or None."""
    return [None] * len(names), text[:_LONGEST_TEXT], why


def row_of(names: Sequence[str], values: Sequence[Any], text: str) -> Row:
    """A row of these values of JSON: text, numbers and nulls. Any other makes it broken, and `text` shows it."""
    if all(value is None or isinstance(value, str) for value in values):
        return values, None, None
    return broken(names, text, None if any(isinstance(value, _NotANumber) for value in values) else NO_SCALAR)


def shown(value: Any) -> str:
    """A value as JSON, for a message; numbers are in quotes."""
    if isinstance(value, Members):
        return "{" + ", ".join(f"{json.dumps(key)}: {shown(entry)}" for key, entry in value[:9]) + "}"
    if isinstance(value, list):
        return f"[{', '.join(map(shown, value[:9]))}]"
    return "NaN" if isinstance(value, _NotANumber) else json.dumps(value, ensure_ascii=False)


def batches(names: Sequence[str], rows: Iterator[Row]) -> Iterator[pa.RecordBatch]:
    """The rows as batches with the columns `names`, BROKEN_LINE, NO_SCALAR and UNEQUAL; the first batch is empty."""
    texts = [(name, pa.string()) for name in (*names, BROKEN_LINE)]
    schema = pa.schema([*texts, (NO_SCALAR, pa.bool_()), (UNEQUAL, pa.bool_())])
    yield empty(schema)
    part: list[Row] = []
    for row in rows:
        part.append(row)
        if len(part) == _ROWS:
            yield _batch(names, part, schema)
            part = []
    if part:
        yield _batch(names, part, schema)


def _batch(names: Sequence[str], rows: list[Row], schema: pa.Schema) -> pa.RecordBatch:
    values, texts, faults = zip(*rows, strict=True)
    columns = [*zip(*values, strict=True), texts, *([fault == why for fault in faults] for why in (NO_SCALAR, UNEQUAL))]
    try:
        arrays = [pa.array(column, field.type) for column, field in zip(columns, schema, strict=True)]
    except UnicodeEncodeError:
        return _batch(names, [_whole(names, row) for row in rows], schema)
    return pa.record_batch(arrays, schema=schema)


def _whole(names: Sequence[str], row: Row) -> Row:
    """The row; a broken one if half of a surrogate pair is in it, which is no text."""
    values, text, why = row
    joined = " ".join(value or "" for value in (*values, text))
    try:
        joined.encode()
    except UnicodeEncodeError:
        return broken(names, joined.encode("utf-8", "backslashreplace").decode(), why)
    return row
