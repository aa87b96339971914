"""The rules of the gate as arithmetic: how much may be lost, and what an interval and a p value say about it."""

from collections.abc import Mapping
from typing import Any

# Not scipy.stats, which takes half a second to import.
from scipy.special import bdtrc, stdtrit

from ndcg_spark.comparison.options import SCORES
from ndcg_spark.comparison.statistics import POWER, is_doubted, share_bound
from ndcg_spark.gate.verdict import Code, Outcome
from ndcg_spark.tables.comparison_notes import OTHER_JUDGMENTS

#: A row of COMPARISONS.
Row = Mapping[str, Any]
Decision = tuple[Outcome, Code]

#: Sums over a million queries differ in their last digits between engines; no verdict may depend on those digits.
ROUNDING = 1e-12
#: What counts as a large loss in the table COMPARISONS.
LARGE_LOSS = 0.2
#: The measures whose values are between 0 and 1.
_BOUNDED = frozenset(SCORES) - {"dcg", "ideal_dcg", "cg"}


def allowed_drop(max_drop: float | None, max_relative_drop: float | None, baseline_mean: float) -> float | None:
    """How much may be lost: the stricter of both limits; with a baseline of 0 only the absolute one; None if unset."""
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
    if rule != "threshold" and p is None:
        return Outcome.INCOMPARABLE, Code.DEGENERATE
    if beyond and (rule == "threshold" or (p is not None and p < alpha)):
        return Outcome.FAIL, Code.DROPPED
    return (Outcome.PASS, Code.WITHIN) if rule == "threshold" else _not_failed(rule, row, allowed, alpha, beyond)


def _not_failed(rule: str, row: Row, allowed: float, alpha: float, beyond: bool) -> Decision:
    if rules_out_drop(row, allowed, alpha):
        return Outcome.PASS, Code.PROVED
    if _low(row) > -allowed:
        return Outcome.PASS, Code.INTERVAL_WITHIN
    if rule == "noninferiority":
        return Outcome.INCONCLUSIVE, Code.NOT_RULED_OUT
    return (Outcome.INCONCLUSIVE, Code.NOT_SIGNIFICANT) if beyond else (Outcome.PASS, Code.NOT_DISPROVED)


def _low(row: Row) -> float:
    """The lowest plausible difference; minus infinity if a flag makes the interval doubtful."""
    low = row["interval_low"]
    return float("-inf") if low is None or is_doubted(row["flags"]) else float(low)


def decide_share(rule: str, losing: int, queries: int, allowed: float, p: float, alpha: float, high: float) -> Decision:
    """Whether more than the allowed share of queries lost; `p` is that of `share_p_value`, `high` the upper bound."""
    beyond = losing / queries > allowed
    if beyond and (rule == "threshold" or p < alpha):
        return Outcome.FAIL, Code.LOSING
    if beyond or (rule == "noninferiority" and high > allowed):
        return Outcome.INCONCLUSIVE, Code.MAY_BE_CHANCE
    return Outcome.PASS, Code.WITHIN


def share_p_value(losing: int, queries: int, allowed: float) -> float:
    """The two-sided binomial p value of at least `losing` queries, if each one loses with the allowed probability."""
    return min(1.0, 2 * float(bdtrc(losing - 1, queries, allowed))) if losing else 1.0


def detectable(row: Row, allowed: float, alpha: float, level: float) -> float | None:
    """The drop that fails in POWER of all nights, where p must be below `level`; None if it is unknown.

    The row's own value is for alpha and for no allowed drop.
    """
    if row["minimum_detectable"] is None:
        return None
    freedom = (row["weight_effective_n"] or row["queries"]) - 1
    power = stdtrit(freedom, POWER)
    error = row["minimum_detectable"] / (stdtrit(freedom, 1 - alpha / 2) + power)
    return float(max(allowed, stdtrit(freedom, 1 - level / 2) * error) + power * error)


def rules_out_drop(row: Row, drop: float, alpha: float) -> bool:
    """Whether the row proves that the true difference is not below -drop; its interval covers 1 - alpha.

    No flag may make the interval doubtful, and it must begin above -drop. For scores between 0 and 1 it must do so even
    if the largest share of queries that a sample of this size may have missed lost everything: that share is 0.01 for
    368 queries. Without that, where 2 % of queries lose 0.75, 13 % of samples of 100 have none of these and an interval
    close to 0. Conversely, where very few of many queries changed, it is proved even if all of these had lost
    everything.
    """
    if OTHER_JUDGMENTS in row["flags"]:
        return False
    is_bounded = row["measure"] in _BOUNDED
    n = row["weight_effective_n"] if row["weight_effective_n"] is not None else row["queries"]
    is_weighted = row["weight_effective_n"] is not None
    if n and is_bounded and not is_weighted and share_bound(row["changed_queries"], n, alpha / 2) <= drop:
        return True
    low = row["interval_low"]
    if low is None or is_doubted(row["flags"]):
        return False
    missed = share_bound(0, n, alpha / 2) if is_bounded else 0.0
    return bool(low - missed > -drop)
