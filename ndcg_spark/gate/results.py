"""Decides each case: one result from all of its comparisons.

A result with two sides or two readings is one hypothesis. Its p value is the largest of its
comparisons, and a conclusion needs all of them to support it.
"""

import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ndcg_spark.comparison.baselines import Kind
from ndcg_spark.comparison.differences import FEW, larger_p
from ndcg_spark.comparison.readings import has_second_reading
from ndcg_spark.comparison.statistics import adjusted
from ndcg_spark.convention.measures import CATALOG_COLUMNS, format_cutoff
from ndcg_spark.gate.checks import Case, Part
from ndcg_spark.gate.compared_night import Row
from ndcg_spark.gate.settings import CheckConfig, GateConfig
from ndcg_spark.gate.verdict import (
    DROPPED,
    FAIL,
    NOT_COMPARABLE,
    PASS,
    ROSE,
    UNDECIDED,
    Result,
)
from ndcg_spark.tables.format import apart, count, level, p_in_words, score, share
from ndcg_spark.tables.format import difference as signed
from ndcg_spark.tables.table import answered_in_words
from ndcg_spark.text import day
from ndcg_spark.tolerance import ROUNDING

Numbers = Mapping[str, Any]
#: The numbers of a comparison.
_NUMBERS = ("mean", "baseline_mean", "difference", "interval_low", "interval_high", "queries")


#: What a side of a change of judgments says, as a verb.
_ANSWERS = {FAIL: "fails", PASS: "passes", UNDECIDED: "may be chance"}


class Outcome(NamedTuple):
    """A comparison's outcome: a word, a code and a sentence."""

    word: str
    reason: str | None
    sentence: str


class Finding(NamedTuple):
    """A result's content as data; results with equal findings are reported once."""

    reason: str | None
    about: tuple[Any, ...]


def finding_of(case: Case, result: Result) -> Finding:
    """What a result says, whichever check and baseline it comes from.

    Its p value is not part of it, because the p value's family depends on the check's
    severity.
    """
    if case.refused:
        return Finding(case.refused.code, case.refused.about)
    # Baselines with different names may stand for the same nights.
    numbers = (result.baseline_night, result.difference, result.allowed, result.allowed_rise)
    return Finding(result.reason, (case.mean, *numbers))


def decide_cases(gate: GateConfig, cases: Sequence[Case]) -> list[Result]:
    """One result per case, with p values adjusted by Holm over all hypotheses of its family.

    Checks that only warn are a separate family, so that they do not weaken checks that can fail.
    """
    adjusted_p = {}
    for severity in ("fail", "warn"):
        own = [case for case in cases if case.check.severity == severity]
        adjusted_p[severity] = _adjusted_p_values(own, gate.alpha)
    results = []
    for case in cases:
        p = adjusted_p[case.check.severity].get(case.hypothesis)
        results.append(_result(gate, case, p))
    return results


def is_note(case: Case, result: Result) -> bool:
    """Whether a result is only a note: against the accepted night, and neither pass nor fail."""
    return case.baseline.kind is Kind.ACCEPTED and result.result not in (PASS, FAIL)


def _adjusted_p_values(cases: Iterable[Case], alpha: float) -> dict[tuple[Any, ...], float]:
    """The adjusted p value of each hypothesis that was measured and changed, by its key.

    A hypothesis that several checks or baselines share is counted once.
    """
    p_values: dict[tuple[Any, ...], float] = {}
    for case in cases:
        p = None if case.refused else _p_of_case(case, alpha)
        if p is not None:
            p_values[case.hypothesis] = p
    adjusted_p = adjusted(list(p_values.values()), "holm").tolist()
    return dict(zip(p_values, adjusted_p, strict=True))


def _p_of_case(case: Case, alpha: float) -> float | None:
    """The p value of a case before it is adjusted.

    None if nothing changed, or if it is not tested: against a reference, a measure of relevance
    cannot fail without the second reading.
    """
    needs_second_reading = case.baseline.is_reference and not case.check.is_of_catalog
    if needs_second_reading and not case.second_parts:
        return None
    return _largest_p(case.parts, alpha)


def _largest_p(parts: Iterable[Part], alpha: float) -> float | None:
    """The largest p value of some comparisons; None if nothing changed in any of them."""
    p_values = [_p_value(part.row, alpha) for part in parts]
    known = [p for p in p_values if p is not None]
    if not known:
        return None
    # A comparison in which nothing changed does not support a change.
    return 1.0 if len(known) < len(p_values) else max(known)


def _p_value(row: Row | None, alpha: float) -> float | None:
    """A row's p value; None if nothing changed.

    It is the larger of the two tests' p values, or the t test's p value if this test alone rules
    out a failure.
    """
    if row is None or row["difference"] is None or "unchanged" in row["flags"]:
        return None
    p: float | None = row["p_value"]
    may_fail = row["difference"] < 0 or row["measure"] in CATALOG_COLUMNS
    if may_fail and p is not None and p < alpha:
        return larger_p(row)
    return p


def _result(gate: GateConfig, case: Case, p: float | None) -> Result:
    """A case's result, given its adjusted p value."""
    check, baseline = case.check, case.baseline
    numbers = _numbers_together(case) | {"p": p}
    outcome = _outcome(gate, case, numbers)
    nights = case.reference.nights if case.reference else baseline.nights
    return Result(
        check=case.name,
        severity=check.severity,
        result=outcome.word,
        reason=outcome.reason,
        sentence=outcome.sentence,
        run=case.run,
        measure=check.measure,
        cutoff=format_cutoff(check.cutoff),
        slice=check.slice,
        weighted=check.weighted,
        baseline=baseline.name,
        baseline_night=nights[-1].evaluated_on if nights else None,
        since=case.reference.first if case.reference else None,
        sides=tuple(_side(case, part) for part in case.parts) if len(case.parts) > 1 else (),
        **numbers,
    )


def _side(case: Case, part: Part) -> dict[str, Any]:
    """A comparison's entry in a verdict."""
    return {"side": part.side, "reading": part.reading, **_numbers(case, part)}


def _numbers(case: Case, part: Part) -> dict[str, Any]:
    """The numbers of one comparison, with how far its mean may fall and rise (None: no limit)."""
    row = part.row or {}
    numbers: dict[str, Any] = {name: row.get(name) for name in _NUMBERS}
    numbers |= {"allowed": None, "allowed_rise": None}
    if case.baseline.kind is Kind.ITSELF:
        return numbers | _distance_to_minimum(case.check, numbers["mean"])
    return numbers | _limits(case.check, numbers["baseline_mean"])


def _distance_to_minimum(check: CheckConfig, mean: float | None) -> dict[str, Any]:
    """The numbers against `min_value`: the mean may not fall below it, so the `allowed` drop is 0.

    A night by itself has no baseline and no interval.
    """
    if mean is None or check.min_value is None:
        return {}
    without_baseline = dict.fromkeys(("baseline_mean", "interval_low", "interval_high"))
    return {**without_baseline, "difference": mean - check.min_value, "allowed": 0.0}


def _limits(check: CheckConfig, baseline_mean: float | None) -> dict[str, Any]:
    """How far a mean may fall and rise, given the baseline's mean."""
    if baseline_mean is None:
        return {}
    allowed = check.allowed(baseline_mean) if check.limits_drop else None
    return {"allowed": allowed, "allowed_rise": check.max_rise}


def _numbers_together(case: Case) -> dict[str, Any]:
    """A case's numbers.

    With two sides, the difference is the mean of both, and the interval covers both intervals.
    """
    parts = [_numbers(case, part) for part in case.first_parts]
    numbers = parts[-1]
    differences = _known_values(parts, "difference")
    has_two_sides = len(parts) > 1 and len(differences) == len(parts)
    if not has_two_sides:
        return numbers
    numbers["difference"] = sum(differences) / len(differences)
    numbers["baseline_mean"] = numbers["mean"] - numbers["difference"]
    numbers["interval_low"] = min(_known_values(parts, "interval_low"), default=None)
    numbers["interval_high"] = max(_known_values(parts, "interval_high"), default=None)
    numbers["queries"] = min(_known_values(parts, "queries"))
    return numbers


def _known_values(parts: Iterable[Numbers], name: str) -> list[Any]:
    """The values of one number in all parts that have it."""
    return [part[name] for part in parts if part[name] is not None]


def _outcome(gate: GateConfig, case: Case, numbers: Numbers) -> Outcome:
    """A case's outcome, from its parts."""
    if case.refused:
        return Outcome(NOT_COMPARABLE, case.refused.code, case.refused.sentence)
    if case.baseline.is_reference:
        return _outcome_beside_reference(gate, case, numbers)
    return _outcome_of_sides(gate, case, case.first_parts, numbers)


def _outcome_of_part(gate: GateConfig, case: Case, part: Part, numbers: Numbers) -> Outcome:
    """The outcome of one comparison, from its own numbers and the p value of the whole case."""
    if numbers["mean"] is None or numbers["difference"] is None:
        subject = case.check.subject(case.run)
        sentence = f"{subject}: a number in the comparison is not finite"
        return Outcome(NOT_COMPARABLE, "not_measured", sentence)
    beyond = _beyond(numbers)
    if case.baseline.kind is Kind.ITSELF:
        sentence = _sentence_of_minimum(case, part.row, numbers)
        if beyond:
            return Outcome(FAIL, "below_min_value", sentence)
        return Outcome(PASS, None, sentence)
    sentence = _sentence_of_change(gate, case, part.row, numbers)
    if beyond is None:
        return Outcome(PASS, None, sentence)
    if case.check.is_of_run:
        # There is one number per night, which cannot be tested.
        return Outcome(FAIL, beyond, sentence)
    return _rule_of_change(gate, numbers["p"], beyond, sentence)


def _beyond(numbers: Numbers) -> str | None:
    """The code of a change by more than is allowed, `dropped` or `rose`; None if it is allowed."""
    allowed, allowed_rise = numbers["allowed"], numbers["allowed_rise"]
    # The rounding error of unbounded sums is relative to them.
    error = ROUNDING * max(1.0, abs(numbers["mean"]))
    if allowed is not None and numbers["difference"] < -allowed - error:
        return DROPPED
    if allowed_rise is not None and numbers["difference"] > allowed_rise + error:
        return ROSE
    return None


def _rule_of_change(gate: GateConfig, p: float | None, beyond: str, sentence: str) -> Outcome:
    """The outcome if the mean changed by more than is allowed."""
    if p is None:
        return Outcome(NOT_COMPARABLE, "not_measured", f"{sentence}, but it could not be tested")
    if p < gate.alpha:
        return Outcome(FAIL, beyond, sentence)
    return Outcome(UNDECIDED, "may_be_chance", f"{sentence}; may be chance")


def _outcome_of_sides(
    gate: GateConfig,
    case: Case,
    sides: Sequence[Part],
    numbers: Numbers,
    allowed: float | None = None,
) -> Outcome:
    """The outcome that all sides support; there is only one if the judgments have not changed.

    `numbers`: the numbers of the case. `allowed`: how far the mean may fall, by default as each
    side allows.
    """
    outcomes = []
    for side in sides:
        own = _numbers(case, side) | {"p": numbers["p"]}
        if allowed is not None:
            own["allowed"] = allowed
        outcomes.append(_outcome_of_part(gate, case, side, own))
    if len(outcomes) == 1:
        return outcomes[0]
    for outcome in outcomes:
        if outcome.word == NOT_COMPARABLE:
            return outcome
    words = {outcome.word for outcome in outcomes}
    sentence = _sentence_of_sides(gate, case, sides, numbers)
    if words == {FAIL}:
        return Outcome(FAIL, DROPPED, sentence)
    if words == {PASS}:
        return Outcome(PASS, None, sentence)
    if words == {UNDECIDED}:
        return Outcome(UNDECIDED, "may_be_chance", f"{sentence}; may be chance")
    disagreement = _disagreement(case, sides, outcomes)
    return Outcome(UNDECIDED, "sides_disagree", f"{sentence}; {disagreement}")


def _disagreement(case: Case, sides: Sequence[Part], outcomes: Sequence[Outcome]) -> str:
    """Say that the sides disagree, with their results: `(-0.0137 fails, -0.0084 passes)`."""
    answers = []
    for side, outcome in zip(sides, outcomes, strict=True):
        size = signed(_numbers(case, side)["difference"])
        answers.append(f"{size} {_ANSWERS[outcome.word]}")
    changes = "change" if case.reference is None else "changes"
    disagree = f"the two sides of the {changes} of judgments disagree ({', '.join(answers)})"
    return f"{disagree}, so it is unclear what happened"


def _outcome_beside_reference(gate: GateConfig, case: Case, numbers: Numbers) -> Outcome:
    """The outcome against an accepted or named night.

    A loss must show in both readings of unjudged documents.
    """
    if case.check.is_of_catalog:
        # The shown lists do not depend on judgments, so there is only one reading.
        return _outcome_of_part(gate, case, case.first_parts[-1], numbers)
    if not has_second_reading(case.check.measure) or not case.second_parts:
        return _outcome_without_failure(gate, case, numbers)
    # The drop that the first reading allows applies to both.
    allowed = numbers["allowed"]
    first = _outcome_of_sides(gate, case, case.first_parts, numbers)
    second = _outcome_of_sides(gate, case, case.second_parts, numbers, allowed)
    changed_too_much = first.word in (FAIL, UNDECIDED)
    if not changed_too_much or first.word == second.word == FAIL:
        return first
    # The readings do not agree on a failure.
    if _fails_only_in_first_reading(gate, case, numbers):
        return Outcome(UNDECIDED, "unjudged_documents", _sentence_of_unjudged(case, numbers))
    if first.word == UNDECIDED:
        return first
    return Outcome(UNDECIDED, "may_be_chance", first.sentence)


def _fails_only_in_first_reading(gate: GateConfig, case: Case, numbers: Numbers) -> bool:
    """Whether only the first reading shows a loss, if each reading is tested by itself."""
    first_numbers = {**numbers, "p": _largest_p(case.first_parts, gate.alpha)}
    first = _outcome_of_sides(gate, case, case.first_parts, first_numbers)
    second_numbers = {**numbers, "p": _largest_p(case.second_parts, gate.alpha)}
    allowed = numbers["allowed"]
    second = _outcome_of_sides(gate, case, case.second_parts, second_numbers, allowed)
    return first.word == FAIL and second.word != FAIL


def _sentence_of_unjudged(case: Case, numbers: Numbers) -> str:
    """The sentence for a loss that fewer judged documents may explain."""
    size = score(abs(numbers["difference"]))
    since = day(case.reference.first) if case.reference else ""
    lower = f"{case.check.subject(case.run)} is {size} lower than on {since}"
    rates = case.judged_rates
    if rates is None or rates.tonight >= rates.before:
        return f"{lower}, but {_second_reading(case)}: have these judged"
    points = round(100 * (rates.before - rates.tonight), 1)
    both = f"({share(rates.tonight)}, was {share(rates.before)})"
    fewer = f"{points:g} points fewer of its documents are judged {both}"
    return f"{lower}, and {fewer}: have these judged; ndcg-spark judge-next lists them"


def _second_reading(case: Case) -> str:
    """The change if unjudged documents are not taken to be irrelevant."""
    changes = [part.row["difference"] for part in case.second_parts if part.row is not None]
    mean = statistics.fmean(changes)
    moved = f"{score(-mean)} lower" if mean < -ROUNDING else "not lower"
    return f"{moved} if its unjudged documents are as relevant as its judged ones"


def _outcome_without_failure(gate: GateConfig, case: Case, numbers: Numbers) -> Outcome:
    """The outcome for a measure without a second reading: pass or undecided, but never fail."""
    lost_too_much = []
    for part in case.first_parts:
        own = _numbers(case, part)
        if own["difference"] is None or own["allowed"] is None:
            return _outcome_of_part(gate, case, part, {**own, "p": None})
        lost_too_much.append(own["difference"] < -own["allowed"] - ROUNDING)
    sentence = _sentence_of_sides(gate, case, case.first_parts, numbers)
    if not any(lost_too_much):
        return Outcome(PASS, None, sentence)
    why = "it is unclear how much of this is because fewer documents are judged"
    return Outcome(UNDECIDED, "unjudged_documents", f"{sentence}; {why}")


# Sentences.


def _sentence_of_minimum(case: Case, row: Row | None, numbers: Numbers) -> str:
    """A sentence on a minimum: `ndcg@10 of a is 0.3812 (50 queries); the minimum is 0.4000`."""
    value, least = apart(numbers["mean"], case.check.min_value or 0.0)
    if case.check.is_of_run:
        lists = f"{row['lists'] if row else 0:,} lists"
        return f"{case.check.subject(case.run)} is {value} ({lists}); the minimum is {least}"
    queries = count(numbers["queries"], "query", "queries")
    subject = f"{case.check.subject(case.run)} is {value} ({queries})"
    return f"{subject}; the minimum is {least}{_unanswered_clause(row)}"


def against_in_words(case: Case) -> str:
    """The baseline in words: `against 7 good nights to 2026-11-19` or `since 2026-09-26`."""
    if case.reference is not None:
        return f"since {case.reference.first}"
    return f"against {case.baseline.in_words}"


def _moved(difference: float, size: str) -> str:
    """The verb for a difference: `fell by 0.0131`, `rose by 0.0131` or `did not change`."""
    if abs(difference) <= ROUNDING:
        return "did not change"
    return f"{'fell' if difference < 0 else 'rose'} by {size}"


def _sentence_of_change(gate: GateConfig, case: Case, row: Row | None, numbers: Numbers) -> str:
    """The sentence about a change: how much, from which mean to which, and what is allowed."""
    check, difference = case.check, numbers["difference"]
    limit = numbers["allowed"]
    if check.is_of_catalog and difference >= 0:
        limit = numbers["allowed_rise"]
    size, shown_limit = apart(abs(difference), limit or 0.0)
    means = f"from {score(numbers['baseline_mean'])} to {score(numbers['mean'])}"
    moved = f"{_moved(difference, size)} {against_in_words(case)}"
    subject = f"{check.subject(case.run)} {moved}, {means}"
    evidence = _numbers_of_lists(row) if check.is_of_run else _in_words(gate, numbers)
    allowed = _allowed_changes(numbers) if check.is_of_catalog else f"{shown_limit} is allowed"
    return f"{subject} ({evidence}); {allowed}{_few_answered(row)}"


def _allowed_changes(numbers: Numbers) -> str:
    """What a check on a catalog measure allows: a drop, a rise, or both."""
    size = abs(numbers["difference"])
    limits = []
    for way, name in (("drop", "allowed"), ("rise", "allowed_rise")):
        if numbers[name] is not None:
            limits.append(f"a {way} of {apart(size, numbers[name])[1]}")
    are = "are" if len(limits) > 1 else "is"
    return f"{' and '.join(limits)} {are} allowed"


def _numbers_of_lists(row: Row | None) -> str:
    """How many lists a run's measure covers, and why its difference is not tested."""
    lists, before = (row["lists"], row["baseline_lists"]) if row else (0, 0)
    was = "" if lists == before else f", {before:,} before"
    return f"{lists:,} lists{was}; one number per night cannot be tested"


def _sentence_of_sides(
    gate: GateConfig, case: Case, parts: Sequence[Part], numbers: Numbers
) -> str:
    """The sentence about a change across changes of judgments, on both sides."""
    if len(parts) == 1:
        own = _numbers(case, parts[0]) | {"p": numbers["p"]}
        return _sentence_of_change(gate, case, parts[0].row, own)
    limit = apart(abs(numbers["difference"]), numbers["allowed"])[1]
    by_side = {part.side: _numbers(case, part)["difference"] for part in parts}
    evidence = _in_words(gate, numbers)
    subject = case.check.subject(case.run)
    if case.reference is None:
        old, new = _both_moves(by_side["old"], by_side["new"])
        moved = f"{old} under the old judgments and {new} under the new ones"
        return f"{subject} {moved} {against_in_words(case)} ({evidence}); {limit} is allowed"
    moved = _moved(numbers["difference"], score(abs(numbers["difference"])))
    ends = " to ".join(signed(value) for value in sorted(by_side.values()))
    bracket = f"{ends} across the changes of judgments"
    return f"{subject} {moved} {against_in_words(case)} ({bracket}, {evidence}); {limit} is allowed"


def _both_moves(old: float, new: float) -> tuple[str, str]:
    """How far a run moved on each side: `fell by 0.0131` and `by 0.0142`, or `by +0.0272`."""
    if old < -ROUNDING and new < -ROUNDING:
        return f"fell by {score(-old)}", f"by {score(-new)}"
    if old > ROUNDING and new > ROUNDING:
        return f"rose by {score(old)}", f"by {score(new)}"
    return f"changed by {signed(old)}", f"by {signed(new)}"


def _in_words(gate: GateConfig, numbers: Numbers) -> str:
    """The evidence for a difference: queries, interval and p value."""
    evidence = [count(numbers["queries"], "query", "queries")]
    if numbers["interval_low"] is not None:
        low, high = numbers["interval_low"], numbers["interval_high"]
        ends = f"{signed(low)} to {signed(high)}"
        evidence.append(f"{level(gate.alpha)} interval {ends}")
    if numbers["p"] is not None:
        evidence.append(p_in_words(numbers["p"], gate.alpha))
    return ", ".join(evidence)


def _few_answered(row: Row | None) -> str:
    """A clause for a run that answered far fewer queries than its baseline; empty otherwise."""
    few = answered_in_words(row) if row else ""
    if not few:
        return ""
    return f"; {few}" if few.startswith("the ") else f"; it {few}"


def _unanswered_clause(row: Row | None) -> str:
    """A clause for a run that did not answer many of the judged queries; empty otherwise."""
    if row is None:
        return ""
    judged, answered = row["judged_queries"], row["answered_queries"]
    if answered == judged or judged - answered < FEW * judged:
        return ""
    return f"; it answered {answered:,} of {judged:,} queries"
