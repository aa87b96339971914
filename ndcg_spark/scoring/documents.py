"""The documents behind the scores, each with its gain and discount, for explanations and for published nights."""

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F

from ndcg_spark.convention.convention import Convention
from ndcg_spark.scoring import lists, ranking
from ndcg_spark.scoring.gains import discount
from ndcg_spark.scoring.ranking import PLACE, RANK, TIE_GROUP, TIED
from ndcg_spark.scoring.refusals import RETURNED_TWICE, refusal

#: The columns of a document that are published.
PUBLISHED = ("doc_id", "rank", TIED, "score", "relevance", "gain", "discount")


def returned_documents(
    results: DataFrame, judged: DataFrame, query_key: list[str], convention: Convention, depth: int | None = None
) -> DataFrame:
    """One row per run, query and returned document down to `depth`, in no order.

    Columns: run, the query key, doc_id, rank, on_list, place, tie_group, tied, score, relevance, gain, own_gain,
    discount. `judged` is the table of `ideal.judged_documents`. `rank` is the rank in the list that is scored, where
    `on_list` is true; `gain` times `discount` is what counts there. `relevance` is null for an unjudged document,
    and `score` if the results have ranks only.
    """
    run_key = ["run", *query_key]
    score = F.col("score") if "score" in results.columns else F.lit(None).cast("double")
    listed = ranking.is_listed(convention)
    # The last document may tie with the next one.
    deeper = None if depth is None else depth + 1
    table = lists.listed_gains(results.withColumn("score", score), judged, query_key, convention, deeper)
    table = ranking.with_places(table, run_key, convention)
    table = table if depth is None else table.where(F.col(RANK) <= depth)
    return table.select(
        *run_key,
        "doc_id",
        F.col(RANK).alias("rank"),
        listed.alias("on_list"),
        *(PLACE, TIE_GROUP, TIED, "score", "relevance", "gain", "own_gain"),
        discount(F.col(RANK), convention).alias("discount"),
    )


def refuse_returned_twice(documents: DataFrame, run_key: list[str]) -> DataFrame:
    """The same documents, whose `rank` fails with RETURNED_TWICE if a list contains a document twice.

    This is for lists that are not scored, because a score fails by itself; see `lists.refuse_returned_twice`.
    """
    copies = F.count(F.lit(1)).over(Window.partitionBy(*run_key, "doc_id"))
    refused = refusal(RETURNED_TWICE, [*run_key, "doc_id"]).cast("int")
    return documents.withColumn("rank", F.when(copies > 1, refused).otherwise(F.col("rank")))


def ideal_sizes(judged: DataFrame, query_key: list[str], depth: int | None) -> DataFrame:
    """One row per judged query, in no order: its key, and ranks, how many rows `ideal_documents` has for it."""
    ranks = F.count("gain") if depth is None else F.least(F.count("gain"), F.lit(depth))
    return judged.groupBy(*query_key).agg(ranks.alias("ranks"))


def ideal_documents(judged: DataFrame, query_key: list[str], convention: Convention, depth: int | None) -> DataFrame:
    """One row per query and rank of its ideal ranking, in no order.

    Columns: the query key, doc_id, rank, relevance, gain, discount. Ranks go from 1 down to `depth`. Of equal gains the
    larger document id comes first.
    """
    ranked = ranking.rank_by_gain(judged.where(F.col("gain").isNotNull()), query_key, "gain", "rank")
    within = ranked if depth is None else ranked.where(F.col("rank") <= depth)
    return within.select(
        *query_key, "doc_id", "rank", "relevance", "gain", discount(F.col("rank"), convention).alias("discount")
    )


def unjudged_documents(documents: DataFrame, key: list[str], convention: Convention) -> DataFrame:
    """One row per query and unjudged document that a run returns, in no order.

    Columns: the query key, doc_id, `runs` that return it, its `best_rank` in any of them, and `weight`, the sum of the
    discounts of its ranks over these runs. `documents` are those of `lists.listed_gains`, down to the deepest cutoff.
    """
    unjudged = documents.where(ranking.is_listed(convention) & ~F.col("judged"))
    unjudged = unjudged.withColumn("weight", discount(F.col(RANK), convention))
    return unjudged.groupBy(*key, "doc_id").agg(
        F.count(F.lit(1)).alias("runs"), F.min(RANK).alias("best_rank"), F.sum("weight").alias("weight")
    )
