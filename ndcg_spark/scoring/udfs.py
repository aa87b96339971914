"""The only pandas UDFs: gains and discounts that users write in Python, and the bounds of what nobody has judged.

A function is looked up and wrapped when a step calls for it, never while this module is imported: a UDF made before
the session exists belongs to classic Spark and fails on Connect.
"""

import dataclasses
import importlib
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from pyspark import cloudpickle
from pyspark.sql import Column
from pyspark.sql.pandas.functions import pandas_udf
from pyspark.sql.types import ArrayType, DoubleType

from ndcg_spark.convention.options import DISCOUNTS
from ndcg_spark.errors import ConventionError
from ndcg_spark.scoring import bounding

PREFIX = "python:"


def load(name: str) -> Callable[[pd.Series], pd.Series]:
    """The function that ``python:package.module.function`` names. ConventionError if it cannot be imported."""
    module, _, function = name.removeprefix(PREFIX).rpartition(".")
    try:
        found = getattr(importlib.import_module(module), function)
    except Exception as error:  # whatever a user's module raises while it is imported
        raise ConventionError(
            f"convention: {name} cannot be imported, {type(error).__name__}: {error}; "
            "put its folder on PYTHONPATH, on a cluster in --py-files"
        ) from error
    if not callable(found):
        raise ConventionError(f"convention: {name} is not a function; it takes and returns a pandas Series")
    return found  # type: ignore[no-any-return]  # what a user's module holds is known when it runs


def apply(name: str, column: Column) -> Column:
    """The user's function of a column, as doubles, row by row; runs as a pandas UDF."""
    function = load(name)

    def floats(values: pd.Series) -> pd.Series:
        return pd.Series(function(values)).astype("float64")

    wrapped: Callable[[Column], Column] = pandas_udf(  # type: ignore[call-overload]  # its stub has no default kind
        floats, DoubleType()
    )
    return wrapped(column)


def value_at(name: str, value: float) -> float:
    """The user's function of one value, computed in this process. ConventionError unless it gives one finite number."""
    function = load(name)
    try:
        found = pd.Series(function(pd.Series([value], dtype="float64"))).astype("float64")
    except Exception as error:  # whatever a user's function raises
        raise ConventionError(
            f"convention: {name} fails for the value {value:g}, {type(error).__name__}: {error}; "
            "it takes a pandas Series and returns one of the same length"
        ) from error
    if len(found) != 1 or not math.isfinite(found.iloc[0]):
        raise ConventionError(
            f"convention: {name} gives {found.tolist()} for the value {value:g}; it returns a finite number for each"
        )
    return float(found.iloc[0])


def bounds(
    dcg: Column, ranks: Column, returned: Column, judged_gains: Column, gains: Column, rules: "BoundsRules"
) -> Column:
    """An array of double: the lowest and the highest NDCG at each cutoff, in turn, null where there is none.

    `dcg` is an array of double with the DCG at every cutoff, `ranks` those of the unjudged documents, ascending,
    `judged_gains` the gains of the query's judged documents and `gains` those that any document can get.
    """
    # A worker of a cluster need not have this package.
    cloudpickle.register_pickle_by_value(bounding)  # type: ignore[no-untyped-call]  # it ships no types
    discounts_to = _discounts_of(rules.discount)

    def lowest_and_highest(
        dcg: pd.Series, ranks: pd.Series, returned: pd.Series, judged_gains: pd.Series, gains: pd.Series
    ) -> pd.Series:
        found = bounding.at_cutoffs(
            list(dcg),
            list(ranks),
            list(returned),
            list(judged_gains),
            gains.iloc[0],
            rules.cutoffs,
            discounts_to,
            rules.unjudged_gain,
            rules.capped,
            rules.nothing,
        )
        return pd.Series(found)

    wrapped = pandas_udf(  # type: ignore[call-overload]  # its stub has no default kind
        lowest_and_highest, ArrayType(DoubleType())
    )
    computed: Column = wrapped(dcg, ranks, returned, judged_gains, gains)
    return computed


@dataclasses.dataclass(frozen=True)
class BoundsRules:
    """What a convention says that bounds need to know; see `bounding.at_cutoffs`."""

    cutoffs: list[int | None]
    discount: str | tuple[float, ...]
    unjudged_gain: float
    capped: bool
    nothing: float


def _discounts_of(rule: str | tuple[float, ...]) -> Callable[[int], "np.ndarray[Any, Any]"]:
    """A function that gives the discounts of the ranks from 1 to a rank, as an array of double."""
    if isinstance(rule, tuple):
        return lambda size: np.concatenate([rule[:size], np.zeros(max(size - len(rule), 0))])
    if rule in DISCOUNTS:
        formula, functions = DISCOUNTS[rule].of, bounding.Arrays()
        return lambda size: np.broadcast_to(formula(np.arange(1.0, size + 1), functions), size)
    function = load(rule)
    return lambda size: pd.Series(function(pd.Series(np.arange(1.0, size + 1)))).to_numpy(dtype=float)
