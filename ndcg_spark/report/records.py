"""Rows for programs: CSV and JSON lines, one at a time, so that any number of rows can pass."""

import csv
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ndcg_spark.plain import printable
from ndcg_spark.report.streams import as_json
from ndcg_spark.sheets.sheet import at


def print_csv(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> None:
    """Print a header and the rows (RFC 4180, lines end in a newline); a missing value is empty, no cutoff is `all`."""
    # A terminal could be steered by a name; a file or a pipe gets every name as it is.
    plain = printable if sys.stdout.isatty() else str
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow([plain(_text(column, row.get(column))) for column in columns])


def print_json_lines(rows: Iterable[Mapping[str, Any]]) -> None:
    """Print each row as one JSON object on a line of its own."""
    for row in rows:
        print(as_json(row))


def _text(column: str, value: Any) -> str:
    if column == "cutoff":
        return at(value)
    if value is None:
        return ""
    return repr(value) if isinstance(value, float) else str(value)
