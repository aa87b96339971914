"""The only pandas UDFs: gains and discounts that users write in Python.

A function is looked up and wrapped when a step calls for it, never while this module is imported: a UDF made before
the session exists belongs to classic Spark and fails on Connect.
"""

import importlib
import math
from collections.abc import Callable

import pandas as pd
from pyspark.sql import Column
from pyspark.sql.pandas.functions import pandas_udf
from pyspark.sql.types import DoubleType

from ndcg_spark.errors import ConventionError

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
        raise ConventionError(f"convention: {name} is no function; it takes and returns a pandas Series")
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
