"""Judgments and results as dictionaries: {query: {document: number}}, {query: [document, ...]}, or runs of these."""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from ndcg_spark.errors import InputError
from ndcg_spark.inputs.column_names import is_known
from ndcg_spark.inputs.json_text import is_text

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
    dictionary. Ids become text.

    Raises
    ------
    InputError
        A value is not a number, an id is neither text nor a whole number, or is there as both, some queries have lists
        and some scores, or a run of several has no documents.
    """
    of_queries = (value for value in table.values() if isinstance(value, Mapping))
    has_runs = any(isinstance(value, _NESTED) for of_query in of_queries for value in of_query.values())
    if has_runs and not is_results:
        raise InputError(f"{where}: dictionaries of three levels; judgments are {{query: {{document: grade}}}}")
    rows: list[tuple[Any, ...]] = []
    for run, queries in by_id(table, where) if has_runs else ((RUN, table),):
        if not isinstance(queries, Mapping):
            raise InputError(f"{where}: {type(queries).__name__} where the queries of a run are expected")
        before = len(rows)
        for query, documents in by_id(queries, where):
            found = _documents(documents, is_results, f"{where}: query {query!r}")
            rows += ((run, query, *document) for document in found)
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
    # Arrow takes True for 1, though a column of booleans has no numbers.
    if any(isinstance(number, bool | np.bool_) for number in numbers):
        raise InputError(f"{where}: a value that is true or false; give numbers as grades and scores")
    try:
        return pa.table({**columns, "score" if is_results else "relevance": pa.array(numbers, pa.float64())})
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise InputError(
            f"{where}: a value that is not a number, {error}; give numbers as grades and scores"
        ) from error


def by_id(table: Mapping[Any, Any], where: str) -> Iterator[tuple[str | None, Any]]:
    """The entries of a dictionary with the keys as ids; InputError for a key that is none, and for 1 beside "1"."""
    ids = {key: id_of(key, where) for key in table}
    if len({*ids.values()}) < len(ids):
        same = next(key for key, text in ids.items() if text is not key and text in table)
        raise InputError(f"{where}: {same!r} and {str(same)!r} are the same id; give one of them")
    yield from ((text, table[key]) for key, text in ids.items())


def _documents(documents: Any, is_results: bool, where: str) -> Iterator[_Row]:
    """The documents of a query."""
    if isinstance(documents, Mapping):
        yield from ((document, number, None) for document, number in by_id(documents, where))
        return
    if not isinstance(documents, _LISTS):
        raise InputError(f"{where}: {type(documents).__name__} where documents are expected; give {{document: number}}")
    if is_results and isinstance(documents, set | frozenset):
        raise InputError(f"{where}: a set of documents, which has no order; give a list, the best first")
    for rank, entry in enumerate(documents, start=1):
        if isinstance(entry, tuple) and len(entry) == 2:
            yield id_of(entry[0], where), entry[1], None
        else:
            yield id_of(entry, where), None, rank


def id_of(value: Any, where: str) -> str | None:
    """An id as text; InputError if it is neither text nor a whole number, as for a column of such values."""
    if value is None:
        return None
    if isinstance(value, str):
        text = str.__str__(value)
        if text.isascii() or is_text(text):
            return text
        raise InputError(f"{where}: {value!r} has half of a surrogate pair, which is not a character; correct the id")
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        return str(int(value))
    raise InputError(f"{where}: {value!r} where an id is expected; ids are text or whole numbers")
