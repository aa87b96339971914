"""The rows of COMPARISONS of a night beside each baseline of its gate.

Comparability is checked before any statistics, because numbers with different meanings have a
difference too.
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
from ndcg_spark.comparison.sources import ScoreCache, both_sides
from ndcg_spark.convention.measures import measure_at
from ndcg_spark.errors import InputError, StorageError
from ndcg_spark.gate.settings import CheckConfig, GateConfig
from ndcg_spark.nights.log import Night, Nights
from ndcg_spark.tolerance import DECIMALS
from ndcg_spark.voices import OPTIONS

Row = Mapping[str, Any]


class RowKey(NamedTuple):
    """What a row of COMPARISONS describes, of those beside one baseline."""

    run: str
    measure: str
    cutoff: int | None
    attribute: str | None = None
    value: str | None = None
    is_weighted: bool = False


def row_key(row: Row) -> RowKey:
    return RowKey(
        run=row["run"],
        measure=row["measure"],
        cutoff=row["cutoff"],
        attribute=row["attribute"],
        value=row["value"],
        is_weighted=row["weight_effective_n"] is not None,
    )


@dataclasses.dataclass(frozen=True)
class MetricRows:
    """A night beside a baseline by one measure at one cutoff."""

    rows: Sequence[Row] = ()
    #: Why there are none.
    refused: NotComparable | None = None
    #: How many queries are left out because their judgments have changed: a sentence.
    note: str | None = None
    #: The run and the id of the queries that changed most.
    changed: Sequence[tuple[str, str]] = ()


@dataclasses.dataclass(frozen=True)
class ComparedNight:
    """A night beside one baseline, by every measure and cutoff of the checks."""

    rows: Mapping[RowKey, Row]
    refusals: Mapping[Metric, NotComparable]
    note: str | None
    changed: Sequence[tuple[str, str]]


#: By what a baseline stands for.
Comparisons = Mapping[Any, ComparedNight]


def resolve_baselines(gate: GateConfig, tonight: Night, nights: Nights) -> list[Baseline]:
    """The first step of a verdict: what each baseline of the gate stands for."""
    resolved = []
    for name in gate.baseline:
        any_judgments = gate.unchanged_queries
        baseline = resolve(name, tonight, nights, most=gate.nights, any_judgments=any_judgments)
        resolved.append(baseline)
    return resolved


def compare_night(
    gate: GateConfig,
    tonight: Night,
    against: Iterable[Baseline],
    scores: ScoreCache,
    options: ComparisonOptions,
) -> dict[Any, ComparedNight]:
    """The second step of a verdict: the night beside each baseline, and by itself, for `min_value`.

    They are by what baselines stand for, as two that stand for the same nights share their rows.
    """
    compared: dict[Any, ComparedNight] = {}
    for baseline in [*against, ITSELF]:
        if baseline.stands_for not in compared:
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
    needed = [check for check in checks if _needs(check, baseline)]
    rows: dict[RowKey, Row] = {}
    refusals: dict[Metric, NotComparable] = {}
    note = None
    changed: list[tuple[str, str]] = []
    if baseline.refused:
        needed = []
    for metric in dict.fromkeys(check.metric for check in needed):
        # Documents are kept of what changed most by the first check.
        many = options.queries if metric == checks[0].metric else 0
        own = dataclasses.replace(options, queries=many)
        runs = _checked_runs(needed, metric, scores.source(tonight).runs)
        beside = _by_metric(gate, tonight, baseline, metric, runs, scores, own)
        if beside.refused:
            refusals[metric] = beside.refused
        rows |= {row_key(row): row for row in beside.rows}
        note = beside.note or note
        changed.extend(beside.changed)
    return ComparedNight(rows, refusals, note, changed)


def _needs(check: CheckConfig, baseline: Baseline) -> bool:
    return check.needs_means if baseline.kind is Kind.ITSELF else check.limits_drop


def _checked_runs(checks: Iterable[CheckConfig], metric: Metric, runs: Iterable[str]) -> set[str]:
    checked: set[str] = set()
    for check in checks:
        if check.metric == metric:
            checked.update(check.runs or runs)
    return checked


def _by_metric(
    gate: GateConfig,
    tonight: Night,
    baseline: Baseline,
    metric: Metric,
    runs: set[str],
    scores: ScoreCache,
    options: ComparisonOptions,
) -> MetricRows:
    try:
        refused = _metric_is_absent(tonight, baseline, metric, scores)
        if refused:
            return MetricRows(refused=refused)
        sides = both_sides(baseline, tonight, metric, scores)
    except InputError as error:
        refused = NotComparable("not_measured", error.worded(OPTIONS), (baseline.name,))
        return MetricRows(refused=refused)
    except StorageError as error:
        refused = NotComparable("no_baseline", error.worded(OPTIONS), (baseline.name,))
        return MetricRows(refused=refused)
    pairs = [pair for pair in sides.pairs if pair[0] in runs]
    sides = dataclasses.replace(sides, pairs=pairs)
    # What is newly judged has no score to compare with.
    other = sides.rejudged | sides.newly_judged
    note = None
    if other.any():
        judged = int((sides.own.hashes() != 0).sum())
        share = _share_of_other(sides, judged, baseline)
        if other.sum() == judged or not gate.unchanged_queries:
            refused = NotComparable("other_judgments", share, (baseline.newest,))
            return MetricRows(refused=refused)
        note = f"{share}; all {int(other.sum()):,} are left out"
    sides = sides.with_judgments_alike()
    return MetricRows(comparison_rows(sides, options), None, note, _most_changed(sides, options))


def _metric_is_absent(
    tonight: Night,
    baseline: Baseline,
    metric: Metric,
    scores: ScoreCache,
) -> NotComparable | None:
    """Why there is nothing to compare at a metric: tonight or all of the nights lack it."""
    there = [night for night in baseline.nights if metric in scores.source(night).metrics]
    if metric not in scores.source(tonight).metrics:
        where = "this night"
        about: tuple[Any, ...] = (metric,)
    elif baseline.nights and not there:
        where = baseline.in_words
        about = (metric, baseline.name)
    else:
        return None
    sentence = f"{measure_at(*metric)} was not evaluated in {where}"
    return NotComparable("other_cutoff", sentence, about)


def _share_of_other(sides: Sides, judged: int, baseline: Baseline) -> str:
    new = int(sides.newly_judged.sum())
    other = int(sides.rejudged.sum()) + new
    on = baseline.newest
    share = f"{other:,} of {judged:,} queries have other judgments than on {on}"
    return f"{share}, where {new:,} had none" if new else share


def _most_changed(sides: Sides, options: ComparisonOptions) -> list[tuple[str, str]]:
    """The queries that changed most, each with the run and, in the same night, its baseline."""
    changed: list[tuple[str, str]] = []
    if not options.queries:
        return changed
    for run, baseline in sides.pairs:
        most = extremes(sides, run, baseline, options.queries)
        most.sort(key=lambda row: -abs(round(row["difference"], DECIMALS)))
        for row in most[: options.queries]:
            changed.extend((name, row["query_id"]) for name in dict.fromkeys((run, baseline)))
    return changed
