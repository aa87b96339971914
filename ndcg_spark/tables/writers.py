"""What a command shows, and how: aligned text, Markdown, LaTeX and HTML for people, CSV and JSON for programs."""

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
from ndcg_spark.tables.table import Marked, Table, cell
from ndcg_spark.text import printable

if TYPE_CHECKING:
    import jinja2
    import pandas as pd
    import pyarrow as pa
    from pyspark.sql import DataFrame

#: Possible markup in a cell of GitHub's Markdown. A backslash before punctuation is never shown.
_MARKDOWN = re.compile(r"([\\`*_\[\]<>|~$&!])")

_LATEX = str.maketrans(
    {sign: f"\\{sign}" for sign in "{}$&#%_"}
    | {"\\": r"\textbackslash{}", "^": r"\textasciicircum{}", "~": r"\textasciitilde{}", "`": r"\textasciigrave{}"}
    | {"<": r"\textless{}", ">": r"\textgreater{}", "|": r"\textbar{}", "'": r"\textquotesingle{}", '"': r"\symbol{34}"}
    # After the end of a row these two would be arguments.
    | {"[": "{[}", "*": "{*}"}
)


def aligned(headings: Sequence[str], rows: Iterable[Sequence[str]], numbers: Collection[int]) -> Iterator[str]:
    """Lines of text with aligned columns, the headings first; rows are streamed, and the first ones set the widths."""
    from rich.cells import cell_len

    remaining = iter(rows)
    first = list(itertools.islice(remaining, 500))
    widths = [max(map(cell_len, column)) for column in zip(headings, *first, strict=True)]
    for row in itertools.chain([headings], first, remaining):
        cells = []
        for at, (text, width) in enumerate(zip(row, widths, strict=True)):
            blanks = " " * (width - cell_len(text))
            cells.append(blanks + text if at in numbers else text + blanks)
        yield "  ".join(cells).rstrip()


def text(table: Table) -> list[str]:
    lines = [table.title, *table.sentences] if table.title else []
    if table.headings:
        lines += aligned(table.headings, table.cells, table.numbers)
    notes = ["", *table.notes] if table.notes and lines else table.notes
    # Titles and sentences contain names as they are.
    return [printable(line) for line in (*lines, *notes)]


def markdown(table: Table) -> list[str]:
    lines = [f"### {_markdown(table.title)}", ""] if table.title else []
    lines += [line for sentence in table.sentences for line in (_markdown(sentence), "")]
    kinds = ["---:" if at in table.numbers else ":---" for at in range(len(table.headings))]
    headings, *rows = [list(map(_markdown, row)) for row in (table.headings, *table.cells)]
    lines += [f"| {' | '.join(row)} |" for row in (headings, kinds, *rows)]
    return [*lines, *(line for note in table.notes for line in ("", _markdown(note)))]


def latex(table: Table) -> list[str]:
    # Scores with the same number of digits are left-aligned if superscripts follow them, and all alike.
    has_stars = any(getattr(value, "stars", "") for row in table.rows for value in row.values())
    kinds = "".join("r" if at in table.numbers and not has_stars else "l" for at in range(len(table.headings)))
    rows = [[_latex_cell(name, row[name]) for name in table.headings] for row in table.rows]
    comments = [printable(line) for line in (table.title, *table.sentences, *table.notes) if line]
    headings, *lines = [" & ".join(row) + r" \\" for row in ([*map(_latex, table.headings)], *rows)]
    return [
        *(r"% \usepackage{booktabs}", *(f"% {line}" for line in comments), rf"\begin{{tabular}}{{{kinds}}}"),
        *(r"\toprule", headings, r"\midrule", *lines, r"\bottomrule", r"\end{tabular}"),
    ]


def rendered(template: str, **values: Any) -> str:
    """A template of this package with these values. All text is escaped and made printable, except our own markup."""
    return str(_templates().get_template(template).render(**values))


def notebook_html(table: Table) -> str:
    """A table as a notebook shows it."""
    # Imported here, because commands that print text do not need it.
    from ndcg_spark.tables.html import notebook_table

    return rendered("tables/notebook.html.j2", content=notebook_table(table))


@functools.cache
def _templates() -> "jinja2.Environment":
    # It keeps the compiled templates, as compiling those of a page takes longer than the rest.
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
    """Print a header and the rows (RFC 4180, lines end in a newline); None is empty, and `all` for a cutoff."""
    # A name could control a terminal; files and pipes get every name as it is.
    plain = printable if sys.stdout.isatty() else str
    writer = csv.writer(_Lines())
    every_row = ([_csv_cell(column, row.get(column)) for column in columns] for row in rows)
    for cells in itertools.chain([columns], every_row):
        writer.writerow(map(plain, cells))


class _Lines:
    """Stdout for a csv.writer whose lines end in CR LF, so that it quotes both; here each ends in a newline."""

    def write(self, row: str) -> None:
        sys.stdout.write(row.removesuffix("\r\n") + "\n")


def as_json(value: Any) -> str:
    """One line of JSON in ASCII, so that no name controls a terminal and every stdout takes it."""
    return json.dumps(value, default=str)


def to_pandas(table: "DataFrame | pa.Table") -> "pd.DataFrame":
    """All rows of a table, in no order. The cutoff of the whole ranking is <NA> (Int64), and dates are datetime64."""
    # Imported here, because help and commands that read nights without an engine do not need them.
    import pandas as pd
    import pyarrow as pa

    whole = dict.fromkeys((pa.int16(), pa.int32(), pa.int64()), pd.Int64Dtype())
    arrow = table if isinstance(table, pa.Table) else table.toArrow()
    frame: pd.DataFrame = arrow.to_pandas(types_mapper=whole.get, date_as_object=False)
    return frame


@dataclasses.dataclass(frozen=True, repr=False)
class View:
    """What a command shows: tables for people, a value for JSON, and rows for CSV, pandas and Arrow."""

    tables: Sequence[Table]
    value: Any
    columns: Sequence[str] = ()
    rows: Sequence[Mapping[str, Any]] = ()

    def json(self) -> Any:
        """What the command prints as JSON."""
        return self.value

    def to_pandas(self) -> "pd.DataFrame":
        """The rows as a pandas DataFrame."""
        return to_pandas(self.to_arrow())

    def to_arrow(self) -> "pa.Table":
        """The rows as a pyarrow Table."""
        import pyarrow as pa

        columns = {name: pa.array([row.get(name) for row in self.rows]) for name in self.columns}
        if "cutoff" in columns and columns["cutoff"].type == pa.null():
            # A number, even where every cutoff is the whole ranking.
            columns["cutoff"] = columns["cutoff"].cast(pa.int32())
        return pa.table(columns)

    def _repr_html_(self) -> str:
        return "".join(map(notebook_html, self.tables))

    def __repr__(self) -> str:
        return "\n\n".join("\n".join(text(table)) for table in self.tables)


def _csv_cell(column: str, value: Any) -> str:
    if column == "cutoff":
        return format_cutoff(value)
    return "" if value is None else repr(value) if isinstance(value, float) else str(value)


def _markdown(text: str) -> str:
    return _MARKDOWN.sub(r"\\\1", printable(text))


def _latex_cell(heading: str, value: Any) -> str:
    text = _latex(cell(heading, value))
    if value is not None and (heading == "interval" or not isinstance(value, str)):
        text = text.replace("-", "$-$")
    if not isinstance(value, Marked):
        return text
    bold = rf"\textbf{{{text}}}" if value.is_best else text
    return bold + (rf"\textsuperscript{{{value.stars}}}" if value.stars else "")


def _latex(text: str) -> str:
    escaped = printable(text).translate(_LATEX)
    # Two hyphens would become a dash.
    return escaped.replace("-", "{-}") if "--" in text else escaped
