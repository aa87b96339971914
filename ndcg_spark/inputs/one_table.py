"""Detects a Python table that is given both as judgments and as results, as for a ranker."""

from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from ndcg_spark.inputs import row_documents
from ndcg_spark.inputs.column_names import is_alias, resolve_columns


def is_one_table(judgments: Any, results: Any) -> bool:
    """Whether these are one table without a document column, so that each row is a document.

    For files, the job compares the paths instead.
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
    """Raise InputError if these are one table with the same column for grades and scores."""
    if judgments is results:
        names = list(_column_names(judgments))
        columns = resolve_columns({}, ["relevance", "score"], names)
        row_documents.refuse_one_column(columns, names)


def _column_names(table: Any) -> Iterable[str]:
    """Return the column names of a table of any kind, or nothing if it has no columns."""
    kind = type(table)
    names: Iterable[Any] = []
    if isinstance(table, Mapping):
        names = _keys(table)
    elif isinstance(table, pd.DataFrame):
        # The index may contain ids.
        names = [*table.columns, *table.index.names]
    elif hasattr(kind, "collect_schema"):
        # A lazy Polars frame would warn about the cost of its `columns`.
        schema = table.collect_schema()
        names = schema.names()
    elif hasattr(kind, "column_names"):
        names = table.column_names
    elif hasattr(kind, "columns"):
        names = table.columns
    return map(str, names)


def _keys(table: Mapping[Any, Any]) -> Iterable[Any]:
    """Return the column names of a dictionary, or nothing if its keys are queries or runs."""
    for values in table.values():
        if isinstance(values, Mapping):
            return []
    return table
