"""Comparisons as sheets: a row per run, measure, cutoff and slice, the interval drawn as a bar."""

from collections.abc import Mapping, Sequence
from typing import Any

from ndcg_spark.sheets.sheet import Sheet, at, rounded, sheet

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
    "no_variation": "every query differs by the same, so nothing can be tested",
    "few_changed": "fewer than 30 queries have changed: p is that of the randomization test",
    "skewed": "the differences are skewed: p is that of the randomization test",
    "few_effective": "the weights count for fewer than 30 queries",
    "one_weighs_much": "one query has more than 5 % of the weight",
    "simpson": "every slice of an attribute changes the other way",
}


def comparison_sheet(rows: Rows, correction: str, alpha: float, signs: str | None = SIGNS) -> Sheet:
    """One row per comparison. The interval is drawn with the `signs`, or stands in numbers where there are none."""
    several = len({row["dataset"] for row in rows}) > 1
    sliced = any(row["attribute"] is not None for row in rows)
    names = [*(["dataset"] if several else []), "run", "measure", *(["slice"] if sliced else [])]
    numbers = ["queries", "mean", "baseline", "difference"]
    more = ["", "interval", "p", "wins", "ties", "losses", "flags"]
    ends = [abs(row[name]) for row in rows for name in ("interval_low", "interval_high") if row[name] is not None]
    reach = max(ends, default=0.0)
    if rounded(reach) == rounded(0.0):
        # Nothing is drawn of what is but the rounding of sums.
        reach = 0.0
    cells = []
    for row in rows:
        own = {
            "dataset": row["dataset"],
            "run": row["run"],
            "measure": _measure(row),
            "slice": "" if row["attribute"] is None else f"{row['attribute']}={row['value']}",
        }
        drawn = _numbers(row) if signs is None else _bar(row, reach, signs)
        cells.append(
            [
                *(own[name] for name in names),
                f"{row['queries']:,}",
                *(rounded(row[name]) for name in ("mean", "baseline_mean")),
                signed(row["difference"]),
                mark(row["p_adjusted"]),
                drawn,
                p_value(row["p_adjusted"]),
                *(f"{row[name]:,}" for name in ("wins", "ties", "losses")),
                " ".join(row["flags"]),
            ]
        )
    headings = [*names, *numbers, *more]
    right = [headings.index(name) for name in (*numbers, "p", "wins", "ties", "losses")]
    return sheet(headings, cells, right, comparison_notes(rows, rows, correction, alpha, reach if signs else 0.0))


def query_sheet(rows: Rows) -> Sheet:
    """The queries that lost and won most, of each run."""
    headings = ["run", "measure", "query", "baseline", "score", "difference"]
    cells = (
        [
            *(row["run"], _measure(row), row["query_id"]),
            *(rounded(row["baseline_score"]), rounded(row["score"]), signed(row["difference"])),
        ]
        for row in rows
    )
    return sheet(headings, cells, (3, 4, 5))


def transition_sheet(rows: Rows) -> Sheet | None:
    """What queries whose status has changed do to the means; None where all statuses are as they were."""
    changed = [row for row in rows if row["status"] != row["baseline_status"]]
    if not changed:
        return None
    headings = ["run", "measure", "was", "is", "queries", "change of the mean"]
    cells = (
        [
            *(row["run"], _measure(row), row["baseline_status"] or "not there", row["status"] or "not there"),
            *(f"{row['queries']:,}", signed(row["change"])),
        ]
        for row in changed
    )
    return sheet(headings, cells, (4, 5))


def mark(p_value: float | None) -> str:
    """One, two or three stars for a p value below 0.05, 0.01 and 0.001."""
    return "" if p_value is None else next((stars for limit, stars in _MARKS if p_value < limit), "")


def _measure(row: Mapping[str, Any]) -> str:
    weighted = " weighted" if row.get("weight_effective_n") is not None else ""
    return f"{row['measure']}@{at(row['cutoff'])}{weighted}"


def signed(value: float | None) -> str:
    """A difference to four decimals with its sign, a dash if there is none."""
    return "-" if value is None else f"{value:+z.4f}"


def p_value(value: float | None) -> str:
    """A p value to four decimals, a dash if there is none."""
    if value is None:
        return "-"
    return "<0.0001" if value < 0.0001 else f"{value:.4f}"


def _numbers(row: Mapping[str, Any]) -> str:
    low, high = row["interval_low"], row["interval_high"]
    return "-" if low is None else f"{low:+z.4f} to {high:+z.4f}"


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
