"""Tables about queries: the attributes that make slices, and weights. Files of any format but text without a header."""

from collections.abc import Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType

from ndcg_spark.engine import Engine
from ndcg_spark.errors import InputError
from ndcg_spark.inputs.aliases import resolved
from ndcg_spark.inputs.read import Source, read_query_table
from ndcg_spark.schemas import FAULT, INTERNAL, LINE, QUERY_ATTRIBUTES, QUERY_WEIGHTS
from ndcg_spark.table_config import AttributesConfig, TableConfig, WeightsConfig

ATTRIBUTES, WEIGHTS = "query_attributes", "query_weights"


def read_attributes(engine: Engine, paths: list[str], config: TableConfig | None = None) -> DataFrame:
    """QUERY_ATTRIBUTES, or query_id and a column for each attribute, as the files have them. Acts on text.

    `config` may map columns and name the format. InputError if the files cannot be read, or a line is broken.
    """
    config = config or AttributesConfig.model_validate({"path": paths})

    def schema(has: Sequence[str]) -> StructType:
        """All columns as text, the query under our own name, unless the table has a row per attribute."""
        if {"attribute", "value"} & {*has, *config.columns}:
            return QUERY_ATTRIBUTES
        key = resolved(config.columns, ["dataset", "query_id"], has, ATTRIBUTES)
        names = [*key, *(name for name in has if name not in key.values())]
        return StructType([StructField(name, StringType()) for name in names])

    return _whole(read_query_table(engine, ATTRIBUTES, config, paths, schema))


def read_weights(engine: Engine, paths: list[str], config: TableConfig | None = None) -> DataFrame:
    """QUERY_WEIGHTS as the files have it. Acts on text. As `read_attributes`."""
    config = config or WeightsConfig.model_validate({"path": paths})
    return _whole(read_query_table(engine, WEIGHTS, config, paths, lambda _: QUERY_WEIGHTS))


def _whole(source: Source) -> DataFrame:
    """The table, of which no line is broken. An action if one is."""
    table = source.table
    if FAULT in table.columns:
        counted = table.where(F.col(FAULT).isNotNull())
        broken = counted.agg(F.count("*").alias("lines"), F.min(LINE).alias("example")).first()
        if broken is not None and broken["lines"]:
            raise InputError(
                f"{source.name}: {broken['lines']:,} line(s) of {source.place} that are not rows, e.g. "
                f"{broken['example'][:100]!r}; correct them"
            )
    return table.select(*(name for name in table.columns if name not in INTERNAL))
