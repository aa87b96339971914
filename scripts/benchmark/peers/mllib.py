"""MLlib's RankingMetrics on classic Spark. The convention is `mllib_binary`. Writes nothing.

The lists are made by DataFrames and handed to the JVM as they are: the documented Python constructor would take every
document through Python first, and is several times slower.
"""

from pyspark.mllib.common import callMLlibFunc
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from ndcg_spark.engine import open_engine


def scores(judgments: str, results: str, _: str, cutoff: int) -> float:
    """Mean NDCG of one run, in the session that our own `--engine spark` makes: every core, most of the memory."""
    with open_engine("spark") as engine:
        return scores_in(engine.session, judgments, results, cutoff)


def scores_in(spark: SparkSession, judgments: str, results: str, cutoff: int) -> float:
    """The same, in a session that is there."""
    judged, returned = spark.read.parquet(judgments), spark.read.parquet(results)
    # Null is not collected: a query without a relevant document has an empty list.
    relevant = F.collect_list(F.when(F.col("relevance") > 0, F.col("doc_id")))
    best = F.slice(F.sort_array(F.collect_list(F.struct("score", "doc_id")), asc=False), 1, cutoff)
    labels = judged.groupBy("query_id").agg(relevant.alias("labels"))
    lists = returned.groupBy("query_id").agg(best.getField("doc_id").alias("documents"))
    both = labels.join(lists, "query_id", "left")
    both = both.select(F.coalesce("documents", F.array().cast("array<string>")).alias("documents"), "labels")
    return float(callMLlibFunc("newRankingMetrics", both._jdf).ndcgAt(cutoff))
