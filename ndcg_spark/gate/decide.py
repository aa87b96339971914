"""The decision of the gate as a function of plain data: rows of comparisons become results, and these a verdict.

Fail closed: what was not measured or cannot be compared is no pass.
"""

import dataclasses
import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ndcg_spark.comparison.comparable import fingerprint
from ndcg_spark.comparison.differences import causes
from ndcg_spark.comparison.statistics import adjusted as adjusted_for
from ndcg_spark.convention.cutoffs import format_cutoff
from ndcg_spark.errors import DONE
from ndcg_spark.gate.baselines import Baseline, Refusal, Row
from ndcg_spark.gate.config import CheckConfig, GateConfig
from ndcg_spark.gate.verdict import EXIT_CODES, FAIL, NONE, NOT_COMPARABLE, PASS, UNDECIDED, Result, Verdict
from ndcg_spark.nights.log import Night, Nights
from ndcg_spark.nights.select import earlier

#: Sums over a million queries differ in their last digits between engines; no verdict may depend on those digits.
_ROUNDING = 1e-12
_NUMBERS = ("mean", "baseline_mean", "difference", "allowed", "interval_low", "interval_high", "p")
#: At most so many slices are named as causes.
_MAX_CAUSES = 20

#: What a row describes: run, measure, cutoff, attribute, value, and whether it is weighted.
Key = tuple[Any, ...]


class Case(NamedTuple):
    """One check for one run and one baseline: the row that decides, or why it does not."""

    place: str
    check: CheckConfig
    run: str
    baseline: Baseline
    row: Row | None
    refused: Refusal | None = None


@dataclasses.dataclass
class Compared:
    """A baseline with the rows of COMPARISONS, or why there are none."""

    baseline: Baseline
    refused: Refusal | None
    rows: dict[Key, dict[str, Any]] = dataclasses.field(default_factory=dict)
    #: The run and the id of the queries that changed most, by the first check.
    changed: list[tuple[str, str]] = dataclasses.field(default_factory=list)
    #: How many queries have other judgments, of how many.
    rejudged: int = 0
    queries: int = 0


def key_of(row: Row) -> Key:
    """What a row of COMPARISONS describes, as a key."""
    names = ("run", "measure", "cutoff", "attribute", "value")
    return *(row[name] for name in names), row["weight_effective_n"] is not None


def results_of(gate: GateConfig, cases: Sequence[Case]) -> list[Result]:
    """One result per case. p values are adjusted by Holm over all rows that were measured and changed.

    Checks that only warn are a family of their own, so that they do not weaken those that can fail.
    """
    adjusted: dict[tuple[Any, ...], float] = {}
    for severity in ("fail", "warn"):
        own = [case for case in cases if case.check.severity == severity]
        family = {_hypothesis(case): p for case in own if (p := _p_value(case, gate.alpha)) is not None}
        adjusted |= zip(family, adjusted_for(list(family.values()), "holm").tolist(), strict=True)
    return [_result(gate, case, adjusted.get(_hypothesis(case))) for case in cases]


def _p_value(case: Case, alpha: float) -> float | None:
    """The larger p value of both tests, or that of t where nothing can fail by it; None if nothing changed."""
    if case.row is None or case.refused or "unchanged" in case.row["flags"]:
        return None
    p, signs, difference = (case.row[name] for name in ("p_value", "p_randomization", "difference"))
    is_loss = difference is not None and difference < 0 and p is not None and p < alpha
    return float(np.maximum(p, signs)) if is_loss and signs is not None else p


def _hypothesis(case: Case) -> tuple[Any, ...]:
    """What is tested, which several checks and baselines of a family may share."""
    return case.check.severity, case.baseline.run, *case.baseline.nights, key_of(case.row) if case.row else None


def _result(gate: GateConfig, case: Case, p: float | None) -> Result:
    check, baseline, row = case.check, case.baseline, case.row or {}
    numbers: dict[str, float | None] = {name: row.get(name) for name in _NUMBERS} | {"p": p}
    if baseline.name is None and numbers["mean"] is not None:
        nothing = dict.fromkeys(("baseline_mean", "interval_low", "interval_high"))
        numbers |= {**nothing, "difference": numbers["mean"] - (check.min_value or 0.0), "allowed": 0.0}
    elif numbers["baseline_mean"] is not None:
        numbers["allowed"] = check.allowed(numbers["baseline_mean"])
    reason: str | None
    if case.refused:
        result, (reason, sentence) = NOT_COMPARABLE, case.refused
    elif None in (numbers["difference"], numbers["allowed"]) or not all(
        map(math.isfinite, filter(None, numbers.values()))
    ):
        result, reason = NOT_COMPARABLE, "not_measured"
        sentence = f"{check.subject(case.run)}: a number of the comparison is not finite"
    else:
        result, reason, sentence = _decided(gate, case, row, numbers)
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
        baseline=baseline.name,
        baseline_night=baseline.newest,
        queries=row.get("queries"),
        **{name: None if number is None or not math.isfinite(number) else number for name, number in numbers.items()},
    )


def _decided(gate: GateConfig, case: Case, row: Row, numbers: dict[str, Any]) -> tuple[str, str | None, str]:
    """The one rule: the result, its code and a sentence."""
    baseline, subject, queries = case.baseline, case.check.subject(case.run), f"{row['queries']:,} queries"
    difference, allowed, p = numbers["difference"], numbers["allowed"], numbers["p"]
    is_beyond = difference < -allowed - _ROUNDING
    if baseline.name is None:
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
    nights: Nights,
    results: Sequence[Result],
    compared: Sequence[Compared],
    accepted: str | None = None,
) -> Verdict:
    """The verdict that follows from these results, of which those on what is missing come first."""
    same = _same_results(tonight, nights)
    if same and gate.same_results == "undecided":
        sentence = f"the results are identical to those of {same}, so nothing new was measured"
        results = [*results, Result("gate", FAIL, NOT_COMPARABLE, "not_measured", sentence)]
    word, deciding = _deciding(results)
    first = min(deciding, key=lambda each: (not _is_missing(each), each.difference or 0.0), default=None)
    losses = _causes(first, compared)
    # What is wrong with a baseline is about no run.
    runs = {each.run for each in deciding if first and each.sentence == first.sentence}
    if first is None:
        passed = sum(each.result == PASS for each in results)
        sentence = f"{passed} of {len(results)} results pass" + ("; others only warn" if passed < len(results) else "")
    else:
        said = list(dict.fromkeys(each.sentence for each in results if each is first or _is_missing(each)))
        more = len({each.sentence for each in deciding}.difference(said))
        sentence = "; ".join(said) + (f" (and {more} more)" if more else "")
    for cause in losses[:1]:
        where = f"{cause['attribute']}={cause['value']}: {cause['queries']:,} of {cause['of_queries']:,} queries"
        sentence += f"; {where}, {100 * cause['share']:.0f} % of the loss"
    verdict = Verdict(
        dataset=tonight.dataset,
        evaluated_on=tonight.evaluated_on,
        verdict=word,
        reason=first.reason if first else None,
        sentence=sentence,
        run=runs.pop() if len(runs) == 1 else None,
        exit_code=DONE if word == NONE and accepted is not None else EXIT_CODES[word],
        results=tuple(results),
        baselines=tuple(
            {
                "name": each.baseline.name,
                "nights": [night.evaluated_on for night in each.baseline.nights],
                "evaluation_id": each.baseline.nights[-1].evaluation_id if each.baseline.nights else None,
                "changed_judgments": each.rejudged,
                "queries": each.queries,
            }
            for each in compared
        ),
        causes=tuple(losses),
        same_results=same,
        accepted=accepted,
    )
    return dataclasses.replace(verdict, warnings=tuple(dict.fromkeys(_warnings(gate, verdict, deciding, compared))))


def _is_missing(result: Result) -> bool:
    return result.check == "gate" and result.reason in ("missing_dataset", "missing_run")


def _deciding(results: Sequence[Result]) -> tuple[str, list[Result]]:
    """The verdict, and the results that speak for it; none for a pass."""
    failed = [each for each in results if each.severity == FAIL and each.result == FAIL]
    if failed:
        return FAIL, failed
    unknown = [each for each in results if each.severity == FAIL and each.result != PASS]
    if all(each.result == NOT_COMPARABLE for each in results):
        # It may be that all checks only warn.
        unknown = list(results)
    return (NONE, unknown) if unknown else (PASS, [])


def _same_results(tonight: Night, nights: Nights) -> str | None:
    """The date of the last night, if its results are identical."""
    own = fingerprint(tonight.record, "results", tonight.dataset)
    last = earlier(nights, tonight.dataset, tonight.evaluated_on)[-1:]
    same = (night.evaluated_on for night in last if own and fingerprint(night.record, "results", night.dataset) == own)
    return next(same, None)


def _causes(first: Result | None, compared: Sequence[Compared]) -> list[dict[str, Any]]:
    """The slices that have most of the loss that decided."""
    if first is None or first.baseline is None or first.slice:
        return []
    rows = next(each.rows for each in compared if each.baseline.name == first.baseline)
    wanted = first.run, first.measure, first.cutoff, False
    own = [row for key, row in rows.items() if (*key[:2], format_cutoff(key[2]), key[5]) == wanted]
    if first.weighted or not own or (own[0]["difference"] or 0.0) >= 0:
        return []
    found = (
        cause for cause in causes(own[0], own[1:]) if cause["share"] > 0 and cause["queries"] < cause["of_queries"]
    )
    return [*itertools.islice(found, _MAX_CAUSES)]


def _warnings(
    gate: GateConfig, verdict: Verdict, deciding: Sequence[Result], compared: Sequence[Compared]
) -> Iterator[str]:
    """What did not decide, in sentences."""
    for each in verdict.results:
        if each.severity == "warn" and each.result != PASS and each not in deciding:
            yield each.sentence
    if verdict.same_results and gate.same_results == "warn":
        yield f"the results are identical to those of {verdict.same_results}"
    for side in compared:
        same = side.queries - side.rejudged
        if side.rejudged and not side.refused:
            share = f"{same:,} of {side.queries:,} queries ({same / side.queries:.1%})"
            yield f"{share} were compared with {side.baseline.in_words}, as the judgments of the others have changed"
    if verdict.verdict == PASS and not verdict.is_baseline:
        yield "this night is no baseline for later ones, because not every check measured something and passed"
