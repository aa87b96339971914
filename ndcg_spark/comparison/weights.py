"""Weights of queries, such as their share of the traffic."""

import dataclasses
from collections.abc import Mapping

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ndcg_spark.casting import conform
from ndcg_spark.errors import InputError
from ndcg_spark.schemas import QUERY_WEIGHTS, query_key

WHERE = "query_weights"
#: The range of a weight. Squares of weights outside it are 0 or infinite, and so are quotients of their sums.
LEAST, MOST = 1e-100, 1e100
_NAMES = "name its columns query_id and weight, or map them in a configuration, query_weights.columns"


@dataclasses.dataclass(frozen=True)
class Weights:
    """A table QUERY_WEIGHTS that fulfils its contract."""

    #: None without weights.
    table: DataFrame | None = None
    #: How many queries of each dataset have a weight; the dataset is null if the table names none.
    queries: Mapping[str | None, int] = dataclasses.field(default_factory=dict)

    @property
    def names_datasets(self) -> bool:
        """Whether the table names the dataset of each of its queries."""
        return self.table is not None and "dataset" in self.table.columns

    def put_on(self, table: DataFrame) -> DataFrame:
        """Each row of the table with the weight of its query, null where it has none."""
        if self.table is None:
            return table.withColumn("weight", F.lit(None).cast("double"))
        return table.join(self.table, on=query_key(self.table.columns), how="left")


def read(table: DataFrame) -> Weights:
    """The weights of a table QUERY_WEIGHTS. Runs a job.

    Raises
    ------
    InputError
        A column is missing, an id is empty, a query has two weights, or a weight is not from LEAST to MOST.
    """
    weights = conform(table, QUERY_WEIGHTS, WHERE, _NAMES)
    key = query_key(weights.columns)
    good = F.coalesce(F.col("weight").between(LEAST, MOST), F.lit(False))
    by_query = weights.groupBy(*key).agg(F.count("*").alias("rows"), F.count_if(~good).alias("bad"))
    dataset = F.col("dataset") if "dataset" in key else F.lit("-")
    empty = F.coalesce(F.col("query_id") == "", F.lit(True)) | F.coalesce(dataset == "", F.lit(True))
    counts = (
        by_query.withColumn("of", dataset)
        .groupBy("of")
        .agg(
            F.count("*").alias("queries"),
            F.count_if(empty).alias("empty"),
            F.sum("bad").alias("bad"),
            F.max(F.when(F.col("bad") > 0, F.col("query_id"))).alias("bad_query"),
            F.count_if(F.col("rows") > 1).alias("twice"),
            F.max(F.when(F.col("rows") > 1, F.col("query_id"))).alias("query"),
        )
        .collect()
    )
    total = {name: sum(row[name] for row in counts) for name in ("empty", "bad", "twice")}
    if total["empty"]:
        raise InputError(f"{WHERE}: {total['empty']:,} empty {' or '.join(key)}; every weight needs its query")
    if total["bad"]:
        query = next(row["bad_query"] for row in counts if row["bad"])
        raise InputError(
            f"{WHERE}: {total['bad']:,} weight(s) are not numbers from {LEAST:g} to {MOST:g}, e.g. of "
            f"query_id={query}; correct them, or leave these queries out"
        )
    if total["twice"]:
        query = next(row["query"] for row in counts if row["twice"])
        raise InputError(
            f"{WHERE}: {total['twice']:,} queries have more than one weight, e.g. query_id={query}; give each query one"
        )
    return Weights(weights, {row["of"] if "dataset" in key else None: row["queries"] for row in counts})
