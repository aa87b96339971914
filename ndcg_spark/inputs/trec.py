"""TREC qrels and run files: fields by their position in a line."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ndcg_spark.inputs.loading import carried
from ndcg_spark.schemas import BROKEN_LINE

#: The position of each column in a line of TREC qrels, and of a TREC run.
QRELS = {"query_id": 0, "doc_id": 2, "relevance": 3}
RUN = {"query_id": 0, "doc_id": 2, "rank": 3, "score": 4, "run": 5}


def trec(table: DataFrame, positions: dict[str, int]) -> DataFrame:
    """The fields of TREC lines as text columns, and BROKEN_LINE.

    Qrels have exactly four fields. A line of a run has at least six, as trec_eval allows.
    """
    fields = F.split("value", r"[ \t\r\f]+")
    least = max(positions.values()) + 1
    whole = F.size(fields) == least if positions is QRELS else F.size(fields) >= least
    broken = F.when(~whole | ~F.is_valid_utf8("value"), F.col("value")).alias(BROKEN_LINE)
    parts = table.select(fields.alias("fields"), broken, *carried(table))
    values = (F.get("fields", F.lit(at)).alias(name) for name, at in positions.items())
    return parts.select(*values, BROKEN_LINE, *carried(table))
