"""Tables cast to a schema: which columns they must have, and in which types."""

from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from operator import or_

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import DataType, DoubleType, IntegerType, StringType

from ndcg_spark.errors import InputError
from ndcg_spark.schemas import INTERNAL, JUDGMENTS, LINE, OPTIONAL, OWN, RESULTS

# Spelled out, because engines differ in what \\s and $ match, and in which blanks a cast ignores.
_BLANKS = " \t\r\n\f"
_PLAIN_NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?\z"

_SMALL_NUMBERS = {"tinyint", "smallint", "int"}
_FITS = {StringType: {"string"}, DoubleType: {*_SMALL_NUMBERS, "float", "double"}, IntegerType: _SMALL_NUMBERS}
_TYPES = {field.name: field.dataType for schema in (JUDGMENTS, RESULTS) for field in from_arrow_schema(schema)}


def quoted(name: str) -> str:
    """A column's name, quoted so that Spark takes every character of it literally."""
    escaped = name.replace("`", "``")
    return f"`{escaped}`"


def as_type(column: Column, kind: DataType, source: str) -> Column:
    """A column of the type `source`, cast to the schema's type; null where a value does not fit.

    Text that is not a plain number does not fit (engines disagree about "1d" and "0x1p3"), nor does a rank that is not
    whole or not below 2^31. -0.0 becomes 0.0, because engines distinguish the two in some plans and not in others.
    """
    # A column that needs no cast gets none, so that a filter on it can be applied while the file is read.
    if source == kind.simpleString() and kind != DoubleType():
        return column
    if source in _FITS[type(kind)] or source == "void" or isinstance(kind, StringType):
        fits = column.cast(kind)
        return fits + F.lit(0.0) if source in ("float", "double") else fits
    number = _number(column, source).try_cast(DoubleType())
    return number + F.lit(0.0) if kind == DoubleType() else F.when(number == F.floor(number), number.try_cast(kind))


def typed(name: str, types: Mapping[str, str]) -> Column:
    """A column of judgments or results in the type of its schema; `types` has those of the table."""
    return as_type(F.col(name), _TYPES[name], types[name])


def _number(column: Column, source: str) -> Column:
    """A column that can be cast to a double: null for text that is not a plain number."""
    if _is_text(source):
        text = F.btrim(column, F.lit(_BLANKS))
        return F.when(text.rlike(_PLAIN_NUMBER), text)
    # The embedded engine casts a decimal to a wrong double, but its text to the right one.
    return column.cast("string") if source.startswith("decimal") else column


def named_by_user(columns: Iterable[str]) -> list[str]:
    """The columns, for a message, without those that reading adds."""
    return [name for name in columns if name not in INTERNAL and not name.startswith(OWN)]


def refuse_alike(names: Iterable[str], where: str) -> None:
    """InputError if the names of two columns differ only in case, which Spark ignores."""
    alike: dict[str, list[str]] = {}
    for name in names:
        alike.setdefault(name.lower(), []).append(name)
    twice = [" and ".join(same) for same in alike.values() if len(same) > 1]
    if twice:
        raise InputError(
            f"{where}: {len(twice)} column name(s) occur twice or differ only in case, e.g. {twice[0]}; rename them"
        )


def conform(table: DataFrame, schema: pa.Schema, where: str, advice: str | None = None) -> DataFrame:
    """Those columns of the schema that the table has, in the schema's order and types.

    `advice` says what to do about a missing column; by default, how the command line maps names.
    """
    return table.select(*typed_columns(table, schema, where, advice))


def conform_rows(table: DataFrame, schema: pa.Schema, where: str) -> DataFrame:
    """The columns of `conform` and those that reading adds, which rules use to find the rows that break them.

    LINE shows the values of a row with a number that is none.
    """
    has, typed = dict(table.dtypes), typed_columns(table, schema, where)
    fields = [field for field in from_arrow_schema(schema) if field.name in has]
    added = {name: F.col(name) for name in has if name in INTERNAL}
    wrong = [
        F.col(field.name).isNotNull() & column.isNull()
        for field, column in zip(fields, typed, strict=True)
        if not isinstance(field.dataType, StringType) and has[field.name] not in _FITS[type(field.dataType)]
    ]
    if wrong:
        text = (F.coalesce(F.col(field.name).cast("string"), F.lit("null")) for field in fields)
        pairs = (F.concat(F.lit(f"{field.name}="), value) for field, value in zip(fields, text, strict=True))
        line = F.when(reduce(or_, wrong), F.concat_ws(" ", *pairs))
        added[LINE] = F.coalesce(added[LINE], line) if LINE in added else line
    return table.select(*typed, *(column.alias(name) for name, column in added.items()))


def missing_columns(missing: Sequence[str], known: Iterable[str], where: str, advice: str | None = None) -> InputError:
    """The error for columns that a table lacks; `known` are those that it has, and `advice` is that of `conform`."""
    if advice is None:
        advice = f'map names, --column {missing[0]}=NAME, or in the configuration columns.{missing[0]} = "NAME"'
        if list(missing) == ["relevance"]:
            advice = "name the column of the grades, --column relevance=NAME, or give one grade to all, --relevance 1"
    return InputError(
        f"{where}: {len(missing)} column(s) missing, {', '.join(missing)}; it has {', '.join(known)}; {advice}"
    )


def typed_columns(table: DataFrame, schema: pa.Schema, where: str, advice: str | None = None) -> list[Column]:
    """Those columns of the schema that the table has, in the schema's order and types."""
    has = dict(table.dtypes)
    refuse_alike((name for name in table.columns if name.lower() in schema.names), where)
    missing = [field.name for field in schema if field.name not in has and field.name not in OPTIONAL]
    if missing:
        raise missing_columns(missing, sorted(named_by_user(has)), where, advice)
    fields = [field for field in from_arrow_schema(schema) if field.name in has]
    wrong = [f"{field.name} is {has[field.name]}" for field in fields if not _holds(has[field.name], field.dataType)]
    if wrong:
        raise InputError(
            f"{where}: {len(wrong)} column(s) of the wrong type, {', '.join(wrong)}; "
            "ids are text or whole numbers, relevance, score and rank are numbers"
        )
    return [as_type(F.col(field.name), field.dataType, has[field.name]).alias(field.name) for field in fields]


def _holds(source: str, kind: DataType) -> bool:
    """Whether a column of the type `source` can hold such values; in a text column, values are tried one by one."""
    # A column that is always null can have no type (void).
    if _is_text(source) or source in (*_SMALL_NUMBERS, "bigint", "void"):
        return True
    decimal = source.startswith("decimal")
    if isinstance(kind, StringType):
        return decimal and source.endswith(",0)")
    return decimal or source in ("float", "double")


def _is_text(source: str) -> bool:
    return source == "string" or source.startswith(("varchar", "char("))
