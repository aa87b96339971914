"""CSV and TSV with a header: fields by the names in the first line."""

import csv

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from ndcg_spark.inputs.loading import carried
from ndcg_spark.schemas import BROKEN_LINE


def separated(table: DataFrame, header: str, separator: str, on_java: bool) -> DataFrame:
    """The fields of CSV or TSV lines (RFC 4180) as text columns, and BROKEN_LINE.

    A row is one line; an empty field is null; lines that equal the header are left out. No engine's own reader both
    keeps broken lines and tells which they are, so this is made of Column expressions, without lambdas, by which the
    embedded engine cannot filter. `on_java` tells which dialect of regular expressions is used; both find the same.
    """
    names = header_names(header, separator)
    # Java needs possessive quantifiers, or its stack overflows at many quotes; Rust never backtracks.
    kept = "+" if on_java else ""
    # In quotes, where "" is one quote; or not beginning with a quote; or empty.
    field = f'{separator}("[^"]*{kept}(?:""[^"]*{kept})*{kept}"|[^{separator}"][^{separator}]*|)'
    fields = F.regexp_extract_all(F.concat(F.lit(separator), F.col("value")), F.lit(field), F.lit(1))
    rows = table.where(F.col("value") != header).select("value", fields.alias("fields"), *carried(table))
    # If part of the line matched no field, the fields joined again differ from the line.
    whole = (F.size("fields") == len(names)) & (F.array_join("fields", separator) == F.col("value"))
    values = (_unquoted(F.get("fields", F.lit(at))).alias(name) for at, name in enumerate(names))
    broken = F.when(~(whole & F.is_valid_utf8("value")), F.col("value"))
    return rows.select(*values, broken.alias(BROKEN_LINE), *carried(table))


def header_names(line: str, separator: str) -> list[str]:
    """The names of columns in the header of a CSV or TSV file; ValueError if it is not a line of such a file."""
    try:
        return next(csv.reader([line], delimiter=separator, strict=True), [])
    except csv.Error as error:
        raise ValueError(f"{line[:200]!r} is no header, {error}") from error


def _unquoted(field: Column) -> Column:
    within = F.substring(field, F.lit(2), F.length(field) - 2)
    text = F.when(field.startswith('"'), F.replace(within, F.lit('""'), F.lit('"'))).otherwise(field)
    return F.nullif(text, F.lit(""))
