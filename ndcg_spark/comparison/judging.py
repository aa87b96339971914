"""Judge a night: its baselines are looked up among the nights that are kept, compared with, and decided on."""

import dataclasses
from collections.abc import Collection, Sequence
from contextlib import AbstractContextManager
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from ndcg_spark.comparison.comparing import Compared, compare_tables
from ndcg_spark.comparison.gate import decide, decide_absent
from ndcg_spark.comparison.judgments import changes, only_of, unchanged
from ndcg_spark.comparison.sides import (
    NO_CHANGES,
    Against,
    Changes,
    Night,
    of_record,
    refused_baseline,
    refused_judgments,
)
from ndcg_spark.comparison.verdict import Verdict
from ndcg_spark.errors import StorageError
from ndcg_spark.gate_config import LAST_GOOD, BaselineConfig, GateConfig
from ndcg_spark.nights.read import dataset_scores, read_nights
from ndcg_spark.nights.records import CommittedNight, ReplacedError, committed, last_good, unreplaced

#: What counts as a large loss in the table COMPARISONS.
_LARGE_LOSS = 0.2


@dataclasses.dataclass(frozen=True)
class Kept:
    """The nights that an output keeps, and a session to read their scores with."""

    output: str
    nights: Sequence[CommittedNight]
    session: SparkSession
    #: Why the nights cannot be looked at, if so.
    unreadable: str | None = None

    def find(self, config: BaselineConfig, dataset: str, evaluated_on: str) -> Night | None:
        """The night that a baseline of the configuration stands for, seen from this date; None if there is none."""
        own = [night for night in self.nights if night.dataset == dataset]
        if config.night == LAST_GOOD:
            # Only earlier nights: one that is evaluated again must not be compared with what it replaces.
            found = last_good([night for night in own if night.evaluated_on < evaluated_on])
        else:
            found = next((night for night in own if night.evaluated_on == str(config.night)), None)
        return self.known(found) if found else None

    def known(self, night: CommittedNight) -> Night:
        """What is known of a night."""
        (rows,) = dataset_scores([night])
        return of_record(night.dataset, night.evaluated_on, night.record, rows)

    def scores(self, night: Night) -> DataFrame:
        """The QUERY_SCORES of a night."""
        return read_nights([self._kept(night)], "query_scores", self.session)

    def unreplaced(self, night: Night) -> AbstractContextManager[None]:
        """Around what reads a night: ReplacedError if it was evaluated again in the meantime."""
        return unreplaced([self._kept(night)])

    def _kept(self, night: Night) -> CommittedNight:
        place = (night.dataset, night.evaluated_on)
        return next(each for each in self.nights if (each.dataset, each.evaluated_on) == place)


@dataclasses.dataclass(frozen=True)
class Judged:
    """The verdict on a night, and the rows of COMPARISONS that it rests on."""

    verdict: Verdict
    rows: list[dict[str, Any]]
    #: The run and the id of each query that lost most against the first baseline that could be compared with; with a
    #: baseline of the same night, its run too.
    lost: list[tuple[str, str]]


def kept_in(output: str, session: SparkSession) -> Kept:
    """The nights that an output keeps. Where they cannot be looked at, nothing is compared, and it says why."""
    try:
        return Kept(output, committed(output), session)
    except StorageError as error:
        return Kept(output, (), session, str(error))


def judge(
    gate: GateConfig,
    tonight: Night,
    scores: DataFrame,
    kept: Kept,
    attributes: DataFrame | None = None,
    weights: DataFrame | None = None,
    accepted: str | None = None,
    lost: int = 0,
) -> Judged:
    """The verdict on a night whose QUERY_SCORES are `scores`. An action.

    `lost` is how many of the queries that lost most are named for each run.

    Raises
    ------
    InputError
        The attributes or the weights break their contract.
    ReplacedError
        A night that this one was compared with was evaluated again in the meantime.
    """
    judge_ = _Judge(gate, tonight, scores, kept, attributes, weights, lost)
    against = [judge_.against(config) for config in gate.baseline]
    rows = {id(row): dict(row) for each in against for row in each.rows}
    return Judged(decide(gate, tonight, against, accepted), list(rows.values()), _lost(against))


def judge_absent(
    gate: GateConfig, dataset: str, evaluated_on: str, there: Collection[str], kept: Kept
) -> Verdict | None:
    """The verdict on a dataset that has no night of this date; None if it is not expected to have one.

    It is expected if it has an earlier night and the gate compares nights. A dataset that was evaluated together with
    one of those that are `there` is left to the verdict on that one, which ends when somebody accepts its night.
    """
    earlier = [night for night in kept.nights if night.dataset == dataset and night.evaluated_on < evaluated_on]
    if not earlier or all(config.run is not None for config in gate.baseline):
        return None
    newest = max(earlier, key=lambda night: night.evaluated_on)
    if set(there).intersection(newest.record.get("datasets", ())):
        return None
    return decide_absent(gate, dataset, evaluated_on, newest.evaluated_on)


def _lost(against: Sequence[Against]) -> list[tuple[str, str]]:
    first = next((each for each in against if each.rows), None)
    if first is None:
        return []
    own = first.config.run
    beside = [(own, query) for _, query in first.lost] if own is not None else []
    return list(dict.fromkeys([*first.lost, *beside]))


@dataclasses.dataclass(frozen=True)
class _Judge:
    gate: GateConfig
    tonight: Night
    scores: DataFrame
    kept: Kept
    attributes: DataFrame | None
    weights: DataFrame | None
    lost: int = 0
    #: By their date, as two baselines may stand for one night, which then has its rows once.
    _compared: dict[str, Against] = dataclasses.field(default_factory=dict)

    def against(self, config: BaselineConfig) -> Against:
        """A baseline, looked up and compared with."""
        try:
            return self._against(config)
        except ReplacedError:
            raise
        except StorageError as error:
            # A night that cannot be read is no baseline, and tonight is published all the same.
            return Against(config, None, refused_baseline(config, self.tonight, None, str(error)))

    def _against(self, config: BaselineConfig) -> Against:
        tonight = self.tonight
        found = None if config.run is not None else self.kept.find(config, tonight.dataset, tonight.evaluated_on)
        refused = refused_baseline(config, tonight, found, self.kept.unreadable)
        if refused:
            return Against(config, found, refused)
        if found is None:
            return self._with_rows(Against(config), None)
        if found.evaluated_on not in self._compared:
            with self.kept.unreplaced(found):
                self._compared[found.evaluated_on] = self._with_night(found, config)
        return dataclasses.replace(self._compared[found.evaluated_on], config=config)

    def _with_night(self, found: Night, config: BaselineConfig) -> Against:
        theirs, changed = self.kept.scores(found), self._changes(found)
        refused = refused_judgments(self.gate, found, changed)
        against = Against(config, found, refused, changes=changed)
        if refused:
            return against
        if against.changes.changed:
            queries = unchanged(self.scores, theirs)
            ours, theirs = only_of(self.scores, queries), only_of(theirs, queries)
            return dataclasses.replace(self, scores=ours)._with_rows(against, theirs)
        return self._with_rows(against, theirs)

    def _changes(self, found: Night) -> Changes:
        """The same fingerprint means the same judgments; only if it differs the queries are looked at."""
        if found.judgments is not None and found.judgments == self.tonight.judgments:
            return NO_CHANGES
        return changes(self.scores, self.kept.scores(found))

    def _with_rows(self, against: Against, theirs: DataFrame | None) -> Against:
        """The baseline with its rows of COMPARISONS.

        With none if a side has no judged query, or if the two have no run or no cutoff in common.
        """
        gate, night = self.gate, against.night
        named = {run for check in gate.check for run in check.runs or self.tonight.runs}
        runs = sorted(named.intersection(self.tonight.runs, night.runs if night else named) - {against.config.run})
        common = self.tonight.cutoffs & (night.cutoffs if night else self.tonight.cutoffs)
        cutoffs = [cutoff for cutoff in gate.cutoffs if cutoff in common]
        sides = [self.tonight, *([night] if night else [])]
        if not runs or not cutoffs or not all(side.has_queries for side in sides):
            return against
        losses = {check.max_share_losing.by for check in gate.check if check.max_share_losing}
        found = {
            loss: compare_tables(
                self.scores,
                theirs,
                against.config.run,
                measures=gate.measures,
                runs=runs,
                cutoffs=cutoffs,
                alpha=gate.alpha,
                correction=gate.correction,
                test=gate.test,
                large_loss=loss,
                attributes=self.attributes,
                weights=self.weights,
                min_queries=gate.min_queries,
                seed=gate.seed,
                queries=self.lost if loss == _LARGE_LOSS else 0,
            )
            for loss in {_LARGE_LOSS, *losses}
        }
        losing = {loss: compared.rows for loss, compared in found.items() if loss != _LARGE_LOSS}
        compared = found[_LARGE_LOSS]
        rows, told = compared.rows, tuple(compared.warnings)
        return dataclasses.replace(against, rows=rows, losing=losing, told=told, lost=self._lost(compared))

    def _lost(self, compared: Compared) -> list[tuple[str, str]]:
        """The run and the id of the queries that lost by the measure of the first check, at its cutoff."""
        first = self.gate.check[0]
        return [
            (row["run"], row["query_id"])
            for row in compared.queries
            if (row["measure"], row["cutoff"]) == (first.measure, first.cutoff) and row["difference"] < 0
        ]
