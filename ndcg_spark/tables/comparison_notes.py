"""What the rows of comparisons say in words: the baseline, the tests, the stars and the flags."""

from collections.abc import Mapping, Sequence
from typing import Any

from ndcg_spark.convention.cutoffs import format_cutoff

Row = Mapping[str, Any]
Rows = Sequence[Row]

#: The family of the comparisons that come first and are counted.
PRIMARY = "primary"
#: The flag of a comparison in which some queries have other judgments than in the baseline, so that a difference says
#: nothing about the run.
OTHER_JUDGMENTS = "other_judgments"

#: What each mark means.
_MARKS = ((0.001, "***"), (0.01, "**"), (0.05, "*"))
_TESTS = {
    "t": "paired t test",
    "corrected t": "t test corrected for skewness",
    "randomization": "randomization test",
}
CONCLUSIONS = {
    "worse": "worse",
    "better": "better",
    "same": "the same",
    "cannot_tell": "not told apart",
    None: "not tested",
}
_CORRECTIONS = {"holm": "Holm", "bh": "Benjamini-Hochberg"}

#: What each flag of a comparison means.
FLAGS = {
    "run_missing": "the run has no scores here",
    "baseline_missing": "the baseline has no scores here",
    "below_min_queries": "too few queries of this slice to be tested",
    "without_weight": "some of the queries have no weight and are left out",
    "unchanged": "no query has changed",
    "too_few": "one query or none, so nothing can be tested",
    "no_variation": "every query differs by the same, so the interval is a point",
    "few_changed": "fewer than 30 queries have changed: p is that of the randomization test, the interval is doubtful",
    "skewed": "the differences are skewed: p and the interval are doubtful, also where they are corrected for it",
    "other_judgments": "the judgments of some queries differ, which changes scores, too; nothing is concluded",
    "few_effective": "the weights count for fewer than 30 queries",
    "one_weighs_much": "one query has more than 5 % of the weight",
    "simpson": "every slice of an attribute changes the other way",
}


def mark(p_value: float | None) -> str:
    """One, two or three stars for a p value below 0.05, 0.01 and 0.001."""
    return "" if p_value is None else next((stars for limit, stars in _MARKS if p_value < limit), "")


def stars(row: Row) -> str:
    """The mark of a row's adjusted p value; none where judgments differ: the run did not cause that."""
    return "" if OTHER_JUDGMENTS in row["flags"] else mark(row["p_adjusted"])


def counts(rows: Rows) -> str:
    """How many comparisons of the primary measure, or of all that are shown, have which conclusion."""
    primary = {(row["measure"], row["cutoff"]) for row in rows if row["family"] == PRIMARY}
    found: dict[str, int] = {}
    for row in rows:
        is_counted = not primary or (row["measure"], row["cutoff"]) in primary
        if is_counted and row["weight_effective_n"] is None:
            words = "unchanged" if "unchanged" in row["flags"] else CONCLUSIONS[row["conclusion"]]
            found[words] = found.get(words, 0) + 1
    listed = ", ".join(f"{found[each]:,} {each}" for each in (*CONCLUSIONS.values(), "unchanged") if each in found)
    names = ", ".join(sorted(f"{measure}@{format_cutoff(cutoff)}" for measure, cutoff in primary))
    return f"{names}: {listed}" if names else listed


def comparison_notes(rows: Rows, correction: str, alpha: float) -> list[str]:
    """Notes on the rows that are shown."""
    notes = notes_of_test(rows, correction)
    if any(row["interval_low"] is not None for row in rows):
        level = f"{100 * (1 - alpha):g} %"
        notes.append(f"interval: {level} of the mean difference over the queries that both have, each by itself")
    flags = dict.fromkeys(flag for row in rows for flag in row["flags"])
    return [*notes, *(f"{flag}: {FLAGS[flag]}" for flag in flags if flag in FLAGS)]


def notes_of_test(rows: Rows, correction: str) -> list[str]:
    """The baseline, the test, and what the stars mean if there are any."""
    sizes = [row["family_size"] for row in rows if row["family_size"] is not None]
    several = f"{min(sizes):,} to {max(sizes):,}" if len(set(sizes)) > 1 else f"{max(sizes, default=0):,}"
    is_adjusted = correction in _CORRECTIONS and max(sizes, default=0) > 1
    adjusted = f", adjusted for {several} comparisons ({_CORRECTIONS[correction]})" if is_adjusted else ""
    meaning = "; * below 0.05, ** below 0.01, *** below 0.001" if any(map(stars, rows)) else ""
    baselines = sorted({_baseline(row) for row in rows})
    is_of_same_name = len(baselines) != 1 and all(row["baseline"] == row["run"] for row in rows)
    notes = [f"baseline: {f'the run of the same name{_night(rows)}' if is_of_same_name else ', '.join(baselines)}"]
    found = {row["test"].removeprefix("weighted ") for row in rows if row["test"]}
    *others, last = [words for test, words in _TESTS.items() if test in found] or [""]
    tests = f"{', '.join(others)} or {last}" if others else last
    return [*notes, *([f"p: two-sided {tests}{adjusted}{meaning}"] if tests else [])]


def _baseline(row: Row) -> str:
    return f"{row['baseline']}{_night([row])}"


def _night(rows: Rows) -> str:
    nights = {row["baseline_night"] for row in rows}
    return f" of {nights.pop()}" if len(nights) == 1 and None not in nights else ""
