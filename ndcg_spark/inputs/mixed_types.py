"""Finds one type for a column that has different types in several files or tables.

No value changes: a number becomes the double that `rules.typed` converts it to, and an id becomes
text. So the same rows have the same scores and the same fingerprint, whatever types the files have.
"""

from collections.abc import Collection, Iterable, Sequence

import pyarrow as pa
from pyarrow import compute

from ndcg_spark.inputs.column_names import is_alias

_IDS = ("dataset", "run", "query_id", "doc_id")
_NUMBERS = ("relevance", "score", "rank", "weight")


def is_list(kind: pa.DataType) -> bool:
    """Whether the values are lists of any kind."""
    if pa.types.is_fixed_size_list(kind):
        return True
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind))


def is_whole(kind: pa.DataType) -> bool:
    """Whether the values are whole numbers, including decimals without decimal places."""
    if pa.types.is_decimal(kind):
        return bool(kind.scale == 0)
    return bool(pa.types.is_integer(kind))


def common_type(name: str, kinds: Iterable[pa.DataType]) -> pa.DataType | None:
    """Return a type for a column that has these types, or None if no type fits all values.

    `name` is our name of the column, or an alias of it.
    """
    # A column of nulls fits every type.
    distinct = [kind for kind in dict.fromkeys(kinds) if not pa.types.is_null(kind)]
    if not distinct:
        return pa.string()
    if len(distinct) == 1:
        return distinct[0]
    if all(map(is_list, distinct)):
        return _common_list(name, distinct)
    if all(map(pa.types.is_struct, distinct)):
        return _common_struct(distinct)
    return _common_plain_type(name, distinct)


def _common_list(name: str, kinds: Sequence[pa.DataType]) -> pa.DataType | None:
    """Return a type for lists, or None if no type fits their values."""
    value = common_type(name, [kind.value_type for kind in kinds])
    if value is None:
        return None
    return pa.list_(value)


def _common_struct(kinds: Sequence[pa.DataType]) -> pa.DataType:
    """Return a struct type without the fields for which no type fits."""
    fields = []
    for name, found in _types_by_name(kinds).items():
        kind = common_type(name, found)
        if kind is not None:
            fields.append((name, kind))
    return pa.struct(fields)


def _common_plain_type(name: str, kinds: Collection[pa.DataType]) -> pa.DataType | None:
    """Return a type for values that are neither lists nor structs, or None."""
    if any(is_alias(ours, name) for ours in _IDS):
        return _common_id(kinds)
    if any(is_alias(ours, name) for ours in _NUMBERS):
        return _common_number(kinds)
    return _common_date(kinds)


def _common_id(kinds: Collection[pa.DataType]) -> pa.DataType | None:
    """Return a type for ids, or None if some types are not types of ids."""
    if all(map(pa.types.is_signed_integer, kinds)):
        return pa.int64()
    if all(is_whole(kind) or pa.types.is_string(kind) for kind in kinds):
        return pa.string()
    return None


def _common_number(kinds: Collection[pa.DataType]) -> pa.DataType | None:
    """Return a type for numbers, or None if some types are neither numbers nor text."""
    if all(map(pa.types.is_signed_integer, kinds)):
        return pa.int64()
    if not all(map(_is_number_or_text, kinds)):
        return None
    if any(map(pa.types.is_string, kinds)):
        # As text, a value that is not a number can be shown as it is.
        return pa.string()
    return pa.float64()


def _is_number_or_text(kind: pa.DataType) -> bool:
    is_fraction = pa.types.is_floating(kind) or pa.types.is_decimal(kind)
    return bool(is_fraction or pa.types.is_integer(kind) or pa.types.is_string(kind))


def _common_date(kinds: Collection[pa.DataType]) -> pa.DataType | None:
    """Return the type for dates of scores, which pandas stores as times.

    Return None if a type is neither a date nor a time without a time zone.
    """
    if all(map(_is_date, kinds)):
        return pa.timestamp("us")
    return None


def _is_date(kind: pa.DataType) -> bool:
    """Whether the values are dates, or times without a time zone."""
    if pa.types.is_timestamp(kind):
        return kind.tz is None
    return bool(pa.types.is_date(kind))


def _types_by_name(schemas: Iterable[Iterable[pa.Field]]) -> dict[str, list[pa.DataType]]:
    """Return the types of the fields with the same name."""
    types = dict[str, list[pa.DataType]]()
    for schema in schemas:
        for field in schema:
            types.setdefault(field.name, []).append(field.type)
    return types


def as_type(values: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return the values in a type that `common_type` or `memory.plain_type` has returned."""
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    own = values.type
    if own == kind or pa.types.is_null(own):
        return values.cast(kind)
    if all(map(is_list, (own, kind))):
        return _as_lists(values, kind)
    if all(map(pa.types.is_struct, (own, kind))):
        return _as_structs(values, kind)
    if pa.types.is_decimal(own):
        # Text becomes the nearest double, but a direct cast often gives a neighbour of it.
        return values.cast(pa.string()).cast(kind)
    if pa.types.is_floating(own) and pa.types.is_string(kind):
        # The text of a float32 would be read as a different double.
        return values.cast(pa.float64()).cast(kind)
    # A whole number beyond 2^53 becomes the nearest double.
    is_rounded = pa.types.is_integer(own) and pa.types.is_floating(kind)
    return values.cast(kind, safe=not is_rounded)


def _as_lists(values: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return lists whose elements have the type of the lists in `kind`."""
    # A list's offset is where its elements begin; the last one is the number of elements.
    lengths = compute.fill_null(compute.list_value_length(values), 0)
    ends = compute.cumulative_sum(lengths.cast(pa.int32()))
    offsets = pa.concat_arrays([pa.array([0], pa.int32()), ends])
    elements = as_type(values.flatten(), kind.value_type)
    return pa.ListArray.from_arrays(offsets, elements, kind, mask=values.is_null())


def _as_structs(values: pa.Array, kind: pa.DataType) -> pa.Array:
    """Return structs with the fields of `kind`; a missing field is null."""
    names = values.type.names
    fields = dict(zip(names, values.flatten(), strict=True))
    columns = []
    for field in kind:
        column = fields.get(field.name, pa.nulls(len(values)))
        columns.append(as_type(column, field.type))
    return pa.StructArray.from_arrays(columns, fields=list(kind), mask=values.is_null())


def concatenated(tables: Iterable[pa.Table]) -> pa.Table:
    """Return the rows of tables that may have different types.

    Raise ArrowInvalid if no type fits.
    """
    parts = list(tables)
    schemas = [part.schema for part in parts]
    for name, kinds in _types_by_name(schemas).items():
        kind = common_type(name, kinds)
        has_different_types = len(set(kinds)) > 1
        if has_different_types and kind is not None:
            parts = [_with_type(part, name, kind) for part in parts]
    return pa.concat_tables(parts, promote_options="permissive")


def _with_type(table: pa.Table, name: str, kind: pa.DataType) -> pa.Table:
    """Return the table with this type for the column `name`, if it has that column."""
    at = table.schema.get_field_index(name)
    if at < 0:
        return table
    chunks = [as_type(chunk, kind) for chunk in table[at].chunks]
    return table.set_column(at, name, pa.chunked_array(chunks, kind))
