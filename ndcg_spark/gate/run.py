"""Run the gate on a night: look up its baselines among the published nights, compare it with them, and decide."""

import dataclasses
import datetime
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ndcg_spark.comparison.comparable import SAME_JUDGMENTS, ChangedJudgments, changed_judgments
from ndcg_spark.comparison.compare import Source, mean_matrices, of_nights, together
from ndcg_spark.comparison.differences import Sides, extremes, rows_of
from ndcg_spark.comparison.matrix import Place, Queries, ScoreMatrix
from ndcg_spark.comparison.options import ComparisonOptions
from ndcg_spark.comparison.slices import Attributes, Weights
from ndcg_spark.errors import StorageError
from ndcg_spark.gate.baseline import Baseline, Key, Night, key_of, refused_baseline, refused_judgments
from ndcg_spark.gate.config import BaselineConfig, GateConfig
from ndcg_spark.gate.decision import decide, decide_absent
from ndcg_spark.gate.history import History
from ndcg_spark.gate.rules import LARGE_LOSS, Row
from ndcg_spark.gate.verdict import Verdict
from ndcg_spark.nights.log import ReplacedError, unreplaced


@dataclasses.dataclass(frozen=True)
class GateResult:
    """The verdict on a night, and the rows of COMPARISONS that it is based on."""

    verdict: Verdict
    rows: list[dict[str, Any]]
    #: The run and the id of each query that changed most against the first baseline that could be compared with; if
    #: that is a run of the same night, also with that run.
    changed: list[tuple[str, str]]


def run_gate(
    gate: GateConfig,
    tonight: Night,
    scores: Source,
    history: History,
    attributes: Attributes | None = None,
    weights: Weights | None = None,
    accepted: str | None = None,
    changed: int = 0,
) -> GateResult:
    """The verdict on a night with these scores.

    `changed` is how many of the queries that changed most are named for each run.

    Raises
    ------
    InputError
        The scores break their contract.
    ReplacedError
        A night that this one was compared with was evaluated again in the meantime.
    """
    unreadable = history.unreadable
    try:
        tonight = history.known_of(tonight)
        if not gate.compares_nights:
            runs = history.expected_runs(tonight.dataset, tonight.evaluated_on)
            datasets = history.expected(tonight.dataset, tonight.evaluated_on)
            tonight = dataclasses.replace(tonight, expected_runs=runs, expected_datasets=datasets)
    except ReplacedError:
        raise
    except StorageError as error:
        unreadable = str(error)
    if unreadable and not gate.compares_nights:
        # Nobody knows which runs are expected.
        tonight = dataclasses.replace(tonight, unreadable=unreadable)
    run = _GateRun(gate, tonight, scores, history, attributes, weights, changed)
    baselines = [run.baseline(config) for config in gate.baseline]
    # Two baselines that stand for the same nights share their rows.
    rows = {id(row): dict(row) for each in baselines for row in each.rows}
    verdict = decide(gate, tonight, baselines, accepted, run.minimums())
    return GateResult(verdict, list(rows.values()), _changed(baselines))


def run_gate_on_absent(
    gate: GateConfig, dataset: str, evaluated_on: str, there: Collection[str], history: History
) -> Verdict | None:
    """The verdict on a dataset that has no night of this date; None if it is not expected to have one.

    It is expected if it has an earlier night and the gate compares nights. A dataset that was evaluated together with
    one of those that are `there` is left to the verdict on that one, until somebody accepts that one's night.
    """
    earlier = [night for night in history.nights if night.dataset == dataset and night.evaluated_on < evaluated_on]
    if not earlier or not gate.compares_nights:
        return None
    newest = max(earlier, key=lambda night: night.evaluated_on)
    if set(there).intersection(newest.record.get("datasets", ())):
        return None
    return decide_absent(gate, dataset, evaluated_on, newest.evaluated_on)


def _changed(baselines: Sequence[Baseline]) -> list[tuple[str, str]]:
    first = next((each for each in baselines if each.rows), None)
    if first is None:
        return []
    run = first.config.run
    of_baseline = [(run, query) for _, query in first.most_changed] if run is not None else []
    return list(dict.fromkeys([*first.most_changed, *of_baseline]))


@dataclasses.dataclass(frozen=True)
class _GateRun:
    gate: GateConfig
    tonight: Night
    scores: Source
    history: History
    attributes: Attributes | None
    weights: Weights | None
    changed: int = 0
    #: By their date and number, because two baselines may stand for the same nights, whose rows are then computed once.
    _compared: dict[tuple[str, int], Baseline] = dataclasses.field(default_factory=dict)

    def baseline(self, config: BaselineConfig) -> Baseline:
        """A baseline, looked up and compared with the night."""
        try:
            return self._baseline(config)
        except ReplacedError:
            raise
        except StorageError as error:
            # A night that cannot be read is not a baseline, and tonight is published all the same.
            return Baseline(config, None, refused_baseline(config, self.tonight, None, str(error)))

    def _baseline(self, config: BaselineConfig) -> Baseline:
        tonight, history = self.tonight, self.history
        if config.run is not None:
            found = Baseline(config, refused=refused_baseline(config, tonight, None))
            return found if found.refused else self._with_rows(found, [])
        night = history.find(config, tonight.dataset, tonight.evaluated_on)
        expected = history.expected(tonight.dataset, tonight.evaluated_on)
        refused = refused_baseline(config, tonight, night, history.unreadable)
        if refused or night is None:
            return Baseline(config, night, refused, expected=expected)
        nights = (night.evaluated_on, night.nights)
        if nights not in self._compared:
            committed = history.committed(night) if any(self._places(night)) else []
            with unreplaced(committed):
                self._compared[nights] = self._with_rows(Baseline(config, night), of_nights(committed, "baseline"))
        return dataclasses.replace(self._compared[nights], config=config, expected=expected)

    def _with_rows(self, baseline: Baseline, others: Sequence[Source]) -> Baseline:
        """The baseline with its rows of COMPARISONS, or why there are none; `others` are its nights, if it is one."""
        night = baseline.night or self.tonight
        rows: list[Row] = []
        found: list[Row] = []
        changes: ChangedJudgments | None = None if others else SAME_JUDGMENTS
        for places in self._places(night):
            queries = Queries()
            tonights = self.scores.read(queries, places, self.scores.runs)
            theirs = mean_matrices(others, queries, places, tonights) if others else tonights
            if changes is None:
                changes = self._changes(night, tonights, theirs)
                refused = refused_judgments(self.gate, night, changes)
                if refused:
                    return dataclasses.replace(baseline, refused=refused, changes=changes)
            for place in places:
                sides = self._sides(place, tonights[place], theirs[place], baseline.night, baseline.config.run)
                if changes.changed:
                    only = sides.own.hashes() == sides.baseline.hashes()
                    sides = dataclasses.replace(sides, only=only)
                rows += rows_of(sides, self._options(), self.attributes, self.weights)
                is_first = place == (self.gate.check[0].measure, self.gate.check[0].cutoff)
                for own, other in sides.pairs if is_first and self.changed else ():
                    found += extremes(sides, own, other, self.changed)
        return dataclasses.replace(
            baseline, rows=rows, changes=changes or SAME_JUDGMENTS, most_changed=self._most_changed(found)
        )

    def _changes(
        self, night: Night, tonights: Mapping[Place, ScoreMatrix], theirs: Mapping[Place, ScoreMatrix]
    ) -> ChangedJudgments:
        # The same fingerprint means the same judgments; only if it differs are the queries compared.
        if night.judgments is not None and night.judgments == self.tonight.judgments:
            return SAME_JUDGMENTS
        place = next(iter(tonights))
        return changed_judgments(tonights[place], theirs[place])

    def _sides(
        self, place: Place, own: ScoreMatrix, theirs: ScoreMatrix, night: Night | None, run: str | None = None
    ) -> Sides:
        requested = {run for check in self.gate.check for run in check.runs or self.tonight.runs}
        runs = sorted(requested.intersection(self.tonight.runs, (night or self.tonight).runs) - {run})
        key = {
            "dataset": self.tonight.dataset,
            "evaluated_on": self.scores.evaluated_on,
            "evaluation_id": self.scores.evaluation_id,
            "baseline_night": datetime.date.fromisoformat(night.evaluated_on) if night else None,
            "baseline_nights": night.nights if night else None,
        }
        return Sides(own, theirs, place, key, [(each, run or each) for each in runs])

    def minimums(self) -> dict[tuple[float, Key], Row]:
        """The rows that compare tonight with every `min_value`, as if each query had that score in another night."""
        found: dict[tuple[float, Key], Row] = {}
        checks = [check for check in self.gate.check if check.min_value is not None]
        places = {(check.measure, check.cutoff) for check in checks}
        for some in self._places(self.tonight) if checks else ():
            queries = Queries()
            wanted = [place for place in some if place in places]
            tonights = self.scores.read(queries, wanted, self.scores.runs) if wanted else {}
            for place, own in tonights.items():
                for minimum in {check.min_value or 0.0 for check in checks if (check.measure, check.cutoff) == place}:
                    values = np.where(np.isnan(own.values), np.nan, minimum)
                    theirs = dataclasses.replace(own, values=values)
                    sides = self._sides(place, own, theirs, self.tonight)
                    rows = rows_of(sides, self._options(), self.attributes, self.weights)
                    found |= {(minimum, key_of(row)): row for row in rows}
        return found

    def _places(self, night: Night) -> Iterator[Sequence[Place]]:
        """The places of all checks that both nights have, as many as are read at once.

        Empty if a side has no judged query.
        """
        there = self.tonight.cutoffs & night.cutoffs
        places = dict.fromkeys((check.measure, check.cutoff) for check in self.gate.check if check.cutoff in there)
        if not (places and self.tonight.has_queries and night.has_queries):
            return iter(())
        return together(list(places), max(1, self.scores.size) * max(1, night.nights))

    def _options(self) -> ComparisonOptions:
        gate = self.gate
        limits = {check.max_share_losing.by for check in gate.check if check.max_share_losing}
        return ComparisonOptions(
            alpha=gate.alpha,
            correction=gate.correction,
            losses=(LARGE_LOSS, *sorted(limits - {LARGE_LOSS})),
            min_queries=gate.min_queries,
            precise=True,
        )

    def _most_changed(self, rows: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
        """The run and the id of the queries that changed most."""
        of_runs: dict[str, list[str]] = {}
        for row in sorted(rows, key=lambda row: (-abs(row["difference"]), row["query_id"])):
            of_runs.setdefault(row["run"], []).append(row["query_id"])
        return [(run, query) for run, queries in of_runs.items() for query in queries[: self.changed]]
