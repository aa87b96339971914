"""A night judged: it is compared with its baselines, and every check gets the row that decides it."""

import dataclasses
import datetime
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ndcg_spark.comparison.compare import kept_attributes
from ndcg_spark.comparison.differences import Sides, extremes, rows_of
from ndcg_spark.comparison.matrix import Place, ScoreMatrix, mean_of
from ndcg_spark.comparison.options import ComparisonOptions
from ndcg_spark.comparison.slices import Attributes, Weights
from ndcg_spark.errors import InputError, StorageError
from ndcg_spark.gate.baselines import Baseline, Row, Scores, checks_of, missing, resolve
from ndcg_spark.gate.config import CheckConfig, GateConfig
from ndcg_spark.gate.decide import Case, Compared, key_of, results_of, verdict_of
from ndcg_spark.gate.verdict import FAIL, NOT_COMPARABLE, Result, Verdict
from ndcg_spark.nights.log import Night, Nights, is_baseline

#: Where the signs of the differences cancel to less than this share of their sizes, no slice has a share of the change.
_CANCELLED = 0.1
#: In a rehearsal, results without which a night can begin.
_BEGINNINGS = {None, "no_baseline", "other_convention", "other_judgments"}
#: At most so many slices are named as causes.
_MAX_CAUSES = 20


class Judged(NamedTuple):
    """A verdict, and the rows of COMPARISONS that it is based on."""

    verdict: Verdict
    rows: list[dict[str, Any]]
    #: The run and the id of the queries that changed most.
    changed: list[tuple[str, str]]


def judge(
    gate: GateConfig,
    tonight: Night,
    nights: Nights,
    scores: Scores,
    attributes: Attributes | None = None,
    weights: Weights | None = None,
    accepted: str | None = None,
    most_changed: int = 0,
) -> Judged:
    """The verdict on a night, which is one of `nights`.

    `attributes` are those of a night that has kept none. `most_changed` is how many of the queries that changed most
    are named for each run. Raises StorageError where the scores of the night itself cannot be read.
    """
    judging = _Judging(gate, tonight, scores, kept_attributes([tonight]) or attributes, weights, most_changed)
    baselines = [resolve(gate, spec, tonight, nights) for spec in gate.baseline]
    compared = judging.compared(baselines)
    gone = [
        Result("gate", FAIL, NOT_COMPARABLE, code, sentence, run)
        for code, sentence, run in missing(gate, tonight, nights, baselines, scores)
    ]
    cases = list(judging.cases(compared))
    if not (cases or gone):
        sentence = f"no check is for a run of {tonight.dataset} besides the baseline"
        gone.append(Result("gate", FAIL, NOT_COMPARABLE, "not_measured", sentence))
    verdict = verdict_of(gate, tonight, nights, [*gone, *results_of(gate, cases)], compared, accepted)
    rows = {id(row): row for each in compared for row in each.rows.values()}
    first = next((each for each in compared if each.rows), None)
    changed = [(row["run"], row["query_id"]) for row in first.extremes] if first else []
    if first and first.baseline.spec.run:
        changed += [(first.baseline.spec.run, query) for _, query in changed]
    return Judged(verdict, list(rows.values()), list(dict.fromkeys(changed)))


class _Judging(NamedTuple):
    gate: GateConfig
    tonight: Night
    scores: Scores
    attributes: Attributes | None
    weights: Weights | None
    most_changed: int

    @property
    def checks(self) -> list[tuple[str, CheckConfig]]:
        return checks_of(self.gate, self.tonight.dataset)

    def compared(self, baselines: Sequence[Baseline]) -> list[Compared]:
        """Tonight beside each baseline; two that stand for the same nights share their rows."""
        known: dict[tuple[Any, ...], Compared] = {}
        found = []
        for each in baselines:
            key = each.spec.run, each.refused, *(night.evaluated_on for night in each.nights)
            if key not in known:
                known[key] = self._compared(each)
            found.append(dataclasses.replace(known[key], baseline=each))
        return found

    def _compared(self, baseline: Baseline) -> Compared:
        found = Compared(baseline, baseline.refused)
        for place in dict.fromkeys(check.place for _, check in self.checks if check.limits_drop):
            if found.refused is None and self.scores.has(self.tonight, place):
                try:
                    self._compare(found, place)
                except InputError as error:
                    found.refused = "not_measured", str(error)
        return found

    def _compare(self, found: Compared, place: Place) -> None:
        """Add the rows of a measure at a cutoff, or why there can be none."""
        run, own = found.baseline.spec.run, self.scores.matrix(self.tonight, place)
        theirs, only = own, None
        if run is None:
            nights = [night for night in found.baseline.nights if self.scores.has(night, place)]
            if not nights:
                return
            try:
                theirs = mean_of((self.scores.matrix(night, place) for night in nights), own)
            except StorageError as error:
                found.refused = "no_baseline", f"{found.baseline.in_words} cannot be read, {error}"
                return
            every, only = own.there() | theirs.there(), own.hashes() == theirs.hashes()
            found.changed, found.queries = int((every & ~only).sum()), int(every.sum())
            if found.changed and (found.changed == found.queries or not self.gate.unchanged_queries):
                share = f"{found.changed:,} of {found.queries:,} queries have other judgments"
                found.refused = "other_judgments", f"{share} than on {found.baseline.newest}"
                return
        wanted = {name for _, check in self.checks if check.place == place for name in check.runs or own.runs}
        pairs = [(name, run or name) for name in sorted(wanted.intersection(own.runs) - {run})]
        pairs = [pair for pair in pairs if pair[1] in theirs.runs]
        newest = found.baseline.newest
        key = {
            "dataset": self.tonight.dataset,
            "evaluated_on": datetime.date.fromisoformat(self.tonight.evaluated_on),
            "evaluation_id": self.tonight.evaluation_id,
            "baseline_night": datetime.date.fromisoformat(newest) if newest else None,
            "baseline_nights": len(found.baseline.nights) or None,
        }
        sides = Sides(own, theirs, place, key, pairs, only)
        least = min(self._min_queries(check) for _, check in self.checks)
        options = ComparisonOptions(alpha=self.gate.alpha, min_queries=least)
        for row in rows_of(sides, options, self.attributes, self.weights):
            found.rows[key_of(row)] = row
            if row["attribute"] is None:
                found.causes[key_of(row)] = self._causes(sides, row)
        if self.most_changed and place == self.checks[0][1].place:
            for pair in pairs:
                ranked = sorted(extremes(sides, *pair, self.most_changed), key=lambda row: -abs(row["difference"]))
                found.extremes += ranked[: self.most_changed]

    def _min_queries(self, check: CheckConfig) -> int:
        return check.min_queries or self.gate.min_queries

    def _causes(self, sides: Sides, row: Row) -> list[dict[str, Any]]:
        """The share of a loss that each slice has, the largest first; none where it may be chance or signs cancel."""
        high, own, dataset = row["interval_high"], sides.own, self.tonight.dataset
        if self.attributes is None or (row["difference"] or 0.0) >= 0 or (high is not None and high >= 0):
            return []
        apart = sides.apart(row["run"], row["baseline"])
        if row["weight_effective_n"] is not None and self.weights is not None:
            apart *= self.weights.vector(dataset, own.queries, own.there())
        paired, total = ~np.isnan(apart), np.nansum(apart)
        if abs(total) < _CANCELLED * np.nansum(np.abs(apart)):
            return []
        found: list[dict[str, Any]] = [
            {
                "attribute": attribute,
                "value": value,
                "queries": int((mask & paired).sum()),
                "of_queries": int(paired.sum()),
                "share": float(np.nansum(apart[mask]) / total),
            }
            for attribute, value, mask in self.attributes.masks(dataset, own.queries, own.there())
        ]
        found = [each for each in found if each["share"] > 0 and each["queries"] < each["of_queries"]]
        return sorted(found, key=lambda each: -each["share"])[:_MAX_CAUSES]

    def cases(self, compared: Sequence[Compared]) -> Iterator[Case]:
        """Every check for every run of tonight and every baseline. A run that is missing has none."""
        runs = self.scores.runs(self.tonight)
        for place, check in self.checks:
            for run in sorted(runs.intersection(check.runs or runs)):
                for each in compared if check.limits_drop else ():
                    if run != each.baseline.spec.run:
                        yield self._case(place, check, run, each)
                if check.min_value is not None:
                    yield self._minimum(place, check, run)

    def _case(self, place: str, check: CheckConfig, run: str, compared: Compared) -> Case:
        refused, baseline = compared.refused, compared.baseline
        nights = [self.tonight, *baseline.nights]
        row = compared.rows.get((run, *check.place, *check.attribute_and_value, check.weighted))
        plain = compared.rows.get((run, *check.place, *check.attribute_and_value, False))
        if refused is None and not self.scores.has(self.tonight, check.place):
            refused = "other_cutoff", f"{check.subject(run)} was not evaluated in this night"
        elif refused is None and baseline.nights and not any(self.scores.has(each, check.place) for each in nights[1:]):
            refused = "other_cutoff", f"{check.subject(run)} was not evaluated in {baseline.in_words}"
        elif refused is None and baseline.nights and not any(run in self.scores.runs(each) for each in nights[1:]):
            refused = "missing_run", f"{run} has no results in {baseline.in_words}"
        elif refused is None and (row is None or plain is None or not plain["queries"] + plain["unpaired_queries"]):
            refused = self._nothing(check, run)
        elif refused is None and row and plain:
            queries, unpaired = plain["queries"], plain["unpaired_queries"]
            if unpaired:
                share = f"{unpaired:,} of {queries + unpaired:,} queries have a value on one side only"
                refused = "not_measured", f"{check.subject(run)} against {baseline.in_words}: {share}"
            elif row["queries"] < queries:
                refused = self._unweighted(check, run, queries - row["queries"], queries)
            else:
                refused = self._too_few(check, run, row)
        return Case(place, check, run, baseline, row, refused)

    def _nothing(self, check: CheckConfig, run: str) -> tuple[str, str]:
        if check.slice:
            return "missing_slice", f"{check.subject(run)}: no query is {check.slice}"
        return "not_measured", f"{check.subject(run)}: no query has a value"

    def _unweighted(self, check: CheckConfig, run: str, without: int, queries: int) -> tuple[str, str]:
        return "not_measured", f"{check.subject(run)}: {without:,} of {queries:,} queries have no weight"

    def _too_few(self, check: CheckConfig, run: str, row: Row) -> tuple[str, str] | None:
        effective, least = row["weight_effective_n"] or row["queries"], self._min_queries(check)
        if effective >= least:
            return None
        weighed = f"{row['queries']:,} queries whose weights come down to" if row["weight_effective_n"] else "only"
        return "few_queries", f"{check.subject(run)}: {weighed} {effective:,.4g} queries, and min_queries is {least:,}"

    def _minimum(self, place: str, check: CheckConfig, run: str) -> Case:
        """The mean of a run, for a check of the least value."""
        if not self.scores.has(self.tonight, check.place):
            absent = "other_cutoff", f"{check.subject(run)} was not evaluated in this night"
            return Case(place, check, run, None, None, absent)
        try:
            own = self.scores.matrix(self.tonight, check.place)
        except InputError as error:
            return Case(place, check, run, None, None, ("not_measured", str(error)))
        scores = own.scores(run)
        counted = ~np.isnan(scores) & self._mask(check, own)
        queries = int(counted.sum())
        if not queries:
            return Case(place, check, run, None, None, self._nothing(check, run))
        weight = np.ones(queries)
        if check.weighted and self.weights is not None:
            weight = self.weights.vector(self.tonight.dataset, own.queries, own.there())[counted]
        row = {
            "run": run,
            "queries": queries,
            "mean": float(np.sum(scores[counted] * weight) / weight.sum()),
            "weight_effective_n": float(weight.sum() ** 2 / np.sum(weight**2)) if check.weighted else None,
        }
        without = int(np.isnan(weight).sum())
        refused = self._unweighted(check, run, without, queries) if without else self._too_few(check, run, row)
        return Case(place, check, run, None, row, refused)

    def _mask(self, check: CheckConfig, own: ScoreMatrix) -> np.typing.NDArray[np.bool_]:
        if check.slice is None:
            return own.there()
        masks = self.attributes.masks(self.tonight.dataset, own.queries, own.there()) if self.attributes else ()
        named = (mask for *names, mask in masks if (*names,) == check.attribute_and_value)
        return next(named, np.zeros(len(own.queries), np.bool_))


def rehearse(
    gate: GateConfig,
    nights: Nights,
    dataset: str | None = None,
    attributes: Attributes | None = None,
    weights: Weights | None = None,
) -> Iterator[Verdict]:
    """The verdict on each night of a dataset, or of all, as if the gate had run on every one.

    Where a night was evaluated without a gate, nobody could accept it; so it is good if it has nothing to be compared
    with.
    """
    known, scores = nights.with_nights(nights), Scores()
    scores.read_rows(nights)
    for number, night in enumerate(nights):
        if dataset in (None, night.dataset):
            verdict = judge(gate, night, known, scores, attributes, weights, night.row["accepted"]).verdict
            begins = night.row["verdict"] is None and {each.reason for each in verdict.results} <= _BEGINNINGS
            record = {**night.record, "is_baseline": begins or is_baseline(verdict.as_json(), verdict.accepted)}
            known[number] = night.with_record(record)
            yield verdict
