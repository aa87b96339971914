"""Titles, sentences and sheets one after another, as aligned text, Markdown or a page of HTML."""

import dataclasses
from collections.abc import Sequence

from ndcg_spark.plain import printable
from ndcg_spark.report.terminal import MOST_ROWS, print_sheet
from ndcg_spark.sheets.markup import escaped_html, escaped_markdown, html, markdown
from ndcg_spark.sheets.sheet import Sheet

#: A page that needs no network, follows the reader's light or dark mode, and lets a wide table scroll by itself.
_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ font: 16px/1.5 system-ui, sans-serif; margin: 1.5rem auto; max-width: 75rem; padding: 0 1rem; }}
div {{ overflow-x: auto; }}
table {{ border-collapse: collapse; font-variant-numeric: tabular-nums; }}
th, td {{ padding: .2rem .7rem; border-bottom: 1px solid #8886; vertical-align: top; }}
td {{ overflow-wrap: anywhere; min-width: 4ch; }}
h1 {{ font-size: 1.5rem; overflow-wrap: anywhere; }} h2 {{ font-size: 1.15rem; margin-top: 2rem; }}
</style></head><body><main>
{body}
</main></body></html>"""


@dataclasses.dataclass(frozen=True)
class Section:
    """A part of what is shown: its title, sentences below it, and perhaps a sheet. The first of a page names it."""

    title: str
    sentences: Sequence[str] = ()
    sheet: Sheet | None = None
    #: Whether a new subject begins, of which the sections after it are parts.
    is_first: bool = False


def print_sections(sections: Sequence[Section], style: str) -> None:
    """Print the sections as `table` (a sheet has at most MOST_ROWS rows there), `markdown` or `html`."""
    if style == "html":
        print(page(sections))
    elif style == "markdown":
        print("\n\n".join("\n".join(_markdown(section)) for section in sections))
    else:
        for number, section in enumerate(sections):
            print(*([""] if number else []), printable(section.title), *map(printable, section.sentences), sep="\n")
            if section.sheet is not None:
                short, lost = section.sheet.cut(MOST_ROWS)
                print_sheet(short, [f"and {lost:,} more; --format json has all"] if lost else [])


def page(sections: Sequence[Section]) -> str:
    """The sections as one HTML page."""
    return _PAGE.format(title=escaped_html(sections[0].title), body="\n".join(map(_html, sections)))


def _markdown(section: Section) -> list[str]:
    lines = [f"{'##' if section.is_first else '###'} {escaped_markdown(section.title)}"]
    for sentence in section.sentences:
        lines += ["", escaped_markdown(sentence)]
    return [*lines, *(["", *markdown(section.sheet)] if section.sheet is not None else [])]


def _html(section: Section) -> str:
    level = "h1" if section.is_first else "h2"
    sentences = "".join(f"<p>{escaped_html(sentence)}</p>" for sentence in section.sentences)
    sheet = html(section.sheet) if section.sheet is not None else ""
    return f"<{level}>{escaped_html(section.title)}</{level}>{sentences}{sheet}"
