"""A night's COMPARISONS rows against each of its gate's baselines.

Comparability is checked before any statistics are computed, because even numbers with different
meanings have a difference.
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
from ndcg_spark.comparison.matrix import Metric, no_query_in_both
from ndcg_spark.comparison.sources import (
    ONE,
    NoCopyError,
    ScoreCache,
    both_sides,
    compared_numbers,
    side_names,
    why_not_comparable,
    with_comparable_nights,
)
from ndcg_spark.convention.measures import RUN_COLUMNS, measure_at
from ndcg_spark.errors import InputError, StorageError
from ndcg_spark.gate.gate_inputs import GateInputs
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
    """The key of a COMPARISONS row."""
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
    #: The queries that changed most, by run and id.
    changed: Sequence[tuple[str, str]] = ()


@dataclasses.dataclass(frozen=True)
class ComparedNight:
    """A night against one baseline, by every measure and cutoff of the checks."""

    rows: Mapping[RowKey, Row]
    #: Why there are no rows, by measure and cutoff, and by side if there are two.
    refusals: Mapping[tuple[Metric, str | None], NotComparable]
    changed: Sequence[tuple[str, str]]
    #: By measure and cutoff: both sides of a change of judgments, or only None without a change.
    sides: Mapping[Metric, Sequence[str | None]] = dataclasses.field(default_factory=dict)
    #: By measure and cutoff, the baseline with only the nights whose values are comparable.
    baselines: Mapping[Metric, Baseline] = dataclasses.field(default_factory=dict)

    def sides_of(self, metric: Metric) -> Sequence[str | None]:
        return self.sides.get(metric, ONE)


#: The comparisons, by the `stands_for` of their baseline.
Comparisons = Mapping[Any, ComparedNight]


def resolve_baselines(
    gate: GateConfig, tonight: Night, nights: Nights, scores: ScoreCache
) -> list[Baseline]:
    """A verdict's first step: what each baseline of the gate stands for."""
    resolved = []
    most, runs_of = gate.nights, scores.runs_of
    for name in gate.all_baselines:
        try:
            runs = runs_of(tonight)
            resolved.extend(resolve(name, tonight, nights, most=most, runs=runs, runs_of=runs_of))
        except StorageError:
            # If a night's runs cannot be read, the comparison with it reports that.
            resolved.extend(resolve(name, tonight, nights, most=most))
    return resolved


def compare_night(inputs: GateInputs, baselines: Iterable[Baseline]) -> dict[Any, ComparedNight]:
    """A verdict's second step: the night against each baseline, and by itself for `min_value`.

    The key is the `stands_for` of a baseline, because baselines for the same nights share their
    rows. `against_reference` compares with the baselines for which each run has its own nights.
    """
    compared: dict[Any, ComparedNight] = {}
    for baseline in [*baselines, ITSELF]:
        if baseline.stands_for not in compared and not baseline.is_reference:
            compared[baseline.stands_for] = _compared_with(inputs, baseline)
    return compared


def _compared_with(inputs: GateInputs, baseline: Baseline) -> ComparedNight:
    """The night against one baseline, by the measure and cutoff of each check that needs it."""
    tonight, scores, options = inputs.tonight, inputs.scores, inputs.options
    checks = [check for _, check in inputs.checks]
    needed = [check for check in checks if _needs(inputs.gate, check, baseline)]
    if baseline.refused:
        needed = []
    rows: dict[RowKey, Row] = {}
    refusals: dict[tuple[Metric, str | None], NotComparable] = {}
    changed: list[tuple[str, str]] = []
    baselines: dict[Metric, Baseline] = {}
    sides: dict[Metric, Sequence[str | None]] = {}
    metric_of_queries = _metric_of_kept_queries(checks)
    for metric in dict.fromkeys(check.metric for check in needed):
        baselines[metric] = with_comparable_nights(baseline, tonight, metric)
        sides[metric] = side_names(baseline, tonight, metric)
        queries = options.queries if metric == metric_of_queries else 0
        runs = _checked_runs(needed, metric, inputs.runs)
        comparison = _Comparison(
            tonight,
            baselines[metric],
            metric,
            runs,
            scores,
            dataclasses.replace(options, queries=queries),
        )
        for side in sides[metric]:
            found = _rows_of_side(comparison, side)
            if found.refused:
                refusals[metric, side] = found.refused
            rows |= {row_key(row): row for row in found.rows}
            if side != OLD:
                changed.extend(found.changed)
    return ComparedNight(rows, refusals, changed, sides, baselines)


def _metric_of_kept_queries(checks: Sequence[CheckConfig]) -> Metric | None:
    """The metric that selects the queries whose documents are kept.

    It comes from the first check of a measure of relevance or, if there is none, from the first
    check of a catalog measure that each query has.
    """
    of_queries = [check for check in checks if not check.is_of_run]
    of_relevance = [check for check in of_queries if not check.is_of_catalog]
    preferred = of_relevance or of_queries
    return preferred[0].metric if preferred else None


def _needs(gate: GateConfig, check: CheckConfig, baseline: Baseline) -> bool:
    if baseline.kind is Kind.ITSELF:
        return check.needs_means
    return check.limits_change and baseline.name in gate.baselines_of(check)


def _checked_runs(checks: Iterable[CheckConfig], metric: Metric, runs: Iterable[str]) -> set[str]:
    """The runs that these checks cover for a metric, out of all runs of the night."""
    checked: set[str] = set()
    for check in checks:
        if check.metric == metric:
            checked.update(check.runs or runs)
    return checked


@dataclasses.dataclass(frozen=True)
class _Comparison:
    """A night to compare with a baseline by one measure at one cutoff."""

    tonight: Night
    baseline: Baseline
    metric: Metric
    #: The runs that a check covers.
    runs: set[str]
    scores: ScoreCache
    options: ComparisonOptions


def _rows_of_side(comparison: _Comparison, side: str | None) -> MetricRows:
    """A comparison's rows, or why there are none."""
    tonight, baseline = comparison.tonight, comparison.baseline
    metric, scores = comparison.metric, comparison.scores
    runs = comparison.runs
    if baseline.runs is not None:
        runs = runs.intersection(baseline.runs)
    try:
        refused = _metric_is_absent(tonight, baseline, metric, scores)
        if refused:
            return MetricRows(refused=refused)
        measure, _ = metric
        if measure in RUN_COLUMNS:
            rows = compared_numbers(baseline, tonight, metric, scores)
            return MetricRows([row for row in rows if row["run"] in runs])
        sides = both_sides(baseline, tonight, metric, scores, side)
    except (InputError, StorageError) as error:
        return MetricRows(refused=_unreadable(baseline, error))
    if side is not None and not sides.own.is_judged_with(sides.baseline):
        return MetricRows(refused=_no_query_in_both(comparison))
    pairs = [(run, baseline_run) for run, baseline_run in sides.pairs if run in runs]
    sides = dataclasses.replace(sides, pairs=pairs).with_same_judgments()
    changed = _most_changed(sides, comparison.options)
    return MetricRows(comparison_rows(sides, comparison.options), None, changed)


def _no_query_in_both(comparison: _Comparison) -> NotComparable:
    """Why nothing can be compared with nights that judge different queries."""
    # Read again, because the copy of a night has only the queries that both sets judge.
    own = comparison.scores.matrix(comparison.tonight, comparison.metric)
    theirs = comparison.scores.matrix(comparison.baseline.nights[-1], comparison.metric)
    sentence = f"{no_query_in_both(own, theirs)}; if the ids were renamed, accept the night"
    return NotComparable("few_queries", sentence, ("judgments",))


def _unreadable(baseline: Baseline, error: InputError | StorageError) -> NotComparable:
    """Why a comparison's scores cannot be read."""
    why = error.worded(OPTIONS)
    if isinstance(error, NoCopyError):
        sentence = f"the judgments have changed since {baseline.newest}, and {why}"
        return NotComparable("other_judgments", sentence, (baseline.newest,))
    code = "not_measured" if isinstance(error, InputError) else "no_baseline"
    return NotComparable(code, why, (baseline.name,))


def _metric_is_absent(
    tonight: Night,
    baseline: Baseline,
    metric: Metric,
    scores: ScoreCache,
) -> NotComparable | None:
    """Why there is nothing to compare for a metric; None if there is.

    Tonight or all of the baseline's nights may lack it, or it may have a different meaning in each
    of them.
    """
    not_evaluated = f"{measure_at(*metric)} was not evaluated in"
    if metric not in scores.source(tonight).metrics:
        return NotComparable("other_cutoff", f"{not_evaluated} this night", (metric,))
    nights = [night for night in baseline.nights if metric in scores.source(night).metrics]
    if baseline.nights and not nights:
        about = (metric, baseline.name)
        return NotComparable("other_cutoff", f"{not_evaluated} {baseline.in_words}", about)
    return why_not_comparable(tonight, nights, metric)


def _most_changed(sides: Sides, options: ComparisonOptions) -> list[tuple[str, str]]:
    """The queries that changed most: (run, query id).

    If a run is compared with another run of the same night, its query is listed for both runs.
    """
    changed: list[tuple[str, str]] = []
    if not options.queries:
        return changed
    for run, baseline in sides.pairs:
        most = extremes(sides, run, baseline, options.queries)
        most.sort(key=_size_of_change, reverse=True)
        for row in most[: options.queries]:
            for name in dict.fromkeys((run, baseline)):
                changed.append((name, row["query_id"]))
    return changed


def _size_of_change(row: Row) -> float:
    difference: float = row["difference"]
    return abs(round(difference, DECIMALS))
