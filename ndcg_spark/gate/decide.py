"""The verdict of a gate on a night, from the results of its checks and what is missing."""

import dataclasses
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from ndcg_spark.comparison.baselines import Baseline, Kind
from ndcg_spark.comparison.differences import ComparisonOptions, causes, explains_change
from ndcg_spark.comparison.matrix import read_attributes
from ndcg_spark.comparison.sources import ScoreCache
from ndcg_spark.errors import DONE
from ndcg_spark.gate.checks import Case, cases_of, decide_cases
from ndcg_spark.gate.compared_night import (
    Compared,
    Comparisons,
    Row,
    compare_night,
    resolve_baselines,
    row_key,
)
from ndcg_spark.gate.missing import Missing, find_missing
from ndcg_spark.gate.settings import GateConfig
from ndcg_spark.gate.verdict import (
    EXIT_CODES,
    FAIL,
    NONE,
    NOT_COMPARABLE,
    PASS,
    UNDECIDED,
    Result,
    Verdict,
    unverified_verdict,
)
from ndcg_spark.nights.log import Night, Nights
from ndcg_spark.nights.reader import earlier
from ndcg_spark.tables.format import part
from ndcg_spark.tolerance import DECIMALS

_MAX_CAUSES = 20
#: The `check` of a result about what must arrive.
_ARRIVAL = "gate"
#: In a rehearsal, results without which a night can begin.
_BEGINNINGS = {None, "no_baseline", "other_convention", "other_judgments"}


class Judged(NamedTuple):
    verdict: Verdict
    rows: list[Row]
    #: The run and the id of the queries that changed most.
    changed: list[tuple[str, str]]


def judge(
    gate: GateConfig,
    tonight: Night,
    nights: Nights,
    scores: ScoreCache,
    options: ComparisonOptions,
    accepted: str | None = None,
) -> Judged:
    """The verdict on a night, which is one of `nights`.

    `options` have attributes and weights; attributes that the night has kept itself replace those.
    """
    if tonight.unverified is not None:
        verdict = unverified_verdict(tonight.dataset, tonight.evaluated_on, tonight.unverified)
        return Judged(verdict, [], [])
    against = resolve_baselines(gate, tonight, nights)
    own = _options_of(gate, tonight, options)
    compared = compare_night(gate, tonight, against, scores, own)
    missing = find_missing(gate, tonight, nights, against, scores)
    runs = scores.source(tonight).runs
    same = _same_results(tonight, nights)
    verdict = decide(gate, tonight, runs, against, compared, missing, same, accepted)
    return Judged(verdict, _rows(against, compared), _changed(against, compared))


def _options_of(gate: GateConfig, tonight: Night, options: ComparisonOptions) -> ComparisonOptions:
    kept = read_attributes([tonight])
    # A check says itself how many queries it needs.
    own = dataclasses.replace(options, alpha=gate.alpha, min_queries=2)
    return own if kept is None else dataclasses.replace(own, attributes=kept)


def _same_results(tonight: Night, nights: Nights) -> str | None:
    """The date of the last night, if its results are tonight's."""
    own = tonight.row["results_fingerprint"]
    before = earlier(nights, tonight.dataset, tonight.evaluated_on)
    if own and before and before[-1].row["results_fingerprint"] == own:
        return before[-1].evaluated_on
    return None


def _rows(against: Sequence[Baseline], compared: Comparisons) -> list[Row]:
    """The rows of COMPARISONS to publish; those that two baselines share once."""
    rows: list[Row] = []
    for stands_for in dict.fromkeys(baseline.stands_for for baseline in against):
        rows.extend(compared[stands_for].rows.values())
    return rows


def _changed(against: Sequence[Baseline], compared: Comparisons) -> list[tuple[str, str]]:
    """What changed most beside the first baseline with which something was compared."""
    for baseline in against:
        beside = compared[baseline.stands_for]
        if beside.rows:
            return list(beside.changed)
    return []


def decide(
    gate: GateConfig,
    tonight: Night,
    runs: Sequence[str],
    against: Sequence[Baseline],
    compared: Comparisons,
    missing: Sequence[Missing],
    same: str | None,
    accepted: str | None,
) -> Verdict:
    """The last step: the verdict on a night with these runs.

    `same` is the date of the last night if its results are the same.
    """
    cases = cases_of(gate, tonight, runs, against, compared)
    decided = decide_cases(gate, cases)
    absent = _absent(gate, tonight, missing, has_cases=bool(cases), same=same)
    arrival = [Result(_ARRIVAL, FAIL, NOT_COMPARABLE, *one) for one in absent]
    results = arrival + decided
    word, deciding = _decisive(results)
    first = deciding[0] if deciding else None
    losses = _causes(cases, decided, compared, first)
    # What is wrong with a baseline is about no run.
    about = {result.run for result in deciding if first and result.sentence == first.sentence}
    warnings = _warnings_of(results, deciding)
    warnings += _warnings_beside(gate, against, compared, same)
    warnings += _warning_not_good(word, results, accepted)
    return Verdict(
        dataset=tonight.dataset,
        evaluated_on=tonight.evaluated_on,
        verdict=word,
        reason=first.reason if first else None,
        sentence=_sentence(results, deciding, arrival, losses),
        run=about.pop() if len(about) == 1 else None,
        exit_code=DONE if word == NONE and accepted is not None else EXIT_CODES[word],
        results=tuple(results),
        warnings=tuple(warnings),
        baselines=tuple(_entry(baseline) for baseline in against),
        causes=tuple(losses),
        accepted=accepted,
    )


def _absent(
    gate: GateConfig,
    tonight: Night,
    missing: Sequence[Missing],
    *,
    has_cases: bool,
    same: str | None,
) -> list[Missing]:
    """What is missing, or was not measured at all."""
    absent = list(missing)
    if not (has_cases or absent):
        sentence = f"no check is for a run of {tonight.dataset} besides the baseline"
        absent.append(Missing("not_measured", sentence))
    if same and gate.same_results == "undecided":
        absent.append(Missing("not_measured", f"the results are identical to those of {same}"))
    return absent


def _decisive(results: Sequence[Result]) -> tuple[str, list[Result]]:
    """The word of a verdict, and the results that decide it, in the order of saying them."""
    can_fail = [result for result in results if result.severity == FAIL]
    failed = [result for result in can_fail if result.result == FAIL]
    unknown = [result for result in can_fail if result.result != PASS]
    # Warnings decide if nothing at all was measured.
    if all(result.result == NOT_COMPARABLE for result in results):
        unknown = list(results)
    if failed:
        return FAIL, sorted(failed, key=_rank)
    if unknown:
        return NONE, sorted(unknown, key=_rank)
    return PASS, []


def _rank(result: Result) -> tuple[bool, bool, bool, float]:
    """The order in which results decide.

    What is missing comes first, then checks that can fail, then what every night repeats until it
    is mended, then the largest drop.
    """
    is_repeated = result.reason in ("no_baseline", "may_be_chance", "below_min_value")
    is_check = result.check != _ARRIVAL
    drop = round(result.difference or 0.0, DECIMALS)
    return is_check, result.severity != FAIL, is_repeated, drop


def _sentence(
    results: Sequence[Result],
    deciding: Sequence[Result],
    arrival: Sequence[Result],
    losses: Sequence[Row],
) -> str:
    said = list(dict.fromkeys(result.sentence for result in [*arrival, *deciding[:1]]))
    if not deciding:
        passed = sum(result.result == PASS for result in results)
        others = "; others only warn" if passed < len(results) else ""
        return f"{passed} of {len(results)} results pass{others}"
    more = len({result.sentence for result in deciding}.difference(said))
    if more:
        said[-1] += f" (and {more} more)"
    if losses and explains_change(losses[0]):
        said.append(_loss_in_words(losses[0]))
    return "; ".join(said)


def _loss_in_words(cause: Row) -> str:
    queries = f"{cause['queries']:,} of {cause['of_queries']:,} queries"
    share = part(cause["share"])
    return f"{cause['attribute']}={cause['value']}: {queries}, {share} of the loss"


def _warnings_of(results: Sequence[Result], deciding: Sequence[Result]) -> list[str]:
    """What checks say that only warn, unless the verdict says it."""
    said = {result.sentence for result in deciding}
    warned = [result for result in results if result.severity != FAIL and result.result != PASS]
    sentences = dict.fromkeys(result.sentence for result in warned)
    return [sentence for sentence in sentences if sentence not in said]


def _warnings_beside(
    gate: GateConfig, against: Sequence[Baseline], compared: Comparisons, same: str | None
) -> list[str]:
    warnings = []
    if same and gate.same_results == "warn":
        warnings.append(
            f"the results are identical to those of {same}; check that the export is new",
        )
    notes = [compared[baseline.stands_for].note for baseline in against]
    warnings.extend(note for note in notes if note)
    warnings.extend(baseline.unread for baseline in against if baseline.unread)
    return warnings


def _warning_not_good(word: str, results: Sequence[Result], accepted: str | None) -> list[str]:
    is_good = all(result.result in (PASS, UNDECIDED) for result in results)
    if word != PASS or accepted is not None or is_good:
        return []
    return ["the night is not good, as a check that only warns did not pass; it is no baseline"]


def _entry(baseline: Baseline) -> dict[str, Any]:
    """A baseline as verdicts list it."""
    return {
        "name": baseline.name,
        "nights": [night.evaluated_on for night in baseline.nights],
        "evaluation_id": baseline.nights[-1].evaluation_id if baseline.nights else None,
    }


def _causes(
    cases: Sequence[Case],
    decided: Sequence[Result],
    compared: Comparisons,
    first: Result | None,
) -> list[dict[str, Any]]:
    """The slices that have most of the loss by which a verdict was decided."""
    for case, result in zip(cases, decided, strict=True):
        if result == first:
            return _slices_of_loss(case, compared[case.baseline.stands_for])
    return []


def _slices_of_loss(case: Case, beside: Compared) -> list[dict[str, Any]]:
    if case.refused or case.row is None or case.check.slice or case.check.weighted:
        return []
    if case.baseline.kind is Kind.ITSELF or (case.row["difference"] or 0.0) >= 0:
        return []
    own = row_key(case.row)
    parts = []
    for key, row in beside.rows.items():
        is_same = key[:3] == own[:3]
        if is_same and key.attribute is not None and not key.is_weighted:
            parts.append(row)
    return causes(case.row, parts)[:_MAX_CAUSES]


def rehearse(
    gate: GateConfig, nights: Nights, options: ComparisonOptions, dataset: str | None = None
) -> Iterator[Verdict]:
    """The verdict on each night of a dataset, or of all, as if the gate had run on every one.

    A night that was evaluated without a gate cannot have been accepted, so it is good if there is
    nothing to compare it with.
    """
    known = Nights(nights, nights.rows, nights.damaged)
    scores = ScoreCache()
    for number, night in enumerate(nights):
        if dataset not in (None, night.dataset):
            continue
        verdict = judge(gate, night, known, scores, options, night.row["accepted"]).verdict
        is_good = verdict.is_baseline or _begins(night, verdict, nights)
        known[number] = dataclasses.replace(night, row={**night.row, "is_baseline": is_good})
        yield verdict


def _begins(night: Night, verdict: Verdict, nights: Nights) -> bool:
    """Whether a night without a gate becomes the first baseline of a rehearsal."""
    # A date that cannot be read may have been a baseline.
    if night.row["verdict"] is not None or nights.damaged_between("", night.evaluated_on):
        return False
    return {result.reason for result in verdict.results} <= _BEGINNINGS
