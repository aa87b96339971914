"""How many queries the means of a table and its tests cover, if runs differ."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ndcg_spark.comparison.trend import counted_in
from ndcg_spark.convention.measures import RUN_COLUMNS, Cutoff, measure_at
from ndcg_spark.tables import format as numbers

Row = Mapping[str, Any]


def differing_counts(rows: Sequence[Row], metrics: Iterable[tuple[str, Cutoff]]) -> list[str]:
    """The columns of DATASET_SCORES that count the queries of these means, if runs differ in them.

    Only the runs of one dataset are compared with each other.
    """
    found: dict[str, None] = {}
    for column, cutoff in metrics:
        # A measure of runs is not a mean over queries.
        if column not in RUN_COLUMNS and _is_different(rows, column, cutoff):
            found[counted_in(column)] = None
    return list(found)


def _is_different(rows: Iterable[Row], column: str, cutoff: Cutoff) -> bool:
    """Whether the means of a dataset's runs cover different numbers of queries."""
    counted = counted_in(column)
    first: dict[str, int] = {}
    for row in rows:
        if row["cutoff"] != cutoff or row.get(column) is None:
            continue
        number = row.get(counted) or 0
        if first.setdefault(row["dataset"], number) != number:
            return True
    return False


def notes_on_pairs(compared: Iterable[Row], scores: Iterable[Row]) -> list[str]:
    """A sentence for each run whose test uses fewer queries than the means in DATASET_SCORES."""
    means = {}
    for row in scores:
        means[row["dataset"], row["run"], row["cutoff"]] = row
    notes: dict[str, list[str]] = {}
    for row in filter(_is_mean_of_all, compared):
        own = means.get((row["dataset"], row["run"], row["cutoff"]))
        other = means.get((row["dataset"], row["baseline"], row["cutoff"]))
        paired = row["queries"]
        # The means in the table then already cover the test's queries.
        if (
            _queries_of_mean(own, row["measure"])
            == _queries_of_mean(other, row["measure"])
            == paired
        ):
            continue
        note = f"{row['run']}: the test uses only the {paired:,} queries that have a score from "
        note += f"both {row['run']} and {row['baseline']}; over these, their means are"
        notes.setdefault(note, []).append(_means(row))
    return [f"{note} {', '.join(means)}" for note, means in notes.items()]


def _queries_of_mean(means: Row | None, measure: str) -> int | None:
    """The number of queries that a mean in DATASET_SCORES covers."""
    return None if means is None else means.get(counted_in(measure))


def _means(row: Row) -> str:
    own, other = numbers.score(row["mean"]), numbers.score(row["baseline_mean"])
    return f"{own} and {other} in {measure_at(row['measure'], row['cutoff'])}"


def note_on_unpaired(rows: Iterable[Row]) -> list[str]:
    """A sentence on the queries that only one side of a comparison has, if there are any."""
    left_out: dict[str, None] = {}
    for row in filter(_is_mean_of_all, rows):
        if row["unpaired_queries"]:
            left_out[f"{row['unpaired_queries']:,} for {row['run']}"] = None
    if not left_out:
        return []
    means = "mean, baseline: over the queries that both sides have, like the test"
    return [f"{means}; queries that only one side has: {', '.join(left_out)}"]


def _is_mean_of_all(row: Row) -> bool:
    """Whether a comparison has a mean over all queries, without weights."""
    is_of_all = row["attribute"] is None and row["weight_effective_n"] is None
    return is_of_all and row["mean"] is not None and row["measure"] not in RUN_COLUMNS
