"""Tables that people have in Python as Arrow: pandas, Polars, pyarrow, tuples and dictionaries; no engine is needed.

Dictionaries are of columns, {query: {document: number}}, {query: [document, ...]}, these by run, or {run: table}. What
is returned becomes a file of Parquet, or a DataFrame of a session, and is then read like any other.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from ndcg_spark.background import is_spark
from ndcg_spark.errors import InputError, first_line
from ndcg_spark.inputs.column_names import is_alias, resolve_columns
from ndcg_spark.inputs.json_text import is_text

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
    pa.large_binary(): pa.binary(),
    pa.binary_view(): pa.binary(),
}
#: No engine reads half-precision floats, durations, or times in nanoseconds as pandas writes them; some read neither
#: pandas' categories (Arrow dictionaries) nor times of day. They may be within lists and structs.
_UNREADABLE = re.compile(
    r"halffloat|dictionary<|decimal256\(|timestamp\[ns|(duration|fixed_size_binary|time32|time64)\["
)
_LISTS = (list, tuple, set, frozenset, np.ndarray, pd.Series)
_KNOWN = (
    "a Spark, pandas or Polars DataFrame, a pyarrow Table, a dictionary of columns, {query: {document: number}}, "
    "{query: [document, ...]} or, of results, {run: table}"
)


def is_list(kind: pa.DataType) -> bool:
    """Whether the values are lists, however they are stored."""
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


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
    if pa.types.is_fixed_size_binary(kind):
        return pa.binary()
    # Text keeps every digit, and is read as the nearest double.
    return pa.string() if pa.types.is_decimal256(kind) else _WIDER.get(kind, kind)


def to_arrow(table: Any, wanted: Sequence[str] | None, where: str) -> pa.Table:
    """The table in types that every engine reads, with our names; only what may be `wanted`, all if that is None."""
    names = wanted or ()
    if isinstance(table, Mapping) and "run" in names and any(map(_is_table, table.values())):
        return _run_tables(table, names, where)
    if isinstance(table, Mapping) and "doc_id" in names and not _has_columns(table, names):
        rows = _query_rows(table, "score" if "score" in names else "relevance", where)
    else:
        rows = _columns(table, names, where)
    if not rows.num_rows:
        raise InputError(f"{where}: the table is empty; check what should have filled it, or leave it out")
    return rows


def _is_table(value: Any) -> bool:
    """Whether a value of a dictionary is a table, and neither a column nor {document: number}."""
    if isinstance(value, Mapping):
        return any(isinstance(entry, (Mapping, *_LISTS)) for entry in value.values())
    if isinstance(value, list | tuple):
        return bool(value) and isinstance(value[0], tuple)
    # This asks the class, because a lazy frame of Polars warns of the cost when asked for its columns.
    return any(hasattr(type(value), name) for name in ("columns", "column_names"))


def _has_columns(table: Mapping[Any, Any], wanted: Sequence[str]) -> bool:
    keys = [str(key) for key, value in table.items() if not isinstance(value, Mapping)]
    return any(is_alias(name, key) for name in wanted for key in keys)


def _run_tables(table: Mapping[Any, Any], wanted: Sequence[str], where: str) -> pa.Table:
    """The tables of all runs, whose ids are text, as other runs may have text where one has numbers."""
    parts = []
    for run, one in by_id(table, where):
        label = f"{where}: run {run!r}"
        rows = to_arrow(one, wanted, label)
        if "run" in rows.column_names:
            if len(names := rows.column("run").unique().to_pylist()) > 1:
                raise InputError(f"{label}: its table has several runs, e.g. {names[0]} and {names[1]}; give one")
            rows = rows.drop_columns(["run"])
        for at, field in enumerate(rows.schema):
            if field.name in ("dataset", "query_id", "doc_id") and not is_list(field.type):
                rows = rows.set_column(at, field.name, rows.column(at).cast(pa.string()))
        parts.append(rows.append_column("run", pa.array([run] * rows.num_rows, pa.string())))
    if len({_has_lists(rows) for rows in parts}) > 1:
        parts = [_exploded(rows, wanted, where) if _has_lists(rows) else rows for rows in parts]
    try:
        return pa.concat_tables(parts, promote_options="permissive")
    except pa.ArrowException as error:
        raise InputError(
            f"{where}: tables of runs differ, {first_line(error)}; give columns of the same types"
        ) from error


def _has_lists(rows: pa.Table) -> bool:
    """Whether a row has a list of documents; lists of anything else stand beside a document."""
    return "doc_id" not in rows.column_names or is_list(rows.schema.field("doc_id").type)


def _exploded(rows: pa.Table, wanted: Sequence[str], where: str) -> pa.Table:
    """A row per document of lists, for runs beside others that have such rows; without scores, a position is a rank."""
    rows = rows.combine_chunks()
    fields = {field.name: field.type.value_type for field in rows.schema if is_list(field.type)}
    packed = {
        name: resolve_columns({}, wanted, kind.names, where)
        for name, kind in fields.items()
        if pa.types.is_struct(kind)
    }
    packed = {name: names for name, names in packed.items() if "doc_id" in names}
    lists = list(packed) or [name for name, kind in fields.items() if not pa.types.is_struct(kind)]
    if "doc_id" not in [*lists, *(ours for names in packed.values() for ours in names)] or len(packed) > 1:
        raise InputError(f"{where}: a run has {len(packed)} columns with documents; give one, such as doc_id")
    lengths = [pc.list_value_length(rows[name]) for name in lists]
    if any(length != lengths[0] for length in lengths):
        raise InputError(
            f"{where}: a run has lists of unequal length in {' and '.join(lists)}; give lists of one length"
        )
    parents = pc.list_parent_indices(rows[lists[0]])
    flat = rows.drop_columns([*fields]).take(parents)
    for name in lists:
        values = pc.list_flatten(rows[name])
        for ours, theirs in packed.get(name, {}).items():
            flat = flat.append_column(ours, pc.struct_field(values, theirs))
        flat = flat if packed else flat.append_column(name, values)
    if not {"score", "rank"} & {*flat.column_names}:
        at = parents.to_numpy()
        flat = flat.append_column("rank", pa.array(np.arange(1, len(at) + 1) - np.searchsorted(at, at), pa.int32()))
    position = flat.column_names.index("doc_id")
    return flat.set_column(position, "doc_id", flat["doc_id"].cast(pa.string()))


def _columns(table: Any, wanted: Sequence[str], where: str) -> pa.Table:
    """A table that has columns, or tuples."""
    try:
        rows = _arrow(table, wanted, where)
        has = rows.column_names
        kept = [
            at
            for at, field in enumerate(rows.schema)
            if not wanted or holds_structs(field.type) or any(is_alias(name, field.name) for name in wanted)
        ]
        rows = plain(rows.select(kept))
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise InputError(
            f"{where}: it cannot be read as a table, {first_line(error)}; give each column one type"
        ) from error
    if not kept:
        raise InputError(f"{where}: none of {', '.join(wanted)} is a column; it has {', '.join(has)}; rename them")
    ours = {theirs: name for name, theirs in resolve_columns({}, wanted, rows.column_names, where).items()}
    return rows.rename_columns([ours.get(name, name) for name in rows.column_names])


def _arrow(table: Any, wanted: Sequence[str], where: str) -> pa.Table:
    if isinstance(table, pd.DataFrame):
        return pa.Table.from_pandas(table, preserve_index=False)
    if isinstance(table, Mapping):
        return pa.table(dict(table))
    if is_spark(table):
        kept = [name for name in table.columns if any(is_alias(ours, name) for ours in wanted)]
        return (table.select(*kept) if wanted else table).toArrow()
    if type(table).__module__.startswith("polars") and hasattr(table, "collect"):
        table = table.collect()
    if hasattr(table, "__arrow_c_stream__"):
        return pa.table(table)
    rows = list(table) if isinstance(table, Iterable) else []
    if not rows or not all(isinstance(row, tuple) for row in rows):
        raise InputError(f"{where}: {type(table).__name__} is not a table; give {_KNOWN}")
    numbers = [name for name in ("relevance", "score") if name in wanted]
    names = getattr(rows[0], "_fields", ("query_id", "doc_id", *numbers))
    if any(len(row) != len(names) for row in rows):
        raise InputError(f"{where}: tuples of other than {len(names)} values; give ({', '.join(names)})")
    return pa.table(dict(zip(names, map(list, zip(*rows, strict=True)), strict=True)))


def plain(table: pa.Table) -> pa.Table:
    """The table with the types of `plain_type`."""
    return pa.Table.from_arrays([_plain(column) for column in table.columns], table.column_names)


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    kind = plain_type(column.type)
    if pa.types.is_dictionary(column.type):
        # Not a cast of the whole, which pyarrow does not have for every kind of text.
        return pa.chunked_array([part.dictionary.cast(kind).take(part.indices) for part in column.chunks], kind)
    return column.cast(kind)


def _query_rows(table: Mapping[Any, Any], number: str, where: str) -> pa.Table:
    """The rows of {query: {document: number}} or {query: [document, ...]}, where a position in a list is a rank."""
    rows: list[tuple[Any, ...]] = []
    for query, documents in by_id(table, where):
        label = f"{where}: query {query!r}"
        if isinstance(documents, Mapping):
            rows += ((query, document, value, None) for document, value in by_id(documents, label))
        elif isinstance(documents, _LISTS) and not (number == "score" and isinstance(documents, set | frozenset)):
            rows += ((query, _id(document, label), None, rank) for rank, document in enumerate(documents, 1))
        else:
            kind = type(documents).__name__
            raise InputError(f"{label}: {kind} where documents are expected; give {{document: {number}}} or a list")
    queries, ids, numbers, ranks = zip(*rows, strict=True) if rows else ((),) * 4
    columns = {"query_id": pa.array(queries, pa.string()), "doc_id": pa.array(ids, pa.string())}
    # Arrow takes True for 1, though a column of booleans has no numbers.
    if any(isinstance(value, bool | np.bool_) for value in numbers):
        raise InputError(f"{where}: a value that is true or false; give numbers as grades and scores")
    if any(value is not None for value in numbers):
        try:
            columns[number] = pa.array(numbers, pa.float64())
        except (pa.ArrowException, TypeError, ValueError) as error:
            raise InputError(f"{where}: a value that is not a number, {error}; give numbers") from error
    if number == "score" and any(ranks):
        columns["rank"] = pa.array(ranks, pa.int32())
    return pa.table(columns)


def by_id(table: Mapping[Any, Any], where: str) -> Iterator[tuple[str | None, Any]]:
    """The entries of a dictionary with the keys as ids; InputError for a key that is none, and for 1 beside "1"."""
    ids = {key: _id(key, where) for key in table}
    if len({*ids.values()}) < len(ids):
        same = next(key for key, text in ids.items() if text is not key and text in table)
        raise InputError(f"{where}: {same!r} and {str(same)!r} are the same id; give one of them")
    yield from ((text, table[key]) for key, text in ids.items())


def _id(value: Any, where: str) -> str | None:
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
