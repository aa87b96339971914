"""What a report shows of a night: its scores side by side, query by query, and what they are held against."""

import dataclasses
from collections.abc import Mapping, Sequence
from math import isnan, nan
from typing import Any

from ndcg_spark.comparison.statistics import paired_t
from ndcg_spark.comparison.trend_data import TrendLine as Line
from ndcg_spark.comparison.trend_data import TrendRequest as Wanted
from ndcg_spark.comparison.trend_data import lines, verdict_of
from ndcg_spark.convention.measures import Asked, written
from ndcg_spark.convention.requests import asked_in
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.job.night_rows import NightRows
from ndcg_spark.nights.read import dataset_scores
from ndcg_spark.nights.records import CommittedNight
from ndcg_spark.plain import did_you_mean
from ndcg_spark.report.against import Held, counted
from ndcg_spark.report.opened import Query, Side, explained
from ndcg_spark.sheets.sorting import comparable, in_order

Row = Mapping[str, Any]
#: So many queries are shown of those that lost most, and of those that won most.
EXTREMES = 20
#: Smaller differences are ties.
TIE = 1e-9
#: Of a report with more runs, the trend shows the best ones.
_TREND_RUNS = 8


@dataclasses.dataclass(frozen=True)
class Mean:
    """A mean with its 95 % interval of t, None where there are too few values to tell."""

    mean: float | None
    low: float | None
    high: float | None


@dataclasses.dataclass(frozen=True)
class NightData:
    """Everything that a report says of one night of one dataset."""

    night: CommittedNight
    #: What was asked for, whose headline orders the runs; and the cutoff at which NDCG is looked at.
    asked: Asked
    cutoff: int | None
    #: The rows of DATASET_SCORES, by run, best first, and cutoff.
    runs: Sequence[Sequence[Row]]
    means: Mapping[str, Mean]
    run: str
    held: Held | None
    #: The rows of COMPARISONS of every run's NDCG at the cutoff, on all queries.
    compared: Mapping[str, Row]
    #: All queries of the run, the largest loss first; without a baseline the lowest score first.
    queries: Sequence[Query]
    #: The queries that are opened: the first and the last EXTREMES of `queries`.
    worst: Sequence[Query]
    best: Sequence[Query]
    #: Of the run: baseline_status, status, queries and perhaps change, as the transitions of `Compared`.
    transitions: Sequence[Row]
    #: The row of DATASET_SCORES of what the run is held against.
    of_baseline: Row | None
    trend: Sequence[Line]
    verdict: str | None
    keeps_documents: bool

    @property
    def baseline(self) -> str | None:
        """What the run is held against, in words, if its scores are there."""
        return self.held.named(self.run) if self.held and self.held.night else None


def night_data(output: str, night: CommittedNight, run: str | None, held: Held | None) -> NightData:
    """What a report shows of a night: of `run`, by default one that fails, else the best that is not the baseline.

    Raises
    ------
    ConfigurationError
        There is no such run.
    StorageError
        The output cannot be read.
    """
    (rows,) = dataset_scores([night])
    asked = asked_in(night.record.get("configuration") or {})
    cutoffs = {row["cutoff"] for row in rows}
    cutoff = asked.main_cutoff("ndcg", cutoffs.intersection(held.cutoffs if held else cutoffs) or cutoffs)
    by_run = {of_run[0]["run"]: of_run for of_run in in_order(rows, asked=asked)}
    at_cutoff = {name: _at(own, cutoff) for name, own in by_run.items()}
    order = list(by_run)
    if run is not None and run not in by_run:
        near = did_you_mean(run, by_run)
        raise ConfigurationError(f"run: no run is called {run!r}{near}; there are {len(by_run)}, e.g. {order[0]!r}")
    compared = held.by_run(cutoff) if held else {}
    chosen = run or _chosen(night, order, compared)
    own = Side(night, NightRows(night), chosen, cutoff)
    scores, theirs, of_baseline, other = own.tables.scores_at(cutoff, chosen), {}, None, None
    if held and held.night:
        other = Side(held.night, NightRows(held.night), held.run or chosen, cutoff)
        theirs = other.tables.scores_at(cutoff, other.run)
        (baseline_rows,) = [rows] if held.date is None else dataset_scores([held.night])
        of_baseline = next((r for r in baseline_rows if (r["run"], r["cutoff"]) == (other.run, cutoff)), None)
    queries = _queries(scores, theirs, other is not None)
    worst, best = queries[:EXTREMES], queries[::-1][:EXTREMES]
    if other is not None:
        worst = [each for each in worst if (each.difference or 0.0) < -TIE]
        best = [each for each in best if (each.difference or 0.0) > TIE]
    opened = explained(own, other, list({each.query_id: each for each in [*worst, *best]}.values()))
    return NightData(
        night=night,
        asked=asked,
        cutoff=cutoff,
        runs=[by_run[name] for name in order],
        means=_means([at_cutoff[name] for name in order]),
        run=chosen,
        held=held,
        compared=compared,
        queries=queries,
        worst=[opened[each.query_id] for each in worst],
        best=[opened[each.query_id] for each in best],
        transitions=_transitions(held, chosen, cutoff, scores, theirs),
        of_baseline=of_baseline,
        trend=_trend(output, night, cutoff, [chosen, *([held.run] if held and held.run else []), *order]),
        verdict=verdict_of(night),
        keeps_documents=own.tables.has_documents(),
    )


def _at(rows: Sequence[Row], cutoff: int | None) -> Row:
    return next(row for row in rows if row["cutoff"] == cutoff)


def _chosen(night: CommittedNight, order: Sequence[str], compared: Mapping[str, Row]) -> str:
    """The run that is looked at if none is named."""
    findings = (night.record.get("verdict") or {}).get("findings", [])
    failing = [each["run"] for each in findings if each["effect"] == "fail" and each["run"] in compared]
    return next((name for name in [*failing, *order] if name in compared), order[0])


def _means(rows: Sequence[Row]) -> dict[str, Mean]:
    """The mean of every run with its interval."""
    mean, deviation = ([nan if r[name] is None else r[name] for r in rows] for name in ("ndcg", "ndcg_stddev"))
    found = paired_t([row["queries"] for row in rows], mean, deviation)
    ends = zip(found.interval_low, found.interval_high, strict=True)
    return {
        row["run"]: Mean(row["ndcg"], *(None if isnan(end) else float(end) for end in both))
        for row, both in zip(rows, ends, strict=True)
    }


def _queries(scores: Mapping[str, Any], other: Mapping[str, Any], has_baseline: bool) -> list[Query]:
    found = [Query(q, ndcg, other.get(q, (None, None))[1]) for q, (_, ndcg) in scores.items()]
    value = "difference" if has_baseline else "ndcg"
    known = [each for each in found if getattr(each, value) is not None]
    return sorted(known, key=lambda each: (comparable(getattr(each, value)), each.query_id))


def _transitions(
    held: Held | None, run: str, cutoff: int | None, scores: Mapping[str, Any], theirs: Mapping[str, Any]
) -> Sequence[Row]:
    if held is None or held.is_itself(run):
        return []
    if held.transitions is None:
        return counted(scores, theirs) if held.night else []
    return [row for row in held.transitions if (row["run"], row["cutoff"]) == (run, cutoff)]


def _trend(output: str, night: CommittedNight, cutoff: int | None, runs: Sequence[str]) -> list[Line]:
    """The trends of the NDCG of the first of these runs, up to the night."""
    shown = list(dict.fromkeys(runs))[:_TREND_RUNS]
    found = lines(output, Wanted(dataset=night.dataset, runs=shown, measures=written("ndcg", cutoff)))
    cut = []
    for line in found:
        until = sum(point.date <= night.evaluated_on for point in line.points)
        parts = (line.points[:until], line.queries[:until], line.verdicts[:until])
        cut.append(dataclasses.replace(line, points=parts[0], queries=parts[1], verdicts=parts[2]))
    return [line for line in cut if line.points]
