"""The p value that decides each check: all checks that can fail are one family of hypotheses."""

from collections.abc import Hashable, Sequence
from typing import NamedTuple

from ndcg_spark.comparison.differences import deciding
from ndcg_spark.comparison.statistics import holm
from ndcg_spark.gate.baseline import key_of
from ndcg_spark.gate.checks import RunCheck
from ndcg_spark.gate.config import GateConfig
from ndcg_spark.gate.rules import share_p_value


class Test(NamedTuple):
    """The p value that decides a check, None if nothing was tested, and the limit for the smallest of its family."""

    p: float | None
    level: float


def tests(gate: GateConfig, checks: Sequence[RunCheck]) -> list[Test]:
    """The p value that decides each check, adjusted by Holm under `regression`.

    A comparison that several checks or baselines rely on is one hypothesis of the family, and one in which no query
    changed is not tested. Checks that only warn form a family of their own, so that they do not weaken those that can
    fail.
    """
    found = [Test(p_value(each), gate.alpha) for each in checks]
    if gate.correction == "none" or gate.rule != "regression":
        return found
    for severity in ("fail", "warn"):
        tested = {
            number: (_hypothesis(each), test.p)
            for number, (each, test) in enumerate(zip(checks, found, strict=True))
            if test.p is not None and each.check.severity == severity and _is_tested(each)
        }
        family = dict(tested.values())
        adjusted = dict(zip(family, holm(list(family.values())), strict=True))
        for number, (hypothesis, _) in tested.items():
            found[number] = Test(float(adjusted[hypothesis]), gate.alpha / len(family))
    return found


def _is_tested(each: RunCheck) -> bool:
    """Whether a row is a hypothesis at all; it is not if no query changed."""
    return each.criterion == "max_share_losing" or not (each.row and "unchanged" in each.row["flags"])


def p_value(each: RunCheck) -> float | None:
    """The p value of a check before any correction; None if nothing was tested."""
    if each.row is None or each.refused:
        return None
    limit = each.check.max_share_losing
    if each.criterion == "max_share_losing" and limit:
        return share_p_value(each.row["large_losses"], each.row["queries"], limit.share)
    return deciding(each.row)


def _hypothesis(each: RunCheck) -> Hashable:
    """What distinguishes hypotheses: the row, what it is compared with, and the largest loss that is not a drop."""
    baseline, check = each.baseline, each.check
    of_baseline = (baseline.evaluated_on, baseline.nights, baseline.config.run) if baseline else None
    limit = {"max_share_losing": check.max_share_losing, "min_value": check.min_value}.get(each.criterion)
    return of_baseline, limit, key_of(each.row) if each.row else None
