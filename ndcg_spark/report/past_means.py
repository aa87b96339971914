"""Every evaluation that was ever published, with the means that the log keeps."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from ndcg_spark.convention.measures import MEASURES, written
from ndcg_spark.convention.parsing import parse_measure_set
from ndcg_spark.nights.log import Nights
from ndcg_spark.report.console import print_view
from ndcg_spark.tables.table import make_table, verdict_in_words
from ndcg_spark.tables.writers import View

Row = Mapping[str, Any]
_KEY = ("dataset", "evaluated_on", "evaluation_id", "committed_at")
_COLUMNS = (*_KEY, "counts", "verdict", "accepted", "run", "measure", "cutoff", "mean")


def print_evaluations(nights: Nights, style: str | None) -> None:
    """Print the headline measure per evaluation and run; JSON and CSV have all cutoffs."""
    counting = {night.evaluation_id for night in nights}
    shown: list[Row] = []
    values: list[Row] = []
    rows: list[Row] = []
    lost = 0
    for row in _evaluations(nights):
        known = {name: row[name] for name in (*_KEY, "verdict", "accepted")}
        known["counts"] = row["evaluation_id"] in counting
        means = json.loads(row["means"]) if row["means"] else None
        values.append({**known, "means": means})
        lost += means is None
        own = list(_means(row, means or []))
        rows += [{**known, **mean} for mean in own]
        shown += _lines(row, known, own)
    notes = ["counts: yes if these scores are the night's; for others, the log has only the means"]
    if lost:
        notes.append(f"{lost:,} written by an older version, which did not log the means")
    print_view(View([make_table(shown, (), notes, kept=["mean"])], values, _COLUMNS, rows), style)


def _evaluations(nights: Nights) -> Iterator[Row]:
    """The last log row of each published evaluation, by dataset, date and time."""
    last: dict[tuple[str, str, str], Row] = {}
    for row in nights.rows:
        if row["status"] == "published":
            last[(row["dataset"], row["evaluated_on"], row["evaluation_id"])] = row
    yield from last.values()


def _means(row: Row, means: list[Row]) -> Iterator[Row]:
    """A row for each run, measure and cutoff."""
    for mean in means:
        for column, value in mean.items():
            if column not in ("run", "cutoff") and value is not None:
                measure = {"measure": column, "cutoff": mean["cutoff"], "mean": value}
                yield {"run": mean["run"], **measure}


def _lines(row: Row, known: Row, means: list[Row]) -> Iterator[Row]:
    """The lines shown for an evaluation: its runs by headline measure, the best first."""
    configuration = json.loads(row["configuration"])
    measures = configuration.get("measures") or ()
    measure_set = parse_measure_set(measures, configuration.get("headline"))
    name, cutoff = measure_set.headline(mean["cutoff"] for mean in means)
    column = MEASURES[name].column
    heading = [mean for mean in means if (mean["measure"], mean["cutoff"]) == (column, cutoff)]
    heading.sort(key=lambda mean: (-mean["mean"], mean["run"]))
    line = {
        "dataset": known["dataset"],
        "date": known["evaluated_on"],
        "evaluated": known["committed_at"],
        "counts": "yes" if known["counts"] else None,
        "verdict": verdict_in_words(row) if row["verdict"] else None,
    }
    for mean in heading:
        yield {**line, "run": mean["run"], "measure": written(name, cutoff), "mean": mean["mean"]}
    if not heading:
        yield {**line, "mean": None}
