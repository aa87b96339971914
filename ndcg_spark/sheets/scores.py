"""Dataset scores as sheets: a row per run, per preset or per night, with the counts that a score is a mean of."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ndcg_spark.sheets.sheet import Sheet, at, rounded, sheet
from ndcg_spark.sheets.sorting import Order, in_order

Rows = Sequence[Mapping[str, Any]]

_COUNTS = ("queries", "missing_queries", "no_relevant_queries", "unjudged_queries")
_HEADINGS = ("queries", "missing", "no relevant", "unjudged", "judged rate")


def score_sheet(rows: Rows, order: Order | None = None, notes: Iterable[str] = ()) -> Sheet:
    """One row per dataset and run, with its score at every cutoff; the best at the deepest first, or in the order."""
    runs = in_order(rows, order)
    several = len({row["dataset"] for row in rows}) > 1
    cutoffs = list(dict.fromkeys(row["cutoff"] for row in rows))
    names = ["dataset", "run"] if several else ["run"]
    cells = ([*(of_run[0][name] for name in names), *_numbers(of_run)] for of_run in runs)
    headings = [*names, *_headings(cutoffs)]
    return sheet(headings, cells, range(len(names), len(headings)), notes)


def preset_sheets(scored: Mapping[str, Rows]) -> list[Sheet]:
    """A sheet per dataset and run with a row per preset; dashes for a preset that refused the data."""
    every = [row for rows in scored.values() for row in rows]
    cutoffs = list(dict.fromkeys(row["cutoff"] for row in every))
    sheets = []
    for dataset, run in dict.fromkeys((row["dataset"], row["run"]) for row in every):
        cells = []
        for preset, rows in scored.items():
            own = [row for row in rows if (row["dataset"], row["run"]) == (dataset, run)]
            cells.append([preset, *(_numbers(own) if own else ["-"] * len(_headings(cutoffs)))])
        headings = [f"{dataset} / {run}", *_headings(cutoffs)]
        sheets.append(sheet(headings, cells, range(1, len(headings))))
    return sheets


def _headings(cutoffs: Iterable[int | None]) -> list[str]:
    return [*(f"ndcg@{at(cutoff)}" for cutoff in cutoffs), *_HEADINGS]


def _numbers(of_run: Rows) -> list[str]:
    """The scores of one run at every cutoff, and the counts of the last; only the judged rate differs by cutoff."""
    last = of_run[-1]
    scores = (rounded(row["ndcg"]) for row in of_run)
    return [*scores, *(f"{last[name]:,}" for name in _COUNTS), rounded(last["judged_rate"])]
