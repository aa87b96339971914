"""Writes tables: text, Markdown, LaTeX and HTML for people, CSV and JSON for programs."""

import csv
import dataclasses
import functools
import itertools
import json
import re
import sys
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ndcg_spark.convention.measures import format_cutoff
from ndcg_spark.tables.table import Marked, Table, cell_text
from ndcg_spark.text import printable

if TYPE_CHECKING:
    import jinja2
    import pandas as pd
    import pyarrow as pa
    from pyspark.sql import DataFrame

#: Possible markup in a cell of GitHub Markdown. A backslash before punctuation is never shown.
_MARKDOWN = re.compile(r"([\\`*_\[\]<>|~$&!])")

_LATEX = str.maketrans(
    {sign: f"\\{sign}" for sign in "{}$&#%_"}
    | {"\\": r"\textbackslash{}", "^": r"\textasciicircum{}", "~": r"\textasciitilde{}"}
    | {"`": r"\textasciigrave{}", "'": r"\textquotesingle{}", '"': r"\symbol{34}"}
    | {"<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}"}
    # After the end of a row, these two would be arguments.
    | {"[": "{[}", "*": "{*}"}
)


def aligned(
    headings: Sequence[str],
    rows: Iterable[Sequence[str]],
    numbers: Collection[int],
) -> Iterator[str]:
    """Lines of text with aligned columns, headings first. `numbers`: the columns on the right.

    Rows are streamed, and the first ones determine the widths.
    """
    from rich.cells import cell_len

    remaining = iter(rows)
    first = list(itertools.islice(remaining, 500))
    columns = zip(headings, *first, strict=True)
    widths = [max(map(cell_len, column)) for column in columns]
    for row in itertools.chain([headings], first, remaining):
        cells = []
        for at, (text, width) in enumerate(zip(row, widths, strict=True)):
            blanks = " " * (width - cell_len(text))
            cells.append(blanks + text if at in numbers else text + blanks)
        yield "  ".join(cells).rstrip()


def plain_text(table: Table) -> list[str]:
    """The lines of a table for a terminal: its title, its sentences, its rows and its notes."""
    lines = [table.title] if table.title else []
    lines += table.sentences
    if table.headings:
        lines += aligned(table.headings, table.cells, table.numbers)
    if table.notes and lines:
        lines.append("")
    lines += table.notes
    # Titles and sentences contain unmodified names.
    return list(map(printable, lines))


def markdown(table: Table) -> list[str]:
    """The lines of a table in GitHub Markdown."""
    lines = []
    if table.title:
        lines += [f"### {_markdown(table.title)}", ""]
    for sentence in table.sentences:
        lines += [_markdown(sentence), ""]
    alignments = [":---"] * len(table.headings)
    for at in table.numbers:
        alignments[at] = "---:"
    lines.append(_markdown_row(map(_markdown, table.headings)))
    lines.append(_markdown_row(alignments))
    for cells in table.cells:
        lines.append(_markdown_row(map(_markdown, cells)))
    for note in table.notes:
        lines += ["", _markdown(note)]
    return lines


def _markdown_row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def latex(table: Table) -> list[str]:
    """The lines of a LaTeX table with booktabs; its title, sentences and notes are comments."""
    lines = [r"% \usepackage{booktabs}"]
    for comment in (table.title, *table.sentences, *table.notes):
        if comment:
            lines.append(f"% {printable(comment)}")
    lines.append(rf"\begin{{tabular}}{{{_latex_columns(table)}}}")
    lines += [r"\toprule", _latex_row(map(_latex, table.headings)), r"\midrule"]
    for row in table.rows:
        cells = [_latex_cell(heading, row[heading]) for heading in table.headings]
        lines.append(_latex_row(cells))
    return [*lines, r"\bottomrule", r"\end{tabular}"]


def _latex_columns(table: Table) -> str:
    """The alignment of the columns: numbers on the right, unless stars follow them."""
    kinds = ["l"] * len(table.headings)
    if not _has_stars(table):
        for at in table.numbers:
            kinds[at] = "r"
    return "".join(kinds)


def _has_stars(table: Table) -> bool:
    for row in table.rows:
        for value in row.values():
            if isinstance(value, Marked) and value.stars:
                return True
    return False


def _latex_row(cells: Iterable[str]) -> str:
    return " & ".join(cells) + r" \\"


def fill_template(template: str, **values: Any) -> str:
    """Fill a template of this package with these values.

    All text is escaped and made printable, except our own markup.
    """
    return str(_templates().get_template(template).render(**values))


def notebook_html(table: Table) -> str:
    """A table as HTML for a notebook."""
    # Imported here, because commands that print text do not need it.
    from ndcg_spark.tables.html import notebook_table

    above = [table.title] if table.title else []
    above += table.sentences
    return fill_template("tables/notebook.html.j2", above=above, content=notebook_table(table))


@functools.cache
def _templates() -> "jinja2.Environment":
    # Cached, because compiling the templates of a page takes longer than the rest.
    import jinja2

    return jinja2.Environment(
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=lambda value: printable(value) if type(value) is str else value,
        loader=jinja2.PackageLoader("ndcg_spark", "."),
        auto_reload=False,
    )


def print_csv(columns: Sequence[str], rows: Iterable[Mapping[str, Any]]) -> None:
    """Print a header and the rows (RFC 4180, but lines end in a newline).

    None is written as an empty field, or as `all` in the column `cutoff`.
    """
    # A name could control a terminal; files and pipes get unmodified names.
    plain = printable if sys.stdout.isatty() else str
    writer = csv.writer(_Lines())
    writer.writerow(map(plain, columns))
    for row in rows:
        cells = [_csv_cell(column, row.get(column)) for column in columns]
        writer.writerow(map(plain, cells))


class _Lines:
    """A stdout wrapper for a csv.writer whose lines end in CR LF, so that it quotes both.

    The wrapper ends each line in a newline.
    """

    def write(self, row: str) -> None:
        sys.stdout.write(row.removesuffix("\r\n") + "\n")


def as_json(value: Any) -> str:
    """One line of ASCII JSON, so that no name controls a terminal and every stdout accepts it."""
    return json.dumps(value, default=str)


def to_pandas(table: "DataFrame | pa.Table") -> "pd.DataFrame":
    """All rows of a table, unordered.

    The cutoff of the whole ranking is <NA> (Int64), and dates are datetime64.
    """
    # Imported here, because help and commands that read nights without an engine do not need it.
    import pandas as pd
    import pyarrow as pa

    # Without this, a column of whole numbers with a null becomes floats.
    types = dict.fromkeys((pa.int16(), pa.int32(), pa.int64()), pd.Int64Dtype())
    arrow = table if isinstance(table, pa.Table) else table.toArrow()
    frame: pd.DataFrame = arrow.to_pandas(types_mapper=types.get, date_as_object=False)
    return frame


@dataclasses.dataclass(frozen=True, repr=False)
class View:
    """A command's output: tables for people, a value for JSON, rows for CSV, pandas, Arrow."""

    tables: Sequence[Table]
    value: Any
    columns: Sequence[str] = ()
    rows: Sequence[Mapping[str, Any]] = ()

    def json(self) -> Any:
        """The value that the command prints as JSON."""
        return self.value

    def to_pandas(self) -> "pd.DataFrame":
        """The rows as a pandas DataFrame."""
        return to_pandas(self.to_arrow())

    def to_arrow(self) -> "pa.Table":
        """The rows as a pyarrow Table."""
        import pyarrow as pa

        columns = {}
        for name in self.columns:
            columns[name] = pa.array([row.get(name) for row in self.rows])
        if "cutoff" in columns and columns["cutoff"].type == pa.null():
            # An integer column, even if every cutoff is the whole ranking.
            columns["cutoff"] = columns["cutoff"].cast(pa.int32())
        return pa.table(columns)

    def _repr_html_(self) -> str:
        return "".join(map(notebook_html, self.tables))

    def __repr__(self) -> str:
        return "\n\n".join("\n".join(plain_text(table)) for table in self.tables)


def _csv_cell(column: str, value: Any) -> str:
    if column == "cutoff":
        return format_cutoff(value)
    if value is None:
        return ""
    return repr(value) if isinstance(value, float) else str(value)


def _markdown(text: str) -> str:
    return _MARKDOWN.sub(r"\\\1", printable(text))


def _latex_cell(heading: str, value: Any) -> str:
    text = _latex(cell_text(heading, value))
    if value is not None and (heading == "interval" or not isinstance(value, str)):
        # A minus sign is longer than a hyphen.
        text = text.replace("-", "$-$")
    if not isinstance(value, Marked):
        return text
    if value.is_best:
        text = rf"\textbf{{{text}}}"
    if value.stars:
        text += rf"\textsuperscript{{{value.stars}}}"
    return text


def _latex(text: str) -> str:
    escaped = printable(text).translate(_LATEX)
    # Two hyphens would become a dash.
    return escaped.replace("-", "{-}") if "--" in text else escaped
