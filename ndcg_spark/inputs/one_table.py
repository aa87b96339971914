"""Whether one table of Python is given as judgments and as results, as rankers have it."""

from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from ndcg_spark.inputs import row_documents
from ndcg_spark.inputs.column_names import is_alias, resolve_columns


def is_one_table(judgments: Any, results: Any) -> bool:
    """Whether these are one table of columns without documents: then each of its rows is one.

    That two paths are one is for the job to see.
    """
    if judgments is not results:
        return False
    has_queries = False
    for name in _column_names(judgments):
        if is_alias("doc_id", name):
            return False
        if is_alias("query_id", name):
            has_queries = True
    return has_queries


def refuse_one_column(judgments: Any, results: Any) -> None:
    """InputError if these are one table, in which one column is both the grades and the scores."""
    if judgments is results:
        names = list(_column_names(judgments))
        columns = resolve_columns({}, ["relevance", "score"], names)
        row_documents.refuse_one_column(columns, names)


def _column_names(table: Any) -> Iterable[str]:
    """The names of the columns of a table of any kind; none if it has none."""
    kind = type(table)
    names: Iterable[Any] = []
    if isinstance(table, Mapping):
        names = _keys(table)
    elif isinstance(table, pd.DataFrame):
        # An index may have ids.
        names = [*table.columns, *table.index.names]
    elif hasattr(kind, "collect_schema"):
        # Asked for its columns, a lazy frame of Polars warns of the cost.
        schema = table.collect_schema()
        names = schema.names()
    elif hasattr(kind, "column_names"):
        names = table.column_names
    elif hasattr(kind, "columns"):
        names = table.columns
    return map(str, names)


def _keys(table: Mapping[Any, Any]) -> Iterable[Any]:
    """The names of a dictionary's columns; none if it is one of queries or of runs."""
    for values in table.values():
        if isinstance(values, Mapping):
            return []
    return table
