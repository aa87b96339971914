"""What each check of a run has found: the outcome, with the numbers that decided and a sentence."""

import math
from collections.abc import Hashable, Sequence
from typing import NamedTuple

from ndcg_spark.comparison.statistics import holm
from ndcg_spark.convention.cutoffs import format_cutoff
from ndcg_spark.gate.baseline import key_of
from ndcg_spark.gate.checks import RunCheck
from ndcg_spark.gate.config import GateConfig
from ndcg_spark.gate.rules import ROUNDING, Row, allowed_drop, decide_drop
from ndcg_spark.gate.verdict import Code, Effect, Finding, Outcome

_NUMBERS = ("mean", "baseline_mean", "interval_low", "interval_high", "p_value", "minimum_detectable")
#: The numbers that a criterion cannot do without.
_NEEDED = {"drop": ("mean", "baseline_mean", "difference"), "min_value": ("mean",), "max_share_losing": ()}


class _Decided(NamedTuple):
    """An outcome, with what was measured and the limit."""

    outcome: Outcome
    code: Code
    reason: str
    value: float | None = None
    threshold: float | None = None


def findings(gate: GateConfig, checks: Sequence[RunCheck]) -> list[Finding]:
    """One finding per check of a run, in their order."""
    return [_finding(gate, each, p) for each, p in zip(checks, _p_values(gate, checks), strict=True)]


def effect_of(gate: GateConfig, severity: str, outcome: Outcome) -> Effect:
    """What an outcome of a check of this severity does to the verdict."""
    if outcome is Outcome.PASS:
        return Effect.PASS
    if severity == "warn":
        return Effect.WARNING
    if outcome is Outcome.INCONCLUSIVE:
        return {"no_verdict": Effect.NONE, "warn": Effect.WARNING, "fail": Effect.FAIL}[gate.on_inconclusive]
    return Effect.FAIL if outcome is Outcome.FAIL else Effect.NONE


def _p_values(gate: GateConfig, checks: Sequence[RunCheck]) -> list[float | None]:
    """The p value that decides each check that limits a drop, else None; adjusted by Holm under `regression`.

    A comparison that several checks or baselines rest on is one hypothesis of the family. Checks that only warn are a
    family of their own, so that they take nothing from those that can fail.
    """
    found = [
        each.row["p_value"] if each.criterion == "drop" and each.row and not each.refused else None for each in checks
    ]
    if gate.correction == "none" or gate.rule != "regression":
        return found
    for severity in ("fail", "warn"):
        tested = {
            number: (_hypothesis(each), p)
            for number, (each, p) in enumerate(zip(checks, found, strict=True))
            if p is not None and each.check.severity == severity
        }
        family = dict(tested.values())
        adjusted = dict(zip(family, holm(list(family.values())), strict=True))
        for number, (hypothesis, _) in tested.items():
            found[number] = float(adjusted[hypothesis])
    return found


def _hypothesis(each: RunCheck) -> Hashable:
    """What tells comparisons apart: the row, and the night or the run that it compares with."""
    baseline = each.baseline
    of_baseline = (baseline.evaluated_on, baseline.config.run) if baseline else None
    return of_baseline, key_of(each.row) if each.row else None


def _finding(gate: GateConfig, each: RunCheck, p: float | None) -> Finding:
    check, row, baseline = each.check, each.row or {}, each.baseline
    decided = _decided(gate, each, p)
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
        rule=gate.rule if each.criterion == "drop" else None,
        outcome=decided.outcome,
        code=decided.code,
        reason=decided.reason,
        value=decided.value,
        threshold=decided.threshold,
        **{name: _finite(row.get(name)) for name in _NUMBERS},
        p_adjusted=_finite(p),
        queries=row.get("queries"),
        unpaired_queries=row.get("unpaired_queries"),
        flags=tuple(row.get("flags") or ()),
    )


def _decided(gate: GateConfig, each: RunCheck, p: float | None) -> _Decided:
    if each.refused or each.row is None:
        code, reason = each.refused or (Code.NOT_MEASURED, "nothing was measured")
        return _Decided(Outcome.INCOMPARABLE, code, reason)
    if _is_broken(each.criterion, each.row, p):
        reason = (
            f"{each.subject} against {each.against}: a number of the comparison is not finite; look for extreme scores "
            "and weights"
        )
        return _Decided(Outcome.INCOMPARABLE, Code.NOT_FINITE, reason)
    if each.criterion == "min_value":
        return _of_minimum(each, each.row)
    return _of_losing(each, each.row) if each.criterion == "max_share_losing" else _of_drop(gate, each, each.row, p)


def _is_broken(criterion: str, row: Row, p: float | None) -> bool:
    """Whether a number that decides is not finite: any comparison with nan is false, so that nothing would fail."""
    numbers = [p, *(row.get(name) for name in (*_NUMBERS, "difference"))]
    return any(number is not None and _finite(number) is None for number in numbers) or any(
        row[name] is None for name in _NEEDED[criterion]
    )


def _finite(number: float | None) -> float | None:
    return number if number is not None and math.isfinite(number) else None


def _of_minimum(each: RunCheck, row: Row) -> _Decided:
    mean, minimum = row["mean"], each.check.min_value or 0.0
    measured = f"{each.subject} is {mean:.4f}"
    if mean < minimum - ROUNDING:
        reason = f"{measured}, below the required minimum of {minimum:.4f}"
        return _Decided(Outcome.FAIL, Code.BELOW, reason, mean, minimum)
    reason = f"{measured}, and the required minimum is {minimum:.4f}"
    return _Decided(Outcome.PASS, Code.WITHIN, reason, mean, minimum)


def _of_losing(each: RunCheck, row: Row) -> _Decided:
    limit = each.check.max_share_losing
    losing, queries = row["large_losses"], row["queries"]
    share, most, by = losing / queries, limit.share if limit else 0.0, limit.by if limit else 0.0
    reason = (
        f"{each.subject}: {losing:,} of {queries:,} queries ({share:.2%}) lost {by:g} or more against {each.against}; "
        f"{most:.2%} is allowed"
    )
    outcome, code = (Outcome.FAIL, Code.LOSING) if share > most else (Outcome.PASS, Code.WITHIN)
    return _Decided(outcome, code, reason, share, most)


def _of_drop(gate: GateConfig, each: RunCheck, row: Row, p: float | None) -> _Decided:
    # A baseline's own tolerance goes before that of the check.
    limits = each.baseline.config if each.baseline and each.baseline.config.is_set else each.check
    allowed = allowed_drop(limits.max_drop, limits.max_relative_drop, row["baseline_mean"])
    if allowed is None:
        reason = f"{each.subject}: the mean of {each.against} is 0, so a relative drop has no meaning; give max_drop"
        return _Decided(Outcome.INCOMPARABLE, Code.ZERO_BASELINE, reason)
    outcome, code = decide_drop(gate.rule, row, allowed, p, gate.alpha)
    return _Decided(outcome, code, _drop_in_words(gate, each, code, row, allowed, p), row["difference"], -allowed)


def _drop_in_words(gate: GateConfig, each: RunCheck, code: Code, row: Row, allowed: float, p: float | None) -> str:
    difference, queries = row["difference"], f"{row['queries']:,} queries"
    if code is Code.UNCHANGED:
        return f"{each.subject} is unchanged against {each.against}: all {queries} score the same"
    moved = f"{'fell' if difference < 0 else 'rose'} by {abs(difference):.4f}"
    means = f"from {row['baseline_mean']:.4f} to {row['mean']:.4f}"
    measured = f"{each.subject} {moved} against {each.against}, {means}"
    if code is Code.DEGENERATE:
        return f"{measured}: the differences of {queries} do not vary, so no test applies"
    if code is Code.WITHIN:
        return f"{measured} ({queries}), within the {allowed:.4f} allowed"
    evidence = f"{measured} ({_evidence(gate, row, p)}{queries})"
    if code is Code.DROPPED:
        return f"{evidence}; {allowed:.4f} is allowed"
    detectable = row["minimum_detectable"]
    seen = "" if detectable is None else f"; detectable: {detectable:.4f}"
    conclusion = {
        Code.PROVED: f"a drop of more than {allowed:.4f} is ruled out",
        Code.NOT_DISPROVED: f"no drop of more than {allowed:.4f} was seen, but it could be as low as "
        f"{row['interval_low']:+.4f}{seen}",
        Code.NOT_SIGNIFICANT: f"more than the {allowed:.4f} allowed, but it may be chance{seen}",
        Code.NOT_RULED_OUT: f"a drop of more than {allowed:.4f} is not ruled out{seen}",
    }[code]
    return f"{evidence}: {conclusion}"


def _evidence(gate: GateConfig, row: Row, p: float | None) -> str:
    if row["interval_low"] is None or p is None:
        return ""
    interval = f"{100 * (1 - gate.alpha):g} % interval {row['interval_low']:+.4f} to {row['interval_high']:+.4f}"
    adjusted = "adjusted " if gate.correction == "holm" and gate.rule == "regression" else ""
    return f"{interval}, {adjusted}p {p:.2g}, "
