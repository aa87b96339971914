"""How the committed nights are printed, each with its scores."""

from collections.abc import Mapping, Sequence
from typing import Any

from ndcg_spark.convention.measures import COLUMNS, MEASURES, NDCG_ONLY, MeasureSet, written
from ndcg_spark.convention.parsing import measure_set_in, parse_measures
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.nights.log import Night, Nights
from ndcg_spark.nights.select import unpublished
from ndcg_spark.report.console import print_result
from ndcg_spark.schemas import DATASET_SCORES, measure_first
from ndcg_spark.tables.sorting import sorted_runs
from ndcg_spark.tables.table import TextColumn, TextTable, name, number, rounded, text_table
from ndcg_spark.tables.verdicts import in_words

#: The dataset scores of each night.
NightScores = Sequence[Sequence[Mapping[str, Any]]]


def shown_measures(measures: str | None, style: str) -> MeasureSet:
    """The measures that a table of nights shows, at 10 where they name no cutoff; ConfigurationError for csv, json."""
    if measures is None:
        return NDCG_ONLY
    if style in ("csv", "json"):
        raise ConfigurationError(f"arguments: --measures chooses what a table shows, and {style} has all; give one")
    return parse_measures(measures, None, (10,)).measure_set


def print_nights(nights: Nights, scores: NightScores, style: str, asked: MeasureSet = NDCG_ONLY) -> None:
    """Print the nights, by dataset and date.

    A table has a row per night, with its best run: by the headline of the night, or by the first measure that is asked
    for. CSV has a row per night, run and cutoff, and JSON the record and all the scores of each night, and the records
    of evaluations that published nothing.
    """
    names = ("dataset", "evaluated_on", "evaluation_id", "record")
    print_result(
        style,
        lambda: [_table(nights, scores, asked)],
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


def _table(nights: Nights, scores: NightScores, asked: MeasureSet) -> TextTable:
    best = [written(measure, cutoff) for measure, cutoff in asked.pairs] or ["measure", "best"]
    columns = [
        *(name("dataset"), name("date", "evaluated_on"), name("verdict"), name("reason"), name("its run", "run")),
        name("best run", "best 0"),
        *(
            TextColumn(heading, f"best {place}", is_number=heading != "measure")
            for place, heading in enumerate(best, 1)
        ),
        *(number("runs", form=str), number("queries", form=str)),
        *map(name, ("convention", "evaluation_id")),
        *(name("committed", "committed_at"), name("version")),
    ]
    rows = [_row(night, rows, asked) for night, rows in zip(nights, scores, strict=True)]
    notes = [*([] if nights else ["there is no night; check the path"]), *unpublished(nights)]
    return text_table(columns, rows, notes, is_whole=True)


def _row(night: Night, rows: Sequence[Mapping[str, Any]], asked: MeasureSet) -> dict[str, Any]:
    record = night.record
    return {
        "dataset": night.dataset,
        "evaluated_on": night.evaluated_on,
        "verdict": in_words({"verdict": "-", **(record.get("verdict") or {}), "accepted": record.get("accepted")}),
        # Why the verdict is what it is, and the run that it is about.
        **{field: record.get(field) or "-" for field in ("reason", "run")},
        **{f"best {place}": cell for place, cell in enumerate(_best(night, rows, asked))},
        "runs": len({row["run"] for row in rows}),
        # Those that means are over, as `evaluate` prints them.
        "queries": max((row["queries"] for row in rows), default="-"),
        **{field: record.get(field, "-") for field in ("convention", "evaluation_id", "committed_at")},
        "version": record.get("versions", {}).get("ndcg_spark", "-"),
    }


def _best(night: Night, rows: Sequence[Mapping[str, Any]], asked: MeasureSet) -> list[str]:
    """The name of the best run, and its scores; dashes if no run has the measure that decides it."""
    wanted = asked if asked.pairs else measure_set_in(night.record.get("configuration") or {})
    shown = asked.pairs or [wanted.headline(row["cutoff"] for row in rows)]
    by_cutoff = {row["cutoff"]: row for row in (sorted_runs(rows, measure_set=wanted) or [[]])[0]}
    values = [by_cutoff.get(k, {}).get(MEASURES[measure].column) for measure, k in shown]
    headline = [] if asked.pairs else [written(*shown[0])]
    best = "-" if values[0] is None else next(iter(by_cutoff.values()))["run"]
    return [best, *headline, *("-" if values[0] is None else rounded(value) for value in values)]
