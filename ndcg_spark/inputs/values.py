"""Columns of text as those of a typed table, with the text of numbers where a message may show it."""

import contextlib
import functools
from collections.abc import Mapping, Sequence

import pyarrow as pa
from pyarrow import compute

from ndcg_spark.inputs.text_blocks import Columns
from ndcg_spark.schemas import FAULT, LINE, WRITTEN

_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
_BLANKS = " \t\r\n\f"
_RANKS = 2**31
#: The columns that have one value in all rows of a file, by our names.
Constants = Mapping[str, str | None]

#: Text with few values, each of which is written once. Only documents and lines have many.
_FEW, _MANY = pa.dictionary(pa.int32(), pa.string()), pa.string()
_TYPES = {"relevance": pa.float64(), "score": pa.float64(), "rank": pa.int32(), "doc_id": _MANY, LINE: _MANY}


def schema_of(names: Sequence[str]) -> pa.Schema:
    """A table of these columns as it is written, with the columns that say what is wrong with a row."""
    written = [WRITTEN[name] for name in names if name in WRITTEN]
    return pa.schema([(name, _TYPES.get(name, _FEW)) for name in (*names, FAULT, LINE, *written)])


def numbers_of(columns: Columns, constants: Constants) -> Columns:
    """The columns of numbers, by name: doubles, and ranks of 32 bits; null for what is not a plain, finite number.

    -0.0 becomes 0.0, because engines distinguish the two in some plans and not in others.
    """
    return {
        name: _numbers(name, column) for name, column in columns.items() if name in WRITTEN and name not in constants
    }


def odd_rows(columns: Columns, numbers: Columns, constants: Constants) -> pa.ChunkedArray | None:
    """The rows that a rule may refuse for a name, a score or a rank that is missing or out of range; None if none.

    Of these a message may show the numbers as they were written. What is wrong with a grade needs no other text.
    """
    each = (_odd(name, numbers.get(name, column)) for name, column in columns.items() if name not in constants)
    found = [odd for odd in each if odd is not None]
    if any(value in (None, "") for value in constants.values()):
        found.append(pa.chunked_array([pa.repeat(True, len(next(iter(columns.values()))))]))
    return functools.reduce(compute.or_, found) if found else None


def table_of(
    columns: Columns, numbers: Columns, odd: pa.ChunkedArray | None, constants: Constants, schema: pa.Schema
) -> pa.Table:
    """The table of this schema; `constants` have one value in all rows, whatever the columns say.

    The text of every grade is kept, as there are few, and that of the scores and ranks in `odd` rows.
    """
    rows = len(next(iter(columns.values())))
    table = {name: column for name, column in columns.items() if name not in constants} | dict(numbers)
    for name in numbers:
        if name == "relevance":
            table[WRITTEN[name]] = columns[name]
        elif odd is not None:
            table[WRITTEN[name]] = compute.if_else(odd, columns[name], None)
    return pa.table([_filled(field, table, constants, rows) for field in schema], schema)


def constant(value: str | None, kind: pa.DataType, rows: int) -> pa.Array:
    """The same value in all rows, null for text where numbers are expected."""
    if value is None:
        return pa.nulls(rows, kind)
    if kind != _FEW:
        text = pa.chunked_array([[value]])
        scalar = text[0] if kind == _MANY else _numbers("rank" if kind == _TYPES["rank"] else "score", text)[0]
        return pa.repeat(scalar, rows)
    return pa.DictionaryArray.from_arrays(pa.repeat(pa.scalar(0, pa.int32()), rows), pa.array([value], pa.string()))


def _numbers(name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The values as doubles, ranks as whole numbers of 32 bits; null for what is not a plain, finite number."""
    if pa.types.is_dictionary(column.type):
        encoded = column.combine_chunks()
        return _numbers(name, pa.chunked_array([encoded.dictionary])).take(encoded.indices)
    if _is_text(column):
        trimmed = compute.utf8_trim(column, _BLANKS)
        plain = compute.match_substring_regex(trimmed, _NUMBER)
        column = compute.if_else(plain, trimmed, pa.scalar(None, pa.string()))
    if name == "rank" and not _is_text(column):
        with contextlib.suppress(pa.ArrowInvalid):
            # As most ranks are; a fraction, or text that is not a number, cannot be cast.
            return column.cast(pa.int32())
    numbers = column.cast(pa.float64())
    if name == "rank":
        whole = compute.equal(numbers, compute.floor(numbers))
        in_range = compute.and_(compute.greater_equal(numbers, -_RANKS), compute.less(numbers, _RANKS))
        kept = compute.and_(whole, in_range)
    else:
        kept = compute.is_finite(numbers)
    if not compute.all(kept, skip_nulls=False).as_py():
        numbers = compute.if_else(kept, numbers, None)
    return numbers.cast(pa.int32()) if name == "rank" else compute.add(numbers, 0.0)


def _odd(name: str, column: pa.ChunkedArray) -> pa.ChunkedArray | None:
    """The rows that a rule may refuse because of this column alone; None if there are none."""
    if name in ("relevance", LINE):
        return None
    if name == FAULT:
        return compute.is_valid(column) if column.null_count < len(column) else None
    if name == "rank":
        odd = compute.less(column, 1)
    elif name == "score":
        return compute.is_null(column) if column.null_count else None
    else:
        odd = compute.equal(_decoded(column), "") if _has_empty(column) else compute.is_null(column)
    odd = compute.fill_null(odd, True)
    return odd if compute.any(odd).as_py() else None


def _has_empty(column: pa.ChunkedArray) -> bool:
    texts = (chunk.dictionary if pa.types.is_dictionary(column.type) else chunk for chunk in column.chunks)
    return any(compute.any(compute.equal(text, "")).as_py() for text in texts)


def _filled(field: pa.Field, table: Columns, constants: Constants, rows: int) -> pa.Array | pa.ChunkedArray:
    if field.name in table:
        column = table[field.name]
        encoded = field.type == _FEW and not pa.types.is_dictionary(column.type)
        return compute.dictionary_encode(column) if encoded else _decoded(column, field.type)
    return constant(constants.get(field.name), field.type, rows)


def _decoded(column: pa.ChunkedArray, kind: pa.DataType = _MANY) -> pa.ChunkedArray:
    return column if column.type == kind else column.cast(kind)


def _is_text(column: pa.ChunkedArray) -> bool:
    return bool(pa.types.is_string(column.type) or pa.types.is_dictionary(column.type))
