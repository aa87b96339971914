"""Runs that are given as a dictionary, {run: table}: the key is the run, whatever run the table names."""

from collections.abc import Collection, Mapping
from functools import reduce
from typing import TYPE_CHECKING, Any

from ndcg_spark.errors import InputError
from ndcg_spark.inputs.column_names import is_known

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

#: The columns that either all runs have or none.
_OF_ALL = ("dataset", "score", "cutoff")
_WHOLE = ("tinyint", "smallint", "int", "bigint")


def is_of_runs(table: Any, wanted: Collection[str]) -> bool:
    """Whether this is a dictionary with a table for a run, and not only columns or nested dictionaries."""
    is_dictionary = "run" in wanted and isinstance(table, Mapping)
    return is_dictionary and any(_is_table(value, wanted) for value in table.values())


def together(runs: "Mapping[str | None, DataFrame]", lazy: Collection[str | None], where: str) -> "DataFrame":
    """The tables of the runs as one, whose column run has the keys.

    Runs a job for each run whose table names runs, except the `lazy` ones, which may have many rows and must not.
    InputError if a table is of several runs, or if only some have scores.
    """
    for name in _OF_ALL:
        has, lacks = ([run for run, own in runs.items() if (name in own.columns) is there] for there in (True, False))
        if has and lacks:
            raise InputError(f"{where}: run {has[0]!r} has {name}, but run {lacks[0]!r} does not; give all the same")
    named = [_named(run, own, run in lazy, f"{where}: run {run!r}") for run, own in runs.items()]
    return reduce(lambda one, other: one.unionByName(other, allowMissingColumns=True), named)


def _named(run: str | None, table: "DataFrame", is_lazy: bool, where: str) -> "DataFrame":
    # Here, because runs are also compared where there is no engine.
    from pyspark.sql import functions as F

    if "run" in table.columns:
        if is_lazy:
            raise InputError(f"{where}: its table has a column of runs, and may have several; drop that column")
        names = sorted(str(row["run"]) for row in table.select("run").distinct().take(2))
        if len(names) > 1:
            raise InputError(f"{where}: its table has several runs, e.g. {' and '.join(names)}; give the table of one")
    # Engines disagree about ids that are numbers in one table and text in another.
    numbers = [name for name, kind in table.dtypes if name in ("dataset", "query_id", "doc_id") and kind in _WHOLE]
    return table.withColumns({**{name: F.col(name).cast("string") for name in numbers}, "run": F.lit(run)})


def _is_table(value: Any, wanted: Collection[str]) -> bool:
    """Whether a value of a dictionary is a table, and neither a column nor a nested dictionary."""
    if not isinstance(value, Mapping):
        # This asks the class, because a lazy frame of Polars warns of the cost when asked for its columns.
        return type(value).__module__.startswith("pyspark.") or any(
            hasattr(type(value), name) for name in ("columns", "column_names")
        )
    ids = [name for name in ("query_id", "doc_id") if name in wanted]
    is_nested = any(isinstance(each, Mapping) for each in value.values())
    return not is_nested and all(any(is_known(name, str(column)) for column in value) for name in ids)
