"""Which of the wanted keys JSON lines have, and the refusal of JSON that is not JSON lines."""

import re

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ndcg_spark.errors import InputError
from ndcg_spark.inputs.json_shapes import object_in
from ndcg_spark.inputs.swapped import refuse_other

_LINES_TO_SEE_KEYS = 200
#: Of a longer line only the beginning is looked at: a file of one object may be one line of any length.
_LONGEST_LINE = 1 << 20
_BEGINNING = 1000
_SHOWN_KEYS = 10


def keys_of(table: DataFrame, names: list[str], where: str, place: str, first: str | None) -> list[str]:
    """Those of the names that are keys in the first lines of the column `value`, in the order of `names`. An action.

    `place` is where the lines are, for messages. `first` is the first line, if it is known: an engine need not return
    lines in their order.

    Raises
    ------
    InputError
        The lines are not objects, they have none of the keys, or they are another kind of JSON: one array, or one
        object of all queries.
    """
    line = F.col("value")
    shown = F.when(F.length(line) <= _LONGEST_LINE, line).otherwise(F.substring(line, 1, _BEGINNING))
    some = [row["value"] for row in table.limit(_LINES_TO_SEE_KEYS).select(shown.alias("value")).collect()]
    seen = {key: None for text in some for key in object_in(text) or ()}
    kept = [name for name in names if name in seen]
    shape = _shape(first or next(iter(some), ""), bool(kept))
    if shape:
        keys = ", ".join(name for name in names if name != "dataset")
        raise InputError(
            f"{where}: {place} is {shape}, not JSON lines; write one object a line, with the keys {keys}, or TREC text"
        )
    if not seen:
        raise InputError(f"{where}: no line of {place} is a JSON object; give the format with format if it is another")
    refuse_other(seen, names, where)
    if not kept:
        keys = ", ".join(list(seen)[:_SHOWN_KEYS]).encode("utf-8", "replace").decode()
        raise InputError(
            f"{where}: none of {', '.join(names)} is a key of the first lines of {place}; they have {keys}; "
            "map names in the configuration with columns"
        )
    return kept


def _shape(first: str, has_keys: bool) -> str | None:
    """What a file that begins with this line is, in words; None if it may be JSON lines."""
    if re.match(r"\[\s*(\{|$)", first):
        return "one JSON array"
    if first.startswith("{") and first.endswith(("{", "[")):
        return "a JSON object of several lines"
    if has_keys:
        return None
    if re.match(r'\{\s*"([^"\\]|\\.)*"\s*:\s*[\[{]', first):
        return "one JSON object of many, like {query: {document: score}}"
    return "a JSON object of several lines" if first.startswith("{") and object_in(first) is None else None
