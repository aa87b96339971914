"""The numbers on the page of one night of a dataset."""

import dataclasses
import functools
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from math import fsum
from statistics import fmean
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from ndcg_spark.comparison.baselines import Baseline
from ndcg_spark.comparison.differences import Sides, explains_change
from ndcg_spark.comparison.human_grades import HumanEstimate, estimate
from ndcg_spark.comparison.matrix import ScoreMatrix
from ndcg_spark.comparison.trend import History, TrendLine, counted_in
from ndcg_spark.convention.measures import measure_at
from ndcg_spark.errors import InputError
from ndcg_spark.nights.copies import keeps_whole_lists
from ndcg_spark.nights.log import Night
from ndcg_spark.nights.reader import answering_runs, night_rows, read_rows
from ndcg_spark.report.compared_page import (
    ComparedRuns,
    QueryScore,
    chain_queries,
    compare_shown,
    gate_result,
)
from ndcg_spark.report.moved import Moved, QueryLists, read_lists, what_moved
from ndcg_spark.report.outline import (
    Outline,
    Request,
    checks_of,
    level_points,
    outline,
    shown_points,
)
from ndcg_spark.report.usual_range import UsualRange, usual_range
from ndcg_spark.tolerance import DECIMALS, EQUAL

Row = Mapping[str, Any]
#: How many queries at each end are shown with their documents: the largest losses and gains.
_EXTREMES = 20
#: Above this number of kept documents, missing judged documents are not counted.
_COUNTED = 10_000_000


class Unanswered(NamedTuple):
    """A run's queries that have no results, if there are more of them than before."""

    now: int
    #: The largest number on any of the baseline's nights.
    before: int
    #: Their share of the difference.
    share: float = 0.0


class Answered(NamedTuple):
    """The queries that have results now but had none in the baseline's newest night."""

    queries: int
    #: Their share of the difference.
    share: float


class NeverReturned(NamedTuple):
    """The judged documents with a gain that no run returned within the kept depth."""

    documents: int
    #: The number of all judged documents with a gain.
    relevant: int


@dataclasses.dataclass(frozen=True)
class NightPage:
    """The numbers that a page shows for one night of a dataset; made by `load_night`."""

    outline: Outline
    #: The output folder as commands name it; None if it is not kept.
    output: str | None
    #: Every run's dataset scores, by run and cutoff.
    scores: Mapping[tuple[str, int | None], Row]
    #: The runs from best to worst, without those that returned nothing.
    runs: Sequence[str]
    silent: Sequence[str]
    compared_with: ComparedRuns
    #: The run that the page is about.
    run: str
    #: Each slice's share of its difference, the largest first.
    causes: Sequence[Row]
    #: Its queries, the largest loss first, or the lowest score first without a baseline.
    queries: Sequence[QueryScore]
    #: The documents by query id, and what happened to them.
    documents: Mapping[str, QueryLists]
    moved: Moved | None
    #: The last nights up to this one, and the mean judged rate in the baseline's nights.
    trend: TrendLine
    usual: UsualRange | None
    judged_before: float | None
    never_returned: NeverReturned | None
    unanswered: Unanswered | None
    answered: Answered | None
    #: Runs that had scores the night before and have none now.
    gone: Sequence[str]
    #: Earlier dates whose log entry cannot be read.
    unread: Sequence[str]
    #: What human grades say about the night, if requested.
    human: HumanEstimate | None = None

    @property
    def night(self) -> Night:
        return self.outline.night

    @property
    def request(self) -> Request:
        return self.outline.request

    @property
    def baseline(self) -> Baseline:
        return self.outline.baseline

    @property
    def metric(self) -> tuple[str, int | None]:
        return self.outline.metric

    @property
    def measure(self) -> str:
        """The measure as it is written for people: `NDCG@10`."""
        column, cutoff = self.metric
        return measure_at(column.replace("ndcg", "NDCG"), cutoff)

    @functools.cached_property
    def record(self) -> Row:
        """The night's row of the log, with its JSON columns as values."""
        return self.night.record

    @property
    def verdict(self) -> Row:
        """The gate's verdict; empty without a gate."""
        return self.outline.verdict

    @property
    def results(self) -> Sequence[Row]:
        """The results of the gate's checks."""
        return self.outline.results

    @property
    def compared(self) -> Mapping[str, Row]:
        """The rows of COMPARISONS for all queries, by run."""
        return self.compared_with.rows

    @property
    def row(self) -> Row | None:
        """The run compared with the baseline: its row of COMPARISONS for all queries."""
        return self.compared.get(self.run)

    @property
    def mean(self) -> Row:
        """The run's dataset scores."""
        return self.scores[self.run, self.metric[1]]

    @property
    def slices(self) -> Sequence[Row]:
        """The rows of COMPARISONS for the run's slices."""
        return self.compared_with.slices.get(self.run, [])

    @property
    def cause(self) -> Row | None:
        """The slice that explains most of the difference."""
        return next(filter(explains_change, self.causes), None)

    @property
    def new(self) -> Sequence[str]:
        """The runs that their baselines do not have."""
        compared = self.compared_with
        if not self.baseline.nights or compared.refused or compared.chains:
            return []
        known = {*self.compared, *self.unknown_ids, *compared.left_out}
        return [run for run in self.runs if run not in known]

    @property
    def left_out(self) -> Sequence[str]:
        """The runs whose own baselines cannot be shown."""
        left_out = self.compared_with.left_out
        return [run for run in self.runs if run in left_out and run not in self.unknown_ids]

    @functools.cached_property
    def unknown_ids(self) -> Mapping[str, str]:
        """A sentence for each run whose document ids are in no judgment."""
        return self.night.unmeasured

    @property
    def over_change(self) -> bool:
        """Whether the night's and its baseline's judgments differ, so that there are two sides."""
        return self.outline.over_change

    @property
    def is_of_catalog(self) -> bool:
        """Whether more of the measure is neither better nor worse."""
        return self.outline.is_of_catalog

    @property
    def links(self) -> Sequence[Row]:
        """By how much the runs changed across the change of judgments that starts this night."""
        return list(self.record.get("links") or ())

    @property
    def is_concluded(self) -> bool:
        """Whether the run is known to be better or worse."""
        return self.row is not None and self.row["conclusion"] in ("better", "worse")

    @property
    def missing(self) -> Sequence[Row]:
        """What the gate reports as missing, and the runs that returned nothing."""
        missing = [row for row in self.results if _has_not_arrived(row)]
        reported = [row["run"] for row in missing]
        for run in self.silent:
            if run not in reported:
                sentence = f"{run} returned nothing for this night"
                missing.append({"run": run, "reason": "missing_run", "sentence": sentence})
        return missing

    @property
    def compares(self) -> bool:
        """Whether the queries are compared with earlier scores, or with those of another run."""
        return _are_compared(self.queries)

    @functools.cached_property
    def ends(self) -> Sequence[QueryScore]:
        """The queries that are shown with their documents."""
        return _both_ends(self.queries)

    @property
    def id(self) -> str:
        """The suffix of the dataset's anchors, which is unique to it."""
        digest = hashlib.blake2s(self.night.dataset.encode(), digest_size=16)
        return f"-{digest.hexdigest()}"

    @functools.cached_property
    def anchors(self) -> Mapping[str, str]:
        """The anchors of the queries that are shown with their documents."""
        end = self.id
        return {query.query_id: f"q{at}{end}" for at, query in enumerate(self.ends)}

    @property
    def has_documents(self) -> bool:
        """Whether the night keeps its lists' documents."""
        return bool(self.night.kept_rows("ranked_documents"))

    @property
    def deepest(self) -> int | None:
        """The night's deepest cutoff; None if it was evaluated only on whole rankings."""
        return _deepest(self.scores)

    def value(self, run: str) -> float | None:
        """A run's mean by the page's measure."""
        score: float | None = self.scores[run, self.metric[1]].get(self.metric[0])
        return score

    def counted(self, run: str) -> int:
        """The number of the night's queries that the mean of a run covers."""
        row = self.scores[run, self.metric[1]]
        return row[counted_in(self.metric[0])] or 0

    def result(self, run: str) -> Row | None:
        """The gate's result for a run's mean by the page's measure and baseline."""
        return gate_result(self.outline, self.results, run)


def load_night(
    history: History,
    night: Night,
    request: Request,
    output: str | None = None,
) -> NightPage:
    """Load what a page shows of a night. ConfigurationError if it lacks what is requested."""
    shown = outline(history, night, request)
    rows = history.scores(night)
    scores = {(row["run"], row["cutoff"]): row for row in rows}
    silent = sorted(set(shown.runs) - answering_runs(rows))
    # If no run returned anything, all of them are shown.
    runs = [run for run in shown.runs if run not in silent] or list(shown.runs)
    compared = compare_shown(history, shown)
    before = _rows_before(history, shown)
    # The run that the page is about.
    human = _human_estimate(history, night, request)
    run = _requested_run(request, human) or _chosen_run(shown, runs, compared, scores, before)
    of_run = shown.about(run)
    if of_run is not shown:
        shown = of_run
        compared = compare_shown(history, shown)
        before = _rows_before(history, shown)
    # Its queries, and how they changed if they are compared.
    queries = _query_scores(history, shown, compared, run)
    changes = _changes(queries)
    # Their documents. Across a change of judgments, no movement explains a change.
    measure, cutoff = shown.metric
    ends = [query.query_id for query in _both_ends(queries)]
    explained = {} if shown.over_change else changes
    documents = read_lists(shown, run, cutoff or _deepest(scores), ends, explained)
    can_show_moved = measure == "ndcg" and not shown.over_change
    points = shown_points(history, shown, run)
    level = level_points(history, shown, run)
    return NightPage(
        outline=shown,
        output=output,
        scores=scores,
        runs=runs,
        silent=silent,
        compared_with=compared,
        run=run,
        causes=compared.causes(run),
        queries=queries,
        documents=documents,
        moved=what_moved(documents, changes) if can_show_moved else None,
        trend=TrendLine(night.dataset, run, *shown.metric, points),
        usual=usual_range(level, is_of_catalog=shown.is_of_catalog),
        judged_before=_judged_before(history, shown, run),
        never_returned=_never_returned(night),
        unanswered=_no_longer_answered(shown, compared, run, scores, before, changes),
        answered=_answered_again(shown, compared, run, changes),
        gone=_gone_runs(history, shown, runs, silent),
        # One of these nights might be the baseline, and they are missing from the trend.
        unread=history.nights.damaged_between("", night.evaluated_on),
        human=human,
    )


def _requested_run(request: Request, human: HumanEstimate | None) -> str | None:
    if request.run is None and human is not None:
        return human.pair.run
    return request.run


def _human_estimate(history: History, night: Night, request: Request) -> HumanEstimate | None:
    """What human grades say about this night; None if they belong to a different dataset."""
    if request.human is None:
        return None
    found = estimate(history.nights, request.human)
    if found.pair.night.dataset != night.dataset:
        return None
    if found.pair.night != night:
        raise InputError(f"human: it is a sample from {found.pair.night}; show that night")
    return found


def _has_not_arrived(result: Row) -> bool:
    """Whether one of the gate's results says that a run or a dataset is missing."""
    return result["check"] == "gate" and str(result["reason"]).startswith("missing_")


def _deepest(scores: Iterable[tuple[str, int | None]]) -> int | None:
    return max((cutoff for _, cutoff in scores if cutoff is not None), default=None)


def _are_compared(queries: Sequence[QueryScore]) -> bool:
    """Whether the queries have a score before; if one of them has, all have."""
    return bool(queries) and queries[0].before is not None


def _changes(queries: Sequence[QueryScore]) -> dict[str, float]:
    """The change of each query; empty if they are not compared."""
    if not _are_compared(queries):
        return {}
    return {query.query_id: query.change for query in queries}


def _both_ends(queries: Sequence[QueryScore]) -> list[QueryScore]:
    """The queries with the largest losses and gains, or the lowest and highest scores."""
    # If there are few queries, one may be at both ends.
    ends = list(dict.fromkeys([*queries[:_EXTREMES], *queries[-_EXTREMES:]]))
    if _are_compared(queries):
        return [query for query in ends if abs(query.change) > EQUAL]
    return ends


def _chosen_run(
    shown: Outline,
    runs: Sequence[str],
    compared: ComparedRuns,
    scores: Mapping[tuple[str, int | None], Row],
    before: Sequence[Row],
) -> str:
    """The verdict's run, or one that is worse, or that of the first check, or the best.

    If the verdict is `none`, nothing can be concluded, so the first check's run comes before
    a worse run.
    """
    verdict = shown.verdict
    candidates = _runs_of_verdict(verdict)
    checked = _runs_of_first_check(shown.night, runs)
    if shown.baseline.nights and verdict.get("verdict") != "none":
        candidates += _worse_runs(compared)
        if not checked:
            candidates += [run for run in runs if _lost_answers(shown, run, scores, before)]
    candidates += [*checked, *runs]
    for run in candidates:
        if run in compared.rows:
            return run
    # No run is compared with anything.
    return (checked or runs)[0]


def _runs_of_verdict(verdict: Row) -> list[str]:
    """The verdict's run, then the runs that failed, then the undecided ones."""
    failed = []
    undecided = []
    for row in verdict.get("results", ()):
        if row["result"] == "fail":
            failed.append(row["run"])
        elif row["result"] == "undecided":
            undecided.append(row["run"])
    named = [verdict["run"]] if verdict.get("run") else []
    return named + failed + undecided


def _worse_runs(compared: ComparedRuns) -> list[str]:
    """The runs that are worse than the baseline, the largest fall first."""
    falls = []
    for run, row in compared.rows.items():
        if row["conclusion"] == "worse":
            falls.append((round(row["difference"], DECIMALS), run))
    return [run for _, run in sorted(falls)]


def _runs_of_first_check(night: Night, runs: Sequence[str]) -> list[str]:
    """The runs that the gate's first check names and the night has."""
    checks = checks_of(night)
    named = checks[0].get("runs") if checks else None
    return [run for run in named or () if run in runs]


def _query_scores(
    history: History,
    shown: Outline,
    compared: ComparedRuns,
    run: str,
) -> list[QueryScore]:
    """A run's queries, with the scores before if the run is compared."""
    if run in compared.chains:
        queries = chain_queries(shown, history, compared, run)
    elif compared.sides is not None and run in compared.rows:
        queries = _compared_scores(compared.sides, run, shown.baseline.run or run)
    else:
        queries = _scores_of_night(shown, run)
    return sorted(queries, key=_by_change)


def _by_change(query: QueryScore) -> tuple[float, str]:
    """A sort key that puts the largest loss first."""
    return round(query.change, DECIMALS), query.query_id


def _scores_of_night(shown: Outline, run: str) -> list[QueryScore]:
    measure, cutoff = shown.metric
    columns = ["query_id", measure]
    rows = night_rows(shown.night, "query_scores", columns, cutoff=[cutoff], run=[run])
    known = {row["query_id"]: row[measure] for row in rows if row[measure] is not None}
    return [QueryScore(query_id, score, None, score) for query_id, score in known.items()]


def _compared_scores(sides: Sides, run: str, baseline: str) -> list[QueryScore]:
    """The queries for which both a run and its baseline have a score."""
    own, before = sides.scores(run, baseline)
    changes = own - before
    nights = sides.baseline.night_counts(baseline)
    at = np.flatnonzero(~np.isnan(changes))
    query_ids = sides.own.queries.ids.take(at).to_pylist()
    numbers = np.column_stack([own[at], before[at], changes[at]]).tolist()
    queries = []
    for query_id, row, many in zip(query_ids, numbers, nights[at].tolist(), strict=True):
        score, was, change = row
        queries.append(QueryScore(query_id, score, was, change, many))
    return queries


def _rows_before(history: History, shown: Outline) -> list[Row]:
    """The dataset scores that the night is compared with."""
    nights: Sequence[Night] = shown.baseline.nights
    if not nights and shown.baseline.run:
        nights = [shown.night]
    rows: list[Row] = []
    for night in nights:
        rows += history.scores(night)
    return rows


def _lost_answers(
    shown: Outline,
    run: str,
    scores: Mapping[tuple[str, int | None], Row],
    before: Sequence[Row],
) -> Unanswered | None:
    """The queries without results; None if one of the baseline's nights had as many of them."""
    cutoff = shown.metric[1]
    baseline = shown.baseline.run or run
    now = scores[run, cutoff]["missing_queries"] or 0
    counts = []
    for row in before:
        if row["run"] == baseline and row["cutoff"] == cutoff:
            counts.append(row["missing_queries"] or 0)
    most = max(counts, default=now)
    return Unanswered(now, most) if now > most else None


def _no_longer_answered(
    shown: Outline,
    compared: ComparedRuns,
    run: str,
    scores: Mapping[tuple[str, int | None], Row],
    before: Sequence[Row],
    changes: Mapping[str, float],
) -> Unanswered | None:
    """The queries that lost their results, with their share of the run's loss."""
    lost = _lost_answers(shown, run, scores, before)
    if lost is None or compared.sides is None or compared.difference(run) >= 0:
        return lost
    own = compared.sides.own
    return lost._replace(share=_share(changes, _ids(own, own.unanswered(run))))


def _answered_again(
    shown: Outline,
    compared: ComparedRuns,
    run: str,
    changes: Mapping[str, float],
) -> Answered | None:
    """The queries that have results again; None unless the run gained against earlier nights."""
    sides = compared.sides
    if sides is None or compared.difference(run) <= 0:
        return None
    if not shown.baseline.nights or shown.baseline.run:
        # The run is compared with a different run, not with its own earlier nights.
        return None
    own = sides.own
    again = _ids(own, sides.baseline.unanswered(run) & ~own.unanswered(run))
    again &= changes.keys()
    return Answered(len(again), _share(changes, again)) if again else None


def _ids(matrix: ScoreMatrix, mask: NDArray[np.bool_]) -> set[str]:
    """The ids of a matrix's queries that a mask selects."""
    return set(matrix.queries.ids.filter(pa.array(mask)).to_pylist())


def _share(changes: Mapping[str, float], queries: set[str]) -> float:
    """The share of the run's difference that comes from these queries."""
    total = fsum(changes.values())
    part = fsum(change for query, change in changes.items() if query in queries)
    return part / total if total else 0.0


def _judged_before(history: History, shown: Outline, run: str) -> float | None:
    """A run's mean judged rate over the baseline's nights."""
    if shown.baseline.run:
        return None
    dates = [night.evaluated_on for night in shown.baseline.nights]
    points = history.points(shown.night.dataset, run, "judged_rate", shown.metric[1])
    rates = [point.value for point in points if point.date in dates and point.value is not None]
    return fmean(rates) if rates else None


def _gone_runs(
    history: History,
    shown: Outline,
    runs: Sequence[str],
    silent: Sequence[str],
) -> list[str]:
    """The runs that had scores the night before and have none now, if no check reports them."""
    if shown.previous is None:
        return []
    reported = {row["run"] for row in shown.results if _has_not_arrived(row)}
    before = answering_runs(history.scores(shown.previous))
    return sorted(before.difference(reported, runs, silent))


def _never_returned(night: Night) -> NeverReturned | None:
    """How many relevant documents no run returned.

    None if the night keeps only a part of its lists, or too many documents to count.
    """
    if not keeps_whole_lists(night) or not 0 < night.kept_rows("ranked_documents") <= _COUNTED:
        return None
    key = ["query_id", "doc_id"]
    rows = read_rows([night], "ranked_documents", ["run", *key, "gain"])
    returned = rows.filter(pc.is_valid(rows["run"])).group_by(key).aggregate([])
    # Rows without a run are the ideal rankings, which contain the judged documents.
    ideal = rows.filter(pc.is_null(rows["run"]))
    relevant = ideal.filter(pc.greater(ideal["gain"], 0))
    if not relevant.num_rows:
        return None
    never = relevant.join(returned, key, join_type="left anti")
    return NeverReturned(never.num_rows, relevant.num_rows)
