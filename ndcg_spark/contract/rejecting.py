"""Rows that break a rule are set aside, as they were read, with their reason."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from ndcg_spark.schemas import BROKEN_LINE, PARTITIONS, REJECTED_ROWS

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
