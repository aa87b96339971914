"""MLlib's RankingMetrics on classic Spark. The convention is `mllib_binary`. Writes nothing.

The lists are made by DataFrames and handed to the JVM as they are: the documented Python constructor would take every
document through Python first, and is several times slower.
"""

from collections.abc import Mapping

from peer import main
from pyspark.mllib.common import callMLlibFunc
from pyspark.sql import SparkSession
from pyspark.sql import functions as F
from session import classic


def scores(judgments: str, results: str, _: str, cutoffs: list[int]) -> Mapping[int, float]:
    """Mean NDCG at every cutoff, of one run."""
    with classic() as spark:
        return means(spark, judgments, results, cutoffs)


def means(spark: SparkSession, judgments: str, results: str, cutoffs: list[int]) -> Mapping[int, float]:
    """The same, in a session that is there."""
    judged, returned = spark.read.parquet(judgments), spark.read.parquet(results)
    # Null is not collected: a query without a relevant document has an empty list.
    relevant = F.collect_list(F.when(F.col("relevance") > 0, F.col("doc_id")))
    best = F.slice(F.sort_array(F.collect_list(F.struct("score", "doc_id")), asc=False), 1, max(cutoffs))
    labels = judged.groupBy("query_id").agg(relevant.alias("labels"))
    lists = returned.groupBy("query_id").agg(best.getField("doc_id").alias("documents"))
    both = labels.join(lists, "query_id", "left")
    both = both.select(F.coalesce("documents", F.array().cast("array<string>")).alias("documents"), "labels")
    if len(cutoffs) > 1:
        both = both.cache()
    metrics = callMLlibFunc("newRankingMetrics", both._jdf)
    return {k: metrics.ndcgAt(k) for k in cutoffs}


if __name__ == "__main__":
    main(scores)
