"""Gains and discounts that users write in Python, such as ``gain="python:house_gains.tripled"``."""

import contextlib
import contextvars
import importlib
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from ndcg_spark import user_modules
from ndcg_spark.errors import ConventionError

if TYPE_CHECKING:
    import pandas as pd

#: It takes a Series of grades or ranks and returns the gain or discount of each.
Function = Callable[["pd.Series"], "pd.Series"]
_Functions = Mapping[str, Function]

#: The functions that `replaced` has set, by their names.
_REPLACED = contextvars.ContextVar[_Functions]("replaced")


@contextlib.contextmanager
def replaced(functions: _Functions) -> Iterator[None]:
    """A context that uses these functions instead of importing their modules."""
    token = _REPLACED.set(functions)
    try:
        yield
    finally:
        _REPLACED.reset(token)


def load_function(name: str) -> Function:
    """The function of a name such as ``python:house_gains.tripled``."""
    functions = _REPLACED.get({})
    if name in functions:
        return functions[name]
    module, _, function = name.removeprefix("python:").rpartition(".")
    try:
        loaded = getattr(importlib.import_module(module), function)
        if not callable(loaded):
            raise TypeError(f"{function} is not a function")
    except Exception as error:  # whatever a user's module raises while it is imported
        raise ConventionError(
            f"convention: {name} cannot be imported, {type(error).__name__}: {error}; "
            "put its folder on PYTHONPATH, on a cluster in spark.submit.pyFiles"
        ) from error
    return loaded  # type: ignore[no-any-return]  # the type of a user's object is unknown


def pack_function(name: str) -> bytes:
    """The function as bytes, for Python workers that may have a different version of its module."""
    function = load_function(name)
    try:
        return user_modules.packed(function)
    except Exception as error:  # whatever a user's objects raise while they are pickled
        raise ConventionError(
            f"convention: {name} cannot be sent to Python workers, "
            f"{type(error).__name__}: {error}; "
            "it must not use what cannot be pickled, such as locks and connections"
        ) from error


def call_function(name: str, values: Sequence[float]) -> list[float]:
    """What the function returns for these grades or ranks: a finite number for each."""
    # Imported here because only a user's function takes pandas.
    import pandas as pd

    function = load_function(name)
    try:
        results = pd.Series(function(pd.Series(values, dtype="float64"))).astype("float64").tolist()
        if len(results) != len(values) or not all(map(math.isfinite, results)):
            raise ValueError(f"it returns {results[:5]}")
    except Exception as error:  # whatever a user's function raises
        raise ConventionError(
            f"convention: {name} fails for {values[0]:g} to {values[-1]:g}, "
            f"{type(error).__name__}: {error}; "
            "it takes a pandas Series and returns one with a finite number for each value"
        ) from error
    return results
