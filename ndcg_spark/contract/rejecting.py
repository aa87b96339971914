"""Rows that breach the input contract are set aside, as they were read, with their reason."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from ndcg_spark.contract.counting import Breach, example_of
from ndcg_spark.schemas import BROKEN_LINE, PARTITIONS, REJECTED_ROWS

#: The reason code of a document that stands twice, by table.
TWICE = {"judgments": "judged_twice", "results": "returned_twice"}
_OF_THE_NIGHT = {*PARTITIONS, "evaluation_id"}


def rejected(table: DataFrame, reason: Column, name: str) -> DataFrame:
    """The rows that have a reason, as they were read: REJECTED_ROWS without dataset, evaluated_on and evaluation_id."""
    sources = {"dataset_read": "dataset", "line": BROKEN_LINE}
    described = {"table": F.lit(name), "reason": reason}
    own = [field for field in REJECTED_ROWS.names if field not in {*described, *_OF_THE_NIGHT}]
    columns = [column.alias(field) for field, column in described.items()]
    for field in own:
        source = sources.get(field, field)
        column = F.col(source) if source in table.columns else F.lit(None)
        columns.append(column.cast("string").alias(field))
    return table.select(*columns).where(F.col("reason").isNotNull())


def duplicates(table: DataFrame, where: str) -> tuple[int, Breach] | None:
    """How many documents stand twice for one query, and their rows as a breach; None where none does. An action."""
    twice = _twice(table)
    counted = twice.agg(
        F.count("*").alias("documents"), F.sum("rows").alias("rows"), F.min(example_of(_key(table))).alias("example")
    ).collect()[0]
    if not counted["documents"]:
        return None
    return counted["documents"], Breach(where, TWICE[where], counted["rows"], counted["example"])


def without_duplicates(table: DataFrame, where: str) -> tuple[DataFrame, DataFrame]:
    """The table without any row of a document that stands twice for its query, and those rows as `rejected` has them.

    None of a document's rows stays: nothing tells which of them is right.
    """
    key = _key(table)
    twice = _twice(table).select(*key)
    once = table.join(twice, on=key, how="left_anti").select(*table.columns)
    copies = table.join(twice, on=key, how="left_semi").select(*table.columns)
    return once, rejected(copies, F.lit(TWICE[where]), where)


def _key(table: DataFrame) -> list[str]:
    return [name for name in ("dataset", "run", "query_id", "doc_id") if name in table.columns]


def _twice(table: DataFrame) -> DataFrame:
    """The documents that stand twice for one query: their key and how many rows they have."""
    return table.groupBy(*_key(table)).agg(F.count("*").alias("rows")).where(F.col("rows") > 1)
