"""Comparisons as tables: a row per run, measure, cutoff and slice, the interval drawn as a bar."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ndcg_spark.tables.table import TextColumn, TextTable, at, counted, name, number, rounded, signed, text_table

Rows = Sequence[Mapping[str, Any]]

#: How many characters a bar has; no difference is in the middle.
_WIDTH = 25
_HALF = _WIDTH // 2
#: What a bar is drawn with: the interval, the difference, no difference.
SIGNS, PLAIN_SIGNS = "─●│", "-o|"

#: What each mark means.
_MARKS = ((0.001, "***"), (0.01, "**"), (0.05, "*"))
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


def comparison_table(rows: Rows, correction: str, alpha: float, signs: str | None = SIGNS) -> TextTable:
    """One row per comparison. The interval is drawn with the `signs`, or stands in numbers where there are none."""
    ends = [abs(row[end]) for row in rows for end in ("interval_low", "interval_high") if row[end] is not None]
    reach = max(ends, default=0.0)
    if rounded(reach) == rounded(0.0):
        # Rounding errors of sums are not drawn.
        reach = 0.0
    notes = comparison_notes(rows, rows, correction, alpha, reach if signs else 0.0)
    return text_table(
        _columns(rows, lambda row: interval(row) if signs is None else _bar(row, reach, signs)), rows, notes
    )


def run_comparison_table(rows: Rows, family: Rows, correction: str, alpha: float) -> TextTable:
    """The same of the rows of one run, without its name, with the stars behind p, and intervals in numbers."""
    columns = [each for each in _columns(family, interval) if each.heading not in ("dataset", "run", "")]
    starred = number("p", lambda row: f"{p_value(row['p_adjusted'])}{mark(row['p_adjusted'])}", str)
    replaced = {"p": starred, "interval": number("interval", interval, str)}
    columns = [replaced.get(each.heading, each) for each in columns]
    return text_table(columns, rows, comparison_notes(rows, family, correction, alpha))


def _columns(rows: Rows, drawn: Callable[[Mapping[str, Any]], str]) -> list[TextColumn]:
    several = len({row["dataset"] for row in rows}) > 1
    sliced = any(row["attribute"] is not None for row in rows)
    return [
        *([name("dataset")] if several else []),
        *(name("run"), name("measure", _measure)),
        *(
            [name("slice", lambda row: "" if row["attribute"] is None else f"{row['attribute']}={row['value']}")]
            * sliced
        ),
        *(number("queries", form=counted), number("mean"), number("baseline", "baseline_mean")),
        *(number("difference", form=signed), name("", "p_adjusted", mark), name("interval", drawn)),
        number("p", "p_adjusted", p_value),
        *(number(count, form=counted) for count in ("wins", "ties", "losses")),
        name("flags", form=" ".join),
    ]


def query_table(rows: Rows) -> TextTable:
    """The queries that lost and won most, of each run."""
    scores = [number("baseline", "baseline_score"), number("score"), number("difference", form=signed)]
    return text_table([name("run"), name("measure", _measure), name("query", "query_id"), *scores], rows)


def transition_table(rows: Rows) -> TextTable | None:
    """What queries whose status has changed do to the means; None where all statuses are as they were."""
    changed = [row for row in rows if row["status"] != row["baseline_status"]]
    columns = [
        *(name("run"), name("measure", _measure), name("was", "baseline_status", status), name("is", "status", status)),
        *(number("queries", form=counted), number("change of the mean", "change", signed)),
    ]
    return text_table(columns, changed) if changed else None


def status(value: str | None) -> str:
    """The status of a query, which may not be there."""
    return value or "not there"


def mark(p_value: float | None) -> str:
    """One, two or three stars for a p value below 0.05, 0.01 and 0.001."""
    return "" if p_value is None else next((stars for limit, stars in _MARKS if p_value < limit), "")


def _measure(row: Mapping[str, Any]) -> str:
    weighted = " weighted" if row.get("weight_effective_n") is not None else ""
    return f"{row['measure']}@{at(row['cutoff'])}{weighted}"


def _slice(row: Mapping[str, Any]) -> str:
    return "" if row["attribute"] is None else f"{row['attribute']}={row['value']}"


def p_value(value: float | None) -> str:
    """A p value to four decimals, a dash if there is none."""
    if value is None:
        return "-"
    return "<0.0001" if value < 0.0001 else f"{value:.4f}"


def interval(row: Mapping[str, Any]) -> str:
    """The confidence interval of a difference in numbers, a dash if there is none."""
    low, high = row["interval_low"], row["interval_high"]
    return "-" if low is None else f"{signed(low)} to {signed(high)}"


def _bar(row: Mapping[str, Any], reach: float, signs: str) -> str:
    """The interval on a line whose ends are -reach and reach."""
    line, point, zero = tuple(signs)
    if row["interval_low"] is None or not reach:
        return ""
    low, here, high = (
        round(_HALF * (1 + row[name] / reach)) for name in ("interval_low", "difference", "interval_high")
    )
    drawn = [line if low <= place <= high else " " for place in range(_WIDTH)]
    drawn[_HALF] = zero
    drawn[here] = point
    return "".join(drawn)


def comparison_notes(rows: Rows, family: Rows, correction: str, alpha: float, reach: float = 0.0) -> list[str]:
    """What stands in rows that are shown, in words.

    `family` are all that p values were adjusted for, and `reach` the ends of the line that intervals are drawn on.
    """
    notes = notes_of_test(rows, family, correction)
    scale = f", on a line from -{reach:.4f} to +{reach:.4f}" if reach else ""
    if any(row["interval_low"] is not None for row in rows):
        level = f"{100 * (1 - alpha):g} %"
        notes.append(f"interval: {level} of the mean difference over the queries that both have{scale}")
    flags = dict.fromkeys(flag for row in rows for flag in row["flags"])
    return [*notes, *(f"{flag}: {FLAGS[flag]}" for flag in flags if flag in FLAGS)]


def notes_of_test(rows: Rows, family: Rows, correction: str) -> list[str]:
    """The baseline, the test, and what the stars mean if there are any."""
    tested = sum(row["p_adjusted"] is not None for row in family)
    adjusted = (
        f", adjusted for {tested:,} comparisons ({_CORRECTIONS[correction]})"
        if correction in _CORRECTIONS and tested > 1
        else ""
    )
    is_marked = any(mark(row["p_adjusted"]) for row in rows)
    stars = "; * below 0.05, ** below 0.01, *** below 0.001" if is_marked else ""
    baselines = sorted({_baseline(row) for row in rows})
    notes = [
        f"baseline: {baselines[0]}" if len(baselines) == 1 else f"baseline: the run of the same name{_night(rows)}"
    ]
    if any(row["p_adjusted"] is not None for row in rows):
        notes.append(f"p: two-sided {_test(rows)}{adjusted}{stars}")
    return notes


def _test(rows: Rows) -> str:
    # Where no query has changed, p is 1 without a test.
    tests = [row["test"] for row in rows if row["test"] and "unchanged" not in row["flags"]]
    is_randomized = tests and all("randomization" in test for test in tests)
    return "randomization test" if is_randomized else "paired t test"


def _baseline(row: Mapping[str, Any]) -> str:
    return f"{row['baseline']}{_night([row])}"


def _night(rows: Rows) -> str:
    nights = {row["baseline_night"] for row in rows}
    return f" of {nights.pop()}" if len(nights) == 1 and None not in nights else ""
