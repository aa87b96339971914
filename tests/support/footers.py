"""Parquet files with footers as other writers write them: Thrift's compact protocol, read, changed and written again.

A struct is a dictionary of its fields, each with its type and value; a list is the type of its values, and these.
"""

import io
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import parquet

_TRUE, _FALSE, _BYTE, _I16, _I32, _I64, _DOUBLE, _BINARY, _LIST, _SET, _MAP, _STRUCT = range(1, 13)
#: The fields of parquet.thrift: FileMetaData, RowGroup, ColumnChunk and ColumnMetaData.
_ROW_GROUPS, _CREATED_BY, _COLUMN_ORDERS = 4, 6, 7
_COLUMNS, _META_DATA, _STATISTICS = 1, 3, 12
#: The fields of Statistics; the first two are those of parquet-mr before 1.10, which have no order.
_OLD_MAX, _OLD_MIN, _NULL_COUNT, _MAX_VALUE, _MIN_VALUE, _EXACT_MAX, _EXACT_MIN = (
    1,
    2,
    3,
    5,
    6,
    7,
    8,
)

Struct = dict[int, tuple[int, Any]]


def without_null_counts(statistics: Struct) -> Struct:
    return {field: value for field, value in statistics.items() if field != _NULL_COUNT}


def deprecated(statistics: Struct) -> Struct:
    """The minimum and maximum where parquet-mr had them before 1.10, and no number of nulls."""
    moved = {_OLD_MAX: _MAX_VALUE, _OLD_MIN: _MIN_VALUE}
    return {old: statistics[new] for old, new in moved.items() if new in statistics}


def as_written(statistics: Struct) -> Struct:
    """As pyarrow writes them: with the number of nulls, and NaN left out of the minimum and maximum."""
    return statistics


#: By name, what writers make of the statistics of a column.
WRITERS: dict[str, Callable[[Struct], Struct]] = {
    "no null counts": without_null_counts,
    "parquet-mr before 1.10": deprecated,
    "NaN left out": as_written,
}


def write(path: Path, columns: dict[str, Any] | pa.Table, writer: str) -> Path:
    """The columns as a file of Parquet whose footer is that of a writer of WRITERS."""
    path.parent.mkdir(parents=True, exist_ok=True)
    table = columns if isinstance(columns, pa.Table) else pa.table(columns)
    parquet.write_table(table, path, store_schema=False)
    stored = path.read_bytes()
    length = int.from_bytes(stored[-8:-4], "little")
    footer = _read_struct(io.BytesIO(stored[-8 - length : -8]))
    for group in footer[_ROW_GROUPS][1][1]:
        for column in group[_COLUMNS][1][1]:
            meta_data = column[_META_DATA][1]
            if _STATISTICS in meta_data:
                meta_data[_STATISTICS] = (_STRUCT, WRITERS[writer](meta_data[_STATISTICS][1]))
    if WRITERS[writer] is deprecated:
        footer[_CREATED_BY] = (_BINARY, b"parquet-mr version 1.8.3 (build 1)")
        footer.pop(_COLUMN_ORDERS, None)
    out = io.BytesIO()
    _write_struct(out, footer)
    changed = out.getvalue()
    path.write_bytes(stored[: -8 - length] + changed + len(changed).to_bytes(4, "little") + b"PAR1")
    return path


def _read_struct(stream: io.BytesIO) -> Struct:
    fields: Struct = {}
    field = 0
    while header := stream.read(1)[0]:
        kind, step = header & 15, header >> 4
        field = field + step if step else _signed(_read_number(stream))
        value = kind == _TRUE if kind in (_TRUE, _FALSE) else _read_value(stream, kind)
        fields[field] = (kind, value)
    return fields


def _read_value(stream: io.BytesIO, kind: int) -> Any:
    if kind in (_TRUE, _FALSE, _BYTE):
        return stream.read(1)
    if kind in (_I16, _I32, _I64):
        return _signed(_read_number(stream))
    if kind == _DOUBLE:
        return struct.unpack("<d", stream.read(8))[0]
    if kind == _BINARY:
        return stream.read(_read_number(stream))
    if kind == _LIST:
        header = stream.read(1)[0]
        size = header >> 4 if header >> 4 < 15 else _read_number(stream)
        return header & 15, [_read_value(stream, header & 15) for _ in range(size)]
    assert kind == _STRUCT, (
        f"the footer has a field of type {kind}, which this reader does not know"
    )
    return _read_struct(stream)


def _read_number(stream: io.BytesIO) -> int:
    number = shift = 0
    while True:
        byte = stream.read(1)[0]
        number |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return number


def _signed(number: int) -> int:
    return (number >> 1) ^ -(number & 1)


def _write_struct(out: io.BytesIO, fields: Struct) -> None:
    last = 0
    for field in sorted(fields):
        kind, value = fields[field]
        out.write(bytes([(field - last) << 4 | kind]))
        if kind not in (_TRUE, _FALSE):
            _write_value(out, kind, value)
        last = field
    out.write(b"\0")


def _write_value(out: io.BytesIO, kind: int, value: Any) -> None:
    if kind in (_TRUE, _FALSE, _BYTE):
        out.write(value)
    elif kind in (_I16, _I32, _I64):
        _write_number(out, value << 1 if value >= 0 else (-value << 1) - 1)
    elif kind == _DOUBLE:
        out.write(struct.pack("<d", value))
    elif kind == _BINARY:
        _write_number(out, len(value))
        out.write(value)
    elif kind == _LIST:
        of, values = value
        out.write(bytes([min(len(values), 15) << 4 | of]))
        if len(values) >= 15:
            _write_number(out, len(values))
        for one in values:
            _write_value(out, of, one)
    else:
        _write_struct(out, value)


def _write_number(out: io.BytesIO, number: int) -> None:
    while number > 127:
        out.write(bytes([number & 127 | 128]))
        number >>= 7
    out.write(bytes([number]))
