"""Dataset scores as sheets: a row per run, per preset or per night, with the counts that a score is a mean of."""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ndcg_spark.convention.measures import MEASURES, NDCG_ONLY, MeasureSet, written
from ndcg_spark.sheets.sheet import Sheet, at, rounded, sheet
from ndcg_spark.sheets.sorting import Order, in_order

Rows = Sequence[Mapping[str, Any]]

#: How many queries the scores are of is counted apart.
_COUNTS = {
    "missing_queries": "missing",
    "no_relevant_queries": "no relevant",
    "unjudged_queries": "unjudged",
}


@dataclasses.dataclass(frozen=True)
class _Shown:
    """A column of scores: its heading, its column of DATASET_SCORES, and its cutoff."""

    heading: str
    column: str
    cutoff: int | None


def score_sheet(
    rows: Rows, order: Order | None = None, notes: Iterable[str] = (), asked: MeasureSet = NDCG_ONLY
) -> Sheet:
    """One row per dataset and run, with its score by every measure and cutoff; the best first, or in the order.

    It has the measures that were asked for, and NDCG at every cutoff if none was.
    """
    runs = in_order(rows, order, asked)
    several = len({row["dataset"] for row in rows}) > 1
    shown = _shown(rows, asked)
    names = ["dataset", "run"] if several else ["run"]
    cells = ([*(of_run[0][name] for name in names), *_numbers(of_run, shown)] for of_run in runs)
    headings = [*names, *_headings(shown)]
    return sheet(headings, cells, range(len(names), len(headings)), notes)


def preset_sheets(scored: Mapping[str, Rows], asked: MeasureSet = NDCG_ONLY) -> list[Sheet]:
    """A sheet per dataset and run with a row per preset; dashes for a preset that refused the data."""
    every = [row for rows in scored.values() for row in rows]
    shown = _shown(every, asked)
    sheets = []
    for dataset, run in dict.fromkeys((row["dataset"], row["run"]) for row in every):
        cells = []
        for preset, rows in scored.items():
            own = [row for row in rows if (row["dataset"], row["run"]) == (dataset, run)]
            cells.append([preset, *(_numbers(own, shown) if own else ["-"] * len(_headings(shown)))])
        headings = [f"{dataset} / {run}", *_headings(shown)]
        sheets.append(sheet(headings, cells, range(1, len(headings))))
    return sheets


def _shown(rows: Rows, asked: MeasureSet) -> "list[_Shown]":
    """What stands in the columns: the measures that were asked for, or NDCG at every cutoff; each with its bounds."""
    pairs = list(asked.pairs) or [("ndcg", cutoff) for cutoff in dict.fromkeys(row["cutoff"] for row in rows)]
    shown = []
    for measure, cutoff in pairs:
        bounds = ("low", "high") if measure == "ndcg" and asked.bounds else ()
        shown.append(_Shown(written(measure, cutoff), MEASURES[measure].column, cutoff))
        shown += (_Shown(f"{name}@{at(cutoff)}", f"ndcg_{name}", cutoff) for name in bounds)
    return shown


def _headings(shown: "Sequence[_Shown]") -> list[str]:
    return [*(each.heading for each in shown), *_counts(shown).values(), "judged rate"]


def _counts(shown: "Sequence[_Shown]") -> dict[str, str]:
    """The columns of counts with their headings. The means of NDCG and of other measures can be of other queries."""
    others = (
        {"relevant_queries": "relevant queries"} if any(not each.column.startswith("ndcg") for each in shown) else {}
    )
    return {"queries": "queries", **others, **_COUNTS}


def _numbers(of_run: Rows, shown: "Sequence[_Shown]") -> list[str]:
    """The scores of one run, and the counts at its deepest cutoff; of these only the judged rate differs by cutoff."""
    last = of_run[-1]
    by_cutoff = {row["cutoff"]: row for row in of_run}
    scores = (rounded(by_cutoff[each.cutoff][each.column]) for each in shown)
    # Where no measure beside NDCG is asked for at the deepest cutoff, that row does not count their queries.
    others = max(row.get("relevant_queries") or 0 for row in of_run)
    counts = (others if name == "relevant_queries" else last[name] for name in _counts(shown))
    return [*scores, *(f"{count:,}" for count in counts), rounded(last["judged_rate"])]
