"""The checks of a gate on a night: the rows that decide them, and why a row cannot decide.

They fail closed: a check that was not measured or cannot be compared does not pass.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ndcg_spark.comparison.baselines import ITSELF, Baseline, NotComparable
from ndcg_spark.comparison.readings import FIRST
from ndcg_spark.comparison.references import Reference
from ndcg_spark.convention.measures import JUDGED_RATE
from ndcg_spark.gate.against_reference import BesideReference, Question, ReferenceScores
from ndcg_spark.gate.compared_night import ComparedNight, Comparisons, Row, RowKey
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
    #: The shares of its documents that were judged then and are judged tonight.
    judged_rates: tuple[float, float] | None = None

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
        """The same in the second reading; empty if it cannot be computed."""
        second = [part for part in self.parts if part.reading != FIRST]
        return [] if any(part.refused for part in second) else second

    @property
    def mean(self) -> RowKey:
        """The key of the mean that it checks."""
        return _key(self.check, self.run)

    @property
    def hypothesis(self) -> tuple[Any, ...]:
        """A key that is equal if two checks or baselines ask the same about the same scores."""
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
    #: A sentence for each run whose document ids are in no judgment.
    unknown_ids: Mapping[str, str]
    #: The night compared with the baseline of the case, and by itself.
    beside: ComparedNight
    itself: ComparedNight

    @property
    def plain(self) -> Row | None:
        """The row without weights."""
        return self.beside.rows.get(self.mean._replace(is_weighted=False))

    @property
    def mean(self) -> RowKey:
        return _key(self.check, self.run, self.side)

    @property
    def subject(self) -> str:
        return self.check.subject(self.run)


def cases_of(
    gate: GateConfig,
    tonight: Night,
    runs: Sequence[str],
    against: Sequence[Baseline],
    compared: Comparisons,
    references: ReferenceScores,
) -> list[Case]:
    """Every check for every run of the night and every baseline, without missing runs."""
    cases = []
    unknown_ids = unknown_ids_of(tonight)
    for name, check in gate.checks(tonight.dataset):
        checked = list(filter(check.is_for, runs))
        for run in checked:
            for baseline in _baselines_of(gate, check, run, against, tonight):
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
    beside = compared[baseline.stands_for]
    baseline = beside.baselines.get(check.metric, baseline)
    parts = []
    for side in beside.sides_of(check.metric):
        row = beside.rows.get(_key(check, run, side))
        itself = compared[ITSELF.stands_for]
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
            itself,
        )
        parts.append(Part(row, _refusal(evidence), side))
    return Case(name, check, run, baseline, tuple(parts))


def _baselines_of(
    gate: GateConfig,
    check: CheckConfig,
    run: str,
    against: Sequence[Baseline],
    tonight: Night,
) -> list[Baseline]:
    baselines: list[Baseline] = []
    names = gate.baselines_of(check)
    for baseline in against if check.limits_change else ():
        if baseline.name in names and baseline.run != run and baseline.is_for(run):
            baselines.append(baseline)
    if check.measure == JUDGED_RATE:
        # Judged rates are not comparable across judgments, or with a night long ago.
        baselines = [one for one in baselines if not one.is_reference]
        baselines = [one for one in baselines if not one.has_other_judgments(tonight)]
    if check.min_value is not None:
        baselines.append(ITSELF)
    return baselines


def question_of(gate: GateConfig, check: CheckConfig, run: str) -> Question:
    """What a check asks about a run compared with a reference."""
    attribute, value = check.slice_pair
    least = check.min_queries or gate.min_queries
    metric = check.metric
    return Question(run, metric, check.allowed, least, attribute, value, check.weighted)


def _reference_case(
    gate: GateConfig,
    name: str,
    check: CheckConfig,
    run: str,
    baseline: Baseline,
    references: ReferenceScores,
) -> Case:
    question = question_of(gate, check, run)
    unknown = unknown_ids_of(references.tonight).get(run)
    if unknown is not None:
        nothing = Part(None, NotComparable("not_measured", unknown, (run,)))
        return Case(name, check, run, baseline, (nothing,))
    beside = references.compare(baseline, question)
    parts = []
    for row in beside.rows:
        refused = _few_or_unpaired(check, run, question.min_queries, row)
        parts.append(Part(row, refused, row["side"], row["reading"]))
    if not any(part.reading == FIRST for part in parts):
        parts.append(Part(None, beside.refused or _nothing_beside(check, run, beside)))
    rates = references.judged_rates(beside.reference, run, check.cutoff)
    return Case(name, check, run, baseline, tuple(parts), beside.reference, rates)


def _nothing_beside(check: CheckConfig, run: str, beside: BesideReference) -> NotComparable:
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
    if check.is_of_run:
        kind = "lists"
        number = min(row["lists"], row["baseline_lists"]) if row else 0
    elif check.weighted:
        kind = "equally weighted queries"
        number = (row["weight_effective_n"] or 0) if row else 0
    else:
        kind = "queries"
        number = (row["queries"] or 0) if row else 0
    if number >= least:
        return None
    return f"there are only {rounded_down(number)} {kind}, but min_queries is {least:,}"


def _key(check: CheckConfig, run: str, side: str | None = None) -> RowKey:
    return RowKey(run, *check.metric, *check.slice_pair, check.weighted, side)


# Why a row cannot decide: each function checks one thing.


def _refusal(evidence: _Evidence) -> NotComparable | None:
    for find in _REFUSALS_OF_RUNS if evidence.check.is_of_run else _REFUSALS:
        refusal = find(evidence)
        if refusal:
            return refusal
    return None


def unknown_ids_of(night: Night) -> dict[str, str]:
    """A sentence for each run whose document ids are in no judgment."""
    results = night.record["inputs"].get("results", {})
    return dict(results.get("unknown_ids", {}).get(night.dataset, {}))


def _unknown_ids(evidence: _Evidence) -> NotComparable | None:
    """A run that writes ids differently, whose scores of 0 say nothing about its ranking."""
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
    key = _key(check, evidence.run)._replace(is_weighted=False)
    is_measured = key._replace(attribute=None, value=None) in rows
    if not is_measured or key in rows:
        return None
    slices = {f"{key.attribute}={key.value}": None for key in rows if key.attribute is not None}
    near = did_you_mean(check.slice, slices)
    sentence = f"{evidence.name}: no query of this night is in the slice {check.slice}{near}"
    return NotComparable("missing_slice", sentence, (evidence.name,))


def _no_baseline(evidence: _Evidence) -> NotComparable | None:
    by_metric = evidence.beside.refused(evidence.check.metric, evidence.side)
    return evidence.baseline.refused or by_metric


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


def _returned_nothing(evidence: _Evidence) -> NotComparable | None:
    baseline = evidence.baseline
    flags = evidence.plain["flags"] if evidence.plain else []
    nothing = "returned nothing for any query of the slice"
    if "run_missing" in flags:
        return NotComparable("missing_run", f"{evidence.subject}: it {nothing}", (evidence.mean,))
    if "baseline_missing" in flags:
        code = "missing_run" if baseline.run else "new_run"
        sentence = f"{evidence.subject}: {baseline.in_words} {nothing}"
        return NotComparable(code, sentence, (evidence.mean, baseline.name))
    return None


def _paired_queries(evidence: _Evidence) -> tuple[int, int]:
    """How many queries have a value on both sides, and how many on only one side."""
    plain = evidence.plain
    return (plain["queries"], plain["unpaired_queries"]) if plain else (0, 0)


def _no_value(evidence: _Evidence) -> NotComparable | None:
    if any(_paired_queries(evidence)):
        return None
    sentence = f"{evidence.subject}: no query has a value"
    if evidence.check.slice:
        return NotComparable("missing_slice", sentence, (evidence.mean,))
    why = "because none of the scored queries has a relevant document"
    if evidence.check.is_of_catalog:
        why = "because no list has an item that is scored"
    return NotComparable("not_measured", f"{sentence}, {why}", (evidence.mean,))


def _unpaired(evidence: _Evidence) -> NotComparable | None:
    queries, unpaired = _paired_queries(evidence)
    if not unpaired:
        return None
    share = f"{unpaired:,} of {queries + unpaired:,} queries have a value on only one side"
    baseline = evidence.baseline
    sentence = f"{evidence.subject} against {baseline.in_words}: {share}"
    return NotComparable("not_measured", sentence, (evidence.mean, baseline.name))


def _unweighted(evidence: _Evidence) -> NotComparable | None:
    queries, _ = _paired_queries(evidence)
    row = evidence.row
    without = queries - (row["queries"] if row else 0)
    if without <= 0:
        return None
    share = f"{without:,} of {queries:,} queries have no weight"
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
    _returned_nothing,
    _no_value,
    _unpaired,
    _unweighted,
    _few_queries,
)
#: The same for a measure of a run, which has one number for all of its lists.
_REFUSALS_OF_RUNS = (_unknown_ids, _no_baseline, _new_run, _no_number, _few_queries)
