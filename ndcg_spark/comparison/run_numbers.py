"""Compares measures that cover all of a run's lists: one number per run and night.

One number on each side cannot be tested, so a row has only the two numbers and their difference.
"""

import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ndcg_spark.comparison.matrix import Metric
from ndcg_spark.schemas import COMPARISONS
from ndcg_spark.tolerance import EQUAL

#: The flag of a row that cannot be tested.
ONE_NUMBER = "one_number"
#: A row's flag if a side has lists but no value, such as Personalization of a single list.
NO_VALUE = "no_value"
#: The keys of rows that are not columns of COMPARISONS: the number of lists on each side.
_BESIDE = ("lists", "baseline_lists")


class RunNumber(NamedTuple):
    """A run's number, and how many lists it covers."""

    value: float | None
    lists: int


_NOTHING = RunNumber(None, 0)
#: By run.
RunNumbers = Mapping[str, RunNumber]


def run_numbers(rows: Iterable[Mapping[str, Any]], metric: Metric) -> dict[str, RunNumber]:
    """Every run's numbers in a night's DATASET_SCORES rows."""
    measure, cutoff = metric
    numbers = {}
    for row in rows:
        if row["cutoff"] == cutoff and row.get("attribute") is None:
            numbers[row["run"]] = RunNumber(row[measure], row["lists"] or 0)
    return numbers


def mean_numbers(nights: Sequence[RunNumbers]) -> dict[str, RunNumber]:
    """The mean of each run's numbers in these nights, and of how many lists these cover.

    A run without a value in any night keeps its lists, because it was not missing.
    """
    by_run: dict[str, list[RunNumber]] = {}
    for night in nights:
        for run, number in night.items():
            by_run.setdefault(run, []).append(number)
    return {run: _mean(numbers) for run, numbers in by_run.items()}


def _mean(numbers: Sequence[RunNumber]) -> RunNumber:
    """The mean of a run's numbers over the nights with a value or, if none has one, all nights."""
    values = [number.value for number in numbers if number.value is not None]
    lists = [number.lists for number in numbers if number.value is not None]
    if not values:
        return RunNumber(None, round(statistics.fmean(number.lists for number in numbers)))
    return RunNumber(statistics.fmean(values), round(statistics.fmean(lists)))


def rows_of_runs(
    own: RunNumbers,
    baseline: RunNumbers,
    metric: Metric,
    key: Mapping[str, Any],
    pairs: Iterable[tuple[str, str]],
) -> list[dict[str, Any]]:
    """The COMPARISONS rows of each pair, over all lists; `key` has the shared columns."""
    measure, cutoff = metric
    rows = []
    for run, other in pairs:
        row: dict[str, Any] = dict.fromkeys((*COMPARISONS.names, *_BESIDE))
        row |= {**key, "run": run, "baseline": other, "measure": measure, "cutoff": cutoff}
        row |= _comparison_columns(own.get(run, _NOTHING), baseline.get(other, _NOTHING))
        rows.append(row)
    return rows


def _comparison_columns(now: RunNumber, before: RunNumber) -> dict[str, Any]:
    """The columns that compare two numbers."""
    row: dict[str, Any] = {
        "mean": now.value,
        "baseline_mean": before.value,
        "lists": now.lists,
        "baseline_lists": before.lists,
    }
    flags = [ONE_NUMBER]
    if not now.lists:
        flags.append("run_missing")
    if not before.lists:
        flags.append("baseline_missing")
    if now.value is not None and before.value is not None:
        row |= _difference(now.value, before.value)
        if row["conclusion"] == "same":
            flags.append("unchanged")
    elif now.lists and before.lists:
        flags.append(NO_VALUE)
    return {**row, "flags": flags}


def _difference(value: float, before: float) -> dict[str, Any]:
    """The difference of two numbers, and the conclusion."""
    difference = value - before
    row: dict[str, Any] = {"difference": difference}
    if abs(difference) <= EQUAL * max(1.0, abs(before)):
        row["conclusion"] = "same"
    else:
        row["conclusion"] = "higher" if difference > 0 else "lower"
    if before:
        row["relative_difference"] = difference / before
    return row
