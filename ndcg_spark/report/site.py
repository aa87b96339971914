"""A site: a page for every date, the newest also as `latest.html`, and an index.

Next to each page, a small JSON file records what the page was made from. The page is written again
if any of that has changed, or if the page itself was modified.
"""

import dataclasses
import functools
import hashlib
import json
import math
import operator
from collections.abc import Iterator, Mapping, Sequence
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
from markupsafe import Markup

import ndcg_spark
from ndcg_spark.comparison.known_losses import acknowledged_now
from ndcg_spark.comparison.matrix import Metric
from ndcg_spark.comparison.trend import History, Point, TrendLine, last_stretch
from ndcg_spark.convention.measures import format_cutoff, measure_at
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.nights.copies import has_copy
from ndcg_spark.nights.log import Night, Nights, committed
from ndcg_spark.nights.reader import datasets_left_out, failed_attempts, read_again, select_nights
from ndcg_spark.report import words
from ndcg_spark.report.answer import accepted_or_known, since
from ndcg_spark.report.charts import TrendChart, place_trend
from ndcg_spark.report.console import write_file
from ndcg_spark.report.night import NightPage, load_night
from ndcg_spark.report.outline import (
    NIGHTS,
    Outline,
    Request,
    deciding_result,
    in_units_of_last,
    level_points,
    needed_copies,
    outline,
    results_of,
    shown_points,
)
from ndcg_spark.report.page import make_page, place, render, warn_of_unmatched
from ndcg_spark.report.usual_range import usual_range
from ndcg_spark.steps import report_step
from ndcg_spark.tables.format import capital_first, difference, score
from ndcg_spark.tables.html import NUMBER, TEXT, Cell, joined, marked, name_markup, plain_table
from ndcg_spark.tables.table import best_first
from ndcg_spark.text import GOOD, day, from_home, unknown_name
from ndcg_spark.voices import Notice

#: How many runs of a dataset have a trend in the index, and how many runs a row of it names.
_CARDS, _NAMED = 6, 4
#: The suffixes of program files that determine what a page shows.
_CODE = (".py", ".j2", ".css", ".js")


@read_again
def write_site(output: str, folder: Path, request: Request) -> None:
    """Write `latest.html`, an index, and a page for every date whose page is not up to date.

    A night that lacks the requested run or baseline is shown with its own. If all nights lack it,
    this raises ConfigurationError.
    """
    folder = from_home(folder)
    history = History(committed(output))
    newest = select_nights(history.nights, output, None, request.dataset)
    nights = [night for night in history.nights if request.dataset in (None, night.dataset)]
    history.read(nights)
    _refuse_unknown(request, nights, history)
    site = _Site(history, request, place(output), folder)
    by_date: dict[str, list[Night]] = {}
    for night in sorted(nights, key=operator.attrgetter("evaluated_on")):
        by_date.setdefault(night.evaluated_on, []).append(night)
    for date, of_date in by_date.items():
        site.write_page(date, of_date)
    _write_if_changed(folder / "latest.html", (folder / f"{max(by_date)}.html").read_bytes())
    parts = []
    for night in newest:
        possible = _possible_request(history, [night], request)
        page = load_night(history, night, possible.request)
        parts.append(_DatasetIndex(history, page, request.run))
    index = _index(history.nights, nights, parts, request.dataset)
    _write_if_changed(folder / "index.html", index.encode())
    warn_of_unmatched([part.page for part in parts], request)


class _Site:
    """A folder's pages, which show nights from one output."""

    def __init__(self, history: History, request: Request, output: str, folder: Path) -> None:
        self._history, self._request = history, request
        self._output, self._folder = output, folder
        requested = _digest(dataclasses.asdict(request))
        #: Values that all pages depend on.
        self._shared = {"program": _program(), "output": output, "request": requested}

    def write_page(self, date: str, nights: Sequence[Night]) -> None:
        """Write a date's page and its JSON, unless both exist and would not change."""
        file = self._folder / f"{date}.html"
        json_file = self._folder / f"{date}.json"
        possible = _possible_request(self._history, nights, self._request)
        absent = datasets_left_out(self._history.nights, date, self._request.dataset)
        outlines = [outline(self._history, night, possible.request) for night in nights]
        known = _read_json(json_file)
        made_of = self._made_of(outlines, known.get("shown"), absent)
        if made_of is not None and known == {**made_of, "page": _file_state(file)}:
            return
        if possible.why_less:
            before = f"{date} is shown without this option: "
            report_step("note", dataclasses.replace(possible.why_less, before=before))
        page = make_page(
            self._history, nights, possible.request, self._output, note=absent, in_site=True
        )
        write_file("site", file, page.html)
        shown = {part.night.dataset: [part.run, since(part)] for part in page.parts}
        made_of = self._made_of(outlines, shown, absent) or {}
        content = {**made_of, "page": _content_state(page.html.encode())}
        write_file("site", json_file, json.dumps(content, ensure_ascii=False))

    def _made_of(
        self,
        outlines: Sequence[Outline],
        shown: Any,
        absent: str | None,
    ) -> dict[str, Any] | None:
        """What a page of these runs is made from, according to the log and the means of nights.

        `shown` has the run and the date since which it scores as it does, for each dataset:
        `{"web": ["hybrid", "2026-11-03"]}`. Both follow from the scores of the nights. None if
        `shown` comes from a broken file, or has other datasets or runs than the nights.
        """
        nights: set[tuple[str, ...]] = set()
        chosen: dict[str, Any] = {}
        for whole in outlines:
            dataset = whole.night.dataset
            try:
                run, since = shown[dataset]
            except (KeyError, TypeError, ValueError):
                return None
            if run not in whole.runs:
                return None
            of_run = whole.about(run)
            points = shown_points(self._history, of_run, run)
            level = level_points(self._history, of_run, run)
            chosen[dataset] = _choices(of_run, points, level)
            dates = [point.date for point in points]
            for night in _shown_nights(self._history, of_run, dates):
                is_quoted = night.evaluated_on in (of_run.night.evaluated_on, since)
                nights.add(_log_entry(night, is_quoted))
        rows = [list(entry) for entry in sorted(nights)]
        # The page says which earlier nights cannot be read.
        last = max((own.night.evaluated_on for own in outlines), default="")
        unread = self._history.nights.damaged_between("", last)
        made_of = {"note": absent, "shown": shown, "chosen": chosen}
        return {**self._shared, **made_of, "nights": rows, "unread": unread}


def _choices(
    shown: Outline,
    points: Sequence[Point],
    level: Sequence[Point],
) -> dict[str, Any]:
    """What a page chose from the nights, which may change although the nights do not.

    `level`: the points of its usual range, which also depends on nights before those shown.
    """
    baseline = shown.baseline
    drawn = []
    for point in points:
        line = (point.chained, point.interrupted, str(point.change))
        drawn.append((point.date, point.value, point.breaks, *line))
    losses = shown.losses_before
    dates: list[list[str]] = []
    copies: list[bool] = []
    for one in shown.baselines:
        dates.append([night.evaluated_on for night in one.nights])
        copies.extend(has_copy(*copy) for copy in needed_copies(shown.against(one)))
    return {
        "metric": list(shown.metric),
        "baseline_run": baseline.run,
        "baseline_nights": dates,
        "baseline_name": baseline.name,
        "previous": None if shown.previous is None else shown.previous.evaluated_on,
        "losses_before": [[loss.run, loss.date, loss.is_acknowledged] for loss in losses],
        "trend": _digest(drawn),
        "usual": _digest(usual_range(level, is_of_catalog=shown.is_of_catalog)),
        "copies": copies,
    }


def _shown_nights(history: History, shown: Outline, dates: Sequence[str]) -> Iterator[Night]:
    """The nights whose numbers or words a page shows."""
    yield shown.night
    for baseline in shown.baselines:
        yield from baseline.nights
    if shown.previous is not None:
        yield shown.previous
    for night in history.nights_of(shown.night.dataset):
        if night.evaluated_on in dates:
            yield night


def _log_entry(night: Night, is_quoted: bool) -> tuple[str, ...]:
    """Values that reveal whether a night changed, with its notes if a page quotes them."""
    entry = [night.dataset, night.evaluated_on, night.evaluation_id]
    if is_quoted:
        entry.append(str(night.row["revision"] or 0))
        entry.append(night.row["accepted"] or "")
        entry.append(night.row["acknowledged"] or "")
        entry.extend(night.notes)
    return tuple(entry)


class _PossibleRequest(NamedTuple):
    """The part of a request that some nights can show, and why they cannot show all of it."""

    request: Request
    error: ConfigurationError | None = None

    @property
    def why_less(self) -> Notice | None:
        if self.error is None:
            return None
        return Notice(self.error.sentence, self.error.advice, self.error.option)


def _possible_request(
    history: History,
    nights: Sequence[Night],
    request: Request,
) -> _PossibleRequest:
    """The request, without its baseline or its run if one of the nights lacks it."""
    without_baseline = dataclasses.replace(request, baseline=None, baseline_date=None)
    without_run = dataclasses.replace(without_baseline, run=None)
    errors: list[ConfigurationError] = []
    for possible in (request, without_baseline, without_run):
        error = _error_of(possible, history, nights)
        if error is None:
            return _PossibleRequest(possible, errors[0] if errors else None)
        errors.append(error)
    raise errors[-1]


def _error_of(
    request: Request, history: History, nights: Sequence[Night]
) -> ConfigurationError | None:
    """Why some of the nights cannot show all of a request; None if they can."""
    try:
        for night in nights:
            outline(history, night, request)
    except ConfigurationError as error:
        return error
    return None


def _refuse_unknown(request: Request, nights: Sequence[Night], history: History) -> None:
    """Raise ConfigurationError for a run or a date that no night has."""
    runs: set[str] = set()
    for night in nights:
        runs.update(row["run"] for row in history.scores(night))
    for option, run in (("run", request.run), ("baseline", request.baseline)):
        if run is not None and run not in runs:
            raise unknown_name(option, "run", run, runs)
    dates = {night.evaluated_on for night in nights}
    if request.baseline_date not in (None, GOOD, *dates):
        absent = f"there is no night on {request.baseline_date}"
        raise ConfigurationError(f"{absent}; ndcg-spark nights lists them", option="baseline-date")


def _write_if_changed(file: Path, content: bytes) -> None:
    """Write a file unless it already has this content."""
    if not file.is_file() or file.read_bytes() != content:
        write_file("site", file, content)


def _read_json(file: Path) -> dict[str, Any]:
    """A file's content; empty if it is missing or broken, so that its page is rewritten."""
    try:
        content = json.loads(file.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


def _file_state(file: Path) -> dict[str, Any] | None:
    """A file's size and digest; None if it cannot be read."""
    try:
        return _content_state(file.read_bytes())
    except OSError:
        return None


def _content_state(content: bytes) -> dict[str, Any]:
    return {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}


def _digest(value: Any) -> str:
    """A digest of data; tables are digested by their rows, in any order."""

    def rows(table: pa.Table) -> list[str]:
        return sorted(map(str, table.to_pylist()))

    text = json.dumps(value, sort_keys=True, default=rows)
    return hashlib.sha256(text.encode()).hexdigest()


@functools.cache
def _program() -> str:
    """The version, and a digest of the program's files, because a checkout has a fixed version."""
    total = hashlib.sha256()
    for file in _code_files(resources.files("ndcg_spark")):
        total.update(file.read_bytes())
    return f"{ndcg_spark.__version__} {total.hexdigest()}"


def _code_files(folder: Traversable) -> Iterator[Traversable]:
    for entry in sorted(folder.iterdir(), key=lambda entry: entry.name):
        if entry.is_dir():
            yield from _code_files(entry)
        elif entry.name.endswith(_CODE):
            yield entry


@dataclasses.dataclass(frozen=True)
class _Row:
    """An index row: a night, or an evaluation that failed."""

    date: str
    dataset: str
    label: words.VerdictLabel
    happened: Markup
    has_page: bool = True
    #: The run whose score is shown; empty if no score is shown.
    run: str = ""
    score: str = "-"
    difference: str = "-"

    @property
    def cells(self) -> list[Cell]:
        date: str | Markup = self.date
        if self.has_page:
            date = marked('<a href="{}.html">{}</a>', self.date, self.date)
        verdict = marked('<b class="{}">{}</b>', self.label.tone, self.label.text)
        return [
            Cell(TEXT, date),
            Cell(TEXT, name_markup(self.dataset)),
            Cell(marked(' data-verdict="{}"', self.label.text), verdict),
            Cell(TEXT, name_markup(self.run)),
            Cell(NUMBER, self.score),
            Cell(NUMBER, self.difference),
            Cell(TEXT, self.happened),
        ]


def _index(
    known: Nights,
    nights: Sequence[Night],
    parts: "Sequence[_DatasetIndex]",
    dataset: str | None,
) -> str:
    """The index's HTML. `known`: all nights of the output, with failed evaluations."""
    by_dataset = {part.page.night.dataset: part for part in parts}
    rows = []
    for night in nights:
        part = by_dataset.get(night.dataset)
        rows.append(_night_row(night, part.summary(night) if part else None))
    for attempt in failed_attempts(known, dataset):
        rows.append(_failed_row(attempt))
    rows.sort(key=operator.attrgetter("date"), reverse=True)
    cards: list[_Card] = []
    for part in parts:
        cards += part.cards()
    headings = ("night", "dataset", "verdict", "run", "score", "difference", "what happened")
    table = plain_table(headings, [row.cells for row in rows], "nights", "sorted nights")
    verdicts = list(dict.fromkeys(row.label.text for row in rows))
    values = {"cards": cards, "nights": table, "verdicts": verdicts}
    return render("site", title="Nights", known=_acknowledgements(nights), **values)


def _acknowledgements(nights: Sequence[Night]) -> list[Markup]:
    """The acknowledgements that may apply to the next night."""
    found = []
    for known in acknowledged_now(nights):
        dataset = name_markup(known.night.dataset)
        loss = marked("{}: the loss of {}", dataset, day(known.night.evaluated_on))
        text = "{} is acknowledged until {}: {}"
        found.append(marked(text, loss, day(known.until), known.reason))
    return found


class _Summary(NamedTuple):
    """A night's run with its numbers, and the runs that stand out."""

    run: str
    score: str
    difference: str
    standing_out: Markup


def _night_row(night: Night, summary: _Summary | None) -> _Row:
    """A night's row. `summary`: None if the night's dataset has no page."""
    verdict = night.record["verdict"] or {}
    label = words.verdict_label(night.record)
    row = _Row(night.evaluated_on, night.dataset, label, _what_happened(night))
    if summary is None:
        return row
    if not verdict:
        row = dataclasses.replace(row, happened=summary.standing_out + row.happened)
    return dataclasses.replace(
        row, run=summary.run, score=summary.score, difference=summary.difference
    )


def _what_happened(night: Night) -> Markup:
    """The verdict unless it is a pass, why the night was accepted, warnings and notes."""
    verdict = night.record["verdict"] or {}
    text = Markup("")
    if verdict and verdict["verdict"] != "pass":
        text = marked("{}", verdict["sentence"])
    for one in accepted_or_known(night.record):
        text += marked('<p class="note">{}</p>', one.text)
    for warning in verdict.get("warnings", ()):
        text += marked('<p class="note">Warning: {}</p>', warning)
    for note in night.notes:
        text += marked('<p class="note">Note: {}</p>', note)
    return text


def _failed_row(row: Mapping[str, Any]) -> _Row:
    """A failed evaluation's row, from the log."""
    reason = marked("{}", row["reason"] or "")
    label = words.verdict_label(row)
    return _Row(row["evaluated_on"], row["dataset"] or "", label, reason, has_page=False)


class _Card(NamedTuple):
    title: Markup
    chart: TrendChart
    notes: Sequence[str]


class _Step(NamedTuple):
    """A run's point for the night before and for a night; None if it has no point."""

    before: Point | None
    now: Point | None


class _DatasetIndex:
    """What the index shows of a dataset: the trends of its runs, and what stands out when."""

    def __init__(self, history: History, page: NightPage, run: str | None) -> None:
        self.page = page
        # A margin is meant for values from 0 to 1, where less is a loss.
        self._margin = math.inf if page.is_of_catalog else page.compared_with.options.margin
        dataset = page.night.dataset
        self._dates = [night.evaluated_on for night in history.nights_of(dataset)]
        metric = measure_at(*page.metric)
        self._lines = history.trends(dataset, run, metric, last=len(self._dates))
        #: Each run's points by date.
        self._points: dict[str, dict[str, Point]] = {}
        for line in self._lines:
            self._points[line.run] = {point.date: point for point in line.points}

    def cards(self) -> Iterator[_Card]:
        """The last nights of the page's run, and of the runs that fell most or are best."""
        oldest = self._dates[-NIGHTS:][0]
        recent = []
        for line in self._lines:
            # A run that disappeared before has no card.
            if line.points[-1].date >= oldest:
                recent.append(dataclasses.replace(line, points=line.points[-NIGHTS:]))
        for line in sorted(recent, key=self._importance)[:_CARDS]:
            yield self._card(line)

    def _card(self, line: TrendLine) -> _Card:
        names = (name_markup(line.dataset), self.page.measure, name_markup(line.run))
        tone = "mid"
        if line.run == self.page.run:
            tone = words.verdict_label(self.page.record).tone
        notes = [f"{change}." for change in words.interruptions_in_words(line.points)]
        notes += words.changes_in_words(line.points)
        points = in_units_of_last(line.chain)
        usual = usual_range(points, is_of_catalog=self.page.is_of_catalog)
        if usual is not None and usual.falling is not None:
            notes.append(f"{capital_first(usual.falling.in_words)}.")
        return _Card(marked("{}: {} of {}", *names), place_trend(line, tone, usual), notes)

    def _importance(self, line: TrendLine) -> tuple[bool, float, float]:
        """A sort key: the page's run first, then the largest fall, then the highest score."""
        last = line.points[-1]
        now = last.value or 0.0
        if last.date != self._dates[-1]:
            # The run has disappeared.
            now = 0.0
        fall = max(point.value or 0.0 for point in last_stretch(line.points)) - now
        if fall <= self._margin:
            fall = 0.0
        return line.run != self.page.run, -fall, -now

    def summary(self, night: Night) -> _Summary:
        """A night's run with its numbers, and the other runs that stand out.

        The run is the verdict's, or the page's, or the best one if the night lacks both.
        """
        steps = self._steps(night)
        verdict = night.record["verdict"] or {}
        run = verdict.get("run")
        if run not in steps:
            run = self._page_run_or_best(steps)
        standing_out = self._standing_out(steps, run)
        decided = _decided_by(night, run, self.page.metric)
        if decided is not None:
            own, change = score(decided["mean"]), difference(decided["difference"])
            return _Summary(run, own, change, standing_out)
        step = steps.get(run, _Step(None, None))
        own = words.night_score(step.before, step.now, self._margin).text
        return _Summary(run, own, _change_in_words(step), standing_out)

    def _steps(self, night: Night) -> dict[str, _Step]:
        """The runs that have a point for the night or for the night before."""
        at = self._dates.index(night.evaluated_on)
        date_before = self._dates[at - 1] if at else ""
        steps = {}
        for run, points in self._points.items():
            step = _Step(points.get(date_before), points.get(night.evaluated_on))
            if step.before is not None or step.now is not None:
                steps[run] = step
        return steps

    def _page_run_or_best(self, steps: Mapping[str, _Step]) -> str:
        if self.page.run in steps:
            return self.page.run
        scores = {}
        for run, step in steps.items():
            if step.now is not None:
                scores[run] = step.now.value
        return min(scores, key=lambda run: best_first(scores[run], run), default=self.page.run)

    def _standing_out(self, steps: Mapping[str, _Step], first: str) -> Markup:
        """Why the first run's score stands out, and other runs whose scores stand out."""
        about_first = []
        others = []
        for run, (before, now) in steps.items():
            shown = words.night_score(before, now, self._margin)
            why = list(shown.why)
            if run == first:
                if now is not None and now.breaks:
                    why.insert(0, f"different {' and '.join(now.breaks)}")
                about_first = [Markup.escape("; ".join(why))] if why else []
            elif why:
                text = marked("{}: {} ({})", name_markup(run), shown.text, "; ".join(why))
                others.append((shown.change, run, text))
        # The largest loss comes first.
        texts = about_first + [text for _, _, text in sorted(others)]
        if len(texts) > _NAMED:
            texts = [*texts[:_NAMED], marked("{:,} more", len(texts) - _NAMED)]
        return joined(texts, "; ")


def _change_in_words(step: _Step) -> str:
    """The change from the night before; `-` if the two nights cannot be compared."""
    before, now = step
    if now is None:
        return "-"
    if now.change is not None:
        # The judgments changed, and the run's change was computed on both sides.
        return difference(now.change.difference)
    if before is None or before.value is None or now.value is None or now.breaks:
        return "-"
    return difference(now.value - before.value)


def _decided_by(
    night: Night,
    run: str,
    metric: Metric,
) -> Mapping[str, Any] | None:
    """The run's result that decided a night, or the first one that has a difference."""
    differences = [row for row in results_of(night) if _is_difference_of(row, run, metric)]
    # The deciding result may be about a different run or measure, or about a slice.
    deciding = deciding_result(night)
    if deciding in differences:
        return deciding
    return differences[0] if differences else None


def _is_difference_of(result: Mapping[str, Any], run: str, metric: Metric) -> bool:
    """Whether a result compares a run's mean over all queries with a baseline."""
    measure, cutoff = metric
    if (result["run"], result["measure"]) != (run, measure):
        return False
    if result["cutoff"] != format_cutoff(cutoff):
        return False
    if result["slice"] is not None or result["weighted"]:
        return False
    return result["baseline"] is not None and result["difference"] is not None
