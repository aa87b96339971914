"""The schema that Spark would find in Parquet files, from footers that this process has read already.

To find it, Spark runs a job for every table that reads a footer: with starting the first job of all, one second of a
small evaluation's fifteen.
"""

import json
from collections.abc import Sequence

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql.types import (
    BooleanType,
    ByteType,
    DataType,
    DoubleType,
    FloatType,
    IntegerType,
    LongType,
    ShortType,
    StringType,
    StructField,
    StructType,
)

from ndcg_spark.inputs.footers import Footer

#: The types about which Arrow and Spark cannot differ, whatever the settings of the session.
_TYPES: dict[pa.DataType, DataType] = {
    pa.string(): StringType(),
    pa.large_string(): StringType(),
    pa.bool_(): BooleanType(),
    pa.int8(): ByteType(),
    pa.int16(): ShortType(),
    pa.int32(): IntegerType(),
    pa.int64(): LongType(),
    pa.float32(): FloatType(),
    pa.float64(): DoubleType(),
}


def known_schema(found: Sequence[Footer]) -> StructType | None:
    """The schema of Parquet files with these footers; None if they differ, or only Spark can tell."""
    first = found[0] if found else None
    if first is None or any((footer.columns, footer.of_spark) != (first.columns, first.of_spark) for footer in found):
        return None
    if not all(kind in _TYPES for kind in first.columns.values()):
        return None
    schema = StructType([StructField(name, _TYPES[kind]) for name, kind in first.columns.items()])
    return schema if first.of_spark is None or _is_plain(first.of_spark, schema) else None


def _is_plain(of_spark: str, schema: StructType) -> bool:
    """Whether Spark, which wrote a file, means no more by its columns: a whole number can be an interval."""
    try:
        declared = StructType.fromJson(json.loads(of_spark))
    except (ValueError, KeyError, TypeError, AttributeError, PySparkException):
        return False
    return [(field.name, field.dataType, field.metadata) for field in declared] == [
        (field.name, field.dataType, {}) for field in schema
    ]
