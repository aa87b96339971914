"""The page of a night as one HTML file that needs no network, and a site of such pages."""

import base64
import contextlib
import dataclasses
import functools
import hashlib
import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from markupsafe import Markup, escape

from ndcg_spark.comparison.matrix import unmatched
from ndcg_spark.comparison.trend import TrendLine, last_stretch, lines
from ndcg_spark.config import EvaluationConfig
from ndcg_spark.convention.measures import format_cutoff
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.nights.log import Night, committed
from ndcg_spark.nights.read import (
    failed_attempts,
    missing_datasets,
    read_again,
    read_dataset_scores,
    select_nights,
)
from ndcg_spark.report import remedies, shapes, words
from ndcg_spark.report.baselines import Request
from ndcg_spark.report.comparisons import DECIDES, compared_cells
from ndcg_spark.report.console import refuse_unwritable, write_file
from ndcg_spark.report.labels import Labels
from ndcg_spark.report.night import NIGHTS, NightData
from ndcg_spark.report.nights import verdict_table
from ndcg_spark.scratch import Scratch
from ndcg_spark.steps import hidden, report_step
from ndcg_spark.tables.table import Table, make_table
from ndcg_spark.tables.writers import rendered
from ndcg_spark.text import GOOD, masked, unknown_name

if TYPE_CHECKING:
    from ndcg_spark.job.evaluate import EvaluationOutcome

T = TypeVar("T")
#: The table of queries has at most so many rows.
_QUERIES = 500
#: How many runs of a dataset have a trend in the index, and how many are named in a row of it.
_CARDS, _NAMED = 6, 4
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
    in_site: bool = False,
) -> Page:
    """The page of a night, the newest if no date is named.

    `is_kept`: whether commands can name its output. `in_site`: whether an index.html is beside it.
    """
    asked, location = request or Request(), masked(output) if "://" in output else str(Path(output).resolve())
    known = committed(output)
    nights = select_nights(known, output, date, asked.dataset)
    parts = [NightData(output, night, known, asked) for night in nights]
    parts.sort(key=lambda data: _FIRST.index(data.verdict.get("verdict")))
    absent = missing_datasets(known, nights[0].evaluated_on, asked.dataset)
    if absent:
        report_step("note", absent)
    title = f"{', '.join(night.dataset for night in nights)[:200]}, {words.day(nights[0].evaluated_on, True)}"
    shown: dict[str, Any] = {"pages": parts, "labels": asked.labels, "note": absent, "in_site": in_site}
    shown["output"] = location if is_kept else None
    dates = {(data.night.dataset, date) for data in parts for date in (data.night.evaluated_on, words.since(data))}
    evaluations = " ".join(_evaluations(night for night in known if (night.dataset, night.evaluated_on) in dates))
    return Page(_rendered("page", title=title, evaluations=evaluations, details=_details, **shown), parts)


def write_report(output: str, html: Path | None, date: str | None, request: Request) -> Page:
    refuse_unwritable("html", html)
    page = read_page(output, date, request)
    _warn_of_unmatched(page.parts, request)
    if html is not None:
        write_file("report", html, page.html)
    return page


def _as_asked(what: str, read: Callable[[Request], T], request: Request) -> T:
    """What is read as the request asks, or without the baseline, or the run, that a night does not have."""
    try:
        return read(request)
    except ConfigurationError as error:
        less = dataclasses.replace(request, baseline=None, baseline_date=None)
        less = less if less != request else dataclasses.replace(request, run=None)
        if less == request:
            raise
        report_step("note", f"{what} is shown as if it were not asked for: {error}")
        return _as_asked(what, read, less)


def _refuse_unknown(request: Request, nights: Sequence[Night]) -> None:
    """ConfigurationError for a run or a date that no night has."""
    named = {option: name for option in ("run", "baseline") if (name := getattr(request, option)) is not None}
    runs = {row["run"] for rows in read_dataset_scores(nights if named else ()) for row in rows}
    for option, name in named.items():
        if name not in runs:
            raise unknown_name(option, "run", name, runs)
    if request.baseline_date not in (None, GOOD, *(night.evaluated_on for night in nights)):
        raise ConfigurationError(f"baseline-date: no night of {request.baseline_date}; ndcg-spark nights lists them")


def _warn_of_unmatched(parts: Sequence[NightData], asked: Request) -> None:
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


@read_again
def write_site(output: str, folder: Path, request: Request) -> None:
    """Write a page for every date, unless the evaluations on it still count; and `latest.html` and an index.

    A night that lacks the run or the baseline of the request is shown with its own. ConfigurationError if all lack it.
    """
    known = committed(output)
    newest = select_nights(known, output, None, request.dataset)
    nights = [night for night in known if request.dataset in (None, night.dataset)]
    _refuse_unknown(request, nights)
    for date in sorted({night.evaluated_on for night in nights}):
        file = folder / f"{date}.html"
        text = file.read_text(encoding="utf-8", errors="replace")[:20_000] if file.is_file() else ""
        written = set(text.partition('name="evaluations" content="')[2].partition('"')[0].split())
        if not _evaluations(night for night in nights if night.evaluated_on == date) <= written <= _evaluations(known):
            page = _as_asked(date, functools.partial(read_page, output, date, in_site=True), request)
            write_file("site", file, page.html)
    write_file("site", folder / "latest.html", file.read_text(encoding="utf-8"))
    rows: list[Mapping[str, Any]] = [
        {**night.row, "notes": night.notes, **night.record["findings"]} for night in nights
    ]
    rows += failed_attempts(known, request.dataset)
    shown = sorted(rows, key=lambda row: row["evaluated_on"], reverse=True)
    datas = (_as_asked(str(night), functools.partial(NightData, output, night, known), request) for night in newest)
    parts = [_Index(data, output, nights, request.run) for data in datas]
    said = {(part.data.night.dataset, date): cells for part in parts for date, *cells in part.nights()}
    write_file("site", folder / "index.html", _rendered("site", title="Nights", nights=shown, pages=parts, said=said))
    _warn_of_unmatched([part.data for part in parts], request)


class _Index:
    """What the index shows of a dataset: the trends of its runs, and who stands out in which night."""

    def __init__(self, data: NightData, output: str, nights: Sequence[Night], run: str | None) -> None:
        self.data = data
        self.dates = [night.evaluated_on for night in nights if night.dataset == data.night.dataset]
        metric = f"{data.metric[0]}@{format_cutoff(data.metric[1])}"
        self.lines = lines(output, data.night.dataset, run, metric, last=len(nights))[0]

    def shown(self) -> list[TrendLine]:
        """The last nights of the run of the page, and of those that fell most or are best."""
        first = self.dates[-NIGHTS:][0]
        recent = [dataclasses.replace(line, points=line.points[-NIGHTS:]) for line in self.lines]

        def key(line: TrendLine) -> tuple[bool, float, float]:
            last = line.points[-1]
            now = last.value or 0.0 if last.date == self.dates[-1] else 0.0
            fall = max(point.value or 0.0 for point in last_stretch(line.points)) - now
            return line.run != self.data.run, -fall if fall > self.data.options.margin else 0.0, -now

        return sorted((line for line in recent if line.points[-1].date >= first), key=key)[:_CARDS]

    def nights(self) -> Iterator[tuple[str, str, Markup]]:
        """For each night a run with its score, and the others that stand out, the largest fall first.

        The run is that of the page or, if it is of other nights, the best.
        """
        known = {line.run: {point.date: point for point in line.points} for line in self.lines}
        for before, date in itertools.pairwise(["", *self.dates]):
            found = []
            there = {run: points for run, points in known.items() if points.keys() & {before, date}}
            here = [(points[date].value or 0.0, run) for run, points in there.items() if date in points]
            first = self.data.run if self.data.run in there or not here else max(here)[1]
            for run, points in there.items():
                change, score, why = words.night_score(points.get(before), points.get(date), self.data.options.margin)
                if run == first and date in points and points[date].breaks:
                    why = [f"other {' and other '.join(points[date].breaks)}", *why]
                said = f"{score} ({'; '.join(why)})" if why else score
                if run == first:
                    found.append((-math.inf, run, Markup.escape(said)))
                elif why:
                    found.append((change, run, Markup("{}: {}").format(words.name(run), said)))
            texts = [text for *_, text in sorted(found)]
            more = [f"{len(texts) - _NAMED:,} more"] if len(texts) > _NAMED else []
            yield date, first, Markup("; ").join([*texts[:_NAMED], *more])


def _evaluations(nights: Iterable[Night]) -> set[str]:
    """What tells whether a page is still right: the evaluations that count, with their revisions."""
    return {f"{night.evaluation_id}:{night.row['revision'] or 0}" for night in nights}


def _rendered(template: str, **values: Any) -> str:
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
        lines.append({"query": linked, **scores})
    notes = [f"{_QUERIES} of {total:,} queries: those at both ends"] if total > _QUERIES else []
    against = f", {was}: {data.baseline.label}" if data.compares else ""
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
        _warn_of_unmatched(page.parts, request)
        write_file("report", html, page.html)
        report_step("report", str(html))
        return outcome if is_kept else dataclasses.replace(outcome, output=None)
    finally:
        scratch.remove()
