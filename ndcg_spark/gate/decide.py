"""The decision of the gate as a function of plain data: rows of comparisons become results, and these a verdict.

Fail closed: what was not measured or cannot be compared is no pass.
"""

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ndcg_spark.comparison.comparable import fingerprint
from ndcg_spark.comparison.statistics import holm
from ndcg_spark.convention.cutoffs import format_cutoff
from ndcg_spark.errors import DONE
from ndcg_spark.gate.baselines import Baseline, Refusal, Row
from ndcg_spark.gate.config import CheckConfig, GateConfig
from ndcg_spark.gate.verdict import EXIT_CODES, FAIL, NONE, NOT_COMPARABLE, PASS, UNDECIDED, Result, Verdict
from ndcg_spark.nights.log import Night, is_baseline
from ndcg_spark.nights.select import earlier

#: Sums over a million queries differ in their last digits between engines; no verdict may depend on those digits.
_ROUNDING = 1e-12

#: What a row describes: run, measure, cutoff, attribute, value, and whether it is weighted.
Key = tuple[Any, ...]


class Case(NamedTuple):
    """One check for one run and one baseline: the row that decides, or why there is none."""

    place: str
    check: CheckConfig
    run: str
    #: None for `min_value`, of which the row has run, mean, queries and weight_effective_n.
    baseline: Baseline | None
    row: Row | None
    refused: Refusal | None = None


@dataclasses.dataclass
class Compared:
    """A baseline with the rows of COMPARISONS, or why there are none."""

    baseline: Baseline
    refused: Refusal | None
    rows: dict[Key, dict[str, Any]] = dataclasses.field(default_factory=dict)
    #: The slices that have most of a loss, by key of a row of all queries.
    causes: dict[Key, list[dict[str, Any]]] = dataclasses.field(default_factory=dict)
    #: The queries that changed most, by the first check.
    extremes: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    #: How many queries have other judgments, of how many.
    changed: int = 0
    queries: int = 0

    def as_json(self) -> dict[str, Any]:
        """What a verdict says of it."""
        nights = self.baseline.nights
        return {
            "name": self.baseline.spec.name,
            "nights": [night.evaluated_on for night in nights],
            "evaluation_id": nights[-1].evaluation_id if nights else None,
            "changed_judgments": self.changed,
            "queries": self.queries,
        }


def key_of(row: Row) -> Key:
    """What a row of COMPARISONS describes, as a key."""
    names = ("run", "measure", "cutoff", "attribute", "value")
    return *(row[name] for name in names), row["weight_effective_n"] is not None


def results_of(gate: GateConfig, cases: Sequence[Case]) -> list[Result]:
    """One result per case. p values are adjusted by Holm over all rows that were measured and changed.

    Checks that only warn are a family of their own, so that they do not weaken those that can fail.
    """
    adjusted: dict[tuple[str, Any], float] = {}
    for severity in ("fail", "warn"):
        family = {
            _hypothesis(case): p
            for case in cases
            if case.check.severity == severity and (p := _p_value(case)) is not None
        }
        for hypothesis, p in zip(family, holm(list(family.values())), strict=True):
            adjusted[severity, hypothesis] = float(p)
    return [_result(gate, case, adjusted.get((case.check.severity, _hypothesis(case)))) for case in cases]


def _p_value(case: Case) -> float | None:
    """The larger p value of both tests; None if nothing was tested, or nothing changed."""
    if case.row is None or case.refused or case.baseline is None or "unchanged" in case.row["flags"]:
        return None
    known = [p for p in (case.row["p_value"], case.row["p_randomization"]) if p is not None]
    return float(np.max(known)) if known else None


def _hypothesis(case: Case) -> tuple[Any, ...]:
    """What is tested, which several checks and baselines may share."""
    baseline = case.baseline
    sides = baseline and (baseline.spec.run, *(night.evaluated_on for night in baseline.nights))
    return sides, key_of(case.row) if case.row and baseline else (case.place, case.run)


def _result(gate: GateConfig, case: Case, p: float | None) -> Result:
    check, baseline, row = case.check, case.baseline, case.row or {}
    names = ("mean", "baseline_mean", "difference", "interval_low", "interval_high")
    numbers: dict[str, float | None] = {name: row.get(name) for name in names}
    if baseline is None and numbers["mean"] is not None:
        numbers |= {"difference": numbers["mean"] - (check.min_value or 0.0), "allowed": 0.0}
    elif numbers["baseline_mean"] is not None:
        numbers["allowed"] = check.allowed(numbers["baseline_mean"])
    deciding = [p, *numbers.values()]
    reason: str | None
    if case.refused:
        result, (reason, sentence) = NOT_COMPARABLE, case.refused
    elif numbers["difference"] is None or not all(number is None or math.isfinite(number) for number in deciding):
        result, reason = NOT_COMPARABLE, "not_measured"
        sentence = f"{check.subject(case.run)}: a number of the comparison is not finite"
    else:
        result, reason, sentence = _decided(gate, case, numbers, p)
    return Result(
        check=case.place,
        severity=check.severity,
        result=result,
        reason=reason,
        sentence=sentence,
        run=case.run,
        measure=check.measure,
        cutoff=format_cutoff(check.cutoff),
        slice=check.slice,
        weighted=check.weighted,
        baseline=baseline.spec.name if baseline else None,
        baseline_night=baseline.newest if baseline else None,
        p=p,
        queries=row.get("queries"),
        **{name: number if number is not None and math.isfinite(number) else None for name, number in numbers.items()},
    )


def _decided(gate: GateConfig, case: Case, numbers: Mapping[str, Any], p: float | None) -> tuple[str, str | None, str]:
    """The one rule: the result, its code and a sentence."""
    baseline, row, subject = case.baseline, case.row or {}, case.check.subject(case.run)
    difference, allowed, queries = numbers["difference"], numbers["allowed"], f"{row['queries']:,} queries"
    is_beyond = difference < -allowed - _ROUNDING
    if baseline is None:
        sentence = f"{subject} is {row['mean']:.4f} ({queries}), and the least value is {case.check.min_value:.4f}"
        return (FAIL, "below_min_value", sentence) if is_beyond else (PASS, None, sentence)
    evidence = queries
    if row["interval_low"] is not None:
        ends = f"{row['interval_low']:+.4f} to {row['interval_high']:+.4f}"
        evidence += f", {100 * (1 - gate.alpha):g} % interval {ends}"
    evidence += "" if p is None else f", p {p:.2g}"
    moved = f"{'fell' if difference < 0 else 'rose'} by {abs(difference):.4f} against {baseline.in_words}"
    sentence = f"{subject} {moved}, from {row['baseline_mean']:.4f} to {row['mean']:.4f} ({evidence})"
    sentence += f"; {allowed:.4f} is allowed"
    if not is_beyond:
        return PASS, None, sentence
    if p is None:
        return NOT_COMPARABLE, "not_measured", f"{sentence}, but it could not be tested"
    return (FAIL, "dropped", sentence) if p < gate.alpha else (UNDECIDED, "may_be_chance", f"{sentence}; may be chance")


def verdict_of(
    gate: GateConfig,
    tonight: Night,
    nights: Iterable[Night],
    results: Sequence[Result],
    compared: Sequence[Compared],
    accepted: str | None = None,
) -> Verdict:
    """The verdict that follows from these results, of which those on what is missing come first."""
    same = _same_results(tonight, nights)
    if same and gate.same_results == "undecided":
        sentence = f"the results are identical to those of {same}, so nothing new was measured"
        results = [*results, Result("gate", FAIL, NOT_COMPARABLE, "not_measured", sentence)]
    missing = [each for each in results if each.reason in ("missing_dataset", "missing_run") and each.check == "gate"]
    deciding = [each for each in results if each.severity == FAIL and each.result == FAIL]
    word = FAIL if deciding else NONE
    if not deciding:
        deciding = [each for each in results if each.severity == FAIL and each.result != PASS]
    if not deciding and all(each.result == NOT_COMPARABLE for each in results):
        # All checks only warn, and nothing was measured.
        deciding = list(results)
    if not deciding:
        word = PASS
    first = min(deciding, key=lambda each: (each not in missing, each.difference or 0.0), default=None)
    causes = _causes(first, compared)
    accepted_none = word == NONE and accepted is not None
    verdict = Verdict(
        dataset=tonight.dataset,
        evaluated_on=tonight.evaluated_on,
        verdict=word,
        reason=first.reason if first else None,
        sentence=_sentence(results, first, deciding, missing, causes),
        run=first.run if first else None,
        exit_code=DONE if accepted_none else EXIT_CODES[word],
        results=tuple(results),
        baselines=tuple(each.as_json() for each in compared),
        causes=tuple(causes),
        same_results=same,
        accepted=accepted,
    )
    return dataclasses.replace(verdict, warnings=tuple(_warnings(gate, verdict, deciding, compared)))


def _same_results(tonight: Night, nights: Iterable[Night]) -> str | None:
    """The date of the last night, if its results are identical."""
    own = fingerprint(tonight.record, "results", tonight.dataset)
    for night in earlier(nights, tonight.dataset, tonight.evaluated_on)[-1:]:
        if own is not None and fingerprint(night.record, "results", night.dataset) == own:
            return night.evaluated_on
    return None


def _causes(first: Result | None, compared: Sequence[Compared]) -> list[dict[str, Any]]:
    """The slices that have most of the loss that decided."""
    if first is None or first.baseline is None or first.slice:
        return []
    rows = next(each for each in compared if each.baseline.spec.name == first.baseline).causes
    found = ((key, causes) for key, causes in rows.items() if format_cutoff(key[2]) == first.cutoff)
    wanted = (first.run, first.measure, first.weighted)
    return next((causes for key, causes in found if (key[0], key[1], key[5]) == wanted), [])


def _sentence(
    results: Sequence[Result],
    first: Result | None,
    deciding: Sequence[Result],
    missing: Sequence[Result],
    causes: Sequence[dict[str, Any]],
) -> str:
    if first is None:
        passed = sum(each.result == PASS for each in results)
        others = "" if passed == len(results) else "; the others only warn"
        return f"{passed} of {len(results)} results pass{others}"
    said = list(dict.fromkeys(each.sentence for each in [*missing, first]))
    more = len({each.sentence for each in deciding}.difference(said))
    sentence = "; ".join(said) + (f" (and {more} more)" if more else "")
    for cause in causes[:1]:
        where = f"{cause['attribute']}={cause['value']}: {cause['queries']:,} of {cause['of_queries']:,} queries"
        sentence += f"; {where}, {100 * cause['share']:.0f} % of the loss"
    return sentence


def _warnings(
    gate: GateConfig, verdict: Verdict, deciding: Sequence[Result], compared: Sequence[Compared]
) -> Iterable[str]:
    """What did not decide, each sentence once."""
    others = [each for each in verdict.results if each.severity == "warn" and each.result != PASS]
    sentences = [each.sentence for each in others if each not in deciding]
    if verdict.same_results and gate.same_results == "warn":
        sentences.append(f"the results are identical to those of {verdict.same_results}")
    for each in compared:
        if each.changed and not each.refused:
            same = each.queries - each.changed
            share = f"{same:,} of {each.queries:,} queries ({same / each.queries:.1%})"
            sentences.append(f"{share} were compared with {each.baseline.in_words}: the judgments of others changed")
    if verdict.verdict == PASS and not is_baseline(verdict.as_json(), verdict.accepted):
        sentences.append("this night is no baseline for later ones, because not every check measured something")
    return dict.fromkeys(sentences)
