"""A table of results' catalog measures."""

from collections.abc import Sequence
from typing import Any

from ndcg_spark.convention.measures import MeasureSet, catalog_definitions, measure_heading
from ndcg_spark.tables.table import deepest_count, make_table, shown_value
from ndcg_spark.tables.writers import View

Row = dict[str, Any]


def described_view(rows: Sequence[Row], measures: MeasureSet) -> View:
    """Each run's catalog measures, and what they are, from rows of `job.describe_results`.

    If there are several cutoffs, and each has all measures, there is a line per cutoff.
    """
    counts = _counts(measures)
    if _has_every_measure_at_every_cutoff(measures):
        lines = _lines_by_cutoff(rows, measures, counts)
        kept = [name for name, _ in measures.pairs]
    else:
        lines = _lines_by_run(rows, measures, counts)
        kept = [measure_heading(name, cutoff) for name, cutoff in measures.pairs]
    definitions = catalog_definitions(measures, are_judged=False)
    table = make_table(lines, (), definitions, kept=kept)
    columns = ["dataset", "run", "cutoff", *measures.columns_of_means, *counts]
    shown = []
    for row in rows:
        shown.append({name: row[name] for name in columns})
    return View([table], shown, columns, shown)


def _has_every_measure_at_every_cutoff(measures: MeasureSet) -> bool:
    """Whether there are several cutoffs, and each has all measures."""
    names = set()
    cutoffs = set()
    for name, cutoff in measures.pairs:
        names.add(name)
        cutoffs.add(cutoff)
    if len(cutoffs) == 1:
        return False
    return len(measures.pairs) == len(names) * len(cutoffs)


def _lines_by_cutoff(rows: Sequence[Row], measures: MeasureSet, counts: Sequence[str]) -> list[Row]:
    """A line per run and cutoff, with a column per measure."""
    lines = []
    for row in rows:
        line = {name: row[name] for name in ("dataset", "run", "cutoff")}
        for name, _ in measures.pairs:
            line[name] = shown_value(name, row[name])
        for count in counts:
            line[count] = row[count]
        lines.append(line)
    return lines


def _lines_by_run(rows: Sequence[Row], measures: MeasureSet, counts: Sequence[str]) -> list[Row]:
    """A line per run, with a column per measure and cutoff."""
    rows_of_runs: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        rows_of_runs.setdefault((row["dataset"], row["run"]), []).append(row)
    lines = []
    for (dataset, run), of_run in rows_of_runs.items():
        line: Row = {"dataset": dataset, "run": run}
        by_cutoff = {row["cutoff"]: row for row in of_run}
        for name, cutoff in measures.pairs:
            line[measure_heading(name, cutoff)] = shown_value(name, by_cutoff[cutoff][name])
        for count in counts:
            line[count] = deepest_count(of_run, count)
        lines.append(line)
    return lines


def _counts(measures: MeasureSet) -> list[str]:
    """The counts that apply to these measures."""
    counts = ["listed_queries"] if measures.beside_ndcg else []
    counts.append("lists")
    if measures.of_items:
        counts.append("unknown_items")
    return counts
