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
    place = _place(estimate)
    tone = _TONES[estimate.conclusion]
    judge = _row("the judge", own.machine, [("thin", own.machine_interval)], place, "mid")
    intervals = [("thin", own.all_queries), ("ci", own.these_queries)]
    label = "people"
    people = _row(label, own.difference, intervals, place, tone)
    graded = count(own.graded, "grade")
    rows = [judge, people._replace(score=graded, words=CONCLUDED[estimate.conclusion])]
    note = marked(
        "Solid line: no difference. Thick bar: {} interval for these {:,} queries. "
        "Thin bars: for all queries like these.",
        level(own.alpha),
        own.queries,
    )
    return Forest(rows, [], note)


def _place(estimate: HumanEstimate) -> Mapping[float, float]:
    """The positions of all numbers in the chart, in percent."""
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
    place: Mapping[float, float],
    tone: str,
) -> ForestRow:
    zero = f"{place[0.0]:.2f}"
    lines = [Line(zero, zero, "0", "10", "zero")]
    said = f"{label}: {difference(value)}"
    for kind, interval in intervals:
        if interval.low is not None and interval.high is not None:
            between = (f"{place[interval.low]:.2f}", f"{place[interval.high]:.2f}")
            lines.append(Line(*between, "5", "5", f"{kind} {tone}"))
            said += f", {ends(interval)}"
    at = f"{place[value]:.2f}"
    lines.append(Line(at, at, "5", "5", f"dot {tone}"))
    return ForestRow(marked("{}", label), "", said, lines, tone, difference(value), "")
