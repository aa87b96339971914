"""What a report shows of a night: its scores side by side, query by query, and what they are compared with."""

import dataclasses
from collections.abc import Mapping, Sequence
from math import isnan, nan
from typing import Any

from ndcg_spark.comparison.statistics import paired_t
from ndcg_spark.comparison.trend_data import TrendLine, TrendRequest, lines, verdict_of
from ndcg_spark.convention.measures import MeasureSet, written
from ndcg_spark.convention.parsing import measure_set_in
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.nights.read import NightRows, dataset_scores
from ndcg_spark.nights.records import CommittedNight
from ndcg_spark.report.baseline import NightComparison, Row, status_pairs
from ndcg_spark.report.query_details import QueryDetails, RunOfNight, with_documents
from ndcg_spark.tables.sorting import sort_value, sorted_runs
from ndcg_spark.text import did_you_mean

#: Number of queries shown of those that lost most, and of those that won most.
EXTREMES = 20
#: Smaller differences are ties.
TIE = 1e-9
#: With more runs, the trend of a report shows the best.
_TREND_RUNS = 8


@dataclasses.dataclass(frozen=True)
class NightData:
    """Everything that a report says of one night of one dataset."""

    night: CommittedNight
    #: The measures that were measure_set for, whose headline orders the runs; and the cutoff of everything about NDCG.
    measure_set: MeasureSet
    cutoff: int | None
    #: The rows of DATASET_SCORES, by run, best first, and cutoff.
    runs: Sequence[Sequence[Row]]
    #: Of these the row of each run at the cutoff, with the ends of its 95 % interval of t, `low` and `high`.
    means: Sequence[Row]
    run: str
    comparison: NightComparison | None
    #: The rows of COMPARISONS of every run's NDCG at the cutoff, on all queries.
    compared: Mapping[str, Row]
    #: All queries of the run, the largest loss first; without a baseline the lowest score first.
    queries: Sequence[QueryDetails]
    #: The queries that are shown with their documents: the first and the last EXTREMES of `queries`.
    worst: Sequence[QueryDetails]
    best: Sequence[QueryDetails]
    #: Of the run: baseline_status, status, queries and perhaps change, as the transitions of `Comparison`.
    transitions: Sequence[Row]
    #: The row of DATASET_SCORES of the baseline of the run.
    baseline_row: Row | None
    trend: Sequence[TrendLine]

    @property
    def verdict(self) -> str | None:
        """The verdict of the gate; None without one."""
        return verdict_of(self.night)

    @property
    def measure(self) -> str:
        """NDCG at the cutoff."""
        return written("ndcg", self.cutoff)

    @property
    def against(self) -> str | None:
        """What the run is compared with, in words, whether its scores are still there or not."""
        found = self.comparison
        return found.baseline_of(self.run) if found and not found.is_baseline(self.run) else None

    @property
    def baseline(self) -> str | None:
        """What the run is compared with, in words, if its scores are there."""
        return self.comparison.baseline_of(self.run) if self.comparison and self.comparison.night else None


def night_data(output: str, night: CommittedNight, run: str | None, comparison: NightComparison | None) -> NightData:
    """What a report shows of a night: of `run`, by default one that fails, else the best that is not the baseline.

    Raises
    ------
    ConfigurationError
        There is no such run.
    StorageError
        The output cannot be read.
    """
    (rows,) = dataset_scores([night])
    measure_set = measure_set_in(night.record.get("configuration") or {})
    cutoffs = {row["cutoff"] for row in rows}
    cutoff = measure_set.main_cutoff(
        "ndcg", cutoffs.intersection(comparison.cutoffs if comparison else cutoffs) or cutoffs
    )
    by_run = {of_run[0]["run"]: of_run for of_run in sorted_runs(rows, measure_set=measure_set)}
    order = list(by_run)
    if run is not None and run not in by_run:
        near = did_you_mean(run, by_run)
        raise ConfigurationError(f"run: no run is called {run!r}{near}; there are {len(by_run)}, e.g. {order[0]!r}")
    compared = comparison.by_run(cutoff) if comparison else {}
    chosen = run or _chosen(night, order, compared)
    own = RunOfNight(night, NightRows(night), chosen, cutoff)
    scores, theirs, baseline_row, other = own.tables.scores_at(cutoff, chosen), {}, None, None
    if comparison and comparison.night:
        other = RunOfNight(comparison.night, NightRows(comparison.night), comparison.run or chosen, cutoff)
        theirs = other.tables.scores_at(cutoff, other.run)
        (baseline_rows,) = [rows] if comparison.date is None else dataset_scores([comparison.night])
        baseline_row = next((r for r in baseline_rows if (r["run"], r["cutoff"]) == (other.run, cutoff)), None)
    queries = _queries(scores, theirs, other is not None)
    worst, best = queries[:EXTREMES], queries[::-1][:EXTREMES]
    if other is not None:
        worst = [each for each in worst if (each.difference or 0.0) < -TIE]
        best = [each for each in best if (each.difference or 0.0) > TIE]
    detailed = with_documents(own, other, list({each.query_id: each for each in [*worst, *best]}.values()))
    baseline_run = [comparison.run] if comparison and comparison.run else []
    return NightData(
        night=night,
        measure_set=measure_set,
        cutoff=cutoff,
        runs=list(by_run.values()),
        means=_with_intervals([row for of_run in by_run.values() for row in of_run if row["cutoff"] == cutoff]),
        run=chosen,
        comparison=comparison,
        compared=compared,
        queries=queries,
        worst=[detailed[each.query_id] for each in worst],
        best=[detailed[each.query_id] for each in best],
        transitions=_transitions(comparison, chosen, cutoff, scores, theirs),
        baseline_row=baseline_row,
        trend=_trend(output, night, cutoff, [chosen, *baseline_run, *order]),
    )


def _chosen(night: CommittedNight, order: Sequence[str], compared: Mapping[str, Row]) -> str:
    """The run that is shown in detail if none is named."""
    findings = (night.record.get("verdict") or {}).get("findings", [])
    failing = [each["run"] for each in findings if each["effect"] == "fail" and each["run"] in compared]
    return next((name for name in [*failing, *order] if name in compared), order[0])


def _with_intervals(rows: Sequence[Row]) -> list[Row]:
    """The rows with the ends of the 95 % interval of the mean, None where there are too few values."""
    mean, deviation = ([nan if r[name] is None else r[name] for r in rows] for name in ("ndcg", "ndcg_stddev"))
    found = paired_t([row["queries"] for row in rows], mean, deviation)
    ends = zip(found.interval_low, found.interval_high, strict=True)
    both = [[None if isnan(end) else float(end) for end in each] for each in ends]
    return [{**row, "low": low, "high": high} for row, (low, high) in zip(rows, both, strict=True)]


def _queries(scores: Mapping[str, Any], other: Mapping[str, Any], has_baseline: bool) -> list[QueryDetails]:
    found = [QueryDetails(q, ndcg, other.get(q, (None, None))[1]) for q, (_, ndcg) in scores.items()]
    value = "difference" if has_baseline else "ndcg"
    known = [each for each in found if getattr(each, value) is not None]
    return sorted(known, key=lambda each: (sort_value(getattr(each, value)), each.query_id))


def _transitions(
    found: NightComparison | None, run: str, cutoff: int | None, scores: Mapping[str, Any], theirs: Mapping[str, Any]
) -> Sequence[Row]:
    if found is None or found.is_baseline(run):
        return []
    if found.transitions is None:
        return status_pairs(scores, theirs) if found.night else []
    return [row for row in found.transitions if (row["run"], row["cutoff"]) == (run, cutoff)]


def _trend(output: str, night: CommittedNight, cutoff: int | None, runs: Sequence[str]) -> list[TrendLine]:
    """The trends of the NDCG of the first of these runs, up to the night."""
    shown = list(dict.fromkeys(runs))[:_TREND_RUNS]
    found = lines(output, TrendRequest(dataset=night.dataset, runs=shown, measures=written("ndcg", cutoff)))
    cut = []
    for line in found:
        until = sum(point.date <= night.evaluated_on for point in line.points)
        parts = (line.points[:until], line.queries[:until], line.verdicts[:until])
        cut.append(dataclasses.replace(line, points=parts[0], queries=parts[1], verdicts=parts[2]))
    return [line for line in cut if line.points]
