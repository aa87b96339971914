"""The gain of a grade and the discount of a rank, as Columns."""

from collections.abc import Callable, Mapping

import pandas as pd
from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.pandas.functions import pandas_udf
from pyspark.sql.types import DoubleType

from ndcg_spark.convention.convention import Convention
from ndcg_spark.convention.options import DISCOUNTS, GAINS, MAX_GAIN, Formula
from ndcg_spark.reference import load_function


def gain(relevance: Column, convention: Convention) -> Column:
    """The gain of a judged document whose grade is not null; exp2: Burges et al. 2005, linear: Jarvelin et al. 2002.

    Null for a grade that a table of gains lacks, and for a gain that is not a number or beyond MAX_GAIN.
    """
    worth = _gain(counted(relevance, convention), convention)
    return F.when(F.abs(worth) <= MAX_GAIN, worth)


def counted(relevance: Column, convention: Convention) -> Column:
    """The grades as they count; see `convention.counted_grade`."""
    if isinstance(convention.min_relevance, str):
        return relevance
    binary = F.when(relevance >= F.lit(convention.min_relevance), F.lit(1.0)).otherwise(F.lit(0.0))
    return F.when(relevance >= 0, binary).otherwise(relevance)


def _gain(relevance: Column, convention: Convention) -> Column:
    rule = convention.gain
    if isinstance(rule, Mapping):
        entries = [F.when(relevance == F.lit(grade), F.lit(value)) for grade, value in rule.items()]
        return F.coalesce(*entries)
    return _computed(GAINS[rule], relevance) if rule in GAINS else user_function(rule, relevance)


def discount(rank: Column, convention: Convention) -> Column:
    """The weight by which a gain at a rank from 1 is multiplied; 0 past the end of a list of weights."""
    rule = convention.discount
    if isinstance(rule, tuple):
        return F.coalesce(F.get(F.array(*map(F.lit, rule)), rank - F.lit(1)), F.lit(0.0))
    # A user's function gets doubles, because numpy.reciprocal of the whole number 2 is 0.
    return _computed(DISCOUNTS[rule], rank) if rule in DISCOUNTS else user_function(rule, rank.cast("double"))


def user_function(name: str, column: Column) -> Column:
    """A user's Python function of a column, as doubles, row by row; runs as a pandas UDF.

    It is wrapped here and not on import, because a UDF that is made before the session belongs to classic Spark and
    fails on Connect. Raises ConventionError if it cannot be imported.
    """
    function = load_function(name)

    def floats(values: pd.Series) -> pd.Series:
        return pd.Series(function(values)).astype("float64")

    wrapped: Callable[[Column], Column] = pandas_udf(  # type: ignore[call-overload]  # its stub has no default kind
        floats, DoubleType()
    )
    return wrapped(column)


class _Columns:
    """The functions of Columns that the formulas in `convention.options` are computed with."""

    constant = staticmethod(F.lit)
    log2 = staticmethod(F.log2)
    ln = staticmethod(F.ln)
    largest = staticmethod(lambda one, other: F.greatest(F.lit(one), other))
    where = staticmethod(lambda condition, then, otherwise: F.when(condition, F.lit(then)).otherwise(F.lit(otherwise)))


def _computed(formula: Formula, column: Column) -> Column:
    value: Column = formula.of(column, _Columns())
    return value
