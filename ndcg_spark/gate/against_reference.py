"""Compares a night's run with the accepted state, or with a night that the gate names.

The reference may have different judgments from tonight's. In that case, the difference is a chain
across the changes of judgments since then. It is computed in two readings of unjudged documents, so
that a list does not look worse only because fewer of its documents are judged than before.
"""

import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ndcg_spark.comparison.baselines import Baseline, Kind, NotComparable
from ndcg_spark.comparison.chain import (
    HIGH,
    LOW,
    Limits,
    RunScores,
    chain,
    chain_row,
    run_scores,
    usable_reference,
)
from ndcg_spark.comparison.differences import ComparisonOptions, Sides, comparison_rows
from ndcg_spark.comparison.matrix import Metric, masks, mean_matrix, padded, weight_vector
from ndcg_spark.comparison.readings import FIRST_READING, SECOND_READING, has_second_reading
from ndcg_spark.comparison.references import (
    Reference,
    accepted_reference,
    dated_reference,
    nights_of_run,
)
from ndcg_spark.comparison.sources import (
    ScoreCache,
    compared_numbers,
    is_small,
    why_not_comparable,
    with_comparable_nights,
)
from ndcg_spark.convention.measures import CATALOG_COLUMNS, RUN_COLUMNS, Cutoff, measure_at
from ndcg_spark.errors import InputError, StorageError
from ndcg_spark.nights.log import Night, Nights
from ndcg_spark.schemas import NO_VALUE
from ndcg_spark.voices import OPTIONS

Row = Mapping[str, Any]
Mask = NDArray[np.bool_]


@dataclasses.dataclass(frozen=True)
class Question:
    """What a check asks about a run: how far it may fall, by which measure, in which slice."""

    run: str
    metric: Metric
    #: How far the mean may fall, given the mean before.
    allowed: Callable[[float], float]
    min_queries: int
    attribute: str | None = None
    value: str | None = None
    is_weighted: bool = False

    @property
    def measure(self) -> str:
        return self.metric[0]

    @property
    def cutoff(self) -> Cutoff:
        return self.metric[1]


class JudgedRates(NamedTuple):
    """The share of a run's documents that are judged, in the newest night of a reference and
    tonight.
    """

    before: float
    tonight: float


@dataclasses.dataclass(frozen=True)
class BesideReference:
    """A run compared with its reference: COMPARISONS rows for each reading and side, or why there
    are none.
    """

    rows: tuple[Row, ...] = ()
    reference: Reference | None = None
    refused: NotComparable | None = None

    def of_reading(self, reading: int) -> list[Row]:
        return [row for row in self.rows if row["reading"] == reading]


class ReferenceScores:
    """Compares the runs of one night with references, and caches what it reads."""

    def __init__(
        self,
        tonight: Night,
        nights: Nights,
        scores: ScoreCache,
        options: ComparisonOptions,
        max_nights: int,
    ) -> None:
        self.tonight = tonight
        self._nights = nights
        self._scores = scores
        self._options = options
        self._max_nights = max_nights
        # Caches, because every check and slice uses the same values again.
        self._paired: dict[Any, list[Row]] = {}
        self._rows_of_measures: dict[tuple[tuple[Night, ...], Metric], list[Row]] = {}
        self._references: dict[tuple[Baseline, str], Reference | None] = {}
        self._nights_of_run: dict[str, list[Night]] = {}
        self._scores_of_run: dict[tuple[str, Metric], RunScores] = {}
        self._masks = _SliceMasks(scores, options.attributes)

    def reference(self, baseline: Baseline, run: str) -> Reference | None:
        """The nights that a run is compared with. The judgments may have changed since then."""
        key = baseline, run
        if key not in self._references:
            self._references[key] = self._found_reference(baseline, run)
        return self._references[key]

    def _found_reference(self, baseline: Baseline, run: str) -> Reference | None:
        """The run's nights that a baseline stands for: the accepted state, or one date's night."""
        if baseline.kind is Kind.ACCEPTED:
            most = self._max_nights
            return accepted_reference(run, self.tonight, self._nights, self._scores.runs_of, most)
        date = str(baseline.newest)
        return dated_reference(run, date, self.tonight, self._nights, self._scores.runs_of)

    def judged_rates(
        self, reference: Reference | None, run: str, cutoff: Cutoff
    ) -> JudgedRates | None:
        """A run's judged rates; None if one of them is not known."""
        if reference is None:
            return None
        before = self._scores.source(reference.nights[-1]).judged_rates.get((run, cutoff))
        tonight = self._scores.source(self.tonight).judged_rates.get((run, cutoff))
        if before is None or tonight is None:
            return None
        return JudgedRates(before, tonight)

    def compare(self, baseline: Baseline, question: Question) -> BesideReference:
        """The answer to a question: rows, or why the run cannot be compared with a baseline."""
        try:
            return self._compare(baseline, question)
        except InputError as error:
            return BesideReference(refused=NotComparable("not_measured", error.worded(OPTIONS)))
        except StorageError as error:
            return BesideReference(refused=NotComparable("no_baseline", error.worded(OPTIONS)))

    def _compare(self, baseline: Baseline, question: Question) -> BesideReference:
        """The answer to a question. InputError or StorageError if scores cannot be read."""
        if baseline.refused:
            return BesideReference(refused=baseline.refused)
        reference = self.reference(baseline, question.run)
        if reference is None:
            return BesideReference(refused=_no_reference(baseline, question.run))
        is_of_catalog = question.measure in CATALOG_COLUMNS
        if is_of_catalog:
            # The shown lists do not depend on judgments, so there are no changes to cross.
            reference = dataclasses.replace(reference, links=())
        refused = self._damaged_log(baseline, reference)
        refused = refused or self._not_evaluated(reference, question.metric)
        if refused:
            return BesideReference(refused=refused)
        if is_of_catalog:
            return self._compare_catalog(baseline, reference, question)
        return self._compare_chain(baseline, reference, question)

    def _compare_chain(
        self, baseline: Baseline, reference: Reference, question: Question
    ) -> BesideReference:
        """A run by a measure of relevance, in each reading that the measure has."""
        usable = self._usable(reference, question)
        unreached = _cannot_reach(baseline, reference, usable, question.run)
        if usable is None or unreached:
            return BesideReference(refused=unreached)
        rows = self._rows(usable, question, FIRST_READING)
        if has_second_reading(question.measure):
            rows = rows + self._rows(usable, question, SECOND_READING)
        return BesideReference(tuple(rows), usable)

    def _damaged_log(self, baseline: Baseline, reference: Reference) -> NotComparable | None:
        """A refusal if a log cannot be read, because its night may have been accepted."""
        lost = self._nights.damaged_between(reference.first, self.tonight.evaluated_on)
        if not lost or baseline.kind is not Kind.ACCEPTED:
            return None
        why = self._nights.damaged[lost[-1]]
        sentence = f"the accepted night is not known, because a log cannot be read: {why}"
        return NotComparable("no_baseline", sentence)

    def _compare_catalog(
        self, baseline: Baseline, reference: Reference, question: Question
    ) -> BesideReference:
        """A run by a catalog measure, compared with the nights whose values are comparable."""
        refused = why_not_comparable(self.tonight, reference.nights, question.metric)
        if refused is not None:
            return BesideReference(refused=refused)
        of_run = dataclasses.replace(baseline, nights=reference.nights)
        of_run = with_comparable_nights(of_run, self.tonight, question.metric)
        own = Reference(of_run.nights)
        if question.measure not in RUN_COLUMNS:
            return BesideReference(tuple(self._paired_rows(own, question, FIRST_READING)), own)
        rows = self._numbers_of_runs(of_run, question.metric)
        return BesideReference(tuple(row for row in rows if row["run"] == question.run), own)

    def _numbers_of_runs(self, baseline: Baseline, metric: Metric) -> list[Row]:
        """All runs' rows for a measure that has one number per run."""
        key = baseline.nights, metric
        if key not in self._rows_of_measures:
            rows = compared_numbers(baseline, self.tonight, metric, self._scores)
            self._rows_of_measures[key] = list(rows)
        return self._rows_of_measures[key]

    def _not_evaluated(self, reference: Reference, metric: Metric) -> NotComparable | None:
        """Why the metric is missing in a night from the reference to tonight; None if it is not."""
        path = [*reference.nights, self.tonight]
        for link in reference.links:
            path += [link.before, link.after]
        for night in path:
            if metric not in self._scores.source(night).metrics:
                where = "this night" if night == self.tonight else night.evaluated_on
                sentence = f"{measure_at(*metric)} was not evaluated in {where}"
                return NotComparable("other_cutoff", sentence)
        return None

    def _usable(self, reference: Reference, question: Question) -> Reference | None:
        """The reference whose chain answers a question: it begins later if a link is unusable."""
        if not reference.links:
            return reference
        scores = self._run_scores(question)
        mask_of = self._masks.of_slice(question)
        limits = Limits(question.allowed, question.min_queries, mask_of)
        nights = self._nights_with(question.run)
        return usable_reference(reference, self.tonight, nights, self._max_nights, scores, limits)

    def _nights_with(self, run: str) -> list[Night]:
        """The earlier nights that have a run."""
        if run not in self._nights_of_run:
            nights = nights_of_run(run, self.tonight, self._nights, self._scores.runs_of)
            self._nights_of_run[run] = nights
        return self._nights_of_run[run]

    def _run_scores(self, question: Question) -> RunScores:
        """The scores for a question's run and metric."""
        key = question.run, question.metric
        if key not in self._scores_of_run:
            self._scores_of_run[key] = run_scores(*key, self.tonight, self._scores)
        return self._scores_of_run[key]

    def _rows(self, reference: Reference, question: Question, reading: int) -> list[Row]:
        """The rows in one reading: one row, or two if the reference has different judgments."""
        if not reference.links:
            return self._paired_rows(reference, question, reading)
        scores = self._run_scores(question)
        made = chain(reference, self.tonight, scores, reading)
        if made is None:
            return []
        key = self._key_of_chain(reference, question, reading)
        tonights = scores.matrix(self.tonight, reading).scores(question.run)
        queries = self._scores.queries(self.tonight.dataset)
        weights = None
        if question.is_weighted and self._options.weights is not None:
            weights = weight_vector(self._options.weights, self.tonight.dataset, queries)
        mask_of = self._masks.of_slice(question)
        rows: list[Row] = []
        for side in (HIGH, LOW):
            row = chain_row(
                key,
                made,
                side,
                tonights,
                mask_of,
                weights,
                queries.buckets,
                self._options.alpha,
            )
            rows.append(row)
        return rows

    def _key_of_chain(
        self, reference: Reference, question: Question, reading: int
    ) -> dict[str, Any]:
        """The columns of COMPARISONS that identify what a chain compares."""
        newest = self._scores.source(reference.nights[-1]).evaluated_on
        key = self._scores.source(self.tonight).key(newest, len(reference.nights))
        return key | {
            "run": question.run,
            "baseline": question.run,
            "reading": reading,
            "measure": question.measure,
            "cutoff": question.cutoff,
            "attribute": question.attribute,
            "value": question.value,
        }

    def _paired_rows(self, reference: Reference, question: Question, reading: int) -> list[Row]:
        """The rows if the judgments have not changed: a comparison with the mean of nights."""
        key = reference.nights, question.run, question.metric, reading
        if key not in self._paired:
            self._paired[key] = self._compared_with_mean(*key)
        return [row for row in self._paired[key] if _answers(question, row)]

    def _compared_with_mean(
        self, nights: Sequence[Night], run: str, metric: Metric, reading: int
    ) -> list[Row]:
        """The rows of all slices, including weighted ones."""
        scores = self._scores
        own = scores.matrix(self.tonight, metric, reading)
        matrices = [scores.matrix(night, metric, reading) for night in nights]
        baseline = matrices[0] if len(matrices) == 1 else mean_matrix(matrices, own)
        newest = scores.source(nights[-1]).evaluated_on
        key = scores.source(self.tonight).key(newest, len(nights))
        key["reading"] = reading
        sides = Sides(own, baseline, metric, key, [(run, run)]).with_same_judgments()
        return list(comparison_rows(sides, self._options))


def _answers(question: Question, row: Row) -> bool:
    """Whether a row is about a question's slice and weighting."""
    is_slice = (row["attribute"], row["value"]) == (question.attribute, question.value)
    is_weighted = row["weight_effective_n"] is not None
    return is_slice and is_weighted == question.is_weighted


def _no_reference(baseline: Baseline, run: str) -> NotComparable:
    if baseline.kind is Kind.ACCEPTED:
        sentence = f"no earlier night of {run} with this convention is good or accepted"
        return NotComparable("no_baseline", sentence)
    return NotComparable("new_run", f"{run} is new: it has no results in {baseline.in_words}")


def _cannot_reach(
    baseline: Baseline,
    reference: Reference,
    usable: Reference | None,
    run: str,
) -> NotComparable | None:
    """Why a run cannot be compared across the changes of judgments since its reference."""
    if baseline.kind is Kind.ACCEPTED:
        if usable is not None:
            return None
        date = reference.links[-1].after.evaluated_on
        sentence = f"the judgments changed on {date}, and no night since then is good for {run}"
        return NotComparable("other_judgments", sentence)
    # A date means only its night, without the good nights after it.
    if usable is not None and not usable.begins_later:
        return None
    changed = f"the judgments have changed since {baseline.newest}"
    sentence = f"{changed}, and it is unclear by how much {run} changed then"
    return NotComparable("other_judgments", sentence, (baseline.newest, run))


#: The queries of each slice, by (attribute, value).
_Slices = Mapping[tuple[str | None, str | None], Mask]
#: How many nights have their slices kept.
_MAX_NIGHTS = 400


class _SlicesOfNights:
    """The slices of small nights by the attributes that they keep."""

    def __init__(self, scores: ScoreCache) -> None:
        self._scores = scores
        self._kept = functools.lru_cache(_MAX_NIGHTS)(self._computed)

    def of(self, night: Night, attribute: str) -> _Slices:
        return self._kept(night, attribute, len(self._scores.queries(night.dataset)))

    def _computed(self, night: Night, attribute: str, _queries: int) -> _Slices:
        return _slices_of(self._scores.attributes(night), attribute, night, self._scores)


def _slices_of(
    attributes: pa.Table | None, attribute: str, night: Night, scores: ScoreCache
) -> _Slices:
    """The queries of each slice by an attribute; empty without attributes."""
    slices: dict[tuple[str | None, str | None], Mask] = {}
    if attributes is not None:
        # Other attributes may have thousands of values.
        rows = attributes.filter(pc.equal(attributes["attribute"], attribute))
        for name, value, mask in masks(rows, night.dataset, scores.queries(night.dataset)):
            slices[name, value] = mask
    return slices


class _SliceMasks:
    """The queries in a slice, by the attributes that nights keep."""

    def __init__(self, scores: ScoreCache, attributes: pa.Table | None) -> None:
        self._scores = scores
        #: The attributes of nights that keep none.
        self._attributes = attributes
        #: Kept together with the scores, for every gate that uses them.
        self._slices_of_small_nights = scores.made_once(_SlicesOfNights)
        self._slices_of_others: dict[tuple[Night, str], _Slices] = {}
        self._masks: dict[Any, Mask] = {}

    def of_slice(self, question: Question) -> Callable[[Night, Night], Mask]:
        """A function that returns the queries of a slice between a newer and an older night.

        A query has the attributes that the newer night keeps or, if that night does not judge it,
        the attributes that the older night keeps.
        """
        of_question = question.metric, question.attribute, question.value

        def mask(newer: Night, older: Night) -> Mask:
            number = len(self._scores.queries(newer.dataset))
            if question.attribute is None:
                return np.ones(number, np.bool_)
            if not is_small(newer):
                return self._between(newer, older, question)
            # Every check compares the same pairs of nights, in two readings and on two sides.
            key = of_question, newer, older, number
            if key not in self._masks:
                self._masks[key] = self._between(newer, older, question)
            return self._masks[key]

        return mask

    def _between(self, newer: Night, older: Night, question: Question) -> Mask:
        """Whether each query is in a slice, by the attributes of two nights."""
        own = self._mask(newer, question)
        if older == newer:
            return own
        is_judged = self._scores.matrix(newer, question.metric).hashes() != 0
        return np.asarray(np.where(is_judged, own, self._mask(older, question)))

    def _mask(self, night: Night, question: Question) -> Mask:
        """Whether each query is in a slice, by the attributes of one night."""
        # Queries without attributes are in the slice of queries without a value.
        default = question.value == NO_VALUE
        number = len(self._scores.queries(night.dataset))
        known = self._slices(night, str(question.attribute)).get(
            (question.attribute, question.value)
        )
        if known is None:
            return np.full(number, default, np.bool_)
        # Queries that were first seen later have no attributes here.
        return padded(known, number, default)

    def _slices(self, night: Night, attribute: str) -> _Slices:
        """A night's queries in each slice by an attribute, by (attribute, value)."""
        keeps_attributes = bool(night.kept_rows("query_attributes"))
        if keeps_attributes and is_small(night):
            return self._slices_of_small_nights.of(night, attribute)
        key = night, attribute
        if key not in self._slices_of_others:
            kept = self._scores.attributes(night)
            table = self._attributes if kept is None else kept
            self._slices_of_others[key] = _slices_of(table, attribute, night, self._scores)
        return self._slices_of_others[key]
