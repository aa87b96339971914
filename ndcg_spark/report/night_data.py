"""What a page says of one night of a dataset, as numbers."""

import dataclasses
import datetime
import functools
import zlib
from collections.abc import Iterable, Mapping, Sequence
from math import fsum
from typing import Any

import numpy as np
import pyarrow.compute as pc

from ndcg_spark.comparison.comparable import convention_key
from ndcg_spark.comparison.compare import kept_attributes, mean_matrices, of_nights
from ndcg_spark.comparison.differences import ComparisonOptions, Sides, causes, rows_of
from ndcg_spark.comparison.matrix import Place, Queries
from ndcg_spark.comparison.slices import Attributes
from ndcg_spark.comparison.trend import TrendLine, lines
from ndcg_spark.convention.cutoffs import Cutoff, format_cutoff
from ndcg_spark.convention.measures import MEASURES, SCORES
from ndcg_spark.convention.parsing import columns_of, measure_set_in
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.explanation.explain import Change, changed_documents
from ndcg_spark.explanation.facts import Facts
from ndcg_spark.job.night_documents import facts_of_queries
from ndcg_spark.nights.log import Night
from ndcg_spark.nights.read import night_rows, read_dataset_scores, read_rows
from ndcg_spark.report.baseline import Baseline, Row, choose
from ndcg_spark.tables.sorting import Order, sorted_runs
from ndcg_spark.text import unknown_name

#: How many queries are shown with their documents, of those that lost most and of those that won most.
EXTREMES = 20
#: The parts of a loss are those of at most so many queries: those that changed most.
_EXPLAINED = 1_000
#: What a trend shows, and the cutoff that people look at if nobody says which.
_NIGHTS, _USUAL_CUTOFF = 28, 10
_TIE = 1e-9
#: Of more kept documents nobody counts which judged ones are missing.
_COUNTED = 10_000_000


@dataclasses.dataclass(frozen=True)
class Request:
    """What a page is asked to show; None for what it chooses itself."""

    dataset: str | None = None
    run: str | None = None
    measure: str | None = None
    baseline: str | None = None
    baseline_date: str | None = None
    attributes: Attributes | None = None


@dataclasses.dataclass(frozen=True)
class QueryScore:
    """A query of the run, with its documents if it is shown with them and the night keeps them."""

    query_id: str
    score: float
    before: float | None
    facts: Facts | None = None
    #: Its list in the newest night of the baseline.
    newest: Facts | None = None
    changes: Sequence[Change] = ()

    @property
    def change(self) -> float:
        """The score less that of the baseline, or the score."""
        return self.score - (self.before or 0.0)


@dataclasses.dataclass(frozen=True)
class Parts:
    """The parts of a difference, by what happened to documents: left, down, up, came_in and same_rank."""

    sums: Mapping[str, float]
    #: Of the loss, the share at ranks that unjudged documents hold now.
    unjudged: float
    #: How many queries it is of, and which share of all change they have.
    queries: int
    share: float


@dataclasses.dataclass(frozen=True)
class NightData:
    """Everything that a page says of one night of a dataset."""

    night: Night
    place: Place
    #: The run that is shown in detail, and the runs from the best to the worst.
    run: str
    runs: Sequence[str]
    #: The rows of DATASET_SCORES of every run, by run and cutoff.
    scores: Mapping[tuple[str, Cutoff], Row]
    baseline: Baseline | None
    #: Rows of COMPARISONS: of every run, and of the run's slices.
    compared: Mapping[str, Row]
    slices: Sequence[Row]
    #: The queries of the run, the largest loss first; without a baseline the lowest score.
    queries: Sequence[QueryScore]
    parts: Parts | None
    #: Which share of the difference each slice has, the largest first: attribute, value, queries, of_queries, share.
    causes: Sequence[Row]
    trend: TrendLine | None
    #: The mean judged rate of the run in the nights of the baseline.
    judged_before: float | None
    #: Judged documents with a gain that no run returned within the kept depth, and of how many: None without documents.
    never_returned: tuple[int, int] | None
    warnings: Sequence[str] = ()

    @functools.cached_property
    def anchors(self) -> dict[str, str]:
        """The ids of the queries on the page that are shown with their documents or linked."""
        sign = _TIE if self.compares else -1.0
        ends = [query for query in self.queries[:EXTREMES] if not self.compares or query.change < -sign]
        ends += [query for query in self.queries[-EXTREMES:] if query.change > sign]
        return {query.query_id: f"q{at}{self.id}" for at, query in enumerate(ends)}

    @property
    def id(self) -> str:
        """What the ids of its part of the page end with."""
        return f"-{zlib.crc32(self.night.dataset.encode()):x}"

    @property
    def compares(self) -> bool:
        """Whether its queries are compared with a baseline."""
        return any(query.before is not None for query in self.queries[:1])

    @property
    def row(self) -> Row | None:
        """How the run compares with its baseline."""
        return self.compared.get(self.run)

    @property
    def verdict(self) -> Row | None:
        """The verdict of the gate."""
        found: Row | None = self.night.record["verdict"]
        return found or None

    @property
    def measure(self) -> str:
        """The measure as people write it: NDCG@10."""
        return f"{self.place[0].upper() if self.place[0] == 'ndcg' else self.place[0]}@{format_cutoff(self.place[1])}"

    @property
    def mean(self) -> Row:
        """The run's row of DATASET_SCORES."""
        return self.scores[self.run, self.place[1]]

    @property
    def same_results(self) -> str | None:
        """The date of the last night, or that of the baseline, if its results are identical."""
        nights = self.baseline.nights[-1:] if self.baseline else ()
        own = self.night.row["results_fingerprint"]
        same = (night.evaluated_on for night in nights if own and own == night.row["results_fingerprint"])
        of_gate: str | None = (self.verdict or {}).get("same_results")
        return of_gate or next(same, None)

    @property
    def kept_depth(self) -> Cutoff:
        """The rank down to which documents are kept; None if they are not."""
        return max((cutoff or 0 for _, cutoff in self.scores), default=None) if self.has_documents else None

    @property
    def has_documents(self) -> bool:
        """Whether the night keeps documents."""
        return bool(self.night.kept_rows("ranked_documents"))

    def result(self, run: str) -> Row | None:
        """What the gate found about the mean of a run by the measure of the page."""
        key = (run, self.place[0], format_cutoff(self.place[1]), None, False, self.baseline and self.baseline.name)
        names = ("run", "measure", "cutoff", "slice", "weighted", "baseline")
        results = (self.verdict or {}).get("results", ()) if self.baseline and self.baseline.name else ()
        return next((row for row in results if tuple(row[name] for name in names) == key), None)


def night_data(output: str, night: Night, nights: Sequence[Night], request: Request) -> NightData:
    """What a page shows of a night; `nights` are all of the output."""
    (rows,) = read_dataset_scores([night])
    place = _headline(night, rows, request.measure)
    best_first = sorted_runs(rows, Order(place[0], format_cutoff(place[1]), descending=True))
    runs = [of_run[0]["run"] for of_run in best_first]
    if request.run not in (None, *runs):
        raise unknown_name("run", "run", str(request.run), runs)
    baseline = choose(night, nights, runs, request.baseline, request.baseline_date)
    refused = _refused(night, baseline) if baseline else None
    comparison = _Comparison(night, baseline) if baseline and not refused else None
    compared = comparison.runs(place, request.attributes or kept_attributes([night])) if comparison else []
    whole = {row["run"]: row for row in compared if row["attribute"] is None}
    run = request.run or _chosen(night, runs, whole, baseline)
    if comparison and run in whole:
        queries = comparison.queries(place, run)
    else:
        own = night_rows(night, "query_scores", ["query_id", place[0]], cutoff=[place[1]], run=[run])
        queries = [QueryScore(row["query_id"], row[place[0]], None) for row in own if row[place[0]] is not None]
    queries.sort(key=lambda query: (round(query.change, 12), query.query_id))
    slices = [row for row in compared if row["run"] == run and row["attribute"] is not None]
    detailed, parts = _with_documents(night, baseline, run, place, queries)
    trends = lines(output, night.dataset, run, f"{place[0]}@{format_cutoff(place[1])}")[0]
    verdict = night.record["verdict"] or {}
    is_of_gate = baseline is not None and baseline.name is not None and run == _run_of(verdict)
    shares = verdict.get("causes") if is_of_gate else None
    if not shares:
        shares = causes(whole[run], slices) if run in whole else []
    return NightData(
        night,
        place,
        run,
        runs,
        {(row["run"], row["cutoff"]): row for row in rows},
        baseline,
        whole,
        slices,
        detailed,
        parts,
        shares,
        _until(trends, night.evaluated_on),
        _judged_before(baseline, run, place[1]),
        _never_returned(night),
        [*(comparison.warnings if comparison else [refused] if refused else []), *verdict.get("warnings", ())],
    )


def _refused(night: Night, baseline: Baseline) -> str | None:
    """Why a night cannot be compared with its baseline."""
    if baseline.dates and not baseline.nights:
        return f"The {baseline.label} is not kept as it was: nothing is compared."
    if any(convention_key(other.record) != convention_key(night.record) for other in baseline.nights):
        return f"The {baseline.label} has another convention: nothing is compared."
    return None


class _Comparison:
    """A night compared with the baseline of its page."""

    def __init__(self, night: Night, baseline: Baseline) -> None:
        self.warnings: list[str] = []
        self._night, self._baseline = night, baseline
        gate = (night.record["configuration"].get("gate") or {}) if baseline.name else {}
        known = {name: gate[name] for name in ("alpha", "correction", "min_queries") if name in gate}
        self._options = ComparisonOptions(**known)
        self._unchanged_queries = bool(gate.get("unchanged_queries"))
        (self._own,), self._others = of_nights([night]), of_nights(baseline.nights, "baseline")

    def runs(self, place: Place, attributes: Attributes | None) -> list[dict[str, Any]]:
        """Rows of COMPARISONS of every run and its slices, with the gate's own numbers where it decided."""
        self._sides = self._sides_of([place], self._own.runs)[place]
        rows = rows_of(self._sides, self._options, attributes)
        of_slices = {(row["run"], row["attribute"] and f"{row['attribute']}={row['value']}"): row for row in rows}
        names = ("mean", "baseline_mean", "difference", "interval_low", "interval_high", "queries")
        for result in (self._night.record["verdict"] or {}).get("results", ()) if self._baseline.name else ():
            key = (result["measure"], str(result["cutoff"]), result["baseline"], result["weighted"])
            row = of_slices.get((result["run"], result["slice"]))
            if row and key == (place[0], format_cutoff(place[1]), self._baseline.name, False):
                decided = {**{name: result[name] for name in names}, "p_decides": result["p"]}
                row.update({name: value for name, value in decided.items() if value is not None})
                row.update({"conclusion": "worse"} if result["result"] == "fail" else {})
        # The judgments of a night are those of all its measures.
        changed, only = int(self._sides.rejudged.sum()), self._sides.only
        if changed:
            left_out = "left out" if only is not None else "which changes scores, too"
            label = self._baseline.label
            self.warnings.append(f"{changed:,} queries have other judgments than in the {label}: {left_out}.")
        return rows

    def queries(self, place: Place, run: str) -> list[QueryScore]:
        """The queries that a run and its baseline both have a score of."""
        sides = self._sides
        own, theirs = sides.own.scores(run), sides.baseline.scores(self._baseline.of(run))
        paired = ~np.isnan(own - theirs)
        at = np.flatnonzero(paired if sides.only is None else paired & sides.only)
        names = sides.own.queries.ids.take(at).to_pylist()
        return list(map(QueryScore, names, own[at].tolist(), theirs[at].tolist()))

    def _sides_of(self, places: Sequence[Place], runs: Sequence[str]) -> dict[Place, Sides]:
        """By place, the scores of these runs and of the baseline."""
        baseline, queries = self._baseline, Queries()
        wanted = runs if self._others else dict.fromkeys([*runs, *([baseline.run] if baseline.run else [])])
        own = self._own.read(queries, places, list(wanted))
        theirs = mean_matrices(self._others, queries, places, own) if self._others else own
        newest = datetime.date.fromisoformat(baseline.dates[-1]) if baseline.dates else None
        key = {
            "dataset": self._night.dataset,
            "evaluated_on": self._own.evaluated_on,
            "evaluation_id": self._night.evaluation_id,
            "baseline_night": newest,
            "baseline_nights": len(baseline.dates) or None,
        }
        found = {}
        for place in places:
            pairs = [(run, baseline.of(run)) for run in runs if baseline.of(run) in theirs[place].runs]
            pairs = [pair for pair in pairs if self._others or pair[0] != pair[1]]
            sides = Sides(own[place], theirs[place], place, key, pairs)
            is_partial = self._unchanged_queries and sides.rejudged.any()
            found[place] = dataclasses.replace(sides, only=~sides.rejudged) if is_partial else sides
        return found


def _headline(night: Night, rows: Sequence[Row], measure: str | None) -> Place:
    """The measure of a page: the named one, that of the gate's first check, else the headline of the night.

    A night that was evaluated without naming measures is shown by NDCG at the cutoff nearest to 10.
    """
    configuration = night.record["configuration"]
    measure_set, checks = measure_set_in(configuration), (configuration.get("gate") or {}).get("check") or []
    if measure is not None:
        column, cutoff = columns_of(measure, SCORES)[0]
        cutoffs = [row["cutoff"] for row in rows if row.get(column) is not None]
        if cutoff == "each":
            return column, _usual(cutoffs)
        if cutoff not in map(format_cutoff, cutoffs):
            known = ", ".join(dict.fromkeys(map(format_cutoff, cutoffs))) or "no cutoff"
            raise ConfigurationError(f"measure: {column}@{cutoff} was not evaluated in this night; it was at {known}")
        return column, next(each for each in cutoffs if format_cutoff(each) == cutoff)
    if checks:
        return checks[0].get("measure", "ndcg"), checks[0]["cutoff"]
    if measure_set.pairs and measure_set.first:
        return MEASURES[measure_set.first[0]].column, measure_set.first[1]
    return "ndcg", _usual(row["cutoff"] for row in rows)


def _usual(cutoffs: Iterable[Cutoff]) -> Cutoff:
    """The cutoff nearest to the usual one; the whole ranking only if there is no other."""
    ranks = [cutoff for cutoff in cutoffs if cutoff is not None]
    return min(ranks, key=lambda rank: (abs(rank - _USUAL_CUTOFF), rank), default=None)


def _run_of(verdict: Row) -> str | None:
    """The run that a verdict is about."""
    results = [row for row in verdict.get("results", ()) if row["result"] in ("fail", "undecided")]
    of_result = next((row["run"] for word in ("fail", "undecided") for row in results if row["result"] == word), None)
    run: str | None = verdict.get("run") or of_result
    return run


def _chosen(night: Night, runs: Sequence[str], compared: Mapping[str, Row], baseline: Baseline | None) -> str:
    """The run that is shown in detail: that of the verdict, one that is worse than in another night, or the best."""
    worse = [row for row in compared.values() if row["conclusion"] == "worse" and baseline and baseline.dates]
    lost = [row["run"] for row in sorted(worse, key=lambda row: row["difference"])]
    named = [_run_of(night.record["verdict"] or {}), *lost]
    return next((run for run in [*named, *runs] if run in compared), runs[0])


def _with_documents(
    night: Night, baseline: Baseline | None, run: str, place: Place, queries: Sequence[QueryScore]
) -> tuple[list[QueryScore], Parts | None]:
    """The queries, those at both ends with their documents; and the parts of the difference."""
    ends = [q for q in queries[:EXTREMES] if q.before is None or q.change < -_TIE]
    ends += [q for q in queries[-EXTREMES:] if q not in ends and (q.before is None or q.change > _TIE)]
    is_ndcg = place[0] == "ndcg" and place[1] is not None
    changed = [q for q in queries if q.before is not None and abs(q.change) > _TIE] if is_ndcg else []
    explained = sorted(changed, key=lambda query: -abs(query.change))[:_EXPLAINED]
    cutoff = place[1] if place[1] is not None else _USUAL_CUTOFF
    names = [query.query_id for query in {q.query_id: q for q in [*ends, *explained]}.values()]
    nights = list(baseline.nights) or [night] if baseline else []
    other = baseline.of(run) if baseline else run
    own = facts_of_queries(night, [run], cutoff, names)
    lists = [facts_of_queries(each, [other], cutoff, names) for each in nights]
    detailed, changes = {}, []
    for query in {q.query_id: q for q in [*ends, *explained]}.values():
        facts = own.get((run, query.query_id))
        theirs = [each[other, query.query_id] for each in lists if (other, query.query_id) in each]
        if facts is None:
            continue
        found = changed_documents(facts, theirs) if theirs else []
        detailed[query.query_id] = dataclasses.replace(
            query, facts=facts, newest=theirs[-1] if theirs else None, changes=found
        )
        # Parts sum to the difference only where all lists that the baseline is the mean of are kept.
        if theirs and abs(fsum(change.part for change in found) - query.change) < 1e-6:
            changes.append((facts, query.change, found))
    shown = {query.query_id for query in ends}
    result = [detailed.get(query.query_id, query) if query.query_id in shown else query for query in queries]
    return result, _parts(changes, queries) if changes and is_ndcg else None


def _parts(changes: Sequence[tuple[Facts, float, Sequence[Change]]], queries: Sequence[QueryScore]) -> Parts:
    sums = dict.fromkeys(("left", "down", "up", "came_in", "same_rank"), 0.0)
    lost = unjudged = 0.0
    for facts, _, found in changes:
        unjudged_ranks = {row.rank for row in facts.listed if row.relevance is None}
        for change in found:
            sums[change.what] += change.part / len(queries)
            lost += min(change.part, 0.0)
            unjudged += min(change.part, 0.0) if change.baseline_rank in unjudged_ranks else 0.0
    covered, every = fsum(abs(change) for _, change, _ in changes), fsum(abs(query.change) for query in queries)
    shown = {what: value for what, value in sums.items() if abs(value) > _TIE}
    return Parts(shown, unjudged / lost if lost else 0.0, len(changes), covered / every if every else 1.0)


def _until(trends: Sequence[TrendLine], date: str) -> TrendLine | None:
    """The last nights of a trend up to a date."""
    for line in trends:
        points = [point for point in line.points if point.date <= date]
        return dataclasses.replace(line, points=points[-_NIGHTS:]) if points else None
    return None


def _judged_before(baseline: Baseline | None, run: str, cutoff: Cutoff) -> float | None:
    if baseline is None or not baseline.nights:
        return None
    of_nights = read_dataset_scores(list(baseline.nights))
    other = baseline.of(run)
    rates = [row["judged_rate"] for rows in of_nights for row in rows if (row["run"], row["cutoff"]) == (other, cutoff)]
    known = [rate for rate in rates if rate is not None]
    return fsum(known) / len(known) if known else None


def _never_returned(night: Night) -> tuple[int, int] | None:
    """How many judged documents with a gain no run returned within the kept depth, and of how many."""
    if not 0 < night.kept_rows("ranked_documents") <= _COUNTED:
        return None
    rows = read_rows([night], "ranked_documents", ["run", "query_id", "doc_id", "gain"])
    returned = rows.filter(pc.is_valid(rows["run"])).group_by(["query_id", "doc_id"]).aggregate([])
    good = rows.filter(pc.and_(pc.is_null(rows["run"]), pc.greater(rows["gain"], 0)))
    never = good.join(returned, ["query_id", "doc_id"], join_type="left anti")
    return (never.num_rows, good.num_rows) if good.num_rows else None
