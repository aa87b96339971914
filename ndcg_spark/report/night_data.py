"""What a report shows of a night: its scores side by side, query by query, and what they are compared with."""

import dataclasses
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from math import isnan, nan
from typing import Any

from ndcg_spark.comparison.options import SCORES
from ndcg_spark.comparison.statistics import paired_t
from ndcg_spark.comparison.trend import TrendLine, TrendRequest, lines
from ndcg_spark.convention.cutoffs import Cutoff, format_cutoff
from ndcg_spark.convention.measures import MEASURES, MeasureSet
from ndcg_spark.convention.parsing import columns_of, measure_set_in
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.nights.log import Night
from ndcg_spark.nights.read import NightRows, read_dataset_scores, read_rows
from ndcg_spark.report.baseline import NightComparison, Place, Row
from ndcg_spark.report.queries import QueryScore, with_documents
from ndcg_spark.tables.sorting import Order, sort_value, sorted_runs, without_slices
from ndcg_spark.tables.verdicts import worst_results
from ndcg_spark.text import unknown_name

#: How many queries are shown of those that lost most, and as many of those that won most.
EXTREMES = 20
#: Smaller differences are ties.
TIE = 1e-9
#: With more runs, the trend of a report shows the best.
_TREND_RUNS = 8
#: The cutoff that people look at if nobody says which.
_USUAL_CUTOFF = 10
#: Of each query, its status and its score.
_Scores = Mapping[str, tuple[str | None, float | None]]


@dataclasses.dataclass(frozen=True)
class NightData:
    """Everything that a report says of one night of one dataset."""

    night: Night
    #: The measures that were requested for the night, whose headline orders the runs.
    measure_set: MeasureSet
    #: The column of scores and the cutoff that the report is about.
    place: Place
    #: The rows of DATASET_SCORES, by run, best first, and cutoff.
    runs: Sequence[Sequence[Row]]
    #: Of these the row of each run at the cutoff; with the ends of its 95 % interval of t, `low` and `high`, if NDCG
    #: is the measure, else these are None.
    means: Sequence[Row]
    run: str
    comparison: NightComparison | None
    #: The rows of COMPARISONS of every run by the measure, on all queries.
    compared: Mapping[str, Row]
    #: All queries of the run that have the value that they are sorted by: the largest loss first; without a baseline
    #: the lowest score first.
    queries: Sequence[QueryScore]
    #: The queries that are shown with their documents: the first and the last EXTREMES of `queries`.
    worst: Sequence[QueryScore]
    best: Sequence[QueryScore]
    #: Of the run: how many queries have which baseline_status and status.
    transitions: Sequence[Row]
    #: The row of DATASET_SCORES of the baseline of the run.
    baseline_row: Row | None
    trend: Sequence[TrendLine]
    #: The rows of DATASET_SCORES of the run at the cutoff of each slice, by attribute and value; otherwise as `means`.
    slices: Sequence[Row]

    @property
    def measure(self) -> str:
        """The measure and its cutoff, as ndcg@10."""
        return f"{self.place[0]}@{format_cutoff(self.place[1])}"

    @property
    def against(self) -> str | None:
        """What the run is compared with, in words, whether its scores are still there or not."""
        found = self.comparison
        return found.against(self.run) if found and not found.is_baseline(self.run) else None

    @property
    def baseline(self) -> str | None:
        """What the queries of the run are shown beside, in words, if its scores are there."""
        found = self.comparison
        return found.baseline_of(self.run) if found and found.night and not found.is_baseline(self.run) else None


def headline(night: Night, measure: str | None) -> Place:
    """What a report is about: the named measure, that of the gate's first check, else the headline of the night.

    A night that was evaluated without naming measures is shown by NDCG at the cutoff nearest to 10.

    Raises
    ------
    ConfigurationError
        The named measure has no scores.
    """
    (rows,) = read_dataset_scores([night])
    configuration = night.record.get("configuration") or {}
    measure_set, checks = measure_set_in(configuration), (configuration.get("gate") or {}).get("check") or []
    if measure is not None:
        column, cutoff = columns_of(measure, SCORES)[0]
        cutoffs = [row["cutoff"] for row in rows if row.get(column) is not None]
        if cutoff == "each":
            return column, _usual(cutoffs)
        if cutoff not in map(format_cutoff, cutoffs):
            known = ", ".join(dict.fromkeys(map(format_cutoff, cutoffs)))
            where = f"it has {column} at {known}" if known else f"it has no {column} at all"
            raise ConfigurationError(f"measure: {column}@{cutoff} was not evaluated in this night; {where}")
        return column, next(each for each in cutoffs if format_cutoff(each) == cutoff)
    if checks:
        return checks[0]["measure"], checks[0]["cutoff"]
    if measure_set.pairs and measure_set.first:
        return MEASURES[measure_set.first[0]].column, measure_set.first[1]
    return "ndcg", _usual(row["cutoff"] for row in rows)


def _usual(cutoffs: Iterable[Cutoff]) -> Cutoff:
    """The cutoff nearest to the usual one; the whole ranking only if there is no other."""
    ranks = [cutoff for cutoff in cutoffs if cutoff is not None]
    return min(ranks, key=lambda rank: (abs(rank - _USUAL_CUTOFF), rank), default=None)


def night_data(
    output: str, night: Night, place: Place, run: str | None, comparison: NightComparison | None
) -> NightData:
    """What a report shows of a night: of `run`; by default one that fails or has become worse, else the best.

    Raises
    ------
    ConfigurationError
        There is no such run.
    StorageError
        The output cannot be read.
    """
    (rows,) = read_dataset_scores([night])
    measure_set = measure_set_in(night.record.get("configuration") or {})
    column, cutoff = place
    order = Order(column, format_cutoff(cutoff), descending=True)
    by_run = {of_run[0]["run"]: of_run for of_run in sorted_runs(rows, order, measure_set)}
    if run is not None and run not in by_run:
        raise unknown_name("run", "run", run, by_run)
    compared = comparison.by_run(place) if comparison else {}
    chosen = run or _chosen(night, [*by_run], compared, comparison)
    scores, theirs, baseline_row, other = NightRows(night).scores_at(cutoff, chosen, column), {}, None, None
    if comparison and comparison.night and not comparison.is_baseline(chosen):
        other = (comparison.night, comparison.run or chosen)
        theirs = NightRows(other[0]).scores_at(cutoff, other[1], column)
        (baseline_rows,) = read_dataset_scores([other[0]])
        baseline_row = next((r for r in baseline_rows if (r["run"], r["cutoff"]) == (other[1], cutoff)), None)
    queries = _queries(scores, theirs, other is not None)
    worst = queries[:EXTREMES]
    best = [each for each in queries[::-1][:EXTREMES] if each not in worst]
    if other is not None:
        worst, best = ([q for q in queries if sign * (q.difference or 0.0) > TIE] for sign in (-1, 1))
        worst, best = worst[:EXTREMES], best[::-1][:EXTREMES]
    ranks = cutoff or _usual(row["cutoff"] for row in rows)
    detailed = with_documents((night, chosen), other, ranks, [*worst, *best])
    return NightData(
        night=night,
        measure_set=measure_set,
        place=place,
        runs=list(by_run.values()),
        means=_with_intervals([row for of_run in by_run.values() for row in of_run if row["cutoff"] == cutoff], column),
        run=chosen,
        comparison=comparison,
        compared=compared,
        queries=queries,
        worst=detailed[: len(worst)],
        best=detailed[len(worst) :],
        transitions=_transitions(comparison, chosen, scores, theirs),
        baseline_row=baseline_row,
        trend=_trend(output, night, place, [chosen, *([comparison.run or chosen] if comparison else []), *by_run]),
        slices=_with_intervals(_slices(night, chosen, cutoff), column),
    )


def _slices(night: Night, run: str, cutoff: Cutoff) -> Sequence[Row]:
    """The dataset scores of the slices of a run at a cutoff."""
    rows = read_rows([night], "dataset_scores", where={"run": [run], "cutoff": [cutoff]})
    _, of_slices = without_slices(rows.to_pylist())
    return of_slices


def _chosen(night: Night, order: Sequence[str], compared: Mapping[str, Row], found: NightComparison | None) -> str:
    """The run that is shown in detail if none is named."""
    failed = [each for each in (night.record.get("verdict") or {}).get("results", []) if each["result"] == "fail"]
    failing = [each["run"] for each in worst_results(failed) if each["run"] in compared]
    # Against another run of the night, it is not news that a run is worse.
    worse = [row for row in compared.values() if found and found.date and found.is_sure(row) and row["difference"] < 0]
    lost = [row["run"] for row in sorted(worse, key=lambda row: row["difference"])]
    return next((name for name in [*failing, *lost, *order] if name in compared), order[0])


def _with_intervals(rows: Sequence[Row], column: str) -> list[Row]:
    """The rows with the ends of the 95 % interval of the mean of NDCG, None where there are too few values."""
    if column != "ndcg":
        return [{**row, "low": None, "high": None} for row in rows]
    mean, deviation = ([nan if r[name] is None else r[name] for r in rows] for name in ("ndcg", "ndcg_stddev"))
    found = paired_t([row["queries"] for row in rows], mean, deviation)
    ends = zip(found.interval_low, found.interval_high, strict=True)
    both = [[None if isnan(end) else float(end) for end in each] for each in ends]
    return [{**row, "low": low, "high": high} for row, (low, high) in zip(rows, both, strict=True)]


def _queries(scores: _Scores, theirs: _Scores, has_baseline: bool) -> list[QueryScore]:
    found = [QueryScore(query, score, theirs.get(query, (None, None))[1]) for query, (_, score) in scores.items()]
    value = "difference" if has_baseline else "score"
    known = [each for each in found if getattr(each, value) is not None]
    return sorted(known, key=lambda each: (sort_value(getattr(each, value)), each.query_id))


def _transitions(found: NightComparison | None, run: str, scores: _Scores, theirs: _Scores) -> Sequence[Row]:
    """How many queries have which status on both sides."""
    if found is None or found.is_baseline(run):
        return []
    if found.night is None:
        return []
    nothing = (None, None)
    pairs = Counter((theirs.get(q, nothing)[0], scores.get(q, nothing)[0]) for q in {**theirs, **scores})
    return [{"baseline_status": one, "status": two, "queries": n} for (one, two), n in pairs.most_common()]


def _trend(output: str, night: Night, place: Place, runs: Sequence[str]) -> list[TrendLine]:
    """The trends of the first of these runs, up to the night."""
    shown = list(dict.fromkeys(runs))[:_TREND_RUNS]
    measure = f"{place[0]}@{format_cutoff(place[1])}"
    cut = []
    for line in lines(output, TrendRequest(dataset=night.dataset, runs=shown, measures=measure))[0]:
        until = sum(point.date <= night.evaluated_on for point in line.points)
        of_nights: dict[str, Any] = {name: values for name, values in vars(line).items() if isinstance(values, list)}
        cut.append(dataclasses.replace(line, **{name: values[:until] for name, values in of_nights.items()}))
    return [line for line in cut if line.points]
