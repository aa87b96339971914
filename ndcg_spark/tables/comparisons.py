"""Comparisons as tables: a row per run, measure, cutoff and slice; the baseline, the test, stars and flags in words."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ndcg_spark.convention.cutoffs import format_cutoff
from ndcg_spark.tables.sorting import Order, sort_value
from ndcg_spark.tables.table import TextColumn, TextTable, counted, name, number, signed, text_table

Row = Mapping[str, Any]
Rows = Sequence[Row]

#: The flag of a comparison in which some queries have other judgments than in the baseline, so that a difference says
#: nothing about the run.
OTHER_JUDGMENTS = "other_judgments"
#: The flags of comparisons from which nothing is concluded.
DOUBTED = frozenset({OTHER_JUDGMENTS, "doubt"})

#: What each mark means.
_MARKS = ((0.001, "***"), (0.01, "**"), (0.05, "*"))
CONCLUSIONS = {
    "worse": "worse",
    "better": "better",
    "same": "same",
    "cannot_tell": "cannot tell",
    None: "not tested",
}
_CORRECTIONS = {"holm": "Holm", "bonferroni": "Bonferroni", "bh": "Benjamini-Hochberg"}

#: What each flag of a comparison means.
FLAGS = {
    "run_missing": "the run has no scores here",
    "baseline_missing": "the baseline has no scores here",
    "below_min_queries": "too few queries of this slice to be tested",
    "unchanged": "no query has changed",
    "too_few": "one query or none, so nothing can be tested",
    "no_variation": "every query differs by the same, so there is no interval, and p is that of random signs",
    "few_changed": "fewer than 10 queries have changed",
    "doubt": "t and the randomization test disagree about whether this is significant, so nothing is concluded",
    "other_judgments": "the judgments of some queries differ, which changes scores, too; nothing is concluded",
}
#: By what the rows of a comparison can be sorted.
SORT_COLUMNS = (
    *("difference", "run", "mean", "baseline_mean", "relative_difference", "p_value", "p_adjusted", "effect_size"),
    *("wins", "losses", "minimum_detectable"),
)


def mark(p_value: float | None) -> str:
    """One, two or three stars for a p value below 0.05, 0.01 and 0.001."""
    return "" if p_value is None else next((stars for limit, stars in _MARKS if p_value < limit), "")


def stars(row: Row) -> str:
    """The mark of the p value that decides; none where nothing is concluded."""
    return "" if DOUBTED.intersection(row["flags"]) else mark(row["p_decides"])


def counts(rows: Rows) -> str:
    """How many comparisons of the first measure, on all queries if there are any, have which conclusion."""
    rows = [row for row in rows if row["attribute"] is None] or rows
    first = next(((row["measure"], row["cutoff"]) for row in rows), None)
    found: dict[str, int] = {}
    for row in rows:
        if (row["measure"], row["cutoff"]) == first and row["weight_effective_n"] is None:
            found[in_words(row)] = found.get(in_words(row), 0) + 1
    listed = ", ".join(f"{found[each]:,} {each}" for each in (*CONCLUSIONS.values(), "unchanged") if each in found)
    return f"{first[0]}@{format_cutoff(first[1])}: {listed}" if first else listed


def in_words(row: Row) -> str:
    """The conclusion of a row."""
    return "unchanged" if "unchanged" in row["flags"] else CONCLUSIONS[row["conclusion"]]


def comparison_notes(rows: Rows, correction: str, alpha: float) -> list[str]:
    """Notes on the rows that are shown."""
    notes = notes_of_test(rows, correction, starred=False)
    if any(row["interval_low"] is not None for row in rows):
        level = f"{100 * (1 - alpha):g} %"
        notes.append(f"interval: {level} of the mean difference over {_queries(rows)} that both have, each by itself")
    flags = dict.fromkeys(flag for row in rows for flag in row["flags"])
    return [*notes, *(f"{_flagged(rows, flag)}{flag}: {FLAGS[flag]}" for flag in flags if flag in FLAGS)]


def _queries(rows: Rows) -> str:
    numbers = {row["queries"] for row in rows}
    return f"the {min(numbers):,}{f' to {max(numbers):,}' if len(numbers) > 1 else ''} queries"


def _flagged(rows: Rows, flag: str) -> str:
    """The runs with a flag, where others do not have it."""
    runs = dict.fromkeys(row["run"] for row in rows if flag in row["flags"])
    if len(runs) == len({row["run"] for row in rows}):
        return ""
    return f"{', '.join([*runs][:3])}{f' and {len(runs) - 3:,} more' if len(runs) > 3 else ''}: "


def notes_of_test(rows: Rows, correction: str, *, starred: bool = True) -> list[str]:
    """The baseline, the test, and what the stars mean if there are any."""
    sizes = [row["family_size"] for row in rows if row["family_size"] is not None]
    several = f"{min(sizes):,} to {max(sizes):,}" if len(set(sizes)) > 1 else f"{max(sizes, default=0):,}"
    is_adjusted = correction in _CORRECTIONS and max(sizes, default=0) > 1
    adjusted = f", adjusted for {several} comparisons ({_CORRECTIONS[correction]})" if is_adjusted else ""
    meaning = "; * below 0.05, ** below 0.01, *** below 0.001" if starred and any(map(stars, rows)) else ""
    baselines = sorted({f"{row['baseline']}{_night([row])}" for row in rows})
    is_of_same_name = len(baselines) != 1 and all(row["baseline"] == row["run"] for row in rows)
    notes = [f"baseline: {f'the run of the same name{_night(rows)}' if is_of_same_name else ', '.join(baselines)}"]
    is_tested = any(row["p_value"] is not None for row in rows)
    return [*notes, *([f"p: two-sided paired t test{adjusted}{meaning}"] if is_tested else [])]


def _night(rows: Rows) -> str:
    nights = {row["baseline_night"] for row in rows}
    return f" of {nights.pop()}" if len(nights) == 1 and None not in nights else ""


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
    what = [*([name("measure", _measure)] if several else [])]
    what += [name("slice", _slice)] if any(row["attribute"] is not None for row in rows) else []
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


def won_tied_lost(row: Row) -> str:
    """How many queries won, tied and lost."""
    return "/".join(counted(row[each]) for each in ("wins", "ties", "losses"))


def _runs(rows: Rows) -> list[TextColumn]:
    """The runs; where there are several, the datasets; and where one is compared with several, the baselines."""
    several = len({(row["run"], row["baseline"]) for row in rows}) > len({row["run"] for row in rows})
    datasets = [name("dataset")] if len({row["dataset"] for row in rows}) > 1 else []
    return [*datasets, name("run"), *([name("against", "baseline")] if several else [])]


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
