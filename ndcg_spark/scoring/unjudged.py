"""The returned documents that nobody has judged, and how much each of them matters."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ndcg_spark.convention.convention import Convention
from ndcg_spark.scoring import ranking
from ndcg_spark.scoring.gains import discount
from ndcg_spark.scoring.ranking import RANK


def unjudged_documents(documents: DataFrame, key: list[str], convention: Convention) -> DataFrame:
    """One row per query and document that a run returns and nobody has judged, in no order.

    Columns: the query key, doc_id, `runs` that return it, its `best_rank` in any of them, and `weight`, the sum of the
    discounts of its ranks over these runs. `documents` are those of `lists.listed_gains`, down to the deepest cutoff.
    """
    listed = F.col(ranking.LISTED) if ranking.takes_documents_off(convention) else F.lit(True)
    unjudged = documents.where(listed & ~F.col("judged")).withColumn("weight", discount(F.col(RANK), convention))
    return unjudged.groupBy(*key, "doc_id").agg(
        F.count(F.lit(1)).alias("runs"), F.min(RANK).alias("best_rank"), F.sum("weight").alias("weight")
    )
