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
    names, line = header_names(header, separator), F.col("value")
    # Java needs possessive quantifiers, or its stack overflows at many quotes; Rust never backtracks.
    kept = "+" if on_java else ""
    # In quotes, where "" is one quote; or not beginning with a quote; or empty.
    field = f'{separator}("[^"]*{kept}(?:""[^"]*{kept})*{kept}"|[^{separator}"][^{separator}]*|)'
    # A line without quotes, as most are, is cut at its separators, which takes a third of the time.
    quoted = line.contains('"')
    found = F.when(quoted, F.regexp_extract_all(F.concat(F.lit(separator), line), F.lit(field), F.lit(1)))
    if on_java:
        found = found.otherwise(F.split(line, separator, -1))
    rows = table.where(line != header).select("value", found.alias("fields"), *carried(table))
    fields = [F.get("fields", F.lit(at)) for at in range(len(names))]
    # If part of the line matched no field, the fields joined again differ from the line.
    whole = (F.size("fields") == len(names)) & (F.array_join("fields", separator) == line)
    if not on_java:
        # One field at a time, because the embedded engine splits into an array by a regular expression.
        parts = (F.split_part(line, F.lit(separator), F.lit(at + 1)) for at in range(len(names)))
        fields = [F.when(quoted, field).otherwise(part) for field, part in zip(fields, parts, strict=True)]
        separators = F.length(line) - F.length(F.replace(line, F.lit(separator), F.lit("")))
        whole = F.when(quoted, whole).otherwise(separators == len(names) - 1)
    values = (_unquoted(field).alias(name) for name, field in zip(names, fields, strict=True))
    broken = F.when(~(whole & F.is_valid_utf8("value")), F.col("value"))
    return rows.select(*values, broken.alias(BROKEN_LINE), *carried(table))


def header_names(line: str, separator: str) -> list[str]:
    """The names of columns in the header of a CSV or TSV file; ValueError if it is not a line of such a file."""
    try:
        return next(csv.reader([line], delimiter=separator, strict=True), [])
    except csv.Error as error:
        raise ValueError(f"{line[:200]!r} is not a header, {error}") from error


def _unquoted(field: Column) -> Column:
    within = F.substring(field, F.lit(2), F.length(field) - 2)
    text = F.when(field.startswith('"'), F.replace(within, F.lit('""'), F.lit('"'))).otherwise(field)
    return F.nullif(text, F.lit(""))
