"""JSON lines: one object a line, of which the wanted keys are read as text, by one rule on every engine.

A line is one object of strict JSON (RFC 8259). It is broken if anything stands after the object, with a second object
on the line, single quotes, comments, trailing commas, NaN or Infinity, half of a surrogate pair, or values that nest
deeper than 16; and if it has none of the wanted keys, or one that the first lines lack. Of a key that stands twice the
last value counts. Names are case-sensitive. A number keeps the text that it is written with, so that ids of any length
stay what they are. A wanted value that is an array, an object, true or false is no scalar, which is told apart.
"""

import functools
import json
import re
from typing import Any

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, StringType, StructField, StructType

from ndcg_spark.errors import InputError
from ndcg_spark.inputs.loading import carried, quoted
from ndcg_spark.schemas import BROKEN_LINE, NO_SCALAR

_LINES_TO_SEE_COLUMNS = 200
#: A longer line is only looked at in part to see its columns.
_LONGEST_LINE = 1 << 20
_SHOWN_KEYS = 10
_DEEPEST = 16
#: The key of an object that is put after each line's, which only the end of a line that is whole can give.
_END = "\ue000end"
_STRICT = {"allowSingleQuotes": "false", "allowNonNumericNumbers": "false"}
_BLANK = r"[ \t\r]*"
_NUMBER = r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?"
_PAIR = r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
_SURROGATE = r"\\u[dD][89a-fA-F]"


def json_lines(table: DataFrame, names: list[str], where: str, place: str, first: str | None = None) -> DataFrame:
    """The wanted keys of each line's object as text, BROKEN_LINE, and NO_SCALAR of the lines that are broken by that.

    Which of the keys there are is seen from the first lines; a later line that has another of them is broken, for
    nothing may be lost without a word. `place` is where the lines are, for messages, and
    `first` the first of them; an engine need not return them in their order.

    Raises
    ------
    InputError
        The first lines are no objects, or have none of the keys: one object of all queries, an array, and the like.
    """
    kept = _kept(table, names, where, place, first)
    wanted = list(dict.fromkeys([*kept, *names]))
    parsed = table.select("value", _parsed(F.col("value"), wanted).alias("row"), *carried(table))
    values = {name: F.col(f"row.{quoted(name)}") for name in wanted}
    nothing = functools.reduce(Column.__and__, (values[name].isNull() for name in kept))
    unseen = functools.reduce(Column.__or__, (values[n].isNotNull() for n in values if n not in kept), F.lit(False))
    nested = functools.reduce(Column.__or__, (_is_no_scalar(values[name], name) for name in kept))
    broken = nothing | unseen | ~F.is_valid_utf8("value")
    faults = {BROKEN_LINE: F.when(broken | nested, F.col("value")), NO_SCALAR: ~broken & nested}
    kept_values = (values[name].alias(name) for name in kept)
    return parsed.select(*kept_values, *(fault.alias(name) for name, fault in faults.items()), *carried(table))


def _parsed(line: Column, names: list[str]) -> Column:
    """The object of a line, with the names as text; null where the line is not one object and nothing else."""
    # Engines read 1e3 as text as 1000.0, and long ids as rounded numbers, unless they are quoted. What looks like one
    # of these keys and is none stands in a line that is not JSON, or in a value that is not wanted.
    number = f'"({_either(names)})"({_BLANK}:{_BLANK})({_NUMBER})({_BLANK}[,}}])'
    text = F.regexp_replace(line, number, '"$1"$2"$3"$4')
    schema = ArrayType(StructType([StructField(name, StringType()) for name in (*names, _END)]))
    # Spark's parser stops where a value ends: only what stands in an array is read to its end.
    rows = F.from_json(F.concat(F.lit("["), text, F.lit(f',{{"{_END}":""}}]')), schema, _STRICT)
    one = F.get(rows, F.lit(1)).getField(_END).isNotNull() & line.startswith("{") & ~line.contains(_END)
    # The condition is put around the place and not around the rows: else the embedded engine parses each line thrice.
    return F.get(rows, F.when(one & ~_has_half_a_pair(line) & ~_nests_too_deep(line), F.lit(0)))


def _has_half_a_pair(line: Column) -> Column:
    unescaped = F.replace(line, F.lit(r"\\"), F.lit(""))
    rest = F.regexp_replace(unescaped, _PAIR, "")
    return F.when(line.rlike(_SURROGATE), rest.rlike(_SURROGATE)).otherwise(F.lit(False))


def _nests_too_deep(line: Column) -> Column:
    brackets = F.length(line) - F.length(F.translate(line, "[{", ""))
    strings = F.regexp_replace(F.regexp_replace(line, r"\\.", ""), '"[^"]*"', "")
    left = F.regexp_replace(strings, r"[^\[\]{}]", "")
    for _ in range(_DEEPEST):
        left = F.regexp_replace(left, r"\[\]|\{\}", "")
    return F.when(brackets > _DEEPEST, left != "").otherwise(F.lit(False))


def _is_no_scalar(value: Column, name: str) -> Column:
    """Whether a value read as text is no text and no number; asked of the line only where it looks like that."""
    key = f'"(?:{_either([name])})"{_BLANK}:{_BLANK}'
    line = F.col("value")
    looks_so = value.startswith("[") | value.startswith("{") | value.isin("true", "false")
    return F.when(looks_so, line.rlike(f"{key}(?:[\\[{{]|true|false)") | ~line.rlike(f'{key}"')).otherwise(F.lit(False))


def _either(names: list[str]) -> str:
    """A regular expression of the names as JSON may write them."""
    spelled = {json.dumps(name, ensure_ascii=ascii_only)[1:-1] for name in names for ascii_only in (True, False)}
    return "|".join(re.escape(name) for name in sorted(spelled))


def _kept(table: DataFrame, names: list[str], where: str, place: str, first: str | None) -> list[str]:
    """Those of the names that are keys of the first lines."""
    line = F.col("value")
    # A file of one object may be one line of any length.
    shown = F.when(F.length(line) <= _LONGEST_LINE, line).otherwise(F.substring(line, 1, 1000))
    some = [row["value"] for row in table.limit(_LINES_TO_SEE_COLUMNS).select(shown.alias("value")).collect()]
    seen = {key: None for text in some for key in _object(text) or ()}
    kept = [name for name in names if name in seen]
    shape = _shape(first or next(iter(some), ""), bool(kept))
    if shape:
        keys = ", ".join(name for name in names if name != "dataset")
        raise InputError(
            f"{where}: {place} is {shape}, not JSON lines; write one object a line, with the keys {keys}, or TREC text"
        )
    if not seen:
        raise InputError(f"{where}: no line of {place} is a JSON object; give the format with format if it is another")
    if not kept:
        keys = ", ".join(list(seen)[:_SHOWN_KEYS]).encode("utf-8", "replace").decode()
        raise InputError(
            f"{where}: none of {', '.join(names)} is a key of the first lines of {place}; they have {keys}; "
            "map names in the configuration with columns"
        )
    return kept


def _object(line: str) -> dict[str, Any] | None:
    """The object of a line, None where it is none."""
    try:
        row: Any = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return row if isinstance(row, dict) else None


def _shape(first: str, has_keys: bool) -> str | None:
    """What a file that begins with this line is, in words, if it is JSON and no JSON lines."""
    if re.match(r"\[\s*(\{|$)", first):
        return "one JSON array"
    if first.startswith("{") and first.endswith(("{", "[")):
        return "a JSON object of several lines"
    if has_keys:
        return None
    if re.match(r'\{\s*"([^"\\]|\\.)*"\s*:\s*[\[{]', first):
        return "one JSON object of many, like {query: {document: score}}"
    return "a JSON object of several lines" if first.startswith("{") and _object(first) is None else None
