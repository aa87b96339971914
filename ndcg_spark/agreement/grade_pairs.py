"""The grades of two sets of judgments side by side, counted by query."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ndcg_spark.convention.convention import Convention
from ndcg_spark.schemas import GRADE_PAIRS, query_key
from ndcg_spark.scoring.gains import counted
from ndcg_spark.scoring.ideal import judged_documents
from ndcg_spark.scoring.refusals import JUDGED_TWICE, refusal


def grade_pairs(a: DataFrame, b: DataFrame, convention: Convention, dataset: str) -> DataFrame:
    """The table GRADE_PAIRS of two tables JUDGMENTS, in no order; `dataset` is that of tables without such a column.

    Grades are as the convention counts them: a negative grade is no judgment unless `negative=keep`, and
    `min_relevance` makes grades 1 or 0. A document judged twice is refused, unless an option merges its grades.
    """
    key = query_key(a.columns)
    sides = (_graded(table, name, convention) for table, name in ((a, "grade_a"), (b, "grade_b")))
    documents = next(sides).join(next(sides), on=[*key, "doc_id"], how="full")
    counts = documents.groupBy(*key, "grade_a", "grade_b").agg(F.count(F.lit(1)).alias("pairs"))
    named = counts if "dataset" in key else counts.withColumn("dataset", F.lit(dataset))
    return named.select(*GRADE_PAIRS.names)


def _graded(judgments: DataFrame, name: str, convention: Convention) -> DataFrame:
    """One row per judged document whose grade counts: its query key, doc_id, and the grade under this name."""
    key = query_key(judgments.columns)
    # A grade that does not count has no gain.
    judged = judged_documents(judgments, key, convention).where(F.col("gain").isNotNull())
    documents = judged.groupBy(*key, "doc_id").agg(F.max("relevance").alias("grade"), F.count(F.lit(1)).alias("rows"))
    once = F.when(F.col("rows") > 1, refusal(JUDGED_TWICE, [*key, "doc_id"])).otherwise(F.col("grade"))
    return documents.select(*key, "doc_id", counted(once, convention).alias(name))
