"""Every evaluation that was ever published, with the means that the log keeps."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from ndcg_spark.convention.measures import MEASURES, measure_heading
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
    valid = {night.evaluation_id for night in nights}
    shown: list[Row] = []
    json_values: list[Row] = []
    csv_rows: list[Row] = []
    without_means = 0
    for row in _evaluations(nights):
        known = {name: row[name] for name in (*_KEY, "verdict", "accepted")}
        known["counts"] = row["evaluation_id"] in valid
        logged = json.loads(row["means"]) if row["means"] else None
        json_values.append({**known, "means": logged})
        if logged is None:
            without_means += 1
        means = list(_by_measure(logged or []))
        csv_rows += [{**known, **mean} for mean in means]
        shown += _lines(row, known, means)
    notes = ["counts: yes if these scores are the night's; for others, the log has only the means"]
    if without_means:
        notes.append(f"{without_means:,} written by an older version, which did not log the means")
    table = make_table(shown, (), notes, kept=["mean"])
    print_view(View([table], json_values, _COLUMNS, csv_rows), style)


def _evaluations(nights: Nights) -> Iterator[Row]:
    """Each published evaluation's last log row, by dataset, date and time."""
    last: dict[tuple[str, str, str], Row] = {}
    for row in nights.rows:
        if row["status"] == "published":
            last[(row["dataset"], row["evaluated_on"], row["evaluation_id"])] = row
    yield from last.values()


def _by_measure(logged: list[Row]) -> Iterator[Row]:
    """A row for each run, measure and cutoff, from the log's means.

    The log has a row for each run and cutoff: `{"run": "bm25", "cutoff": 10, "ndcg": 0.41}`.
    """
    for means in logged:
        for column, value in means.items():
            if column not in ("run", "cutoff") and value is not None:
                measure = {"measure": column, "cutoff": means["cutoff"], "mean": value}
                yield {"run": means["run"], **measure}


def _lines(row: Row, known: Row, means: list[Row]) -> Iterator[Row]:
    """The lines shown for an evaluation: its runs by headline measure, the best first."""
    configuration = json.loads(row["configuration"])
    measures = configuration.get("measures") or ()
    measure_set = parse_measure_set(measures, configuration.get("headline"))
    name, cutoff = measure_set.headline(mean["cutoff"] for mean in means)
    column = MEASURES[name].column
    shown = [mean for mean in means if mean["measure"] == column and mean["cutoff"] == cutoff]
    shown.sort(key=_best_first)
    line = {
        "dataset": known["dataset"],
        "date": known["evaluated_on"],
        "evaluated": known["committed_at"],
        "counts": "yes" if known["counts"] else None,
        "verdict": verdict_in_words(row) if row["verdict"] else None,
    }
    if not shown:
        yield {**line, "run": None, "measure": None, "mean": None}
    for mean in shown:
        measure = measure_heading(name, cutoff)
        yield {**line, "run": mean["run"], "measure": measure, "mean": mean["mean"]}


def _best_first(mean: Row) -> tuple[float, str]:
    """A sort key: the highest mean first, equal means by run."""
    return -mean["mean"], mean["run"]
