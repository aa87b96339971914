"""The checks of a gate on a night: the rows that decide them, and why a row cannot decide.

They fail closed: a check that was not measured or cannot be compared does not pass.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ndcg_spark.comparison.baselines import ITSELF, Baseline, NotComparable
from ndcg_spark.comparison.differences import NO_SHARED_QUERIES
from ndcg_spark.comparison.readings import FIRST
from ndcg_spark.comparison.references import Reference
from ndcg_spark.convention.measures import JUDGED_RATE
from ndcg_spark.gate.against_reference import (
    BesideReference,
    JudgedRates,
    Question,
    ReferenceScores,
)
from ndcg_spark.gate.compared_night import ComparedNight, Comparisons, Row, RowKey
from ndcg_spark.gate.gate_inputs import GateInputs
from ndcg_spark.gate.settings import CheckConfig, GateConfig
from ndcg_spark.nights.log import Night
from ndcg_spark.tables.format import rounded_down
from ndcg_spark.text import did_you_mean


class Part(NamedTuple):
    """One comparison of a case: a side of a change of judgments, in one reading of unjudged
    documents.
    """

    row: Row | None
    refused: NotComparable | None = None
    side: str | None = None
    reading: int = FIRST


class Case(NamedTuple):
    """A check of a run against a baseline, with the comparisons that decide it together."""

    name: str
    check: CheckConfig
    run: str
    baseline: Baseline
    parts: tuple[Part, ...]
    #: The nights of the run, if the baseline has different nights for each run.
    reference: Reference | None = None
    judged_rates: JudgedRates | None = None

    @property
    def row(self) -> Row | None:
        """The row under the newest judgments, in the first reading."""
        return self.first_parts[-1].row

    @property
    def refused(self) -> NotComparable | None:
        refusals = [part.refused for part in self.first_parts if part.refused]
        return refusals[0] if refusals else None

    @property
    def first_parts(self) -> list[Part]:
        return [part for part in self.parts if part.reading == FIRST]

    @property
    def second_parts(self) -> list[Part]:
        """The comparisons in the second reading; empty if one of them cannot be computed."""
        second = [part for part in self.parts if part.reading != FIRST]
        return [] if any(part.refused for part in second) else second

    @property
    def mean(self) -> RowKey:
        """The key of the mean that it checks."""
        return _key(self.check, self.run)

    @property
    def hypothesis(self) -> tuple[Any, ...]:
        """A key that is equal for two cases that test the same about the same scores."""
        return self.baseline.stands_for, self.reference, self.mean


class _Evidence(NamedTuple):
    """What is known about a part of a case before it is decided."""

    gate: GateConfig
    name: str
    check: CheckConfig
    run: str
    baseline: Baseline
    side: str | None
    row: Row | None
    #: A sentence for each run whose document ids no judgment has.
    unknown_ids: Mapping[str, str]
    #: The night compared with the baseline of the case, and by itself.
    beside: ComparedNight
    itself: ComparedNight

    @property
    def unweighted_row(self) -> Row | None:
        return self.beside.rows.get(self.mean._replace(is_weighted=False))

    @property
    def mean(self) -> RowKey:
        return _key(self.check, self.run, self.side)

    @property
    def subject(self) -> str:
        return self.check.subject(self.run)


def cases_of(
    inputs: GateInputs,
    baselines: Sequence[Baseline],
    compared: Comparisons,
    references: ReferenceScores,
) -> list[Case]:
    """Every check for every run of the night and every baseline, without missing runs."""
    gate = inputs.gate
    cases = []
    unknown_ids = unknown_ids_of(inputs.tonight)
    for name, check in inputs.checks:
        for run in filter(check.is_for, inputs.runs):
            for baseline in _baselines_of(gate, check, run, baselines, inputs.tonight):
                if baseline.is_reference:
                    case = _reference_case(gate, name, check, run, baseline, references)
                else:
                    case = _case(gate, name, check, run, baseline, unknown_ids, compared)
                cases.append(case)
    return cases


def _case(
    gate: GateConfig,
    name: str,
    check: CheckConfig,
    run: str,
    baseline: Baseline,
    unknown_ids: Mapping[str, str],
    compared: Comparisons,
) -> Case:
    """A check of a run against nights that all runs share, or against another run."""
    beside = compared[baseline.stands_for]
    baseline = beside.baselines.get(check.metric, baseline)
    parts = []
    for side in beside.sides_of(check.metric):
        row = beside.rows.get(_key(check, run, side))
        evidence = _Evidence(
            gate,
            name,
            check,
            run,
            baseline,
            side,
            row,
            unknown_ids,
            beside,
            itself=compared[ITSELF.stands_for],
        )
        parts.append(Part(row, _refusal(evidence), side))
    return Case(name, check, run, baseline, tuple(parts))


def _baselines_of(
    gate: GateConfig,
    check: CheckConfig,
    run: str,
    baselines: Sequence[Baseline],
    tonight: Night,
) -> list[Baseline]:
    """The baselines with which a check compares a run; `min_value` compares it with itself."""
    chosen = []
    if check.limits_change:
        names = gate.baselines_of(check)
        for baseline in baselines:
            is_other = baseline.run != run
            if baseline.name in names and is_other and baseline.is_for(run):
                chosen.append(baseline)
    if check.measure == JUDGED_RATE:
        # Judged rates are not comparable across judgments, or with a night long ago.
        chosen = [one for one in chosen if not one.is_reference]
        chosen = [one for one in chosen if not one.has_other_judgments(tonight)]
    if check.min_value is not None:
        chosen.append(ITSELF)
    return chosen


def question_of(gate: GateConfig, check: CheckConfig, run: str) -> Question:
    """What a check asks about a run compared with a reference."""
    attribute, value = check.slice_pair
    return Question(
        run,
        check.metric,
        check.allowed,
        min_queries=check.min_queries or gate.min_queries,
        attribute=attribute,
        value=value,
        is_weighted=check.weighted,
    )


def _reference_case(
    gate: GateConfig,
    name: str,
    check: CheckConfig,
    run: str,
    baseline: Baseline,
    references: ReferenceScores,
) -> Case:
    """A check of a run against the nights that it reaches by its own chain."""
    question = question_of(gate, check, run)
    unknown_ids = unknown_ids_of(references.tonight).get(run)
    if unknown_ids is not None:
        refused = NotComparable("not_measured", unknown_ids, (run,))
        return Case(name, check, run, baseline, (Part(None, refused),))
    beside = references.compare(baseline, question)
    parts = []
    for row in beside.rows:
        refusal = _few_or_unpaired(check, run, question.min_queries, row)
        parts.append(Part(row, refusal, row["side"], row["reading"]))
    has_first_reading = any(part.reading == FIRST for part in parts)
    if not has_first_reading:
        parts.append(Part(None, beside.refused or _no_query_has_value(check, run, beside)))
    rates = references.judged_rates(beside.reference, run, check.cutoff)
    return Case(name, check, run, baseline, tuple(parts), beside.reference, rates)


def _no_query_has_value(check: CheckConfig, run: str, beside: BesideReference) -> NotComparable:
    since = f" against {beside.reference.first}" if beside.reference else ""
    return NotComparable("not_measured", f"{check.subject(run)}{since}: no query has a value")


def _few_or_unpaired(check: CheckConfig, run: str, least: int, row: Row) -> NotComparable | None:
    """Why a row of a chain cannot decide; None if it can."""
    subject = check.subject(run)
    if check.is_of_run and row["difference"] is None:
        return NotComparable("not_measured", f"{subject}: it has no value on one side")
    if {"run_missing", "baseline_missing"} & {*row["flags"]}:
        return NotComparable("missing_run", f"{subject}: nothing was returned on one side")
    if row["unpaired_queries"]:
        unpaired = f"{row['unpaired_queries']:,} queries have a value on only one side"
        return NotComparable("not_measured", f"{subject}: {unpaired}")
    few = _too_few(check, row, least)
    return NotComparable("few_queries", f"{subject}: {few}") if few else None


def _too_few(check: CheckConfig, row: Row | None, least: int) -> str | None:
    """Why a row covers too few queries or lists to decide; None if it covers enough."""
    kind = "queries"
    if check.is_of_run:
        kind = "lists"
    elif check.weighted:
        kind = "equally weighted queries"
    number = 0 if row is None else _sample_size(check, row)
    if number >= least:
        return None
    return f"there are only {rounded_down(number)} {kind}, but min_queries is {least:,}"


def _sample_size(check: CheckConfig, row: Row) -> float:
    """How many queries a row covers, or how many lists if its measure has one number per run."""
    size: float = row["queries"] or 0
    if check.is_of_run:
        size = min(row["lists"], row["baseline_lists"])
    elif check.weighted:
        size = row["weight_effective_n"] or 0
    return size


def _key(check: CheckConfig, run: str, side: str | None = None) -> RowKey:
    return RowKey(run, *check.metric, *check.slice_pair, check.weighted, side)


# Why a row cannot decide: each function checks one thing.


def _refusal(evidence: _Evidence) -> NotComparable | None:
    """The first reason why a row cannot decide; None if it can."""
    refusals = _REFUSALS_OF_RUNS if evidence.check.is_of_run else _REFUSALS
    for find in refusals:
        refusal = find(evidence)
        if refusal:
            return refusal
    return None


def unknown_ids_of(night: Night) -> dict[str, str]:
    """A sentence for each run whose document ids no judgment has."""
    results = night.record["inputs"].get("results", {})
    return dict(results.get("unknown_ids", {}).get(night.dataset, {}))


def _unknown_ids(evidence: _Evidence) -> NotComparable | None:
    """A run that writes ids differently: its scores of 0 say nothing about its ranking."""
    sentence = evidence.unknown_ids.get(evidence.run)
    if sentence is None:
        return None
    return NotComparable("not_measured", sentence, (evidence.run,))


def _no_such_slice(evidence: _Evidence) -> NotComparable | None:
    """A slice that contains no query of the night, such as a misspelt one.

    It is reported even on the first night.
    """
    check, rows = evidence.check, evidence.itself.rows
    if not check.slice:
        return None
    of_slice = _key(check, evidence.run)._replace(is_weighted=False)
    of_all_queries = of_slice._replace(attribute=None, value=None)
    if of_slice in rows or of_all_queries not in rows:
        return None
    slices = {f"{key.attribute}={key.value}": None for key in rows if key.attribute is not None}
    near = did_you_mean(check.slice, slices)
    sentence = f"{evidence.name}: no query of this night is in the slice {check.slice}{near}"
    return NotComparable("missing_slice", sentence, (evidence.name,))


def _no_baseline(evidence: _Evidence) -> NotComparable | None:
    """A baseline that does not exist, or cannot be compared by the measure of the check."""
    if evidence.baseline.refused:
        return evidence.baseline.refused
    return evidence.beside.refused(evidence.check.metric, evidence.side)


def _new_run(evidence: _Evidence) -> NotComparable | None:
    key = RowKey(evidence.run, *evidence.check.metric, side=evidence.side)
    if key in evidence.beside.rows:
        return None
    baseline = evidence.baseline
    if baseline.run:
        sentence = f"{baseline.run} has no results for this night"
        return NotComparable("missing_run", sentence, (baseline.run,))
    sentence = f"{evidence.run} is new: it has no results in {baseline.in_words}"
    return NotComparable("new_run", sentence, (evidence.run, baseline.name))


def _no_shared_query(evidence: _Evidence) -> NotComparable | None:
    """A slice whose queries are judged in only one of the two sets."""
    if evidence.side is None:
        return None
    row = evidence.unweighted_row
    if row is not None and NO_SHARED_QUERIES not in row["flags"]:
        return None
    sentence = f"{evidence.subject}: no query of the slice is in both sets of judgments"
    return NotComparable("few_queries", sentence, (evidence.mean,))


def _returned_nothing(evidence: _Evidence) -> NotComparable | None:
    baseline = evidence.baseline
    flags = evidence.unweighted_row["flags"] if evidence.unweighted_row else []
    queries = "query of the slice" if evidence.check.slice else "judged query"
    nothing = f"returned nothing for any {queries}"
    if "run_missing" in flags:
        return NotComparable("missing_run", f"{evidence.subject}: it {nothing}", (evidence.mean,))
    if "baseline_missing" in flags:
        code = "missing_run" if baseline.run else "new_run"
        sentence = f"{evidence.subject}: {baseline.in_words} {nothing}"
        return NotComparable(code, sentence, (evidence.mean, baseline.name))
    return None


def _paired_queries(evidence: _Evidence) -> tuple[int, int]:
    """How many queries have a value on both sides, and how many on only one side."""
    unweighted = evidence.unweighted_row
    if unweighted is None:
        return 0, 0
    return unweighted["queries"], unweighted["unpaired_queries"]


def _no_value(evidence: _Evidence) -> NotComparable | None:
    paired, unpaired = _paired_queries(evidence)
    if paired or unpaired:
        return None
    sentence = f"{evidence.subject}: no query has a value"
    if evidence.check.slice:
        return NotComparable("missing_slice", sentence, (evidence.mean,))
    why = "because none of the scored queries has a relevant document"
    if evidence.check.is_of_catalog:
        why = "because no list has an item that is scored"
    return NotComparable("not_measured", f"{sentence}, {why}", (evidence.mean,))


def _unpaired(evidence: _Evidence) -> NotComparable | None:
    paired, unpaired = _paired_queries(evidence)
    if not unpaired:
        return None
    share = f"{unpaired:,} of {paired + unpaired:,} queries have a value on only one side"
    baseline = evidence.baseline
    sentence = f"{evidence.subject} against {baseline.in_words}: {share}"
    return NotComparable("not_measured", sentence, (evidence.mean, baseline.name))


def _without_weight(evidence: _Evidence) -> NotComparable | None:
    """Queries without a weight, which a weighted row leaves out."""
    paired, _ = _paired_queries(evidence)
    in_row = evidence.row["queries"] if evidence.row else 0
    without = paired - in_row
    if without <= 0:
        return None
    share = f"{without:,} of {paired:,} queries have no weight"
    return NotComparable("not_measured", f"{evidence.subject}: {share}", (evidence.mean, without))


def _few_queries(evidence: _Evidence) -> NotComparable | None:
    least = evidence.check.min_queries or evidence.gate.min_queries
    few = _too_few(evidence.check, evidence.row, least)
    if few is None:
        return None
    return NotComparable("few_queries", f"{evidence.subject}: {few}", (evidence.mean, few))


def _no_number(evidence: _Evidence) -> NotComparable | None:
    """A measure of a run without a value on one side, such as Gini if nothing is shown."""
    row = evidence.row
    if row is not None and row["difference"] is not None:
        return None
    sentence = f"{evidence.subject}: it has no value"
    if row is not None and row["mean"] is not None:
        sentence = f"{evidence.subject}: it has no value in {evidence.baseline.in_words}"
    return NotComparable("not_measured", sentence, (evidence.mean, evidence.baseline.name))


#: The functions in the order in which they are tried.
_REFUSALS = (
    _unknown_ids,
    _no_such_slice,
    _no_baseline,
    _new_run,
    _no_shared_query,
    _returned_nothing,
    _no_value,
    _unpaired,
    _without_weight,
    _few_queries,
)
#: The same for a measure of a run, which has one number for all of its lists.
_REFUSALS_OF_RUNS = (_unknown_ids, _no_baseline, _new_run, _no_number, _few_queries)
