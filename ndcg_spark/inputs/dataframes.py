"""Tables that people have in Python become DataFrames of a session: pandas, Polars, pyarrow and dictionaries."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd
import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from ndcg_spark.casting import is_dataframe, quoted, refuse_alike
from ndcg_spark.engine.classic import is_classic
from ndcg_spark.errors import InputError
from ndcg_spark.inputs.arrow_types import is_list, plain_type
from ndcg_spark.inputs.column_names import is_known, is_of_quepid, of_attributes, resolve
from ndcg_spark.inputs.dictionaries import by_id, is_nested, table_of_dictionaries
from ndcg_spark.inputs.lists import explode, unpack
from ndcg_spark.inputs.named_runs import is_of_runs, together

_KNOWN = (
    "a Spark, pandas or Polars DataFrame, a pyarrow Table, a dictionary of columns, {query: {document: number}}, "
    "{query: [document, ...]} or, of results, {run: table}"
)
_GRADES = "rename the column of the grades, give every judgment a grade with relevance=1, or set gain=judged"
_LEAVE_ONE = "drop or rename all but one"


def frame(
    table: Any,
    wanted: Sequence[str] | None,
    session: SparkSession,
    where: str,
    known: Sequence[str] | None = None,
    needed: Sequence[str] = (),
) -> DataFrame:
    """The table as a DataFrame of the session, with those `wanted` columns that it has, or all if that is None.

    A column that has the name other tools give it (`qid`, `docno`) gets ours; with `known`, only these columns are
    looked for under other names. Lists of documents, as arrays or as an array of structs, become a row per document as
    `lists.explode` has it, with its columns for lists that differ in length.

    `wanted` are the columns of a schema, and the `needed` ones of them must be there. Dictionaries may be nested, see
    `dictionaries.table_of_dictionaries`; where runs are wanted, also {run: table}.

    Raises
    ------
    InputError
        It is not a table, a column mixes types, none is wanted, one is missing, or two may be the same one.
    """
    if wanted is not None and is_of_runs(table, wanted):
        named = dict(by_id(table, where))
        runs = {run: frame(one, wanted, session, f"{where}: run {run!r}", known, needed) for run, one in named.items()}
        return together(runs, [run for run, one in named.items() if is_dataframe(one)], where)
    if is_dataframe(table):
        own, has = table, table.columns
    else:
        arrow, has = _arrow(table, wanted, where)
        if not arrow.num_rows:
            raise InputError(f"{where}: the table is empty; check what should have filled it, or leave it out")
        own = session.createDataFrame(arrow)
    if is_classic(session) and own.isLocal():
        # The driver has the rows, so there are few. One partition needs no shuffle later, and Spark's optimizer leaves
        # its rows alone; it would copy them for every use otherwise.
        own = own.coalesce(1)
    if wanted is None:
        found = of_attributes({}, own.columns, where, _LEAVE_ONE)
        renamed: DataFrame = own.withColumnsRenamed({theirs: ours for ours, theirs in found.items() if ours != theirs})
        return renamed
    aliased = wanted if known is None else known
    if "doc_id" in wanted:
        own = unpack(own, aliased, where, _LEAVE_ONE)
    refuse_alike((name for name in own.columns if name.lower() in wanted), where)
    found = resolve({}, aliased, own.columns, where, _LEAVE_ONE)
    found |= {name: name for name in wanted if name in own.columns}
    if not found:
        raise _none_of(wanted, has, where)
    missing = [name for name in needed if name not in found]
    if missing:
        to_do = _GRADES if missing == ["relevance"] else "rename the columns that have them"
        raise InputError(
            f"{where}: {len(missing)} column(s) missing, {', '.join(missing)}; it has {', '.join(has)}; {to_do}"
        )
    named = own.select(*(F.col(quoted(found[name])).alias(name) for name in wanted if name in found))
    if is_of_quepid(has):
        named = named.where(F.col("relevance" if "relevance" in wanted else "doc_id").isNotNull())
    return explode(named, "rank" in wanted, where)


def dataframes_in(table: Any) -> list[DataFrame]:
    """The DataFrames of Spark in a table: itself, or those of a dictionary of runs."""
    return [each for each in (table.values() if isinstance(table, Mapping) else [table]) if is_dataframe(each)]


def _arrow(table: Any, wanted: Sequence[str] | None, where: str) -> tuple[pa.Table, list[str]]:
    """What may be wanted of the table, as pyarrow has it in types that every engine takes, and all its columns."""
    if wanted is not None and "doc_id" in wanted and isinstance(table, Mapping) and is_nested(table, wanted):
        rows = table_of_dictionaries(table, "score" in wanted, where)
        return rows, rows.column_names
    try:
        found = _read(table)
        if found is not None:
            kept = [at for at, field in enumerate(found.schema) if _is_wanted(field, wanted)]
            if wanted is not None and not kept:
                raise _none_of(wanted, found.column_names, where)
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


def _none_of(wanted: Sequence[str], has: Sequence[str], where: str) -> InputError:
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
