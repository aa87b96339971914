"""The numbers of a page about one night of a dataset."""

import dataclasses
import zlib
from collections.abc import Iterable, Mapping, Sequence
from math import fsum
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ndcg_spark.comparison.compare import night_sources
from ndcg_spark.comparison.differences import ComparisonOptions, Sides, causes, comparison_rows, explains
from ndcg_spark.comparison.matrix import Metric, Queries, mean_matrix
from ndcg_spark.comparison.slices import read_attributes
from ndcg_spark.comparison.trend import lines
from ndcg_spark.convention.measures import MEASURES, SCORES, Cutoff, format_cutoff
from ndcg_spark.convention.parsing import ALL_CUTOFFS, parse_columns
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.explanation.explain import changed_documents
from ndcg_spark.explanation.facts import Facts
from ndcg_spark.gate.decide import same_results
from ndcg_spark.job.explain import read_facts
from ndcg_spark.nights.log import Night
from ndcg_spark.nights.read import night_rows, read_dataset_scores, read_rows
from ndcg_spark.report.baseline import PageBaseline, choose, day
from ndcg_spark.tables.table import best_first
from ndcg_spark.text import unknown_name

Row = Mapping[str, Any]
#: How many queries are shown with their documents, of those that lost most and of those that won most.
EXTREMES = 20
#: The parts of a loss are those of at most so many queries: those that changed most.
_EXPLAINED = 1_000
#: What a trend shows, and the usual cutoff.
_NIGHTS, _USUAL_CUTOFF = 28, 10
_TIE = 1e-9
#: With more kept documents than this, missing judged ones are not counted.
_COUNTED = 10_000_000


@dataclasses.dataclass(frozen=True)
class Request:
    """What a page is asked to show; None for what it chooses itself."""

    dataset: str | None = None
    run: str | None = None
    measure: str | None = None
    baseline: str | None = None
    baseline_date: str | None = None
    attributes: pa.Table | None = None


class QueryScore(NamedTuple):
    """A query of the run, and its score in the baseline."""

    query_id: str
    score: float
    before: float | None = None

    @property
    def change(self) -> float:
        """The score less that of the baseline, or the score."""
        return self.score - (self.before or 0.0)


class Lists(NamedTuple):
    """The documents of a query: tonight's, those of the newest night of the baseline, and what changed."""

    facts: Facts
    newest: Facts | None
    changes: Sequence[Row]


class Parts(NamedTuple):
    """The parts of a difference, by what happened to documents: left, down, up, came_in and same_rank."""

    sums: Mapping[str, float]
    #: Of the loss, the share at ranks that unjudged documents hold now.
    unjudged: float
    #: How many queries it is of, and which share of all change they have.
    queries: int
    share: float


class NightData:
    """The numbers of a page about one night of a dataset; `nights` are all of the output."""

    def __init__(self, output: str, night: Night, nights: Sequence[Night], request: Request) -> None:
        (rows,) = read_dataset_scores([night])
        self.night = night
        #: The verdict of the gate; empty without one.
        self.verdict: Row = night.record["verdict"] or {}
        #: The date of the last night, if its results are identical.
        self.same_results = same_results(night, nights)
        #: The measure and the cutoff of the page.
        self.metric = _headline(night, rows, request.measure)
        #: The dataset scores of every run, by run and cutoff, and the runs from the best to the worst.
        self.scores = {(row["run"], row["cutoff"]): row for row in rows}
        column, cutoff = self.metric
        values = {row["run"]: row.get(column) for row in rows if row["cutoff"] == cutoff}
        names = {row["run"] for row in rows}
        self.runs: list[str] = sorted(names, key=lambda run: best_first(values.get(run), run))
        if request.run not in (None, *self.runs):
            raise unknown_name("run", "run", str(request.run), self.runs)
        #: What every number is compared with, and why that cannot be done.
        self.baseline = choose(night, nights, self.runs, request.baseline, request.baseline_date)
        refused = _refused(night, self.baseline)
        self._sides = _sides(night, self.baseline, self.metric) if self.baseline and not refused else None
        attributes = read_attributes([night]) if request.attributes is None else request.attributes
        compared = self._compare(attributes)
        #: How every run compares with its baseline.
        self.compared = {row["run"]: row for row in compared if row["attribute"] is None}
        #: The run that is shown in detail, its dataset scores, and how it and its slices compare.
        self.run = request.run or self._chosen()
        self.mean = self.scores[self.run, self.metric[1]]
        self.row = self.compared.get(self.run)
        self.slices = [row for row in compared if row["run"] == self.run and row["attribute"] is not None]
        #: The share of the difference that each slice has, the largest first, as the gate has them.
        self.causes: Sequence[Row] = causes(self.row, self.slices) if self.row else []
        if self.baseline and self.baseline.name is not None and self.run == self._decided():
            self.causes = self.verdict.get("causes") or self.causes
        #: The queries of the run, the largest loss first; without a baseline the lowest score.
        self.queries = sorted(self._queries(), key=lambda query: (round(query.change, 12), query.query_id))
        #: Whether its queries are compared with a baseline.
        self.compares = any(query.before is not None for query in self.queries[:1])
        first, last = self.queries[:EXTREMES], self.queries[-EXTREMES:]
        #: The queries that are shown with their documents: those that lost and won most, or score least and most.
        self.ends = list(dict.fromkeys([*first, *last]))
        if self.compares:
            self.ends = [*(q for q in first if q.change < -_TIE), *(q for q in last if q.change > _TIE)]
        #: What ids on the page end with, and those of these queries.
        self.id = f"-{zlib.crc32(night.dataset.encode()):x}"
        self.anchors = {query.query_id: f"q{at}{self.id}" for at, query in enumerate(self.ends)}
        #: Whether the night keeps documents, and those of queries: of both ends, and of NDCG those that changed most.
        self.has_documents = bool(night.kept_rows("ranked_documents"))
        self.documents = self._documents()
        self.parts = self._parts() if self.metric[0] == "ndcg" else None
        #: The last nights up to this one.
        measure = f"{self.metric[0]}@{format_cutoff(self.metric[1])}"
        line = next(iter(lines(output, night.dataset, self.run, measure)[0]), None)
        points = [point for point in line.points if point.date <= night.evaluated_on] if line else []
        self.trend = dataclasses.replace(line, points=points[-_NIGHTS:]) if line and points else None
        #: The mean judged rate of the run in the nights of the baseline.
        self.judged_before = self._judged_before()
        #: How many judged documents with a gain no run returned within the kept depth, and of how many.
        self.never_returned = _never_returned(night)
        #: Why nothing is compared, or how many queries have other judgments; and what the gate warns of.
        self.warnings = [*([refused] if refused else self._other_judgments()), *self.verdict.get("warnings", ())]

    @property
    def measure(self) -> str:
        """The measure as people write it: NDCG@10."""
        measure, cutoff = self.metric
        return f"{'NDCG' if measure == 'ndcg' else measure}@{format_cutoff(cutoff)}"

    @property
    def cause(self) -> Row | None:
        """The slice that explains most of the difference."""
        return next(filter(explains, self.causes), None)

    def result(self, run: str) -> Row | None:
        """The result of the gate for the mean of a run by the measure of the page."""
        if self.baseline is None or self.baseline.name is None:
            return None
        key = (run, self.metric[0], format_cutoff(self.metric[1]), None, False, self.baseline.name)
        names = ("run", "measure", "cutoff", "slice", "weighted", "baseline")
        results = self.verdict.get("results", ())
        return next((row for row in results if tuple(row[name] for name in names) == key), None)

    def _decided(self) -> str | None:
        """The run that the verdict is about."""
        runs = {row["result"]: row["run"] for row in reversed(self.verdict.get("results", ()))}
        return self.verdict.get("run") or runs.get("fail") or runs.get("undecided")

    def _chosen(self) -> str:
        """The run of the verdict, one that is worse than in other nights, or the best."""
        rows = self.compared.values() if self.baseline and self.baseline.dates else ()
        worse = sorted((row["difference"], row["run"]) for row in rows if row["conclusion"] == "worse")
        named = [self._decided(), *(run for _, run in worse), *self.runs]
        return next((run for run in named if run in self.compared), self.runs[0])

    def _compare(self, attributes: pa.Table | None) -> list[dict[str, Any]]:
        """Rows of COMPARISONS of every run and its slices, with what the gate decided."""
        if self._sides is None:
            return []
        gate = _gate(self.night, self.baseline)
        options = ComparisonOptions(alpha=gate.get("alpha", 0.05), attributes=attributes)
        rows = comparison_rows(self._sides, options)
        for row in rows:
            result = self.result(row["run"]) if row["attribute"] is None else None
            if result is not None:
                row["p_decides"] = row["p_decides"] if result["p"] is None else result["p"]
                row["conclusion"] = "worse" if result["result"] == "fail" else row["conclusion"]
        return rows

    def _other_judgments(self) -> list[str]:
        changed = 0 if self._sides is None else int(self._sides.rejudged.sum())
        if self._sides is None or self.baseline is None:
            return []
        notes = []
        if self.baseline.is_newer:
            notes.append(f"The night of {day(self.baseline.dates[-1])} was evaluated again after the gate had decided.")
        if changed:
            left_out = "they are left out" if self._sides.only is not None else "this changes scores, too"
            many = "1 query has" if changed == 1 else f"{changed:,} queries have"
            notes.append(f"{many} other judgments than in the {self.baseline.label}; {left_out}.")
        return notes

    def _queries(self) -> list[QueryScore]:
        sides, (measure, cutoff) = self._sides, self.metric
        if sides is None or self.baseline is None or self.row is None:
            columns = ["query_id", measure]
            rows = night_rows(self.night, "query_scores", columns, cutoff=[cutoff], run=[self.run])
            return [QueryScore(row["query_id"], row[measure]) for row in rows if row[measure] is not None]
        own, theirs = sides.own.scores(self.run), sides.baseline.scores(self.baseline.run_for(self.run))
        paired = ~np.isnan(own - theirs)
        at = np.flatnonzero(paired if sides.only is None else paired & sides.only)
        return list(map(QueryScore, sides.own.queries.ids.take(at).to_pylist(), own[at].tolist(), theirs[at].tolist()))

    def _documents(self) -> dict[str, Lists]:
        is_ndcg = self.compares and self.metric[0] == "ndcg" and self.metric[1] is not None
        changed = [query for query in self.queries if abs(query.change) > _TIE] if is_ndcg else []
        explained = sorted(changed, key=lambda query: -abs(query.change))[:_EXPLAINED]
        names = list(dict.fromkeys(query.query_id for query in [*self.ends, *explained]))
        nights = list(self.baseline.nights) or [self.night] if self.baseline else []
        other = self.baseline.run_for(self.run) if self.baseline else self.run
        cutoff = self.metric[1] or _USUAL_CUTOFF
        own = read_facts(self.night, [self.run], cutoff, names)
        lists = [read_facts(night, [other], cutoff, names) for night in nights]
        documents = {}
        for (_, name), facts in own.items():
            theirs = [by_key[other, name] for by_key in lists if (other, name) in by_key]
            changes = changed_documents(facts, theirs) if theirs else []
            documents[name] = Lists(facts, theirs[-1] if theirs else None, changes)
        return documents

    def _parts(self) -> Parts | None:
        sums, covered, lost, unjudged = dict.fromkeys(("left", "down", "up", "came_in", "same_rank"), 0.0), [], 0.0, 0.0
        for query in self.queries:
            lists = self.documents.get(query.query_id)
            # Parts sum to the difference only where all lists that the baseline is the mean of are kept.
            if not lists or not lists.newest or abs(fsum(row["part"] for row in lists.changes) - query.change) > 1e-6:
                continue
            covered.append(abs(query.change))
            unjudged_ranks = {row.rank for row in lists.facts.listed if row.relevance is None}
            for change in lists.changes:
                sums[change["what"]] += change["part"] / len(self.queries)
                lost += min(change["part"], 0.0)
                unjudged += min(change["part"], 0.0) if change["baseline_rank"] in unjudged_ranks else 0.0
        total = fsum(abs(query.change) for query in self.queries)
        shown = {what: value for what, value in sums.items() if abs(value) > _TIE}
        share = fsum(covered) / total if total else 1.0
        return Parts(shown, unjudged / lost if lost else 0.0, len(covered), share) if covered else None

    def _judged_before(self) -> float | None:
        if self.baseline is None or not self.baseline.nights:
            return None
        key = self.baseline.run_for(self.run), self.metric[1]
        nights = read_dataset_scores(list(self.baseline.nights))
        rates = [row["judged_rate"] for rows in nights for row in rows if (row["run"], row["cutoff"]) == key]
        known = [rate for rate in rates if rate is not None]
        return fsum(known) / len(known) if known else None


def _headline(night: Night, rows: Sequence[Row], measure: str | None) -> Metric:
    """The named measure, that of the gate's first check, else the headline of the night.

    A night that was evaluated without naming measures is shown by NDCG at the cutoff nearest to 10.
    """
    configuration = night.record["configuration"]
    measure_set, checks = night.measure_set, (configuration.get("gate") or {}).get("check")
    if measure is not None:
        column, cutoff = parse_columns(measure, SCORES)[0]
        known = {format_cutoff(row["cutoff"]): row["cutoff"] for row in rows if row.get(column) is not None}
        if cutoff != ALL_CUTOFFS and cutoff not in known:
            there = ", ".join(known) or "none"
            raise ConfigurationError(
                f"measure: {column}@{cutoff} was not evaluated in this night; evaluated cutoffs: {there}"
            )
        return column, known[cutoff] if cutoff in known else _usual(known.values())
    if checks:
        return checks[0].get("measure", "ndcg"), checks[0]["cutoff"]
    if measure_set.pairs and measure_set.first:
        return MEASURES[measure_set.first[0]].column, measure_set.first[1]
    return "ndcg", _usual(row["cutoff"] for row in rows)


def _usual(cutoffs: Iterable[Cutoff]) -> Cutoff:
    """The cutoff nearest to the usual one; the whole ranking only if there is no other."""
    ranks = [cutoff for cutoff in cutoffs if cutoff is not None]
    return min(ranks, key=lambda rank: (abs(rank - _USUAL_CUTOFF), rank), default=None)


def _refused(night: Night, baseline: PageBaseline | None) -> str | None:
    """Why a night cannot be compared with its baseline."""
    if baseline and baseline.dates and not baseline.nights:
        return f"The {baseline.label} is not kept any more: nothing is compared."
    if baseline and any(other.record["options"] != night.record["options"] for other in baseline.nights):
        return f"The {baseline.label} has another convention: nothing is compared."
    return None


def _gate(night: Night, baseline: PageBaseline | None) -> Row:
    """The configuration of the gate, if it compared with the baseline of the page."""
    return (night.record["configuration"].get("gate") if baseline and baseline.name else None) or {}


def _sides(night: Night, baseline: PageBaseline, metric: Metric) -> Sides:
    """The scores of a night and those of the baseline."""
    (source,), others = night_sources([night]), night_sources(baseline.nights, "baseline")
    own = source.read(queries := Queries(), metric)
    # Read one after the other.
    read = (other.read(queries, metric) for other in others)
    theirs = mean_matrix(read, own) if len(others) > 1 else next(read, own)
    key = source.key(others[-1].evaluated_on if others else None, len(others) or None)
    pairs = [(run, baseline.run_for(run)) for run in source.runs if baseline.run_for(run) in theirs.runs]
    sides = Sides(own, theirs, metric, key, [pair for pair in pairs if others or pair[0] != pair[1]])
    return (
        dataclasses.replace(sides, only=~sides.rejudged) if _gate(night, baseline).get("unchanged_queries") else sides
    )


def _never_returned(night: Night) -> tuple[int, int] | None:
    if not 0 < night.kept_rows("ranked_documents") <= _COUNTED:
        return None
    rows = read_rows([night], "ranked_documents", ["run", "query_id", "doc_id", "gain"])
    returned = rows.filter(pc.is_valid(rows["run"])).group_by(["query_id", "doc_id"]).aggregate([])
    good = rows.filter(pc.and_(pc.is_null(rows["run"]), pc.greater(rows["gain"], 0)))
    never = good.join(returned, ["query_id", "doc_id"], join_type="left anti")
    return (never.num_rows, good.num_rows) if good.num_rows else None
