"""The gain of a grade, the discount of a rank, and the ideal ranking of each query.

Ideal rankings need only the judgments.
"""

import math
import pickle
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import pandas as pd
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.functions import pandas_udf
from pyspark.sql.types import DoubleType

from ndcg_spark import sql
from ndcg_spark.convention.convention import Convention
from ndcg_spark.convention.measures import Cutoff, column_at
from ndcg_spark.convention.options import DISCOUNTS, GAINS, MAX_GAIN, Formula
from ndcg_spark.convention.refused_queries import JUDGED_TWICE, MEAN_WITHOUT_GAIN
from ndcg_spark.reference import MEAN_STEPS, discounts
from ndcg_spark.scoring.ranking import distinct, rank_by_gain, sums_at
from ndcg_spark.scoring.refusals import refusal, refusal_sql
from ndcg_spark.user_functions import pack_function

IDEAL_RANK = "ideal_rank"
#: Changes if and only if the judgments of a query change.
JUDGMENTS_HASH = "judgments_hash"

_LOW = 0xFFFFFFFF


def gain(relevance: str, convention: Convention) -> Column:
    """The gain of a judged grade; null if a gain table lacks it, or it is NaN or beyond MAX_GAIN.

    The grade is SQL, like the grades and ranks in the functions below.
    """
    if is_user_function(convention.gain):
        grade = counted_grade(relevance, convention)
        worth = user_function(str(convention.gain), F.expr(grade))
        return F.when(F.abs(worth) <= MAX_GAIN, worth)
    return F.expr(gain_sql(relevance, convention))


def is_user_function(rule: object) -> bool:
    """Whether a gain or a discount is a user's function."""
    return isinstance(rule, str) and rule not in GAINS and rule not in DISCOUNTS


def gain_sql(relevance: str, convention: Convention) -> str:
    """The gain in SQL, unless it is a user's function."""
    rule, grade = convention.gain, counted_grade(relevance, convention)
    if isinstance(rule, Mapping):
        return _null_if_too_large(_gain_of_table(grade, rule))
    return _null_if_too_large(_computed(GAINS[rule], grade))


def _null_if_too_large(worth: str) -> str:
    """The gain; null if it is beyond MAX_GAIN."""
    return f"case when abs({worth}) <= {sql.number(MAX_GAIN)} then {worth} end"


def _gain_of_table(grade: str, gains: Mapping[float, float]) -> str:
    cases = []
    for known, value in gains.items():
        cases.append(f"when {sql.number(known)} then {sql.number(value)}")
    return f"case {grade} {' '.join(cases)} end"


def _computed(formula: Formula, value: str) -> str:
    # Not str.format, because the value may contain braces.
    return f"({formula.sql.replace('{}', value)})"


def counted_grade(relevance: str, convention: Convention) -> str:
    if isinstance(convention.min_relevance, str):
        return relevance
    binary = f"if({relevance} >= {sql.number(convention.min_relevance)}, 1D, 0D)"
    return f"if({relevance} >= 0, {binary}, {relevance})"


def discount(rank: str, convention: Convention) -> Column:
    """The weight of a gain at a rank, counted from 1; 0 past the end of a list of weights."""
    if is_user_function(convention.discount):
        return user_function(str(convention.discount), F.expr(rank))
    return F.expr(discount_sql(rank, convention))


def discount_sql(rank: str, convention: Convention) -> str:
    """The discount in SQL, unless it is a user's function."""
    rule = convention.discount
    if isinstance(rule, tuple):
        weights = ", ".join(map(sql.number, rule))
        return f"coalesce(get(array({weights}), {rank} - 1), 0D)"
    return _computed(DISCOUNTS[rule], rank)


def user_function(name: str, column: Column) -> Column:
    # Wrapped here, because a UDF that is created before the session belongs to classic Spark and
    # fails on Connect.
    packed = pack_function(name)

    def floats(values: pd.Series) -> pd.Series:
        try:
            function = pickle.loads(packed)  # noqa: S301  # our own
            return pd.Series(function(values)).astype("float64")
        except SystemExit as end:
            # The embedded engine runs in this process, which must not end.
            raise RuntimeError(f"{name} calls sys.exit({end.code!r})") from end

    # The stub of pandas_udf has no default kind.
    wrap: Any = pandas_udf
    wrapped: Callable[[Column], Column] = wrap(floats, DoubleType())
    # Ranks are also cast to doubles, because numpy.reciprocal of the integer 2 is 0.
    return wrapped(column.cast("double"))


def judged_documents(
    judgments: DataFrame, query_key: list[str], convention: Convention
) -> DataFrame:
    """The judged documents with their gain, which is null for a negative grade that is not kept.

    Such a document stays in the table, so that its query is judged.
    """
    key = [*query_key, "doc_id"]
    worth = gain("relevance", convention)
    if convention.judgment_duplicates == "mean":
        # The rules ensure that every grade has a gain, but the mean of several grades may have
        # none.
        worth = F.when(worth.isNotNull(), worth).otherwise(
            refusal(MEAN_WITHOUT_GAIN, [*key, "relevance"])
        )
    worth = worth if convention.negative == "keep" else F.when(F.expr("relevance >= 0"), worth)
    merged = _merged_grades(judgments, key, convention.judgment_duplicates)
    return merged.select(*key, "relevance", worth.alias("gain"))


def _merged_grades(judgments: DataFrame, key: list[str], rule: str) -> DataFrame:
    """One row per document, with its only grade, or the largest, smallest or mean grade."""
    if rule == "error":
        return judgments
    lowest, highest = F.min("relevance"), F.max("relevance")
    if rule != "mean":
        grade = highest if rule == "max" else lowest
        return judgments.groupBy(*key).agg(grade.alias("relevance"))
    grades = F.sort_array(F.collect_list("relevance"))
    documents = judgments.groupBy(*key).agg(
        lowest.alias("lowest"),
        highest.alias("highest"),
        grades.alias("grades"),
    )
    is_same = F.col("lowest") == F.col("highest")
    grade = F.when(is_same, F.col("highest")).otherwise(_mean_grade("grades"))
    return documents.select(*key, grade.alias("relevance"))


def _mean_grade(sorted_grades: str) -> Column:
    """The same as `reference.mean_grade`, to the last bit.

    The order of the rows must not decide whether a mean reaches a threshold.

    F.avg adds in any order, and F.round rounds differently on each engine.
    """
    total = F.aggregate(sorted_grades, F.lit(0.0), lambda so_far, grade: so_far + grade)
    mean = total / F.size(sorted_grades)
    steps = F.lit(None).cast("double")
    for bound, number in reversed(MEAN_STEPS):
        steps = F.when(F.abs(mean) < bound, F.lit(number)).otherwise(steps)
    # Without steps, the mean is too large to be rounded and is not changed.
    return F.coalesce(F.floor(mean * steps + F.lit(0.5)) / steps, mean)


def judged_queries(
    judged: DataFrame,
    query_key: list[str],
    depth: int | None,
    aggregates: Mapping[str, str] = MappingProxyType({}),
) -> DataFrame:
    """One row per judged query, unordered: key, gains, JUDGMENTS_HASH and `aggregates`.

    `gains` are the gains of the ideal ranking down to `depth`, the largest first. `aggregates` are
    computed over the query's documents. A document judged twice is refused even if one of its gains
    is beyond the depth. The hash does not depend on the order of the rows or on the engine.
    """
    rows = judged.withColumn("hash", F.expr("xxhash64(doc_id, relevance)"))
    texts = {
        "gains": "sort_array(collect_list(gain), false)",
        "documents": "collect_list(doc_id)",
        "rows": "count(*)",
        # The hash is summed in halves, so that no sum overflows.
        "high": "sum(shiftrightunsigned(hash, 32))",
        "low": f"sum(hash & {_LOW}L)",
    }
    queries = rows.groupBy(*query_key).agg(*sql.aggregates({**texts, **aggregates}))
    columns = {"gains": _best_gains(query_key, depth), JUDGMENTS_HASH: "xxhash64(rows, high, low)"}
    return queries.selectExpr(*query_key, *sql.named(columns), *aggregates)


def _best_gains(query_key: list[str], depth: int | None) -> str:
    """The gains down to a depth, in SQL; raises for a query with a document twice."""
    best = "gains" if depth is None else f"slice(gains, 1, {depth})"
    refused = f"array({refusal_sql(JUDGED_TWICE, query_key)})"
    return f"case when {distinct('documents')} then {best} else {refused} end"


def ideal_ranking(
    queries: DataFrame, query_key: list[str], convention: Convention, kept: Sequence[str] = ()
) -> DataFrame:
    """One row per query and ideal rank, at least one per query: key, `kept`, IDEAL_RANK,
    discounted.
    """
    others = [*query_key, *kept]
    ranked = queries.selectExpr(*others, "posexplode_outer(gains) as (position, gain)")
    weighed = ranked.withColumn("weight", discount("(position + 1)", convention))
    columns = {IDEAL_RANK: "position + 1", "discounted": "gain * weight"}
    return weighed.selectExpr(*others, *sql.named(columns))


def ideal_scores(
    ideal: DataFrame,
    query_key: list[str],
    cutoffs: Sequence[Cutoff],
    convention: Convention,
    kept: Sequence[str] = (),
) -> DataFrame:
    """One row per judged query: its key, `kept`, and ideal_dcg_K for every cutoff K.

    ideal_dcg_K is null if the query has no gains.

    With ideal=k_relevant, it is the DCG of K relevant documents, or 0 if the query has none. The
    whole ranking has no K, so its ideal comes from the judged documents.
    """
    sums = sums_at(cutoffs, "ideal_dcg", "discounted", IDEAL_RANK)
    if convention.ideal == "k_relevant":
        for k in cutoffs:
            if k is not None:
                total = sums[column_at("ideal_dcg", k)]
                best = sql.number(math.fsum(discounts(k, convention.discount)))
                sums[column_at("ideal_dcg", k)] = f"if({total} > 0, {best}, {total})"
    # These columns have one value per query. As grouping keys they would be shuffled, and first()
    # is slow on Sail.
    sums |= {name: f"max({name})" for name in kept}
    return ideal.groupBy(*query_key).agg(*sql.aggregates(sums))


def capped_ideal_scores(
    scores: DataFrame, ideal: DataFrame, query_key: list[str], cutoffs: Sequence[Cutoff]
) -> DataFrame:
    """`scores` with ideal_dcg_K for every cutoff K.

    It is the DCG of the first min(K, returned) ranks of the ideal ranking.
    """
    run_key = ["run", *query_key]
    reached = f"if({IDEAL_RANK} <= returned, discounted, null)"
    sums = sums_at(cutoffs, "ideal_dcg", reached, IDEAL_RANK)
    both = scores.select(*run_key, "returned").join(ideal, on=query_key, how="inner")
    capped = both.groupBy(*run_key).agg(*sql.aggregates(sums))
    return scores.join(capped, on=run_key, how="left")


def ideal_documents(
    judged: DataFrame, query_key: list[str], convention: Convention, depth: int | None
) -> DataFrame:
    """One row per query and rank of its ideal ranking, down to `depth`.

    Among documents with equal gains, the largest id comes first.
    """
    ranked = rank_by_gain(judged.where(F.col("gain").isNotNull()), query_key, "gain", "rank")
    within = ranked if depth is None else ranked.where(F.col("rank") <= depth)
    weight = discount("rank", convention).alias("discount")
    return within.select(*query_key, "doc_id", "rank", "relevance", "gain", weight)


def ideal_sizes(judged: DataFrame, query_key: list[str], depth: int | None) -> DataFrame:
    ranks = F.count("gain") if depth is None else F.least(F.count("gain"), F.lit(depth))
    return judged.groupBy(*query_key).agg(ranks.alias("ranks"))
