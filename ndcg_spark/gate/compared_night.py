"""The COMPARISONS rows of a night against each baseline of its gate.

Comparability is checked before any statistics, because even numbers with different meanings have
a difference.
"""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ndcg_spark.comparison.baselines import ITSELF, Baseline, Kind, NotComparable, resolve
from ndcg_spark.comparison.differences import (
    ComparisonOptions,
    Sides,
    comparison_rows,
    extremes,
)
from ndcg_spark.comparison.matrix import Metric
from ndcg_spark.comparison.sources import (
    ONE,
    NoCopyError,
    ScoreCache,
    alike,
    both_sides,
    compared_numbers,
    not_alike,
    side_names,
)
from ndcg_spark.convention.measures import RUN_COLUMNS, measure_at
from ndcg_spark.errors import InputError, StorageError
from ndcg_spark.gate.settings import CheckConfig, GateConfig
from ndcg_spark.nights.log import Night, Nights
from ndcg_spark.schemas import OLD
from ndcg_spark.tolerance import DECIMALS
from ndcg_spark.voices import OPTIONS

Row = Mapping[str, Any]


class RowKey(NamedTuple):
    """What a COMPARISONS row describes, among the rows against one baseline."""

    run: str
    measure: str
    cutoff: int | None
    attribute: str | None = None
    value: str | None = None
    is_weighted: bool = False
    #: The side of a change of judgments: OLD or NEW.
    side: str | None = None


def row_key(row: Row) -> RowKey:
    return RowKey(
        run=row["run"],
        measure=row["measure"],
        cutoff=row["cutoff"],
        attribute=row["attribute"],
        value=row["value"],
        is_weighted=row["weight_effective_n"] is not None,
        side=row["side"],
    )


@dataclasses.dataclass(frozen=True)
class MetricRows:
    """A night against a baseline by one measure at one cutoff, on one side of a change."""

    rows: Sequence[Row] = ()
    #: Why there are no rows.
    refused: NotComparable | None = None
    #: The runs and ids of the queries that changed most.
    changed: Sequence[tuple[str, str]] = ()


@dataclasses.dataclass(frozen=True)
class ComparedNight:
    """A night against one baseline, by every measure and cutoff of the checks."""

    rows: Mapping[RowKey, Row]
    #: Why there are no rows, by measure and cutoff, and by side if there are two.
    refusals: Mapping[tuple[Metric, str | None], NotComparable]
    changed: Sequence[tuple[str, str]]
    #: By measure and cutoff, only None, or both sides of a change of judgments.
    sides: Mapping[Metric, Sequence[str | None]] = dataclasses.field(default_factory=dict)
    #: By measure and cutoff, the baseline with only the nights in which the measure means the same.
    baselines: Mapping[Metric, Baseline] = dataclasses.field(default_factory=dict)

    def refused(self, metric: Metric, side: str | None) -> NotComparable | None:
        return self.refusals.get((metric, side))

    def sides_of(self, metric: Metric) -> Sequence[str | None]:
        return self.sides.get(metric, ONE)


#: The comparisons by what their baseline stands for.
Comparisons = Mapping[Any, ComparedNight]


def resolve_baselines(
    gate: GateConfig, tonight: Night, nights: Nights, scores: ScoreCache
) -> list[Baseline]:
    """The first step of a verdict: what each baseline of the gate stands for."""
    resolved = []
    for name in gate.all_baselines:
        try:
            resolved.extend(_resolved(name, gate, tonight, nights, scores))
        except StorageError:
            # The runs of a night cannot be read; the comparison with it will say so.
            resolved.extend(resolve(name, tonight, nights, most=gate.nights))
    return resolved


def _resolved(
    name: str, gate: GateConfig, tonight: Night, nights: Nights, scores: ScoreCache
) -> list[Baseline]:
    return resolve(
        name,
        tonight,
        nights,
        most=gate.nights,
        runs=scores.source(tonight).runs,
        runs_of=lambda night: scores.source(night).runs,
    )


def compare_night(
    gate: GateConfig,
    tonight: Night,
    against: Iterable[Baseline],
    scores: ScoreCache,
    options: ComparisonOptions,
) -> dict[Any, ComparedNight]:
    """The second step of a verdict: the night against each baseline, and by itself for `min_value`.

    The key is what a baseline stands for, because baselines for the same nights share their rows.
    Baselines that each run reaches by its own chain are compared by `against_reference`.
    """
    compared: dict[Any, ComparedNight] = {}
    for baseline in [*against, ITSELF]:
        if baseline.stands_for not in compared and not baseline.is_reference:
            beside = _beside(gate, tonight, baseline, scores, options)
            compared[baseline.stands_for] = beside
    return compared


def _beside(
    gate: GateConfig,
    tonight: Night,
    baseline: Baseline,
    scores: ScoreCache,
    options: ComparisonOptions,
) -> ComparedNight:
    checks = [check for _, check in gate.checks(tonight.dataset)]
    needed = [check for check in checks if _needs(gate, check, baseline)]
    rows: dict[RowKey, Row] = {}
    refusals: dict[tuple[Metric, str | None], NotComparable] = {}
    changed: list[tuple[str, str]] = []
    if baseline.refused:
        needed = []
    by_metric: dict[Metric, Baseline] = {}
    sides: dict[Metric, Sequence[str | None]] = {}
    first = _first_metric(checks)
    for metric in dict.fromkeys(check.metric for check in needed):
        by_metric[metric] = alike(baseline, tonight, metric)
        sides[metric] = side_names(baseline, tonight, metric)
        own = dataclasses.replace(options, queries=options.queries if metric == first else 0)
        runs = _checked_runs(needed, metric, scores.source(tonight).runs)
        for side in sides[metric]:
            beside = _by_metric(tonight, by_metric[metric], metric, side, runs, scores, own)
            if beside.refused:
                refusals[metric, side] = beside.refused
            rows |= {row_key(row): row for row in beside.rows}
            if side != OLD:
                changed.extend(beside.changed)
    return ComparedNight(rows, refusals, changed, sides, by_metric)


def _first_metric(checks: Sequence[CheckConfig]) -> Metric | None:
    """The metric that selects the queries whose documents are kept: that of the first check, if
    possible of one with judgments.
    """
    of_queries = [check for check in checks if not check.is_of_run]
    of_queries.sort(key=lambda check: check.is_of_catalog)
    return of_queries[0].metric if of_queries else None


def _needs(gate: GateConfig, check: CheckConfig, baseline: Baseline) -> bool:
    if baseline.kind is Kind.ITSELF:
        return check.needs_means
    return check.limits_change and baseline.name in gate.baselines_of(check)


def _checked_runs(checks: Iterable[CheckConfig], metric: Metric, runs: Iterable[str]) -> set[str]:
    checked: set[str] = set()
    for check in checks:
        if check.metric == metric:
            checked.update(check.runs or runs)
    return checked


def _by_metric(
    tonight: Night,
    baseline: Baseline,
    metric: Metric,
    side: str | None,
    runs: set[str],
    scores: ScoreCache,
    options: ComparisonOptions,
) -> MetricRows:
    try:
        refused = _metric_is_absent(tonight, baseline, metric, scores)
        if refused:
            return MetricRows(refused=refused)
        own_runs = runs if baseline.runs is None else runs.intersection(baseline.runs)
        if metric[0] in RUN_COLUMNS:
            rows = compared_numbers(baseline, tonight, metric, scores)
            return MetricRows([row for row in rows if row["run"] in own_runs])
        sides = both_sides(baseline, tonight, metric, scores, side)
    except NoCopyError as error:
        changed = f"the judgments have changed since {baseline.newest}"
        sentence = f"{changed}, and {error.worded(OPTIONS)}"
        refused = NotComparable("other_judgments", sentence, (baseline.newest,))
        return MetricRows(refused=refused)
    except InputError as error:
        refused = NotComparable("not_measured", error.worded(OPTIONS), (baseline.name,))
        return MetricRows(refused=refused)
    except StorageError as error:
        refused = NotComparable("no_baseline", error.worded(OPTIONS), (baseline.name,))
        return MetricRows(refused=refused)
    pairs = [pair for pair in sides.pairs if pair[0] in own_runs]
    sides = dataclasses.replace(sides, pairs=pairs).with_judgments_alike()
    return MetricRows(comparison_rows(sides, options), None, _most_changed(sides, options))


def _metric_is_absent(
    tonight: Night,
    baseline: Baseline,
    metric: Metric,
    scores: ScoreCache,
) -> NotComparable | None:
    """Why there is nothing to compare for a metric: tonight or all of the nights lack it, or it
    means the same in none of them.
    """
    there = [night for night in baseline.nights if metric in scores.source(night).metrics]
    if metric not in scores.source(tonight).metrics:
        where = "this night"
        about: tuple[Any, ...] = (metric,)
    elif baseline.nights and not there:
        where = baseline.in_words
        about = (metric, baseline.name)
    else:
        return not_alike(tonight, there, metric)
    sentence = f"{measure_at(*metric)} was not evaluated in {where}"
    return NotComparable("other_cutoff", sentence, about)


def _most_changed(sides: Sides, options: ComparisonOptions) -> list[tuple[str, str]]:
    """The queries that changed most, each with the run and, within a night, its baseline."""
    changed: list[tuple[str, str]] = []
    if not options.queries:
        return changed
    for run, baseline in sides.pairs:
        most = extremes(sides, run, baseline, options.queries)
        most.sort(key=lambda row: -abs(round(row["difference"], DECIMALS)))
        for row in most[: options.queries]:
            changed.extend((name, row["query_id"]) for name in dict.fromkeys((run, baseline)))
    return changed
