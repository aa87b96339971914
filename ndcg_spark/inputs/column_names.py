"""Which columns of a table are ours: those of the schema under the schema's names."""

from collections.abc import Collection, Iterable, Sequence

from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from ndcg_spark.casting import missing_columns, named_by_user, refuse_alike
from ndcg_spark.config import TableConfig
from ndcg_spark.errors import InputError
from ndcg_spark.inputs.engine_files import quoted
from ndcg_spark.inputs.lists import unpacked
from ndcg_spark.inputs.shapes import Shape


def renamed(table: DataFrame, shape: Shape, config: TableConfig, schema: StructType, where: str) -> DataFrame:
    """The schema's columns under the schema's names, of an array of structs as arrays."""
    refuse_alike(table.columns, where)
    if "doc_id" in schema.names and "doc_id" not in config.columns:
        table = unpacked(table, schema.names, where)
    names = names_in(table.columns, shape, config, schema, where)
    return table.select(*(F.col(quoted(theirs)).alias(ours) for ours, theirs in names.items()))


def names_in(has: Sequence[str], shape: Shape, config: TableConfig, schema: StructType, where: str) -> dict[str, str]:
    """What a table with these columns calls those of the schema that it has; InputError where needed ones lack."""
    known = ", ".join(named_by_user(has))
    absent = [f"{name} = {source!r}" for name, source in config.columns.items() if source not in has]
    if absent:
        raise InputError(
            f"{where}: {len(absent)} mapped column(s) missing, columns.{absent[0]}; it has {known}; correct it"
        )
    sources = {field.name: shape.columns.get(field.name, field.name) for field in schema}
    refuse_other(has, sources.values(), where)
    kept = {ours: theirs for ours, theirs in sources.items() if theirs in has}
    if not kept:
        raise InputError(
            f"{where}: none of {', '.join(sources.values())} is a column; it has {known}; map names in the "
            "configuration with columns, or name its format"
        )
    lost = [name for name in ("query_id", "doc_id") if name in sources and name not in kept]
    if lost:
        raise missing_columns(lost, named_by_user(has), where)
    return kept


def refuse_other(columns: Iterable[str], wanted: Collection[str], where: str) -> None:
    """InputError if columns tell that a table is the other of the two, than that whose columns are wanted.

    Where the user has mapped relevance, or both score and rank, nothing is asked.
    """
    has = set(columns)
    is_graded, is_ranked = "relevance" in has, bool({"score", "rank"} & has)
    if "relevance" in wanted and not is_graded and is_ranked and "run" in has:
        raise InputError(f"{where}: no column relevance, and columns of results; is this the results file?")
    if {"score", "rank"} & set(wanted) and is_graded and not is_ranked and "run" not in has:
        raise InputError(f"{where}: no column score or rank, and a column relevance; is this the judgments file?")
