"""A gate's checks on a night: the rows that decide them, and why a row cannot decide.

They fail closed: a check that was not measured or cannot be compared does not pass.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

from ndcg_spark.comparison.baselines import ITSELF, Baseline, NotComparable
from ndcg_spark.comparison.differences import NO_SHARED_QUERIES
from ndcg_spark.comparison.readings import FIRST_READING
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
from ndcg_spark.tables.format import count, rounded_down
from ndcg_spark.text import did_you_mean


class Part(NamedTuple):
    """One comparison of a case: a side of a change of judgments, in one reading of unjudged
    documents.
    """

    row: Row | None
    refused: NotComparable | None = None
    side: str | None = None
    reading: int = FIRST_READING


class Case(NamedTuple):
    """A check of a run against a baseline, with the comparisons that decide it together."""

    name: str
    check: CheckConfig
    run: str
    baseline: Baseline
    parts: tuple[Part, ...]
    #: The run's nights, if the baseline has different nights for each run.
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
        return [part for part in self.parts if part.reading == FIRST_READING]

    @property
    def second_parts(self) -> list[Part]:
        """The comparisons in the second reading; empty if one of them cannot be computed."""
        second = [part for part in self.parts if part.reading != FIRST_READING]
        return [] if any(part.refused for part in second) else second

    @property
    def mean(self) -> RowKey:
        """The key of the mean that is checked."""
        return _key(self.check, self.run)

    @property
    def hypothesis(self) -> tuple[Any, ...]:
        """A key that is equal for two cases that test the same about the same scores."""
        return self.baseline.stands_for, self.reference, self.mean


class _CheckedRun(NamedTuple):
    """A check of one run."""

    #: The check's name, such as gate.check[1].
    name: str
    check: CheckConfig
    run: str
    min_queries: int
    #: A sentence if the run's document ids are not in any judgment.
    unknown_ids: str | None

    @property
    def subject(self) -> str:
        """What is checked: `ndcg@10 of hybrid for language=de`."""
        return self.check.subject(self.run)


class _Evidence(NamedTuple):
    """What is known about a part of a case before it is decided."""

    checked: _CheckedRun
    baseline: Baseline
    side: str | None
    #: The night's rows against the case's baseline, and the night's rows by itself.
    compared: ComparedNight
    itself: ComparedNight

    @property
    def check(self) -> CheckConfig:
        return self.checked.check

    @property
    def run(self) -> str:
        return self.checked.run

    @property
    def subject(self) -> str:
        return self.checked.subject

    @property
    def mean(self) -> RowKey:
        """The row's key."""
        return _key(self.check, self.run, self.side)

    @property
    def row(self) -> Row | None:
        return self.compared.rows.get(self.mean)

    @property
    def unweighted_row(self) -> Row | None:
        return self.compared.rows.get(self.mean._replace(is_weighted=False))


def cases_of(
    inputs: GateInputs,
    baselines: Sequence[Baseline],
    compared: Comparisons,
    references: ReferenceScores,
) -> list[Case]:
    """Every check for every run of the night and every baseline, without missing runs."""
    gate = inputs.gate
    cases = []
    unknown_ids = inputs.tonight.unmeasured
    for name, check in inputs.checks:
        least = gate.min_queries_of(check)
        for run in filter(check.is_for, inputs.runs):
            checked = _CheckedRun(name, check, run, least, unknown_ids.get(run))
            for baseline in _baselines_of(gate, check, run, baselines, inputs.tonight):
                if baseline.is_reference:
                    cases.append(_reference_case(checked, baseline, references))
                else:
                    cases.append(_case(checked, baseline, compared))
    return cases


def _case(checked: _CheckedRun, baseline: Baseline, comparisons: Comparisons) -> Case:
    """A check of a run against nights that all runs share, or against another run."""
    metric = checked.check.metric
    compared = comparisons[baseline.stands_for]
    baseline = compared.baselines.get(metric, baseline)
    itself = comparisons[ITSELF.stands_for]
    parts = []
    for side in compared.sides_of(metric):
        evidence = _Evidence(checked, baseline, side, compared, itself)
        parts.append(Part(evidence.row, _refusal(evidence), side))
    return Case(checked.name, checked.check, checked.run, baseline, tuple(parts))


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


def question_of(check: CheckConfig, run: str, min_queries: int) -> Question:
    """What a check asks about a run compared with a reference."""
    attribute, value = check.slice_pair
    return Question(
        run,
        check.metric,
        check.allowed,
        min_queries,
        attribute=attribute,
        value=value,
        is_weighted=check.weighted,
    )


def _reference_case(checked: _CheckedRun, baseline: Baseline, references: ReferenceScores) -> Case:
    """A check of a run against its own reference nights."""
    name, check, run = checked.name, checked.check, checked.run
    if checked.unknown_ids is not None:
        refused = NotComparable("not_measured", checked.unknown_ids, (run,))
        only_part = Part(row=None, refused=refused)
        return Case(name, check, run, baseline, (only_part,))
    chained = references.compare(baseline, question_of(check, run, checked.min_queries))
    parts = []
    for row in chained.rows:
        refusal = _few_or_unpaired(checked, row)
        parts.append(Part(row, refusal, row["side"], row["reading"]))
    has_first_reading = any(part.reading == FIRST_READING for part in parts)
    if not has_first_reading:
        # Every case has a part in the first reading, which is its main one.
        why = chained.refused or _no_query_has_value(checked, chained)
        parts.append(Part(row=None, refused=why))
    rates = references.judged_rates(chained.reference, run, check.cutoff)
    return Case(name, check, run, baseline, tuple(parts), chained.reference, rates)


def _no_query_has_value(checked: _CheckedRun, chained: BesideReference) -> NotComparable:
    since = f" against {chained.reference.first}" if chained.reference else ""
    return NotComparable("not_measured", f"{checked.subject}{since}: no query has a value")


def _few_or_unpaired(checked: _CheckedRun, row: Row) -> NotComparable | None:
    """Why a chain's row cannot decide; None if it can."""
    subject = checked.subject
    if checked.check.is_of_run and row["difference"] is None:
        return NotComparable("not_measured", f"{subject}: it has no value on one side")
    if "run_missing" in row["flags"] or "baseline_missing" in row["flags"]:
        return NotComparable("missing_run", f"{subject}: nothing was returned on one side")
    if row["unpaired_queries"]:
        unpaired = count(row["unpaired_queries"], "query", "queries")
        sentence = f"{subject}: only one side has a value for {unpaired}"
        return NotComparable("not_measured", sentence)
    few = _too_few(checked, row)
    return NotComparable("few_queries", f"{subject}: {few}") if few else None


def _too_few(checked: _CheckedRun, row: Row | None) -> str | None:
    """Why a row covers too few queries or lists to decide; None if it covers enough."""
    check, least = checked.check, checked.min_queries
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


def _unknown_ids(evidence: _Evidence) -> NotComparable | None:
    """A run that writes ids differently: its scores of 0 say nothing about its ranking."""
    sentence = evidence.checked.unknown_ids
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
    name = evidence.checked.name
    sentence = f"{name}: no query of this night is in the slice {check.slice}{near}"
    return NotComparable("missing_slice", sentence, (name,))


def _no_baseline(evidence: _Evidence) -> NotComparable | None:
    """Why the baseline does not exist, or cannot be compared by the check's measure."""
    if evidence.baseline.refused is not None:
        return evidence.baseline.refused
    return evidence.compared.refusals.get((evidence.check.metric, evidence.side))


def _new_run(evidence: _Evidence) -> NotComparable | None:
    """A run that the baseline does not have, or a baseline run that tonight does not have."""
    key = RowKey(evidence.run, *evidence.check.metric, side=evidence.side)
    if key in evidence.compared.rows:
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
    """A run or a baseline without results for any query of the slice."""
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
    """A measure that has no value for any query on either side."""
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
    """Queries with a value on only one side."""
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
    """Fewer queries or lists than the check requires."""
    few = _too_few(evidence.checked, evidence.row)
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
#: The functions for a measure of a run, which has one number for all of its lists.
_REFUSALS_OF_RUNS = (_unknown_ids, _no_baseline, _new_run, _no_number, _few_queries)
