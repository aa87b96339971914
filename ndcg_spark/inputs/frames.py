"""Tables that people have in Python become DataFrames of a session: pandas, Polars, pyarrow and dictionaries."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from ndcg_spark.conforming import is_dataframe
from ndcg_spark.errors import InputError
from ndcg_spark.inputs.aliases import resolved

#: The run of results that are given as {query: {document: score}}, if they are given no name.
RUN = "run"

_KNOWN = "a Spark, pandas or Polars DataFrame, a pyarrow Table, a dictionary of columns, or {query: {document: number}}"


def frame(table: Any, wanted: Sequence[str] | None, session: SparkSession, where: str) -> DataFrame:
    """The table as a DataFrame of the session: those of the wanted columns that it has, or all where that is None.

    A column that has the name other tools give it (`qid`, `docno`) gets ours. A DataFrame of Spark keeps all columns.

    `wanted` are the columns of a schema; of results, {query: {document: score}} becomes the run `RUN`, and
    {run: {query: {document: score}}} as many runs. Documents and queries of dictionaries become text.

    Raises
    ------
    InputError
        It is no table, a column mixes types, no column is wanted, or two may be the same one.
    """
    if is_dataframe(table):
        found = resolved({}, wanted or (), table.columns, where)
        renamed: DataFrame = table.withColumnsRenamed(
            {theirs: ours for ours, theirs in found.items() if ours != theirs}
        )
        return renamed
    arrow = _arrow(table, wanted, where)
    names = arrow.column_names
    kept = {name: name for name in names} if wanted is None else resolved({}, wanted, names, where)
    if not kept.keys() & set(wanted or names):
        known = ", ".join(map(str, arrow.column_names))
        raise InputError(f"{where}: none of {', '.join(wanted or ())} is a column; it has {known}; rename them")
    return session.createDataFrame(pa.table({ours: _plain(arrow.column(name)) for ours, name in kept.items()}))


def _arrow(table: Any, wanted: Sequence[str] | None, where: str) -> pa.Table:
    of_documents = wanted is not None and "doc_id" in wanted
    if of_documents and isinstance(table, Mapping) and all(isinstance(value, Mapping) for value in table.values()):
        return _nested(table, "score" in (wanted or ()), where)
    try:
        if isinstance(table, pd.DataFrame):
            return pa.Table.from_pandas(table, preserve_index=False)
        if isinstance(table, Mapping):
            return pa.table(dict(table))
        # A lazy frame of Polars has no rows yet.
        lazy = type(table).__module__.startswith("polars") and type(table).__name__ == "LazyFrame"
        found = table.collect() if lazy else table
        if isinstance(found, pa.Table) or hasattr(found, "__arrow_c_stream__"):
            return pa.table(found)
    except (pa.ArrowException, TypeError, ValueError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(f"{where}: it cannot be read as a table, {reason}; give each column one type") from error
    raise InputError(f"{where}: {type(table).__name__} is no table; give {_KNOWN}")


def _nested(table: Mapping[Any, Any], is_results: bool, where: str) -> pa.Table:
    """The rows of {query: {document: grade}}, {query: {document: score}} or {run: {query: {document: score}}}."""
    deeper = [value for of_query in table.values() for value in of_query.values() if isinstance(value, Mapping)]
    if deeper and not is_results:
        raise InputError(f"{where}: dictionaries of three levels; judgments are {{query: {{document: grade}}}}")
    runs = table if deeper else {RUN: table}
    rows = [
        (str(run), str(query), str(document), value)
        for run, of_run in runs.items()
        for query, documents in of_run.items()
        for document, value in _items(documents, where)
    ]
    columns = list(zip(*rows, strict=True)) or [(), (), (), ()]
    names = {"run": columns[0]} if is_results else {}
    try:
        value = pa.array(columns[3], pa.float64())
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise InputError(f"{where}: a value that is no number, {error}; give numbers as grades and scores") from error
    text = {**names, "query_id": columns[1], "doc_id": columns[2]}
    return pa.table(
        {
            **{name: pa.array(column, pa.string()) for name, column in text.items()},
            "score" if is_results else "relevance": value,
        }
    )


def _items(documents: Any, where: str) -> Any:
    if isinstance(documents, Mapping):
        return documents.items()
    raise InputError(f"{where}: {type(documents).__name__} where documents are expected; give {{document: number}}")


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The column in a type that every engine takes: no dictionaries, no unsigned numbers, one kind of text."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        # Not a cast, which pyarrow does not have for every kind of text.
        decoded = [
            _plain(pa.chunked_array([part.dictionary])).combine_chunks().take(part.indices) for part in column.chunks
        ]
        return pa.chunked_array(decoded or [pa.array([], pa.string())])
    if pa.types.is_uint64(kind):
        # As text, which holds all of them; what should be a number is read as one.
        return column.cast(pa.string())
    wider = {pa.uint8(): pa.int16(), pa.uint16(): pa.int32(), pa.uint32(): pa.int64(), pa.float16(): pa.float32()}
    if kind in (pa.large_string(), pa.string_view()):
        return column.cast(pa.string())
    return column.cast(wider[kind]) if kind in wider else column
