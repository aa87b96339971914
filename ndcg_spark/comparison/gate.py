"""The gate: what its checks have found becomes one verdict. Plain data in, plain data out.

Fail closed: whatever was not measured, or cannot be compared, is no pass.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from ndcg_spark.comparison import words
from ndcg_spark.comparison.cases import cases
from ndcg_spark.comparison.findings import effect_of, findings
from ndcg_spark.comparison.sides import Against, Night, Refusal, refused_datasets
from ndcg_spark.comparison.verdict import EXIT_CODES, Code, Effect, Finding, Outcome, Verdict, Word
from ndcg_spark.errors import DONE
from ndcg_spark.gate_config import GateConfig


def decide(gate: GateConfig, tonight: Night, against: Sequence[Against], accepted: str | None = None) -> Verdict:
    """The verdict on a night.

    `against` has every baseline of the gate, in its order. `accepted` is why somebody accepts this night as a baseline
    of later ones: the verdict stays the same, but where there is none the exit code is 0.
    """
    found = [
        *_missing_datasets(gate, tonight, against),
        *findings(gate, list(cases(gate, tonight, against))),
        *_same_results(gate, tonight, against),
    ]
    told = [words.of_changes(each) for each in against if each.changes.changed and not each.refused]
    told += [sentence for each in against for sentence in each.told]
    baselines = tuple(each.as_json() for each in against)
    return _verdict(gate, tonight.dataset, tonight.evaluated_on, found, told, baselines, accepted)


def decide_absent(gate: GateConfig, dataset: str, evaluated_on: str, newest: str) -> Verdict:
    """The verdict on a dataset that has no night of this date; `newest` is that of its last night before."""
    reason = (
        f"the dataset {dataset} has no night of {evaluated_on}, and its last one before is of {newest}; find out why, "
        "or if it was given up, judge the others with --dataset"
    )
    return _verdict(gate, dataset, evaluated_on, [_datasets(gate, "gate", (Code.MISSING_DATASET, reason))])


def _verdict(
    gate: GateConfig,
    dataset: str,
    evaluated_on: str,
    found: Sequence[Finding],
    told: Sequence[str] = (),
    baselines: Sequence[dict[str, Any]] = (),
    accepted: str | None = None,
) -> Verdict:
    word, code, reason = _word(gate, found)
    warnings = [*(finding.reason for finding in found if finding.effect is Effect.WARNING), *told]
    return Verdict(
        dataset=dataset,
        evaluated_on=evaluated_on,
        verdict=word,
        code=code,
        reason=reason,
        exit_code=DONE if word is Word.NONE and accepted is not None else EXIT_CODES[word],
        findings=tuple(found),
        warnings=tuple(dict.fromkeys(warnings)),
        baselines=tuple(baselines),
        accepted=accepted,
    )


def _word(gate: GateConfig, found: Sequence[Finding]) -> tuple[Word, str, str]:
    """The verdict, with the code and the sentence of what decided. What failed goes before what could not be judged."""
    for word, effect in ((Word.FAIL, Effect.FAIL), (Word.NONE, Effect.NONE)):
        deciding = [finding for finding in found if finding.effect is effect]
        reasons = list(dict.fromkeys(finding.reason for finding in deciding))
        if reasons:
            more = f" (and {len(reasons) - 1} more)" if len(reasons) > 1 else ""
            return word, deciding[0].code, f"{reasons[0]}{more}"
    if not gate.check:
        return Word.NONE, Code.NO_CHECKS, "the gate has no checks; add a [[gate.check]]"
    passed = sum(finding.effect is Effect.PASS for finding in found)
    return (
        Word.PASS,
        "passed",
        f"{passed} of {len(found)} findings pass, and the others only warn"
        if passed < len(found)
        else f"all {len(found)} findings pass",
    )


def _missing_datasets(gate: GateConfig, tonight: Night, against: Sequence[Against]) -> Iterator[Finding]:
    """A finding per baseline whose night has a dataset that tonight lacks, or of which nobody can say what it has."""
    for place, each in enumerate(against):
        refused = refused_datasets(tonight, each)
        if refused:
            yield _datasets(gate, f"gate.baseline.{place}", refused, each)


def _datasets(gate: GateConfig, place: str, refused: Refusal, against: Against | None = None) -> Finding:
    # Every check would have measured what is not there, and each may only warn.
    severity = "fail" if any(check.severity == "fail" for check in gate.check) else "warn"
    code, reason = refused
    return Finding(
        check=place,
        criterion="datasets",
        outcome=Outcome.INCOMPARABLE,
        code=code,
        reason=reason,
        severity=severity,
        effect=effect_of(gate, severity, Outcome.INCOMPARABLE),
        baseline=against.config.name if against else None,
        baseline_night=against.night.evaluated_on if against and against.night else None,
    )


def _same_results(gate: GateConfig, tonight: Night, against: Sequence[Against]) -> Iterator[Finding]:
    """A finding per night whose results are the very rows of tonight's."""
    for each in against:
        night = each.night
        if night is None or night.evaluated_on == tonight.evaluated_on:
            # A date that is evaluated again has its own rows once more, which tells nothing.
            continue
        if tonight.results is not None and night.results == tonight.results:
            yield Finding(
                check="gate.on_same_results",
                criterion="same_results",
                outcome=Outcome.FAIL,
                code=Code.SAME_RESULTS,
                reason=f"the results are the very rows of {night.evaluated_on}; find out whether they are new",
                severity="fail" if gate.on_same_results == "fail" else "warn",
                effect=Effect.FAIL if gate.on_same_results == "fail" else Effect.WARNING,
                baseline=each.config.name,
                baseline_night=night.evaluated_on,
            )
