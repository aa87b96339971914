"""What each check found for a run: the outcome, the numbers that decided it, and a sentence."""

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from ndcg_spark.comparison.statistics import is_doubted, share_bound
from ndcg_spark.convention.cutoffs import format_cutoff
from ndcg_spark.gate import rules
from ndcg_spark.gate.checks import RunCheck
from ndcg_spark.gate.config import GateConfig
from ndcg_spark.gate.hypotheses import Test, p_value, tests
from ndcg_spark.gate.rules import LARGE_LOSS, Row
from ndcg_spark.gate.verdict import Code, Effect, Finding, Outcome

_NUMBERS = ("mean", "baseline_mean", "interval_low", "interval_high", "p_value")
#: The numbers that a criterion cannot do without.
_NEEDED = {"drop": ("mean", "baseline_mean", "difference"), "min_value": ("mean", "difference"), "max_share_losing": ()}
#: The code of a check of a minimum, by the code of a drop from that minimum.
_OF_MINIMUM = {
    Code.DROPPED: Code.BELOW,
    Code.NOT_SIGNIFICANT: Code.MAY_BE_CHANCE,
    Code.NOT_RULED_OUT: Code.MAY_BE_CHANCE,
    Code.DEGENERATE: Code.DEGENERATE,
}


class _Decided(NamedTuple):
    """An outcome with the measured value, its limit, and the numbers that do not come from the row."""

    outcome: Outcome
    code: Code
    reason: str
    value: float | None = None
    threshold: float | None = None
    numbers: Mapping[str, float | None] = MappingProxyType({})


def findings(gate: GateConfig, checks: Sequence[RunCheck]) -> list[Finding]:
    """One finding per check of a run, in their order."""
    return [_finding(gate, each, test) for each, test in zip(checks, tests(gate, checks), strict=True)]


def effect_of(gate: GateConfig, severity: str, outcome: Outcome) -> Effect:
    """What an outcome of a check of this severity does to the verdict."""
    if outcome is Outcome.PASS:
        return Effect.PASS
    if severity == "warn":
        return Effect.WARNING
    if outcome is Outcome.INCONCLUSIVE:
        return {"no_verdict": Effect.NONE, "warn": Effect.WARNING, "fail": Effect.FAIL}[gate.on_inconclusive]
    return Effect.FAIL if outcome is Outcome.FAIL else Effect.NONE


def _finding(gate: GateConfig, each: RunCheck, test: Test) -> Finding:
    check, row, baseline = each.check, each.row or {}, each.baseline
    decided = _decided(gate, each, test)
    numbers = {**{name: row.get(name) for name in _NUMBERS}, **decided.numbers}
    return Finding(
        check=each.place,
        criterion=each.criterion,
        severity=check.severity,
        effect=effect_of(gate, check.severity, decided.outcome),
        run=each.run,
        baseline=baseline.config.name if baseline else None,
        baseline_night=baseline.evaluated_on if baseline else None,
        measure=check.measure,
        cutoff=format_cutoff(check.cutoff),
        slice=check.slice,
        weighted=check.weighted and each.criterion != "max_share_losing",
        rule=gate.rule,
        outcome=decided.outcome,
        code=decided.code,
        reason=decided.reason,
        value=decided.value,
        threshold=decided.threshold,
        **{name: _finite(number) for name, number in numbers.items()},
        p_adjusted=_finite(test.p),
        queries=row.get("queries"),
        unpaired_queries=row.get("unpaired_queries"),
        flags=tuple(row.get("flags") or ()),
    )


def _decided(gate: GateConfig, each: RunCheck, test: Test) -> _Decided:
    if each.refused or each.row is None:
        code, reason = each.refused or (Code.NOT_MEASURED, "nothing was measured")
        return _Decided(Outcome.INCOMPARABLE, code, reason)
    if _is_broken(each.criterion, each.row, test.p):
        reason = (
            f"{each.subject} against {each.against}: a number of the comparison is not finite; look for extreme scores "
            "and weights"
        )
        return _Decided(Outcome.INCOMPARABLE, Code.NOT_FINITE, reason)
    decide = {"drop": _of_drop, "min_value": _of_minimum, "max_share_losing": _of_losing}[each.criterion]
    return decide(gate, each, each.row, test)


def _is_broken(criterion: str, row: Row, p: float | None) -> bool:
    """Whether a deciding number is not finite: any comparison with nan is false, so that nothing would ever fail."""
    numbers = [p, *(row.get(name) for name in (*_NUMBERS, "difference", "minimum_detectable"))]
    return any(number is not None and _finite(number) is None for number in numbers) or any(
        row[name] is None for name in _NEEDED[criterion]
    )


def _finite(number: float | None) -> float | None:
    return number if number is not None and math.isfinite(number) else None


def _of_minimum(gate: GateConfig, each: RunCheck, row: Row, test: Test) -> _Decided:
    """The row compares with the minimum itself, of which nothing may be lost."""
    minimum, words = each.check.min_value or 0.0, each.subject
    outcome, code = rules.decide_drop(gate.rule, row, 0.0, test.p, gate.alpha)
    code = _OF_MINIMUM.get(code, Code.WITHIN)
    measured = f"{words} is {row['mean']:.4f}"
    reason = {
        Code.BELOW: f"{measured}, below the required minimum of {minimum:.4f} ({_evidence(gate, row, test, minimum)})",
        Code.MAY_BE_CHANCE: f"{measured}, and it is uncertain on which side of the required minimum of {minimum:.4f} "
        f"the mean of such queries is ({_evidence(gate, row, test, minimum)})",
        Code.DEGENERATE: f"{measured}: {row['queries']:,} queries score the same, so no test applies",
        Code.WITHIN: f"{measured}, and the required minimum is {minimum:.4f}",
    }[code]
    ends = {name: None if row[name] is None else row[name] + minimum for name in ("interval_low", "interval_high")}
    return _Decided(outcome, code, reason, row["mean"], minimum, {**ends, "baseline_mean": None})


def _of_losing(gate: GateConfig, each: RunCheck, row: Row, test: Test) -> _Decided:
    limit = each.check.max_share_losing
    losing, queries = row["large_losses"], row["queries"]
    most, by = (limit.share, limit.by) if limit else (0.0, 0.0)
    low = 1 - share_bound(queries - losing, queries, gate.alpha / 2)
    high = share_bound(losing, queries, gate.alpha / 2)
    outcome, code = rules.decide_share(gate.rule, losing, queries, most, test.p or 0.0, gate.alpha, high)
    share = f"{losing / queries:.2%}, {_percent(gate)} interval {low:.2%} to {high:.2%}"
    reason = (
        f"{each.subject}: {losing:,} of {queries:,} queries ({share}) lost {by:g} or more against {each.against}; "
        f"{most:.2%} is allowed"
    )
    if code is Code.MAY_BE_CHANCE:
        reason += ", and it may be chance"
    numbers = {"interval_low": low, "interval_high": high, "p_value": p_value(each)}
    return _Decided(outcome, code, reason, losing / queries, most, numbers)


def _of_drop(gate: GateConfig, each: RunCheck, row: Row, test: Test) -> _Decided:
    # A baseline's own tolerance overrides that of the check.
    limits = each.baseline.config if each.baseline and each.baseline.config.is_set else each.check
    allowed = rules.allowed_drop(limits.max_drop, limits.max_relative_drop, row["baseline_mean"])
    if allowed is None:
        reason = f"{each.subject}: the mean of {each.against} is 0, so a relative drop has no meaning; give max_drop"
        return _Decided(Outcome.INCOMPARABLE, Code.ZERO_BASELINE, reason)
    outcome, code = rules.decide_drop(gate.rule, row, allowed, test.p, gate.alpha)
    detectable = rules.detectable(row, allowed, gate.alpha, test.level)
    reason = _drop_in_words(gate, each, code, row, allowed, test, detectable)
    return _Decided(outcome, code, reason, row["difference"], -allowed, {"minimum_detectable": detectable})


def _drop_in_words(
    gate: GateConfig, each: RunCheck, code: Code, row: Row, allowed: float, test: Test, detectable: float | None
) -> str:
    difference, queries = row["difference"], f"{row['queries']:,} queries"
    if code is Code.UNCHANGED:
        share = 100 * share_bound(0, row["queries"])
        same = f"all {queries} score the same; up to {share:.2g} % of such queries could have changed"
        return f"{each.subject} is unchanged against {each.against}: {same}"
    moved = f"{'fell' if difference < 0 else 'rose'} by {abs(difference):.4f}"
    means = f"from {row['baseline_mean']:.4f} to {row['mean']:.4f}"
    measured = f"{each.subject} {moved} against {each.against}, {means}"
    if code is Code.DEGENERATE:
        return f"{measured}: the differences of {queries} do not vary, so no test applies"
    if code is Code.WITHIN:
        return f"{measured} ({queries}), within the {allowed:.4f} allowed"
    evidence = f"{measured} ({_evidence(gate, row, test)})"
    if code is Code.DROPPED:
        return f"{evidence}; {allowed:.4f} is allowed"
    seen = "" if detectable is None else f"; detectable: {detectable:.4f}"
    is_unknown = row["interval_low"] is None or is_doubted(row["flags"])
    low = "" if is_unknown else f", but it could be as low as {row['interval_low']:+.4f}"
    conclusion = {
        Code.PROVED: f"a drop of more than {allowed:.4f} is ruled out",
        Code.INTERVAL_WITHIN: f"the interval is within the {allowed:.4f} allowed",
        Code.NOT_DISPROVED: f"no drop of more than {allowed:.4f} was seen{low}{seen}",
        Code.NOT_SIGNIFICANT: f"more than the {allowed:.4f} allowed, but it may be chance{seen}",
        Code.NOT_RULED_OUT: f"a drop of more than {allowed:.4f} is not ruled out{seen}",
    }[code]
    return f"{evidence}: {conclusion}{_unseen(code, row)}"


def _unseen(code: Code, row: Row) -> str:
    """The rule of three, where an interval proves nothing: how many queries could lose much though few or none did."""
    if not is_doubted(row["flags"]) and code is not Code.INTERVAL_WITHIN:
        return ""
    losing, queries = row["large_losses"], row["queries"]
    lost = f"of {queries:,} queries {losing or 'none'} lost {LARGE_LOSS:g} or more"
    return f"; {lost}, and up to {100 * share_bound(losing, queries):.2g} % of such queries could"


def _evidence(gate: GateConfig, row: Row, test: Test, above: float = 0.0) -> str:
    """The interval, moved up by `above`, the p value, why both may be doubted, and the number of queries."""
    parts = []
    if row["interval_low"] is not None and test.p is not None:
        ends = [row[name] + above for name in ("interval_low", "interval_high")]
        low, high = (f"{end:.4f}" if above else f"{end:+.4f}" for end in ends)
        adjusted = "adjusted " if gate.correction == "holm" and gate.rule == "regression" else ""
        parts = [f"{_percent(gate)} interval {low} to {high}", f"{adjusted}p {test.p:.2g}"]
        if is_doubted(row["flags"]):
            parts.append(f"doubtful: {' '.join(row['flags'])}")
    return ", ".join([*parts, f"{row['queries']:,} queries"])


def _percent(gate: GateConfig) -> str:
    return f"{100 * (1 - gate.alpha):g} %"
