"""Compares two sets of judgments: how far their grades agree, and whether they rank the runs in the
same order (COMPARING.md).
"""

import math
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from scipy import stats

from ndcg_spark import sql
from ndcg_spark.convention.convention import Convention
from ndcg_spark.convention.refused_queries import JUDGED_TWICE
from ndcg_spark.errors import InputError
from ndcg_spark.schemas import query_key
from ndcg_spark.scoring.ideal import counted_grade, judged_documents
from ndcg_spark.scoring.refusals import refusal_sql
from ndcg_spark.tolerance import EQUAL_DECIMALS

#: With more distinct grades than this, a matrix of grades is not meaningful.
MAX_GRADES = 100


def grade_pairs(a: DataFrame, b: DataFrame, convention: Convention, dataset: str) -> DataFrame:
    """Count documents by their grades in two JUDGMENTS tables.

    The columns are dataset, grade_a, grade_b (null if a side does not judge them) and pairs. Grades
    follow the convention: a negative grade is not a judgment unless `negative=keep`, and
    `min_relevance` turns grades into 1 or 0. A document that is judged twice is refused, unless an
    option merges its grades.
    """
    key = query_key(a.columns)
    graded_a = _graded_documents(a, key, "grade_a", convention)
    graded_b = _graded_documents(b, key, "grade_b", convention)
    documents = graded_a.join(graded_b, on=[*key, "doc_id"], how="full")
    if "dataset" not in key:
        documents = documents.withColumn("dataset", F.lit(dataset))
    grades = documents.groupBy("dataset", "grade_a", "grade_b")
    return grades.agg(F.count(F.lit(1)).alias("pairs"))


def _graded_documents(
    judgments: DataFrame, key: list[str], name: str, convention: Convention
) -> DataFrame:
    """One row per document with a grade that the convention uses.

    The columns are the query key, doc_id, and the grade under this name.
    """
    # A grade that the convention ignores has no gain.
    judged = judged_documents(judgments, key, convention).where(F.col("gain").isNotNull())
    documents = judged.groupBy(*key, "doc_id").agg(
        F.max("relevance").alias("grade"), F.count(F.lit(1)).alias("rows")
    )
    refused = refusal_sql(JUDGED_TWICE, [*key, "doc_id"])
    once = f"(case when rows > 1 then {refused} else grade end)"
    return documents.selectExpr(*key, "doc_id", *sql.named({name: counted_grade(once, convention)}))


def mean_scores(a: DataFrame, b: DataFrame) -> DataFrame:
    """Each run's mean NDCG in two QUERY_SCORES tables: dataset, run, a, b, n.

    `n` is the number of queries that both tables have. Each mean covers the queries that have a
    score in its table.
    """
    key = ["dataset", "run", "query_id"]
    scores_a = a.select(*key, F.col("ndcg").alias("a"))
    scores_b = b.select(*key, F.col("ndcg").alias("b"))
    both = scores_a.join(scores_b, on=key, how="inner")
    return both.groupBy("dataset", "run").agg(
        F.avg("a").alias("a"), F.avg("b").alias("b"), F.count("*").alias("n")
    )


def agreement(pairs: pd.DataFrame, means: pd.DataFrame | None = None) -> dict[str, Any]:
    """The AGREEMENTS row for one dataset's `grade_pairs` and `mean_scores`; undefined values are
    nan.
    """
    both = pairs.dropna(subset=["grade_a", "grade_b"])
    # The scale has all grades, including those of documents that only one side judges.
    grades = np.unique(pairs[["grade_a", "grade_b"]].stack())
    if len(grades) > MAX_GRADES:
        raise InputError(
            f"judgments: there are {len(grades):,} distinct grades, e.g. {grades[1]:g}, but "
            f"agreement supports at most {MAX_GRADES}; round them, or set min_relevance"
        )
    counts = np.zeros((len(grades), len(grades)))
    row_of_pair = np.searchsorted(grades, both["grade_a"])
    column_of_pair = np.searchsorted(grades, both["grade_b"])
    np.add.at(counts, (row_of_pair, column_of_pair), both["pairs"])
    ranked: dict[str, Any] = {}
    if means is not None:
        # A run needs both means.
        known = means.dropna(subset=["a", "b"])
        ranked = {
            "runs": len(known),
            "queries": int(means["n"].max()),
            "tau_b": tau_b(known["a"], known["b"]),
            "tau_ap": tau_ap(known["a"], known["b"]),
        }
    return {
        "pairs": int(both["pairs"].sum()),
        "only_a": int(pairs["pairs"][pairs["grade_b"].isna()].sum()),
        "only_b": int(pairs["pairs"][pairs["grade_a"].isna()].sum()),
        "kappa": kappa(counts),
        "kappa_quadratic": kappa(counts, is_quadratic=True),
        "alpha": krippendorff_alpha(counts + counts.T),
        **ranked,
    }


def kappa(counts: ArrayLike, is_quadratic: bool = False) -> float:
    """Cohen's kappa (1960), or with quadratic weights (1968), as in scikit-learn's
    `cohen_kappa_score`.

    It is 1 - observed / expected disagreement. `counts` has the number of documents by their grade
    in A (rows) and in B (columns), in ascending order. Neighbouring grades are one step apart,
    whatever their values. Returns nan if all grades are the same.
    """
    matrix = np.asarray(counts, np.float64)
    steps = np.subtract.outer(np.arange(len(matrix)), np.arange(len(matrix)))
    weights = steps**2 if is_quadratic else steps != 0
    expected = matrix.sum(1) @ weights @ matrix.sum(0)
    if not expected:
        return math.nan
    return 1 - float((matrix * weights).sum() * matrix.sum() / expected)


def krippendorff_alpha(coincidences: ArrayLike) -> float:
    """Krippendorff's alpha for ordinal grades ("Computing Krippendorff's alpha-reliability", 2011),
    at most 1.

    For two observers, `coincidences` is the matrix of counts plus its transpose. alpha = 1 - (n -
    1) sum o_ck d_ck / sum n_c n_k d_ck, where the distance d_ck between two grades is the squared
    difference of their mean ranks among all n values. Returns nan if all values are equal.
    """
    pairs = np.asarray(coincidences, np.float64)
    values = pairs.sum(1)
    mean_ranks = values.cumsum() - values / 2
    distances = np.subtract.outer(mean_ranks, mean_ranks) ** 2
    expected = float(values @ distances @ values)
    if not expected:
        return math.nan
    return 1 - float((values.sum() - 1) * (pairs * distances).sum()) / expected


def tau_b(a: ArrayLike, b: ArrayLike) -> float:
    """Kendall's tau-b (1945) for two arrays of means: 1 for the same order, -1 for the reverse,
    and nan if all values of one array are tied.
    """
    return float(stats.kendalltau(_rounded(a), _rounded(b)).statistic)


def tau_ap(a: ArrayLike, b: ArrayLike) -> float:
    """The AP correlation of b with the reference a (Yilmaz, Aslam and Robertson 2008).

    The top ranks get the most weight. The value is 2 / (n - 1) * the sum of C(i) / (rank(i) - 1)
    over all runs i of b except the first, minus 1, where C(i) is the number of runs above i in b
    that are also above it in a. For runs tied in b, this is the mean over their random orderings. A
    tie in a counts as half. The result is 1 for the same order, -1 for the reverse, and nan for
    fewer than two runs.
    """
    # 1 if a row's run is above a column's run, -1 if it is below, 0 for a tie.
    order_in_a, order_in_b = _order(a), _order(b)
    if len(order_in_b) < 2:
        return math.nan
    above_in_b = order_in_b > 0
    # By run: how many of the runs above it are also above it in a, where a tie counts as half.
    correct_above = ((order_in_a + 1) / 2 * above_in_b).sum(0)
    number_above = above_in_b.sum(0)
    group_sizes = (order_in_b == 0).sum(0)
    total = 0.0
    for correct, above, group in zip(correct_above, number_above, group_sizes, strict=True):
        # The possible positions of a run in its group of ties, without the first rank of all. Half
        # of the runs before it in the group are correct on average.
        first = 1 if above == 0 else 0
        positions = np.arange(first, group)
        total += ((correct + positions / 2) / (above + positions)).sum() / group
    return 2 * total / (len(order_in_b) - 1) - 1


def _order(means: ArrayLike) -> NDArray[np.float64]:
    """The order of each pair of runs: the sign of the difference of their means."""
    rounded = _rounded(means)
    return np.asarray(np.sign(np.subtract.outer(rounded, rounded)))


def _rounded(means: ArrayLike) -> NDArray[np.float64]:
    return np.asarray(means, np.float64).round(EQUAL_DECIMALS)
