"""Parquet with types that an engine cannot read, though their values are plain: copied with plain types.

These are pandas' categories (Arrow dictionaries), which the embedded engine cannot read, nor any file with such a
column; unsigned numbers, which it reads and cannot hash; and half-precision floats, which no engine can.
"""

import atexit
import shutil
import tempfile
from collections.abc import Iterable

import pyarrow as pa
from pyspark.sql import DataFrame

from ndcg_spark.engine import Engine, Kind
from ndcg_spark.errors import InputError, first_line
from ndcg_spark.inputs.files import File, storage
from ndcg_spark.inputs.loading import loaded

_SIGNED = {pa.uint8(): pa.int16(), pa.uint16(): pa.int32(), pa.uint32(): pa.int64(), pa.uint64(): pa.decimal128(20)}


def must_be_copied(schemas: Iterable[pa.Schema], names: list[str], kind: Kind) -> bool:
    """Whether the engine cannot read files with such columns, or not as what they are; `names` are wanted of them."""
    unknown = [pa.types.is_float16, pa.types.is_duration]
    if kind == "embedded":
        unknown += [pa.types.is_dictionary, pa.types.is_fixed_size_binary]
    columns = [column for schema in schemas for column in schema]
    unsigned = kind == "embedded" and any(column.name in names and column.type in _SIGNED for column in columns)
    return unsigned or any(is_unknown(column.type) for column in columns for is_unknown in unknown)


def copied(engine: Engine, group: list[File], names: list[str], where: str) -> DataFrame:
    """The wanted columns of the files with plain types, from a folder of Parquet that ends with the process.

    Raises
    ------
    InputError
        A damaged file, a wanted column that is a duration, or no wanted column at all.
    """
    from pyarrow import parquet as pq

    folder = tempfile.mkdtemp(prefix="ndcg-spark-parquet-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    for number, file in enumerate(group):
        try:
            system, place = storage(file.path, where)
            with pq.ParquetFile(place, filesystem=system) as stored:
                plain = _plain(stored.schema_arrow, names, f"{where}: {file.path}")
                with pq.ParquetWriter(f"{folder}/{number:06}.parquet", plain) as writer:
                    for batch in stored.iter_batches(columns=plain.names):
                        columns = [batch[field.name].cast(field.type) for field in plain]
                        writer.write_batch(pa.record_batch(columns, schema=plain))
        except (OSError, pa.ArrowException) as error:
            raise InputError(f"{where}: {file.path} cannot be read, {first_line(error)}; write it again") from error
    return loaded(engine, "parquet", [folder], where)


def _plain(schema: pa.Schema, names: list[str], where: str) -> pa.Schema:
    kept = [field for field in schema if field.name in names]
    if not kept:
        raise InputError(f"{where}: none of {', '.join(names)} is a column; it has {', '.join(schema.names)}")
    # Spark would take a duration for a number.
    wrong = [f"{field.name} is {field.type}" for field in kept if pa.types.is_duration(field.type)]
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
    return pa.float32() if pa.types.is_float16(kind) else _SIGNED.get(kind, kind)
