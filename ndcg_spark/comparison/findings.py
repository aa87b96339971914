"""What a case comes to: the outcome, with the numbers that decided and a sentence."""

import dataclasses
import math
from collections.abc import Hashable, Sequence

from ndcg_spark.comparison import words
from ndcg_spark.comparison.cases import Case
from ndcg_spark.comparison.deciding import ROUNDING, Row, allowed_drop, decide_drop
from ndcg_spark.comparison.sides import key_of
from ndcg_spark.comparison.statistics import holm
from ndcg_spark.comparison.verdict import Code, Effect, Finding, Outcome
from ndcg_spark.gate_config import GateConfig
from ndcg_spark.tables.table import at

_NUMBERS = ("mean", "baseline_mean", "interval_low", "interval_high", "p_value", "minimum_detectable")
#: The numbers that a criterion cannot do without.
_NEEDED = {"drop": ("mean", "baseline_mean", "difference"), "min_value": ("mean",), "max_share_losing": ()}


@dataclasses.dataclass(frozen=True)
class _Decided:
    """An outcome, with what was measured and what it was held to."""

    outcome: Outcome
    code: Code
    reason: str
    value: float | None = None
    threshold: float | None = None


def findings(gate: GateConfig, cases: Sequence[Case]) -> list[Finding]:
    """One finding per case, in their order."""
    adjusted = _p_values(gate, cases)
    return [_finding(gate, case, p) for case, p in zip(cases, adjusted, strict=True)]


def _p_values(gate: GateConfig, cases: Sequence[Case]) -> list[float | None]:
    """The p value that decides each case that limits a drop, else None; adjusted by Holm under `regression`.

    A comparison that several checks or baselines rest on is one hypothesis of the family. Checks that only warn are a
    family of their own, so that they take nothing from those that can fail.
    """
    found = [
        case.row["p_value"] if case.criterion == "drop" and case.row and not case.refused else None for case in cases
    ]
    if gate.correction == "none" or gate.rule != "regression":
        return found
    for severity in ("fail", "warn"):
        tested = {
            place: (_hypothesis(case), p)
            for place, (case, p) in enumerate(zip(cases, found, strict=True))
            if p is not None and case.check.severity == severity
        }
        family = dict(tested.values())
        adjusted = dict(zip(family, holm(list(family.values())), strict=True))
        for place, (hypothesis, _) in tested.items():
            found[place] = float(adjusted[hypothesis])
    return found


def _hypothesis(case: Case) -> Hashable:
    """What tells comparisons apart: the row, and the night or the run that it compares with."""
    against = case.against
    night = against.night.evaluated_on if against and against.night else None
    return night, against.config.run if against else None, key_of(case.row) if case.row else None


def _finding(gate: GateConfig, case: Case, p: float | None) -> Finding:
    check, row, against = case.check, case.row or {}, case.against
    decided = _decided(gate, case, p)
    night = against.night if against else None
    return Finding(
        check=case.place,
        criterion=case.criterion,
        outcome=decided.outcome,
        code=decided.code,
        reason=decided.reason,
        severity=check.severity,
        effect=effect_of(gate, check.severity, decided.outcome),
        run=case.run,
        baseline=against.config.name if against else None,
        baseline_night=night.evaluated_on if night else None,
        measure=check.measure,
        cutoff=at(check.cutoff),
        slice=check.slice,
        weighted=check.weighted and case.criterion != "max_share_losing",
        rule=gate.rule if case.criterion == "drop" else None,
        value=decided.value,
        threshold=decided.threshold,
        **{name: _finite(row.get(name)) for name in _NUMBERS},
        p_adjusted=_finite(p),
        queries=row.get("queries"),
        unpaired_queries=row.get("unpaired_queries"),
        flags=tuple(row.get("flags") or ()),
    )


def effect_of(gate: GateConfig, severity: str, outcome: Outcome) -> Effect:
    """What an outcome of a check of this severity does to the verdict."""
    if outcome is Outcome.PASS:
        return Effect.PASS
    if severity == "warn":
        return Effect.WARNING
    if outcome is Outcome.INCONCLUSIVE:
        return {"no_verdict": Effect.NONE, "warn": Effect.WARNING, "fail": Effect.FAIL}[gate.on_inconclusive]
    return Effect.FAIL if outcome is Outcome.FAIL else Effect.NONE


def _decided(gate: GateConfig, case: Case, p: float | None) -> _Decided:
    if case.refused or case.row is None:
        code, reason = case.refused or (Code.NOT_MEASURED, "nothing was measured")
        return _Decided(Outcome.INCOMPARABLE, code, reason)
    if _is_broken(case.criterion, case.row, p):
        what = f"{words.subject(case.check, case.run)} against {words.named(case.against)}"
        reason = f"{what}: a number of the comparison is not finite; look for extreme scores and weights"
        return _Decided(Outcome.INCOMPARABLE, Code.NOT_FINITE, reason)
    if case.criterion == "min_value":
        return _of_least(case, case.row)
    return _of_losing(case, case.row) if case.criterion == "max_share_losing" else _of_drop(gate, case, case.row, p)


def _is_broken(criterion: str, row: Row, p: float | None) -> bool:
    """Whether a number that decides is not finite: any comparison with nan is false, so that nothing would fail."""
    numbers = [row.get(name) for name in (*_NUMBERS, "difference")]
    return any(number is not None and _finite(number) is None for number in (p, *numbers)) or any(
        row[name] is None for name in _NEEDED[criterion]
    )


def _finite(number: float | None) -> float | None:
    return number if number is not None and math.isfinite(number) else None


def _of_least(case: Case, row: Row) -> _Decided:
    mean, least = row["mean"], case.check.min_value or 0.0
    what = f"{words.subject(case.check, case.run)} is {mean:.4f}"
    if mean < least - ROUNDING:
        return _Decided(Outcome.FAIL, Code.BELOW, f"{what}, below the {least:.4f} that it must have", mean, least)
    return _Decided(Outcome.PASS, Code.WITHIN, f"{what}, and must have {least:.4f}", mean, least)


def _of_losing(case: Case, row: Row) -> _Decided:
    limit = case.check.max_share_losing
    losing, queries = row["large_losses"], row["queries"]
    share, most, by = losing / queries, limit.share if limit else 0.0, limit.by if limit else 0.0
    reason = (
        f"{words.subject(case.check, case.run)}: {losing:,} of {queries:,} queries ({share:.2%}) lost {by:g} or more "
        f"against {words.named(case.against)}; {most:.2%} may"
    )
    outcome, code = (Outcome.FAIL, Code.LOSING) if share > most else (Outcome.PASS, Code.WITHIN)
    return _Decided(outcome, code, reason, share, most)


def _of_drop(gate: GateConfig, case: Case, row: Row, p: float | None) -> _Decided:
    what, against = words.subject(case.check, case.run), words.named(case.against)
    # A baseline's own tolerance goes before that of the check.
    own = case.against.config if case.against and case.against.config.is_given else case.check
    allowed = allowed_drop(own.max_drop, own.max_relative_drop, row["baseline_mean"])
    if allowed is None:
        reason = f"{what}: the mean of {against} is 0, of which no part can be lost; give max_drop"
        return _Decided(Outcome.INCOMPARABLE, Code.ZERO_BASELINE, reason)
    outcome, code = decide_drop(gate.rule, row, allowed, p, gate.alpha)
    reason = words.of_drop(code, what, against, row, allowed, p, gate)
    return _Decided(outcome, code, reason, row["difference"], -allowed)
