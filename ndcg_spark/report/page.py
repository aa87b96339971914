"""A night's page as one HTML file that does not need a network."""

import base64
import dataclasses
import hashlib
from collections.abc import Collection, Iterator, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from markupsafe import Markup, escape

from ndcg_spark.comparison.trend import History
from ndcg_spark.contract.doubts import about_unmatched
from ndcg_spark.errors import InputError
from ndcg_spark.nights.log import Night, committed
from ndcg_spark.nights.macro_rows import macro_of_nights
from ndcg_spark.nights.reader import datasets_left_out, read_again, select_nights
from ndcg_spark.report.answer import Answer, answer
from ndcg_spark.report.cards import layout
from ndcg_spark.report.console import refuse_unwritable, write_file
from ndcg_spark.report.labels import Labels
from ndcg_spark.report.night import NightPage, load_night
from ndcg_spark.report.outline import Request
from ndcg_spark.steps import hidden, report_step
from ndcg_spark.tables.writers import fill_template
from ndcg_spark.text import day, masked

#: What a page may load: only its own style, script and images.
_ALLOWED = "; ".join(
    [
        "default-src 'none'",
        "style-src 'unsafe-inline'",
        "script-src 'sha256-{digest}'",
        "img-src data:",
    ],
)
#: The order of datasets on a page, by verdict.
_FIRST = ["fail", "none", None, "pass"]


@dataclasses.dataclass(frozen=True)
class Page:
    """The page of one date, with a part for each dataset."""

    html: str
    parts: Sequence[NightPage]
    #: The answer at the top of each part.
    answers: Sequence[Answer]

    def _repr_html_(self) -> str:
        # A separate document, because its style and script apply to a whole page.
        style = "width: 100%; height: 80vh"
        source = escape(self.html)
        return f'<iframe srcdoc="{source}" sandbox="allow-scripts" style="{style}"></iframe>'

    def __repr__(self) -> str:
        return "\n".join(map(_first_sentences, self.parts, self.answers))


def _first_sentences(part: NightPage, answer: Answer) -> str:
    """`web: FAIL: hybrid is worse: ...`, without HTML."""
    text = (answer.headline.text + " " + answer.text).striptags()
    return f"{part.night.dataset}: {answer.word}: {text}"


@read_again
def read_page(
    output: str,
    date: str | None = None,
    request: Request | None = None,
    is_kept: bool = True,
) -> Page:
    """Read a night's page, or the newest night's if `date` is None.

    `is_kept`: whether the output remains, so that the commands on the page can name it.
    """
    request = request or Request()
    known = committed(output)
    nights = select_nights(known, output, date, request.dataset)
    absent = datasets_left_out(known, nights[0].evaluated_on, request.dataset)
    if absent:
        report_step("note", absent)
    named_output = place(output) if is_kept else None
    page = make_page(History(known), nights, request, named_output, note=absent)
    if request.human is not None and all(part.human is None for part in page.parts):
        names = ", ".join(night.dataset for night in nights)
        raise InputError(f"human: it is a sample of a dataset other than {names}; show that one")
    return page


def place(output: str) -> str:
    """An output's name in the commands on a page."""
    return masked(output) if "://" in output else str(Path(output).resolve())


def make_page(
    history: History,
    nights: Sequence[Night],
    request: Request,
    output: str | None,
    *,
    note: str | None = None,
    in_site: bool = False,
) -> Page:
    """The page for these nights of one date. `in_site`: whether index.html is in its folder."""
    parts = [load_night(history, night, request, output) for night in nights]
    parts.sort(key=lambda part: _FIRST.index(part.verdict.get("verdict")))
    names = ", ".join(night.dataset for night in nights)
    title = f"{names[:200]}, {day(nights[0].evaluated_on, year=True)}"
    answers = list(map(answer, parts))
    means = macro_of_nights(nights, [history.scores(night) for night in nights])
    macro = means[nights[0].evaluated_on]
    html = render("page", title=title, page=layout(parts, answers, note, in_site, macro))
    return Page(html, parts, answers)


def write_report(output: str, html: Path | None, date: str | None, request: Request) -> Page:
    """Read a night's page, and write it to a file if there is one."""
    refuse_unwritable("html", html)
    page = read_page(output, date, request)
    warn_of_unmatched(page.parts, request)
    if html is not None:
        write_file("report", html, page.html)
    return page


def warn_of_unmatched(parts: Sequence[NightPage], request: Request) -> None:
    """Warn about slices and labels if none of their ids is on the page."""
    queries: set[str] = set()
    for part in parts:
        queries.update(query.query_id for query in part.queries)
    attributes = request.attributes
    if attributes is not None and queries:
        if queries.isdisjoint(attributes["query_id"].to_pylist()):
            report_step("warning", about_unmatched("query_attributes", attributes))
    labelled = list(request.labels.queries) + list(request.labels.documents)
    if labelled and not _has_labelled(queries, parts, request.labels):
        what = f"none of its {len(labelled):,} id(s) matches a query or document on the page"
        report_step("warning", f"labels: {what}, e.g. {labelled[0]}; check its ids")


def _has_labelled(queries: Collection[str], parts: Sequence[NightPage], labels: Labels) -> bool:
    """Whether a query or a document on the page has a label."""
    if not labels.queries.keys().isdisjoint(queries):
        return True
    return not labels.documents.keys().isdisjoint(_documents_of(parts))


def _documents_of(parts: Sequence[NightPage]) -> Iterator[str]:
    """The document ids in the pages' lists. Ids may repeat."""
    for part in parts:
        for lists in part.documents.values():
            for facts in (lists.facts, lists.newest):
                for row in facts.returned if facts else ():
                    yield row.doc_id


def render(template: str, **values: Any) -> str:
    """The HTML of a template in this folder, `page` or `site`, with the script and the style."""
    folder = resources.files("ndcg_spark.report")
    script = folder.joinpath("page.js").read_text(encoding="utf-8")
    style = folder.joinpath("page.css").read_text(encoding="utf-8")
    # The policy names our script by its digest, so that a page runs nothing else.
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    values["script"] = Markup(script)  # noqa: S704
    values["style"] = Markup(style)  # noqa: S704
    values["allowed"] = _ALLOWED.format(digest=digest)
    return fill_template(f"report/{template}.html.j2", **values)


def write_evaluated(output: str, html: Path, date: str, request: Request, *, is_kept: bool) -> None:
    """Write the page for a night that was just evaluated. `is_kept`: whether its output is kept."""
    with hidden():
        page = read_page(output, date, request, is_kept)
    warn_of_unmatched(page.parts, request)
    write_file("report", html, page.html)
    report_step("report", str(html))
