"""The numbers of a page about one night of a dataset, and the one baseline that all are compared with."""

import functools
import hashlib
from collections.abc import Container, Mapping, Sequence
from math import fsum
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np
import pyarrow.compute as pc

from ndcg_spark.comparison.differences import ComparisonOptions, Sides, explains, slice_causes
from ndcg_spark.comparison.matrix import read_attributes
from ndcg_spark.comparison.sources import ScoreCache, both_sides
from ndcg_spark.comparison.trend import History, TrendLine
from ndcg_spark.convention.measures import COLUMNS, format_cutoff
from ndcg_spark.explanation.explain import Facts, changed_documents
from ndcg_spark.job.explain import read_facts
from ndcg_spark.nights.log import Night
from ndcg_spark.nights.read import night_rows, read_rows, returned_nothing
from ndcg_spark.report.baselines import Request, outline, shown_points, shown_rows
from ndcg_spark.report.words import LEAST_SHARE, TONES
from ndcg_spark.text import day
from ndcg_spark.tolerance import DECIMALS, EQUAL

Row = Mapping[str, Any]
#: How many queries are shown with their documents, of those that lost most and of those that won most.
_EXTREMES = 20
#: The parts of a loss are those of at most so many queries: those that changed most.
_EXPLAINED = 1_000
#: With more kept documents than this, missing judged ones are not counted.
_COUNTED = 10_000_000


class QueryScore(NamedTuple):
    query_id: str
    score: float
    before: float | None
    #: The difference, or the score.
    change: float
    #: Of how many nights `before` is the mean.
    nights: int | None = None


class Lists(NamedTuple):
    """The documents of a query: tonight's, those of the newest night of the baseline, and what changed."""

    facts: Facts
    newest: Facts | None
    changes: Sequence[Row]
    #: The date of the newest night of the baseline that has them.
    newest_on: str | None = None


class NightData:
    """The numbers of a page about one night of a dataset."""

    def __init__(self, history: History, night: Night, request: Request) -> None:
        self.request, self.night, self.verdict = request, night, night.record["verdict"] or {}
        self.outline, self._history = outline(history, night, request), history
        self.results: Sequence[Row] = self.verdict.get("results", ())
        gate = night.record["configuration"].get("gate") or {}
        self.metric = self.outline.metric
        self.measure = f"{self.metric[0].replace('ndcg', 'NDCG')}@{format_cutoff(self.metric[1])}"
        #: The dataset scores of every run, by run and cutoff, and the runs from the best to the worst.
        rows, everyone = history.scores(night), self.outline.runs
        self.scores = {(row["run"], row["cutoff"]): row for row in rows}
        #: The runs that returned nothing, whose scores say nothing.
        self.silent = sorted({row["run"] for row in rows if returned_nothing(row)})
        self.runs = [run for run in everyone if run not in self.silent] or list(everyone)
        self.baseline, self.failed_before = self.outline.baseline, self.outline.failed_before
        self._gate: Row = gate if self.baseline.name else {}
        self.level = f"{100 * (1 - self._gate.get('alpha', 0.05)):g} %"
        self._sides = self._read_sides()
        attributes = read_attributes([night]) if request.attributes is None else request.attributes
        self.options = ComparisonOptions(alpha=self._gate.get("alpha", 0.05), attributes=attributes)
        #: `decided_by_gate`: the runs whose p and conclusion are those of the gate, which adjusts for its own checks.
        compared, self.decided_by_gate = self._compare()
        self.compared = {row["run"]: row for row in compared if row["attribute"] is None}
        self.run = request.run or self._chosen()
        self.mean, self.row = self.scores[self.run, self.metric[1]], self.compared.get(self.run)
        self.slices = [row for row in compared if row["run"] == self.run and row["attribute"] is not None]
        #: The runs that the baseline does not have.
        self.new = [run for run in self.runs if self.baseline.nights and run not in self.compared]
        #: The share of the difference that each slice has, the largest first; and the one that explains most.
        self.causes = slice_causes(self._sides, self.row, self.slices, attributes) if self._sides and self.row else []
        self.cause = next(filter(explains, self.causes), None)
        #: What should have arrived.
        self.missing = self._missing_results()
        #: The queries of the run, the largest loss first; without a baseline the lowest score.
        self.queries = sorted(self._queries(), key=lambda query: (round(query.change, DECIMALS), query.query_id))
        self.compares = any(query.before is not None for query in self.queries[:1])
        #: The queries that are shown with their documents: those that lost and won most, or score least and most.
        self.ends = list(dict.fromkeys([*self.queries[:_EXTREMES], *self.queries[-_EXTREMES:]]))
        if self.compares:
            self.ends = [query for query in self.ends if abs(query.change) > EQUAL]
        #: The end of the anchors of the dataset, which no other dataset has.
        self.id = f"-{hashlib.blake2s(night.dataset.encode(), digest_size=16).hexdigest()}"
        self.anchors = {query.query_id: f"q{at}{self.id}" for at, query in enumerate(self.ends)}
        self.has_documents = bool(night.kept_rows("ranked_documents"))
        self.documents = self._documents()
        parts = self._parts() if self.metric[0] == "ndcg" else None
        #: The share of all change in queries whose documents are kept, and what moved there.
        self.kept_share = parts["share"] if parts else None
        self.parts = parts if parts and self._explains(parts) else None
        #: The last nights up to this one, and the mean judged rate in those of the baseline.
        points = shown_points(history, self.outline, self.run)
        self.trend = TrendLine(night.dataset, self.run, *self.metric, points)
        dates = [] if self.baseline.run else [night.evaluated_on for night in self.baseline.nights]
        rates = history.points(night.dataset, self.run, "judged_rate", self.metric[1])
        known = [point.value for point in rates if point.date in dates and point.value is not None]
        self.judged_before = fmean(known) if known else None
        #: How many judged documents with a gain no run returned within the kept depth, and of how many.
        self.never_returned = self._never_returned()
        self.warnings = self._warnings()
        if night.unverified is not None:
            self.warnings.insert(0, f"The scores of this night are not verified: {night.unverified}")
        # Another of these nights might be the baseline, and the trend lacks them.
        unread = history.nights.damaged_between("", night.evaluated_on)
        for date in unread:
            self.warnings.append(f"The night of {day(date)} is left out, as its log cannot be read")

    def _missing_results(self) -> list[Row]:
        """What should have arrived by the gate, and the runs that returned nothing."""
        missing = [row for row in self.results if row["check"] == "gate" and row["reason"][:8] == "missing_"]
        named = [row["run"] for row in missing]
        for run in self.silent:
            if run not in named:
                sentence = f"{run} returned nothing in this night"
                missing.append({"run": run, "reason": "missing_run", "sentence": sentence})
        return missing

    def _warnings(self) -> list[str]:
        warnings = list(self.verdict.get("warnings", ()))
        # Where these queries are left out, the gate says how many they are.
        if self._sides and self._sides.only is None and self._sides.rejudged.any():
            many = int(self._sides.rejudged.sum())
            queries = "1 query" if many == 1 else f"{many:,} queries"
            warnings.insert(
                0, f"The judgments of {queries} changed since {self.baseline.label}; that alone changes scores"
            )
        previous, there = self.outline.previous, {*self.runs, *(row["run"] for row in self.missing)}
        if previous is None:
            return warnings
        rows = [row for row in self._history.scores(previous) if not returned_nothing(row)]
        gone = {row["run"] for row in rows} - there
        on = day(previous.evaluated_on)
        return warnings + [f"{run} had scores on {on} and has none tonight" for run in sorted(gone)]

    def result(self, run: str) -> Row | None:
        """The result of the gate for the mean of a run by the measure of the page against its baseline."""
        wanted: Row = {"run": run, "measure": self.metric[0], "cutoff": format_cutoff(self.metric[1])}
        wanted = {**wanted, "slice": None, "weighted": False, "baseline": self.baseline.name}
        return next((row for row in self.results if self.baseline.name and wanted.items() <= row.items()), None)

    def counted(self, run: str) -> int:
        """How many queries of the night the mean of a run is over."""
        row = self.scores[run, self.metric[1]]
        return (row["relevant_queries"] if self.metric[0] in COLUMNS else row["queries"]) or 0

    @property
    def deepest(self) -> int | None:
        """The deepest rank at which the night was evaluated; None if it was so only on the whole ranking."""
        return max((cutoff for _, cutoff in self.scores if cutoff is not None), default=None)

    @property
    def most_explained(self) -> int:
        """How many queries the parts of the difference are of, if their documents are kept: those that changed most."""
        return min(len(self.queries), _EXPLAINED)

    @property
    def can_explain(self) -> bool:
        """Whether lists of tonight would show what moved: the baseline is a run of the night, or keeps its lists."""
        nights = self.baseline.nights
        return not nights or any(night.kept_rows("ranked_documents") for night in nights)

    def _chosen(self) -> str:
        decided = [row["run"] for word in ("fail", "undecided") for row in self.results if row["result"] == word]
        rows = self.compared.values() if self.baseline.nights else ()
        worse = sorted((row["difference"], row["run"]) for row in rows if row["conclusion"] == "worse")
        broken = filter(self._lost_queries, self.runs if self.baseline.nights else ())
        named = [self.verdict.get("run"), *decided, *(run for _, run in worse), *broken, *self.runs]
        return next((run for run in named if run in self.compared), self.runs[0])

    def _read_sides(self) -> Sides | None:
        if not (self.baseline.nights or self.baseline.run):
            return None
        sides = both_sides(self.baseline, self.night, self.metric, ScoreCache(self._history.scores))
        return sides.without_rejudged() if self._gate.get("unchanged_queries") else sides

    def _compare(self) -> tuple[list[dict[str, Any]], list[str]]:
        rows: list[dict[str, Any]] = []
        if self._sides:
            slices = self.request.attributes
            rows = shown_rows(self.outline, self._sides, self.options, slices)
        decided = []
        for row in rows:
            result = self.result(row["run"]) if row["attribute"] is None else None
            # The page says of a loss what the gate says of it. Of what passes, the gate may know the t test alone.
            word = {"fail": "worse", "undecided": "cannot_tell"}.get(result["result"] if result else "")
            if result and word and "worse" in (word, row["conclusion"]):
                row["p_decides"], row["conclusion"] = result["p"], word
                row["flags"] = [flag for flag in row["flags"] if flag != "doubt"]
                decided.append(row["run"])
        return rows, decided

    def _queries(self) -> list[QueryScore]:
        measure, cutoff = self.metric
        if self._sides is None or self.row is None:
            columns = ["query_id", measure]
            rows = night_rows(self.night, "query_scores", columns, cutoff=[cutoff], run=[self.run])
            known = {row["query_id"]: row[measure] for row in rows if row[measure] is not None}
            return [QueryScore(query_id, score, None, score) for query_id, score in known.items()]
        own, theirs = self._sides.scores(self.run, self.baseline.run or self.run)
        at = np.flatnonzero(~np.isnan(own - theirs))
        ids = self._sides.own.queries.ids.take(at).to_pylist()
        nights = self._sides.baseline.night_counts(self.baseline.run or self.run)
        apart = own - theirs
        scores = own[at].tolist(), theirs[at].tolist(), apart[at].tolist()
        return list(map(QueryScore, ids, *scores, nights[at].tolist()))

    @functools.cached_property
    def unanswered(self) -> tuple[int, int, float] | None:
        """How many queries have no results, how many at most in the baseline, and their share; None if not more."""
        lost = self._lost_queries(self.run)
        if lost is None:
            return None
        share = self._share(self._unanswered_queries(self.night, self.run))
        return *lost, share if self.row and (self.row["difference"] or 0.0) < 0 else 0.0

    def _lost_queries(self, run: str) -> tuple[int, int] | None:
        key, now = (self.baseline.run or run, self.metric[1]), self.scores[run, self.metric[1]]["missing_queries"] or 0
        before = [row["missing_queries"] or 0 for row in self._rows_before if (row["run"], row["cutoff"]) == key]
        return (now, max(before)) if before and now > max(before) else None

    @functools.cached_property
    def _rows_before(self) -> list[Row]:
        nights = self.baseline.nights or ([self.night] if self.baseline.run else [])
        return [row for night in nights for row in self._history.scores(night)]

    @functools.cached_property
    def answered(self) -> tuple[int, float] | None:
        """How many queries had no results in the newest night of the baseline and have some, and their share."""
        if not self.baseline.nights or self.baseline.run or self.row is None or (self.row["difference"] or 0.0) <= 0:
            return None
        before = self._unanswered_queries(self.baseline.nights[-1], self.run)
        again = before - self._unanswered_queries(self.night, self.run) if before else before
        return (len(again), self._share(again)) if again else None

    def _unanswered_queries(self, night: Night, run: str) -> set[str]:
        at: dict[str, Sequence[Any]] = {"cutoff": [self.metric[1]], "run": [run], "status": ["missing"]}
        return {row["query_id"] for row in night_rows(night, "query_scores", ["query_id"], **at)}

    def _share(self, of: Container[str]) -> float:
        """Their share of the difference."""
        total = fsum(query.change for query in self.queries)
        return fsum(query.change for query in self.queries if query.query_id in of) / total if total else 0.0

    def _documents(self) -> dict[str, Lists]:
        is_ndcg = self.compares and self.metric[0] == "ndcg" and self.metric[1] is not None
        # Those that did not change too, as what moved within them may cancel out.
        explained = sorted(self.queries, key=lambda query: -abs(query.change))[:_EXPLAINED] if is_ndcg else []
        names = list(dict.fromkeys(query.query_id for query in [*self.ends, *explained]))
        nights, other, cutoff = self.baseline.nights, self.baseline.run or self.run, self.metric[1] or self.deepest
        lists = [read_facts(night, [other], cutoff, names) for night in (nights or [self.night] * self.compares)]
        documents = {}
        for (_, name), facts in read_facts(self.night, [self.run], cutoff, names).items():
            known = [(at, by_key[other, name]) for at, by_key in enumerate(lists) if (other, name) in by_key]
            changes = changed_documents(facts, [theirs for _, theirs in known]) if known else []
            newest_on = nights[known[-1][0]].evaluated_on if nights and known else None
            documents[name] = Lists(facts, known[-1][1] if known else None, changes, newest_on)
        return documents

    def _parts(self) -> Row | None:
        """The parts of the difference by what happened to documents, and what share of all change they cover."""
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
        shown = {what: value for what, value in sums.items() if abs(value) > EQUAL}
        share = fsum(covered) / total if total else 1.0
        # Where all judgments have one grade, as clicks do, unjudged documents are as good as judged ones without it.
        known = {grade for lists in self.documents.values() for grade, _ in lists.facts.judged.values()}
        unjudged = unjudged / lost if lost and len(known) > 1 else 0.0
        return {"sums": shown, "unjudged": unjudged, "queries": len(covered), "share": share} if covered else None

    def _explains(self, parts: Row) -> bool:
        """Whether what moved in some queries says why the run has changed."""
        if parts["share"] < LEAST_SHARE:
            return False
        row, moved = self.row or {}, fsum(parts["sums"].values())
        return row.get("conclusion") not in TONES or moved * row["difference"] > 0

    def _never_returned(self) -> tuple[int, int] | None:
        keeps_all = self.night.record["configuration"].get("documents") == "all"
        if not (keeps_all and 0 < self.night.kept_rows("ranked_documents") <= _COUNTED):
            return None
        rows = read_rows([self.night], "ranked_documents", ["run", "query_id", "doc_id", "gain"])
        returned = rows.filter(pc.is_valid(rows["run"])).group_by(["query_id", "doc_id"]).aggregate([])
        good = rows.filter(pc.and_(pc.is_null(rows["run"]), pc.greater(rows["gain"], 0)))
        never = good.join(returned, ["query_id", "doc_id"], join_type="left anti")
        return (never.num_rows, good.num_rows) if good.num_rows else None
