"""Which queries two nights have judged alike, told from the judgments_hash of their QUERY_SCORES."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ndcg_spark.comparison.sides import Changes


def changes(scores: DataFrame, baseline: DataFrame) -> Changes:
    """How many queries of either night are not judged as in the other. Runs a job.

    A query that only one of them has judged has changed.
    """
    both = _hashes(scores, "ours").join(_hashes(baseline, "theirs"), on=["query_id"], how="full")
    changed = ~F.col("ours").eqNullSafe(F.col("theirs"))
    row = both.agg(
        F.count("*").alias("queries"),
        F.count_if(changed).alias("changed"),
        F.min(F.when(changed, F.col("query_id"))).alias("example"),
    ).collect()[0]
    return Changes(row["queries"], row["changed"], row["example"])


def unchanged(scores: DataFrame, baseline: DataFrame) -> DataFrame:
    """One row per query that both nights have judged alike, in no order: query_id."""
    both = _hashes(scores, "ours").join(_hashes(baseline, "theirs"), on=["query_id"], how="inner")
    return both.where(F.col("ours") == F.col("theirs")).select("query_id")


def only_of(scores: DataFrame, queries: DataFrame) -> DataFrame:
    """The scores of these queries."""
    return scores.join(queries, on=["query_id"], how="left_semi")


def _hashes(scores: DataFrame, name: str) -> DataFrame:
    """One row per judged query of a night: query_id, and the hash of its judgments under this name.

    Every run has a row for every judged query at every cutoff, and all of them have the same hash.
    """
    return scores.groupBy("query_id").agg(F.max("judgments_hash").alias(name))
