"""The decision of the gate: the findings of its checks become one verdict. Plain data in, plain data out.

Fail closed: whatever was not measured, or cannot be compared, is not a pass.
"""

import dataclasses
from collections.abc import Iterator, Sequence
from types import MappingProxyType
from typing import Any

from ndcg_spark.errors import DONE
from ndcg_spark.gate.baseline import Baseline, Night, Refusal, refused_absent, refused_datasets
from ndcg_spark.gate.checks import Minimums, run_checks
from ndcg_spark.gate.config import GateConfig
from ndcg_spark.gate.findings import effect_of, findings
from ndcg_spark.gate.verdict import EXIT_CODES, Code, Effect, Finding, Outcome, Verdict, Word

#: The criteria of findings that belong to no check.
_OF_NO_CHECK = ("datasets", "same_results")


def decide(
    gate: GateConfig,
    tonight: Night,
    baselines: Sequence[Baseline],
    accepted: str | None = None,
    minimums: Minimums = MappingProxyType({}),
) -> Verdict:
    """The verdict on a night.

    `baselines` has every baseline of the gate, in its order, and `minimums` the rows of every `min_value`.
    `accepted` is why this night is accepted as a baseline of later ones: the verdict stays the same, but if it is
    `none`, the exit code is 0.
    """
    found = [
        *_missing_datasets(gate, tonight, baselines),
        *findings(gate, list(run_checks(gate, tonight, baselines, minimums))),
        *_same_results(gate, tonight, baselines),
    ]
    warnings = [_of_unchanged(each) for each in baselines if each.changes.changed and not each.refused]
    of_records = [each.as_json() for each in baselines]
    verdict = _verdict(gate, tonight.dataset, tonight.evaluated_on, found, warnings, of_records, accepted)
    return dataclasses.replace(verdict, previous=tonight.previous)


def decide_absent(gate: GateConfig, dataset: str, evaluated_on: str, newest: str | None = None) -> Verdict:
    """The verdict on a dataset that has no night of this date.

    `newest` is the date of its last night before that; without it, the dataset was judged but had no results.
    """
    reason = (
        f"the dataset {dataset} has no night of {evaluated_on}; its last night before that is of {newest}; find out "
        "why or, if it was given up, name the others with --dataset"
        if newest
        else f"the dataset {dataset} is judged but has no results in the evaluation of {evaluated_on}; find out why "
        "or, if it was given up, remove its judgments"
    )
    return _verdict(gate, dataset, evaluated_on, [_datasets(gate, "gate", (Code.MISSING_DATASET, reason))])


def _verdict(
    gate: GateConfig,
    dataset: str,
    evaluated_on: str,
    found: Sequence[Finding],
    warnings: Sequence[str] = (),
    baselines: Sequence[dict[str, Any]] = (),
    accepted: str | None = None,
) -> Verdict:
    word, code, reason = _word(gate, found)
    # What the verdict already says is not repeated as a warning.
    of_findings = [
        finding.reason
        for finding in found
        if finding.effect is Effect.WARNING and not reason.startswith(finding.reason)
    ]
    return Verdict(
        dataset=dataset,
        evaluated_on=evaluated_on,
        verdict=word,
        code=code,
        reason=reason,
        exit_code=DONE if word is Word.NONE and accepted is not None else EXIT_CODES[word],
        findings=tuple(found),
        warnings=tuple(dict.fromkeys([*of_findings, *warnings])),
        baselines=tuple(baselines),
        accepted=accepted,
    )


def _word(gate: GateConfig, found: Sequence[Finding]) -> tuple[Word, str, str]:
    """The verdict, with the code and the sentence of the finding that decided it.

    Failures take precedence over undecided findings, and within each of the two, the largest drop comes first.
    """
    for word, effect in ((Word.FAIL, Effect.FAIL), (Word.NONE, Effect.NONE)):
        deciding = sorted((finding for finding in found if finding.effect is effect), key=_drop)
        reasons = list(dict.fromkeys(finding.reason for finding in deciding))
        if reasons:
            more = f" (and {len(reasons) - 1} more)" if len(reasons) > 1 else ""
            return word, deciding[0].code, f"{reasons[0]}{more}"
    if not gate.check:
        return Word.NONE, Code.NO_CHECKS, "the gate has no checks; add a [[gate.check]]"
    if all(finding.outcome is Outcome.INCOMPARABLE or finding.criterion in _OF_NO_CHECK for finding in found):
        return Word.NONE, found[0].code, found[0].reason
    passed = sum(finding.effect is Effect.PASS for finding in found)
    if passed < len(found):
        return Word.PASS, "passed", f"{passed} of {len(found)} findings pass, and the others only warn"
    return Word.PASS, "passed", f"all {len(found)} findings pass"


def _drop(finding: Finding) -> float:
    return finding.value or 0.0 if finding.criterion == "drop" else 0.0


def _of_unchanged(baseline: Baseline) -> str:
    """A warning if only the queries with unchanged judgments were compared."""
    changes = baseline.changes
    same = changes.queries - changes.changed
    return (
        f"{same:,} of {changes.queries:,} queries ({same / changes.queries:.2%}) were compared with {baseline.name}, "
        "because the judgments of the others have changed"
    )


def _missing_datasets(gate: GateConfig, tonight: Night, baselines: Sequence[Baseline]) -> Iterator[Finding]:
    """A finding per baseline whose night has a dataset that tonight lacks, or whose datasets are unknown.

    If the gate compares no nights, a finding for the datasets that are expected all the same.
    """
    missing = refused_absent(tonight, tonight.expected_datasets)
    if missing:
        yield _datasets(gate, "gate", missing)
    for number, each in enumerate(baselines):
        refused = refused_datasets(tonight, each)
        if refused:
            yield _datasets(gate, f"gate.baseline.{number}", refused, each)


def _datasets(gate: GateConfig, place: str, refused: Refusal, baseline: Baseline | None = None) -> Finding:
    # Every check would have measured the missing dataset, and it may be that all of them only warn.
    severities = {check.severity for check in gate.check}
    severity = "fail" if "fail" in severities else "warn"
    code, reason = refused
    return Finding(
        check=place,
        criterion="datasets",
        outcome=Outcome.INCOMPARABLE,
        code=code,
        reason=reason,
        severity=severity,
        effect=effect_of(gate, severity, Outcome.INCOMPARABLE),
        baseline=baseline.config.name if baseline else None,
        baseline_night=baseline.evaluated_on if baseline else None,
    )


def _same_results(gate: GateConfig, tonight: Night, baselines: Sequence[Baseline]) -> Iterator[Finding]:
    """A finding per baseline night whose results are identical to tonight's."""
    for each in baselines:
        # A date that is evaluated again has its own rows once more, so equal results mean nothing.
        if each.night is None or each.evaluated_on == tonight.evaluated_on:
            continue
        if tonight.results is not None and each.night.results == tonight.results:
            yield Finding(
                check="gate.on_same_results",
                criterion="same_results",
                outcome=Outcome.FAIL,
                code=Code.SAME_RESULTS,
                reason=f"the results are identical to those of {each.evaluated_on}; check that the system produced new "
                "output",
                severity="fail" if gate.on_same_results == "fail" else "warn",
                effect=Effect.FAIL if gate.on_same_results == "fail" else Effect.WARNING,
                baseline=each.config.name,
                baseline_night=each.evaluated_on,
            )
