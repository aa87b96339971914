"""TREC qrels and run files, and other text without a header: fields by their position in a line."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ndcg_spark.inputs.layouts import NUMBER, WHOLE_NUMBER, Layout
from ndcg_spark.inputs.loading import carried
from ndcg_spark.schemas import BROKEN_LINE

#: How a line ends that has a blank in the document's id, and not in the run's name: a rank, a score and a run.
_ENDS_WITH_RANK_SCORE_RUN = rf" {WHOLE_NUMBER} {NUMBER} [^ ]+\z"


def trec(table: DataFrame, layout: Layout, on_java: bool) -> DataFrame:
    """The fields of lines as text columns, and BROKEN_LINE for a line that has another number of fields.

    A line of a TREC run has at least six, as trec_eval allows: what follows belongs to the run's name. It is broken
    where the blank may be in the document's id instead. `on_java` tells which functions are quick; both find the same.
    """
    line = F.translate("value", "\t\r\f", "   ")
    # Few files have more than one blank between fields, and a regular expression takes longer than all the rest.
    single = F.when(line.contains("  "), F.regexp_replace(line, " +", " ")).otherwise(line).alias("line")
    parts = table.select("value", single, *carried(table))
    places = range(layout.fields + 1)
    if on_java:
        parts = parts.select("value", "line", F.split("line", " ").alias("fields"), *carried(table))
        fields = [F.get("fields", F.lit(at)) for at in places]
    else:
        fields = [F.nullif(F.split_part("line", F.lit(" "), F.lit(at + 1)), F.lit("")) for at in places]
    whole = fields[-2].isNotNull()
    if layout.open:
        rank, line = fields[layout.positions["rank"]], F.col("line")
        doubtful = line.rlike(_ENDS_WITH_RANK_SCORE_RUN) | ~rank.rlike(rf"^{NUMBER}\z")
        whole &= ~F.when(fields[-1].isNotNull(), doubtful).otherwise(F.lit(False))
    else:
        whole &= fields[-1].isNull()
    broken = F.when(~whole | ~F.is_valid_utf8("value"), F.col("value")).alias(BROKEN_LINE)
    values = (fields[at].alias(name) for name, at in layout.positions.items())
    return parts.select(*values, broken, *carried(table))
