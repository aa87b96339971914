"""JSON lines: one object per line, whose wanted keys are read as text by one rule on every engine.

A line must be exactly one object of strict JSON (RFC 8259). It is broken if anything follows the object, such as a
second object; if it has single quotes, comments, trailing commas, NaN, Infinity or half of a surrogate pair; if its
values nest deeper than 16; or if it has none of the wanted keys, or one that the first lines lack. If a key is repeated
its last value counts. Names are case-sensitive. A number keeps the text it is written with, so long ids stay exact. A
wanted value that is an array, an object, true or false also makes the line bad, and NO_SCALAR says that this is why.
"""

import functools
import json
import re

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, StringType, StructField, StructType

from ndcg_spark.inputs.json_keys import keys_of
from ndcg_spark.inputs.loading import carried, quoted
from ndcg_spark.schemas import BROKEN_LINE, NO_SCALAR

_DEEPEST = 16
#: The key of an object that is put after each line's own. It is only found again if the line before it is whole.
_END = "\ue000end"
_STRICT = {"allowSingleQuotes": "false", "allowNonNumericNumbers": "false"}
_BLANK = r"[ \t\r]*"
_NUMBER = r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?"
_PAIR = r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}"
_SURROGATE = r"\\u[dD][89a-fA-F]"


def json_lines(table: DataFrame, names: list[str], where: str, place: str, first: str | None = None) -> DataFrame:
    """The wanted keys of each line's object as text columns, and BROKEN_LINE and NO_SCALAR of `schemas`.

    The first lines tell which of the keys there are. A later line that has another of them is broken, so that nothing
    is lost silently. `place` is where the lines are, for messages; `first` is the first of them, if it is known.
    Raises InputError as `json_keys.keys_of`.
    """
    kept = keys_of(table, names, where, place, first)
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
    """The object of a line, with the names as text; null if the line is anything but one object."""
    # Unless numbers are quoted, engines turn 1e3 into the text 1000.0, and round long ids. What looks like one of these
    # keys but is not one is in a line that is not JSON, or in a value that is not wanted.
    number = f'"({_either(names)})"({_BLANK}:{_BLANK})({_NUMBER})({_BLANK}[,}}])'
    text = F.regexp_replace(line, number, '"$1"$2"$3"$4')
    schema = ArrayType(StructType([StructField(name, StringType()) for name in (*names, _END)]))
    # Spark's parser stops at the end of a value and ignores the rest, except within an array.
    rows = F.from_json(F.concat(F.lit("["), text, F.lit(f',{{"{_END}":""}}]')), schema, _STRICT)
    one = F.get(rows, F.lit(1)).getField(_END).isNotNull() & line.startswith("{") & ~line.contains(_END)
    # The condition is around the index and not the rows, or the embedded engine would parse each line three times.
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
    """Whether a value is neither text nor a number in its line. The line is only searched if the value looks so."""
    key = f'"(?:{_either([name])})"{_BLANK}:{_BLANK}'
    line = F.col("value")
    looks_so = value.startswith("[") | value.startswith("{") | value.isin("true", "false")
    return F.when(looks_so, line.rlike(f"{key}(?:[\\[{{]|true|false)") | ~line.rlike(f'{key}"')).otherwise(F.lit(False))


def _either(names: list[str]) -> str:
    """A regular expression for the names, in each way that JSON may write them."""
    spelled = {json.dumps(name, ensure_ascii=ascii_only)[1:-1] for name in names for ascii_only in (True, False)}
    return "|".join(re.escape(name) for name in sorted(spelled))
