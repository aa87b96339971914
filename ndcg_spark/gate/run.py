"""Run the gate on a night: look up its baselines among the published nights, compare it with them, and decide."""

import dataclasses
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ndcg_spark.comparison.comparability import SAME_JUDGMENTS, changed_judgments, unchanged_queries
from ndcg_spark.comparison.compare import Comparison, compare_tables
from ndcg_spark.comparison.options import ComparisonOptions
from ndcg_spark.convention.cutoffs import ascending
from ndcg_spark.errors import StorageError
from ndcg_spark.gate.baseline import Baseline, Key, Night, key_of, refused_baseline, refused_judgments
from ndcg_spark.gate.config import BaselineConfig, CheckConfig, GateConfig
from ndcg_spark.gate.decision import decide, decide_absent
from ndcg_spark.gate.history import History
from ndcg_spark.gate.rules import LARGE_LOSS, Row
from ndcg_spark.gate.verdict import Verdict
from ndcg_spark.nights.log import ReplacedError


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
    scores: DataFrame,
    history: History,
    attributes: DataFrame | None = None,
    weights: DataFrame | None = None,
    accepted: str | None = None,
    changed: int = 0,
) -> GateResult:
    """The verdict on a night whose QUERY_SCORES are `scores`. Runs Spark jobs.

    `changed` is how many of the queries that changed most are named for each run.

    Raises
    ------
    InputError
        The attributes or the weights break their contract.
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
    scores: DataFrame
    history: History
    attributes: DataFrame | None
    weights: DataFrame | None
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
            return found if found.refused else self._with_rows(found, self.scores, None)
        night = history.find(config, tonight.dataset, tonight.evaluated_on)
        expected = history.expected(tonight.dataset, tonight.evaluated_on)
        refused = refused_baseline(config, tonight, night, history.unreadable)
        if refused or night is None:
            return Baseline(config, night, refused, expected=expected)
        nights = (night.evaluated_on, night.nights)
        if nights not in self._compared:
            with history.read_whole(night):
                self._compared[nights] = self._with_night(config, night)
        return dataclasses.replace(self._compared[nights], config=config, expected=expected)

    def _with_night(self, config: BaselineConfig, night: Night) -> Baseline:
        ours, theirs = self.scores, self.history.scores(night)
        changes = SAME_JUDGMENTS
        # The same fingerprint means the same judgments; only if it differs are the queries compared.
        if night.judgments is None or night.judgments != self.tonight.judgments:
            changes = changed_judgments(ours, theirs)
        baseline = Baseline(config, night, refused_judgments(self.gate, night, changes), changes=changes)
        if baseline.refused:
            return baseline
        if changes.changed:
            queries = unchanged_queries(ours, theirs)
            ours, theirs = (side.join(queries, on=["query_id"], how="left_semi") for side in (ours, theirs))
        return self._with_rows(baseline, ours, theirs)

    def _with_rows(self, baseline: Baseline, ours: DataFrame, theirs: DataFrame | None) -> Baseline:
        """The baseline with its rows of COMPARISONS."""
        night, run = baseline.night or self.tonight, baseline.config.run
        found = self._rows(self.gate.check, ours, theirs, night, run, self.changed)
        return dataclasses.replace(
            baseline,
            rows=found.rows,
            losses=found.losses,
            warnings=found.warnings,
            most_changed=self._most_changed(found.queries),
        )

    def minimums(self) -> dict[tuple[float, Key], Row]:
        """The rows that compare tonight with every `min_value`, as if each query had that score in another night."""
        found: dict[tuple[float, Key], Row] = {}
        if not self.tonight.has_queries:
            return found
        for minimum in dict.fromkeys(check.min_value for check in self.gate.check if check.min_value is not None):
            checks = [check for check in self.gate.check if check.min_value == minimum]
            measures = {check.measure for check in checks}
            scores = {name: F.when(F.col(name).isNotNull(), F.lit(minimum)) for name in measures}
            rows = self._rows(checks, self.scores, self.scores.withColumns(scores), self.tonight).rows
            found |= {(minimum, key_of(row)): row for row in rows}
        return found

    def _rows(
        self,
        checks: Sequence[CheckConfig],
        ours: DataFrame,
        theirs: DataFrame | None,
        night: Night,
        baseline_run: str | None = None,
        changed: int = 0,
    ) -> Comparison:
        """The rows of COMPARISONS that some checks need.

        Empty if a side has no judged query, or if the two have no run or no cutoff in common.
        """
        gate, tonight = self.gate, self.tonight
        requested = {run for check in checks for run in check.runs or tonight.runs}
        runs = sorted(requested.intersection(tonight.runs, night.runs) - {baseline_run})
        there = {check.cutoff for check in checks} & tonight.cutoffs & night.cutoffs
        if not runs or not there or not (tonight.has_queries and night.has_queries):
            return Comparison([], [], [], [])
        limits = {check.max_share_losing.by for check in checks if check.max_share_losing}
        options = ComparisonOptions(
            dict.fromkeys((check.measure for check in checks), ascending(there)),
            alpha=gate.alpha,
            correction=gate.correction,
            test=gate.test,
            losses=(LARGE_LOSS, *sorted(limits - {LARGE_LOSS})),
            min_queries=gate.min_queries,
            seed=gate.seed,
        )
        tables = {"attributes": self.attributes, "weights": self.weights}
        baseline_runs = [] if baseline_run is None else [baseline_run]
        return compare_tables(ours, theirs, baseline_runs, options, runs=runs, queries=changed, **tables)

    def _most_changed(self, rows: Sequence[Mapping[str, Any]]) -> list[tuple[str, str]]:
        """The run and the id of the queries that changed most by the measure of the first check, at its cutoff."""
        of_runs: dict[str, list[str]] = {}
        for row in sorted(rows, key=lambda row: (-abs(row["difference"]), row["query_id"])):
            if (row["measure"], row["cutoff"]) == (self.gate.check[0].measure, self.gate.check[0].cutoff):
                of_runs.setdefault(row["run"], []).append(row["query_id"])
        return [(run, query) for run, queries in of_runs.items() for query in queries[: self.changed]]
