"""A site: a page for every date, the newest as `latest.html`, and an index.

Next to each page, a small JSON file records what it was made from. A page is written again if
that has changed, or if the page itself was modified.
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
    shown_points,
)
from ndcg_spark.report.page import make_page, place, render, warn_of_unmatched
from ndcg_spark.report.usual_range import usual_range
from ndcg_spark.steps import report_step
from ndcg_spark.tables.format import difference, score
from ndcg_spark.tables.html import NUMBER, Cell, joined, marked, name, plain_table
from ndcg_spark.text import GOOD, day, from_home, unknown_name
from ndcg_spark.voices import Notice

#: A run's points for the night before and for the night; None if it has no point.
_Pair = tuple[Point | None, Point | None]
#: How many runs of a dataset have a trend in the index, and how many a row of it names.
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
    for night in sorted(nights, key=_by_date):
        by_date.setdefault(night.evaluated_on, []).append(night)
    for date, own in by_date.items():
        site.write_page(date, own)
    _write_other(folder / "latest.html", (folder / f"{date}.html").read_bytes())
    parts = []
    for night in newest:
        shown, _ = _as_asked(history, [night], request)
        parts.append(_Index(history, load_night(history, night, shown), request.run))
    index = _index(history.nights, nights, parts, request.dataset)
    _write_other(folder / "index.html", index.encode())
    warn_of_unmatched([part.page for part in parts], request)


class _Site:
    def __init__(self, history: History, request: Request, output: str, folder: Path) -> None:
        self._history, self._request = history, request
        self._output, self._folder = output, folder
        asked = _digest(dataclasses.asdict(request))
        #: Values that all pages depend on.
        self._shared = {"program": _program(), "output": output, "request": asked}

    def write_page(self, date: str, nights: Sequence[Night]) -> None:
        """Write the page of a date and its JSON, unless both exist and would not change."""
        file, beside = self._folder / f"{date}.html", self._folder / f"{date}.json"
        asked, note = _as_asked(self._history, nights, self._request)
        absent = datasets_left_out(self._history.nights, date, self._request.dataset)
        outlines = [outline(self._history, night, asked) for night in nights]
        known = _read_json(beside)
        made_of = self._made_of(outlines, known.get("shown"), absent)
        if made_of is not None and known == {**made_of, "page": _file_state(file)}:
            return
        if note:
            before = f"{date} is shown without this option: "
            report_step("note", dataclasses.replace(note, before=before))
        more: dict[str, Any] = {"note": absent, "in_site": True}
        page = make_page(self._history, nights, asked, self._output, **more)
        write_file("site", file, page.html)
        shown = {part.night.dataset: [part.run, since(part)] for part in page.parts}
        made_of = self._made_of(outlines, shown, absent) or {}
        content = {**made_of, "page": _content_state(page.html.encode())}
        write_file("site", beside, json.dumps(content, ensure_ascii=False))

    def _made_of(
        self,
        outlines: Sequence[Outline],
        shown: Any,
        absent: str | None,
    ) -> dict[str, Any] | None:
        """What a page of these runs is made from, according to the log and the means of nights.

        `shown` has for each dataset the run, and the date since which it scores as it does. Both
        follow from the scores of the nights. None if `shown` has other datasets or runs.
        """
        nights: set[tuple[str, ...]] = set()
        chosen: dict[str, Any] = {}
        for own in outlines:
            dataset = own.night.dataset
            try:
                run, since = shown[dataset]
            except (KeyError, TypeError, ValueError):
                return None
            if run not in own.runs:
                return None
            points = shown_points(self._history, own, run)
            level = level_points(self._history, own, run)
            chosen[dataset] = _choices(own, points, level)
            dates = [point.date for point in points]
            for night in _shown_nights(self._history, own, dates):
                is_quoted = night.evaluated_on in (own.night.evaluated_on, since)
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
    """What a page chose from the nights, which may change although the nights do not."""
    baseline = shown.baseline
    # The usual range also depends on nights before those that are shown.
    drawn = []
    for point in points:
        line = (point.chained, point.interrupted, str(point.change))
        drawn.append((point.date, point.value, point.breaks, *line))
    copies = [has_copy(night, judgments) for night, judgments in needed_copies(shown)]
    return {
        "metric": list(shown.metric),
        "baseline_run": baseline.run,
        "baseline_nights": [night.evaluated_on for night in baseline.nights],
        "baseline_name": baseline.name,
        "previous": shown.previous and shown.previous.evaluated_on,
        "failed_before": shown.failed_before and shown.failed_before.evaluated_on,
        "trend": _digest(drawn),
        "usual": _digest(usual_range(level, is_of_catalog=shown.is_of_catalog)),
        "copies": copies,
    }


def _shown_nights(history: History, shown: Outline, dates: Sequence[str]) -> Iterator[Night]:
    """The nights whose numbers or words a page shows."""
    yield shown.night
    yield from shown.baseline.nights
    yield from filter(None, (shown.previous, shown.failed_before))
    for night in history.nights_of(shown.night.dataset):
        if night.evaluated_on in dates:
            yield night


def _log_entry(night: Night, is_quoted: bool) -> tuple[str, ...]:
    """Values that reveal whether a night changed, with its notes if a page quotes them."""
    entry = (night.dataset, night.evaluated_on, night.evaluation_id)
    if not is_quoted:
        return entry
    row = night.row
    stood_for = (row["accepted"] or "", row["acknowledged"] or "")
    return (*entry, str(row["revision"] or 0), *stood_for, *night.notes)


def _as_asked(
    history: History,
    nights: Sequence[Night],
    request: Request,
) -> tuple[Request, Notice | None]:
    """The request, or less of it and why: without a baseline or a run that does not exist."""
    try:
        for night in nights:
            outline(history, night, request)
        return request, None
    except ConfigurationError as error:
        less = dataclasses.replace(request, baseline=None, baseline_date=None)
        less = less if less != request else dataclasses.replace(request, run=None)
        if less == request:
            raise
        shown, _ = _as_asked(history, nights, less)
        return shown, Notice(error.sentence, error.advice, error.option)


def _refuse_unknown(request: Request, nights: Sequence[Night], history: History) -> None:
    """Raise ConfigurationError for a run or a date that no night has."""
    runs = {row["run"] for night in nights for row in history.scores(night)}
    for option, run in (("run", request.run), ("baseline", request.baseline)):
        if run is not None and run not in runs:
            raise unknown_name(option, "run", run, runs)
    dates = {night.evaluated_on for night in nights}
    if request.baseline_date not in (None, GOOD, *dates):
        absent = f"there is no night of {request.baseline_date}"
        raise ConfigurationError(f"{absent}; ndcg-spark nights lists them", option="baseline-date")


def _write_other(file: Path, content: bytes) -> None:
    """Write a file unless it already has this content."""
    if not file.is_file() or file.read_bytes() != content:
        write_file("site", file, content)


def _read_json(file: Path) -> dict[str, Any]:
    """The content of a file; empty if it is missing or broken, so that its page is rewritten."""
    try:
        content = json.loads(file.read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


def _file_state(file: Path) -> dict[str, Any] | None:
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
    """The version and a digest of the program's files: in a checkout, the version is constant."""
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


def _index(
    known: Nights,
    nights: Sequence[Night],
    parts: "Sequence[_Index]",
    dataset: str | None,
) -> str:
    by_dataset = {part.page.night.dataset: part for part in parts}
    rows = []
    for night in nights:
        part = by_dataset.get(night.dataset)
        said = _NO_NUMBERS if part is None else part.said_of(night)
        rows.append((night.evaluated_on, _night_cells(night, said)))
    for attempt in failed_attempts(known, dataset):
        rows.append((attempt["evaluated_on"], _failed_cells(attempt)))
    rows.sort(key=operator.itemgetter(0), reverse=True)
    cards: list[_Card] = []
    for part in parts:
        cards += part.cards()
    headings = ("night", "dataset", "verdict", "run", "score", "difference", "what happened")
    table = plain_table(headings, [cells for _, cells in rows], "nights", "sorted nights")
    # The first row may belong to a failed evaluation.
    words_of = dict.fromkeys(str(cells[2].content.striptags()) for _, cells in rows)
    values = {"cards": cards, "nights": table, "verdicts": list(words_of)}
    return render("site", title="Nights", known=_in_force(nights), **values)


def _in_force(nights: Sequence[Night]) -> list[Markup]:
    """The acknowledgements that may apply to the next night."""
    newest = {night.dataset: night.evaluated_on for night in sorted(nights, key=_by_date)}
    found = []
    for night in nights:
        known = night.record["acknowledged"]
        if known and known["until"] >= newest[night.dataset]:
            text = "{}: the loss of {} is acknowledged until {}: {}"
            dates = (day(night.evaluated_on), day(known["until"]))
            found.append(marked(text, name(night.dataset), *dates, known["reason"]))
    return found


def _by_date(night: Night) -> str:
    return night.evaluated_on


class _Said(NamedTuple):
    """What the index says about a night: a run with its numbers, and the runs that stand out."""

    run: str
    score: str
    difference: str
    text: Markup


_NO_NUMBERS = _Said("", "-", "-", Markup(""))


def _night_cells(night: Night, said: _Said) -> list[Cell]:
    date, record = night.evaluated_on, night.record
    verdict = record["verdict"] or {}
    link = marked('<a href="{}.html">{}</a>', date, date)
    text = said.text
    if verdict and verdict["verdict"] != "pass":
        text = marked("{}", verdict["sentence"])
    elif verdict:
        text = marked("")
    for one in accepted_or_known(record):
        text += marked('<p class="note">{}</p>', one.text)
    for warning in verdict.get("warnings", ()):
        text += marked('<p class="note">Warning: {}</p>', warning)
    for note in night.notes:
        text += marked('<p class="note">Note: {}</p>', note)
    label = words.verdict_label(record)
    return _cells(link, night.dataset, label, said._replace(text=text))


def _failed_cells(row: Mapping[str, Any]) -> list[Cell]:
    """The cells of a failed evaluation, which has no page."""
    said = _NO_NUMBERS._replace(text=marked("{}", row["reason"] or ""))
    return _cells(row["evaluated_on"], row["dataset"] or "", words.verdict_label(row), said)


def _cells(shown: Any, dataset: str, label: tuple[str, str], said: _Said) -> list[Cell]:
    word, tone = label
    plain = Markup("")
    verdict = marked('<b class="{}">{}</b>', tone, word)
    return [
        Cell(plain, shown),
        Cell(plain, name(dataset)),
        Cell(marked(' data-verdict="{}"', word), verdict),
        Cell(plain, name(said.run)),
        Cell(NUMBER, said.score),
        Cell(NUMBER, said.difference),
        Cell(plain, said.text),
    ]


class _Card(NamedTuple):
    title: Markup
    chart: TrendChart
    notes: Sequence[str]


class _Index:
    """What the index shows of a dataset: the trends of its runs, and what stands out when."""

    def __init__(self, history: History, page: NightPage, run: str | None) -> None:
        self.page = page
        # A margin is meant for values from 0 to 1, where less is a loss.
        self._margin = math.inf if page.is_of_catalog else page.compared_with.options.margin
        dataset = page.night.dataset
        self._dates = [night.evaluated_on for night in history.nights_of(dataset)]
        metric = measure_at(*page.metric)
        self._lines = history.trends(dataset, run, metric, last=len(self._dates))
        self._known: dict[str, dict[str, Point]] = {}
        for line in self._lines:
            self._known[line.run] = {point.date: point for point in line.points}

    def cards(self) -> Iterator[_Card]:
        """The last nights of the page's run, and of the runs that fell most or are best."""
        first = self._dates[-NIGHTS:][0]
        recent = []
        for line in self._lines:
            if line.points[-1].date >= first:
                recent.append(dataclasses.replace(line, points=line.points[-NIGHTS:]))
        for line in sorted(recent, key=self._importance)[:_CARDS]:
            title = "{}: {} of {}"
            names = (name(line.dataset), self.page.measure, name(line.run))
            is_shown = line.run == self.page.run
            tone = words.verdict_label(self.page.record).tone if is_shown else "mid"
            notes = [f"{change}." for change in words.interruptions_in_words(line.points)]
            notes += words.changes_in_words(line.points)
            is_of_catalog = self.page.is_of_catalog
            usual = usual_range(in_units_of_last(line.chain), is_of_catalog=is_of_catalog)
            if usual is not None and usual.falling is not None:
                notes.append(f"{words.capital_first(usual.falling.in_words)}.")
            yield _Card(marked(title, *names), place_trend(line, tone, usual), notes)

    def _importance(self, line: TrendLine) -> tuple[bool, float, float]:
        last = line.points[-1]
        now = last.value or 0.0
        if last.date != self._dates[-1]:
            now = 0.0
        fall = max(point.value or 0.0 for point in last_stretch(line.points)) - now
        return line.run != self.page.run, -fall if fall > self._margin else 0.0, -now

    def said_of(self, night: Night) -> _Said:
        """A run of a night with its numbers, and the other runs that stand out.

        The run is that of the verdict, or that of the page, or the best if the night lacks these.
        """
        at = self._dates.index(night.evaluated_on)
        dates = (self._dates[at - 1] if at else "", night.evaluated_on)
        pairs = {}
        for run, points in self._known.items():
            if points.keys() & {*dates}:
                pairs[run] = (points.get(dates[0]), points.get(dates[1]))
        verdict = night.record["verdict"] or {}
        first = verdict.get("run")
        if first not in pairs:
            first = self._first_run(pairs)
        before, now = pairs.get(first, (None, None))
        change, shown, _ = words.night_score(before, now, self._margin)
        is_compared = now is not None and now.value is not None and not now.breaks
        has_before = before is not None and before.value is not None
        moved = difference(change) if is_compared and has_before else "-"
        if now is not None and now.change is not None:
            moved = difference(now.change.difference)
        decided = _decided_by(night, first, self.page.metric)
        if decided is not None:
            shown = score(decided["mean"])
            moved = difference(decided["difference"])
        return _Said(first, shown, moved, self._standing_out(pairs, first))

    def _first_run(self, pairs: Mapping[str, _Pair]) -> str:
        here = [(now.value or 0.0, run) for run, (_, now) in pairs.items() if now is not None]
        if self.page.run in pairs or not here:
            return self.page.run
        return max(here)[1]

    def _standing_out(self, pairs: Mapping[str, _Pair], first: str) -> Markup:
        """Why the score of the first run stands out, and other runs whose scores stand out."""
        found = []
        for run, (before, now) in pairs.items():
            change, shown, why = words.night_score(before, now, self._margin)
            if run == first and now is not None and now.breaks:
                why = [f"different {' and '.join(now.breaks)}", *why]
            reasons = "; ".join(why)
            if run == first and why:
                found.append((-math.inf, run, Markup.escape(reasons)))
            elif why:
                found.append((change, run, marked("{}: {} ({})", name(run), shown, reasons)))
        texts = [text for _, _, text in sorted(found)]
        if len(texts) > _NAMED:
            texts = [*texts[:_NAMED], marked("{:,} more", len(texts) - _NAMED)]
        return joined(texts, "; ")


def _decided_by(
    night: Night,
    run: str,
    metric: Metric,
) -> Mapping[str, Any] | None:
    """The run's result that decided a night, or the first one that has a difference."""
    verdict = night.record["verdict"] or {}
    results = verdict.get("results", ())
    differences = [row for row in results if _is_difference_of(row, run, metric)]
    # It may be about another run, another measure, or a slice.
    deciding = deciding_result(night)
    if deciding in differences:
        return deciding
    return differences[0] if differences else None


def _is_difference_of(result: Mapping[str, Any], run: str, metric: Metric) -> bool:
    """Whether a result compares the mean of a run over all queries with a baseline."""
    measure, cutoff = metric
    if (result["run"], result["measure"]) != (run, measure):
        return False
    if result["cutoff"] != format_cutoff(cutoff):
        return False
    if result["slice"] is not None or result["weighted"]:
        return False
    return result["baseline"] is not None and result["difference"] is not None
