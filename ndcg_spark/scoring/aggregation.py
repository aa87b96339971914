"""Query scores become dataset scores."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

_KEY = ["dataset", "evaluated_on", "run", "cutoff"]


def dataset_scores(query_scores: DataFrame) -> DataFrame:
    """One row per dataset, date, run and cutoff: the mean and pooled NDCG, and what they are means of.

    `queries` counts the queries with an NDCG; ndcg, ndcg_pooled, ndcg_stddev (of the sample, null for one query) and
    dcg (the mean) are of those, null where there are none. judged_rate is of all rows, null where nothing is returned.
    """
    counted = F.col("ndcg").isNotNull()
    ideal = F.sum(F.when(counted, F.col("ideal_dcg")))
    return query_scores.groupBy(*_KEY).agg(
        F.count("ndcg").alias("queries"),
        F.count_if(F.col("status") == "missing").alias("missing_queries"),
        F.count_if(F.col("status") == "no_relevant").alias("no_relevant_queries"),
        F.avg("ndcg").alias("ndcg"),
        _ratio(F.sum(F.when(counted, F.col("dcg"))), ideal).alias("ndcg_pooled"),
        F.stddev_samp("ndcg").alias("ndcg_stddev"),
        F.avg(F.when(counted, F.col("dcg"))).alias("dcg"),
        _ratio(F.sum("judged"), F.sum("returned")).alias("judged_rate"),
    )


def with_every_run(scores: DataFrame, runs: DataFrame, cutoffs: list[int | None]) -> DataFrame:
    """The scores with a row for every run and cutoff, and unjudged_queries, from `runs`.

    `runs` has dataset, evaluated_on, run and unjudged_queries. A run of which no query was judged has counts of 0 and
    null scores.
    """
    # A join never finds null, and the whole ranking is cutoff null: 0 stands for it here.
    expected = runs.withColumn("at", F.explode(F.array(*(F.lit(cutoff or 0) for cutoff in cutoffs))))
    found = scores.withColumn("at", F.coalesce("cutoff", F.lit(0))).drop("cutoff")
    joined = expected.join(found, on=["dataset", "evaluated_on", "run", "at"], how="left")
    counts = ["queries", "missing_queries", "no_relevant_queries"]
    return joined.withColumns(
        {"cutoff": F.nullif("at", F.lit(0)), **{name: F.coalesce(name, F.lit(0).cast("bigint")) for name in counts}}
    )


def _ratio(part: Column, whole: Column) -> Column:
    """A quotient that is null, not an error, where there is nothing to divide by."""
    return F.when(whole != 0, part / whole)
