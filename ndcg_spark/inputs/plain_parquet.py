"""Parquet with types that an engine cannot read although their values are plain numbers or text.

No engine reads a file with a column of half-precision floats, durations, or times in nanoseconds as pandas writes them,
whether the column is wanted or not. The embedded engine cannot read pandas' categories (Arrow dictionaries) either, and
reads unsigned numbers but cannot hash them. Spark cannot read times of day, and decimals of more than 38 digits.
"""

from collections.abc import Iterable, Iterator, Mapping

import pyarrow as pa

from ndcg_spark.engine import Kind
from ndcg_spark.errors import InputError
from ndcg_spark.inputs.copying import empty
from ndcg_spark.inputs.files import File

_SIGNED = {pa.uint8(): pa.int16(), pa.uint16(): pa.int32(), pa.uint32(): pa.int64(), pa.uint64(): pa.decimal128(20)}


def must_be_copied(schemas: Iterable[Mapping[str, pa.DataType]], names: list[str], kind: Kind) -> bool:
    """Whether this kind of engine cannot read files with these columns, or misreads one of the wanted `names`."""
    unknown = [pa.types.is_float16, pa.types.is_duration, _is_in_nanoseconds]
    if kind == "embedded":
        unknown += [pa.types.is_dictionary, pa.types.is_fixed_size_binary]
    else:
        unknown += [pa.types.is_time, pa.types.is_decimal256]
    columns = [column for schema in schemas for column in schema.items()]
    unsigned = kind == "embedded" and any(name in names and found in _SIGNED for name, found in columns)
    return unsigned or any(is_unknown(part) for _, found in columns for part in _parts(found) for is_unknown in unknown)


def plain_batches(columns: list[str], file: File, where: str) -> Iterator[pa.RecordBatch]:
    """The wanted columns of a Parquet file with plain types, a part at a time, after a batch without rows.

    Raises
    ------
    InputError
        A wanted column is neither text nor a number, or there is no wanted column at all.
    OSError, ArrowException
        The file is damaged.
    """
    from pyarrow import parquet

    system, place = file.located(where)
    with parquet.ParquetFile(place, filesystem=system) as stored:
        plain = plain_columns(stored.schema_arrow, columns, f"{where}: {file.path}")
        yield empty(plain)
        for batch in stored.iter_batches(columns=plain.names):
            values = [batch[field.name].cast(field.type) for field in plain]
            yield pa.record_batch(values, schema=plain)


def plain_columns(schema: pa.Schema, names: list[str], where: str) -> pa.Schema:
    """The wanted columns with plain types; InputError if one is neither text nor a number, or none is there."""
    kept = [field for field in schema if field.name in names]
    if not kept:
        raise InputError(
            f"{where}: none of {', '.join(names)} is a column; it has {', '.join(schema.names)}; map names in the "
            "configuration with columns"
        )
    # Spark would take a duration for a number.
    wrong = [f"{field.name} is {field.type}" for field in kept if _is_no_scalar(field.type)]
    if wrong:
        raise InputError(
            f"{where}: {len(wrong)} column(s) of the wrong type, {', '.join(wrong)}; write numbers or text"
        )
    return pa.schema([pa.field(field.name, _plain_type(field.type)) for field in kept])


def _plain_type(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_dictionary(kind):
        return _plain_type(kind.value_type)
    if pa.types.is_fixed_size_binary(kind):
        return pa.binary()
    if pa.types.is_decimal256(kind):
        # Text keeps every digit, and is read as the nearest double.
        return pa.string()
    return pa.float32() if pa.types.is_float16(kind) else _SIGNED.get(kind, kind)


def _parts(kind: pa.DataType) -> Iterator[pa.DataType]:
    """The type, and the types that it is made of."""
    yield kind
    if pa.types.is_nested(kind):
        for number in range(kind.num_fields):
            yield from _parts(kind.field(number).type)


def _is_in_nanoseconds(kind: pa.DataType) -> bool:
    return (pa.types.is_timestamp(kind) or pa.types.is_time64(kind)) and bool(kind.unit == "ns")


def _is_no_scalar(kind: pa.DataType) -> bool:
    return bool(pa.types.is_nested(kind) or pa.types.is_temporal(kind))
