"""Tables that people have in Python as Arrow; no engine is needed.

Tables are of pandas, Polars or pyarrow, a named Series with its index, tuples, or dictionaries: of columns, {query:
{document: number}}, {query: [document, ...]}, these by run, or {run: table}. What is returned becomes a file of
Parquet, or a DataFrame of a session, and is then read like any other.
"""

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from ndcg_spark.errors import InputError, first_line, within
from ndcg_spark.inputs.column_names import doubtful_run, is_alias, resolve_columns
from ndcg_spark.inputs.mixed_types import concatenated, is_list
from ndcg_spark.schemas import OF_RESULTS

#: The run of results that are given without one.
RUN = "run"
_WIDER = {
    pa.uint8(): pa.int16(),
    pa.uint16(): pa.int32(),
    pa.uint32(): pa.int64(),
    pa.uint64(): pa.decimal128(20),
    pa.float16(): pa.float32(),
    pa.large_string(): pa.string(),
    pa.string_view(): pa.string(),
}
#: No engine reads half-precision floats, durations, or times in nanoseconds as pandas writes them; some read neither
#: pandas' categories (Arrow dictionaries) nor times of day. They may be within lists and structs.
_UNREADABLE = re.compile(
    r"halffloat|dictionary<|decimal256\(|timestamp\[ns|(duration|fixed_size_binary|time32|time64)\["
)
_LISTS = (list, tuple, set, frozenset, np.ndarray, pd.Series)


def is_number(kind: pa.DataType) -> bool:
    return bool(pa.types.is_floating(kind) or pa.types.is_integer(kind))


def holds_structs(kind: pa.DataType) -> bool:
    """Whether the values are lists of structs, whose fields may be columns of ours."""
    return is_list(kind) and bool(pa.types.is_struct(kind.value_type))


def is_readable(kind: pa.DataType) -> bool:
    """Whether every engine reads a file with a column of this type, whether or not the column is wanted."""
    return not _UNREADABLE.search(str(kind))


def plain_type(kind: pa.DataType) -> pa.DataType:
    """The type with which every engine reads the same values; the type itself if it is one, or there is none."""
    if pa.types.is_dictionary(kind):
        return plain_type(kind.value_type)
    if is_list(kind):
        return pa.list_(plain_type(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([(field.name, plain_type(field.type)) for field in kind])
    # Text keeps every digit, and is read as the nearest double.
    return pa.string() if pa.types.is_decimal256(kind) else _WIDER.get(kind, kind)


def is_spark(table: Any) -> bool:
    """Whether a table is a DataFrame of Spark, or has one for a run."""
    tables = table.values() if isinstance(table, Mapping) else [table]
    return any(type(table).__module__.startswith("pyspark.") for table in tables)


def to_arrow(table: Any, wanted: Sequence[str] | None) -> pa.Table:
    """The table in types that every engine reads, with our names; only what may be `wanted`, all if that is None."""
    names = wanted or ()
    is_by_run = isinstance(table, Mapping) and "run" in names and any(map(_is_table, table.values()))
    try:
        rows = _run_tables(table, names) if is_by_run else _columns(_arrow(table, names), names)
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise InputError(
            f"it cannot be read as a table, {first_line(error)}; give each column one type; paths go in a list"
        ) from error
    if not rows.num_rows:
        raise InputError("the table is empty; check what should have filled it, or leave it out")
    return rows


def run_name(run: object) -> str:
    if isinstance(run, str):
        return run
    raise InputError(f"{run!r} where the name of a run is expected; give text")


def _is_table(value: Any) -> bool:
    if isinstance(value, Mapping):
        return any(isinstance(entry, (Mapping, *_LISTS)) for entry in value.values())
    if isinstance(value, list | tuple):
        return bool(value) and isinstance(value[0], tuple)
    # This asks the class, because a lazy frame of Polars warns of the cost when asked for its columns.
    return any(hasattr(type(value), name) for name in ("columns", "column_names"))


def _run_tables(table: Mapping[Any, Any], wanted: Sequence[str]) -> pa.Table:
    """The tables of all runs, whose ids are text, as other runs may have text where one has numbers."""
    parts, order = [], dict[str, str]()
    for run, one in table.items():
        with within(f"run {run_name(run)!r}"):
            rows = _of_one_run(one, wanted)
        ordered_by = {"score", "rank"}.intersection(rows.column_names)
        if len(ordered_by) == 1:
            order.setdefault(ordered_by.pop(), run)
        for at, field in enumerate(rows.schema):
            is_whole = pa.types.is_integer(field.type)
            is_whole |= pa.types.is_decimal(field.type) and field.type.scale == 0
            if field.name in ("dataset", "query_id", "doc_id") and is_whole:
                rows = rows.set_column(at, field.name, rows[at].cast(pa.string()))
        parts.append(rows.append_column("run", pa.array([run] * rows.num_rows, pa.string())))
    if len(order) > 1:
        raise InputError(
            f"run {order['score']!r} has only scores and run {order['rank']!r} only ranks or lists; give both the same"
        )
    return concatenated(parts)


def _of_one_run(table: Any, wanted: Sequence[str]) -> pa.Table:
    """The rows of a run that has a name, without a column that names it; InputError if that has several."""
    rows = to_arrow(table, wanted)
    if "run" in rows.column_names:
        names = rows["run"].unique().to_pylist()
        if len(names) > 1:
            raise InputError(f"its table has several runs, e.g. {names[0]} and {names[1]}; give one")
        rows = rows.drop_columns(["run"])
    return without_doubtful_run(rows)


def without_doubtful_run(rows: pa.Table) -> pa.Table:
    """The rows of a run that has a name, without a column that might name it otherwise."""
    column = doubtful_run(resolve_columns({}, ["run"], rows.column_names), {})
    return rows if column is None else rows.drop_columns([column])


def _columns(table: pa.Table, wanted: Sequence[str]) -> pa.Table:
    """Those columns of a table that may be wanted, in plain types, and with our names where it has them."""
    wanted_or_key = wanted or ("dataset", "query_id")
    ours = {theirs: name for name, theirs in resolve_columns({}, wanted_or_key, table.column_names).items()}
    if "doc_id" in wanted and doubtful_run({name: theirs for theirs, name in ours.items()}, {}):
        # It keeps its name, as it is looked at before it counts.
        ours = {theirs: theirs if name == "run" else name for theirs, name in ours.items()}
    # Scores that are compared may have any name.
    numbers = (one.name for one in table.schema if "ndcg" in wanted and is_number(one.type))
    ours = {name: name for name in numbers} | ours
    lost = [name for name in ("query_id", "doc_id", "weight") if name in wanted and name not in ours.values()]
    is_ranked = {"score", "rank"} & {*ours.values()} or any(is_list(column.type) for column in table.columns)
    lost += ["score or rank"] if "score" in wanted and table.num_rows and not is_ranked else []
    if lost and not any(holds_structs(column.type) for column in table.columns):
        rename = f"rename its columns to {' and '.join(lost)}"
        give = "give the columns run, query_id and a measure" if "ndcg" in wanted else rename
        raise InputError(
            f"{len(lost)} column(s) missing, {', '.join(lost)}; it has {', '.join(table.column_names)}; {give}"
        )
    columns = [
        (ours.get(name, name), _plain_column(column))
        for name, column in zip(table.column_names, table.columns, strict=True)
        if not wanted or name in ours or holds_structs(column.type) or name.lower() in OF_RESULTS
    ]
    return pa.table([column for _, column in columns], [name for name, _ in columns])


def _arrow(table: Any, wanted: Sequence[str]) -> pa.Table:
    if isinstance(table, pd.Series):
        table = table.reset_index()
    if isinstance(table, pd.DataFrame):
        # Such as what groupby and pivot return.
        is_key = any(is_alias(name, str(level)) for level in table.index.names for name in (*wanted, "query_id"))
        return pa.Table.from_pandas(table, preserve_index=is_key)
    if isinstance(table, Mapping):
        return _of_dictionary(table, wanted)
    if is_spark(table):
        # Imported here, because other tables need no engine.
        from ndcg_spark.engine import require_read_values

        require_read_values(table.sparkSession)
        kept = [name for name in table.columns if any(is_alias(ours, name) for ours in wanted)]
        # Lists of a recommender, whose fields are recognised later.
        kept += [name for name, kind in table.dtypes if kind.startswith("array<struct<") and name not in kept]
        kept += [name for name, kind in table.dtypes if "ndcg" in wanted and kind == "double" and name not in kept]
        return (table.select(*kept) if wanted else table).toArrow()
    if type(table).__module__.startswith("polars") and hasattr(table, "collect"):
        table = table.collect()
    if hasattr(table, "__arrow_c_stream__"):
        return pa.table(table)
    rows = list(table) if isinstance(table, Iterable) else []
    if not rows or not all(isinstance(row, tuple) for row in rows):
        if hasattr(type(table), "to_dataframe"):
            raise InputError(f"{type(table).__name__} is not a table; give what its to_dataframe() returns")
        is_path = isinstance((rows or [table])[0], str | os.PathLike)
        read = "read paths first, on Spark with spark.read; " if is_path else ""
        raise InputError(
            f"{type(table).__name__} is not a table; {read}give a DataFrame, a pyarrow Table, a dictionary of "
            "columns, {query: {document: number}}, {query: [document, ...]} or, of results, {run: table}"
        )
    numbers = [name for name in ("relevance", "score") if name in wanted]
    names = getattr(rows[0], "_fields", ("query_id", "doc_id", *numbers))
    if odd := next((row for row in rows if len(row) != len(names)), None):
        what = f"a tuple of {len(odd)} value(s), e.g. {odd!r}"
        raise InputError(f"{what}; give ({', '.join(names)}), or {{query: {{document: number}}}}")
    return pa.table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)))


def _of_dictionary(table: Mapping[Any, Any], wanted: Sequence[str]) -> pa.Table:
    keys = [str(key) for key, value in table.items() if not isinstance(value, Mapping)]
    if "doc_id" in wanted and not any(is_alias(name, key) for name in wanted for key in keys):
        return _nested(table, wanted)
    for key, value in table.items():
        if not isinstance(value, Iterable) or isinstance(value, str):
            beside = "weight" if "weight" in wanted else "other columns"
            what = f"{key!r} has {type(value).__name__}, which is no column"
            raise InputError(f"{what}; give a table with query_id and {beside}")
    return pa.table(dict(table))


def _nested(table: Mapping[Any, Any], wanted: Sequence[str]) -> pa.Table:
    """The rows of {query: {document: number}} or {query: [document, ...]}, where a position in a list is a rank."""
    number = "score" if "score" in wanted else "relevance"
    rows: list[tuple[Any, ...]] = []
    for query, documents in table.items():
        if isinstance(documents, Mapping) and not any(isinstance(value, Mapping) for value in documents.values()):
            rows += ((query, document, value, None) for document, value in documents.items())
        elif isinstance(documents, _LISTS) and not (number == "score" and isinstance(documents, (set, frozenset))):
            rows += ((query, document, None, rank) for rank, document in enumerate(documents, 1))
        else:
            raise TypeError(f"query {query!r} has {type(documents).__name__}, not {{document: {number}}} or a list")
    # Arrow would take a tuple for a list, and True for 1 after a number.
    if any(isinstance(value, (bool, np.bool_, tuple)) for row in rows for value in row):
        raise TypeError("an id or a number is true, false or a tuple")
    names = ("query_id", "doc_id", number, "rank")
    columns = zip(names, zip(*rows, strict=True) if rows else [()] * len(names), strict=True)
    return pa.table({name: values for name, values in columns if name in names[:2] or {*values} - {None}})


def _plain_column(column: pa.ChunkedArray) -> pa.ChunkedArray:
    kind = plain_type(column.type)
    if pa.types.is_dictionary(column.type):
        # Not a cast of the whole, which pyarrow does not have for every kind of text.
        return pa.chunked_array([part.dictionary.cast(kind).take(part.indices) for part in column.chunks], kind)
    return column.cast(kind)
