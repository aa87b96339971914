"""Gains and discounts that users write in Python, as functions of a pandas Series."""

import importlib
import math
from collections.abc import Callable, Sequence

import pandas as pd

from ndcg_spark.errors import ConventionError

#: The prefix of such a function in a convention.
PREFIX = "python:"


def load(name: str) -> Callable[[pd.Series], pd.Series]:
    """The function that ``python:package.module.function`` names. ConventionError if it cannot be imported."""
    module, _, function = name.removeprefix(PREFIX).rpartition(".")
    try:
        loaded = getattr(importlib.import_module(module), function)
    except Exception as error:  # whatever a user's module raises while it is imported
        raise ConventionError(
            f"convention: {name} cannot be imported, {type(error).__name__}: {error}; "
            "put its folder on PYTHONPATH, on a cluster in --py-files"
        ) from error
    if not callable(loaded):
        raise ConventionError(f"convention: {name} is not a function; it takes and returns a pandas Series")
    return loaded  # type: ignore[no-any-return]  # the type of a user's object is unknown


def computed(name: str, values: Sequence[float]) -> list[float]:
    """The user's function of the values. ConventionError unless it returns one finite number for each."""
    function = load(name)
    shown = f"the value {values[0]:g}" if len(values) == 1 else f"the values {values[0]:g} to {values[-1]:g}"
    try:
        results = pd.Series(function(pd.Series(values, dtype="float64"))).astype("float64").tolist()
    except Exception as error:  # whatever a user's function raises
        raise ConventionError(
            f"convention: {name} fails for {shown}, {type(error).__name__}: {error}; "
            "it takes a pandas Series and returns one of the same length"
        ) from error
    if len(results) != len(values) or not all(map(math.isfinite, results)):
        raise ConventionError(
            f"convention: {name} returns {results[:5]} for {shown}; it must return a finite number for each"
        )
    return results
