"""The committed nights as they are printed, each with its scores."""

from collections.abc import Mapping, Sequence
from typing import Any

from ndcg_spark.convention.measures import COLUMNS, MEASURES, NDCG_ONLY, MeasureSet, written
from ndcg_spark.convention.parsing import measure_set_in, parse_measures
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.nights.records import CommittedNight
from ndcg_spark.report.formats import print_sheets
from ndcg_spark.report.records import CSV, print_csv
from ndcg_spark.report.streams import as_json
from ndcg_spark.schemas import DATASET_SCORES, measure_first
from ndcg_spark.sheets.sheet import Sheet, rounded, sheet
from ndcg_spark.sheets.sorting import in_order
from ndcg_spark.sheets.verdicts import in_words

_HEADINGS = ("runs", "queries", "convention", "evaluation_id", "committed", "version")

Scores = Sequence[Sequence[Mapping[str, Any]]]


def shown(measures: str | None, style: str) -> MeasureSet:
    """The measures that a table of nights shows, at 10 where they name no cutoff; ConfigurationError for csv, json."""
    if measures is None:
        return NDCG_ONLY
    if style in (*CSV, "json"):
        raise ConfigurationError(f"arguments: --measures chooses what a table shows, and {style} has all; give one")
    return parse_measures(measures, None, (10,)).measure_set


def print_nights(nights: Sequence[CommittedNight], scores: Scores, style: str, asked: MeasureSet = NDCG_ONLY) -> None:
    """Print the nights, by dataset and date; `scores` has the dataset scores of each.

    A table has a row per night, with its best run: by the headline of the night, or by the first measure that is asked
    for. CSV has a row per night, run and cutoff, and JSON the record and all the scores of each night.
    """
    if style == "json":
        names = ("dataset", "evaluated_on", "evaluation_id", "folder", "record")
        both = zip(nights, scores, strict=True)
        print(as_json([{n: getattr(night, n) for n in names} | {"dataset_scores": rows} for night, rows in both]))
    elif style in CSV:
        print_csv(measure_first(DATASET_SCORES, COLUMNS), (row for rows in scores for row in rows), style)
    else:
        print_sheets([_sheet(nights, scores, asked)], style, most=None)


def _sheet(nights: Sequence[CommittedNight], scores: Scores, asked: MeasureSet) -> Sheet:
    best = [written(measure, cutoff) for measure, cutoff in asked.pairs] or ["measure", "best"]
    headings = ["dataset", "date", "verdict", "best run", *best, *_HEADINGS]
    cells = (_cells(night, rows, asked) for night, rows in zip(nights, scores, strict=True))
    notes = [] if nights else ["there is no night; check the path"]
    return sheet(headings, cells, map(headings.index, (*best[not asked.pairs :], "runs", "queries")), notes)


def _cells(night: CommittedNight, rows: Sequence[Mapping[str, Any]], asked: MeasureSet) -> list[str]:
    record = night.record
    counts, versions = record.get("counts", {}), record.get("versions", {})
    cells = [night.dataset, night.evaluated_on, _verdict(record), *_best(night, rows, asked)]
    # The record counts those of all datasets that were evaluated together.
    alone = counts.get("dataset_scores") == len(rows)
    cells += [str(len({row["run"] for row in rows})), _queries(rows, counts.get("judged_queries") if alone else None)]
    cells += [record.get(name, "-") for name in ("convention", "evaluation_id", "committed_at")]
    return [str(cell) for cell in [*cells, versions.get("ndcg_spark", "-")]]


def _queries(rows: Sequence[Mapping[str, Any]], counted: int | None) -> str:
    """How many queries a night has: as its record counts them, else those that the most complete mean is over."""
    return str(counted or max((row["queries"] for row in rows), default="-"))


def _best(night: CommittedNight, rows: Sequence[Mapping[str, Any]], asked: MeasureSet) -> list[str]:
    """The name of the best run, and its scores; dashes if no run has the measure that decides it."""
    wanted = asked if asked.pairs else measure_set_in(night.record.get("configuration") or {})
    shown = asked.pairs or [wanted.headline(row["cutoff"] for row in rows)]
    by_cutoff = {row["cutoff"]: row for row in (in_order(rows, asked=wanted) or [[]])[0]}
    values = [by_cutoff.get(k, {}).get(MEASURES[name].column) for name, k in shown]
    decides = [] if asked.pairs else [written(*shown[0])]
    if values[0] is None:
        return ["-", *decides, *("-" for _ in values)]
    return [next(iter(by_cutoff.values()))["run"], *decides, *map(rounded, values)]


def _verdict(record: Mapping[str, Any]) -> str:
    """The verdict of a night in words, and whether somebody has accepted it as a baseline; a dash without a gate."""
    return in_words({"verdict": "-", **(record.get("verdict") or {}), "accepted": record.get("accepted")})
