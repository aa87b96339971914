"""The checks of a gate on a night: the rows that decide them, and by one rule a result of each.

Fail closed: what was not measured or cannot be compared is no pass.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ndcg_spark.comparison.baselines import ITSELF, Baseline, Kind, NotComparable
from ndcg_spark.comparison.differences import FEW, deciding
from ndcg_spark.comparison.statistics import adjusted
from ndcg_spark.convention.measures import format_cutoff
from ndcg_spark.gate.compared_night import ComparedNight, Comparisons, Row, RowKey, row_key
from ndcg_spark.gate.settings import CheckConfig, GateConfig
from ndcg_spark.gate.verdict import FAIL, NOT_COMPARABLE, PASS, UNDECIDED, Result
from ndcg_spark.nights.log import Night
from ndcg_spark.tables.format import apart, level, p_in_words, score
from ndcg_spark.tables.format import difference as signed
from ndcg_spark.tables.table import answered_in_words
from ndcg_spark.text import did_you_mean
from ndcg_spark.tolerance import ROUNDING


class Case(NamedTuple):
    """A check of a run beside a baseline, with the row that decides it."""

    name: str
    check: CheckConfig
    run: str
    baseline: Baseline
    row: Row | None
    refused: NotComparable | None = None

    @property
    def mean(self) -> RowKey:
        """The mean that it looks at."""
        return _key(self.check, self.run)

    @property
    def hypothesis(self) -> tuple[Any, ...]:
        """Equal where two checks or baselines ask the same of the same scores."""
        return self.baseline.stands_for, row_key(self.row) if self.row else None


class _Evidence(NamedTuple):
    """What is known of a case before it is decided."""

    gate: GateConfig
    case: Case
    #: The night beside the baseline of the case, and by itself.
    beside: ComparedNight
    itself: ComparedNight

    @property
    def plain(self) -> Row | None:
        """The row without weights."""
        return self.beside.rows.get(self.case.mean._replace(is_weighted=False))

    @property
    def subject(self) -> str:
        return self.case.check.subject(self.case.run)


def cases_of(
    gate: GateConfig,
    tonight: Night,
    runs: Sequence[str],
    against: Sequence[Baseline],
    compared: Comparisons,
) -> list[Case]:
    """Every check for every run of the night and every baseline. A run that is missing has none."""
    cases = []
    itself = compared[ITSELF.stands_for]
    for name, check in gate.checks(tonight.dataset):
        checked = [run for run in runs if check.runs is None or run in check.runs]
        for run in checked:
            for baseline in _baselines_of(check, run, against):
                beside = compared[baseline.stands_for]
                row = beside.rows.get(_key(check, run))
                case = Case(name, check, run, baseline, row)
                evidence = _Evidence(gate, case, beside, itself)
                cases.append(case._replace(refused=_why_not(evidence)))
    return cases


def _baselines_of(check: CheckConfig, run: str, against: Sequence[Baseline]) -> list[Baseline]:
    baselines: list[Baseline] = []
    if check.limits_drop:
        baselines.extend(baseline for baseline in against if baseline.run != run)
    if check.min_value is not None:
        baselines.append(ITSELF)
    return baselines


def _key(check: CheckConfig, run: str) -> RowKey:
    attribute, value = check.slice.split("=", 1) if check.slice else (None, None)
    return RowKey(run, *check.metric, attribute, value, check.weighted)


# Why a row decides nothing: each function looks at one thing.


def _why_not(evidence: _Evidence) -> NotComparable | None:
    for find in _REFUSALS:
        refusal = find(evidence)
        if refusal:
            return refusal
    return None


def _no_such_slice(evidence: _Evidence) -> NotComparable | None:
    """A slice that no query of the night is in, such as a misspelt one.

    It is noticed on the first night too.
    """
    case, rows = evidence.case, evidence.itself.rows
    if not case.check.slice:
        return None
    key = case.mean._replace(is_weighted=False)
    is_measured = key._replace(attribute=None, value=None) in rows
    if not is_measured or key in rows:
        return None
    slices = {f"{key.attribute}={key.value}": None for key in rows if key.attribute is not None}
    near = did_you_mean(case.check.slice, slices)
    sentence = f"{case.name}: no query of this night is in the slice {case.check.slice}{near}"
    return NotComparable("missing_slice", sentence, (case.name,))


def _no_baseline(evidence: _Evidence) -> NotComparable | None:
    case = evidence.case
    return case.baseline.refused or evidence.beside.refusals.get(case.check.metric)


def _new_run(evidence: _Evidence) -> NotComparable | None:
    case = evidence.case
    if RowKey(case.run, *case.check.metric) in evidence.beside.rows:
        return None
    if case.baseline.run:
        sentence = f"{case.baseline.run} has no results in this night"
        return NotComparable("missing_run", sentence, (case.baseline.run,))
    sentence = f"{case.run} is new: it has no results in {case.baseline.in_words}"
    return NotComparable("new_run", sentence, (case.run, case.baseline.name))


def _returned_nothing(evidence: _Evidence) -> NotComparable | None:
    baseline, mean = evidence.case.baseline, evidence.case.mean
    flags = evidence.plain["flags"] if evidence.plain else []
    nothing = "returned nothing for any query of the slice"
    if "run_missing" in flags:
        return NotComparable("missing_run", f"{evidence.subject}: it {nothing}", (mean,))
    if "baseline_missing" in flags:
        code = "missing_run" if baseline.run else "new_run"
        sentence = f"{evidence.subject}: {baseline.in_words} {nothing}"
        return NotComparable(code, sentence, (mean, baseline.name))
    return None


def _paired_queries(evidence: _Evidence) -> tuple[int, int]:
    """How many queries have a value on both sides, and on one side only."""
    plain = evidence.plain
    return (plain["queries"], plain["unpaired_queries"]) if plain else (0, 0)


def _no_value(evidence: _Evidence) -> NotComparable | None:
    if any(_paired_queries(evidence)):
        return None
    mean = evidence.case.mean
    sentence = f"{evidence.subject}: no query has a value"
    if evidence.case.check.slice:
        return NotComparable("missing_slice", sentence, (mean,))
    why = "as none that counts has a relevant document"
    return NotComparable("not_measured", f"{sentence}, {why}", (mean,))


def _unpaired(evidence: _Evidence) -> NotComparable | None:
    queries, unpaired = _paired_queries(evidence)
    if not unpaired:
        return None
    share = f"{unpaired:,} of {queries + unpaired:,} queries have a value on one side only"
    baseline = evidence.case.baseline
    sentence = f"{evidence.subject} against {baseline.in_words}: {share}"
    return NotComparable("not_measured", sentence, (evidence.case.mean, baseline.name))


def _unweighted(evidence: _Evidence) -> NotComparable | None:
    queries, _ = _paired_queries(evidence)
    row = evidence.case.row
    without = queries - (row["queries"] if row else 0)
    if without <= 0:
        return None
    share = f"{without:,} of {queries:,} queries have no weight"
    about = (evidence.case.mean, without)
    return NotComparable("not_measured", f"{evidence.subject}: {share}", about)


def _few_queries(evidence: _Evidence) -> NotComparable | None:
    check, row = evidence.case.check, evidence.case.row
    effective, _ = _paired_queries(evidence)
    kind = "queries"
    if check.weighted:
        kind = "queries of equal weight"
        effective = row["weight_effective_n"] if row else effective
    least = check.min_queries or evidence.gate.min_queries
    if effective >= least:
        return None
    few = f"there are only {effective:,.4g} {kind}, and min_queries is {least:,}"
    about = (evidence.case.mean, effective, least)
    return NotComparable("few_queries", f"{evidence.subject}: {few}", about)


#: In the order in which they are looked for.
_REFUSALS = (
    _no_such_slice,
    _no_baseline,
    _new_run,
    _returned_nothing,
    _no_value,
    _unpaired,
    _unweighted,
    _few_queries,
)


# The rule.


class Finding(NamedTuple):
    """What a result says, as data; results with equal ones are said once."""

    reason: str | None
    about: tuple[Any, ...]


def finding_of(case: Case, result: Result) -> Finding:
    if case.refused:
        return Finding(case.refused.code, case.refused.about)
    # How sure it is differs with the severity of a check, and is no other finding.
    limits = (result.difference, result.allowed)
    return Finding(result.reason, (case.mean, case.baseline.name, *limits))


def decide_cases(gate: GateConfig, cases: Sequence[Case]) -> list[Result]:
    """One result per case; p is adjusted by Holm over all rows that were measured and changed.

    Checks that only warn are a family of their own, so that they do not weaken those that can fail.
    A row that several checks or baselines share counts once.
    """
    adjusted_p = {}
    for severity in ("fail", "warn"):
        own = [case for case in cases if case.check.severity == severity]
        adjusted_p[severity] = _family(own, gate.alpha)
    results = []
    for case in cases:
        p = adjusted_p[case.check.severity].get(case.hypothesis)
        results.append(_result(gate, case, p))
    return results


def _family(cases: Iterable[Case], alpha: float) -> dict[tuple[Any, ...], float]:
    """By hypothesis, the p value adjusted for all of them."""
    family: dict[tuple[Any, ...], float] = {}
    for case in cases:
        p = None if case.refused else _p_value(case.row, alpha)
        if p is not None:
            family[case.hypothesis] = p
    return dict(zip(family, adjusted(list(family.values()), "holm").tolist(), strict=True))


def _p_value(row: Row | None, alpha: float) -> float | None:
    """The larger p of both tests, or that of t where it cannot fail; None if nothing changed."""
    if row is None or row["difference"] is None or "unchanged" in row["flags"]:
        return None
    p: float | None = row["p_value"]
    can_fail = p is not None and p < alpha and row["difference"] < 0
    return deciding(row) if can_fail else p


def _result(gate: GateConfig, case: Case, p: float | None) -> Result:
    check, baseline = case.check, case.baseline
    numbers = _numbers_of(case) | {"p": p}
    word, reason, sentence = _apply_rule(gate, case, numbers)
    return Result(
        check=case.name,
        severity=check.severity,
        result=word,
        reason=reason,
        sentence=sentence,
        run=case.run,
        measure=check.measure,
        cutoff=format_cutoff(check.cutoff),
        slice=check.slice,
        weighted=check.weighted,
        baseline=baseline.name,
        baseline_night=baseline.newest,
        **numbers,
    )


def _numbers_of(case: Case) -> dict[str, Any]:
    row = case.row or {}
    names = ("mean", "baseline_mean", "difference", "interval_low", "interval_high", "queries")
    numbers: dict[str, Any] = {name: row.get(name) for name in names}
    numbers["allowed"] = None
    if case.baseline.kind is Kind.ITSELF and row.get("mean") is not None:
        numbers |= {"baseline_mean": None, "interval_low": None, "interval_high": None}
        numbers |= {"difference": row["mean"] - case.check.min_value, "allowed": 0.0}
    elif row.get("baseline_mean") is not None:
        numbers["allowed"] = case.check.allowed(row["baseline_mean"])
    return numbers


def _apply_rule(
    gate: GateConfig,
    case: Case,
    numbers: Mapping[str, Any],
) -> tuple[str, str | None, str]:
    """The result of a case, its code and its sentence."""
    if case.refused:
        return NOT_COMPARABLE, case.refused.code, case.refused.sentence
    if any(numbers[name] is None for name in ("mean", "difference", "allowed")):
        subject = case.check.subject(case.run)
        sentence = f"{subject}: a number of the comparison is not finite"
        return NOT_COMPARABLE, "not_measured", sentence
    is_beyond = numbers["difference"] < -numbers["allowed"] - ROUNDING
    if case.baseline.kind is Kind.ITSELF:
        sentence = _sentence_of_minimum(case, numbers)
        return (FAIL, "below_min_value", sentence) if is_beyond else (PASS, None, sentence)
    sentence = _sentence_of_drop(gate, case, numbers)
    return _rule_of_drop(gate, numbers["p"], sentence) if is_beyond else (PASS, None, sentence)


def _rule_of_drop(gate: GateConfig, p: float | None, sentence: str) -> tuple[str, str, str]:
    """The result where the mean fell by more than is allowed."""
    if p is None:
        return NOT_COMPARABLE, "not_measured", f"{sentence}, but it could not be tested"
    if p < gate.alpha:
        return FAIL, "dropped", sentence
    return UNDECIDED, "may_be_chance", f"{sentence}; may be chance"


def _sentence_of_minimum(case: Case, numbers: Mapping[str, Any]) -> str:
    value, least = apart(numbers["mean"], numbers["mean"] - numbers["difference"])
    subject = f"{case.check.subject(case.run)} is {value} ({numbers['queries']:,} queries)"
    return f"{subject}, and the minimum is {least}{_few_answered_alone(case.row)}"


def _sentence_of_drop(gate: GateConfig, case: Case, numbers: Mapping[str, Any]) -> str:
    difference = numbers["difference"]
    size, limit = apart(abs(difference), numbers["allowed"])
    moved = f"{'fell' if difference < 0 else 'rose'} by {size}"
    if abs(difference) <= ROUNDING:
        moved = "did not change"
    means = f"from {score(numbers['baseline_mean'])} to {score(numbers['mean'])}"
    subject = f"{case.check.subject(case.run)} {moved} against {case.baseline.in_words}, {means}"
    evidence = _in_words(gate, numbers)
    return f"{subject} ({evidence}); {limit} is allowed{_few_answered(case.row)}"


def _in_words(gate: GateConfig, numbers: Mapping[str, Any]) -> str:
    """How sure a difference is."""
    evidence = [f"{numbers['queries']:,} queries"]
    if numbers["interval_low"] is not None:
        low, high = numbers["interval_low"], numbers["interval_high"]
        ends = f"{signed(low)} to {signed(high)}"
        evidence.append(f"{level(gate.alpha)} interval {ends}")
    if numbers["p"] is not None:
        evidence.append(p_in_words(numbers["p"], gate.alpha))
    return ", ".join(evidence)


def _few_answered(row: Row | None) -> str:
    few = answered_in_words(row) if row else ""
    if not few:
        return ""
    return f"; {few}" if few.startswith("the ") else f"; it {few}"


def _few_answered_alone(row: Row | None) -> str:
    """The same for a run that is compared with nothing."""
    if row is None:
        return ""
    judged, answered = row["judged_queries"], row["answered_queries"]
    if answered == judged or judged - answered < FEW * judged:
        return ""
    return f"; it answered {answered:,} of {judged:,} queries"
