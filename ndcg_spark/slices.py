"""Slices: the queries with one value of an attribute, such as those in German. A query may be in several.

Slices are numbered, all queries are slice 0. A query without a value of an attribute is in its slice `(none)`.
"""

import dataclasses
from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ndcg_spark.schemas import NO_VALUE, query_key

#: The slice of all queries.
ALL = 0


@dataclasses.dataclass(frozen=True)
class Slices:
    """The slices of a table QUERY_ATTRIBUTES, and which queries are in them; only ALL without such a table."""

    #: The attribute and the value of each slice; those of ALL are null.
    names: pa.Table | None = None
    #: One row per query with an attribute: slices, the numbers of all that it is in.
    table: DataFrame | None = None

    def cut(self, table: DataFrame) -> DataFrame:
        """Each row of the table once for every slice of its query, with the column slice."""
        if self.table is None or self.names is None:
            return table.withColumn("slice", F.lit(ALL))
        nothing = F.array(*(F.lit(row["slice"]) for row in self.names.to_pylist() if row["value"] in (None, NO_VALUE)))
        joined = table.join(self.table, on=query_key(self.table.columns), how="left")
        return joined.select(*table.columns, F.explode(F.coalesce("slices", nothing)).alias("slice"))

    def named(self, table: DataFrame) -> DataFrame:
        """The table with the columns attribute and value in place of slice."""
        if self.names is None:
            nothing = F.lit(None).cast("string")
            return table.withColumns({"attribute": nothing, "value": nothing}).drop("slice")
        names = F.broadcast(table.sparkSession.createDataFrame(self.names))
        return table.join(names, on=["slice"], how="inner").drop("slice")


def make_slices(rows: pa.Table, as_dataframe: Callable[[pa.Table], DataFrame]) -> Slices:
    """The slices of a table QUERY_ATTRIBUTES that has been validated."""
    key, attributes = query_key(rows.column_names), rows["attribute"].unique().to_pylist()
    if not attributes:
        return Slices()
    queries = rows.group_by(key).aggregate([])
    for name in attributes:
        has = rows.filter(pc.equal(rows["attribute"], name)).select(key)
        lacking = queries.join(has, keys=key, join_type="left anti")
        nothing = {"attribute": name, "value": NO_VALUE}
        for column, value in nothing.items():
            lacking = lacking.append_column(column, pa.repeat(value, len(lacking)))
        rows = pa.concat_tables([rows, lacking])
    pairs = rows.group_by(["attribute", "value"]).aggregate([]).to_pylist()
    # The slice exists even if no row lacks a value, because queries without a value may have no row at all.
    known = {(row["attribute"], row["value"]) for row in pairs} | {(name, NO_VALUE) for name in attributes}
    columns = dict(zip(("attribute", "value"), zip((None, None), *sorted(known), strict=True), strict=True))
    names = pa.table({"slice": pa.array(range(ALL, ALL + 1 + len(known)), pa.int32()), **columns})
    numbered = rows.join(names, keys=["attribute", "value"], join_type="inner").select([*key, "slice"])
    everything = queries.append_column("slice", pa.repeat(pa.scalar(ALL, pa.int32()), len(queries)))
    lists = pa.concat_tables([everything, numbered]).group_by(key).aggregate([("slice", "list")])
    return Slices(names, as_dataframe(lists.rename_columns([*key, "slices"])))
