"""Which types of Arrow every engine reads, and the plain types that take the place of the others.

No engine reads a file with a column of half-precision floats, durations, or times in nanoseconds as pandas writes them,
whether the column is wanted or not. Some read neither pandas' categories (Arrow dictionaries) nor times of day, and
hash no unsigned numbers.
"""

from collections.abc import Callable, Collection, Iterable

import pyarrow as pa

_WIDER = {
    pa.uint8(): pa.int16(),
    pa.uint16(): pa.int32(),
    pa.uint32(): pa.int64(),
    pa.uint64(): pa.decimal128(20),
    pa.float16(): pa.float32(),
    pa.large_string(): pa.string(),
    pa.string_view(): pa.string(),
    pa.large_binary(): pa.binary(),
    pa.binary_view(): pa.binary(),
}
_Tests = tuple[Callable[[pa.DataType], bool], ...]
_IS_LIST: _Tests = (
    *(pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list),
    *(pa.types.is_list_view, pa.types.is_large_list_view),
)
_IS_UNREADABLE: _Tests = (
    *(pa.types.is_float16, pa.types.is_duration, pa.types.is_dictionary, pa.types.is_fixed_size_binary),
    *(pa.types.is_time, pa.types.is_decimal256),
)


def is_list(kind: pa.DataType) -> bool:
    """Whether the values are lists, however they are stored."""
    return any(test(kind) for test in _IS_LIST)


def holds_structs(kind: pa.DataType) -> bool:
    """Whether the values are lists of structs, whose fields may be columns of ours."""
    return is_list(kind) and bool(pa.types.is_struct(kind.value_type))


def plain_type(kind: pa.DataType) -> pa.DataType:
    """The type with which every engine reads the same values; the type itself if it is one, or there is none."""
    if pa.types.is_dictionary(kind):
        return plain_type(kind.value_type)
    if is_list(kind):
        return pa.list_(plain_type(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([(field.name, plain_type(field.type)) for field in kind])
    if pa.types.is_fixed_size_binary(kind):
        return pa.binary()
    # Text keeps every digit, and is read as the nearest double.
    return pa.string() if pa.types.is_decimal256(kind) else _WIDER.get(kind, kind)


def are_readable(columns: Iterable[tuple[str, pa.DataType]], names: Collection[str]) -> bool:
    """Whether every engine reads files with these columns, and reads the wanted `names` among them rightly."""
    return not any(
        _is_unreadable(kind) or (name in names and pa.types.is_unsigned_integer(kind)) for name, kind in columns
    )


def _is_unreadable(kind: pa.DataType) -> bool:
    """Whether some engine cannot read a file with a column of this type, or of a part of it."""
    if any(test(kind) for test in _IS_UNREADABLE) or (pa.types.is_timestamp(kind) and kind.unit == "ns"):
        return True
    return pa.types.is_nested(kind) and any(_is_unreadable(kind.field(at).type) for at in range(kind.num_fields))
