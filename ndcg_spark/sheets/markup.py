"""A sheet as aligned text, Markdown, LaTeX or HTML, every sign that means something there escaped."""

import html as hypertext
import re

from ndcg_spark.plain import printable
from ndcg_spark.sheets.sheet import Sheet

#: What could be markup in a cell of GitHub's Markdown. A backslash before punctuation is never shown.
_MARKDOWN = re.compile(r"([\\`*_\[\]<>|~$&!])")

_LATEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "$": r"\$",
    "&": r"\&",
    "#": r"\#",
    "%": r"\%",
    "_": r"\_",
    "^": r"\textasciicircum{}",
    "~": r"\textasciitilde{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': r"\symbol{34}",
    "'": r"\textquotesingle{}",
    "`": r"\textasciigrave{}",
    # After the end of a row these two would be its arguments.
    "[": "{[}",
    "*": "{*}",
    # Two of them would become a dash.
    "-": "{-}",
}


def text(table: Sheet) -> list[str]:
    """The lines of a table with aligned columns; the notes stand below it after a blank line."""
    columns = list(zip(table.headings, *table.rows, strict=True))
    widths = [max(map(len, column)) for column in columns]
    lines = []
    for row in (table.headings, *table.rows):
        cells = (
            cell.rjust(width) if column in table.numbers else cell.ljust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        lines.append("  ".join(cells).rstrip())
    return [*lines, *(line for note in table.notes for line in ("", note))]


def markdown(table: Sheet) -> list[str]:
    """The lines of a table in GitHub's Markdown; the notes are paragraphs below it."""
    kinds = ["---:" if column in table.numbers else ":---" for column in range(len(table.headings))]
    rows = [[escaped_markdown(cell) for cell in row] for row in (table.headings, *table.rows)]
    lines = [f"| {' | '.join(row)} |" for row in (rows[0], kinds, *rows[1:])]
    return [*lines, *(line for note in table.notes for line in ("", escaped_markdown(note)))]


def latex(table: Sheet) -> list[str]:
    """The lines of a tabular with the rules of booktabs, the best cells in bold; the notes are comments."""
    # Scores of the same digits are aligned on the left too, where superscripts stand behind them.
    on_the_right = set(table.numbers) - {column for _, column in table.superscripts}
    kinds = "".join("r" if column in on_the_right else "l" for column in range(len(table.headings)))
    heading = " & ".join(map(_latex, table.headings)) + r" \\"
    rows = [
        " & ".join(_latex_cell(table, line, column) for column in range(len(row))) + r" \\"
        for line, row in enumerate(table.rows)
    ]
    return [
        r"% \usepackage{booktabs}",
        *(f"% {note}" for note in table.notes),
        rf"\begin{{tabular}}{{{kinds}}}",
        r"\toprule",
        heading,
        r"\midrule",
        *rows,
        r"\bottomrule",
        r"\end{tabular}",
    ]


def html(table: Sheet) -> str:
    """The table as one element, for notebooks; the notes are paragraphs below it."""
    head = "".join(_cell("th", column, text, table) for column, text in enumerate(table.headings))
    body = "".join(
        f"<tr>{''.join(_cell('td', column, text, table) for column, text in enumerate(row))}</tr>" for row in table.rows
    )
    notes = "".join(f"<p>{escaped_html(note)}</p>" for note in table.notes)
    return f"<div><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{notes}</div>"


def escaped_markdown(text: str) -> str:
    """Printable text of which nothing is markup in GitHub's Markdown."""
    return _MARKDOWN.sub(r"\\\1", printable(text))


def escaped_html(text: str) -> str:
    """Printable text of which nothing is markup in HTML, also within an attribute in quotes."""
    return hypertext.escape(printable(text))


def _latex_cell(table: Sheet, line: int, column: int) -> str:
    text = _latex(table.rows[line][column])
    signs = table.superscripts.get((line, column))
    bold = rf"\textbf{{{text}}}" if (line, column) in table.best else text
    return bold + (rf"\textsuperscript{{{signs}}}" if signs else "")


def _latex(text: str) -> str:
    # A single hyphen is what it is.
    escaped = "".join(_LATEX.get(sign, sign) for sign in printable(text))
    return escaped if "--" in text else escaped.replace("{-}", "-")


def _cell(kind: str, column: int, text: str, table: Sheet) -> str:
    side = "right" if column in table.numbers else "left"
    return f'<{kind} style="text-align: {side}">{escaped_html(text)}</{kind}>'
