"""Tables and names in HTML, on a page and in a notebook."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from markupsafe import Markup

from ndcg_spark.tables.table import Table, cell_text
from ndcg_spark.text import printable

#: The longest name that is shown in full, and the longest that is kept in its title.
_LONGEST, _LONGEST_TITLE = 80, 1000
#: The attributes of a cell with text, and of one with a number, which is aligned to the right.
TEXT, NUMBER = Markup(""), Markup(' class="n"')


class Cell(NamedTuple):
    #: The attributes of its element, as HTML.
    attributes: Markup
    content: Any


class HtmlTable(NamedTuple):
    """What the template of a table lays out."""

    headings: list[Cell]
    rows: list[list[Cell]]
    notes: list[str]
    label: str
    attributes: Markup


def name_markup(text: str) -> Markup:
    """A name in its own element, so that one written from right to left stays in its place."""
    shown = printable(text)
    if len(shown) <= _LONGEST:
        return Markup("<bdi>{}</bdi>").format(shown)
    title = shown[:_LONGEST_TITLE]
    return Markup('<bdi title="{}">{}…</bdi>').format(title, shown[:_LONGEST])


def marked(text: str, *values: object) -> Markup:
    """A text of this program with values, which are escaped unless they are markup."""
    return Markup(text).format(*values)  # noqa: S704  # the text is always our own


def joined(parts: Iterable[str], between: str = " and ") -> Markup:
    """Names or sentences joined together."""
    return marked(between).join(parts)


def page_table(table: Table, label: str = "", kind: str = "") -> HtmlTable:
    """A table on a page, with the class `kind`; screen readers read its `label`."""
    attributes = Markup(' class="{}"').format(kind) if kind else Markup("")
    return _html_table(table, NUMBER, Markup(""), label, attributes)


def notebook_table(table: Table) -> HtmlTable:
    """A table in a notebook, which has its own style."""
    right = Markup(' style="text-align: right"')
    left = Markup(' style="text-align: left"')
    return _html_table(table, right, left, "", Markup(""))


def _html_table(
    table: Table,
    number_attributes: Markup,
    text_attributes: Markup,
    label: str,
    attributes: Markup,
) -> HtmlTable:
    """A table. `attributes` are its own, and the other two are those of its cells."""
    headings = []
    for at, heading in enumerate(table.headings):
        is_number = at in table.numbers
        headings.append(Cell(number_attributes if is_number else text_attributes, heading))
    rows = []
    for row in table.rows:
        cells = []
        for column in headings:
            cells.append(_cell(column.content, row[column.content], column.attributes))
        rows.append(cells)
    return HtmlTable(headings, rows, list(table.notes), label, attributes)


def _cell(heading: str, value: Any, attributes: Markup) -> Cell:
    if isinstance(value, str) and not isinstance(value, Markup):
        return Cell(attributes, name_markup(value))
    if isinstance(value, float):
        # The script of a page sorts by this, because rounded values may be equal.
        attributes += Markup(' data-v="{:.6g}"').format(value)
    return Cell(attributes, cell_text(heading, value))


class Block(NamedTuple):
    """A block of a page: the name of its macro in the templates, and what the macro lays out."""

    form: str
    content: Any


def _is_aligned_as_number(shown: Cell) -> bool:
    """Whether a cell has the class for numbers, possibly with a class for its colour."""
    return shown.attributes.startswith((' class="n"', ' class="n '))


def plain_table(
    headings: Iterable[Any],
    rows: list[list[Cell]],
    label: str = "",
    kind: str = "",
) -> HtmlTable:
    """A table of cells. Each column is aligned like its cell in the first row."""
    attributes = Markup(' class="{}"').format(kind) if kind else Markup("")
    first = rows[0] if rows else []
    shown = []
    for at, heading in enumerate(headings):
        is_number = at < len(first) and _is_aligned_as_number(first[at])
        shown.append(Cell(NUMBER if is_number else Markup(""), heading))
    return HtmlTable(shown, rows, [], label, attributes)
