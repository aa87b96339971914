"""The chart that compares a few human grades with those of a machine judge."""

from collections.abc import Mapping, Sequence

from ndcg_spark.comparison.corrected import Interval
from ndcg_spark.comparison.human_grades import HumanEstimate
from ndcg_spark.report.charts import Forest, ForestRow, Line
from ndcg_spark.report.human_words import CONCLUDED, ends
from ndcg_spark.tables.format import count, difference, level
from ndcg_spark.tables.html import marked

_TONES = {"better": "ok", "worse": "bad", "cannot_tell": "mid"}


def both_intervals(estimate: HumanEstimate) -> Forest:
    """The judge's difference above the people's, each with its intervals."""
    own = estimate.corrected
    positions = _positions(estimate)
    tone = _TONES[estimate.conclusion]
    judge = _row("the judge", own.machine, [("thin", own.machine_interval)], positions, "mid")
    intervals = [("thin", own.all_queries), ("ci", own.these_queries)]
    people = _row("people", own.difference, intervals, positions, tone)
    graded = count(own.graded, "grade")
    rows = [judge, people._replace(score=graded, words=CONCLUDED[estimate.conclusion])]
    note = marked(
        "Solid line: no difference. Thick bar: {} interval for these {:,} queries. "
        "Thin bars: for all queries like these.",
        level(own.alpha),
        own.queries,
    )
    return Forest(rows, [], note)


def _positions(estimate: HumanEstimate) -> Mapping[float, float]:
    """The position of each number in the chart, in percent: `{0.0: 96.0, -0.12: 4.0}`."""
    own = estimate.corrected
    known = [0.0, own.machine, own.difference]
    for interval in (own.machine_interval, own.these_queries, own.all_queries):
        if interval.low is not None and interval.high is not None:
            known += [interval.low, interval.high]
    low, high = min(known), max(known)
    width = max(high - low, 1e-3)
    return {value: 4 + 92 * (value - low) / width for value in known}


def _row(
    label: str,
    value: float,
    intervals: Sequence[tuple[str, Interval]],
    positions: Mapping[float, float],
    tone: str,
) -> ForestRow:
    """A row with a dot and bars for intervals, each with the CSS class of its bar."""
    zero = f"{positions[0.0]:.2f}"
    lines = [Line(zero, zero, "0", "10", "zero")]
    text = f"{label}: {difference(value)}"
    for kind, interval in intervals:
        if interval.low is not None and interval.high is not None:
            low = f"{positions[interval.low]:.2f}"
            high = f"{positions[interval.high]:.2f}"
            lines.append(Line(low, high, "5", "5", f"{kind} {tone}"))
            text += f", {ends(interval)}"
    at = f"{positions[value]:.2f}"
    lines.append(Line(at, at, "5", "5", f"dot {tone}"))
    return ForestRow(marked("{}", label), "", text, lines, tone, difference(value), "")
