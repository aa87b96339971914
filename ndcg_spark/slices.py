"""Slices: the queries with one value of an attribute, such as those in German. A query may be in several.

Slices are numbered, all queries are slice 0. A query without a value of an attribute is in its slice `(none)`.
"""

import dataclasses
from collections.abc import Mapping
from functools import reduce

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from ndcg_spark.casting import conform, quoted, refuse_alike
from ndcg_spark.errors import InputError
from ndcg_spark.schemas import QUERY_ATTRIBUTES, query_key

WHERE = "query_attributes"
_NAMES = "name its columns query_id, attribute and value, or map them in a configuration, query_attributes.columns"
#: The value of a query that has none.
NONE = "(none)"
#: The slice of all queries.
ALL = 0
#: More slices than this cannot be kinds of queries, and each slice costs a pass over all of its queries.
MAX_SLICES = 1_000

#: An attribute and a value; both are null for all queries.
Slice = tuple[str | None, str | None]

_KEY = ("dataset", "query_id")


@dataclasses.dataclass(frozen=True)
class Slices:
    """The slices of a table QUERY_ATTRIBUTES, and which queries are in them."""

    #: The attribute and the value of each slice; those of ALL are null.
    names: Mapping[int, Slice] = dataclasses.field(default_factory=lambda: {ALL: (None, None)})
    #: One row per query with an attribute: slices, the numbers of all that it is in. None without attributes.
    table: DataFrame | None = None

    def cut(self, table: DataFrame) -> DataFrame:
        """Each row of the table once for every slice of its query, with the column slice."""
        if self.table is None:
            return table.withColumn("slice", F.lit(ALL))
        nothing = F.array(*(F.lit(number) for number, (_, value) in self.names.items() if value in (None, NONE)))
        joined = table.join(self.table, on=query_key(self.table.columns), how="left")
        return joined.select(*table.columns, F.explode(F.coalesce("slices", nothing)).alias("slice"))

    def named(self, table: DataFrame) -> DataFrame:
        """The table with the columns attribute and value in place of slice."""
        if self.table is None:
            nothing = F.lit(None).cast("string")
            return table.withColumns({"attribute": nothing, "value": nothing}).drop("slice")
        names = _numbered(table.sparkSession, self.names)
        return table.join(names, on=["slice"], how="inner").drop("slice")


def _numbered(session: SparkSession, names: Mapping[int, Slice]) -> DataFrame:
    """The columns slice, attribute and value of these slices."""
    attributes, values = zip(*names.values(), strict=True)
    columns = {name: pa.array(column, pa.string()) for name, column in (("attribute", attributes), ("value", values))}
    return F.broadcast(session.createDataFrame(pa.table({"slice": pa.array(names, pa.int32()), **columns})))


def long(table: DataFrame) -> DataFrame:
    """QUERY_ATTRIBUTES of a table with a column for each attribute; a null has no row."""
    refuse_alike(table.columns, WHERE)
    attributes = [name for name in table.columns if name not in _KEY]
    pair = {"attribute", "value"}.intersection(attributes)
    if len(pair) == 2:
        return table
    if pair or not attributes or "query_id" not in table.columns:
        raise InputError(
            f"{WHERE}: columns {', '.join(table.columns)}; give query_id, attribute and value, or query_id and one "
            "column for each attribute, named after it"
        )
    cells = [
        F.struct(F.lit(name).alias("attribute"), F.col(quoted(name)).cast("string").alias("value"))
        for name in attributes
    ]
    key = [name for name in _KEY if name in table.columns]
    rows = table.select(*key, F.explode(F.array(*cells)).alias("cell")).select(*key, "cell.attribute", "cell.value")
    return rows.where(F.col("value").isNotNull())


def read(table: DataFrame) -> Slices:
    """The slices of a table QUERY_ATTRIBUTES, or of one with a column for each attribute. Runs a job.

    InputError if a column is missing, a value is null or empty, a query has a value twice, or there are more than
    MAX_SLICES slices.
    """
    rows = conform(long(table), QUERY_ATTRIBUTES, WHERE, _NAMES)
    key = query_key(rows.columns)
    is_empty = reduce(Column.__or__, (F.coalesce(F.col(name) == "", F.lit(True)) for name in rows.columns))
    again = F.count(F.lit(1)) - F.count_distinct(*key)
    by_value = rows.groupBy("attribute", "value").agg(F.count_if(is_empty).alias("empty"), again.alias("again"))
    groups = by_value.orderBy(F.desc("empty"), F.desc("again"), "attribute", "value").limit(MAX_SLICES + 1).collect()
    example = f"e.g. {groups[0]['attribute']}={groups[0]['value']}" if groups else ""
    if empty := sum(row["empty"] for row in groups):
        raise InputError(
            f"{WHERE}: {empty:,} row(s) with an empty {', '.join(rows.columns[:-1])} or value; a query without a value "
            "needs no row"
        )
    if len(groups) > MAX_SLICES:
        raise InputError(f"{WHERE}: more than {MAX_SLICES:,} slices, {example}; group them")
    if repeated := sum(row["again"] for row in groups):
        raise InputError(f"{WHERE}: {repeated:,} row(s) are repeated, {example}; give each row once")
    pairs = sorted((row["attribute"], row["value"]) for row in groups)
    attributes = dict.fromkeys(attribute for attribute, _ in pairs)
    # The slice exists even if no row lacks a value, because queries without a value may have no row at all.
    slices = list(dict.fromkeys([*pairs, *((attribute, NONE) for attribute in attributes)]))
    names: dict[int, Slice] = {ALL: (None, None), **dict(enumerate(slices, ALL + 1))}
    nothing = F.array().cast("array<int>")
    lacking = [
        F.when(F.count_if(F.col("attribute") == F.lit(attribute)) == 0, F.array(F.lit(number))).otherwise(nothing)
        for number, (attribute, value) in names.items()
        if value == NONE
    ]
    numbered = rows.join(_numbered(rows.sparkSession, names), on=["attribute", "value"], how="inner")
    numbers = F.concat(F.array(F.lit(ALL)), F.collect_list("slice"), *lacking)
    return Slices(names, numbered.groupBy(*key).agg(numbers.alias("slices")))
