"""Tables of nights, of their trends and verdicts; verdicts as JUnit XML for CI servers."""

import dataclasses
import io
import operator
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree as ET

from ndcg_spark.comparison.judgment_changes import Change
from ndcg_spark.comparison.known_losses import acknowledged_now
from ndcg_spark.comparison.trend import Point, TrendLine
from ndcg_spark.convention.measures import COLUMNS, MEASURES, measure_at, measure_heading
from ndcg_spark.errors import DONE
from ndcg_spark.gate.acknowledged import acknowledged_in_words, acknowledgement_of
from ndcg_spark.gate.verdict import (
    FAIL,
    PASS,
    Result,
    Verdict,
    checked_mean_of,
    drop_of,
    falls_in_words,
)
from ndcg_spark.nights.log import Night, Nights
from ndcg_spark.nights.macro_rows import macro_of_nights
from ndcg_spark.nights.reader import gaps_in_words
from ndcg_spark.report.console import print_view, write_file
from ndcg_spark.schemas import DATASET_SCORES, measure_first
from ndcg_spark.tables.format import count, difference, score
from ndcg_spark.tables.macro import DATASETS, MACRO, MacroMeans
from ndcg_spark.tables.table import Table, make_table, sorted_runs, verdict_in_words
from ndcg_spark.tables.writers import View
from ndcg_spark.text import message

Row = Mapping[str, Any]
#: The most runs that are named for an event, and the most events that are shown.
_NAMED, _EVENTS = 3, 30
_COLUMNS = (
    *("dataset", "evaluated_on", "run", "measure", "cutoff", "value", "queries", "breaks"),
    *("median", "low", "high", "flags", "why", "verdict", "notes"),
    *("chained", "interrupted", "old_side", "new_side", "uncertainty"),
)
_ACKNOWLEDGED = ("dataset", "on", "until", "reason", "run", "sentence")
#: A result's columns in CSV, and those shown in a table.
_RESULTS = ["dataset", "evaluated_on", "verdict"]
_RESULTS += [field.name for field in dataclasses.fields(Result)]
_SHOWN = (
    "check",
    "run",
    "against",
    "mean",
    "difference",
    "allowed",
    "allowed_rise",
    "interval_low",
    "interval_high",
    "p",
    "queries",
    "result",
)
#: The counts of a JUnit suite, and the elements that they count.
_COUNTED = {
    "tests": "testcase",
    "failures": "testcase/failure",
    "errors": "testcase/error",
    "skipped": "testcase/skipped",
}
#: The words for a check's result, in display order.
WORST_FIRST = ("fail", "undecided", "not_comparable", "pass")
_SHORT = ("dataset", "date", "verdict", "reason")
_REHEARSED = ("dataset", "evaluated_on", "verdict", "reason", "run", "sentence")


def print_nights(nights: Nights, scores: Sequence[Sequence[Row]], style: str | None) -> None:
    """Print a row per night; CSV has a row per night, run and cutoff.

    JSON also has the records of failed evaluations.
    """
    means = macro_of_nights(nights, scores)
    json_values = []
    csv_rows: list[Row] = []
    shown = []
    for night, rows in zip(nights, scores, strict=True):
        json_values.append(_json_value(night.record, rows, means[night.evaluated_on].rows))
        csv_rows += rows
        shown.append(_night_row(night, rows))
    json_values += [_json_value(row, ()) for row in nights.attempts]
    columns = measure_first(DATASET_SCORES, COLUMNS)
    macro_rows: list[Row] = []
    for of_date in means.values():
        macro_rows += of_date.rows
    if macro_rows:
        shown += _macro_rows(nights, means)
        columns = (*columns, DATASETS)
        csv_rows += macro_rows
    notes = list(gaps_in_words(nights))
    if not nights:
        notes.insert(0, "there are no nights; check the path")
    notes += _newest_notes(means)
    table = make_table(shown, (), notes, kept=["best"])
    print_view(View([table], json_values, columns, csv_rows), style)


def _json_value(record: Row, rows: Sequence[Row], macro: Sequence[Row] = ()) -> dict[str, Any]:
    """An evaluation's JSON value. `macro`: the means over the datasets of its date."""
    key = {name: record[name] for name in ("dataset", "evaluated_on", "evaluation_id")}
    return {**key, "record": record, "dataset_scores": rows, "macro_means": macro}


def _newest_notes(means: Mapping[str, MacroMeans]) -> list[str]:
    """Notes on the means over datasets, for the newest date with several datasets."""
    known = [of_date.notes for of_date in means.values() if of_date.notes]
    return known[-1] if known else []


def _macro_rows(nights: Sequence[Night], means: Mapping[str, MacroMeans]) -> list[dict[str, Any]]:
    """A row for each date with several datasets, by its first night's headline measure."""
    first: dict[str, Night] = {}
    for night in nights:
        first.setdefault(night.evaluated_on, night)
    # A verdict is about one dataset.
    no_verdict = {"verdict": None, "good": None, "reason": None, "run": None}
    rows = []
    for date, of_date in means.items():
        if of_date.rows:
            row = _night_row(first[date], of_date.rows)
            rows.append({**row, **no_verdict, "dataset": MACRO})
    return rows


def _night_row(night: Night, rows: Sequence[Row]) -> dict[str, Any]:
    """A night with its best run. `rows`: its dataset scores."""
    measures = night.measure_set
    measure, cutoff = measures.headline(row["cutoff"] for row in rows)
    column = MEASURES[measure].column
    best_run = None
    best = None
    runs = sorted_runs(rows, measure_set=measures)
    rows_of_best = runs[0] if runs else []
    for row in rows_of_best:
        if row["cutoff"] == cutoff and row.get(column) is not None:
            best_run = row["run"]
            best = row[column]
    return {
        "dataset": night.dataset,
        "date": night.evaluated_on,
        "verdict": _verdict_of(night),
        "good": "yes" if night.is_good else None,
        "reason": night.row["reason"],
        "run": night.row["run"],
        "best_run": best_run,
        "measure": measure_heading(measure, cutoff),
        "best": best,
        "runs": len({row["run"] for row in rows}),
        "queries": max((row["queries"] for row in rows), default=None),
        "convention": night.row["convention"],
    }


def _verdict_of(night: Night) -> str | None:
    """The verdict in words; None without a gate."""
    if not night.row["verdict"]:
        return None
    return verdict_in_words({**night.row, "acknowledged": acknowledgement_of(night)})


def print_acknowledged(nights: Nights, style: str | None) -> None:
    """Print the acknowledgements that are still in force on their dataset's newest night."""
    rows = []
    for known in acknowledged_now(nights):
        shown: Mapping[str, Any] = known.night.record["verdict"] or {}
        if shown.get("run") in known.fixed_on:
            shown = known.lasting[0]
        row: dict[str, Any] = {"dataset": known.night.dataset, "on": known.night.evaluated_on}
        row |= {"until": known.until, "reason": known.reason}
        row |= {"run": shown.get("run"), "sentence": shown.get("sentence")}
        rows.append(row)
    notes = [] if rows else ["no loss is acknowledged"]
    table = make_table(rows, (), notes)
    print_view(View([table], rows, _ACKNOWLEDGED, rows), style)


def trend_view(lines: Sequence[TrendLine], missing: Sequence[str] = ()) -> View:
    """The table of trends, and the table of unusual nights if there are any.

    `missing`: notes on lines that were requested and do not exist.
    """
    json_values = []
    csv_rows: list[Row] = []
    dates = []
    for line in lines:
        json_values.append({**line.key, "points": list(map(dataclasses.asdict, line.points))})
        csv_rows += _csv_rows(line)
        dates += [point.date for point in line.points]
    title = f"trend from {min(dates)} to {max(dates)}"
    kept = ["first", "last", "change"]
    tables = [make_table(list(map(_trend_row, lines)), (), missing, kept, title=title)]
    unusual = _unusual_table(_unusual_nights(lines))
    if unusual.rows:
        tables.append(unusual)
    return View(tables, json_values, _COLUMNS, csv_rows)


def _trend_row(line: TrendLine) -> dict[str, Any]:
    """A line with its first and last value since it was last interrupted."""
    dates = []
    values = []
    for point in line.stretch:
        if point.value is not None:
            dates.append(point.date)
            values.append(point.value)
    newest = line.points[-1]
    has_last = bool(values) and newest.value is not None
    return {
        "dataset": line.dataset,
        "measure": measure_at(line.measure, line.cutoff),
        "run": line.run,
        "nights": len(line.points),
        "since": dates[0] if dates else None,
        "first": values[0] if values else None,
        "last": values[-1] if has_last else None,
        "change": values[-1] - values[0] if has_last else None,
        "lowest": min(values, default=None),
        "highest": max(values, default=None),
        "verdict": verdict_in_words(vars(newest)) if newest.verdict else None,
        **_values_of_chain(line),
    }


def _values_of_chain(line: TrendLine) -> dict[str, Any]:
    """The values of a line in units of the newest judgments, if it crosses a change of them."""
    if not any(point.change for point in line.chain):
        return {"chained_since": None, "chained_first": None, "chained_change": None}
    known = [point for point in line.chain if point.chained is not None]
    first, last = known[0].chained, known[-1].chained
    return {
        "chained_since": known[0].date,
        "chained_first": first,
        "chained_change": (last or 0.0) - (first or 0.0),
    }


class _Event(NamedTuple):
    """Something that happened on a night, as listed in the table."""

    date: str
    dataset: str
    measure: str
    what: str
    why: str


def _unusual_table(events: Sequence[Row]) -> Table:
    """The newest events, and how many older ones are left out."""
    older = len(events) - _EVENTS
    notes = []
    if older > 0:
        left_out = count(older, "older row is", "older rows are")
        notes.append(f"{left_out} left out; name a run to see more of them")
    return make_table(events[-_EVENTS:], (), notes, title="Unusual nights")


def _unusual_nights(lines: Sequence[TrendLine]) -> list[dict[str, str]]:
    """The events by date. An event that affects several runs is one row with their names."""
    runs_of: dict[_Event, list[str]] = {}
    for line in lines:
        measure = measure_at(line.measure, line.cutoff)
        for point in line.points:
            for happened in _unusual_events(point):
                event = _Event(point.date, line.dataset, measure, happened.what, happened.why)
                runs = runs_of.setdefault(event, [])
                runs += [run for run in happened.runs or [line.run] if run not in runs]
    events = sorted(runs_of, key=operator.attrgetter("date"))
    rows = []
    for event in events:
        row = {"dataset": event.dataset, "measure": event.measure}
        row["run"] = _first_names(runs_of[event])
        rows.append({**row, "date": event.date, "what": event.what, "why": event.why})
    return rows


def _first_names(runs: Sequence[str]) -> str:
    """The names of the first few runs, and how many others there are: `a, b, c and 2 more`."""
    shown = ", ".join(runs[:_NAMED])
    more = len(runs) - _NAMED
    return f"{shown} and {more} more" if more > 0 else shown


class _Happened(NamedTuple):
    """What happened at a point on a line."""

    what: str
    why: str
    #: The runs that it is about; empty if it is only about the line's run.
    runs: Sequence[str] = ()


def _unusual_events(point: Point) -> Iterator[_Happened]:
    """Everything that is worth a row in the table of unusual nights."""
    for note in point.notes:
        yield _Happened("note", note)
    if point.breaks and not point.change:
        yield _Happened("break", f"different {' and '.join(point.breaks)} from the night before")
    if point.change:
        yield _Happened("new judgments", _change_in_words(point.change))
    for code, words in point.flags:
        yield _Happened(code.replace("_", " "), words)
    if point.gate:
        gate = point.gate
        yield _Happened(verdict_in_words(gate), gate["sentence"], gate["runs"])


def _change_in_words(change: Change) -> str:
    """By how much a run changed across a change of judgments, on both sides."""
    ends = f"{difference(change.old)} (old judgments) to {difference(change.new)} (new)"
    moved = f"earlier nights are shifted by {difference(change.shift)}"
    on = f"on {count(change.queries, 'query', 'queries')}"
    return f"changed by {ends} {on}; {moved}, within {score(change.uncertainty)}"


def _csv_rows(line: TrendLine) -> Iterator[dict[str, Any]]:
    """A row for each night of a line, by the names in `_COLUMNS`."""
    for point in line.points:
        yield {
            **line.key,
            **vars(point),
            "evaluated_on": point.date,
            "breaks": " ".join(point.breaks),
            "old_side": point.change.old if point.change else None,
            "new_side": point.change.new if point.change else None,
            "uncertainty": point.change.uncertainty if point.change else None,
            "flags": " ".join(code for code, _ in point.flags),
            "why": "; ".join(words for _, words in point.flags),
            "notes": "; ".join(point.notes),
        }


def verdict_view(verdicts: Sequence[Verdict]) -> View:
    """A table for each verdict; CSV has a row per result."""
    values = [verdict.as_json() for verdict in verdicts]
    csv_rows = []
    for value in values:
        csv_rows += [{**value, **result} for result in value["results"]]
    return View(verdict_tables(values), values, _RESULTS, csv_rows)


def verdict_tables(verdicts: Sequence[Row]) -> list[Table]:
    """The tables of verdicts in their JSON form, which name their nights if there are several."""
    tables = []
    for verdict in verdicts:
        night = ""
        if len(verdicts) > 1:
            night = f"{verdict['dataset']} of {verdict['evaluated_on']}: "
        tables.append(verdict_table(verdict, night))
    return tables


def verdict_table(verdict: Row, night: str = "") -> Table:
    """The table for a verdict in JSON form, with checks that did not pass first.

    `night`: the beginning of the note below the table, which says which night it is.
    """
    results: list[Row] = sorted(verdict["results"], key=_by_weight)
    notes = [f"{night}{verdict_in_words(verdict)}: {verdict['sentence']}", *falls_in_words(verdict)]
    if verdict.get("acknowledged"):
        notes.append(acknowledged_in_words(verdict["acknowledged"]))
    notes += [f"warning: {warning}" for warning in verdict["warnings"]]
    return make_table(list(map(_result_row, results)), _SHOWN, notes)


def _by_weight(result: Row) -> tuple[int, bool, float]:
    """A sort key: checks that only warn come after the others, and the largest drop first."""
    is_warning = result["severity"] != "fail"
    return WORST_FIRST.index(result["result"]), is_warning, drop_of(result)


def _result_row(result: Row) -> dict[str, Any]:
    """A result's row in a verdict's table, by the names in `_SHOWN`."""
    return {
        **result,
        "check": checked_mean_of(result) if result["measure"] else "arrival",
        "against": against_of(result),
        "allowed": None if result["allowed"] is None else -result["allowed"],
        # Nights from older versions have none.
        "allowed_rise": result.get("allowed_rise"),
        "result": _result_in_words(result),
    }


def against_of(result: Row) -> str | None:
    """What a result is compared with: `good 2026-11-19`, or `the minimum`.

    None if nothing was measured, as for a missing run.
    """
    # If each run has its own nights, they are named by the first one, as in sentences.
    night = result.get("since") or result["baseline_night"]
    names = [name for name in (result["baseline"], night) if name]
    if names:
        # A baseline's name may be the date of its night, which is shown once.
        return " ".join(dict.fromkeys(names))
    return "the minimum" if result["measure"] else None


def _result_in_words(result: Row) -> str:
    """`pass`, `fail, dropped` or `warning: fail, dropped`."""
    text = str(result["result"]).replace("_", " ")
    if result["severity"] == "warn" and result["result"] != PASS:
        text = f"warning: {text}"
    if result["reason"] is not None:
        text += f", {result['reason']}"
    return text


def print_rehearsal(verdicts: Sequence[Verdict], style: str | None) -> None:
    """Print what a gate would have decided on kept nights, and how often."""
    rows = []
    shown = []
    for verdict in verdicts:
        row = {name: getattr(verdict, name) for name in _REHEARSED}
        rows.append(row)
        shown.append({**row, "date": verdict.evaluated_on, "verdict": verdict_in_words(row)})
    counts = Counter(row["verdict"] for row in shown)
    note = ", ".join(f"{word}: {nights:,}" for word, nights in counts.most_common())
    table = make_table(shown, _SHORT, [note])
    print_view(View([table], rows, _REHEARSED, rows), style)


def write_junit(file: Path, verdicts: Iterable[Verdict]) -> None:
    """Write the verdicts as JUnit XML.

    A failed check is a failure, and a deciding check without a result is an error. An
    acknowledged failure is skipped.
    """
    suites = ET.Element("testsuites", name="ndcg-spark gate")
    for verdict in verdicts:
        _add_suite(suites, verdict)
    ET.indent(suites)
    content = io.BytesIO()
    ET.ElementTree(suites).write(content, encoding="utf-8", xml_declaration=True)
    write_file("junit", file, content.getvalue())


def _add_suite(suites: ET.Element, verdict: Verdict) -> None:
    name = message(f"{verdict.dataset} of {verdict.evaluated_on}")
    suite = ET.SubElement(suites, "testsuite", name=name)
    for result in verdict.results:
        _add_case(suite, result, verdict)
    shows_why = suite.findall("testcase/failure") + suite.findall("testcase/error")
    if verdict.exit_code != DONE and not shows_why and verdict.acknowledged is None:
        # All checks only warn, and none measured anything.
        case = ET.SubElement(suite, "testcase", classname="gate", name="verdict")
        text = message(verdict.sentence)
        ET.SubElement(case, "error", type=str(verdict.reason), message=text)
    for tag, counted in _COUNTED.items():
        suite.set(tag, str(len(suite.findall(counted))))


def _add_case(suite: ET.Element, result: Result, verdict: Verdict) -> None:
    name = message(_name_of_case(result))
    case = ET.SubElement(suite, "testcase", classname=message(result.check), name=name)
    text = message(result.sentence)
    if result.result == PASS:
        ET.SubElement(case, "system-out").text = f"pass: {text}"
    elif result.severity != FAIL:
        ET.SubElement(case, "system-out").text = f"warning: {text}"
    elif result.result == FAIL and verdict.acknowledged is not None:
        known = f"{acknowledged_in_words(verdict.acknowledged)}: {result.sentence}"
        ET.SubElement(case, "skipped", message=message(known))
    elif result.result == FAIL:
        ET.SubElement(case, "failure", type=str(result.reason), message=text)
    elif verdict.accepted is not None:
        ET.SubElement(case, "system-out").text = f"accepted: {text}"
    else:
        ET.SubElement(case, "error", type=str(result.reason), message=text)


def _name_of_case(result: Result) -> str:
    """What was checked, the run, and what it was compared with."""
    words = [checked_mean_of(vars(result)) if result.measure else result.reason, result.run]
    if result.baseline:
        words.append(f"against {result.baseline}")
    elif result.measure:
        # A check without a baseline is one against a minimum.
        words.append("at least")
    return " ".join(word for word in words if word)
