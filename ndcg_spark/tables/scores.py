"""Dataset scores as tables: with counts of queries, or for a paper with the best scores marked."""

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from ndcg_spark.convention.cutoffs import by_depth
from ndcg_spark.convention.measures import MEASURES, NDCG_ONLY, MeasureSet, published, written
from ndcg_spark.tables.comparisons import notes_of_test, stars
from ndcg_spark.tables.sorting import Order, sort_value, sorted_runs
from ndcg_spark.tables.table import TextColumn, TextTable, counted, name, number, rounded, text_table

Rows = Sequence[Mapping[str, Any]]
#: A dataset, a run, the column of a measure, and a cutoff.
_Cell = tuple[str, str, str, int | None]
#: A row of these tables: its name, and rows of DATASET_SCORES of one run, by cutoff.
_Scored = tuple[str, Rows]

_COUNTS = {"missing_queries": "missing", "no_relevant_queries": "no relevant", "unjudged_queries": "unjudged"}


def score_table(
    rows: Rows, order: Order | None = None, notes: Iterable[str] = (), measure_set: MeasureSet = NDCG_ONLY
) -> TextTable:
    """One row per dataset and run, and per slice if the rows are of slices; the best first, or in the order.

    It has the requested measures with the standard error of NDCG, and NDCG at every cutoff if none was.
    """
    slices: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        of_slice = row.get("attribute") is not None
        slices.setdefault(f"{row['attribute']}={row['value']}" if of_slice else "", []).append(row)
    runs = [(key, of_run) for key, own in slices.items() for of_run in sorted_runs(own, order, measure_set)]
    names = [name("slice", lambda row: row[0])] if any(slices) else []
    return text_table(
        [*names, *_names(rows), *_scores(rows, measure_set, True), *_counts(rows, measure_set)], runs, notes
    )


def preset_tables(scored: Mapping[str, Rows], measure_set: MeasureSet = NDCG_ONLY) -> list[TextTable]:
    """A table per dataset and run with a row per preset; dashes for a preset that refused the data."""
    every = [row for rows in scored.values() for row in rows]
    tables = []
    for key in dict.fromkeys((row["dataset"], row["run"]) for row in every):
        runs = [
            (preset, [row for row in rows if (row["dataset"], row["run"]) == key]) for preset, rows in scored.items()
        ]
        names = name(" / ".join(key), lambda row: row[0])
        tables.append(text_table([names, *_scores(every, measure_set), *_counts(every, measure_set)], runs))
    return tables


def paper_table(
    rows: Rows,
    order: Order | None = None,
    notes: Iterable[str] = (),
    measure_set: MeasureSet = NDCG_ONLY,
    marks: Mapping[_Cell, str] | None = None,
) -> TextTable:
    """One row per dataset and run, with the requested measures, as the field writes them, and no counts.

    The best score of each column and dataset is marked, and so is every score that looks the same.
    """
    runs = sorted_runs(rows, order, measure_set)
    names, pairs = _names(rows), _pairs(rows, measure_set)
    scores = [number(published(*pair), _score(MEASURES[pair[0]].column, pair[1])) for pair in pairs]
    table = text_table([*names, *scores], [("", of_run) for of_run in runs], notes)
    best, superscripts = set(), {}
    for place, (measure, cutoff) in enumerate(pairs, len(names)):
        column = MEASURES[measure].column
        highest: dict[str, str] = {}
        for cells, of_run in zip(table.rows, runs, strict=True):
            dataset = of_run[0]["dataset"]
            if cells[place] != rounded(None):
                highest[dataset] = max(cells[place], highest.get(dataset, cells[place]), key=float)
        for line, (cells, of_run) in enumerate(zip(table.rows, runs, strict=True)):
            dataset, run = of_run[0]["dataset"], of_run[0]["run"]
            if cells[place] == highest.get(dataset):
                best.add((line, place))
            if sign := (marks or {}).get((dataset, run, column, cutoff)):
                superscripts[line, place] = sign
    return dataclasses.replace(table, best=best, superscripts=superscripts)


def marks_of(compared: Rows) -> dict[_Cell, str]:
    """The stars of rows of COMPARISONS, of all queries and without weights."""
    return {
        (row["dataset"], row["run"], row["measure"], row["cutoff"]): stars(row)
        for row in compared
        if row["attribute"] is None and row["weight_effective_n"] is None
    }


def compared_paper_table(compared: Rows, correction: str, measures: Sequence[str] = ()) -> TextTable | None:
    """The runs of a comparison and their baseline; None if they do not fit one table.

    The columns come in the order of the `measures`. Comparisons do not fit if they have slices or weights, if each run
    has its own baseline, or if runs have different queries, so that the baseline has a mean for each of them.
    """
    baselines = {(row["baseline"], row["baseline_night"]) for row in compared}
    plain = all(row["attribute"] is None and row["weight_effective_n"] is None for row in compared)
    known = {measure.column: name for name, measure in MEASURES.items()}
    if len(baselines) != 1 or not plain or any(row["measure"] not in known for row in compared):
        return None
    ((run_name, night),) = baselines
    baseline = run_name if night is None else f"{run_name} of {night}"
    means: dict[tuple[str, str, int | None], dict[str, Any]] = {}
    for row in compared:
        for run, mean in ((row["run"], row["mean"]), (baseline, row["baseline_mean"])):
            key = (row["dataset"], run, row["cutoff"])
            of_run = means.setdefault(key, dict(zip(("dataset", "run", "cutoff"), key, strict=True)))
            if sort_value(of_run.setdefault(row["measure"], mean)) != sort_value(mean):
                return None
    places = {column: place for place, column in enumerate(measures)}
    listed = sorted(
        dict.fromkeys((row["measure"], row["cutoff"]) for row in compared),
        key=lambda pair: places.get(pair[0], len(places)),
    )
    pairs = tuple((known[column], cutoff) for column, cutoff in listed)
    notes = notes_of_test(compared, correction)
    return paper_table(list(means.values()), None, notes, MeasureSet(pairs, first=pairs[0]), marks_of(compared))


def _names(rows: Rows) -> list[TextColumn]:
    several = len({row["dataset"] for row in rows}) > 1
    return [name(heading, _deepest(heading)) for heading in (["dataset", "run"] if several else ["run"])]


def _pairs(rows: Rows, measure_set: MeasureSet) -> Sequence[tuple[str, int | None]]:
    """The measures that were requested with their cutoffs, or NDCG at every cutoff."""
    return measure_set.pairs or [("ndcg", cutoff) for cutoff in sorted({row["cutoff"] for row in rows}, key=by_depth)]


def _scores(rows: Rows, measure_set: MeasureSet, with_error: bool = False) -> list[TextColumn]:
    """A column per measure and cutoff; the standard error stands beside the headline, if that is NDCG."""
    columns = []
    headline = measure_set.headline(row["cutoff"] for row in rows) if with_error and rows else None
    has_errors = any(row.get("ndcg_stderr") is not None for row in rows)
    for measure, cutoff in _pairs(rows, measure_set):
        columns.append(number(written(measure, cutoff), _score(MEASURES[measure].column, cutoff)))
        if (measure, cutoff) == headline and measure == "ndcg" and has_errors:
            columns.append(number("std error", _score("ndcg_stderr", cutoff)))
    return columns


def _score(column: str, cutoff: int | None) -> Callable[[_Scored], float | None]:
    return lambda row: next((scores.get(column) for scores in row[1] if scores["cutoff"] == cutoff), None)


def _counts(rows: Rows, measure_set: MeasureSet) -> list[TextColumn]:
    """The counts at the deepest cutoff; of these only the judged rate differs by cutoff."""
    columns = [number("queries", _deepest("queries"), counted)]
    if any(not MEASURES[measure].column.startswith("ndcg") for measure, _ in measure_set.pairs):
        # The means of NDCG and of other measures can be over different queries. At the deepest cutoff these are not
        # counted if no such measure was requested there.
        columns.append(number("relevant queries", _relevant_queries, counted))
    # Unjudged queries are in no slice.
    shown = [
        count for count in _COUNTS if count != "unjudged_queries" or any(row.get(count) is not None for row in rows)
    ]
    columns += [number(_COUNTS[count], _deepest(count), counted) for count in shown]
    return [*columns, number("judged rate", _deepest("judged_rate"))]


def _deepest(column: str) -> Callable[[_Scored], Any]:
    return lambda row: row[1][-1][column] if row[1] else None


def _relevant_queries(row: _Scored) -> int | None:
    return max((scores.get("relevant_queries") or 0 for scores in row[1]), default=None)
