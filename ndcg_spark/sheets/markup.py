"""A sheet as aligned text, Markdown, LaTeX or HTML, every sign that means something there escaped."""

import html as hypertext
import re

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
    """The lines of a tabular that needs no package (LaTeX of 2020 or later); the notes are comments."""
    kinds = "".join("r" if column in table.numbers else "l" for column in range(len(table.headings)))
    heading, *rows = [" & ".join(_latex(cell) for cell in row) + r" \\" for row in (table.headings, *table.rows)]
    return [
        *(f"% {note}" for note in table.notes),
        rf"\begin{{tabular}}{{{kinds}}}",
        r"\hline",
        heading,
        r"\hline",
        *rows,
        r"\hline",
        r"\end{tabular}",
    ]


def html(table: Sheet) -> str:
    """The table as one element, for notebooks; the notes are paragraphs below it."""
    head = "".join(_cell("th", column, text, table) for column, text in enumerate(table.headings))
    body = "".join(
        f"<tr>{''.join(_cell('td', column, text, table) for column, text in enumerate(row))}</tr>" for row in table.rows
    )
    notes = "".join(f"<p>{hypertext.escape(note)}</p>" for note in table.notes)
    return f"<div><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{notes}</div>"


def escaped_markdown(text: str) -> str:
    """Text of which nothing is markup in GitHub's Markdown."""
    return _MARKDOWN.sub(r"\\\1", text)


def _latex(text: str) -> str:
    # A single hyphen is what it is.
    escaped = "".join(_LATEX.get(sign, sign) for sign in text)
    return escaped if "--" in text else escaped.replace("{-}", "-")


def _cell(kind: str, column: int, text: str, table: Sheet) -> str:
    side = "right" if column in table.numbers else "left"
    return f'<{kind} style="text-align: {side}">{hypertext.escape(text)}</{kind}>'
