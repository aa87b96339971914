"""Tables of an engine with the schema's columns, one row per document; arrays of documents are exploded."""

import operator
from collections.abc import Mapping, Sequence
from functools import partial, reduce
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, StructType

from ndcg_spark.background import is_spark
from ndcg_spark.engine.sessions import is_classic
from ndcg_spark.errors import InputError
from ndcg_spark.inputs.column_names import names_in, resolve_columns
from ndcg_spark.inputs.memory import run_name, to_arrow
from ndcg_spark.rules import quoted, refuse_alike
from ndcg_spark.schemas import BROKEN_LINE, FAULT, LINE

_IDS = ("dataset", "query_id", "doc_id")
#: The columns that have a value for each document of a list.
_DOCUMENT_COLUMNS = ("doc_id", "relevance", "score", "rank")


def frame(table: Any, schema: pa.Schema, session: SparkSession, where: str) -> DataFrame:
    """A user's table as a DataFrame of the session, with those of the schema's columns that it has."""
    if isinstance(table, Mapping) and is_spark(table):
        runs = []
        for run, one in table.items():
            label = f"{where}: run {run_name(run, where)!r}"
            rows = frame(one, schema, session, label)
            if "run" in rows.columns:
                # Counting them would take a job.
                raise InputError(f"{label}: its table has a column of runs, and may have several; drop that column")
            # Engines disagree about ids that are numbers in one table and text in another.
            ids = {name: F.col(name).cast("string") for name in _IDS if name in rows.columns}
            runs.append(rows.withColumns({"run": F.lit(run)} | ids))
        return union_all(runs)
    rows = table if is_spark(table) else session.createDataFrame(to_arrow(table, schema.names, where))
    columns = resolve_columns({}, schema.names, rows.columns, where)
    return document_rows(merge_local_partitions(rows), columns, schema, where)


def merge_local_partitions(table: DataFrame) -> DataFrame:
    """The table, in one partition if its rows are in this process."""
    # The driver has the rows of a local table, so there are few. One partition needs no shuffle later, and Spark's
    # optimizer leaves its rows alone; it would copy them for every use otherwise.
    return table.coalesce(1) if is_classic(table.sparkSession) and table.isLocal() else table


def dataframes_in(table: Any) -> list[DataFrame]:
    """The DataFrames of Spark in a table: itself, or those of a dictionary of runs."""
    return [one for one in (table.values() if isinstance(table, Mapping) else [table]) if is_spark(one)]


def union_all(tables: Sequence[DataFrame]) -> DataFrame:
    """The rows of all tables, as a tree of unions: a long chain overflows an engine's stack."""
    while len(tables) > 1:
        pairs = (tables[at : at + 2] for at in range(0, len(tables), 2))
        tables = [reduce(partial(DataFrame.unionByName, allowMissingColumns=True), pair) for pair in pairs]
    return tables[0]


def document_rows(table: DataFrame, columns: Mapping[str, str], schema: pa.Schema, where: str) -> DataFrame:
    """The schema's columns under the schema's names, one row per document; `columns` are what the table calls ours."""
    refuse_alike((name for name in table.columns if name.lower() in {*schema.names, *columns.values()}), where)
    if "doc_id" in schema.names and "doc_id" not in columns:
        table = _unpacked(table, schema.names, where)
    names = names_in(table.columns, columns, schema, where)
    renamed = table.select(*(F.col(quoted(theirs)).alias(ours) for ours, theirs in names.items()))
    return _exploded(renamed, "rank" in schema.names, where)


def _unpacked(table: DataFrame, wanted: Sequence[str], where: str) -> DataFrame:
    """The table with an array of structs as one array for each wanted field, under our names.

    Such an array is what `recommendForAllUsers` of Spark's ALS gives each user: array<struct<item, rating>>. It is the
    one with a field for the document; InputError if there are several.
    """
    names = [name for name in _DOCUMENT_COLUMNS if name in wanted]
    packed: dict[str, dict[str, str]] = {}
    for field in table.schema:
        element = field.dataType.elementType if isinstance(field.dataType, ArrayType) else None
        if isinstance(element, StructType):
            fields = resolve_columns({}, names, element.names, f"{where}: {field.name}")
            packed |= {field.name: fields} if "doc_id" in fields else {}
    if len(packed) > 1:
        raise InputError(f"{where}: {len(packed)} columns have lists of documents, {', '.join(packed)}; leave one")
    for column, fields in packed.items():
        # Not getField of the array, which the embedded engine takes for a position in it.
        arrays = {ours: F.col(f"{quoted(column)}.{quoted(theirs)}") for ours, theirs in fields.items()}
        table = table.withColumns(arrays).drop(column)
    return table


def _exploded(table: DataFrame, ranked: bool, where: str) -> DataFrame:
    """One row per document; the table itself where `doc_id` is not an array.

    With `ranked`, a document's position in its array is its rank, from 1, unless the table has ranks. A row whose
    arrays differ in length stays one row, with its FAULT, and LINE that shows it. A row without an array is one
    row without a document; an empty array has no rows. InputError for a score that is not an array beside one.
    """
    kinds = dict(table.dtypes)
    lists = [name for name in _DOCUMENT_COLUMNS if kinds.get(name, "").startswith("array<")]
    if "doc_id" not in lists:
        return table
    if single := [name for name in ("score", "rank") if name in kinds and name not in lists]:
        raise InputError(
            f"{where}: doc_id is {kinds['doc_id']}, and {single[0]} is {kinds[single[0]]}; write both as arrays"
        )
    # Arrays that are absent have the size -1 on some engines and none on others.
    sizes = {name: F.coalesce(F.size(name), F.lit(-1)) for name in lists}
    is_unequal = reduce(operator.or_, (sizes["doc_id"] != size for size in sizes.values()))
    # A document that is null, with null beside it, is what stands for a row without a list.
    nulls = (F.lit(None).cast(kinds[name].removeprefix("array<").removesuffix(">")).alias(name) for name in lists)
    rows = F.when(is_unequal | F.col("doc_id").isNull(), F.array(F.struct(*nulls))).otherwise(F.arrays_zip(*lists))
    shown = (F.concat(F.lit(f"{name}: "), F.greatest(size, F.lit(0))) for name, size in sizes.items())
    line = F.concat_ws(
        " ", F.concat(F.lit("lists of different lengths, query_id="), F.col("query_id").cast("string")), *shown
    )
    flags = {FAULT: F.when(is_unequal, F.lit(BROKEN_LINE)), LINE: F.when(is_unequal, line)}
    others = [*(name for name in table.columns if name not in lists), *flags]
    exploded = table.withColumns(flags).select(*others, F.posexplode(rows).alias("position", "row"))
    values = [F.col("row").getField(name).alias(name) for name in lists]
    rank = [(F.col("position") + 1).alias("rank")] if ranked and "rank" not in table.columns else []
    return exploded.select(*others, *values, *rank)
