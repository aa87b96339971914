"""Tables that people have in Python become DataFrames of a session: pandas, Polars, pyarrow and dictionaries."""

from collections.abc import Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from ndcg_spark.casting import is_dataframe, quoted, refuse_alike
from ndcg_spark.engine.sessions import is_classic
from ndcg_spark.errors import InputError
from ndcg_spark.inputs.column_names import of_attributes, resolve
from ndcg_spark.inputs.engine_files import union_all
from ndcg_spark.inputs.lists import explode, unpack
from ndcg_spark.inputs.memory import by_id, none_of, table_of

_GRADES = "rename the column of the grades, give every judgment a grade with relevance=1, or set gain=judged"
_LEAVE_ONE = "drop or rename all but one"
#: The columns that either all runs have or none.
_OF_ALL = ("dataset", "score", "cutoff")
_WHOLE = ("tinyint", "smallint", "int", "bigint")


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
    `memory`; where runs are wanted, also {run: table}.
    """
    if isinstance(table, Mapping) and dataframes_in(table):
        tables = {
            run: one if is_dataframe(one) else table_of({run: one}, wanted, where).drop_columns(["run"])
            for run, one in by_id(table, where)
        }
        runs = {run: frame(one, wanted, session, f"{where}: run {run!r}", known, needed) for run, one in tables.items()}
        return _together(runs, where)
    own = table if is_dataframe(table) else session.createDataFrame(table_of(table, known or wanted, where))
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
        raise none_of(wanted, own.columns, where)
    missing = [name for name in needed if name not in found]
    if missing:
        to_do = _GRADES if missing == ["relevance"] else "rename the columns that have them"
        raise InputError(
            f"{where}: {len(missing)} column(s) missing, {', '.join(missing)}; it has {', '.join(own.columns)}; {to_do}"
        )
    named = own.select(*(F.col(quoted(found[name])).alias(name) for name in wanted if name in found))
    return explode(named, "rank" in wanted, where)


def dataframes_in(table: Any) -> list[DataFrame]:
    """The DataFrames of Spark in a table: itself, or those of a dictionary of runs."""
    return [each for each in (table.values() if isinstance(table, Mapping) else [table]) if is_dataframe(each)]


def _together(runs: Mapping[str | None, DataFrame], where: str) -> DataFrame:
    """The tables of the runs as one, whose column run has the keys. InputError if only some have scores."""
    for name in _OF_ALL:
        has, lacks = ([run for run, own in runs.items() if (name in own.columns) is there] for there in (True, False))
        if has and lacks:
            raise InputError(f"{where}: run {has[0]!r} has {name}, but run {lacks[0]!r} does not; give all the same")
    return union_all([_named(run, own, f"{where}: run {run!r}") for run, own in runs.items()])


def _named(run: str | None, table: DataFrame, where: str) -> DataFrame:
    if "run" in table.columns:
        # Counting them would take a job.
        raise InputError(f"{where}: its table has a column of runs, and may have several; drop that column")
    # Engines disagree about ids that are numbers in one table and text in another.
    numbers = [name for name, kind in table.dtypes if name in ("dataset", "query_id", "doc_id") and kind in _WHOLE]
    return table.withColumns({**{name: F.col(name).cast("string") for name in numbers}, "run": F.lit(run)})
