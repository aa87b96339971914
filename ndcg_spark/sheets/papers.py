"""Scores as a paper has them: a row per run, a column per measure, the best in bold, significance as superscripts."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ndcg_spark.convention.cutoffs import order_of as by_depth
from ndcg_spark.convention.measures import MEASURES, NDCG_ONLY, MeasureSet, published
from ndcg_spark.sheets.comparisons import mark, notes_of_test
from ndcg_spark.sheets.sheet import Sheet, rounded, sheet
from ndcg_spark.sheets.sorting import Order, comparable, in_order

Rows = Sequence[Mapping[str, Any]]
#: A dataset, a run, the column of a measure, and a cutoff.
_Cell = tuple[str, str, str, int | None]


def paper_sheet(
    rows: Rows,
    order: Order | None = None,
    notes: Iterable[str] = (),
    asked: MeasureSet = NDCG_ONLY,
    marks: Mapping[_Cell, str] | None = None,
) -> Sheet:
    """One row per dataset and run, with the measures that were asked for, as the field writes them, and no counts.

    The rows are those of DATASET_SCORES. The best of each column and dataset is marked as such, and every one that
    looks the same.
    """
    runs = in_order(rows, order, asked)
    cutoffs = dict.fromkeys(row["cutoff"] for row in rows)
    pairs = [
        (MEASURES[name].column, published(name, k), k) for name, k in asked.pairs or [("ndcg", k) for k in cutoffs]
    ]
    names = ["dataset", "run"] if len({row["dataset"] for row in rows}) > 1 else ["run"]
    cells = [[str(of_run[0][name]) for name in names] for of_run in runs]
    best, superscripts = set(), {}
    for place, (column, _, cutoff) in enumerate(pairs, len(names)):
        shown: dict[str, dict[int, str]] = {}
        for line, of_run in enumerate(runs):
            value = next((row.get(column) for row in of_run if row["cutoff"] == cutoff), None)
            cells[line].append(rounded(value))
            dataset, run = of_run[0]["dataset"], of_run[0]["run"]
            if value is not None:
                shown.setdefault(dataset, {})[line] = rounded(value)
            superscripts[line, place] = (marks or {}).get((dataset, run, column, cutoff), "")
        best |= {(line, place) for of in shown.values() for line, text in of.items() if text == max(of.values())}
    found = sheet(
        [*names, *(heading for _, heading, _ in pairs)], cells, range(len(names), len(names) + len(pairs)), notes
    )
    return found.emphasised(best, {where: signs for where, signs in superscripts.items() if signs})


def marks_of(compared: Rows) -> dict[_Cell, str]:
    """The stars of rows of COMPARISONS, of all queries and without weights."""
    return {
        (row["dataset"], row["run"], row["measure"], row["cutoff"]): mark(row["p_adjusted"])
        for row in compared
        if row["attribute"] is None and row["weight_effective_n"] is None
    }


def compared_paper_sheet(compared: Rows, correction: str, measures: Sequence[str] = ()) -> Sheet | None:
    """The runs of a comparison and their baseline; None where these are no table of runs and measures.

    The columns come in the order of the `measures`. There is no such table where slices or weights are compared, runs
    with those of their names, or each run over other queries, so that the baseline has a mean for each of them.
    """
    baselines = {(row["baseline"], row["baseline_night"]) for row in compared}
    plain = all(row["attribute"] is None and row["weight_effective_n"] is None for row in compared)
    if len(baselines) != 1 or not plain:
        return None
    ((name, night),) = baselines
    baseline = name if night is None else f"{name} of {night}"
    means: dict[tuple[str, str, int | None], dict[str, Any]] = {}
    for row in compared:
        for run, mean in ((row["run"], row["mean"]), (baseline, row["baseline_mean"])):
            key = (row["dataset"], run, row["cutoff"])
            of_run = means.setdefault(key, dict(zip(("dataset", "run", "cutoff"), key, strict=True)))
            if comparable(of_run.setdefault(row["measure"], mean)) != comparable(mean):
                return None
    columns = {measure.column: name for name, measure in MEASURES.items()}
    places = {column: place for place, column in enumerate(measures)}
    found = dict.fromkeys((row["measure"], row["cutoff"]) for row in compared)
    listed = sorted(found, key=lambda each: places.get(each[0], len(places)))
    if any(column not in columns for column, _ in listed):
        return None
    pairs = tuple((columns[column], cutoff) for column, cutoff in listed)
    notes = notes_of_test(compared, compared, correction)
    rows = sorted(means.values(), key=lambda row: by_depth(row["cutoff"]))
    return paper_sheet(rows, None, notes, MeasureSet(pairs, first=pairs[0]), marks_of(compared))
