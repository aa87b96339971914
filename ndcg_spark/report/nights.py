"""How the committed nights are printed, each with its scores."""

from collections.abc import Mapping, Sequence
from typing import Any

from ndcg_spark.convention.measures import COLUMNS, MEASURES, written
from ndcg_spark.convention.parsing import measure_set_in
from ndcg_spark.nights.log import Night, Nights
from ndcg_spark.nights.select import unpublished
from ndcg_spark.report.console import print_result
from ndcg_spark.schemas import DATASET_SCORES, measure_first
from ndcg_spark.tables.sorting import sorted_runs
from ndcg_spark.tables.table import TextTable, name, number, rounded, text_table
from ndcg_spark.tables.verdicts import in_words

#: The dataset scores of each night.
NightScores = Sequence[Sequence[Mapping[str, Any]]]


def print_nights(nights: Nights, scores: NightScores, style: str) -> None:
    """Print the nights, by dataset and date.

    A table has a row per night, with its best run by the headline of the night. CSV has a row per night, run and
    cutoff, and JSON the record and all the scores of each night, and the records of evaluations that published nothing.
    """
    names = ("dataset", "evaluated_on", "evaluation_id", "record")
    print_result(
        style,
        lambda: [_table(nights, scores)],
        lambda: (
            [
                {**{field: getattr(night, field) for field in names}, "dataset_scores": rows}
                for night, rows in zip(nights, scores, strict=True)
            ]
            + [
                {**{field: row[field] for field in names[:3]}, "record": row, "dataset_scores": []}
                for row in nights.attempts
            ]
        ),
        measure_first(DATASET_SCORES, COLUMNS),
        (row for rows in scores for row in rows),
    )


def _table(nights: Nights, scores: NightScores) -> TextTable:
    columns = [
        *(name("dataset"), name("date", "evaluated_on"), name("verdict"), name("reason"), name("its run", "run")),
        *map(name, ("best run", "measure")),
        number("best", form=str),
        *(number("runs", form=str), number("queries", form=str)),
        *map(name, ("convention", "evaluation_id")),
        *(name("committed", "committed_at"), name("version")),
    ]
    rows = [_row(night, rows) for night, rows in zip(nights, scores, strict=True)]
    notes = [*([] if nights else ["there is no night; check the path"]), *unpublished(nights)]
    return text_table(columns, rows, notes, is_whole=True)


def _row(night: Night, rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    record = night.record
    return {
        "dataset": night.dataset,
        "evaluated_on": night.evaluated_on,
        "verdict": in_words({"verdict": "-", **(record.get("verdict") or {}), "accepted": record.get("accepted")}),
        # Why the verdict is what it is, and the run that it is about.
        **{field: record.get(field) or "-" for field in ("reason", "run")},
        **dict(zip(("best_run", "measure", "best"), _best(night, rows), strict=True)),
        "runs": len({row["run"] for row in rows}),
        # Those that means are over, as `evaluate` prints them.
        "queries": max((row["queries"] for row in rows), default="-"),
        **{field: record.get(field, "-") for field in ("convention", "evaluation_id", "committed_at")},
        "version": record.get("versions", {}).get("ndcg_spark", "-"),
    }


def _best(night: Night, rows: Sequence[Mapping[str, Any]]) -> list[str]:
    """The name of the best run, its measure and its score; dashes if no run has the measure."""
    measures = measure_set_in(night.record.get("configuration") or {})
    measure, cutoff = measures.headline(row["cutoff"] for row in rows)
    of_best = (sorted_runs(rows, measure_set=measures) or [[]])[0]
    value = next((row.get(MEASURES[measure].column) for row in of_best if row["cutoff"] == cutoff), None)
    return ["-" if value is None else of_best[0]["run"], written(measure, cutoff), rounded(value)]
