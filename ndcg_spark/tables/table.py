"""Tables as people see them: headings and cells are printable text, names left-aligned, numbers right-aligned."""

import dataclasses
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import Any

from ndcg_spark.convention.cutoffs import format_cutoff
from ndcg_spark.text import printable

_NUMBER = re.compile(r"[-+]?\d+(\.\d+)?")


@dataclasses.dataclass(frozen=True)
class TextTable:
    """A table for people. Every heading and cell is printable text."""

    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    #: The positions, from 0, of the right-aligned columns.
    numbers: Collection[int]
    #: Sentences below the table.
    notes: Sequence[str] = ()
    #: Above the table, and sentences below the title.
    title: str = ""
    sentences: Sequence[str] = ()
    #: Whether the title begins a new section, of which the tables after it are parts.
    is_first: bool = False
    #: Whether all rows are shown, however many.
    is_whole: bool = False
    #: The row and column of the best cells, and of cells with a superscript; only LaTeX shows them.
    best: Collection[tuple[int, int]] = ()
    superscripts: Mapping[tuple[int, int], str] = dataclasses.field(default_factory=dict)

    def first(self, most: int, where: str) -> "TextTable":
        """The table with at most this many rows, unless it is whole; a note says how many more there are and where."""
        more = len(self.rows) - most
        if more <= 0 or self.is_whole:
            return self
        notes = [f"and {more:,} more {where}", *self.notes]
        return dataclasses.replace(self, rows=self.rows[:most], notes=notes)


def sort_key(cell: str) -> str:
    """The first number in a cell, by which its column is sorted; empty where there is none."""
    found = _NUMBER.search(cell.replace(",", "").replace("\N{MINUS SIGN}", "-"))
    return found[0] if found else ""


def rounded(value: float | None) -> str:
    """A score to four decimals, a dash if there is none."""
    return "-" if value is None else f"{value:.4f}"


def signed(value: float | None) -> str:
    """A difference to four decimals with its sign, a dash if there is none."""
    return "-" if value is None else f"{value:+z.4f}"


def counted(value: int | None) -> str:
    """A count, a dash if there is none."""
    return "-" if value is None else f"{value:,}"


def shortest(value: float | None) -> str:
    """A number with as many digits as it needs, at most six; a dash if there is none."""
    return "-" if value is None else f"{value:g}"


_Value = str | int | Callable[[Any], Any] | None


@dataclasses.dataclass(frozen=True)
class TextColumn:
    """A column of a table: its heading, and how its cells are formatted."""

    heading: str
    #: A key, index or attribute of the row, by default the heading with underscores; or a function of the row.
    value: _Value = None
    form: Callable[[Any], str] = str
    is_number: bool = False

    def cell(self, row: Any) -> str:
        """The text of the cell, made printable so that no name can control a terminal; our own markup as it is."""
        key: Any = self.heading.replace(" ", "_") if self.value is None else self.value
        value = key(row) if callable(key) else row[key] if hasattr(row, "__getitem__") else getattr(row, key)
        if hasattr(value, "__html__"):
            return value  # type: ignore[no-any-return]
        return printable(self.form(value))


def name(heading: str, value: _Value = None, form: Callable[[Any], str] = str) -> TextColumn:
    """A left-aligned column of text."""
    return TextColumn(heading, value, form)


def number(heading: str, value: _Value = None, form: Callable[[Any], str] = rounded) -> TextColumn:
    """A right-aligned column of numbers."""
    return TextColumn(heading, value, form, is_number=True)


def cells(columns: Sequence[TextColumn], row: Any) -> list[str]:
    """The cells of a row."""
    return [column.cell(row) for column in columns]


def text_table(columns: Sequence[TextColumn], rows: Iterable[Any], notes: Iterable[str] = (), **more: Any) -> TextTable:
    """A table of these rows. All text is made printable."""
    return TextTable(
        [printable(column.heading) for column in columns],
        [cells(columns, row) for row in rows],
        frozenset(place for place, column in enumerate(columns) if column.is_number),
        list(map(printable, notes)),
        **more,
    )


def plain_table(
    rows: Sequence[Mapping[str, Any]], names: Iterable[str], notes: Iterable[str] = (), **more: Any
) -> TextTable:
    """Columns of rows as they are called, numbers on the right; without those that have no value, or one dataset."""

    def column(key: str) -> TextColumn:
        values = [row[key] for row in rows if row[key] is not None]
        heading = key.replace("_", " ")
        if key == "cutoff":
            return number(heading, key, format_cutoff)
        if all(isinstance(value, int | float) for value in values):
            return number(heading, key, rounded if any(isinstance(value, float) for value in values) else counted)
        return name(heading, key)

    several = len({row.get("dataset") for row in rows}) > 1
    shown = [key for key in names if not rows or any(row[key] is not None for row in rows) or key == "cutoff"]
    return text_table([column(key) for key in shown if several or key != "dataset"], rows, notes, **more)
