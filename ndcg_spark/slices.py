"""Slices: the queries with one value of an attribute, such as those in German. A query may be in several.

Slices are numbered, all queries are slice 0. A query without a value of an attribute is in its slice `(none)`.
"""

import dataclasses
from collections.abc import Mapping
from functools import reduce

import pyarrow as pa
from pyspark.sql import Column, DataFrame
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
MOST = 1_000

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
        attributes, values = zip(*self.names.values(), strict=True)
        columns = {
            "slice": pa.array(self.names, pa.int32()),
            "attribute": pa.array(attributes, pa.string()),
            "value": pa.array(values, pa.string()),
        }
        names = F.broadcast(table.sparkSession.createDataFrame(pa.table(columns)))
        return table.join(names, on=["slice"], how="inner").drop("slice")


def long(table: DataFrame) -> DataFrame:
    """QUERY_ATTRIBUTES of a table with a column for each attribute; a null has no row."""
    refuse_alike(table.columns, WHERE)
    names = set(table.columns)
    if {"attribute", "value"} <= names:
        return table
    if {"attribute", "value"} & names:
        raise InputError(
            f"{WHERE}: only one of the columns attribute and value, of {', '.join(table.columns)}; give both, or one "
            "column for each attribute, named after it"
        )
    attributes = [name for name in table.columns if name not in _KEY]
    if "query_id" not in names or not attributes:
        raise InputError(
            f"{WHERE}: no query_id, or no other column, in {', '.join(table.columns)}; give query_id, attribute and "
            "value, or query_id and one column for each attribute"
        )
    cells = [
        F.struct(F.lit(name).alias("attribute"), F.col(quoted(name)).cast("string").alias("value"))
        for name in attributes
    ]
    key = [name for name in _KEY if name in names]
    rows = table.select(*key, F.explode(F.array(*cells)).alias("cell")).select(*key, "cell.attribute", "cell.value")
    return rows.where(F.col("value").isNotNull())


def read(table: DataFrame) -> Slices:
    """The slices of a table QUERY_ATTRIBUTES, or of one with a column for each attribute. Runs jobs.

    Raises
    ------
    InputError
        A column is missing, a value is null or empty, a query has a value twice, or there are more than MOST slices.
    """
    rows = conform(long(table), QUERY_ATTRIBUTES, WHERE, _NAMES)
    is_empty = reduce(Column.__or__, (F.coalesce(F.col(name) == "", F.lit(True)) for name in rows.columns))
    by_value = rows.groupBy("attribute", "value").agg(F.count_if(is_empty).alias("empty"))
    found = by_value.orderBy(F.desc("empty"), "attribute", "value").limit(MOST + 1).collect()
    empty = sum(row["empty"] for row in found)
    if empty:
        raise InputError(
            f"{WHERE}: {empty:,} row(s) with an empty {', '.join(rows.columns[:-1])} or value; a query without a value "
            "needs no row"
        )
    if len(found) > MOST:
        raise InputError(
            f"{WHERE}: more than {MOST:,} slices, e.g. {found[0]['attribute']}={found[0]['value']}; group them"
        )
    pairs = sorted((row["attribute"], row["value"]) for row in found)
    attributes = dict.fromkeys(attribute for attribute, _ in pairs)
    # The slice exists even if no row lacks a value, because queries without a value may have no row at all.
    every = list(dict.fromkeys([*pairs, *((attribute, NONE) for attribute in attributes)]))
    names = {ALL: (None, None), **dict(enumerate(every, ALL + 1))}
    of_queries = _of_queries(rows, names)
    _refuse_repeated(of_queries)
    return Slices(names, of_queries)


def _of_queries(rows: DataFrame, names: Mapping[int, Slice]) -> DataFrame:
    """One row per query with a value: slices, the numbers of its slices and of ALL; times, how often it has each."""
    numbers = {pair: number for number, pair in names.items() if number != ALL}
    columns = {
        "attribute": pa.array([attribute for attribute, _ in numbers], pa.string()),
        "value": pa.array([value for _, value in numbers], pa.string()),
        "number": pa.array(numbers.values(), pa.int32()),
    }
    numbered = rows.join(
        F.broadcast(rows.sparkSession.createDataFrame(pa.table(columns))), on=["attribute", "value"], how="inner"
    )
    empty = F.array().cast("array<int>")
    lacking = [
        F.when(F.count_if(F.col("attribute") == F.lit(attribute)) == 0, F.array(F.lit(number))).otherwise(empty)
        for (attribute, value), number in numbers.items()
        if value == NONE
    ]
    own = F.collect_list("number")
    return numbered.groupBy(*query_key(rows.columns)).agg(
        F.concat(F.array(F.lit(ALL)), own, *lacking).alias("slices"),
        (F.size(own) - F.size(F.array_distinct(own))).alias("again"),
    )


def _refuse_repeated(of_queries: DataFrame) -> None:
    """InputError if a query has a value twice. Runs a job."""
    example = F.max(F.when(F.col("again") > 0, F.col("query_id")))
    ((again, query),) = of_queries.agg(F.sum("again"), example).collect()
    if again:
        raise InputError(f"{WHERE}: {again:,} row(s) are repeated, e.g. of query_id={query}; give each row once")
