"""How the nights are printed, each with its scores, and their trends: a line of blocks per run, and unusual nights."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ndcg_spark.comparison.trend import Point, TrendLine, last_stretch
from ndcg_spark.convention.measures import COLUMNS, MEASURES, format_cutoff, written
from ndcg_spark.nights.log import Night, Nights
from ndcg_spark.nights.select import unpublished
from ndcg_spark.report.console import print_view
from ndcg_spark.schemas import DATASET_SCORES, measure_first
from ndcg_spark.tables.table import make_table, signed, sorted_runs, verdict_in_words
from ndcg_spark.tables.writers import View

Row = Mapping[str, Any]
#: The signs of a line, from its lowest value to its highest; where it is not joined; and a night without a score.
_BLOCKS, _BREAK, _NOTHING = "▁▂▃▄▅▆▇█", "|", "."
#: Values that differ by no more are drawn alike: a sum in another order.
_SAME = 1e-9
#: At most so many runs of an event are named, and so many events shown.
_NAMED, _EVENTS = 3, 30
_NIGHT = (
    *("dataset", "date", "verdict", "reason", "run", "best_run", "measure", "best", "runs", "queries"),
    *("convention", "evaluation_id", "committed_at", "version"),
)
_COLUMNS = (
    *("dataset", "evaluated_on", "run", "measure", "cutoff", "value", "queries", "breaks"),
    *("median", "low", "high", "flags", "why", "level_since", "level_change", "verdict", "notes"),
)


def print_nights(nights: Nights, scores: Sequence[Sequence[Row]], style: str) -> None:
    """Print the nights, by dataset and date; `scores` are the dataset scores of each.

    A table has a row per night, with its best run by the headline of the night. CSV has a row per night, run and
    cutoff, and JSON the record and all the scores of each night, and the records of evaluations that published nothing.
    """
    names = ("dataset", "evaluated_on", "evaluation_id")
    value = [
        {**{name: getattr(night, name) for name in (*names, "record")}, "dataset_scores": rows}
        for night, rows in zip(nights, scores, strict=True)
    ]
    value += [{**{n: row[n] for n in names}, "record": row, "dataset_scores": []} for row in nights.attempts]
    notes = [*([] if nights else ["there is no night; check the path"]), *unpublished(nights)]
    table = make_table(list(map(_night, nights, scores)), _NIGHT, notes, is_whole=True)
    all_rows = [row for rows in scores for row in rows]
    print_view(View([table], value, measure_first(DATASET_SCORES, COLUMNS), all_rows), style)


def _night(night: Night, rows: Sequence[Row]) -> dict[str, Any]:
    record = night.record
    measures, verdict = night.measure_set, record.get("verdict")
    measure, cutoff = measures.headline(row["cutoff"] for row in rows)
    best = (sorted_runs(rows, measure_set=measures) or [[]])[0]
    score = next((row.get(MEASURES[measure].column) for row in best if row["cutoff"] == cutoff), None)
    return {
        # Why the verdict is what it is, and the run that it is about.
        **{name: record.get(name) for name in _NIGHT},
        "dataset": night.dataset,
        "date": night.evaluated_on,
        "runs": len({row["run"] for row in rows}),
        "verdict": verdict and verdict_in_words({**verdict, "accepted": record.get("accepted")}),
        "best_run": None if score is None else best[0]["run"],
        "measure": written(measure, cutoff),
        "best": score,
        # Those that means are over, as `evaluate` prints them.
        "queries": max((row["queries"] for row in rows), default=None),
        "version": record.get("versions", {}).get("ndcg_spark"),
    }


def trend_view(lines: Sequence[TrendLine], missing: Sequence[str] = ()) -> View:
    """The trends, a row for each line and night; `missing` are sentences about nights that are not there."""
    dates = [point.date for line in lines for point in line.points]
    trends = make_table(list(map(_row, lines)), (), missing, title=f"trend from {min(dates)} to {max(dates)}")
    unusual = make_table(_unusual_nights(lines), title="Unusual nights")
    return View(
        [trends, unusual] if unusual.rows else [trends],
        [{**vars(line), "points": list(map(vars, line.points))} for line in lines],
        _COLUMNS,
        [row for line in lines for row in _rows(line)],
    )


def _row(line: TrendLine) -> dict[str, Any]:
    comparable = last_stretch(line.points)
    values, last = [point.value for point in comparable if point.value is not None], comparable[-1]
    return {
        **_name(line, line.run),
        "trend": drawn(line.points),
        "nights": len(line.points),
        "first": values[0] if values else None,
        "last": values[-1] if values else None,
        "change": values[-1] - values[0] if values else None,
        "lowest": min(values, default=None),
        "highest": max(values, default=None),
        "level": last.level_since and f"{signed(last.level_change)} since {last.level_since}",
        "verdict": verdict_in_words(vars(last)) if last.verdict else None,
    }


def _name(line: TrendLine, run: str) -> dict[str, str]:
    return {"dataset": line.dataset, "measure": f"{line.measure}@{format_cutoff(line.cutoff)}", "run": run}


def drawn(points: Sequence[Point]) -> str:
    """The values as a line of blocks, each night a sign, with a bar where the line is not joined."""
    values, signs = [point.value for point in points if point.value is not None], ""
    low, high = min(values, default=0.0), max(values, default=0.0)
    for point in points:
        share = (point.value - low) / (high - low) if point.value is not None and high - low > _SAME else 0.5
        signs += _BREAK if point.breaks and signs else ""
        signs += _NOTHING if point.value is None else _BLOCKS[min(int(share * len(_BLOCKS)), len(_BLOCKS) - 1)]
    return signs


def _unusual_nights(lines: Sequence[TrendLine]) -> list[dict[str, str]]:
    """The nights on which something begins that is unusual, with one row for all runs that share it."""
    runs: dict[tuple[str, ...], list[TrendLine]] = {}
    for line in lines:
        before: set[str] = set()
        for date, events in _events(line):
            for what, why in events:
                if what == "note" or what not in before:
                    key = (date, line.dataset, line.measure, format_cutoff(line.cutoff), what, why)
                    runs.setdefault(key, []).append(line)
            before = {what for what, _ in events}
    rows = []
    for (date, *_, what, why), named in sorted(runs.items(), key=lambda event: event[0])[-_EVENTS:]:
        total = sum(_name(line, "") == _name(named[0], "") for line in lines)
        more = f" and {len(named) - _NAMED} more" if len(named) > _NAMED else ""
        shown = "all" if len(named) == total > 1 else ", ".join(line.run for line in named[:_NAMED]) + more
        rows.append({**_name(named[0], shown), "since": date, "what": what, "why": why})
    return rows


def _events(line: TrendLine) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """By date, what is unusual and why."""
    for point in line.points:
        events = [("note", note) for note in point.notes]
        if point.breaks:
            events.append(("break", f"other {' and other '.join(point.breaks)} than the night before"))
        events += [(code.replace("_", " "), words) for code, words in point.flags]
        if point.verdict and verdict_in_words(vars(point)) != "pass":
            events.append((verdict_in_words(vars(point)), "verdict of the gate"))
        yield point.date, events


def _rows(line: TrendLine) -> Iterator[dict[str, Any]]:
    for point in line.points:
        yield {
            **{field: getattr(line, field) for field in ("dataset", "run", "measure", "cutoff")},
            **vars(point),
            "evaluated_on": point.date,
            "breaks": " ".join(point.breaks),
            "flags": " ".join(code for code, _ in point.flags),
            "why": "; ".join(words for _, words in point.flags),
            "notes": "; ".join(point.notes),
        }
