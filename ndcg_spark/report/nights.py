"""How the nights are printed, each with its scores, and their trends: a line of blocks per run, and unusual nights."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from ndcg_spark.comparison.trend import Point, TrendLine, last_stretch
from ndcg_spark.convention.measures import COLUMNS, MEASURES, format_cutoff, written
from ndcg_spark.nights.log import Night, Nights
from ndcg_spark.nights.read import unpublished
from ndcg_spark.report.console import print_view
from ndcg_spark.schemas import DATASET_SCORES, measure_first
from ndcg_spark.tables.table import make_table, sorted_runs, verdict_in_words
from ndcg_spark.tables.writers import View

Row = Mapping[str, Any]
#: The signs of a line, from its lowest value to its highest; where it is not joined; and a night without a score.
_BLOCKS, _BREAK, _NOTHING = "▁▂▃▄▅▆▇█", "|", "."
#: Values that differ by no more are drawn alike: a sum in another order.
_SAME = 1e-9
#: At most so many runs of an event are named, and so many events shown.
_NAMED, _EVENTS = 3, 30
_KEY = ("dataset", "evaluated_on", "evaluation_id")
_COLUMNS = (
    *("dataset", "evaluated_on", "run", "measure", "cutoff", "value", "queries", "breaks"),
    *("median", "low", "high", "flags", "why", "verdict", "notes"),
)


def print_nights(nights: Nights, scores: Sequence[Sequence[Row]], style: str) -> None:
    """Print the nights, by dataset and date; `scores` are the dataset scores of each.

    A table has a row per night, with its best run by the headline of the night. CSV has a row per night, run and
    cutoff, and JSON the record and all the scores of each night, and the records of evaluations that published nothing.
    """
    records = [(night.record, rows) for night, rows in zip(nights, scores, strict=True)]
    records += [(row, ()) for row in nights.attempts]
    value = [{**{name: row[name] for name in _KEY}, "record": row, "dataset_scores": rows} for row, rows in records]
    notes = [*([] if nights else ["there is no night; check the path"]), *unpublished(nights)]
    table = make_table(list(map(_night, nights, scores)), (), notes)
    all_rows = [row for rows in scores for row in rows]
    print_view(View([table], value, measure_first(DATASET_SCORES, COLUMNS), all_rows), style)


def _night(night: Night, rows: Sequence[Row]) -> dict[str, Any]:
    measures = night.measure_set
    measure, cutoff = measures.headline(row["cutoff"] for row in rows)
    best = (sorted_runs(rows, measure_set=measures) or [[]])[0]
    score = next((row.get(MEASURES[measure].column) for row in best if row["cutoff"] == cutoff), None)
    return {
        "dataset": night.dataset,
        "date": night.evaluated_on,
        # Why the verdict is what it is, and the run that it is about.
        "verdict": verdict_in_words(night.row) if night.row["verdict"] else None,
        "reason": night.row["reason"],
        "run": night.row["run"],
        "best_run": None if score is None else best[0]["run"],
        "measure": written(measure, cutoff),
        "best": score,
        "runs": len({row["run"] for row in rows}),
        # Those that means are over, as `evaluate` prints them.
        "queries": max((row["queries"] for row in rows), default=None),
        "convention": night.row["convention"],
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
    values = [point.value for point in last_stretch(line.points) if point.value is not None]
    return {
        "dataset": line.dataset,
        "measure": _measure(line),
        "run": line.run,
        "trend": drawn(line.points),
        "nights": len(line.points),
        "first": values[0] if values else None,
        "last": values[-1] if values else None,
        "change": values[-1] - values[0] if values else None,
        "lowest": min(values, default=None),
        "highest": max(values, default=None),
        "verdict": verdict_in_words(vars(line.points[-1])) if line.points[-1].verdict else None,
    }


def _measure(line: TrendLine) -> str:
    return f"{line.measure}@{format_cutoff(line.cutoff)}"


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
    """What is unusual on which night, with one row for all runs that share it."""
    runs: dict[tuple[str, ...], list[str]] = {}
    for line in lines:
        for point in line.points:
            for what, why in _events(point):
                runs.setdefault((point.date, line.dataset, _measure(line), what, why), []).append(line.run)
    rows = []
    for (date, dataset, measure, what, why), named in sorted(runs.items(), key=lambda event: event[0][0])[-_EVENTS:]:
        shown = ", ".join(named[:_NAMED]) + (f" and {len(named) - _NAMED} more" if len(named) > _NAMED else "")
        rows.append({"dataset": dataset, "measure": measure, "run": shown, "date": date, "what": what, "why": why})
    return rows


def _events(point: Point) -> Iterator[tuple[str, str]]:
    """What is unusual about a night, and why."""
    yield from (("note", note) for note in point.notes)
    if point.breaks:
        yield "break", f"other {' and other '.join(point.breaks)} than the night before"
    yield from ((code.replace("_", " "), words) for code, words in point.flags)
    if point.verdict not in (None, "pass"):
        yield verdict_in_words(vars(point)), "verdict of the gate"


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
