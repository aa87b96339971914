"""Tables that people have in Python as tables of Arrow, in types that every engine reads: no engine is needed.

Pandas, Polars, pyarrow, tuples and dictionaries: of columns, {query: {document: number}}, {query: [document, ...]}.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from ndcg_spark.errors import InputError
from ndcg_spark.inputs.column_names import is_known, resolve
from ndcg_spark.inputs.json_text import is_text

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
_Tests = tuple[Callable[[pa.DataType], bool], ...]
_IS_LIST: _Tests = (
    *(pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list),
    *(pa.types.is_list_view, pa.types.is_large_list_view),
)
_IS_UNREADABLE: _Tests = (
    *(pa.types.is_float16, pa.types.is_duration, pa.types.is_dictionary, pa.types.is_fixed_size_binary),
    *(pa.types.is_time, pa.types.is_decimal256),
)
_LEAVE_ONE = "drop or rename all but one"
#: The run of results that are given as {query: {document: score}}, if they are given no name.
RUN = "run"
_LISTS = (list, tuple, set, frozenset, np.ndarray, pd.Series)
_KNOWN = (
    "a Spark, pandas or Polars DataFrame, a pyarrow Table, a dictionary of columns, {query: {document: number}}, "
    "{query: [document, ...]} or, of results, {run: table}"
)


def is_list(kind: pa.DataType) -> bool:
    """Whether the values are lists, however they are stored."""
    return any(test(kind) for test in _IS_LIST)


def holds_structs(kind: pa.DataType) -> bool:
    """Whether the values are lists of structs, whose fields may be columns of ours."""
    return is_list(kind) and bool(pa.types.is_struct(kind.value_type))


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


def is_readable(kind: pa.DataType) -> bool:
    """Whether every engine reads a file with a column of this type, whether or not the column is wanted.

    None reads half-precision floats, durations, or times in nanoseconds as pandas writes them; some read neither
    pandas' categories (Arrow dictionaries) nor times of day.
    """
    if any(test(kind) for test in _IS_UNREADABLE) or (pa.types.is_timestamp(kind) and kind.unit == "ns"):
        return False
    return not pa.types.is_nested(kind) or all(is_readable(kind.field(at).type) for at in range(kind.num_fields))


def arrow_of(table: Any, wanted: Sequence[str] | None, where: str) -> tuple[pa.Table, list[str]]:
    """What may be wanted of the table, as pyarrow has it in types that every engine takes, and all its columns."""
    if wanted is not None and "doc_id" in wanted and isinstance(table, Mapping) and _is_nested(table, wanted):
        rows = _of_dictionaries(table, "score" in wanted, where)
        return rows, rows.column_names
    try:
        found = _read(table)
        if found is not None:
            kept = [at for at, field in enumerate(found.schema) if _is_wanted(field, wanted)]
            if wanted is not None and not kept:
                raise none_of(wanted, found.column_names, where)
            names = [found.column_names[at] for at in kept]
            return pa.Table.from_arrays([_plain(found.column(at)) for at in kept], names), found.column_names
    except (pa.ArrowException, TypeError, ValueError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InputError(f"{where}: it cannot be read as a table, {reason}; give each column one type") from error
    raise InputError(f"{where}: {type(table).__name__} is not a table; give {_KNOWN}")


def table_of(table: Any, wanted: Sequence[str] | None, where: str) -> pa.Table:
    """The table as pyarrow has it, with our names for the columns that are wanted. InputError if it is not a table."""
    if wanted is not None and is_of_runs(table, wanted):
        parts = [
            _of_run(run, table_of(one, wanted, f"{where}: run {run!r}"), where) for run, one in by_id(table, where)
        ]
        for name in ("dataset", "score"):
            has = {name in part.column_names: part.column("run")[0].as_py() for part in parts if part.num_rows}
            if len(has) > 1:
                raise InputError(
                    f"{where}: run {has[True]!r} has {name}, but run {has[False]!r} does not; give all the same"
                )
        return pa.concat_tables(parts, promote_options="permissive")
    if isinstance(table, Iterable) and not (isinstance(table, Mapping) or hasattr(type(table), "__arrow_c_stream__")):
        table = _columns(table, wanted, where)
    rows, _ = arrow_of(table, wanted, where)
    if not rows.num_rows:
        raise InputError(f"{where}: the table is empty; check what should have filled it, or leave it out")
    if wanted is None:
        return rows
    if "doc_id" not in wanted:
        return _renamed(rows, wanted, where)
    return _with_a_row_per_document(_renamed(rows, wanted, where), wanted, where)


def _with_a_row_per_document(rows: pa.Table, wanted: Sequence[str], where: str) -> pa.Table:
    """The table, of which a row may have a list of documents, or of structs with a document."""
    packed = [field.name for field in rows.schema if holds_structs(field.type)]
    if packed and "doc_id" not in rows.column_names:
        if len(packed) > 1:
            raise InputError(f"{where}: {len(packed)} columns have lists of documents, {', '.join(packed)}; leave one")
        lists = rows.column(packed[0]).combine_chunks()
        values = pa.Table.from_struct_array(lists.flatten())
        return _exploded(rows.drop_columns(packed), lists, _renamed(values, wanted, where), wanted)
    beside = [field.name for field in rows.schema if is_list(field.type) and field.name in wanted]
    if "doc_id" not in beside:
        return rows
    columns = {name: rows.column(name).combine_chunks() for name in beside}
    lists = columns["doc_id"]
    for name, column in columns.items():
        sizes = [pc.fill_null(pc.list_value_length(each), 0) for each in (lists, column)]
        unequal = pc.index(pc.equal(*sizes), False).as_py()
        if unequal >= 0:
            raise InputError(
                f"{where}: lists of doc_id and of {name} differ in length, e.g. {sizes[0][unequal]} and "
                f"{sizes[1][unequal]} of query {rows.column('query_id')[unequal]}; give each document one"
            )
    values = pa.table({name: column.flatten() for name, column in columns.items()})
    return _exploded(rows.drop_columns(beside), lists, values, wanted)


def _renamed(rows: pa.Table, wanted: Sequence[str], where: str) -> pa.Table:
    """The table with our names for the columns that are wanted."""
    names = {theirs: ours for ours, theirs in resolve({}, wanted, rows.column_names, where, _LEAVE_ONE).items()}
    return rows.rename_columns([names.get(name, name) for name in rows.column_names])


def _exploded(rows: pa.Table, lists: pa.Array, values: pa.Table, wanted: Sequence[str]) -> pa.Table:
    """A row per entry of the lists, with its values; its place in the list is its rank."""
    parents = pc.list_parent_indices(lists)
    ends = pc.cumulative_sum(pc.fill_null(pc.list_value_length(lists), 0))
    starts = pc.subtract(ends, pc.fill_null(pc.list_value_length(lists), 0))
    ranks = pc.subtract(pa.array(range(1, len(parents) + 1), pa.int64()), starts.take(parents))
    exploded = rows.take(parents)
    for name in values.column_names:
        exploded = exploded.append_column(name, values.column(name))
    if "rank" in wanted and "rank" not in exploded.column_names:
        exploded = exploded.append_column("rank", ranks.cast(pa.int32()))
    return exploded


def _columns(rows: Iterable[Any], wanted: Sequence[str] | None, where: str) -> Any:
    """The columns of a list of tuples; anything else as it is."""
    if hasattr(type(rows), "columns") or hasattr(type(rows), "column_names"):
        return rows
    listed = list(rows)
    if wanted is None or not listed or not all(isinstance(row, tuple) for row in listed):
        return rows
    number = "score" if "score" in wanted else "relevance"
    names = getattr(listed[0], "_fields", ("query_id", "doc_id", number)[: 3 if number in wanted else 2])
    if any(len(row) != len(names) for row in listed):
        raise InputError(f"{where}: tuples of other than {len(names)} values; give ({', '.join(names)})")
    return dict(zip(names, map(list, zip(*listed, strict=True)), strict=True))


def _of_run(run: str | None, rows: pa.Table, where: str) -> pa.Table:
    """The rows of one run, whose ids are text, as other runs may have text where it has numbers."""
    if "run" in rows.column_names:
        names = rows.column("run").unique().cast(pa.string()).to_pylist()
        if len(names) > 1:
            raise InputError(
                f"{where}: run {run!r}: its table has several runs, e.g. {' and '.join(map(str, sorted(names)[:2]))}; "
                "give the table of one"
            )
        rows = rows.drop_columns(["run"])
    for at, field in enumerate(rows.schema):
        if field.name in ("dataset", "query_id", "doc_id") and pa.types.is_integer(field.type):
            rows = rows.set_column(at, field.name, pc.cast(rows.column(at), pa.string()))
    return rows.append_column("run", pa.array([run] * rows.num_rows, pa.string()))


def none_of(wanted: Sequence[str], has: Sequence[str], where: str) -> InputError:
    """The error for a table with none of the wanted columns."""
    return InputError(f"{where}: none of {', '.join(wanted)} is a column; it has {', '.join(has)}; rename them")


def is_of_runs(table: Any, wanted: Collection[str]) -> bool:
    """Whether this is a dictionary with a table for a run, and not only columns or nested dictionaries."""
    is_dictionary = "run" in wanted and isinstance(table, Mapping)
    return is_dictionary and any(_is_table(value, wanted) for value in table.values())


def by_id(table: Mapping[Any, Any], where: str) -> Iterator[tuple[str | None, Any]]:
    """The entries of a dictionary with the keys as ids; InputError for a key that is none, and for 1 beside "1"."""
    ids = {key: _id_of(key, where) for key in table}
    if len({*ids.values()}) < len(ids):
        same = next(key for key, text in ids.items() if text is not key and text in table)
        raise InputError(f"{where}: {same!r} and {str(same)!r} are the same id; give one of them")
    yield from ((text, table[key]) for key, text in ids.items())


def _read(table: Any) -> pa.Table | None:
    """The table with all its columns; None if it is not a table."""
    if isinstance(table, pd.DataFrame):
        return pa.Table.from_pandas(table, preserve_index=False)
    if isinstance(table, Mapping):
        return pa.table(dict(table))
    # A lazy frame of Polars has no rows yet.
    lazy = type(table).__module__.startswith("polars") and type(table).__name__ == "LazyFrame"
    found = table.collect() if lazy else table
    return pa.table(found) if isinstance(found, pa.Table) or hasattr(found, "__arrow_c_stream__") else None


def _is_wanted(field: pa.Field, wanted: Sequence[str] | None) -> bool:
    """Whether this may be one of the wanted columns, or an array of structs that has some."""
    return wanted is None or any(is_known(name, field.name) for name in wanted) or holds_structs(field.type)


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The column in a type that every engine takes: no dictionaries, no unsigned numbers, one kind of text and list."""
    kind = column.type
    if pa.types.is_dictionary(kind):
        # Not a cast, which pyarrow does not have for every kind of text.
        decoded = [
            _plain(pa.chunked_array([part.dictionary])).combine_chunks().take(part.indices) for part in column.chunks
        ]
        return pa.chunked_array(decoded or [pa.array([], pa.string())])
    # The largest unsigned numbers as text, which holds all of them; what should be a number is read as one.
    plain = pa.string() if kind == pa.uint64() else plain_type(kind)
    return column if plain == kind else column.cast(plain)


def _is_table(value: Any, wanted: Collection[str]) -> bool:
    """Whether a value of a dictionary is a table, and neither a column nor a nested dictionary."""
    if not isinstance(value, Mapping):
        # This asks the class, because a lazy frame of Polars warns of the cost when asked for its columns.
        is_frame = any(hasattr(type(value), name) for name in ("columns", "column_names"))
        return is_frame or type(value).__module__.startswith("pyspark.")
    ids = [name for name in ("query_id", "doc_id") if name in wanted]
    is_nested = any(isinstance(entry, Mapping) for entry in value.values())
    return not is_nested and all(any(is_known(name, str(column)) for column in value) for name in ids)


def _is_nested(table: Mapping[Any, Any], wanted: Collection[str]) -> bool:
    """Whether a dictionary is nested rather than one of columns: no key with a list is the name of a column."""
    if all(isinstance(value, Mapping) for value in table.values()):
        return True
    is_of_columns = any(is_known(name, str(key)) for name in wanted for key in table)
    return not is_of_columns and all(isinstance(value, (Mapping, *_LISTS)) for value in table.values())


def _of_dictionaries(table: Mapping[Any, Any], is_results: bool, where: str) -> pa.Table:
    """The rows of {query: {document: number}} or {query: [document, ...]}; of results also {run: {query: ...}}.

    A document's place in a list is its rank, from 1, and not a grade. (document, number) in a list is as in a
    dictionary. Ids become text.
    """
    of_queries = (value for value in table.values() if isinstance(value, Mapping))
    has_runs = any(isinstance(value, (Mapping, *_LISTS)) for of_query in of_queries for value in of_query.values())
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
    ids = {**({"run": runs} if is_results else {}), "query_id": query_ids, "doc_id": doc_ids}
    columns = {name: pa.array(values, pa.string()) for name, values in ids.items()}
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


def _documents(documents: Any, is_results: bool, where: str) -> Iterator[tuple[str | None, Any, int | None]]:
    """The documents of a query, with the score or grade of each, or its rank."""
    if isinstance(documents, Mapping):
        yield from ((document, number, None) for document, number in by_id(documents, where))
        return
    if not isinstance(documents, _LISTS):
        raise InputError(f"{where}: {type(documents).__name__} where documents are expected; give {{document: number}}")
    if is_results and isinstance(documents, set | frozenset):
        raise InputError(f"{where}: a set of documents, which has no order; give a list, the best first")
    for rank, entry in enumerate(documents, start=1):
        if isinstance(entry, tuple) and len(entry) == 2:
            yield _id_of(entry[0], where), entry[1], None
        else:
            yield _id_of(entry, where), None, rank


def _id_of(value: Any, where: str) -> str | None:
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
