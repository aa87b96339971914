"""Why a run's mean changed since an earlier night: changed lists, changed judgments, or other queries."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ndcg_spark.convention.convention import Convention
from ndcg_spark.scoring.evaluation import Evaluation, query_scores
from ndcg_spark.scoring.ranking import breaks_ties_by_gain

_KEY = ["run", "query_id", "place"]
#: Scores that are computed again from a stored list agree with the original to within this.
_NOISE = 1e-12
#: A list that a night keeps is ordered by its ranks and lacks the documents that the convention leaves out.
_AS_KEPT = {
    "order": "rank",
    "ties": "doc_id_desc",
    "score_precision": "float64",
    "duplicates": "error",
    "exclude_query_as_document": False,
}


def keeps_order(convention: Convention) -> bool:
    """Whether the first documents of a list are enough to compute its scores under any judgments.

    If ties are ordered by gain, or the ideal is that of all returned documents, documents below them matter too.
    """
    return not breaks_ties_by_gain(convention) and convention.ideal != "retrieved"


def scored_again(lists: DataFrame, judgments: DataFrame, runs: DataFrame, evaluation: Evaluation) -> DataFrame:
    """The table QUERY_SCORES of lists, as RANKED_DOCUMENTS keeps them, under these judgments, in no order.

    `runs` has one row per run, each of which is scored for every judged query.
    """
    as_kept = evaluation.under(evaluation.convention.replace(**_AS_KEPT))
    ranked = lists.where(F.col("run").isNotNull()).select("run", "query_id", "doc_id", "rank")
    return query_scores(judgments.select("query_id", "doc_id", "relevance"), ranked, runs, as_kept)


def change_parts(before: DataFrame, between: DataFrame, after: DataFrame, again: DataFrame) -> DataFrame:
    """The columns of CHANGE_PARTS without dataset, and `wrong`, by run and cutoff that both nights score, in no order.

    All are tables QUERY_SCORES of one dataset: `before` for the earlier night, `after` for the later one, `between` for
    the later lists under the earlier judgments, and `again` under their own, both for queries that the nights judge
    differently. Over the queries with all three scores, `of_lists` is the mean of between - before and `of_judgments`
    that of after - between. `of_queries` is the effect of the others: how far they move the later mean, minus how far
    they moved the earlier one. So the parts sum to `change`, that of the whole means. There are no parts without a
    query that has all three scores. `wrong` counts the queries whose stored lists do not give the score of `after`.
    """
    tables = {"before": before, "between": between, "after": after, "again": again}
    sides = {name: _named(table, name) for name, table in tables.items()}
    both = sides["after"].join(sides["before"], on=_KEY, how="full")
    both = both.join(sides["between"], on=_KEY, how="left").join(sides["again"], on=_KEY, how="left")
    is_same = F.col("hash_after") == F.col("hash_before")
    both = both.withColumn("middle", F.when(is_same, F.col("after")).otherwise(F.col("between")))
    is_right = F.col("returned_after") == F.col("returned_again")
    is_near = F.abs(F.col("after") - F.col("again")) <= _NOISE
    is_right &= F.coalesce(is_near, F.col("after").isNull() & F.col("again").isNull())
    known = (F.col("before") + F.col("middle") + F.col("after")).isNotNull()
    first, second, third = (F.when(known, F.col(name)) for name in ("before", "middle", "after"))
    parts = both.groupBy("run", "place").agg(
        F.count_if(known).alias("queries"),
        (F.avg("after") - F.avg("before")).alias("change"),
        F.avg(second - first).alias("of_lists"),
        F.avg(third - second).alias("of_judgments"),
        ((F.avg("after") - F.avg(third)) - (F.avg("before") - F.avg(first))).alias("of_queries"),
        F.count_if(~is_same & ~F.coalesce(is_right, F.lit(False))).alias("wrong"),
    )
    named = parts.where(F.col("change").isNotNull()).withColumn("cutoff", F.nullif("place", F.lit(0)))
    return named.select("run", "cutoff", "queries", "change", "of_lists", "of_judgments", "of_queries", "wrong")


def _named(scores: DataFrame, name: str) -> DataFrame:
    """The NDCG of each run, query and cutoff under this name; `place` is the cutoff, 0 for the whole ranking."""
    return scores.select(
        *("run", "query_id"),
        F.coalesce("cutoff", F.lit(0)).alias("place"),
        F.col("ndcg").alias(name),
        F.col("judgments_hash").alias(f"hash_{name}"),
        F.col("returned").alias(f"returned_{name}"),
    )
