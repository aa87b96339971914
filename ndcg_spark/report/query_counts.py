"""How many queries the means of a table and its tests cover, if runs differ."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ndcg_spark.comparison.trend import counted_in
from ndcg_spark.convention.measures import RUN_COLUMNS, Cutoff, measure_at
from ndcg_spark.tables import format as numbers

Row = Mapping[str, Any]
#: The columns of COMPARISONS with the runs of both sides.
_SIDES = ("run", "baseline")


def differing_counts(rows: Sequence[Row], metrics: Iterable[tuple[str, Cutoff]]) -> list[str]:
    """The DATASET_SCORES columns that count the queries of these means and differ between the
    runs of a dataset.
    """
    found: dict[str, None] = {}
    for column, cutoff in metrics:
        counts: dict[str, set[int]] = {}
        counted = counted_in(column)
        for row in rows:
            if row["cutoff"] == cutoff and row.get(column) is not None:
                counts.setdefault(row["dataset"], set()).add(row.get(counted) or 0)
        # A measure of runs is not a mean over queries.
        if column not in RUN_COLUMNS and any(len(own) > 1 for own in counts.values()):
            found[counted] = None
    return list(found)


def notes_on_pairs(compared: Iterable[Row], scores: Iterable[Row]) -> list[str]:
    """A sentence for each run whose test uses fewer queries than the means in DATASET_SCORES."""
    means = {(row["dataset"], row["run"], row["cutoff"]): row for row in scores}
    notes: dict[str, list[str]] = {}
    for row in compared:
        if not _is_of_all(row) or row["mean"] is None or row["measure"] in RUN_COLUMNS:
            continue
        counted = counted_in(row["measure"])
        sides = [means.get((row["dataset"], row[side], row["cutoff"])) for side in _SIDES]
        counts = {side.get(counted) for side in sides if side is not None}
        if counts != {row["queries"]}:
            said = f"{row['run']}: the test uses only the {row['queries']:,} queries that have a "
            said += f"score from both {row['run']} and {row['baseline']}; over these, their means "
            notes.setdefault(f"{said}are", []).append(_means(row))
    return [f"{said} {', '.join(found)}" for said, found in notes.items()]


def _means(row: Row) -> str:
    own, other = numbers.score(row["mean"]), numbers.score(row["baseline_mean"])
    return f"{own} and {other} in {measure_at(row['measure'], row['cutoff'])}"


def note_on_unpaired(rows: Iterable[Row]) -> list[str]:
    """A sentence on the queries that only one side of a comparison has, if there are any."""
    left_out: dict[str, None] = {}
    for row in rows:
        if _is_of_all(row) and row["mean"] is not None and row["unpaired_queries"]:
            left_out[f"{row['unpaired_queries']:,} for {row['run']}"] = None
    if not left_out:
        return []
    means = "mean, baseline: over the queries that both sides have, as is the test"
    return [f"{means}; queries that only one side has: {', '.join(left_out)}"]


def _is_of_all(row: Row) -> bool:
    """Whether a comparison covers all queries, without weights."""
    return row["attribute"] is None and row["weight_effective_n"] is None
