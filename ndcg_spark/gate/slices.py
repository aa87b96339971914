"""Slices that lost much on a night, whether or not a check covers them. They are only warnings."""

import dataclasses
import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ndcg_spark.comparison.baselines import Baseline, Kind
from ndcg_spark.comparison.differences import larger_p
from ndcg_spark.comparison.matrix import MOST_VALUES
from ndcg_spark.comparison.readings import FIRST_READING, SECOND_READING, has_second_reading
from ndcg_spark.comparison.statistics import adjusted
from ndcg_spark.convention.measures import JUDGED_RATE, measure_at
from ndcg_spark.gate.against_reference import BesideReference, Question, ReferenceScores
from ndcg_spark.gate.checks import question_of
from ndcg_spark.gate.compared_night import Comparisons, Row, RowKey
from ndcg_spark.gate.gate_inputs import GateInputs
from ndcg_spark.gate.settings import CheckConfig, GateConfig
from ndcg_spark.schemas import NO_VALUE
from ndcg_spark.tables.format import difference as signed
from ndcg_spark.text import ACCEPTED, day
from ndcg_spark.tolerance import DECIMALS

#: The joint level for all of a night's slices, so that a warning is rarely wrong.
_ALPHA = 0.01
#: A slice is named if it lost more than this multiple of what the check of its run allows.
_TIMES = 2.0
_MOST_NAMED = 3


class SliceLoss(NamedTuple):
    """A slice of a run that lost much: the difference, and since when or against what."""

    run: str
    attribute: str
    value: str
    measure: str
    difference: float
    against: str

    @property
    def sentence(self) -> str:
        subject = f"{self.measure} of {self.run} for {self.attribute}={self.value}"
        return f"{subject} changed by {signed(self.difference)} {self.against}"


class _Candidate(NamedTuple):
    """A slice's change, with the largest p value of its comparisons."""

    loss: SliceLoss
    p: float
    #: Whether it lost more than `_TIMES` the allowed drop in every comparison.
    is_beyond: bool


def slice_losses(
    inputs: GateInputs,
    runs: Iterable[str],
    baselines: Sequence[Baseline],
    compared: Comparisons,
    references: ReferenceScores,
    values: Mapping[str, Sequence[str]],
) -> list[SliceLoss]:
    """At most three slices of these runs: those that lost most, the largest loss first.

    `values`: the values of each attribute. A run is compared by the measure of its strictest check
    that can fail.
    """
    candidates = []
    slices = _slices_to_look_at(values)
    for run in runs:
        check = _strictest(inputs, run)
        if check is None:
            continue
        of_run = question_of(check, run, inputs.gate.min_queries_of(check))
        for attribute, value in slices:
            question = dataclasses.replace(of_run, attribute=attribute, value=value)
            candidate = _candidate(check, question, baselines, compared, references)
            if candidate is not None:
                candidates.append(candidate)
    losses = _significant(candidates)
    losses.sort(key=_largest_first)
    return losses[:_MOST_NAMED]


def named_slices(
    gate: GateConfig, dataset: str, losses: Iterable[SliceLoss]
) -> tuple[dict[str, str], ...]:
    """The distinct slices that one of a dataset's checks or one of these losses names."""
    pairs = []
    for _, check in gate.checks(dataset):
        if check.slice is not None:
            pairs.append(check.slice_pair)
    for loss in losses:
        pairs.append((loss.attribute, loss.value))
    named = []
    for attribute, value in dict.fromkeys(pairs):
        named.append({"attribute": str(attribute), "value": str(value)})
    return tuple(named)


def _largest_first(loss: SliceLoss) -> tuple[float, str, str]:
    return round(loss.difference, DECIMALS), loss.run, loss.value


def _slices_to_look_at(values: Mapping[str, Sequence[str]]) -> list[tuple[str, str]]:
    """Every (attribute, value) of the attributes that have few values."""
    slices = []
    for attribute, known in values.items():
        if len(known) > MOST_VALUES:
            continue
        for value in known:
            if value != NO_VALUE:
                slices.append((attribute, value))
    return slices


def _significant(candidates: Sequence[_Candidate]) -> list[SliceLoss]:
    """The losses that are significant among all slices of a night."""
    p_values = adjusted([candidate.p for candidate in candidates], "holm")
    losses = []
    for candidate, p in zip(candidates, p_values, strict=True):
        if candidate.is_beyond and p < _ALPHA:
            losses.append(candidate.loss)
    return losses


def _strictest(inputs: GateInputs, run: str) -> CheckConfig | None:
    """A run's strictest check that covers all queries and can fail."""
    checks = []
    for _, check in inputs.checks:
        if check.slice is not None or check.weighted or check.measure == JUDGED_RATE:
            continue
        if check.is_of_catalog:
            continue
        if check.is_for(run) and check.can_fail_by_drop:
            checks.append(check)
    # Relative limits are compared at a mean of 1.
    return min(checks, key=lambda check: check.allowed(1.0), default=None)


def _candidate(
    check: CheckConfig,
    question: Question,
    baselines: Sequence[Baseline],
    compared: Comparisons,
    references: ReferenceScores,
) -> _Candidate | None:
    """A slice's change against the accepted night or, if that is impossible, the good nights.

    None if it cannot be compared with either.
    """
    beside = references.compare(_reference(baselines), question)
    rows = _of_both_readings(beside, question)
    if rows and beside.reference is not None:
        since = f"since {day(beside.reference.first)}"
        return _candidate_of_rows(check, question, rows, since)
    for baseline in baselines:
        if baseline.kind is not Kind.GOOD or not baseline.is_for(question.run):
            continue
        rows = _beside_good(baseline, question, compared)
        if rows:
            return _candidate_of_rows(check, question, rows, f"against {baseline.in_words}")
    return None


def _reference(baselines: Sequence[Baseline]) -> Baseline:
    """The accepted night or, if the gate compares with only one named night, that night."""
    if len(baselines) == 1 and baselines[0].kind is Kind.NIGHTS:
        return baselines[0]
    return Baseline(Kind.ACCEPTED, ACCEPTED)


def _of_both_readings(beside: BesideReference, question: Question) -> list[Row]:
    """The rows against the accepted night, if both readings have enough queries."""
    first = beside.of_reading(FIRST_READING)
    second = beside.of_reading(SECOND_READING)
    if not first or not has_second_reading(question.measure) or len(first) != len(second):
        return []
    return _large_enough([*first, *second], question)


def _beside_good(baseline: Baseline, question: Question, compared: Comparisons) -> list[Row]:
    """The rows that compare with the good nights: one for each set of judgments if they changed.

    Empty if a row is missing, has too few queries or was not tested.
    """
    beside = compared.get(baseline.stands_for)
    if beside is None:
        return []
    rows = []
    for side in beside.sides_of(question.metric):
        key = RowKey(
            run=question.run,
            measure=question.measure,
            cutoff=question.cutoff,
            attribute=question.attribute,
            value=question.value,
            side=side,
        )
        row = beside.rows.get(key)
        if row is None:
            return []
        rows.append(row)
    return _large_enough(rows, question)


def _large_enough(rows: list[Row], question: Question) -> list[Row]:
    """These rows, or none if one of them has too few queries or was not tested."""
    for row in rows:
        if row["queries"] < question.min_queries:
            return []
        if row["difference"] is None or row["p_value"] is None:
            return []
    return rows


def _candidate_of_rows(
    check: CheckConfig, question: Question, rows: Sequence[Mapping[str, Any]], against: str
) -> _Candidate:
    """A slice's change, from the comparisons that decide it together."""
    first_reading = [row for row in rows if row["reading"] == FIRST_READING]
    difference = statistics.fmean(row["difference"] for row in first_reading)
    allowed = _TIMES * check.allowed(first_reading[-1]["baseline_mean"])
    is_beyond = all(row["difference"] < -allowed for row in rows)
    p_values = [larger_p(row) for row in rows]
    p = max(1.0 if p is None else p for p in p_values)
    measure = measure_at(*question.metric)
    attribute, value = str(question.attribute), str(question.value)
    loss = SliceLoss(question.run, attribute, value, measure, difference, against)
    return _Candidate(loss, p, is_beyond)
