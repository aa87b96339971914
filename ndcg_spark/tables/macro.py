"""The means over datasets that BEIR and MTEB report, computed from DATASET_SCORES rows.

They are computed when scores are read, and are not stored. As in MTEB, a run has no mean if a
dataset lacks it, because a mean over fewer datasets could not be compared with those of other runs.
"""

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ndcg_spark.convention.convention import Convention
from ndcg_spark.convention.measures import COLUMNS, by_depth, format_cutoff, measure_at

Row = Mapping[str, Any]
#: The value of the column `dataset` for these means.
MACRO = "(macro mean)"
#: The column with the number of datasets in a mean.
DATASETS = "datasets"
_MEASURES = ("ndcg", *COLUMNS)
_MEANS = (*_MEASURES, "ndcg_pooled", "dcg", "judged_rate")
_COUNTS = (
    *("queries", "missing_queries", "no_relevant_queries", "unjudged_queries"),
    "relevant_queries",
)
#: The columns that a mean over datasets has only if all datasets agree.
_SAME = ("evaluated_on", "evaluation_id", "convention", "formula")


class MacroMeans(NamedTuple):
    """Rows like those of DATASET_SCORES, and sentences on why some runs have none."""

    rows: list[dict[str, Any]]
    sentences: list[str]

    @property
    def notes(self) -> list[str]:
        """The notes below a table of these means."""
        if not self.rows:
            return self.sentences
        datasets = self.rows[0][DATASETS]
        what = f"{MACRO}: the unweighted mean of {datasets} dataset means, as in BEIR and MTEB"
        return [what, *self.sentences]


NO_MEANS = MacroMeans([], [])


def macro_means(rows: Iterable[Row], absent: Collection[str] = ()) -> MacroMeans:
    """The unweighted means of dataset means, by date, run and cutoff.

    Measures, dcg and judged_rate are averaged, query counts are summed. There is no standard
    error. `absent`: datasets that belong to the mean but have no scores.
    """
    means = MacroMeans([], [])
    for of_date in _by_date(rows).values():
        _add_date(means, of_date, absent)
    return means


def _by_date(rows: Iterable[Row]) -> dict[Any, list[Row]]:
    """The rows for all queries, by date."""
    dates: dict[Any, list[Row]] = {}
    for row in rows:
        if row.get("attribute") is None:
            dates.setdefault(row.get("evaluated_on"), []).append(row)
    return dates


def _add_date(means: MacroMeans, rows: Sequence[Row], absent: Collection[str]) -> None:
    """Add the means of the rows of one date."""
    datasets = sorted({row["dataset"] for row in rows}.union(absent))
    if len(datasets) < 2:
        return
    examples = _example_of_each_convention(rows)
    if len(examples) > 1:
        means.sentences.append(_conventions_differ(examples[0], examples[1]))
        return
    runs: dict[str, list[Row]] = {}
    for row in rows:
        runs.setdefault(row["run"], []).append(row)
    incomplete = {}
    for run in sorted(runs):
        with_run = {row["dataset"] for row in runs[run]}
        without_run = [name for name in datasets if name not in with_run]
        if without_run:
            incomplete[run] = without_run
        else:
            _add_run(means, run, runs[run], datasets)
    if incomplete:
        means.sentences.append(_runs_are_incomplete(incomplete, len(datasets)))


def _example_of_each_convention(rows: Iterable[Row]) -> list[Row]:
    """A row for each convention. Names of conventions with the same options are one convention."""
    # Each name is parsed once, not in every row.
    by_name = {row.get("convention"): row for row in rows}
    by_options: dict[str, Row] = {}
    for name, row in by_name.items():
        options = "" if name is None else str(Convention.parse(name).options())
        by_options[options] = row
    return list(by_options.values())


def _conventions_differ(one: Row, other: Row) -> str:
    first = f"{one['dataset']} has {one['convention']}"
    second = f"{other['dataset']} has {other['convention']}"
    return f"no mean over the datasets: their conventions differ; {first}, {second}"


def _runs_are_incomplete(incomplete: Mapping[str, Sequence[str]], datasets: int) -> str:
    """A sentence on runs that some datasets lack: `{"bm25": ["web"]}`. `datasets`: of how many."""
    run, without_run = next(iter(incomplete.items()))
    runs = f"{len(incomplete)} run(s) have no mean over the datasets"
    what = f"has no results in {len(without_run)} of {datasets} datasets, e.g. {without_run[0]}"
    return f"{runs}, because they have no results in some: {run} {what}"


def _add_run(means: MacroMeans, run: str, rows: Sequence[Row], datasets: Sequence[str]) -> None:
    """Add the means, one per cutoff, of a run that all datasets have."""
    by_cutoff: dict[int | None, dict[str, Row]] = {}
    for row in rows:
        by_cutoff.setdefault(row["cutoff"], {})[row["dataset"]] = row
    for cutoff in sorted(by_cutoff, key=by_depth):
        by_dataset = by_cutoff[cutoff]
        missing = [name for name in datasets if name not in by_dataset]
        if missing:
            where = f"{missing[0]} was not evaluated at cutoff {format_cutoff(cutoff)}"
            means.sentences.append(f"{run} has no mean over the datasets at this cutoff: {where}")
            continue
        ordered = [by_dataset[name] for name in datasets]
        means.sentences.extend(_without_value(run, ordered))
        means.rows.append(_mean_row(ordered))


def _without_value(run: str, rows: Sequence[Row]) -> Iterator[str]:
    """A sentence for each measure that has a value in only some of the datasets."""
    for name in _MEASURES:
        without = [row["dataset"] for row in rows if row.get(name) is None]
        if without and len(without) < len(rows):
            measure = measure_at(name, rows[0]["cutoff"])
            where = f"it has no value in {len(without)} of {len(rows)}, e.g. {without[0]}"
            yield f"{run} has no mean of {measure} over the datasets: {where}"


def _mean_row(rows: Sequence[Row]) -> dict[str, Any]:
    """The mean of the rows of one run and cutoff, with one row per dataset."""
    first = rows[0]
    mean = dict.fromkeys(first)
    mean |= {"dataset": MACRO, "run": first["run"], "cutoff": first["cutoff"]}
    for name in first:
        values = [row[name] for row in rows]
        if name in _SAME and len(set(values)) == 1:
            mean[name] = values[0]
        elif name in _MEANS:
            mean[name] = _mean(values)
        elif name in _COUNTS:
            mean[name] = _sum(values)
    mean[DATASETS] = len(rows)
    return mean


def _mean(values: Sequence[float | None]) -> float | None:
    """The mean; None if one of the values is missing."""
    known = [value for value in values if value is not None]
    return math.fsum(known) / len(known) if len(known) == len(values) else None


def _sum(values: Sequence[int | None]) -> int | None:
    """The sum; None if one of the values is missing."""
    known = [value for value in values if value is not None]
    return sum(known) if len(known) == len(values) else None
