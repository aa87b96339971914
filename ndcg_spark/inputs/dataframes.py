"""Tables that people have in Python become DataFrames of a session: pandas, Polars, pyarrow and dictionaries."""

from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from ndcg_spark.casting import is_dataframe, quoted, refuse_alike
from ndcg_spark.engine.classic import is_classic
from ndcg_spark.errors import InputError
from ndcg_spark.inputs.arrow_tables import arrow_of, none_of
from ndcg_spark.inputs.column_names import of_attributes, resolve
from ndcg_spark.inputs.dictionaries import by_id
from ndcg_spark.inputs.lists import explode, unpack
from ndcg_spark.inputs.named_runs import is_of_runs, together

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
        arrow, has = arrow_of(table, wanted, where)
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
        raise none_of(wanted, has, where)
    missing = [name for name in needed if name not in found]
    if missing:
        to_do = _GRADES if missing == ["relevance"] else "rename the columns that have them"
        raise InputError(
            f"{where}: {len(missing)} column(s) missing, {', '.join(missing)}; it has {', '.join(has)}; {to_do}"
        )
    named = own.select(*(F.col(quoted(found[name])).alias(name) for name in wanted if name in found))
    return explode(named, "rank" in wanted, where)


def dataframes_in(table: Any) -> list[DataFrame]:
    """The DataFrames of Spark in a table: itself, or those of a dictionary of runs."""
    return [each for each in (table.values() if isinstance(table, Mapping) else [table]) if is_dataframe(each)]
