"""What the rows of comparisons say in words: the baseline, the tests, the stars and the flags."""

from collections.abc import Mapping, Sequence
from typing import Any

from ndcg_spark.convention.cutoffs import format_cutoff

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
    baselines = sorted({_baseline(row) for row in rows})
    is_of_same_name = len(baselines) != 1 and all(row["baseline"] == row["run"] for row in rows)
    notes = [f"baseline: {f'the run of the same name{_night(rows)}' if is_of_same_name else ', '.join(baselines)}"]
    is_tested = any(row["p_value"] is not None for row in rows)
    return [*notes, *([f"p: two-sided paired t test{adjusted}{meaning}"] if is_tested else [])]


def _baseline(row: Row) -> str:
    return f"{row['baseline']}{_night([row])}"


def _night(rows: Rows) -> str:
    nights = {row["baseline_night"] for row in rows}
    return f" of {nights.pop()}" if len(nights) == 1 and None not in nights else ""
