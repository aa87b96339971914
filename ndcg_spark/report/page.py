"""The page of a night as one HTML file that needs no network."""

import base64
import contextlib
import dataclasses
import hashlib
from collections.abc import Callable, Iterator, Sequence
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup, escape

from ndcg_spark.comparison.matrix import unmatched
from ndcg_spark.comparison.trend import History
from ndcg_spark.config import EvaluationConfig
from ndcg_spark.nights.log import Night, committed
from ndcg_spark.nights.read import missing_datasets, read_again, select_nights
from ndcg_spark.report import remedies, shapes, words
from ndcg_spark.report.baselines import Request
from ndcg_spark.report.comparisons import DECIDES, compared_cells
from ndcg_spark.report.console import refuse_unwritable, write_file
from ndcg_spark.report.labels import Labels
from ndcg_spark.report.night import NightData
from ndcg_spark.report.nights import verdict_table
from ndcg_spark.scratch import Scratch
from ndcg_spark.steps import hidden, report_step
from ndcg_spark.tables.table import Table, make_table
from ndcg_spark.tables.writers import rendered
from ndcg_spark.text import day, masked

if TYPE_CHECKING:
    from ndcg_spark.job.evaluate import EvaluationOutcome

#: The table of queries has at most so many rows.
_QUERIES = 500
_NIGHTS_BEFORE = (
    "nights before: how many nights of the baseline have a score of the query under tonight's judgments; of one night, "
    "the score before is less certain than of several"
)
#: The order of datasets on a page, by verdict.
_FIRST = ["fail", "none", None, "pass"]


@dataclasses.dataclass(frozen=True)
class Page:
    """The page of one date, with a part for each dataset."""

    html: str
    parts: Sequence[NightData]

    def _repr_html_(self) -> str:
        # A document of its own, as its style and its script are for a whole page.
        style = "width: 100%; height: 80vh"
        return f'<iframe srcdoc="{escape(self.html)}" sandbox="allow-scripts" style="{style}"></iframe>'

    def __repr__(self) -> str:
        tops = [(data.night.dataset, words.banner(data)) for data in self.parts]
        return "\n".join(f"{name}: {top.word}: {(top.headline + ' ' + top.sentence).striptags()}" for name, top in tops)


@read_again
def read_page(
    output: str,
    date: str | None = None,
    request: Request | None = None,
    is_kept: bool = True,
) -> Page:
    """The page of a night, the newest if no date is named.

    `is_kept`: whether commands can name its output.
    """
    asked = request or Request()
    known = committed(output)
    nights = select_nights(known, output, date, asked.dataset)
    absent = missing_datasets(known, nights[0].evaluated_on, asked.dataset)
    if absent:
        report_step("note", absent)
    return make_page(History(known), nights, asked, place(output) if is_kept else None, note=absent)


def place(output: str) -> str:
    """An output as the commands of a page name it."""
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
    """The page of these nights of one date. `in_site`: whether an index.html is beside it."""
    parts = [NightData(history, night, request) for night in nights]
    parts.sort(key=lambda data: _FIRST.index(data.verdict.get("verdict")))
    title = f"{', '.join(night.dataset for night in nights)[:200]}, {day(nights[0].evaluated_on, True)}"
    shown: dict[str, Any] = {"pages": parts, "labels": request.labels, "output": output}
    html = render("page", title=title, details=_details, note=note, in_site=in_site, **shown)
    return Page(html, parts)


def write_report(output: str, html: Path | None, date: str | None, request: Request) -> Page:
    refuse_unwritable("html", html)
    page = read_page(output, date, request)
    warn_of_unmatched(page.parts, request)
    if html is not None:
        write_file("report", html, page.html)
    return page


def warn_of_unmatched(parts: Sequence[NightData], asked: Request) -> None:
    attributes, labels = asked.attributes, asked.labels
    ids = {query.query_id for data in parts for query in data.queries}
    if attributes is not None and ids and ids.isdisjoint(attributes["query_id"].to_pylist()):
        report_step("warning", unmatched("query_attributes", attributes))
    lists = [lists for data in parts for lists in data.documents.values()]
    rows = (row for one in lists for facts in (one.facts, one.newest) if facts for row in facts.returned)
    named = not ids.isdisjoint(labels.queries) or any(row.doc_id in labels.documents for row in rows)
    if not named and (known := [*labels.queries, *labels.documents]):
        what = f"none of its {len(known):,} id(s) is that of a query or document of the page, e.g. {known[0]}"
        report_step("warning", f"labels: {what}; check its ids")


def render(template: str, **values: Any) -> str:
    read = resources.files("ndcg_spark.report").joinpath
    script, style = (read(file).read_text(encoding="utf-8") for file in ("page.js", "page.css"))
    # Our own, and named by its digest, so that a page runs nothing else.
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    modules = {"words": words, "shapes": shapes, "remedies": remedies}
    shared = {"script": Markup(script), "style": Markup(style), "digest": digest, **modules}  # noqa: S704
    return rendered(f"report/{template}.html.j2", **shared, **values)


def _details(data: NightData, labels: Labels) -> Iterator[tuple[str, str, Table]]:
    yield "queries", "Queries", _queries(data, labels)
    yield "runs", "Runs", _runs(data)
    shares = {(row["attribute"], row["value"]): row["share"] for row in data.causes}
    slices = [
        {"slice": f"{row['attribute']} = {row['value']}", "queries": row["queries"]}
        | compared_cells(row, p="p_decides")
        | {"share of the change": shares.get((row["attribute"], row["value"]))}
        for row in data.slices
    ]
    if slices:
        note = "Shares can be above 100 %, as others changed the other way, or as a query is in several slices."
        notes = [note] if shares else []
        yield "slices", "Slices", make_table(slices, (), [*notes, DECIDES])
    if data.verdict.get("results"):
        yield "gate", "Checks of the gate", verdict_table(data.verdict)


def _queries(data: NightData, labels: Labels) -> Table:
    lines, half, total = [], _QUERIES // 2, len(data.queries)
    was, now = ("baseline", "run") if data.baseline.run else ("before", "now")
    for query in data.queries if total <= _QUERIES else [*data.queries[:half], *data.queries[-half:]]:
        label, anchor = labels.query(query.query_id), data.anchors.get(query.query_id)
        linked = Markup('<a href="#{}">{}</a>').format(anchor, label) if anchor else label
        scores = {was: query.before, now: query.score, "change": query.change if data.compares else None}
        if data.compares and len(data.baseline.nights) > 1:
            scores["nights before"] = query.nights
        lines.append({"query": linked, **scores})
    notes = [f"{_QUERIES} of {total:,} queries: those at both ends"] if total > _QUERIES else []
    against = f", {was}: {data.baseline.label}" if data.compares else ""
    if data.compares and len(data.baseline.nights) > 1:
        notes.append(_NIGHTS_BEFORE)
    return make_table(lines, (), notes, sentences=[f"{data.measure} of {data.run[:200]}{against}."])


def _runs(data: NightData) -> Table:
    lines = []
    for run in data.runs:
        scores = data.scores[run, data.metric[1]]
        compared = compared_cells(data.compared[run], data.measure, "p_decides") if run in data.compared else {}
        # A compared mean is over the compared queries.
        queries = data.compared[run]["queries"] if run in data.compared else data.counted(run)
        counts = {"queries": queries, "judged rate": scores["judged_rate"]}
        lines.append({"run": run, data.measure: scores[data.metric[0]], **compared, **counts})
    lines += [{"run": row["run"], "conclusion": "no results"} for row in data.missing if row["run"]]
    notes = [DECIDES] if data.compared else []
    if data.decided_by_gate:
        notes.append(f"For {', '.join(data.decided_by_gate)} it is that of the gate, adjusted for its checks.")
    # The run that the others are compared with has fewer.
    names = max(lines, key=len)
    return make_table([{**dict.fromkeys(names), **line} for line in lines], (), notes)


def evaluate_with_report(
    config: EvaluationConfig,
    html: Path,
    evaluate: "Callable[[EvaluationConfig], EvaluationOutcome]",
    baseline: str | None = None,
    labels: Labels | None = None,
) -> "EvaluationOutcome":
    """Evaluate with this function and write the page; without an output, the night is kept until then."""
    refuse_unwritable("report", html)
    scratch, is_kept = Scratch(), config.output is not None
    try:
        kept = {} if is_kept else {"output": str(scratch.folder()), "documents": "all"}
        # Writing to a folder that is removed is not reported.
        with contextlib.nullcontext() if is_kept else hidden("wrote"):
            outcome = evaluate(config.model_copy(update=kept))
        request = Request(baseline=baseline, labels=labels or Labels())
        with hidden():
            page = read_page(str(outcome.output), config.date.isoformat(), request, is_kept)
        warn_of_unmatched(page.parts, request)
        write_file("report", html, page.html)
        report_step("report", str(html))
        return outcome if is_kept else dataclasses.replace(outcome, output=None)
    finally:
        scratch.remove()
