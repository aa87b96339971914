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
from ndcg_spark.explanation.facts import ReturnedDocument
from ndcg_spark.nights.log import Night, Nights, committed, read_again_if_replaced
from ndcg_spark.nights.select import missing_datasets, select_nights
from ndcg_spark.report import details, shapes, words
from ndcg_spark.report.baseline import day
from ndcg_spark.report.files import refuse_unwritable, write_file
from ndcg_spark.report.labels import Labels, name
from ndcg_spark.report.night_data import NightData, QueryScore, Request, night_data
from ndcg_spark.steps import hidden, report_step
from ndcg_spark.tables.comparisons import in_words
from ndcg_spark.tables.table import TextTable, sort_key, text_table
from ndcg_spark.tables.table import name as text_column
from ndcg_spark.tables.writers import rendered
from ndcg_spark.text import masked

if TYPE_CHECKING:
    from ndcg_spark.job.outcome import EvaluationOutcome

#: Lists side by side have at most so many ranks.
_RANKS = 20
_NO_LABELS = Labels()


@dataclasses.dataclass(frozen=True)
class Page:
    """The page of one date, with a part for each dataset."""

    html: str
    parts: Sequence[NightData]

    def _repr_html_(self) -> str:
        return framed(self.html, "80vh")

    def __repr__(self) -> str:
        shown = ((data.night.dataset, words.banner(data)) for data in self.parts)
        return "\n".join(
            f"{dataset}: {top.word}: {top.headline.striptags()} {top.sentence.striptags()}" for dataset, top in shown
        )


def framed(page: str, height: str) -> str:
    """A page in a notebook: a document of its own, as its style and its script are for a whole page."""
    style = f"width: 100%; height: {height}"
    return f'<iframe srcdoc="{escape(page)}" sandbox="allow-scripts" style="{style}"></iframe>'


def read_page(
    output: str,
    date: str | None = None,
    request: Request = Request(),  # noqa: B008  # it is frozen
    labels: Labels = _NO_LABELS,
    is_kept: bool = True,
) -> Page:
    """The page of a night, the newest if no date is named; `is_kept`: whether commands can name its output."""

    def read() -> tuple[list[NightData], str | None]:
        known = committed(output)
        nights = select_nights(known, output, date, request.dataset)
        parts = [night_data(output, night, known, request) for night in nights]
        return parts, missing_datasets(known, nights[0].evaluated_on, request.dataset)

    parts, absent = read_again_if_replaced(read)
    if absent:
        report_step("note", absent)
    place = masked(output) if "://" in output else str(Path(output).resolve())
    return Page(_rendered(parts, place if is_kept else None, labels, absent), parts)


def write_report(output: str, html: Path, date: str | None, request: Request, labels: Labels = _NO_LABELS) -> None:
    """Write the page of a night to a file. Raises as `read_page`, and StorageError if it cannot be written."""
    refuse_unwritable("html", html)
    write_file("report", html, read_page(output, date, request, labels).html.encode())


def write_site(output: str, folder: Path, request: Request, labels: Labels = _NO_LABELS) -> int:
    """Write a page for every date, `latest.html` and an index; returns how many were written.

    A page whose evaluations are still those that count is left as it is. Raises as `write_report`.
    """
    nights = read_again_if_replaced(lambda: committed(output))
    select_nights(nights, output, None, request.dataset)
    of_dates = itertools.groupby(sorted(nights, key=lambda night: night.evaluated_on), lambda night: night.evaluated_on)
    written = 0
    for date, of_date in of_dates:
        file, page = folder / f"{date}.html", None
        known = file.read_text(encoding="utf-8", errors="replace")[:20_000] if file.is_file() else ""
        if f'content="{_evaluations(list(of_date))}"' not in known:
            page = read_page(output, date, request, labels).html
            write_file("site", file, page.encode())
            written += 1
    write_file("site", folder / "latest.html", file.read_bytes())
    write_file("site", folder / "index.html", _index(nights, request).encode())
    return written


def _evaluations(nights: Sequence[Night]) -> str:
    """What decides whether a page is still right: the evaluations that count, with their revisions."""
    return " ".join(f"{night.evaluation_id}:{night.row['revision'] or 0}" for night in nights)


def _index(nights: Nights, request: Request) -> str:
    shown = [night for night in nights if request.dataset in (None, night.dataset)]
    rows = sorted(shown, key=lambda night: (night.evaluated_on, night.dataset), reverse=True)
    return rendered("report/site.html.j2", nights=rows, **shared())


def shared() -> dict[str, Any]:
    """What every page has."""
    read = resources.files("ndcg_spark.report").joinpath
    script, style = (read(file).read_text(encoding="utf-8") for file in ("page.js", "page.css"))
    return {
        # Our own, and named by its digest, so that a page runs nothing else.
        "script": Markup(script),  # noqa: S704
        "style": Markup(style),  # noqa: S704
        "digest": base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        "change": words.change,
        "day": day,
        "name": name,
        "score": words.score,
        "tones": words.TONES,
        "verdict": words.verdict_of,
    }


def _rendered(parts: Sequence[NightData], output: str | None, labels: Labels, note: str | None) -> str:
    def next_steps(data: NightData) -> list[Markup]:
        return words.next_steps(data, output, labels)

    def overview() -> TextTable:
        columns = [
            text_column(
                "dataset", lambda data: Markup('<a href="#dataset{}">{}</a>').format(data.id, name(data.night.dataset))
            ),
            text_column("verdict", lambda data: words.banner(data).word.lower()),
            text_column("run", lambda data: data.run),
            text_column("difference", lambda data: words.change((data.row or {}).get("difference"))),
            text_column("cause", lambda data: words.cause(data.causes[0], data.row) if data.causes else ""),
        ]
        return text_table(columns, parts)

    date = parts[0].night.evaluated_on
    return rendered(
        "report/page.html.j2",
        title=f"{', '.join(data.night.dataset for data in parts)[:200]}, {day(date, True)}",
        note=note,
        pages=parts,
        output=output,
        labels=labels,
        evaluations=_evaluations([data.night for data in parts]),
        overview=overview() if len(parts) > 1 else None,
        banner=words.banner,
        bars=shapes.bars,
        before=lambda data: f"{data.baseline.of(data.run)}{data.baseline.newest}",
        cause=words.cause,
        conclusion=in_words,
        details=lambda data: details.parts_of(data, labels, output),
        explain=lambda data, query: words.explain(data, str(output), query.query_id),
        forest=shapes.forest,
        grade=_grade,
        last_night=words.against_last_night,
        next_steps=next_steps,
        side_by_side=_side_by_side,
        sort_key=sort_key,
        trend=shapes.trend,
        unjudged=words.unjudged,
        words=words.WHAT,
        **shared(),
    )


def _grade(row: ReturnedDocument | None) -> str:
    return "" if row is None else "unjudged" if row.relevance is None else f"{row.relevance:g}"


def _side_by_side(query: QueryScore) -> Iterator[tuple[int, ReturnedDocument | None, ReturnedDocument | None]]:
    lists = [
        facts.listed[: min(facts.cutoff or _RANKS, _RANKS)] if facts else [] for facts in (query.facts, query.newest)
    ]
    for rank, (now, was) in enumerate(itertools.zip_longest(*lists), 1):
        yield rank, now, was


@contextlib.contextmanager
def evaluated_with_report(
    config: EvaluationConfig,
    html: Path,
    evaluate: "Callable[[EvaluationConfig], EvaluationOutcome]",
    baseline: str | None = None,
) -> "Iterator[tuple[EvaluationOutcome, Callable[[], None]]]":
    """The outcome of evaluating with this function, and what writes its page.

    Without an output, the night is kept in a temporary folder until the block ends, with its documents. Raises as
    `write_report`; a file that cannot be written is refused before anything is evaluated.
    """
    refuse_unwritable("report", html)

    def write(folder: str, is_kept: bool) -> None:
        with hidden():
            page = read_page(folder, config.date.isoformat(), Request(baseline=baseline), is_kept=is_kept)
            write_file("report", html, page.html.encode())
        report_step("report", str(html))

    if config.output:
        outcome = evaluate(config)
        yield outcome, lambda: write(str(outcome.output), True)
        return

    # Here, because an engine is needed only where there is something to evaluate.
    from ndcg_spark.scratch import Scratch

    scratch = Scratch()
    try:
        folder = str(scratch.folder())
        # Nobody needs to know what is written to a folder that is removed.
        with hidden("wrote"):
            outcome = evaluate(config.model_copy(update={"output": folder, "documents": "all"}))
        yield dataclasses.replace(outcome, output=None), lambda: write(folder, False)
    finally:
        scratch.remove()
