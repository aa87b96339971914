"""The committed nights as they are printed, each with its scores."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from ndcg_spark.nights.committed import CommittedNight
from ndcg_spark.report.formats import print_sheets
from ndcg_spark.report.records import print_csv
from ndcg_spark.report.streams import as_json
from ndcg_spark.schemas import DATASET_SCORES, measure_first
from ndcg_spark.sheets.sheet import Sheet, at, rounded, sheet
from ndcg_spark.sheets.sorting import in_order
from ndcg_spark.sheets.verdicts import in_words

_HEADINGS = (
    *("dataset", "date", "verdict", "best run", "best ndcg", "at"),
    *("runs", "queries", "convention", "evaluation_id", "committed", "version"),
)

Scores = Sequence[Sequence[Mapping[str, Any]]]


def print_nights(nights: Sequence[CommittedNight], scores: Scores, style: str) -> None:
    """Print the nights, by dataset and date; `scores` has the dataset scores of each.

    A table has a row per night, with its best run at its deepest cutoff. CSV has a row per night, run and cutoff, and
    JSON the record and all the scores of each night.
    """
    if style == "json":
        both = zip(nights, scores, strict=True)
        print(as_json([{**dataclasses.asdict(night), "dataset_scores": rows} for night, rows in both]))
    elif style == "csv":
        print_csv(measure_first(DATASET_SCORES), (row for rows in scores for row in rows))
    else:
        print_sheets([_sheet(nights, scores)], style, most=None)


def _sheet(nights: Sequence[CommittedNight], scores: Scores) -> Sheet:
    cells = (_cells(night, rows) for night, rows in zip(nights, scores, strict=True))
    return sheet(_HEADINGS, cells, map(_HEADINGS.index, ("best ndcg", "at", "runs", "queries")))


def _cells(night: CommittedNight, rows: Sequence[Mapping[str, Any]]) -> list[str]:
    record = night.record
    counts, versions = record.get("counts", {}), record.get("versions", {})
    runs = in_order(rows)
    best = [runs[0][-1]["run"], rounded(runs[0][-1]["ndcg"]), at(runs[0][-1]["cutoff"])] if runs else ["-", "-", "-"]
    cells = [
        night.dataset,
        night.evaluated_on,
        _verdict(record),
        *best,
        counts.get("runs", "-"),
        counts.get("judged_queries", "-"),
    ]
    cells += [record.get(name, "-") for name in ("convention", "evaluation_id", "committed_at")]
    return [str(cell) for cell in [*cells, versions.get("ndcg_spark", "-")]]


def _verdict(record: Mapping[str, Any]) -> str:
    """The verdict of a night in words, and whether somebody has accepted it as a baseline; a dash without a gate."""
    words = in_words(record["verdict"]) if record.get("verdict") else "-"
    return f"{words} (accepted)" if record.get("accepted") else words
