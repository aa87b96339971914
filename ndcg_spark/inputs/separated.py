"""CSV and TSV with a header: fields by the names in the first line."""

import csv

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from ndcg_spark.inputs.loading import carried
from ndcg_spark.schemas import BROKEN_LINE


def separated(table: DataFrame, header: str, separator: str, on_java: bool) -> DataFrame:
    """CSV or TSV lines with RFC 4180 quotes as text, an empty field as null; lines like the header are left out.

    A row is one line. Written with columns, as no engine's own reader both keeps the lines that are no row and
    says which they are; without lambdas, which the embedded engine cannot filter by. `on_java` says whose regular
    expressions they are; both find the same.
    """
    names = header_names(header, separator)
    # Java's go a level down the stack for every pair of quotes unless they may not go back; Rust's never do either.
    kept = "+" if on_java else ""
    # In quotes, where two stand for one; or not begun by one.
    field = f'{separator}("[^"]*{kept}(?:""[^"]*{kept})*{kept}"|[^{separator}"][^{separator}]*|)'
    fields = F.regexp_extract_all(F.concat(F.lit(separator), F.col("value")), F.lit(field), F.lit(1))
    rows = table.where(F.col("value") != header).select("value", fields.alias("fields"), *carried(table))
    # What no field has matched is missing from their sum.
    whole = (F.size("fields") == len(names)) & (F.array_join("fields", separator) == F.col("value"))
    values = (_unquoted(F.get("fields", F.lit(at))).alias(name) for at, name in enumerate(names))
    broken = F.when(~(whole & F.is_valid_utf8("value")), F.col("value"))
    return rows.select(*values, broken.alias(BROKEN_LINE), *carried(table))


def header_names(line: str, separator: str) -> list[str]:
    """The columns that the first line of a CSV or TSV file names; ValueError where it is no line of such a file."""
    try:
        return next(csv.reader([line], delimiter=separator, strict=True), [])
    except csv.Error as error:
        raise ValueError(f"{line[:200]!r} is no header, {error}") from error


def _unquoted(field: Column) -> Column:
    within = F.substring(field, F.lit(2), F.length(field) - 2)
    text = F.when(field.startswith('"'), F.replace(within, F.lit('""'), F.lit('"'))).otherwise(field)
    return F.nullif(text, F.lit(""))
