"""Tables and names in HTML, on a page and in a notebook."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from markupsafe import Markup

from ndcg_spark.tables.table import Table, cell
from ndcg_spark.text import printable

#: The longest name that is shown whole, and the longest that is shown at all.
_LONGEST, _LONGEST_TITLE = 80, 1000
#: The attributes of a cell with a number: it is aligned to the right.
NUMBER = Markup(' class="n"')


class Cell(NamedTuple):
    #: Of its element, after the name of that.
    attributes: Markup
    content: Any


class HtmlTable(NamedTuple):
    """What the template of a table places."""

    headings: list[Cell]
    rows: list[list[Cell]]
    notes: list[str]
    label: str
    attributes: Markup


def name(text: str) -> Markup:
    """A name; one that is written from right to left does not turn the sentence around it."""
    shown = printable(text)
    if len(shown) <= _LONGEST:
        return Markup("<bdi>{}</bdi>").format(shown)
    title = shown[:_LONGEST_TITLE]
    return Markup('<bdi title="{}">{}…</bdi>').format(title, shown[:_LONGEST])


def marked(text: str, *values: object) -> Markup:
    """A text of this program with values; these are escaped, unless they are markup themselves."""
    return Markup(text).format(*values)  # noqa: S704  # no text comes from elsewhere


def joined(parts: Iterable[str], between: str = " and ") -> Markup:
    """Names or sentences, one after the other."""
    return marked(between).join(parts)


def page_table(table: Table, label: str = "", kind: str = "") -> HtmlTable:
    """A table of a page, of the class `kind`; a screen reader says its `label`."""
    attributes = Markup(' class="{}"').format(kind) if kind else Markup("")
    return _html_table(table, NUMBER, Markup(""), label, attributes)


def notebook_table(table: Table) -> HtmlTable:
    """A table of a notebook, which has a style of its own."""
    right = Markup(' style="text-align: right"')
    left = Markup(' style="text-align: left"')
    return _html_table(table, right, left, "", Markup(""))


def _html_table(
    table: Table,
    number: Markup,
    text: Markup,
    label: str,
    attributes: Markup,
) -> HtmlTable:
    kinds = [number if at in table.numbers else text for at in range(len(table.headings))]
    headings = list(map(Cell, kinds, table.headings))
    rows = []
    for row in table.rows:
        cells = [_cell(row, *column) for column in zip(table.headings, kinds, strict=True)]
        rows.append(cells)
    return HtmlTable(headings, rows, list(table.notes), label, attributes)


def _cell(row: Mapping[str, Any], heading: str, kind: Markup) -> Cell:
    value = row[heading]
    shown = cell(heading, value)
    if isinstance(value, str) and not isinstance(value, Markup):
        return Cell(kind, name(value))
    if isinstance(value, float):
        # A table is sorted by what is not rounded.
        return Cell(kind + Markup(' data-v="{:.6g}"').format(value), shown)
    return Cell(kind, shown)


class Block(NamedTuple):
    """What a template places: the form that it has, and the content of that."""

    form: str
    content: Any


def _is_aligned_as_number(shown: Cell) -> bool:
    """Whether a cell has the class of numbers, perhaps with a class for its color."""
    return shown.attributes.startswith((' class="n"', ' class="n '))


def plain_table(
    headings: Iterable[Any],
    rows: list[list[Cell]],
    label: str = "",
    kind: str = "",
) -> HtmlTable:
    """A table of cells. A column is aligned as its cells in the first row are."""
    attributes = Markup(' class="{}"').format(kind) if kind else Markup("")
    first = rows[0] if rows else []
    shown = []
    for at, heading in enumerate(headings):
        is_number = at < len(first) and _is_aligned_as_number(first[at])
        shown.append(Cell(NUMBER if is_number else Markup(""), heading))
    return HtmlTable(shown, rows, [], label, attributes)
