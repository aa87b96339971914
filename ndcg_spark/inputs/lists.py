"""The schema's columns of an engine's table, one row per document; arrays of documents are exploded."""

import operator
from collections.abc import Mapping, Sequence
from functools import reduce

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, StructType

from ndcg_spark.casting import quoted, refuse_alike
from ndcg_spark.config import TableConfig
from ndcg_spark.errors import InputError
from ndcg_spark.inputs.column_names import names_in, resolve
from ndcg_spark.schemas import FAULT, LINE, RESULTS

#: The columns that have a value for each document of the list.
_OF_DOCUMENTS = ("relevance", "score", "rank")


def rows_of(
    table: DataFrame, columns: Mapping[str, str], config: TableConfig, schema: pa.Schema, where: str
) -> DataFrame:
    """The schema's columns under the schema's names, one row per document; `columns` are what the files call ours."""
    refuse_alike(table.columns, where)
    if "doc_id" in schema.names and "doc_id" not in config.columns:
        table = unpack(table, schema.names, where)
    names = names_in(table.columns, columns, config, schema, where)
    renamed = table.select(*(F.col(quoted(theirs)).alias(ours) for ours, theirs in names.items()))
    return explode(renamed, schema is RESULTS, where)


def unpack(table: DataFrame, wanted: Sequence[str], where: str, advice: str | None = None) -> DataFrame:
    """The table with an array of structs as one array for each wanted field, under our names.

    Such an array is what `recommendForAllUsers` of Spark's ALS gives each user: array<struct<item, rating>>. It is the
    one with a field for the document. A table without it, or with a document beside it, stays as it is. InputError if
    there are several, or two fields may be the same column.
    """
    names = [name for name in wanted if name in ("doc_id", *_OF_DOCUMENTS)]
    if resolve({}, ["doc_id"], table.columns, where, advice):
        return table
    packed = {}
    for field in table.schema:
        kind, place = field.dataType, f"{where}: {field.name}"
        element = kind.elementType if isinstance(kind, ArrayType) else None
        has = element.names if isinstance(element, StructType) else []
        if resolve({}, ["doc_id"], has, place, advice):
            packed[field.name] = resolve({}, names, has, place, advice)
    if len(packed) > 1:
        raise InputError(f"{where}: {len(packed)} columns have lists of documents, {', '.join(packed)}; leave one")
    if not packed:
        return table
    ((column, found),) = packed.items()
    # Not getField of the array, which the embedded engine takes for a position in it.
    arrays = {ours: F.col(f"{quoted(column)}.{quoted(theirs)}") for ours, theirs in found.items()}
    return table.withColumns(arrays).drop(column)


def explode(table: DataFrame, ranked: bool, where: str) -> DataFrame:
    """One row per document; the table itself where `doc_id` is not an array.

    With `ranked`, a document's position in its array is its rank, from 1, unless the table has ranks. A row whose
    arrays differ in length stays one row, with its FAULT, and LINE that shows it. A row without an array is one
    row without a document; an empty array has no rows. InputError for a score that is not an array beside one.
    """
    kinds = dict(table.dtypes)
    if not kinds.get("doc_id", "").startswith("array<"):
        return table
    lists = [name for name in ("doc_id", *_OF_DOCUMENTS) if kinds.get(name, "").startswith("array<")]
    single = [name for name in ("score", "rank") if name in kinds and name not in lists]
    if single:
        raise InputError(
            f"{where}: doc_id is {kinds['doc_id']}, and {single[0]} is {kinds[single[0]]}; write both as arrays"
        )
    # Arrays that are absent have the size -1 on some engines and none on others.
    sizes = {name: F.coalesce(F.size(name), F.lit(-1)) for name in lists}
    is_unequal = reduce(operator.or_, (sizes["doc_id"] != size for size in sizes.values()))
    # A document that is null, with null beside it, is what stands for a row without a list.
    nulls = (F.lit(None).cast(kinds[name].removeprefix("array<").removesuffix(">")).alias(name) for name in lists)
    rows = F.when(is_unequal | F.col("doc_id").isNull(), F.array(F.struct(*nulls))).otherwise(F.arrays_zip(*lists))
    query = F.coalesce(F.col("query_id").cast("string"), F.lit("null")) if "query_id" in kinds else F.lit("none")
    shown = (F.concat(F.lit(f" {name}: "), F.greatest(size, F.lit(0))) for name, size in sizes.items())
    line = F.concat(F.lit("query_id="), query, F.lit(","), *shown)
    flagged = table.withColumns(
        {FAULT: F.when(is_unequal, F.lit("lists_of_unequal_length")), LINE: F.when(is_unequal, line)}
    )
    others = [name for name in table.columns if name not in lists]
    exploded = flagged.select(*others, FAULT, LINE, F.posexplode(rows).alias("position", "row"))
    values = [F.col("row").getField(name).alias(name) for name in lists]
    rank = [(F.col("position") + 1).alias("rank")] if ranked and "rank" not in table.columns else []
    return exploded.select(*others, *values, *rank, FAULT, LINE)
