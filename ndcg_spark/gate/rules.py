"""The rules of the gate as arithmetic: how much may be lost, and what an interval and a p value say about it."""

from collections.abc import Mapping
from typing import Any

from ndcg_spark.gate.verdict import Code, Outcome

#: A row of COMPARISONS.
Row = Mapping[str, Any]
Decision = tuple[Outcome, Code]

#: Sums of a million queries differ in their last digits from engine to engine; no verdict hangs on those.
ROUNDING = 1e-12


def allowed_drop(max_drop: float | None, max_relative_drop: float | None, baseline_mean: float) -> float | None:
    """How much may be lost, the stricter of both limits; with a baseline of 0 only the absolute one; None if none."""
    relative = None if max_relative_drop is None or baseline_mean == 0 else max_relative_drop * abs(baseline_mean)
    limits = [limit for limit in (max_drop, relative) if limit is not None]
    return min(limits) if limits else None


def decide_drop(rule: str, row: Row, allowed: float, p: float | None, alpha: float) -> Decision:
    """Whether a row of COMPARISONS has lost more than is allowed, by a rule.

    `p` is the p value that decides whether a loss is significant: that of the row, adjusted where the gate asks for it.
    Without correction and randomization, p < alpha says the same as an interval that ends below 0.
    """
    beyond = row["difference"] < -allowed - ROUNDING
    if "unchanged" in row["flags"]:
        return Outcome.PASS, Code.UNCHANGED
    if rule == "threshold":
        return (Outcome.FAIL, Code.DROPPED) if beyond else (Outcome.PASS, Code.WITHIN)
    low = row["interval_low"]
    if p is None or low is None:
        return Outcome.INCOMPARABLE, Code.DEGENERATE
    if beyond and p < alpha:
        return Outcome.FAIL, Code.DROPPED
    return _not_failed(rule, beyond, low > -allowed)


def _not_failed(rule: str, beyond: bool, proved: bool) -> Decision:
    if proved:
        return Outcome.PASS, Code.PROVED
    if rule == "noninferiority":
        return Outcome.INCONCLUSIVE, Code.NOT_RULED_OUT
    return (Outcome.INCONCLUSIVE, Code.NOT_SIGNIFICANT) if beyond else (Outcome.PASS, Code.NOT_DISPROVED)
