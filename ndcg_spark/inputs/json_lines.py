"""JSON lines: one object a line, of which the wanted keys are read as text."""

import functools
import json
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType

from ndcg_spark.errors import InputError
from ndcg_spark.inputs.loading import carried, quoted
from ndcg_spark.schemas import BROKEN_LINE

_LINES_TO_SEE_COLUMNS = 200


def json_lines(table: DataFrame, names: list[str], where: str) -> DataFrame:
    """The wanted keys of each line's object as text; which of them there are is seen from the first lines.

    A later line that has another of them is broken, for nothing may be lost without a word.
    """
    seen: set[str] = set()
    for row in table.limit(_LINES_TO_SEE_COLUMNS).collect():
        seen.update(_keys(row["value"]))
    if not seen:
        raise InputError(f"{where}: no line is a JSON object; give the format with format if it is another")
    kept = [name for name in names if name in seen] or sorted(seen)
    schema = StructType([StructField(name, StringType()) for name in dict.fromkeys([*kept, *names])])
    parsed = table.select("value", F.from_json("value", schema).alias("row"), *carried(table))
    values = {name: F.col(f"row.{quoted(name)}") for name in schema.names}
    nothing = functools.reduce(Column.__and__, (values[name].isNull() for name in kept))
    unseen = functools.reduce(Column.__or__, (values[n].isNotNull() for n in values if n not in kept), F.lit(False))
    broken = F.when(nothing | unseen | ~F.is_valid_utf8("value"), F.col("value")).alias(BROKEN_LINE)
    return parsed.select(*(values[name].alias(name) for name in kept), broken, *carried(table))


def _keys(line: str) -> list[str]:
    try:
        row: Any = json.loads(line)
    except ValueError:
        return []
    return list(row) if isinstance(row, dict) else []
