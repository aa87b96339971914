"""Tables that people have in Python become tables of pyarrow: pandas, Polars, pyarrow and dictionaries."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import pyarrow as pa

from ndcg_spark.errors import InputError
from ndcg_spark.inputs.arrow_types import is_list, plain_type
from ndcg_spark.inputs.column_names import is_known
from ndcg_spark.inputs.dictionaries import is_nested, table_of_dictionaries

_KNOWN = (
    "a Spark, pandas or Polars DataFrame, a pyarrow Table, a dictionary of columns, {query: {document: number}}, "
    "{query: [document, ...]} or, of results, {run: table}"
)


def arrow_of(table: Any, wanted: Sequence[str] | None, where: str) -> tuple[pa.Table, list[str]]:
    """What may be wanted of the table, as pyarrow has it in types that every engine takes, and all its columns."""
    if wanted is not None and "doc_id" in wanted and isinstance(table, Mapping) and is_nested(table, wanted):
        rows = table_of_dictionaries(table, "score" in wanted, where)
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
    if wanted is None or any(is_known(name, field.name) for name in wanted):
        return True
    return is_list(field.type) and pa.types.is_struct(field.type.value_type)


def none_of(wanted: Sequence[str], has: Sequence[str], where: str) -> InputError:
    """The error for a table with none of the wanted columns."""
    return InputError(f"{where}: none of {', '.join(wanted)} is a column; it has {', '.join(has)}; rename them")


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
