"""Parquet with types that an engine cannot read, though their values are plain: copied with plain types.

These are half-precision floats, durations, and times in nanoseconds, as pandas writes them, with which no engine reads
a file, wanted or not; on the embedded engine pandas' categories (Arrow dictionaries), and unsigned numbers, which it
reads and cannot hash; on Spark times of day, and decimals of more than 38 digits.
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import pyarrow as pa

from ndcg_spark.engine import Kind
from ndcg_spark.errors import InputError, first_line
from ndcg_spark.inputs.files import File
from ndcg_spark.inputs.storage import storage

_SIGNED = {pa.uint8(): pa.int16(), pa.uint16(): pa.int32(), pa.uint32(): pa.int64(), pa.uint64(): pa.decimal128(20)}


def must_be_copied(schemas: Iterable[Mapping[str, pa.DataType]], names: list[str], kind: Kind) -> bool:
    """Whether the engine cannot read files with such columns, or not as what they are; `names` are wanted of them."""
    unknown = [pa.types.is_float16, pa.types.is_duration, _is_in_nanoseconds]
    if kind == "embedded":
        unknown += [pa.types.is_dictionary, pa.types.is_fixed_size_binary]
    else:
        unknown += [pa.types.is_time, pa.types.is_decimal256]
    columns = [column for schema in schemas for column in schema.items()]
    unsigned = kind == "embedded" and any(name in names and found in _SIGNED for name, found in columns)
    return unsigned or any(is_unknown(part) for _, found in columns for part in _parts(found) for is_unknown in unknown)


def write_plain(columns: list[str], file: File, target: Path, where: str) -> None:
    """The wanted columns of a Parquet file with plain types, batch by batch.

    Raises
    ------
    InputError
        A damaged file, a wanted column that is no text and no number, or no wanted column at all.
    """
    from pyarrow import parquet as pq

    try:
        system, place = storage(file.path, where)
        with pq.ParquetFile(place, filesystem=system) as stored:
            plain = plain_columns(stored.schema_arrow, columns, f"{where}: {file.path}")
            with pq.ParquetWriter(target, plain) as writer:
                for batch in stored.iter_batches(columns=plain.names):
                    values = [batch[field.name].cast(field.type) for field in plain]
                    writer.write_batch(pa.record_batch(values, schema=plain))
    except pa.ArrowException as error:
        raise InputError(f"{where}: {file.path} cannot be read, {first_line(error)}; write it again") from error


def plain_columns(schema: pa.Schema, names: list[str], where: str) -> pa.Schema:
    """The wanted columns of a file with plain types.

    InputError where one is no text and no number, or none is there.
    """
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
    """The type, and those of what it is made of."""
    yield kind
    if pa.types.is_nested(kind):
        for number in range(kind.num_fields):
            yield from _parts(kind.field(number).type)


def _is_in_nanoseconds(kind: pa.DataType) -> bool:
    return (pa.types.is_timestamp(kind) or pa.types.is_time64(kind)) and bool(kind.unit == "ns")


def _is_no_scalar(kind: pa.DataType) -> bool:
    return bool(pa.types.is_nested(kind) or pa.types.is_temporal(kind))
