"""Two sets of judgments: how far their grades agree, and whether they rank the runs in the same
order (COMPARING.md).
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
    """Count documents by their grades in two JUDGMENTS tables: dataset, grade_a, grade_b (null:
    unjudged), pairs.

    Grades follow the convention: a negative grade is not a judgment unless `negative=keep`, and
    `min_relevance` turns grades into 1 or 0. A document that is judged twice is refused, unless an
    option merges its grades.
    """
    key = query_key(a.columns)
    sides = (
        _graded(table, key, name, convention) for table, name in ((a, "grade_a"), (b, "grade_b"))
    )
    documents = next(sides).join(next(sides), on=[*key, "doc_id"], how="full")
    named = documents if "dataset" in key else documents.withColumn("dataset", F.lit(dataset))
    return named.groupBy("dataset", "grade_a", "grade_b").agg(F.count(F.lit(1)).alias("pairs"))


def _graded(judgments: DataFrame, key: list[str], name: str, convention: Convention) -> DataFrame:
    """One row per document with a grade that the convention uses: its query key, doc_id, and the
    grade under this name.
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
    """One row per dataset and run: its mean NDCG in each of two QUERY_SCORES tables, over the
    queries that both have, and their number.

    Each mean is over the queries that have a score in its table.
    """
    key = ["dataset", "run", "query_id"]
    sides = [table.select(*key, F.col("ndcg").alias(name)) for table, name in ((a, "a"), (b, "b"))]
    both = sides[0].join(sides[1], on=key, how="inner")
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
    np.add.at(
        counts,
        tuple(np.searchsorted(grades, both[side]) for side in ("grade_a", "grade_b")),
        both["pairs"],
    )
    ranked: dict[str, Any] = {}
    if means is not None:
        # A run needs both means.
        known = means.dropna(subset=["a", "b"])
        ranked = {"runs": len(known), "queries": int(means["n"].max())}
        ranked |= {"tau_b": tau_b(known["a"], known["b"]), "tau_ap": tau_ap(known["a"], known["b"])}
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
    """Cohen's kappa (1960), or with quadratic weights (1968), as scikit-learn's
    `cohen_kappa_score`.

    It is 1 - observed / expected disagreement. `counts` has the number of documents by their grade
    in A (rows) and in B (columns), in ascending order. Neighbouring grades are one step apart,
    whatever their values. Returns nan if all grades are the same.
    """
    matrix = np.asarray(counts, np.float64)
    steps = np.subtract.outer(np.arange(len(matrix)), np.arange(len(matrix)))
    weights = steps**2 if is_quadratic else steps != 0
    expected = matrix.sum(1) @ weights @ matrix.sum(0)
    return 1 - float((matrix * weights).sum() * matrix.sum() / expected) if expected else math.nan


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
    return (
        1 - float((values.sum() - 1) * (pairs * distances).sum()) / expected
        if expected
        else math.nan
    )


def tau_b(a: ArrayLike, b: ArrayLike) -> float:
    """Kendall's tau-b (1945) for two arrays of means: 1 for the same order, -1 for the reverse,
    and nan if all values of one array are tied.
    """
    return float(stats.kendalltau(_rounded(a), _rounded(b)).statistic)


def tau_ap(a: ArrayLike, b: ArrayLike) -> float:
    """The AP correlation of b with the reference a (Yilmaz, Aslam and Robertson 2008), which gives
    the top the most weight.

    It is 2 / (n - 1) * the sum of C(i) / (rank(i) - 1) over all runs i of b except the first,
    minus 1, where C(i) is the number of runs above i in b that are also above it in a. For runs
    tied in b, this is the mean over their random orders. A tie in a counts as half. The result is
    1 for the same order, -1 for the reverse, and nan for fewer than two runs.
    """
    # Whether the run of a row is above the run of a column.
    ours, theirs = (np.sign(np.subtract.outer(side, side)) for side in (_rounded(a), _rounded(b)))
    above, tied = theirs > 0, theirs == 0
    total = 0.0
    for right, rank, group in zip(
        ((ours + 1) / 2 * above).sum(0), above.sum(0), tied.sum(0), strict=True
    ):
        # The position of a run in its group of ties: half of the runs before it in the group are
        # taken as correct.
        positions = np.arange(rank == 0, group)
        total += ((right + positions / 2) / (rank + positions)).sum() / group
    return 2 * total / (len(ours) - 1) - 1 if len(ours) > 1 else math.nan


def _rounded(means: ArrayLike) -> NDArray[np.float64]:
    return np.asarray(means, np.float64).round(EQUAL_DECIMALS)
