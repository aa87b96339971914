"""The decision of the gate: checks get the rows that decide them, by one rule, and the night a verdict.

Fail closed: what was not measured or cannot be compared is no pass.
"""

import dataclasses
import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ndcg_spark.comparison.differences import FEW, ComparisonOptions, causes, deciding, explains
from ndcg_spark.comparison.matrix import read_attributes
from ndcg_spark.comparison.statistics import adjusted
from ndcg_spark.convention.measures import format_cutoff
from ndcg_spark.errors import DONE
from ndcg_spark.gate import baselines
from ndcg_spark.gate.baselines import Baseline, Refusal, Row, ScoreCache
from ndcg_spark.gate.config import CheckConfig, GateConfig
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
from ndcg_spark.nights.read import earlier
from ndcg_spark.tables.table import answered_in_words
from ndcg_spark.text import apart, did_you_mean

#: Sums over a million queries differ in their last digits between engines; no verdict may depend on those digits.
_ROUNDING = 1e-12
_MAX_CAUSES = 20
#: In a rehearsal, results without which a night can begin.
_BEGINNINGS = {None, "no_baseline", "other_convention", "other_judgments"}


class Case(NamedTuple):
    name: str
    check: CheckConfig
    run: str
    baseline: Baseline
    row: Row | None
    refused: Refusal | None = None


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
        return Judged(unverified_verdict(tonight.dataset, tonight.evaluated_on, tonight.unverified), [], [])
    kept = read_attributes([tonight])
    # A check says itself how many queries it needs.
    options = dataclasses.replace(options, alpha=gate.alpha, min_queries=2)
    options = options if kept is None else dataclasses.replace(options, attributes=kept)
    # Two baselines that stand for the same nights share their rows.
    compared: dict[Any, Baseline] = {}
    against: list[Baseline] = []
    for name in gate.baseline:
        resolved = baselines.resolve(gate, name, tonight, nights)
        key = resolved.run, resolved.refused, *resolved.nights
        if key not in compared:
            baselines.add_rows(gate, tonight, resolved, scores, options)
        against.append(dataclasses.replace(compared.setdefault(key, resolved), name=name))
    baselines.add_rows(gate, tonight, itself := Baseline(None), scores, options)
    cases = list(_cases(gate, tonight, against, itself, scores))
    absent = list(baselines.find_missing(gate, tonight, nights, against, scores))
    last, own = earlier(nights, tonight.dataset, tonight.evaluated_on)[-1:], tonight.row["results_fingerprint"]
    same = next((night.evaluated_on for night in last if own and night.row["results_fingerprint"] == own), None)
    if not (cases or absent):
        absent.append(("not_measured", f"no check is for a run of {tonight.dataset} besides the baseline", None))
    if same and gate.same_results == "undecided":
        absent.append(("not_measured", f"the results are identical to those of {same}", None))
    arrival, decided = [Result("gate", FAIL, NOT_COMPARABLE, *missing) for missing in absent], decide_cases(gate, cases)
    results = [*arrival, *decided]
    failed = [result for result in results if result.severity == FAIL and result.result == FAIL]
    # Warnings decide if nothing at all was measured.
    is_empty = all(result.result == NOT_COMPARABLE for result in results)
    unknown = [result for result in results if is_empty or (result.severity == FAIL and result.result != PASS)]
    word, deciding = (FAIL, failed) if failed else (NONE, unknown) if unknown else (PASS, [])
    # What is missing comes first, then what every night will repeat until somebody acts, then the largest drop.
    deciding.sort(key=lambda result: (result not in arrival, *_rank(result)))
    first = next(iter(deciding), None)
    # What is wrong with a baseline is about no run.
    runs = {result.run for result in deciding if first and result.sentence == first.sentence}
    losses = _causes(next((case for case, result in zip(cases, decided, strict=True) if result is first), None))
    warnings = [result.sentence for result in results if result.severity != FAIL and result.result != PASS]
    said = {result.sentence for result in deciding}
    warnings = [sentence for sentence in dict.fromkeys(warnings) if sentence not in said]
    if same and gate.same_results == "warn":
        warnings.append(f"the results are identical to those of {same}; check that the export is new")
    warnings += [baseline.note for baseline in against if baseline.note]
    warnings += [baseline.unread for baseline in against if baseline.unread]
    if word == PASS and accepted is None and any(result.result not in (PASS, UNDECIDED) for result in results):
        warnings.append("the night is not good, as a check that only warns did not pass; it is no baseline")
    verdict = Verdict(
        dataset=tonight.dataset,
        evaluated_on=tonight.evaluated_on,
        verdict=word,
        reason=first.reason if first else None,
        sentence=_sentence(results, deciding, [*arrival, *([first] if first else [])], losses),
        run=runs.pop() if len(runs) == 1 else None,
        exit_code=DONE if word == NONE and accepted is not None else EXIT_CODES[word],
        results=tuple(results),
        warnings=tuple(warnings),
        baselines=tuple(
            {"name": baseline.name, "nights": [night.evaluated_on for night in baseline.nights]}
            | {"evaluation_id": baseline.nights[-1].evaluation_id if baseline.nights else None}
            for baseline in against
        ),
        causes=tuple(losses),
        accepted=accepted,
    )
    rows = [row for baseline in compared.values() for row in baseline.rows.values()]
    return Judged(verdict, rows, next((baseline.changed for baseline in against if baseline.rows), []))


def rehearse(
    gate: GateConfig, nights: Nights, options: ComparisonOptions, dataset: str | None = None
) -> Iterator[Verdict]:
    """The verdict on each night of a dataset, or of all, as if the gate had run on every one.

    A night that was evaluated without a gate cannot have been accepted, so it is good if there is nothing to compare it
    with.
    """
    known, scores = Nights(nights, nights.rows, nights.damaged), ScoreCache()
    for number, night in enumerate(nights):
        if dataset in (None, night.dataset):
            verdict = judge(gate, night, known, scores, options, night.row["accepted"]).verdict
            begins = night.row["verdict"] is None and {result.reason for result in verdict.results} <= _BEGINNINGS
            # A date that cannot be read may have been a baseline.
            begins = begins and not nights.damaged_between("", night.evaluated_on)
            known[number] = dataclasses.replace(night, row={**night.row, "is_baseline": begins or verdict.is_baseline})
            yield verdict


def _cases(
    gate: GateConfig, tonight: Night, against: Sequence[Baseline], itself: Baseline, scores: ScoreCache
) -> Iterator[Case]:
    """Every check for every run of the night and every baseline. A run that is missing has none."""
    runs = scores.source(tonight).runs
    for name, check in gate.checks(tonight.dataset):
        sides = [*(against if check.limits_drop else []), *([] if check.min_value is None else [itself])]
        part = check.slice.split("=", 1) if check.slice else (None, None)
        for run, baseline in itertools.product(runs, sides):
            if run in (check.runs or runs) and run != baseline.run:
                case = Case(name, check, run, baseline, baseline.rows.get((run, *check.metric, *part, check.weighted)))
                plain = baseline.rows.get((run, *check.metric, *part, False))
                refusals = itertools.chain(_missing_slice(case, itself, part), _refusals(gate, case, plain))
                yield case._replace(refused=next(refusals, None))


def _missing_slice(case: Case, itself: Baseline, part: Sequence[str | None]) -> Iterator[Refusal]:
    """A slice that no query of the night is in, such as a misspelt one, which is noticed on the first night too."""
    run, metric = case.run, case.check.metric
    is_measured = (run, *metric, None, None, False) in itself.rows
    if case.check.slice and is_measured and (run, *metric, *part, False) not in itself.rows:
        slices = {f"{key[3]}={key[4]}": None for key in itself.rows if key[3] is not None}
        near = did_you_mean(case.check.slice, slices)
        yield "missing_slice", f"{case.name}: no query of this night is in the slice {case.check.slice}{near}"


def _refusals(gate: GateConfig, case: Case, plain: Row | None) -> Iterator[Refusal]:
    """Why a row decides nothing; `plain` is that without weights."""
    check, baseline, subject = case.check, case.baseline, case.check.subject(case.run)
    if refused := baseline.refused or baseline.refusals.get(check.metric):
        yield refused
    if (case.run, *check.metric, None, None, False) not in baseline.rows:
        if baseline.run:
            yield "missing_run", f"{baseline.run} has no results in this night"
        yield "new_run", f"{case.run} is new: it has no results in {baseline.in_words}"
    flags = plain["flags"] if plain else []
    if "run_missing" in flags:
        yield "missing_run", f"{subject}: it returned nothing for any query of the slice"
    if "baseline_missing" in flags:
        code = "missing_run" if baseline.run else "new_run"
        yield code, f"{subject}: {baseline.in_words} returned nothing for any query of the slice"
    queries, unpaired = (plain["queries"], plain["unpaired_queries"]) if plain else (0, 0)
    if not queries + unpaired:
        why = "" if check.slice else ", as none that counts has a relevant document"
        code = "missing_slice" if check.slice else "not_measured"
        yield code, f"{subject}: no query has a value{why}"
    if unpaired:
        share = f"{unpaired:,} of {queries + unpaired:,} queries have a value on one side only"
        yield "not_measured", f"{subject} against {baseline.in_words}: {share}"
    weighed = case.row["queries"] if case.row else 0
    if weighed < queries:
        yield "not_measured", f"{subject}: {queries - weighed:,} of {queries:,} queries have no weight"
    effective = case.row["weight_effective_n"] if case.row and check.weighted else queries
    least = check.min_queries or gate.min_queries
    if effective < least:
        few = f"{effective:,.4g} queries{' of equal weight' if check.weighted else ''}"
        yield "few_queries", f"{subject}: there are only {few}, and min_queries is {least:,}"


def decide_cases(gate: GateConfig, cases: Sequence[Case]) -> list[Result]:
    """One result per case. p values are adjusted by Holm over all rows that were measured and changed.

    Checks that only warn are a family of their own, so that they do not weaken those that can fail. A row that several
    checks or baselines share counts once.
    """
    adjusted_p: dict[tuple[str, int], float] = {}
    for severity in ("fail", "warn"):
        own = (case for case in cases if case.check.severity == severity and not case.refused)
        family = {(severity, id(case.row)): p for case in own if (p := _p_value(case.row, gate.alpha)) is not None}
        adjusted_p |= zip(family, adjusted(list(family.values()), "holm").tolist(), strict=True)
    return [_result(gate, case, adjusted_p.get((case.check.severity, id(case.row)))) for case in cases]


def _p_value(row: Row | None, alpha: float) -> float | None:
    """The larger p value of both tests, or that of t where nothing can fail by it; None if nothing changed."""
    if row is None or row["difference"] is None or "unchanged" in row["flags"]:
        return None
    p: float | None = row["p_value"]
    can_fail = p is not None and p < alpha and row["difference"] < 0
    return deciding(row) if can_fail else p


def _result(gate: GateConfig, case: Case, p: float | None) -> Result:
    check, baseline, row = case.check, case.baseline, case.row or {}
    names = ("mean", "baseline_mean", "difference", "interval_low", "interval_high", "queries")
    numbers: dict[str, Any] = {name: row.get(name) for name in names} | {"allowed": None, "p": p}
    if baseline.name is None and row.get("mean") is not None:
        numbers |= {"baseline_mean": None, "interval_low": None, "interval_high": None}
        numbers |= {"difference": row["mean"] - check.min_value, "allowed": 0.0}
    elif row.get("baseline_mean") is not None:
        numbers["allowed"] = check.allowed(row["baseline_mean"])
    what = case.run, check.measure, format_cutoff(check.cutoff), check.slice, check.weighted
    word, reason, sentence = _apply_rule(gate, case, numbers)
    return Result(case.name, check.severity, word, reason, sentence, *what, baseline.name, baseline.newest, **numbers)


def _apply_rule(gate: GateConfig, case: Case, numbers: Mapping[str, Any]) -> tuple[str, str | None, str]:
    baseline, subject, p = case.baseline, case.check.subject(case.run), numbers["p"]
    mean, difference, allowed = (numbers[name] for name in ("mean", "difference", "allowed"))
    if case.refused:
        return NOT_COMPARABLE, *case.refused
    if None in (mean, difference, allowed):
        return NOT_COMPARABLE, "not_measured", f"{subject}: a number of the comparison is not finite"
    is_beyond, evidence = difference < -allowed - _ROUNDING, f"{numbers['queries']:,} queries"
    if baseline.name is None:
        value, least = apart(mean, mean - difference)
        sentence = f"{subject} is {value} ({evidence}), and the minimum is {least}"
        sentence += _unanswered(case.row)
        return (FAIL, "below_min_value", sentence) if is_beyond else (PASS, None, sentence)
    if numbers["interval_low"] is not None:
        interval = f"{numbers['interval_low']:+.4f} to {numbers['interval_high']:+.4f}"
        evidence += f", {100 * (1 - gate.alpha):g} % interval {interval}"
    evidence += "" if p is None else f", p {apart(p, gate.alpha, 2, 'g')[0]}"
    size, limit = apart(abs(difference), allowed)
    moved, means = f"by {size}", f"from {numbers['baseline_mean']:.4f} to {mean:.4f}"
    moved = f"{'fell' if difference < 0 else 'rose'} {moved}" if abs(difference) > _ROUNDING else "did not change"
    sentence = f"{subject} {moved} against {baseline.in_words}, {means} ({evidence}); {limit} is allowed"
    sentence += _few_answered(case.row)
    if not is_beyond:
        return PASS, None, sentence
    if p is None:
        return NOT_COMPARABLE, "not_measured", f"{sentence}, but it could not be tested"
    return (FAIL, "dropped", sentence) if p < gate.alpha else (UNDECIDED, "may_be_chance", f"{sentence}; may be chance")


def _few_answered(row: Row | None) -> str:
    few = answered_in_words(row) if row else ""
    if not few:
        return ""
    return f"; {few}" if few.startswith("the ") else f"; it {few}"


def _unanswered(row: Row | None) -> str:
    """The same for a run that is compared with nothing."""
    if row is None or row["judged_queries"] - row["answered_queries"] < FEW * row["judged_queries"]:
        return ""
    if row["answered_queries"] == row["judged_queries"]:
        return ""
    return f"; it answered {row['answered_queries']:,} of {row['judged_queries']:,} queries"


def _rank(result: Result) -> tuple[bool, bool, float]:
    """The order in which results decide: checks that can fail, what every night repeats until it is mended, drops."""
    repeated = result.reason in ("no_baseline", "may_be_chance", "below_min_value")
    return result.severity != FAIL, repeated, result.difference or 0.0


def _sentence(
    results: Sequence[Result], deciding: Sequence[Result], first: Sequence[Result], losses: Sequence[Row]
) -> str:
    said = list(dict.fromkeys(result.sentence for result in first))
    if not deciding:
        passed = sum(result.result == PASS for result in results)
        return f"{passed} of {len(results)} results pass" + ("; others only warn" if passed < len(results) else "")
    more = len({result.sentence for result in deciding}.difference(said))
    said[-1] += f" (and {more} more)" if more else ""
    for cause in filter(explains, losses[:1]):
        where = f"{cause['attribute']}={cause['value']}: {cause['queries']:,} of {cause['of_queries']:,} queries"
        part = f"{100 * cause['share']:.0f} %" if cause["share"] < 1.005 else "all"
        said.append(f"{where}, {part} of the loss")
    return "; ".join(said)


def _causes(case: Case | None) -> list[dict[str, Any]]:
    if case is None or case.refused or case.row is None or case.check.slice or case.check.weighted:
        return []
    if case.baseline.name is None or (case.row["difference"] or 0.0) >= 0:
        return []
    metric = baselines.row_key(case.row)[:3]
    parts = [row for key, row in case.baseline.rows.items() if key[:3] == metric and key[3] is not None and not key[5]]
    return causes(case.row, parts)[:_MAX_CAUSES]
