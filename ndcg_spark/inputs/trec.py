"""TREC qrels and run files, and other text without a header: fields by their position in a line."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ndcg_spark.inputs.layouts import Layout
from ndcg_spark.inputs.loading import carried
from ndcg_spark.schemas import BROKEN_LINE


def trec(table: DataFrame, layout: Layout) -> DataFrame:
    """The fields of lines as text columns, and BROKEN_LINE for a line that has another number of fields.

    A line of a TREC run has at least six, as trec_eval allows.
    """
    fields = F.split("value", r"[ \t\r\f]+")
    whole = F.size(fields) >= layout.fields if layout.open else F.size(fields) == layout.fields
    broken = F.when(~whole | ~F.is_valid_utf8("value"), F.col("value")).alias(BROKEN_LINE)
    parts = table.select(fields.alias("fields"), broken, *carried(table))
    values = (F.get("fields", F.lit(at)).alias(name) for name, at in layout.positions.items())
    return parts.select(*values, BROKEN_LINE, *carried(table))
