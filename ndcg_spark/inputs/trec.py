"""TREC qrels and run files: fields by their position in a line."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ndcg_spark.inputs.loading import carried
from ndcg_spark.schemas import BROKEN_LINE

#: The position of each column in a line of TREC qrels, and of a TREC run.
QRELS = {"query_id": 0, "doc_id": 2, "relevance": 3}
RUN = {"query_id": 0, "doc_id": 2, "rank": 3, "score": 4, "run": 5}


def trec(table: DataFrame, positions: dict[str, int], on_java: bool) -> DataFrame:
    """The fields of TREC lines as text columns, and BROKEN_LINE.

    Qrels have exactly four fields. A line of a run has at least six, as trec_eval allows. `on_java` tells which
    functions are quick; both find the same.
    """
    line = F.translate("value", "\t\r\f", "   ")
    # Few files have more than one blank between fields, and a regular expression takes longer than all the rest.
    spaced = table.select(
        "value",
        F.when(line.contains("  "), F.regexp_replace(line, " +", " ")).otherwise(line).alias("line"),
        *carried(table),
    )
    if on_java:
        parts = spaced.select("value", F.split("line", " ").alias("fields"), *carried(table))
        fields = [F.get("fields", F.lit(at)) for at in range(max(positions.values()) + 2)]
    else:
        parts = spaced
        fields = [
            F.nullif(F.split_part("line", F.lit(" "), F.lit(at + 1)), F.lit(""))
            for at in range(max(positions.values()) + 2)
        ]
    whole = fields[-2].isNotNull()
    if positions is QRELS:
        whole &= fields[-1].isNull()
    broken = F.when(~whole | ~F.is_valid_utf8("value"), F.col("value")).alias(BROKEN_LINE)
    values = (fields[at].alias(name) for name, at in positions.items())
    return parts.select(*values, broken, *carried(table))
