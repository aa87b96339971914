"""The gate: what its checks have found becomes one verdict. Plain data in, plain data out.

Fail closed: whatever was not measured, or cannot be compared, is no pass.
"""

from collections.abc import Iterator, Sequence

from ndcg_spark.comparison import words
from ndcg_spark.comparison.cases import cases
from ndcg_spark.comparison.findings import findings
from ndcg_spark.comparison.sides import Against, Night
from ndcg_spark.comparison.verdict import EXIT_CODES, Code, Effect, Finding, Outcome, Verdict, Word
from ndcg_spark.gate_config import GateConfig


def decide(gate: GateConfig, tonight: Night, against: Sequence[Against], accepted: str | None = None) -> Verdict:
    """The verdict on a night.

    `against` has every baseline of the gate, in its order. `accepted` is why somebody accepts this night as a baseline
    of later ones: that stands in for a verdict that there would not be, but changes no failure.
    """
    found = [*findings(gate, list(cases(gate, tonight, against))), *_same_results(gate, tonight, against)]
    word, code, reason = _word(gate, found)
    warnings = [finding.reason for finding in found if finding.effect is Effect.WARNING]
    warnings += [words.of_changes(each) for each in against if each.changes.changed and not each.refused]
    warnings += [sentence for each in against for sentence in each.told]
    if accepted is not None and word is Word.NONE:
        word, code, reason = Word.PASS, "accepted", f"accepted as a baseline: {accepted} (otherwise none: {reason})"
    return Verdict(
        dataset=tonight.dataset,
        evaluated_on=tonight.evaluated_on,
        verdict=word,
        code=code,
        reason=reason,
        exit_code=EXIT_CODES[word],
        findings=tuple(found),
        warnings=tuple(dict.fromkeys(warnings)),
        baselines=tuple(each.as_json() for each in against),
        accepted=accepted,
    )


def _word(gate: GateConfig, found: Sequence[Finding]) -> tuple[Word, str, str]:
    """The verdict, with the code and the sentence of what decided. What failed goes before what could not be judged."""
    if not gate.check:
        return Word.NONE, Code.NO_CHECKS, "the gate has no checks; add a [[gate.check]]"
    for word, effect in ((Word.FAIL, Effect.FAIL), (Word.NONE, Effect.NONE)):
        deciding = [finding for finding in found if finding.effect is effect]
        reasons = list(dict.fromkeys(finding.reason for finding in deciding))
        if reasons:
            more = f" (and {len(reasons) - 1} more)" if len(reasons) > 1 else ""
            return word, deciding[0].code, f"{reasons[0]}{more}"
    passed = sum(finding.effect is Effect.PASS for finding in found)
    return (
        Word.PASS,
        "passed",
        f"{passed} of {len(found)} findings pass, and the others only warn"
        if passed < len(found)
        else f"all {len(found)} findings pass",
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
