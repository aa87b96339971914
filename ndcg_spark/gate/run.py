"""A night judged: it is compared with its baselines, and every check gets the row that decides it."""

import dataclasses
import datetime
from collections.abc import Iterator
from typing import Any, NamedTuple

from ndcg_spark.comparison.compare import kept_attributes
from ndcg_spark.comparison.differences import ComparisonOptions, Sides, extremes, rows_of
from ndcg_spark.comparison.matrix import Place, mean_of
from ndcg_spark.comparison.slices import Attributes, Weights
from ndcg_spark.errors import InputError, StorageError
from ndcg_spark.gate.baselines import Baseline, Refusal, Row, Scores, missing, resolve
from ndcg_spark.gate.config import CheckConfig, GateConfig
from ndcg_spark.gate.decide import Case, Compared, key_of, results_of, verdict_of
from ndcg_spark.gate.verdict import FAIL, NOT_COMPARABLE, Result, Verdict
from ndcg_spark.nights.log import Night, Nights

#: In a rehearsal, results without which a night can begin.
_BEGINNINGS = {None, "no_baseline", "other_convention", "other_judgments"}


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
    only_losses: bool = False,
) -> Judged:
    """The verdict on a night, which is one of `nights`.

    `attributes` are those of a night that has kept none. `most_changed` is how many of the queries that changed most
    are named for each run. With `only_losses`, rows by which nothing can fail go without the p value of random signs.
    Raises StorageError where the scores of the night itself cannot be read.
    """
    judging = _Judging(
        gate, tonight, scores, kept_attributes([tonight]) or attributes, weights, most_changed, only_losses
    )
    baselines = [resolve(gate, name, tonight, nights) for name in gate.baseline]
    # Two baselines that stand for the same nights share their rows.
    by_nights = {(each.run, each.refused, *each.nights): each for each in reversed(baselines)}
    known = {key: judging.compare(each) for key, each in by_nights.items()}
    compared = [dataclasses.replace(known[each.run, each.refused, *each.nights], baseline=each) for each in baselines]
    results = list(missing(gate, tonight, nights, baselines, scores))
    cases = list(judging.cases(compared))
    if not (cases or results):
        sentence = f"no check is for a run of {tonight.dataset} besides the baseline"
        results.append(Result("gate", FAIL, NOT_COMPARABLE, "not_measured", sentence))
    verdict = verdict_of(gate, tonight, nights, [*results, *results_of(gate, cases)], compared, accepted)
    changed = next((each.changed for each in compared if each.rows), [])
    return Judged(verdict, [row for each in known.values() for row in each.rows.values()], changed)


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
    known, scores = Nights(nights, nights.rows, nights.damaged), Scores()
    scores.read(nights)
    for number, night in enumerate(nights):
        if dataset in (None, night.dataset):
            accepted = night.row["accepted"]
            verdict, *_ = judge(gate, night, known, scores, attributes, weights, accepted, only_losses=True)
            begins = night.row["verdict"] is None and {each.reason for each in verdict.results} <= _BEGINNINGS
            known[number] = dataclasses.replace(night, row={**night.row, "is_baseline": begins or verdict.is_baseline})
            yield verdict


class _Judging(NamedTuple):
    gate: GateConfig
    tonight: Night
    scores: Scores
    attributes: Attributes | None
    weights: Weights | None
    most_changed: int
    only_losses: bool

    def compare(self, baseline: Baseline) -> Compared:
        """The night beside a baseline, or why it cannot be compared."""
        compared = Compared(baseline, baseline.refused)
        checks = [check for _, check in self.gate.checks(self.tonight.dataset)]
        for place in dict.fromkeys(check.place for check in checks if check.limits_drop or baseline.name is None):
            if compared.refused is None and self.scores.has(self.tonight, place):
                runs = {run for check in checks if check.place == place for run in check.runs or self._runs}
                try:
                    self._compare(compared, place, sorted(runs & self._runs - {baseline.run}))
                except InputError as error:
                    compared.refused = "not_measured", str(error)
        return compared

    @property
    def _runs(self) -> set[str]:
        return self.scores.runs(self.tonight)

    def _compare(self, compared: Compared, place: Place, runs: list[str]) -> None:
        """Add the rows of these runs by a measure at a cutoff, or why there can be none."""
        baseline, own = compared.baseline, self.scores.matrix(self.tonight, place)
        theirs, only = own, None
        nights = [night for night in baseline.nights if self.scores.has(night, place)]
        if nights:
            try:
                theirs = mean_of((self.scores.matrix(night, place) for night in nights), own)
            except StorageError as error:
                compared.refused = "no_baseline", f"{baseline.in_words} cannot be read, {error}"
                return
            every, only = own.there() | theirs.there(), own.hashes() == theirs.hashes()
            compared.rejudged, compared.queries = int((every & ~only).sum()), int(every.sum())
            if compared.rejudged and (compared.rejudged == compared.queries or not self.gate.unchanged_queries):
                share = f"{compared.rejudged:,} of {compared.queries:,} queries have other judgments"
                compared.refused = "other_judgments", f"{share} than on {baseline.newest}"
                return
        elif baseline.nights:
            return
        key = {
            "dataset": self.tonight.dataset,
            "evaluated_on": datetime.date.fromisoformat(self.tonight.evaluated_on),
            "evaluation_id": self.tonight.evaluation_id,
            "baseline_night": baseline.newest and datetime.date.fromisoformat(baseline.newest),
            "baseline_nights": len(baseline.nights) or None,
        }
        pairs = [(run, baseline.run or run) for run in runs if (baseline.run or run) in theirs.runs]
        sides = Sides(own, theirs, place, key, pairs, only)
        # A check says itself how many queries it needs.
        options = ComparisonOptions(alpha=self.gate.alpha, min_queries=2, only_losses=self.only_losses)
        for row in rows_of(sides, options, self.attributes, self.weights):
            compared.rows[key_of(row)] = row
        if self.most_changed and place == self.gate.checks(self.tonight.dataset)[0][1].place:
            for pair in pairs:
                ranked = sorted(extremes(sides, *pair, self.most_changed), key=lambda row: -abs(row["difference"]))
                found = [(run, row["query_id"]) for row in ranked[: self.most_changed] for run in pair]
                compared.changed += [each for each in dict.fromkeys(found) if each not in compared.changed]

    def cases(self, compared: list[Compared]) -> Iterator[Case]:
        """Every check for every run of the night and every baseline. A run that is missing has none."""
        checks = self.gate.checks(self.tonight.dataset)
        has_minimum = any(check.min_value is not None for _, check in checks)
        itself = [self.compare(Baseline(None))] if has_minimum else []
        for place, check in checks:
            sides = [*(compared if check.limits_drop else []), *(itself if check.min_value is not None else [])]
            of_slice = check.slice.split("=", 1) if check.slice else (None, None)
            for run in sorted(self._runs.intersection(check.runs or self._runs)):
                for each in sides:
                    if run != each.baseline.run:
                        key = (run, *check.place, *of_slice)
                        row, plain = each.rows.get((*key, check.weighted)), each.rows.get((*key, False))
                        refused = each.refused or next(self._refusals(check, run, each.baseline, row, plain), None)
                        yield Case(place, check, run, each.baseline, row, refused)

    def _refusals(
        self, check: CheckConfig, run: str, baseline: Baseline, row: Row | None, plain: Row | None
    ) -> Iterator[Refusal]:
        """Why a row decides nothing; `plain` is that without weights."""
        subject, nights = check.subject(run), baseline.nights
        if not self.scores.has(self.tonight, check.place):
            yield "other_cutoff", f"{subject} was not evaluated in this night"
        if nights and not any(self.scores.has(night, check.place) for night in nights):
            yield "other_cutoff", f"{subject} was not evaluated in {baseline.in_words}"
        if nights and not any(run in self.scores.runs(night) for night in nights):
            yield "missing_run", f"{run} has no results in {baseline.in_words}"
        queries, unpaired = (plain["queries"], plain["unpaired_queries"]) if plain else (0, 0)
        if not queries + unpaired:
            yield "missing_slice" if check.slice else "not_measured", f"{subject}: no query has a value"
        if unpaired:
            share = f"{unpaired:,} of {queries + unpaired:,} queries have a value on one side only"
            yield "not_measured", f"{subject} against {baseline.in_words}: {share}"
        weighed = row["queries"] if row else 0
        if weighed < queries:
            yield "not_measured", f"{subject}: {queries - weighed:,} of {queries:,} queries have no weight"
        effective = row["weight_effective_n"] if row and row["weight_effective_n"] is not None else queries
        least = check.min_queries or self.gate.min_queries
        if effective < least:
            few = f"the weights of {queries:,} queries come down to" if check.weighted else "there are only"
            yield "few_queries", f"{subject}: {few} {effective:,.4g} queries, and min_queries is {least:,}"
