"""Judgments and results as dictionaries: {query: {document: number}}, {query: [document, ...]}, or runs of these."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from ndcg_spark.errors import InputError
from ndcg_spark.inputs.column_names import is_known

#: The run of results that are given as {query: {document: score}}, if they are given no name.
RUN = "run"

_LISTS = (list, tuple, set, frozenset, np.ndarray, pd.Series)
_NESTED = (Mapping, *_LISTS)
#: A document, and its score or grade or its rank.
_Row = tuple[Any, Any, int | None]


def is_nested(table: Mapping[Any, Any], wanted: Collection[str]) -> bool:
    """Whether a dictionary is nested rather than one of columns: no key with a list is the name of a column."""
    if all(isinstance(value, Mapping) for value in table.values()):
        return True
    is_of_columns = any(is_known(name, str(key)) for name in wanted for key in table)
    return not is_of_columns and all(isinstance(value, _NESTED) for value in table.values())


def table_of_dictionaries(table: Mapping[Any, Any], is_results: bool, where: str) -> pa.Table:
    """The rows of {query: {document: number}} or {query: [document, ...]}; of results also {run: {query: ...}}.

    A document's place in a list is its rank, from 1, and not a grade. (document, number) in a list is as in a
    dictionary. Queries and documents become text.

    Raises
    ------
    InputError
        A value is not a number, a document is neither text nor a whole number, some queries have lists and
        some scores, or a run of several has no documents.
    """
    of_queries = (value for value in table.values() if isinstance(value, Mapping))
    has_runs = any(isinstance(value, _NESTED) for of_query in of_queries for value in of_query.values())
    if has_runs and not is_results:
        raise InputError(f"{where}: dictionaries of three levels; judgments are {{query: {{document: grade}}}}")
    rows: list[tuple[Any, ...]] = []
    for run, queries in table.items() if has_runs else ((RUN, table),):
        if not isinstance(queries, Mapping):
            raise InputError(f"{where}: {type(queries).__name__} where the queries of a run are expected")
        before = len(rows)
        for query, documents in queries.items():
            found = _documents(documents, is_results, f"{where}: query {query!r}")
            rows += ((_id(run), _id(query), *document) for document in found)
        # Without any query, the run would vanish.
        if has_runs and len(rows) == before:
            raise InputError(f"{where}: run {run!r} has no documents; leave it out, or give it some")
    runs, query_ids, doc_ids, numbers, ranks = zip(*rows, strict=True) if rows else ((),) * 5
    text = {"run": runs} if is_results else {}
    columns = {
        name: pa.array(ids, pa.string()) for name, ids in {**text, "query_id": query_ids, "doc_id": doc_ids}.items()
    }
    if any(rank is not None for rank in ranks):
        if any(number is not None for number in numbers):
            raise InputError(
                f"{where}: some queries have a list of documents and some have numbers; give all of them the same"
            )
        return pa.table({**columns, **({"rank": pa.array(ranks, pa.int32())} if is_results else {})})
    try:
        return pa.table({**columns, "score" if is_results else "relevance": pa.array(numbers, pa.float64())})
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise InputError(
            f"{where}: a value that is not a number, {error}; give numbers as grades and scores"
        ) from error


def _documents(documents: Any, is_results: bool, where: str) -> Iterator[_Row]:
    """The documents of a query."""
    if isinstance(documents, Mapping):
        yield from ((_id(document), number, None) for document, number in documents.items())
        return
    if not isinstance(documents, _LISTS):
        raise InputError(f"{where}: {type(documents).__name__} where documents are expected; give {{document: number}}")
    if is_results and isinstance(documents, set | frozenset):
        raise InputError(f"{where}: a set of documents, which has no order; give a list, the best first")
    for rank, entry in enumerate(documents, start=1):
        if isinstance(entry, tuple) and len(entry) == 2:
            yield _id(entry[0]), entry[1], None
        elif isinstance(entry, bool) or not isinstance(entry, str | int | np.integer | None):
            raise InputError(f"{where}: {entry!r} in a list of documents; ids are text or whole numbers")
        else:
            yield _id(entry), None, rank


def _id(value: Any) -> str | None:
    return None if value is None else str(value)
