"""What a page says of one night of a dataset, as numbers."""

import dataclasses
import datetime
import functools
import zlib
from collections.abc import Iterable, Mapping, Sequence
from math import fsum
from typing import Any, NamedTuple

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
from ndcg_spark.report.baseline import Baseline, choose
from ndcg_spark.tables.sorting import Order, sorted_runs
from ndcg_spark.text import unknown_name

Row = Mapping[str, Any]
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
    changes: Sequence[Change]


class Parts(NamedTuple):
    """The parts of a difference, by what happened to documents: left, down, up, came_in and same_rank."""

    sums: Mapping[str, float]
    #: Of the loss, the share at ranks that unjudged documents hold now.
    unjudged: float
    #: How many queries it is of, and which share of all change they have.
    queries: int
    share: float


@dataclasses.dataclass(frozen=True)
class NightData:
    """Everything that a page says of one night of a dataset, each number read when it is first used."""

    output: str
    night: Night
    #: All nights of the output.
    nights: Sequence[Night]
    request: Request

    @functools.cached_property
    def rows(self) -> Sequence[Row]:
        """The dataset scores."""
        (rows,) = read_dataset_scores([self.night])
        return rows

    @functools.cached_property
    def scores(self) -> dict[tuple[str, Cutoff], Row]:
        """The dataset scores of every run, by run and cutoff."""
        return {(row["run"], row["cutoff"]): row for row in self.rows}

    @functools.cached_property
    def place(self) -> Place:
        """The measure and the cutoff: the named one, that of the gate's first check, else the headline of the night.

        A night that was evaluated without naming measures is shown by NDCG at the cutoff nearest to 10.
        """
        configuration = self.night.record["configuration"]
        measure_set, checks = measure_set_in(configuration), (configuration.get("gate") or {}).get("check")
        if self.request.measure is not None:
            column, cutoff = columns_of(self.request.measure, SCORES)[0]
            known = {format_cutoff(row["cutoff"]): row["cutoff"] for row in self.rows if row.get(column) is not None}
            if cutoff != "each" and cutoff not in known:
                there = ", ".join(known) or "no cutoff"
                raise ConfigurationError(
                    f"measure: {column}@{cutoff} was not evaluated in this night; it was at {there}"
                )
            return column, known.get(cutoff, _usual(known.values()))
        if checks:
            return checks[0].get("measure", "ndcg"), checks[0]["cutoff"]
        if measure_set.pairs and measure_set.first:
            return MEASURES[measure_set.first[0]].column, measure_set.first[1]
        return "ndcg", _usual(row["cutoff"] for row in self.rows)

    @property
    def measure(self) -> str:
        """The measure as people write it: NDCG@10."""
        return f"{self.place[0].upper() if self.place[0] == 'ndcg' else self.place[0]}@{format_cutoff(self.place[1])}"

    @functools.cached_property
    def runs(self) -> list[str]:
        """The runs from the best to the worst."""
        order = Order(self.place[0], format_cutoff(self.place[1]), descending=True)
        return [rows[0]["run"] for rows in sorted_runs(self.rows, order)]

    @functools.cached_property
    def run(self) -> str:
        """The run that is shown in detail: the named one, that of the verdict, one that is worse, or the best."""
        if self.request.run is not None:
            if self.request.run not in self.runs:
                raise unknown_name("run", "run", self.request.run, self.runs)
            return self.request.run
        rows = self.compared.values() if self.baseline and self.baseline.dates else ()
        worse = sorted((row["difference"], row["run"]) for row in rows if row["conclusion"] == "worse")
        named = [self._decided, *(run for _, run in worse), *self.runs]
        return next((run for run in named if run in self.compared), self.runs[0])

    @property
    def mean(self) -> Row:
        """The run's row of DATASET_SCORES."""
        return self.scores[self.run, self.place[1]]

    @property
    def verdict(self) -> Row:
        """The verdict of the gate; empty without one."""
        return self.night.record["verdict"] or {}

    @property
    def _decided(self) -> str | None:
        """The run that the verdict is about."""
        results = ((row["result"], row["run"]) for row in self.verdict.get("results", ()))
        runs = dict(reversed(list(results)))
        return self.verdict.get("run") or runs.get("fail") or runs.get("undecided")

    def result(self, run: str) -> Row | None:
        """What the gate found about the mean of a run by the measure of the page."""
        if self.baseline is None or self.baseline.name is None:
            return None
        key = (run, self.place[0], format_cutoff(self.place[1]), None, False, self.baseline.name)
        names = ("run", "measure", "cutoff", "slice", "weighted", "baseline")
        results = self.verdict.get("results", ())
        return next((row for row in results if tuple(row[name] for name in names) == key), None)

    @functools.cached_property
    def baseline(self) -> Baseline | None:
        """What every number is compared with."""
        return choose(self.night, self.nights, self.runs, self.request.baseline, self.request.baseline_date)

    @functools.cached_property
    def _refused(self) -> str | None:
        """Why the night cannot be compared with its baseline."""
        baseline = self.baseline
        if baseline and baseline.dates and not baseline.nights:
            return f"The {baseline.label} is not kept as it was: nothing is compared."
        own = convention_key(self.night.record)
        if baseline and any(convention_key(other.record) != own for other in baseline.nights):
            return f"The {baseline.label} has another convention: nothing is compared."
        return None

    @property
    def _gate(self) -> Row:
        """The configuration of the gate, if it compared with the baseline of the page."""
        gate = self.night.record["configuration"].get("gate") if self.baseline and self.baseline.name else None
        return gate or {}

    @functools.cached_property
    def _sides(self) -> Sides | None:
        """The scores of the night and those of the baseline."""
        baseline, place, queries = self.baseline, self.place, Queries()
        if baseline is None or self._refused:
            return None
        (source,), others = of_nights([self.night]), of_nights(baseline.nights, "baseline")
        own = source.read(queries, [place], source.runs)
        theirs = mean_matrices(others, queries, [place], own)[place] if others else own[place]
        newest = datetime.date.fromisoformat(baseline.dates[-1]) if baseline.dates else None
        key = {
            "dataset": self.night.dataset,
            "evaluated_on": source.evaluated_on,
            "evaluation_id": self.night.evaluation_id,
            "baseline_night": newest,
            "baseline_nights": len(baseline.dates) or None,
        }
        pairs = [(run, baseline.of(run)) for run in source.runs if baseline.of(run) in theirs.runs]
        sides = Sides(own[place], theirs, place, key, [pair for pair in pairs if others or pair[0] != pair[1]])
        return dataclasses.replace(sides, only=~sides.rejudged) if self._gate.get("unchanged_queries") else sides

    @functools.cached_property
    def _compared(self) -> list[dict[str, Any]]:
        """Rows of COMPARISONS of every run and its slices, with the gate's own numbers where it decided."""
        if self._sides is None:
            return []
        names = ("alpha", "correction", "min_queries")
        options = ComparisonOptions(**{name: self._gate[name] for name in names if name in self._gate})
        rows = rows_of(self._sides, options, self.request.attributes or kept_attributes([self.night]))
        by_slice = {(row["run"], row["attribute"] and f"{row['attribute']}={row['value']}"): row for row in rows}
        for result in self.verdict.get("results", ()):
            row = by_slice.get((result["run"], result["slice"]))
            key = (result["measure"], result["cutoff"], result["baseline"], result["weighted"])
            if row and key == (
                self.place[0],
                format_cutoff(self.place[1]),
                self.baseline and self.baseline.name,
                False,
            ):
                decided = {name: result[name] for name in _DECIDED if result[name] is not None}
                row.update(decided, p_decides=row["p_decides"] if result["p"] is None else result["p"])
                row.update({"conclusion": "worse"} if result["result"] == "fail" else {})
        return rows

    @functools.cached_property
    def compared(self) -> dict[str, Row]:
        """How every run compares with its baseline."""
        return {row["run"]: row for row in self._compared if row["attribute"] is None}

    @property
    def row(self) -> Row | None:
        """How the run compares with its baseline."""
        return self.compared.get(self.run)

    @property
    def slices(self) -> Sequence[Row]:
        """How the slices of the run compare."""
        return [row for row in self._compared if row["run"] == self.run and row["attribute"] is not None]

    @functools.cached_property
    def causes(self) -> Sequence[Row]:
        """The share of the difference that each slice has, the largest first, as the gate has them.

        Those of the gate, where it decided about the run.
        """
        is_of_gate = self.baseline is not None and self.baseline.name is not None and self.run == self._decided
        shares: Sequence[Row] = self.verdict.get("causes") or () if is_of_gate else ()
        return shares or (causes(self.row, self.slices) if self.row else [])

    @functools.cached_property
    def queries(self) -> Sequence[QueryScore]:
        """The queries of the run, the largest loss first; without a baseline the lowest score."""
        sides, (measure, cutoff) = self._sides, self.place
        if sides is None or self.baseline is None or self.row is None:
            columns = ["query_id", measure]
            rows = night_rows(self.night, "query_scores", columns, cutoff=[cutoff], run=[self.run])
            queries = [QueryScore(row["query_id"], row[measure]) for row in rows if row[measure] is not None]
        else:
            own, theirs = sides.own.scores(self.run), sides.baseline.scores(self.baseline.of(self.run))
            paired = ~np.isnan(own - theirs)
            at = np.flatnonzero(paired if sides.only is None else paired & sides.only)
            names = sides.own.queries.ids.take(at).to_pylist()
            queries = list(map(QueryScore, names, own[at].tolist(), theirs[at].tolist()))
        return sorted(queries, key=lambda query: (round(query.change, 12), query.query_id))

    @property
    def compares(self) -> bool:
        """Whether its queries are compared with a baseline."""
        return any(query.before is not None for query in self.queries[:1])

    @functools.cached_property
    def ends(self) -> Sequence[QueryScore]:
        """The queries that are shown with their documents: those that lost and won most, or score least and most."""
        first, last = self.queries[:EXTREMES], self.queries[EXTREMES:][-EXTREMES:]
        if not self.compares:
            return [*first, *last]
        last = self.queries[-EXTREMES:]
        return [*(q for q in first if q.change < -_TIE), *(q for q in last if q.change > _TIE)]

    @functools.cached_property
    def anchors(self) -> dict[str, str]:
        """The ids on the page of the queries that are shown with their documents."""
        return {query.query_id: f"q{at}{self.id}" for at, query in enumerate(self.ends)}

    @property
    def id(self) -> str:
        """What the ids of its part of the page end with."""
        return f"-{zlib.crc32(self.night.dataset.encode()):x}"

    @functools.cached_property
    def documents(self) -> Mapping[str, Lists]:
        """The documents of queries that the night keeps: those at both ends, and of NDCG those that changed most."""
        is_ndcg = self.compares and self.place[0] == "ndcg" and self.place[1] is not None
        changed = [query for query in self.queries if abs(query.change) > _TIE] if is_ndcg else []
        explained = sorted(changed, key=lambda query: -abs(query.change))[:_EXPLAINED]
        names = list(dict.fromkeys(query.query_id for query in [*self.ends, *explained]))
        nights = list(self.baseline.nights) or [self.night] if self.baseline else []
        other, cutoff = self.baseline.of(self.run) if self.baseline else self.run, self.place[1] or _USUAL_CUTOFF
        own = facts_of_queries(self.night, [self.run], cutoff, names)
        lists = [facts_of_queries(night, [other], cutoff, names) for night in nights]
        found = {}
        for name in names:
            facts, theirs = own.get((self.run, name)), [each[other, name] for each in lists if (other, name) in each]
            if facts is not None:
                changes = changed_documents(facts, theirs) if theirs else []
                found[name] = Lists(facts, theirs[-1] if theirs else None, changes)
        return found

    @functools.cached_property
    def parts(self) -> Parts | None:
        """What happened to documents, and how much of the difference it is."""
        sums, lost, unjudged, covered = dict.fromkeys(("left", "down", "up", "came_in", "same_rank"), 0.0), 0.0, 0.0, []
        for query in self.queries if self.place[0] == "ndcg" else ():
            lists = self.documents.get(query.query_id)
            # Parts sum to the difference only where all lists that the baseline is the mean of are kept.
            if not lists or not lists.newest or abs(fsum(c.part for c in lists.changes) - query.change) > 1e-6:
                continue
            covered.append(abs(query.change))
            unjudged_ranks = {row.rank for row in lists.facts.listed if row.relevance is None}
            for change in lists.changes:
                sums[change.what] += change.part / len(self.queries)
                lost += min(change.part, 0.0)
                unjudged += min(change.part, 0.0) if change.baseline_rank in unjudged_ranks else 0.0
        if not covered:
            return None
        every = fsum(abs(query.change) for query in self.queries)
        shown = {what: value for what, value in sums.items() if abs(value) > _TIE}
        share = fsum(covered) / every if every else 1.0
        return Parts(shown, unjudged / lost if lost else 0.0, len(covered), share)

    @functools.cached_property
    def trend(self) -> TrendLine | None:
        """The last nights up to this one."""
        measure = f"{self.place[0]}@{format_cutoff(self.place[1])}"
        for line in lines(self.output, self.night.dataset, self.run, measure)[0]:
            points = [point for point in line.points if point.date <= self.night.evaluated_on]
            return dataclasses.replace(line, points=points[-_NIGHTS:]) if points else None
        return None

    @functools.cached_property
    def judged_before(self) -> float | None:
        """The mean judged rate of the run in the nights of the baseline."""
        if self.baseline is None or not self.baseline.nights:
            return None
        key = self.baseline.of(self.run), self.place[1]
        nights = read_dataset_scores(list(self.baseline.nights))
        rates = [row["judged_rate"] for rows in nights for row in rows if (row["run"], row["cutoff"]) == key]
        known = [rate for rate in rates if rate is not None]
        return fsum(known) / len(known) if known else None

    @functools.cached_property
    def never_returned(self) -> tuple[int, int] | None:
        """How many judged documents with a gain no run returned within the kept depth, and of how many."""
        if not 0 < self.night.kept_rows("ranked_documents") <= _COUNTED:
            return None
        rows = read_rows([self.night], "ranked_documents", ["run", "query_id", "doc_id", "gain"])
        returned = rows.filter(pc.is_valid(rows["run"])).group_by(["query_id", "doc_id"]).aggregate([])
        good = rows.filter(pc.and_(pc.is_null(rows["run"]), pc.greater(rows["gain"], 0)))
        never = good.join(returned, ["query_id", "doc_id"], join_type="left anti")
        return (never.num_rows, good.num_rows) if good.num_rows else None

    @property
    def has_documents(self) -> bool:
        """Whether the night keeps documents."""
        return bool(self.night.kept_rows("ranked_documents"))

    @property
    def kept_depth(self) -> Cutoff:
        """The rank down to which documents are kept."""
        return max(cutoff or 0 for _, cutoff in self.scores)

    @property
    def same_results(self) -> str | None:
        """The date of the last night, or that of the baseline, if its results are identical."""
        own, nights = self.night.row["results_fingerprint"], self.baseline.nights[-1:] if self.baseline else ()
        same = (night.evaluated_on for night in nights if own and own == night.row["results_fingerprint"])
        return self.verdict.get("same_results") or next(same, None)

    @property
    def warnings(self) -> Sequence[str]:
        """Why nothing is compared, or how many queries have other judgments; and what the gate warns of."""
        said, sides = [self._refused] if self._refused else [], self._sides
        changed = 0 if sides is None else int(sides.rejudged.sum())
        if sides is not None and self.baseline is not None and changed:
            left_out = "left out" if sides.only is not None else "which changes scores, too"
            said.append(f"{changed:,} queries have other judgments than in the {self.baseline.label}: {left_out}.")
        return [*said, *self.verdict.get("warnings", ())]


#: What a page takes over from the gate.
_DECIDED = ("mean", "baseline_mean", "difference", "interval_low", "interval_high", "queries")


def _usual(cutoffs: Iterable[Cutoff]) -> Cutoff:
    """The cutoff nearest to the usual one; the whole ranking only if there is no other."""
    ranks = [cutoff for cutoff in cutoffs if cutoff is not None]
    return min(ranks, key=lambda rank: (abs(rank - _USUAL_CUTOFF), rank), default=None)
