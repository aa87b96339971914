"""Comparisons as tables: a row per run, measure, cutoff and slice."""

from collections.abc import Callable, Sequence
from typing import Any

from ndcg_spark.convention.cutoffs import format_cutoff
from ndcg_spark.tables.comparison_notes import Row, Rows, comparison_notes, counts, in_words
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
    *("wins", "losses", "minimum_detectable"),
)


def comparison_table(
    rows: Rows,
    correction: str,
    alpha: float,
    *,
    order: Order | None = None,
    warnings: Sequence[str] = (),
    top: int | None = None,
) -> TextTable:
    """One row per comparison below a count of conclusions and the warnings.

    The `top` ones in the `order`, by default the worst difference first.
    """
    shown = _in_order(rows, order)[:top]
    notes = comparison_notes(shown, correction, alpha)
    if top is not None and len(rows) > top:
        notes.insert(0, f"and {len(rows) - top:,} more without --top")
    return text_table(_columns(rows), shown, notes, title=counts(rows), sentences=warnings)


def _in_order(rows: Rows, order: Order | None) -> list[Row]:
    """Rows by dataset, measure and cutoff, attribute and the order; without a value last.

    A row with weights follows that without.
    """
    column, is_descending = (order.column, order.descending) if order else ("difference", False)
    kinds = {(row["measure"], row["cutoff"]): place for place, row in reversed(list(enumerate(rows)))}
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


def _columns(rows: Rows) -> list[TextColumn]:
    several = len({(row["measure"], row["cutoff"], row["weight_effective_n"] is None) for row in rows}) > 1
    what = [*([name("measure", _measure)] if several else []), *_slices(rows)]
    mean, baseline, *rest, counts, conclusion = compared_columns()
    # With names of up to a dozen letters, a line has a hundred at most.
    rest = [*([] if what else [baseline]), *rest, *([] if len(what) > 1 else [counts])]
    return [*_runs(rows), *what, mean, *rest, conclusion]


def compared_columns(mean: str = "mean", p: str = "p_adjusted") -> list[TextColumn]:
    """How a run compares: its mean, and what is known about the difference; nothing is tested where nothing changed."""

    def tested(column: str) -> Callable[[Row], Any]:
        return lambda row: None if "unchanged" in row["flags"] else row[column]

    return [
        *(number(mean, "mean"), number("baseline", "baseline_mean"), number("difference", form=signed)),
        *(number("interval", interval, str), number("p (adjusted)", tested(p), p_value)),
        *(number("won/tied/lost", won_tied_lost, str), name("conclusion", in_words)),
    ]


def _slices(rows: Rows) -> list[TextColumn]:
    return [name("slice", _slice)] if any(row["attribute"] is not None for row in rows) else []


def won_tied_lost(row: Row) -> str:
    """How many queries won, tied and lost."""
    return "/".join(counted(row[each]) for each in ("wins", "ties", "losses"))


def _runs(rows: Rows) -> list[TextColumn]:
    """The runs; where there are several, the datasets; and where one is compared with several, the baselines."""
    several = len({(row["run"], row["baseline"]) for row in rows}) > len({row["run"] for row in rows})
    return [*_datasets(rows), name("run"), *([name("against", "baseline")] if several else [])]


def _datasets(rows: Rows) -> list[TextColumn]:
    return [name("dataset")] if len({row["dataset"] for row in rows}) > 1 else []


def query_table(rows: Rows) -> TextTable:
    """The queries that lost and won most, of each run."""
    scores = [number("baseline", "baseline_score"), number("score"), number("difference", form=signed)]
    return text_table([*_runs(rows), name("measure", _measure), name("query", "query_id"), *scores], rows)


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
    return "-" if low is None or "unchanged" in row["flags"] else f"{signed(low)}, {signed(high)}"
