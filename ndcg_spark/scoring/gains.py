"""The gain of a grade and the discount of a rank, as Columns."""

import math
from collections.abc import Mapping

from pyspark.sql import Column
from pyspark.sql import functions as F

from ndcg_spark.convention.convention import Convention, counted_grade, named_gain, table_gain
from ndcg_spark.convention.options import DISCOUNTS, GAINS, Formula, Numbers
from ndcg_spark.convention.values import MAX_GAIN
from ndcg_spark.scoring import udfs


def gain(relevance: Column, convention: Convention) -> Column:
    """The gain of a judged document, null if it is not finite or its grade has none.

    Parameters
    ----------
    relevance : Column of double
        Grades, never null.

    Returns
    -------
    Column of double
        ``2^relevance - 1`` (exp2, Burges et al. 2005), the grade itself (linear, Jarvelin and Kekalainen 2002),
        1 for grades above 0 (binary), 1 for every judged document (judged), a table's or a user's value.
        Null for a grade that the table lacks, and for a gain that is no number or beyond MAX_GAIN. With
        `min_relevance`, grades from there on are 1 and lower ones 0 before the gain is computed.
    """
    worth = _gain(counted(relevance, convention), convention)
    return F.when(F.abs(worth) <= MAX_GAIN, worth)


def counted(relevance: Column, convention: Convention) -> Column:
    """The grades that grades count as; see `convention.counted_grade`."""
    if isinstance(convention.min_relevance, str):
        return relevance
    binary = F.when(relevance >= F.lit(convention.min_relevance), F.lit(1.0)).otherwise(F.lit(0.0))
    return F.when(relevance >= 0, binary).otherwise(relevance)


def _gain(relevance: Column, convention: Convention) -> Column:
    rule = convention.gain
    if isinstance(rule, Mapping):
        entries = [F.when(relevance == F.lit(grade), F.lit(value)) for grade, value in rule.items()]
        return F.coalesce(*entries)
    return _computed(GAINS[rule], relevance) if rule in GAINS else udfs.apply(rule, relevance)


def unjudged_gain(convention: Convention) -> float:
    """The gain of a returned document that nobody judged: that of the grade which `unjudged` gives it.

    With `unjudged=zero` that is grade 0: the named gains give 0, a table its gain for grade 0 (0 if it has none), a
    user's function its value at 0. Raises ConventionError if a user's function cannot be computed.
    """
    rule = convention.gain
    grade = counted_grade(convention.unjudged if isinstance(convention.unjudged, float) else 0.0, convention)
    if isinstance(rule, Mapping):
        return table_gain(rule, grade) or 0.0
    if rule.startswith(udfs.PREFIX):
        return udfs.value_at(rule, grade)
    return named_gain(rule, grade) if GAINS[rule].of_grade else 0.0


def gain_of(grade: float, convention: Convention) -> float | None:
    """The gain of a judged document with this grade, computed in this process; None if the grade counts as unjudged.

    Raises ConventionError if a user's function cannot be computed.
    """
    if grade < 0 and convention.negative != "keep":
        return None
    counted = counted_grade(grade, convention)
    if isinstance(convention.gain, Mapping):
        return table_gain(convention.gain, counted)
    return named_gain(convention.gain, counted) if convention.gain in GAINS else udfs.value_at(convention.gain, counted)


def discount(rank: Column, convention: Convention) -> Column:
    """The weight of a rank, by which a gain there is multiplied.

    Parameters
    ----------
    rank : Column of int
        Ranks from 1.

    Returns
    -------
    Column of double
        ``1/log2(rank + 1)`` (log2), ``1/ln(rank + 1)`` (ln), ``1/rank`` (position), 1 up to rank 2 and then
        ``1/log2(rank)`` (jarvelin), 1 (none), the weight of a list with 0 past its end, or a user's value.
    """
    rule = convention.discount
    if isinstance(rule, tuple):
        return F.coalesce(F.get(F.array(*map(F.lit, rule)), rank - F.lit(1)), F.lit(0.0))
    # A user's function gets doubles, because numpy.reciprocal of the whole number 2 is 0.
    return _computed(DISCOUNTS[rule], rank) if rule in DISCOUNTS else udfs.apply(rule, rank.cast("double"))


def total_discount(depth: int, convention: Convention) -> float:
    """The sum of the discounts of the ranks 1 to `depth`, computed in this process.

    Raises ConventionError if a user's function cannot be computed.
    """
    return math.fsum(discounts(depth, convention))


def discounts(depth: int, convention: Convention) -> list[float]:
    """The discounts of the ranks 1 to `depth`, computed in this process. Raises as `total_discount`."""
    rule = convention.discount
    if isinstance(rule, tuple):
        return [*rule[:depth], *[0.0] * (depth - len(rule))]
    if rule in DISCOUNTS:
        return [float(DISCOUNTS[rule].of(rank, Numbers())) for rank in range(1, depth + 1)]
    return [udfs.value_at(rule, float(rank)) for rank in range(1, depth + 1)]


class _Columns:
    """The functions of Columns that the formulas in `convention.options` are computed with."""

    constant = staticmethod(F.lit)
    log2 = staticmethod(F.log2)
    ln = staticmethod(F.ln)
    sqrt = staticmethod(F.sqrt)

    @staticmethod
    def power(base: float, exponent: Column) -> Column:
        return F.pow(F.lit(base), exponent)

    @staticmethod
    def largest(one: float, other: Column) -> Column:
        return F.greatest(F.lit(one), other)

    @staticmethod
    def where(condition: Column, then: float, otherwise: float) -> Column:
        return F.when(condition, F.lit(then)).otherwise(F.lit(otherwise))


def _computed(formula: Formula, column: Column) -> Column:
    value: Column = formula.of(column, _Columns())
    return value
