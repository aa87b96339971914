"""Converts tables in Python to Arrow, without an engine.

A table is a pandas, Polars or pyarrow table, a named Series with its index, tuples, or a
dictionary: of columns, {query: {document: number}}, {query: [document, ...]}, one of these by run,
or {run: table}. The result becomes a Parquet file or a DataFrame of a session, and is then read
like any other table.
"""

import itertools
import os
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from ndcg_spark.errors import InputError, first_line, within
from ndcg_spark.inputs.column_names import doubtful_run, is_alias, resolve_columns
from ndcg_spark.inputs.mixed_types import concatenated, is_list, is_whole
from ndcg_spark.inputs.objects import find_objects, flattened, kinds_of_schema, plain_names
from ndcg_spark.inputs.reshape import ways_without_scores
from ndcg_spark.schemas import OF_RESULTS
from ndcg_spark.text import ROWS_ARE_DOCUMENTS
from ndcg_spark.voices import Advice

#: The run name of results that are given without one.
RUN = "run"
#: Types that some engine does not read, and the nearest type that every engine reads.
_WIDER = {
    pa.uint8(): pa.int16(),
    pa.uint16(): pa.int32(),
    pa.uint32(): pa.int64(),
    pa.uint64(): pa.decimal128(20),
    pa.float16(): pa.float32(),
    pa.large_string(): pa.string(),
    pa.string_view(): pa.string(),
}
#: No engine reads half-precision floats, durations, or the nanosecond times that pandas writes.
#: Some engines read neither pandas categories (Arrow dictionaries) nor times of day. Any of these
#: types may be within lists and structs.
_UNREADABLE = re.compile(
    r"halffloat|dictionary<|decimal256\(|timestamp\[ns|(duration|fixed_size_binary|time32|time64)\["
)
_LISTS = (list, tuple, set, frozenset, np.ndarray, pd.Series)
_CONTAINERS = (Mapping, *_LISTS)


def is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_floating(kind) or pa.types.is_integer(kind))


def holds_structs(kind: pa.DataType) -> bool:
    """Whether the values are lists of structs, whose fields may be our columns."""
    return is_list(kind) and bool(pa.types.is_struct(kind.value_type))


def is_readable(kind: pa.DataType) -> bool:
    """Whether every engine reads a file with a column of this type, even if it is not wanted."""
    return not _UNREADABLE.search(str(kind))


def plain_type(kind: pa.DataType) -> pa.DataType:
    """Return a type with which every engine reads the same values.

    This is the type itself if every engine reads it, or if no type has the same values.
    """
    if pa.types.is_dictionary(kind):
        return plain_type(kind.value_type)
    if is_list(kind):
        return pa.list_(plain_type(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([(field.name, plain_type(field.type)) for field in kind])
    if pa.types.is_decimal256(kind):
        # Text keeps every digit, and becomes the nearest double.
        return pa.string()
    return _WIDER.get(kind, kind)


def is_spark(table: Any) -> bool:
    """Whether a table is a Spark DataFrame, or a dictionary by run that contains one."""
    tables = table.values() if isinstance(table, Mapping) else [table]
    return any(type(table).__module__.startswith("pyspark.") for table in tables)


def to_arrow(table: Any, wanted: Sequence[str] | None) -> pa.Table:
    """Return the table in types that every engine reads, with our names.

    It has only the columns that may be `wanted`, or all columns if that is None.
    """
    names = wanted or ()
    is_by_run = False
    if isinstance(table, Mapping) and "run" in names:
        is_by_run = any(map(_is_table, table.values()))
    try:
        if is_by_run:
            rows = _rows_of_runs(table, names)
        else:
            rows = _wanted_columns(_any_to_arrow(table, names), names)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise InputError(
            f"it cannot be read as a table, {first_line(error)}; give each column one type; "
            "paths go in a list"
        ) from error
    if not rows.num_rows:
        raise InputError("the table is empty; check what should have filled it, or leave it out")
    return rows


def run_name(run: object) -> str:
    """Return a run's name, or raise InputError if it is not text."""
    if isinstance(run, str):
        return run
    raise InputError(f"{run!r} is not a run name; give text")


def _is_table(value: Any) -> bool:
    """Whether a value of {run: table} is a table, and not a number or a list of ids."""
    if isinstance(value, Mapping):
        return any(isinstance(entry, _CONTAINERS) for entry in value.values())
    if isinstance(value, list | tuple):
        return bool(value) and isinstance(value[0], tuple)
    return is_frame(value)


def is_frame(value: Any) -> bool:
    """Whether a value is an object with columns, such as a DataFrame, not a Python collection."""
    # This checks the class, because a lazy Polars frame warns about the cost of its `columns`.
    return any(hasattr(type(value), name) for name in ("columns", "column_names", "schema"))


def _rows_of_runs(tables: Mapping[Any, Any], wanted: Sequence[str]) -> pa.Table:
    """Return the rows of {run: table} in one table."""
    parts = []
    # The first run that has only scores, and the first that has only ranks.
    first_with_only: dict[str, str] = {}
    for run, table in tables.items():
        with within(f"run {run_name(run)!r}"):
            rows = _rows_of_run(table, wanted)
        numbers = {"score", "rank"}.intersection(rows.column_names)
        if len(numbers) == 1:
            first_with_only.setdefault(numbers.pop(), run)
        names = pa.array([run] * rows.num_rows, pa.string())
        parts.append(_with_text_ids(rows).append_column("run", names))
    if len(first_with_only) > 1:
        raise InputError(
            f"run {first_with_only['score']!r} has only scores and "
            f"run {first_with_only['rank']!r} only ranks or lists; use the same form for both"
        )
    return concatenated(parts)


def _with_text_ids(rows: pa.Table) -> pa.Table:
    """Return the rows with whole numbers among the ids as text, because other runs have text."""
    for at, field in enumerate(rows.schema):
        is_id = field.name in ("dataset", "query_id", "doc_id")
        if is_id and is_whole(field.type):
            texts = rows[at].cast(pa.string())
            rows = rows.set_column(at, field.name, texts)
    return rows


def _rows_of_run(table: Any, wanted: Sequence[str]) -> pa.Table:
    """Return the rows of a named run, without its run column.

    Raise InputError if that column has several runs.
    """
    rows = to_arrow(table, wanted)
    if "run" in rows.column_names:
        names = rows["run"].unique().to_pylist()
        if len(names) > 1:
            raise InputError(
                f"its table has several runs, e.g. {names[0]} and {names[1]}; give only one"
            )
        rows = rows.drop_columns(["run"])
    return _without_doubtful_run(rows)


def _without_doubtful_run(rows: pa.Table) -> pa.Table:
    """Return the rows of a named run, without a column that may give it a different name."""
    column = doubtful_run(resolve_columns({}, ["run"], rows.column_names), {})
    return rows if column is None else rows.drop_columns([column])


def _wanted_columns(table: pa.Table, wanted: Sequence[str]) -> pa.Table:
    """Return the columns that may be wanted, in plain types, under our names if they have one."""
    if wanted:
        table = _without_deep_objects(table, wanted)
    has_structs = any(holds_structs(column.type) for column in table.columns)
    ours = _our_names(table, wanted)
    # Lists of structs may hold the missing columns; they are checked when they become rows.
    if not has_structs:
        _refuse_missing_columns(table, wanted, ours)
    columns = []
    names = []
    for name, column in zip(table.column_names, table.columns, strict=True):
        # If judgments are expected, columns of results show that the tables are swapped.
        is_of_results = name.lower() in OF_RESULTS
        may_be_ours = name in ours or holds_structs(column.type) or is_of_results
        if may_be_ours or not wanted:
            columns.append(_plain_column(column))
            names.append(ours.get(name, name))
    return pa.table(columns, names)


def _without_deep_objects(table: pa.Table, wanted: Sequence[str]) -> pa.Table:
    """Return the table with fields of nested objects as columns if some of them are ours."""
    objects = find_objects(kinds_of_schema(table.schema), wanted, {})
    if objects is None or objects.is_plain:
        return table
    return flattened(table, objects)


def _our_names(table: pa.Table, wanted: Sequence[str]) -> dict[str, str]:
    """Return our names of the table's columns that are wanted, such as `{"docno": "doc_id"}`."""
    columns = plain_names(kinds_of_schema(table.schema))
    theirs_by_ours = resolve_columns({}, wanted or ("dataset", "query_id"), columns)
    ours_by_theirs = {theirs: ours for ours, theirs in theirs_by_ours.items()}
    doubtful = None
    is_of_documents = "doc_id" in wanted
    if is_of_documents:
        doubtful = doubtful_run(theirs_by_ours, {})
    if doubtful is not None:
        # It keeps its name until its values show whether it names a run.
        ours_by_theirs[doubtful] = doubtful
    is_of_scores = "ndcg" in wanted
    if is_of_scores:
        # Scores that are compared may have any name.
        for field in table.schema:
            if is_number(field.type):
                ours_by_theirs.setdefault(field.name, field.name)
    return ours_by_theirs


def _refuse_missing_columns(
    table: pa.Table, wanted: Sequence[str], ours: Mapping[str, str]
) -> None:
    """Raise InputError if the table lacks a column that every row needs.

    `ours` has our names of its columns, such as `{"docno": "doc_id"}`.
    """
    has = {*ours.values()}
    missing = []
    for name in ("query_id", "doc_id", "weight"):
        if name in wanted and name not in has:
            missing.append(name)
    if "score" in wanted and not _has_order(table, has):
        missing.append("score or rank")
    if not missing:
        return
    advice = None
    if missing == ["score or rank"]:
        advice = _ways_without_scores(table, ours)
    what = f"{len(missing)} column(s) missing, {', '.join(missing)}"
    to_do = _how_to_give(missing, wanted)
    raise InputError(f"{what}; it has {', '.join(table.column_names)}; {to_do}", advice)


def _how_to_give(missing: Sequence[str], wanted: Sequence[str]) -> str:
    """Return what to do about missing columns, as the end of a message."""
    if "ndcg" in wanted:
        return "give the columns run, query_id and a measure"
    to_do = f"rename its columns to {' and '.join(missing)}"
    if missing == ["doc_id"]:
        to_do += f", or {ROWS_ARE_DOCUMENTS}"
    return to_do


def _ways_without_scores(table: pa.Table, ours: Mapping[str, str]) -> Advice | None:
    """Return advice on results without scores and ranks, or None if they lack documents as well."""
    for theirs, name in ours.items():
        if name == "doc_id":
            return ways_without_scores(table[theirs])
    return None


def _has_order(table: pa.Table, has: Collection[str]) -> bool:
    """Whether scores, ranks or lists order the documents. A table without rows needs no order."""
    if not table.num_rows:
        return True
    if "score" in has or "rank" in has:
        return True
    return any(is_list(column.type) for column in table.columns)


def _any_to_arrow(table: Any, wanted: Sequence[str]) -> pa.Table:
    """Return a table of any kind as Arrow, with the user's names.

    Raise InputError for an object that is not a table.
    """
    if isinstance(table, pd.Series):
        table = table.reset_index()
    if isinstance(table, pd.DataFrame):
        return _from_pandas(table, wanted)
    if isinstance(table, Mapping):
        return _from_dictionary(table, wanted)
    if is_spark(table):
        return _from_spark(table, wanted)
    if type(table).__module__.startswith("polars") and hasattr(table, "collect"):
        table = table.collect()
    if hasattr(table, "__arrow_c_stream__"):
        return pa.table(table)
    rows = []
    if isinstance(table, Iterable):
        rows = list(table)
    kinds = set(map(_kind_of_row, rows))
    if kinds == {"dictionary"}:
        # from_pylist would use only the keys of the first dictionary.
        return pa.Table.from_struct_array(pa.array(map(dict, rows)))
    if kinds != {"tuple"}:
        raise _not_a_table(table, rows)
    return _from_tuples(rows, wanted)


def _kind_of_row(row: Any) -> str:
    if isinstance(row, Mapping):
        return "dictionary"
    return "tuple" if isinstance(row, tuple) else "other"


def _from_pandas(table: pd.DataFrame, wanted: Sequence[str]) -> pa.Table:
    """Return a pandas table as Arrow, with its index if that contains ids."""
    # The index may contain ids, for example after groupby or pivot.
    is_index_wanted = False
    for level in table.index.names:
        is_index_wanted |= any(is_alias(name, str(level)) for name in (*wanted, "query_id"))
    return pa.Table.from_pandas(table, preserve_index=is_index_wanted)


def _from_spark(table: Any, wanted: Sequence[str]) -> pa.Table:
    """Return the columns of a Spark DataFrame that may be wanted, as Arrow."""
    # Imported here, because tables of other kinds need no engine.
    from ndcg_spark.engine import require_read_values

    require_read_values(table.sparkSession)
    if not wanted:
        return table.toArrow()
    kept = []
    for name, kind in table.dtypes:
        is_ours = any(is_alias(ours, name) for ours in wanted)
        # These are lists from a recommender, whose fields are recognised later.
        has_structs = kind.startswith("array<struct<")
        is_score = "ndcg" in wanted and kind == "double"
        if is_ours or has_structs or is_score:
            kept.append(name)
    return table.select(*kept).toArrow()


def _not_a_table(table: Any, rows: Sequence[Any]) -> InputError:
    """Return the error for an object that is not a table; `rows` are its items."""
    what = f"{type(table).__name__} is not a table"
    if hasattr(type(table), "to_dataframe"):
        return InputError(f"{what}; give what its to_dataframe() returns")
    first = rows[0] if rows else table
    if isinstance(first, str | os.PathLike):
        what += "; read the files first (on Spark, with spark.read)"
    return InputError(
        f"{what}; give a DataFrame, a pyarrow Table, a dictionary of columns, "
        "{query: {document: number}}, {query: [document, ...]} or, for results, {run: table}"
    )


def _from_tuples(rows: Sequence[tuple[Any, ...]], wanted: Sequence[str]) -> pa.Table:
    """Return tuples as a table. Unless they are named, their fields are query, document, number."""
    numbers = [name for name in ("relevance", "score") if name in wanted]
    names = getattr(rows[0], "_fields", ("query_id", "doc_id", *numbers))
    for row in rows:
        if len(row) != len(names):
            what = f"a tuple of {len(row)} value(s), e.g. {row!r}"
            to_do = f"give ({', '.join(names)}), or {{query: {{document: number}}}}"
            raise InputError(f"{what}; {to_do}")
    columns = {}
    for at, name in enumerate(names):
        columns[name] = [row[at] for row in rows]
    return pa.table(columns)


def _from_dictionary(table: Mapping[Any, Any], wanted: Sequence[str]) -> pa.Table:
    """Return a dictionary as a table. Its keys are names of columns, or queries."""
    keys = [str(key) for key, value in table.items() if not isinstance(value, Mapping)]
    has_columns = any(is_alias(name, key) for name, key in itertools.product(wanted, keys))
    if "doc_id" in wanted and not has_columns:
        return _from_queries(table, wanted)
    for key, value in table.items():
        is_column = isinstance(value, Iterable) and not isinstance(value, str)
        if not is_column:
            others = "weight" if "weight" in wanted else "other columns"
            what = f"{key!r} has {type(value).__name__}, which is not a column"
            raise InputError(f"{what}; give a table with query_id and {others}")
    return pa.table(dict(table))


def _from_queries(table: Mapping[Any, Any], wanted: Sequence[str]) -> pa.Table:
    """Return the rows of {query: {document: number}} or {query: [document, ...]}.

    The position in a list is the rank.
    """
    number = "score" if "score" in wanted else "relevance"
    columns: dict[str, list[Any]] = {"query_id": [], "doc_id": [], number: [], "rank": []}
    for query, documents in table.items():
        if _has_numbers(documents):
            ids, values = list(documents), list(documents.values())
            ranks: list[int | None] = [None] * len(ids)
        elif _is_list(documents, is_ordered=number == "score"):
            ids = list(documents)
            values = [None] * len(ids)
            ranks = list(range(1, len(ids) + 1))
        else:
            form = f"{{document: {number}}} or a list"
            raise TypeError(f"query {query!r} has {type(documents).__name__}, not {form}")
        columns["query_id"].extend([query] * len(ids))
        columns["doc_id"].extend(ids)
        columns[number].extend(values)
        columns["rank"].extend(ranks)
    # Arrow would read a tuple as a list, and True after a number as 1.
    for value in itertools.chain(*columns.values()):
        if isinstance(value, (bool, np.bool_, tuple)):
            raise TypeError("an id or a number is true, false or a tuple")
        if isinstance(value, _LISTS):
            raise TypeError("an id or a number is a list")
    for name in (number, "rank"):
        given = [value for value in columns[name] if value is not None]
        if not given:
            del columns[name]
    return pa.table(columns)


def _has_numbers(documents: Any) -> bool:
    """Whether these are documents with numbers, {document: number}."""
    if not isinstance(documents, Mapping):
        return False
    return not any(isinstance(value, Mapping) for value in documents.values())


def _is_list(documents: Any, *, is_ordered: bool) -> bool:
    """Whether these are documents without numbers. A set has no order."""
    if is_ordered and isinstance(documents, set | frozenset):
        return False
    return isinstance(documents, _LISTS)


def _plain_column(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the column in a type that every engine reads."""
    kind = plain_type(column.type)
    if pa.types.is_dictionary(column.type):
        # pyarrow cannot cast the whole column for every kind of text.
        return pa.chunked_array(
            [part.dictionary.cast(kind).take(part.indices) for part in column.chunks], kind
        )
    return column.cast(kind)
