"""What can be concluded from a row of COMPARISONS: better, worse, same or nothing, and what its interval rules out."""

from collections.abc import Mapping
from typing import Any

from ndcg_spark.comparison.options import SCORES
from ndcg_spark.comparison.statistics import is_doubted, share_bound
from ndcg_spark.tables.comparison_notes import OTHER_JUDGMENTS

#: A row of COMPARISONS.
Row = Mapping[str, Any]

#: The measures whose values are between 0 and 1.
_BOUNDED = frozenset(SCORES) - {"dcg", "ideal_dcg", "cg"}
BETTER, WORSE, SAME, CANNOT_TELL = "better", "worse", "same", "cannot_tell"


def conclusion(row: Row, alpha: float, margin: float | None) -> str | None:
    """BETTER, WORSE, SAME or CANNOT_TELL; None for a row without a p value.

    SAME: a difference as large as the `margin` is ruled out in both directions, which is two one-sided tests (TOST) at
    alpha / 2 each. Otherwise it is BETTER or WORSE if the adjusted p value is below alpha.
    """
    if row["p_adjusted"] is None:
        return None
    if OTHER_JUDGMENTS in row["flags"]:
        return CANNOT_TELL
    if margin is not None and rules_out_drop(row, margin, alpha) and rules_out_drop(_mirrored(row), margin, alpha):
        return SAME
    if row["p_adjusted"] >= alpha:
        return CANNOT_TELL
    return BETTER if row["difference"] > 0 else WORSE


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


def _mirrored(row: Row) -> Row:
    """The same row with the roles swapped: the baseline compared with the run."""
    high = row["interval_high"]
    return {**row, "interval_low": None if high is None else -high}
