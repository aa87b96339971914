"""How every command prints what it found, in the format that was asked for."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ndcg_spark.report.console import printing
from ndcg_spark.tables.table import TextTable
from ndcg_spark.tables.writers import CSV, as_json, html_page, latex, markdown, print_csv, text

#: A table in a terminal has at most this many rows.
_MOST_ROWS = 50


def print_result(
    style: str,
    tables: Callable[[], Sequence[TextTable]],
    value: Callable[[], Any],
    columns: Sequence[str] = (),
    rows: Iterable[Mapping[str, Any]] = (),
) -> None:
    """Print a result: its `value` as JSON, `rows` of these columns as CSV, its `tables` in every other format.

    Raises as `printing`.
    """
    with printing():
        if style == "json":
            print(as_json(value()))
        elif style in CSV:
            print_csv(columns, rows, style)
        elif style == "html":
            print(html_page(tables()))
        else:
            print("\n\n".join("\n".join(_lines(table, style)) for table in tables()))


def _lines(table: TextTable, style: str) -> list[str]:
    if style == "markdown":
        return markdown(table)
    if style == "latex":
        return latex(table)
    return text(table.first(_MOST_ROWS, "in --format json"))
