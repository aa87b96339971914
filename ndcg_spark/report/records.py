"""Rows for programs: CSV and JSON lines, one at a time, so that any number of rows can pass."""

import csv
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ndcg_spark.plain import printable
from ndcg_spark.report.streams import as_json
from ndcg_spark.sheets.sheet import at

#: The formats with a row of values separated by commas for each row: as they are, and to be opened in a spreadsheet.
CSV = ("csv", "spreadsheet")
#: What a text begins with that a spreadsheet takes for a formula, whatever its language.
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")  # noqa: RUF001  # wide ones are meant


class _Lines:
    """Stdout for a csv.writer whose lines end in CR LF, so that it quotes both; here each ends in a newline."""

    def write(self, row: str) -> None:
        sys.stdout.write(row.removesuffix("\r\n") + "\n")


def print_csv(columns: Sequence[str], rows: Iterable[Mapping[str, Any]], style: str = "csv") -> None:
    """Print a header and the rows (RFC 4180, lines end in a newline); a missing value is empty, no cutoff is `all`.

    As a `spreadsheet` it begins with the mark of UTF-8, and a text that would be a formula begins with an apostrophe.
    """
    # A terminal could be steered by a name; a file or a pipe gets every name as it is.
    plain = printable if sys.stdout.isatty() else str
    guarded = _guarded if style == "spreadsheet" else str
    writer = csv.writer(_Lines())
    if style == "spreadsheet" and (sys.stdout.encoding or "").lower().startswith("utf"):
        sys.stdout.write("\ufeff")
    writer.writerow(columns)
    for row in rows:
        values = ((column, row.get(column)) for column in columns)
        cells = (guarded(value) if isinstance(value, str) else _text(column, value) for column, value in values)
        writer.writerow([plain(cell) for cell in cells])


def print_json_lines(rows: Iterable[Mapping[str, Any]]) -> None:
    """Print each row as one JSON object on a line of its own."""
    for row in rows:
        print(as_json(row))


def _guarded(text: str) -> str:
    return f"'{text}" if text.startswith(_FORMULA) else text


def _text(column: str, value: Any) -> str:
    if column == "cutoff":
        return at(value)
    if value is None:
        return ""
    return repr(value) if isinstance(value, float) else str(value)
