"""Comparisons as tables: a row per run, measure, cutoff and slice."""

import math
from collections.abc import Sequence
from typing import Any

from ndcg_spark.convention.cutoffs import format_cutoff
from ndcg_spark.tables.comparison_notes import CONCLUSIONS, PRIMARY, Row, Rows, comparison_notes, counts, stars
from ndcg_spark.tables.sorting import Order, sort_value
from ndcg_spark.tables.table import (
    TextColumn,
    TextTable,
    counted,
    name,
    number,
    signed,
    text_table,
)

#: By what the rows of a comparison can be sorted.
SORT_COLUMNS = (
    *("difference", "run", "mean", "baseline_mean", "relative_difference", "p_value", "p_adjusted", "effect_size"),
    *("wins", "losses", "large_losses", "minimum_detectable"),
)


def comparison_table(
    rows: Rows,
    correction: str,
    alpha: float,
    *,
    order: Order | None = None,
    warnings: Sequence[str] = (),
    wanted: float = 0.01,
    top: int | None = None,
) -> TextTable:
    """One row per comparison below a count of conclusions and the warnings, those of the primary measure first.

    The `top` ones in the `order`, by default the worst difference first. `wanted` is the difference that
    `queries_needed` is for.
    """
    shown = _in_order(rows, order)[:top]
    notes = comparison_notes(shown, correction, alpha)
    if top is not None and len(rows) > top:
        notes.insert(0, f"and {len(rows) - top:,} more without --top")
    needed = f"needed: about how many queries it takes to find {wanted:g}"
    notes.append(f"could see: what is found in 4 of 5 cases; {needed}")
    return text_table(_columns(rows), shown, notes, title=counts(rows), sentences=warnings)


def _in_order(rows: Rows, order: Order | None) -> list[Row]:
    """Rows by dataset, measure and cutoff (the primary ones first), attribute and the order; without a value last.

    A row with weights follows that without.
    """
    column, is_descending = (order.column, order.descending) if order else ("difference", False)
    kinds = {(row["measure"], row["cutoff"]): place for place, row in reversed(list(enumerate(rows)))}
    kinds |= {(row["measure"], row["cutoff"]): -1 for row in rows if row["family"] == PRIMARY}
    without_weights = {_key(row): row[column] for row in rows if row["weight_effective_n"] is None}

    def value(row: Row) -> Any:
        return sort_value(without_weights.get(_key(row), row[column]))

    def place(row: Row) -> Any:
        return row["dataset"], kinds[row["measure"], row["cutoff"]], row["attribute"] or "", value(row) is None

    # Sorting keeps the order of equals, also in reverse, so the least important key is sorted by first.
    by_name = sorted(
        rows, key=lambda row: (row["run"], row["baseline"], row["value"] or "", row["weight_effective_n"] is not None)
    )
    valued = sorted((r for r in by_name if value(r) is not None), key=value, reverse=is_descending)
    return sorted([*valued, *(row for row in by_name if value(row) is None)], key=place)


def _key(row: Row) -> tuple[Any, ...]:
    names = ("dataset", "evaluated_on", "run", "baseline", "baseline_night", "measure", "cutoff", "attribute", "value")
    return tuple(row[name] for name in names)


def run_comparison_table(rows: Rows, family: Rows, correction: str, alpha: float) -> TextTable:
    """The comparisons of one run, without its name, with the stars behind p, and intervals in numbers."""
    left_out = ("dataset", "run", "", "p", "could see", "needed")
    columns = [each for each in _columns(family) if each.heading not in left_out]
    starred = number("p", lambda row: f"{p_value(row['p_adjusted'])}{stars(row)}", str)
    columns = [starred if each.heading == "adjusted" else each for each in columns]
    return text_table(columns, rows, comparison_notes(rows, correction, alpha))


def _columns(rows: Rows) -> list[TextColumn]:
    sliced = any(row["attribute"] is not None for row in rows)
    return [
        *(*_runs(rows), name("measure", _measure)),
        *([name("slice", _slice)] * sliced),
        *(number("queries", form=counted), number("mean"), number("baseline", "baseline_mean")),
        *(number("difference", form=signed), name("", stars), number("interval", interval, str)),
        *(number("p", "p_value", p_value), number("adjusted", "p_adjusted", p_value)),
        # Stars and the sign of the difference say the rest.
        *([name("conclusion", form=CONCLUSIONS.__getitem__)] * any(row["conclusion"] == "same" for row in rows)),
        *(number(count, form=counted) for count in ("wins", "ties", "losses")),
        *(number("could see", "minimum_detectable"), number("needed", "queries_needed", counted)),
        name("flags", form=" ".join),
    ]


def _runs(rows: Rows) -> list[TextColumn]:
    """The runs; where there are several, the datasets; and where one is compared with several, the baselines."""
    several = len({(row["run"], row["baseline"]) for row in rows}) > len({row["run"] for row in rows})
    return [*_datasets(rows), name("run"), *([name("against", "baseline")] if several else [])]


def _datasets(rows: Rows) -> list[TextColumn]:
    return [name("dataset")] if len({row["dataset"] for row in rows}) > 1 else []


def differing_slices_table(rows: Rows) -> TextTable:
    """Whether the slices of attributes differ."""
    columns = [*_runs(rows), name("measure", _measure), name("attribute"), number("slices", form=counted)]
    note = "p: for the hypothesis that all slices of the attribute have the same difference (Brown and Forsythe)"
    return text_table([*columns, number("p", "p_value", p_value)], rows, [note])


def query_table(rows: Rows) -> TextTable:
    """The queries that lost and won most, of each run."""
    scores = [number("baseline", "baseline_score"), number("score"), number("difference", form=signed)]
    return text_table([*_runs(rows), name("measure", _measure), name("query", "query_id"), *scores], rows)


def transition_table(rows: Rows) -> TextTable | None:
    """What queries of each pair of statuses do to the means, and the sum; None where all statuses are as they were."""
    of_places: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        place = tuple(row[each] for each in ("dataset", "evaluated_on", "run", "baseline", "measure", "cutoff"))
        of_places.setdefault(place, []).append(row)
    shown: list[Row] = []
    for parts in of_places.values():
        if any(part["status"] != part["baseline_status"] for part in parts):
            changes = [part["change"] for part in parts if part["change"] is not None]
            total = {"baseline_status": "all", "status": "all", "queries": sum(part["queries"] for part in parts)}
            shown += [*parts, {**parts[0], **total, "change": math.fsum(changes) if changes else None}]
    columns = [
        *(*_runs(rows), name("measure", _measure)),
        *(name("was", "baseline_status", status), name("is", "status", status)),
        *(number("queries", form=counted), number("change of the mean", "change", signed)),
    ]
    note = "change of the mean: each score counts as its distance from the baseline's mean"
    return text_table(columns, shown, [note]) if shown else None


def status(value: str | None) -> str:
    """The status of a query, which may be missing."""
    return value or "not there"


def _measure(row: Row) -> str:
    weighted = " weighted" if row.get("weight_effective_n") is not None else ""
    return f"{row['measure']}@{format_cutoff(row['cutoff'])}{weighted}"


def _slice(row: Row) -> str:
    return "" if row["attribute"] is None else f"{row['attribute']}={row['value']}"


def p_value(value: float | None) -> str:
    """A p value to four decimals, a dash if there is none."""
    if value is None:
        return "-"
    return "<0.0001" if value < 0.0001 else f"{value:.4f}"


def interval(row: Row) -> str:
    """The confidence interval of a difference in numbers, a dash if there is none."""
    low, high = row["interval_low"], row["interval_high"]
    return "-" if low is None else f"{signed(low)} to {signed(high)}"
