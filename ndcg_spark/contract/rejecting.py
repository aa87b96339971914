"""Rows that break a rule, kept with the values that were read and the reason."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from ndcg_spark.schemas import LINE, PARTITIONS, REJECTED_ROWS, WRITTEN


def rejected(table: DataFrame, reason: Column, name: str) -> DataFrame:
    """One row per row that has a `reason`, its values as text; no key, in no order.

    The columns of REJECTED_ROWS, but for dataset, evaluated_on and evaluation_id, which only the night knows.
    """
    sources = {"dataset_read": "dataset", "line": LINE}
    described = {"table": F.lit(name), "reason": reason}
    own = [field for field in REJECTED_ROWS.names if field not in {*described, *PARTITIONS}]
    columns = [column.alias(field) for field, column in described.items()]
    for field in own:
        source = sources.get(field, field)
        column = (F.col(source) if source in table.columns else F.lit(None)).cast("string")
        written = WRITTEN.get(source)
        columns.append((F.coalesce(F.col(written), column) if written in table.columns else column).alias(field))
    return table.select(*columns).where(F.col("reason").isNotNull())
