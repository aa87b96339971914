"""The page of a night as one HTML file that needs no network, and a site of such pages."""

import base64
import contextlib
import dataclasses
import hashlib
import itertools
from collections.abc import Callable, Iterator, Sequence
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from markupsafe import Markup, escape

from ndcg_spark.config import EvaluationConfig
from ndcg_spark.convention.measures import MEASURES, format_cutoff
from ndcg_spark.nights.log import Night, committed
from ndcg_spark.nights.select import missing_datasets, select_nights
from ndcg_spark.report import charts, words
from ndcg_spark.report.baseline import day
from ndcg_spark.report.comparisons import compared_cells
from ndcg_spark.report.console import refuse_unwritable, write_file
from ndcg_spark.report.labels import Labels
from ndcg_spark.report.night import NightData, QueryScore, Request
from ndcg_spark.report.verdicts import verdict_table
from ndcg_spark.schemas import COMPARISONS
from ndcg_spark.steps import hidden, report_step
from ndcg_spark.tables.table import Table, make_table
from ndcg_spark.tables.writers import rendered
from ndcg_spark.text import masked

if TYPE_CHECKING:
    from ndcg_spark.job.evaluate import EvaluationOutcome

#: The table of queries has at most so many rows, that of runs so many measures.
_QUERIES, _MEASURES = 500, 8
_NO_LABELS = Labels()
#: The order of datasets on a page, by verdict.
_FIRST = ["fail", "none", None, "pass"]


@dataclasses.dataclass(frozen=True)
class Page:
    """The page of one date, with a part for each dataset."""

    html: str
    parts: Sequence[NightData]

    def _repr_html_(self) -> str:
        # A document of its own, as its style and its script are for a whole page.
        return (
            f'<iframe srcdoc="{escape(self.html)}" sandbox="allow-scripts" style="width: 100%; height: 80vh"></iframe>'
        )

    def __repr__(self) -> str:
        shown = ((data.night.dataset, words.banner(data)) for data in self.parts)
        return "\n".join(
            f"{dataset}: {top.word}: {top.headline.striptags()} {top.sentence.striptags()}" for dataset, top in shown
        )


def read_page(
    output: str,
    date: str | None = None,
    request: Request = Request(),  # noqa: B008  # it is frozen
    labels: Labels = _NO_LABELS,
    is_kept: bool = True,
) -> Page:
    """The page of a night, the newest if no date is named; `is_kept`: whether commands can name its output."""
    location = masked(output) if "://" in output else str(Path(output).resolve())

    def read() -> tuple[Page, str | None]:
        known = committed(output)
        nights = select_nights(known, output, date, request.dataset)
        parts = [NightData(output, night, known, request) for night in nights]
        parts.sort(key=lambda data: _FIRST.index(data.verdict.get("verdict")))
        absent = missing_datasets(known, nights[0].evaluated_on, request.dataset)
        return Page(_rendered(parts, location if is_kept else None, labels, absent), parts), absent

    page, absent = read()
    if absent:
        report_step("note", absent)
    return page


def write_report(
    output: str, html: Path | None, date: str | None, request: Request, labels: Labels = _NO_LABELS
) -> Page:
    """The page of a night, written to a file. StorageError if it cannot be written."""
    if html is not None:
        refuse_unwritable("html", html)
    page = read_page(output, date, request, labels)
    if html is not None:
        write_file("report", html, page.html)
    return page


def write_site(output: str, folder: Path, request: Request, labels: Labels = _NO_LABELS) -> int:
    """Write a page for every date, `latest.html` and an index; returns how many were written.

    A page whose evaluations are still those that count is left as it is.
    """
    nights = committed(output)
    newest = select_nights(nights, output, None, request.dataset)
    written = 0
    by_date = sorted(nights, key=lambda night: night.evaluated_on)
    for date, group in itertools.groupby(by_date, lambda night: night.evaluated_on):
        file = folder / f"{date}.html"
        known = file.read_text(encoding="utf-8", errors="replace")[:20_000] if file.is_file() else ""
        if f'content="{_evaluations(group)}"' not in known:
            write_file("site", file, read_page(output, date, request, labels).html)
            written += 1
    write_file("site", folder / "latest.html", file.read_text(encoding="utf-8"))
    named = sorted(night for night in nights if request.dataset in (None, night.dataset))
    shown = sorted(named, key=lambda night: night.evaluated_on, reverse=True)
    parts = [NightData(output, night, nights, request) for night in newest]
    index = rendered("report/site.html.j2", title="Nights", nights=shown, pages=parts, **_shared())
    write_file("site", folder / "index.html", index)
    return written


def _evaluations(nights: Iterator[Night] | Sequence[Night]) -> str:
    """What decides whether a page is still right: the evaluations that count, with their revisions."""
    return " ".join(f"{night.evaluation_id}:{night.row['revision'] or 0}" for night in nights)


def _shared() -> dict[str, Any]:
    """What every page has."""
    read = resources.files("ndcg_spark.report").joinpath
    script, style = (read(file).read_text(encoding="utf-8") for file in ("page.js", "page.css"))
    # Our own, and named by its digest, so that a page runs nothing else.
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return {"script": Markup(script), "style": Markup(style), "digest": digest, "words": words, "draw": charts}  # noqa: S704


def _rendered(parts: Sequence[NightData], output: str | None, labels: Labels, note: str | None) -> str:
    title = f"{', '.join(data.night.dataset for data in parts)[:200]}, {day(parts[0].night.evaluated_on, True)}"
    values = {"pages": parts, "output": output, "labels": labels, "note": note, "title": title}
    evaluations = _evaluations([data.night for data in parts])
    return rendered("report/page.html.j2", **values, evaluations=evaluations, details=_details, **_shared())


def _details(data: NightData, labels: Labels) -> Iterator[tuple[str, str, Table]]:
    """The folded parts: a key, a title and a table."""
    yield "queries", "Queries", _queries(data, labels)
    yield "runs", "Runs and measures", _runs(data)
    if data.slices:
        shares = {(row["attribute"], row["value"]): row["share"] for row in data.causes}
        lines = [
            {
                "slice": f"{row['attribute']} = {row['value']}",
                "queries": row["queries"],
                **compared_cells(row, p="p_decides"),
                "share of the change": shares.get((row["attribute"], row["value"])),
            }
            for row in data.slices
        ]
        notes = ["A query may be in several slices, so that shares can sum to more than 100 %."] if shares else []
        yield "slices", "Slices", make_table(lines, (), notes)
    if data.verdict.get("results"):
        yield "gate", "Checks of the gate", verdict_table(data.verdict)


def _queries(data: NightData, labels: Labels) -> Table:
    """All queries, of very many those at both ends; the largest loss, or the lowest score, first."""

    def line(query: QueryScore) -> dict[str, Any]:
        label, anchor = labels.query(query.query_id), data.anchors.get(query.query_id)
        linked = Markup('<a href="#{}">{}</a>').format(anchor, label) if anchor else label
        if not data.compares:
            return {"query": linked, data.measure: query.score}
        return {"query": linked, "before": query.before, "now": query.score, "change": query.change}

    half, queries = _QUERIES // 2, data.queries
    shown = [*queries[:half], *queries[-half:]] if len(queries) > _QUERIES else queries
    notes = [f"{len(shown):,} of {len(queries):,} queries: those at both ends"] if len(queries) > _QUERIES else []
    against = f", before: {data.baseline.phrase('its')}" if data.compares and data.baseline else ""
    return make_table(list(map(line, shown)), (), notes, sentences=[f"{data.measure} of {data.run[:200]}{against}."])


def _runs(data: NightData) -> Table:
    """A row per run: how it compares, its other measures, and what its scores are a mean of."""
    column, cutoff = data.metric
    own = [row for (run, _), row in data.scores.items() if run == data.run]
    names = {known.column: key for key, known in MEASURES.items()}
    metrics = [(measure, row["cutoff"]) for measure in names for row in own if row.get(measure) is not None]
    untested: dict[str, Any] = {
        **dict.fromkeys(COMPARISONS.names),
        "flags": [],
        **dict.fromkeys(("wins", "ties", "losses"), 0),
    }

    def line(run: str) -> dict[str, Any]:
        scores = data.scores[run, cutoff]
        row = data.compared.get(run, {**untested, "mean": scores[column]})
        cells = compared_cells(row, data.measure, "p_decides") if data.compared else {data.measure: row["mean"]}
        others = {
            f"{names[measure]}@{format_cutoff(at)}": data.scores.get((run, at), {}).get(measure)
            for measure, at in [metric for metric in metrics if metric != data.metric][:_MEASURES]
        }
        counts = {"queries": scores["queries"], "judged rate": scores["judged_rate"]}
        return {"run": run, **cells, **others, **counts}

    return make_table(list(map(line, data.runs)))


@contextlib.contextmanager
def evaluated_with_report(
    config: EvaluationConfig,
    html: Path,
    evaluate: "Callable[[EvaluationConfig], EvaluationOutcome]",
    baseline: str | None = None,
) -> "Iterator[tuple[EvaluationOutcome, Callable[[], None]]]":
    """The outcome of evaluating with this function, and what writes its page.

    Without an output, the night is kept in a temporary folder until the block ends, with its documents. A file
    that cannot be written is refused before anything is evaluated.
    """
    refuse_unwritable("report", html)

    # Here, because an engine is needed only where there is something to evaluate.
    from ndcg_spark.scratch import Scratch

    scratch, kept = Scratch(), config
    if not config.output:
        kept = config.model_copy(update={"output": str(scratch.folder()), "documents": "all"})
    try:
        # Writing to a folder that is removed is not reported.
        with contextlib.nullcontext() if config.output else hidden("wrote"):
            outcome = evaluate(kept)
        folder, date, request = str(outcome.output), config.date.isoformat(), Request(baseline=baseline)

        def write() -> None:
            with hidden():
                page = read_page(folder, date, request, is_kept=config.output is not None)
                write_file("report", html, page.html)
            report_step("report", str(html))

        yield outcome if config.output else dataclasses.replace(outcome, output=None), write
    finally:
        scratch.remove()
