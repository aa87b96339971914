"""SQL texts. On classic Spark, each function call and each operator of a Column makes several round
trips to the JVM; a text needs one, however long it is.
"""

from collections.abc import Iterable, Mapping, Sequence

from pyspark.sql import Column
from pyspark.sql import functions as F

INFINITY = "cast('Infinity' as double)"
#: In a literal, Spark may treat a backslash as itself or as an escape, depending on the session,
#: and replaces ${name} with a setting.
_SPECIAL = frozenset("'\\$")


def quoted(name: str) -> str:
    escaped = name.replace("`", "``")
    return f"`{escaped}`"


def text(value: str) -> str:
    """A text literal, independent of the session's settings."""
    if _SPECIAL.isdisjoint(value):
        return f"'{value}'"
    return f"cast(X'{value.encode().hex()}' as string)"


def number(value: float) -> str:
    """A literal of a finite double, exact to the last bit."""
    # In parentheses, because two minus signs begin a comment.
    return f"({float(value)!r}D)"


def null(kind: str) -> str:
    return f"cast(null as {kind})"


def is_finite(value: str) -> str:
    """Whether a number is finite; null for null."""
    return f"abs({value}) < {INFINITY}"


def ratio(dividend: str, divisor: str) -> str:
    """The quotient, null if the divisor is 0."""
    return f"case when {divisor} != 0 then {dividend} / {divisor} end"


def conjunction(conditions: Iterable[str]) -> str:
    """Whether all of the conditions are true; true if there are none."""
    return " and ".join(f"({condition})" for condition in conditions) or "true"


def over(function: str, key: Iterable[str], order: Sequence[str] = ()) -> str:
    """A function over a window: the rows with equal keys, in this order."""
    window = [f"partition by {', '.join(key)}"]
    if order:
        window.append(f"order by {', '.join(order)}")
    return f"{function} over ({' '.join(window)})"


def named(values: Mapping[str, str]) -> list[str]:
    """The values with their names, as `DataFrame.selectExpr` takes them."""
    return [f"{value} as {quoted(name)}" for name, value in values.items()]


def columns(values: Mapping[str, str]) -> dict[str, Column]:
    """The values as Columns, as `DataFrame.withColumns` takes them."""
    return {name: F.expr(value) for name, value in values.items()}


def aggregates(values: Mapping[str, str]) -> list[Column]:
    """The values with their names, as `GroupedData.agg` takes them."""
    return [F.expr(value) for value in named(values)]
