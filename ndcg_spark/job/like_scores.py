"""Which convention gives the scores of an earlier job, of the same judgments and results.

Conventions are compared on lists that this process scores, and what is found there on all rows
with the engine. Where that finds a query that differs, its lists join the others.
"""

import dataclasses
import random
import time
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ndcg_spark.config import EvaluationConfig
from ndcg_spark.convention.convention import Convention
from ndcg_spark.convention.measures import NDCG_ONLY, Cutoff
from ndcg_spark.engine import Engine
from ndcg_spark.errors import ConventionError, InputError
from ndcg_spark.inputs.old_scores import read_old_scores
from ndcg_spark.job.inputs import Context, count_refusals, read_inputs, translated_failures
from ndcg_spark.schemas import query_key
from ndcg_spark.scoring.evaluation import query_scores
from ndcg_spark.search.finder import Deadline, Search, difference_of
from ndcg_spark.search.found import (
    Alternative,
    Difference,
    FoundConvention,
    Verdict,
    sides_by_rank,
    why_refused,
)
from ndcg_spark.search.judges import (
    Absent,
    Compared,
    Judge,
    ListJudge,
    OldList,
    Ours,
    ScoreJudge,
    Trial,
)
from ndcg_spark.search.space import CUTOFFS, SEPARATES, Space, facts_of
from ndcg_spark.search.targets import Score, Targets, list_of, make_targets
from ndcg_spark.spot_check.plain_rows import Pair, Query
from ndcg_spark.steps import LOGGER

#: How long a search may take, in seconds, and the parts of that for an exact and a near convention.
LIMIT = 60.0
_FOR_EXACT, _FOR_NEAREST = 0.6, 0.8
#: Up to so many results and lists, all are scored by this process as well.
_WHOLE_ROWS, _WHOLE_LISTS = 300_000, 20_000
#: Else so many queries are, and so many of these have no score, or the score 0 or 1.
_QUERIES, _OF_A_KIND = 150, 25
#: How many of the queries that differ join the sample.
_JOINING = 20
#: The means of long inputs are compared at few cutoffs.
_FEW_CUTOFFS = (10, 5, 1, 3, 20, 100, None)
#: What a configuration may say that has no meaning here.
_NOT_USED = ("output", "documents", "gate", "query_weights", "query_attributes")
#: Reads every row that any convention can score.
_LENIENT = Convention(
    gain="linear",
    negative="keep",
    duplicates="best",
    judgment_duplicates="max",
)


@dataclasses.dataclass
class _Inputs:
    """The inputs of an evaluation, and what the job says of them."""

    context: Context
    targets: Targets
    #: The judged queries.
    queries: Sequence[Query]
    fixed: Mapping[str, Any]
    deadline: Deadline
    #: The cutoffs that are tried.
    cutoffs: Sequence[Cutoff]
    #: How long the engine has needed for all rows, in seconds.
    seconds_of_a_pass: float = 0.0

    def has_time(self) -> bool:
        """Whether the engine can score all rows once more before the time is over."""
        left = self.deadline.ends_at - time.monotonic()
        if left < self.seconds_of_a_pass:
            self.deadline.has_passed = True
        return not self.deadline.is_over()

    @property
    def has_datasets(self) -> bool:
        return "dataset" in self.context.checked.judgments.columns

    def dataset_of(self, name: str | None) -> str:
        return name or self.context.evaluation.dataset

    def pairs(self, queries: Iterable[Query]) -> list[Pair]:
        """The lists of these queries that the job has scored."""
        runs = sorted(self.targets.runs)
        found = []
        for query in queries:
            own = self.dataset_of(query.dataset)
            for dataset, run in runs:
                if dataset == own:
                    found.append(Pair(query.dataset, run, query.query_id))
        return found


def find_convention(
    engine: Engine,
    config: EvaluationConfig,
    scores: str,
    fixed: Mapping[str, Any] | None = None,
    limit: float = LIMIT,
) -> FoundConvention:
    """The convention that gives these scores, a path, of the configured inputs.

    `fixed` are options that every convention has that is tried. The search ends after `limit`
    seconds with the best so far. InputError if the scores cannot be read or are of other inputs.
    """
    deadlines = [Deadline.after(part * limit) for part in (_FOR_EXACT, _FOR_NEAREST, 1)]
    inputs = _read(engine, config, scores, fixed or {}, deadlines[-1])
    judge = _first_judge(inputs)
    while True:
        search = Search(judge, _space(judge, inputs), deadlines[0])
        exact = search.exact()
        wrong: list[Compared] = []
        for trial in exact:
            compared = _compared_on_all(inputs, trial, judge.absent)
            wrong = [row for row in compared if row.differs]
            if not wrong:
                search.deadline = deadlines[-1]
                return _found(search, inputs, trial, compared)
            if _joining(judge, wrong) or deadlines[0].is_over():
                break
        if not _joining(judge, wrong) or deadlines[0].is_over():
            break
        judge = _with_more(judge, inputs, wrong)
    is_finished = not deadlines[0].has_passed
    search.deadline = deadlines[1]
    found = _found_nearest(search, inputs, search.nearest())
    return dataclasses.replace(found, is_finished=is_finished)


def _read(
    engine: Engine,
    config: EvaluationConfig,
    scores: str,
    fixed: Mapping[str, Any],
    deadline: Deadline,
) -> _Inputs:
    rows = read_old_scores(scores)
    lenient = _LENIENT
    if fixed.get("gain") == "judged":
        # Judgments without grades.
        lenient = lenient.replace(gain="judged")
    chosen = "cutoffs" in config.model_fields_set
    unpublished: dict[str, Any] = dict.fromkeys(_NOT_USED)
    unpublished["convention"] = lenient
    context = read_inputs(engine, config.model_copy(update=unpublished))
    runs = [(run.dataset, run.run) for run in context.checked.result_counts.runs]
    targets = make_targets(rows, runs, context.evaluation.dataset)
    known = _judged_queries(context)
    targets = _of_judged(targets, known, context)
    cutoffs: Sequence[Cutoff] = CUTOFFS if targets.scores else _FEW_CUTOFFS
    if targets.knows_cutoffs:
        cutoffs = (None,)
    elif chosen:
        cutoffs = tuple(config.cutoffs)
    # Checked here, before anything is tried with them.
    Convention().replace(**fixed)
    return _Inputs(context, targets, known, fixed, deadline, cutoffs)


def _judged_queries(context: Context) -> list[Query]:
    judgments = context.checked.judgments
    key = query_key(judgments.columns)
    with translated_failures(context.sources):
        rows = judgments.select(*key).distinct().toArrow().to_pylist()
    queries = [Query(row.get("dataset"), row["query_id"]) for row in rows]
    return sorted(queries, key=lambda query: (query.dataset or "", query.query_id))


def _of_judged(targets: Targets, known: Sequence[Query], context: Context) -> Targets:
    """The targets without queries that nobody judged, which no convention scores."""
    default = context.evaluation.dataset
    judged = {(query.dataset or default, query.query_id) for query in known}
    kept = {}
    for place, value in targets.scores.items():
        if (place.dataset, place.query_id) in judged:
            kept[place] = value
    lost = {place.query_id for place in targets.scores} - {place.query_id for place in kept}
    if not lost:
        return targets
    if not kept and not targets.means:
        what = f"scores: none of their queries is judged, e.g. {min(map(str, lost))}"
        raise InputError(f"{what}; check that both write ids alike")
    several = f"{len(lost):,} queries" if len(lost) > 1 else "1 query"
    note = f"scores of {several} without judgments, e.g. {min(map(str, lost))}, are left aside"
    return dataclasses.replace(targets, scores=kept, notes=[*targets.notes, note])


def _first_judge(inputs: _Inputs) -> Judge:
    """A judge of all lists if they are few, of some queries, or of what the engine scores."""
    counts = inputs.context.checked.result_counts
    lists = len(inputs.pairs(inputs.queries))
    if counts.rows <= _WHOLE_ROWS and lists <= _WHOLE_LISTS:
        return _list_judge(inputs, inputs.queries, is_whole=True)
    if inputs.targets.scores:
        return _list_judge(inputs, _sampled(inputs), is_whole=False)
    return _engine_judge(inputs, "unknown")


def _sampled(inputs: _Inputs) -> list[Query]:
    """Queries at random, among them some whose score is absent, 0 or 1."""
    chance = random.Random(0)  # noqa: S311  # the same queries every time
    scores = inputs.targets.scores
    known: dict[tuple[str, str | None], float | None] = {}
    for place, value in scores.items():
        known[place.dataset, place.query_id] = value
    shuffled = chance.sample(list(inputs.queries), len(inputs.queries))
    kinds: dict[float | None, list[Query]] = {None: [], 0.0: [], 1.0: []}
    others: list[Query] = []
    for query in shuffled:
        value = known.get((inputs.dataset_of(query.dataset), query.query_id))
        kinds.get(value, others).append(query)
    chosen = [query for group in kinds.values() for query in group[:_OF_A_KIND]]
    return chosen + others[: _QUERIES - len(chosen)]


def _list_judge(inputs: _Inputs, queries: Sequence[Query], *, is_whole: bool) -> ListJudge:
    LOGGER.debug("fetching the lists that are compared")
    lists = _fetched(inputs, queries)
    return ListJudge(lists, inputs.targets, _absent(inputs.targets, lists), is_whole=is_whole)


def _absent(targets: Targets, lists: Sequence[OldList]) -> Absent:
    """What a query says that the job has no score for."""
    if targets.means or not targets.scores:
        return "unknown"
    for one in lists:
        places = [one.place(cutoff) for cutoff in targets.cutoffs]
        good = {document for document, grade in one.judged if grade > 0}
        has_gain = any(document in good for document, *_ in one.returned)
        if has_gain and not any(place in targets.scores for place in places):
            # Every convention scores it: these are the scores of some queries only.
            return "perhaps_left_out"
    return "left_out"


def _fetched(inputs: _Inputs, queries: Sequence[Query]) -> list[OldList]:
    """The lists of these queries, with their judgments."""
    checked = inputs.context.checked
    key = query_key(checked.judgments.columns)
    is_some = len(queries) < len(inputs.queries)
    names = [query.query_id for query in queries]
    runs = sorted({run for _, run in inputs.targets.runs})

    def rows_of(table: DataFrame, columns: Sequence[str]) -> list[dict[str, Any]]:
        if is_some:
            table = table.where(F.col("query_id").isin(names))
        wanted = [name for name in columns if name in table.columns]
        rows: list[dict[str, Any]] = table.select(*wanted).toArrow().to_pylist()
        return rows

    with translated_failures(inputs.context.sources):
        results = checked.results.where(F.col("run").isin(runs))
        returned = rows_of(results, [*key, "run", "doc_id", "score", "rank"])
        judged = rows_of(checked.judgments, [*key, "doc_id", "relevance"])
    grades: dict[Query, list[tuple[str, float]]] = {}
    for row in judged:
        query = Query(row.get("dataset"), row["query_id"])
        grade = row.get("relevance")
        grades.setdefault(query, []).append((row["doc_id"], 1.0 if grade is None else grade))
    lists: dict[Pair, list[tuple[str, float | None, int | None]]] = {}
    for row in returned:
        pair = Pair(row.get("dataset"), row["run"], row["query_id"])
        document = row["doc_id"], row.get("score"), row.get("rank")
        lists.setdefault(pair, []).append(document)
    found = []
    for pair in inputs.pairs(queries):
        own = inputs.dataset_of(pair.dataset)
        found.append(OldList(pair, own, grades.get(pair.query, []), lists.get(pair, [])))
    return found


def _engine_judge(inputs: _Inputs, absent: Absent) -> ScoreJudge:
    return ScoreJudge(inputs.targets, absent, lambda trial: _scored(inputs, trial))


def _scored(inputs: _Inputs, trial: Trial) -> dict[Score, Ours] | None:
    """The scores of all lists by the engine; None if the convention refuses the inputs."""
    targets, context = inputs.targets, inputs.context
    checked = context.checked
    evaluation = dataclasses.replace(
        context.evaluation,
        convention=trial.convention,
        cutoffs=targets.cutoffs if targets.knows_cutoffs else [trial.cutoff],
        measures=NDCG_ONLY,
    )
    runs = {run for _, run in targets.runs}
    results = checked.of_judged_queries(checked.results)
    scores = query_scores(checked.judgments, results, checked.runs(), evaluation)
    wanted = ("dataset", "run", "query_id", "cutoff", "ndcg", "status")
    try:
        with count_refusals(dataclasses.replace(context, evaluation=evaluation)):
            rows = scores.select(*wanted).where(F.col("run").isin(sorted(runs))).toArrow()
    except (InputError, ConventionError):
        return None
    found = {}
    for row in rows.to_pylist():
        cutoff = row["cutoff"] if targets.knows_cutoffs else None
        place = Score(row["dataset"], row["run"], row["query_id"], cutoff)
        if (place.dataset, place.run) in targets.runs:
            found[place] = Ours(row["ndcg"], row["status"] == "scored")
    return found


def _compared_on_all(inputs: _Inputs, trial: Trial, absent: Absent) -> list[Compared]:
    """Every score beside that of the engine, the first query first."""
    LOGGER.debug("scoring all rows under %s", trial.convention.label)
    begun = time.monotonic()
    rows = list(_engine_judge(inputs, absent).compared(trial))
    inputs.seconds_of_a_pass = time.monotonic() - begun
    return sorted(rows, key=_in_order)


def _in_order(row: Compared) -> tuple[Any, ...]:
    place = row.place
    depth = place.cutoff is None, place.cutoff or 0
    return place.query_id is None, place.dataset, place.run, place.query_id or "", depth


def _space(judge: Judge, inputs: _Inputs) -> Space:
    lists = judge.lists if isinstance(judge, ListJudge) else []
    facts = facts_of(lists)
    if not lists:
        columns = inputs.context.checked.results.columns
        has_scores = "score" in columns
        facts = facts._replace(has_scores=has_scores, has_ranks=not has_scores, inert=frozenset())
    return Space(facts, inputs.fixed, inputs.cutoffs)


def _joining(judge: Judge, wrong: Iterable[Compared]) -> list[Compared]:
    """The queries that differ on all rows, and are not among the lists of the judge."""
    if not isinstance(judge, ListJudge) or judge.is_whole:
        return []
    known = {(one.dataset, one.pair.query_id) for one in judge.lists}
    new = [row for row in wrong if row.place.query_id is not None]
    return [row for row in new if (row.place.dataset, row.place.query_id) not in known][:_JOINING]


def _with_more(judge: Judge, inputs: _Inputs, wrong: Iterable[Compared]) -> ListJudge:
    """A judge of the lists of the queries that differ, too."""
    lists = judge.lists if isinstance(judge, ListJudge) else []
    queries = [one.pair.query for one in lists]
    queries += [list_of(row.place, inputs.has_datasets).query for row in _joining(judge, wrong)]
    return _list_judge(inputs, list(dict.fromkeys(queries)), is_whole=False)


def _found(
    search: Search,
    inputs: _Inputs,
    trial: Trial,
    compared: Sequence[Compared],
) -> FoundConvention:
    """What an exact trial, compared on all rows, is beside others that give the same scores."""
    verdict: Verdict = "exact" if inputs.targets.scores else "consistent"
    # Found before any is scored on all rows, which may take long.
    likely = search.alternatives(trial)
    presets = []
    for other in search.presets_like(trial):
        if _is_same_on_all(search, inputs, other):
            presets.append(other.convention.label)
    alternatives = []
    for option, value, other in likely:
        is_sampled = not _is_whole(search.judge) and not inputs.has_time()
        if is_sampled or _is_same_on_all(search, inputs, other):
            one = Alternative(option, value, SEPARATES[option], not is_sampled)
            alternatives.append(one)
    found = _counted(verdict, trial, inputs, compared)
    return dataclasses.replace(
        found,
        presets=presets,
        alternatives=alternatives,
        tried=search.tried,
        is_finished=not inputs.deadline.has_passed,
    )


def _is_whole(judge: Judge) -> bool:
    return not isinstance(judge, ListJudge) or judge.is_whole


def _is_same_on_all(search: Search, inputs: _Inputs, trial: Trial) -> bool:
    """Whether a trial that is exact for the judge is so on all rows, if there is time to see."""
    if _is_whole(search.judge):
        return True
    if not inputs.has_time():
        return False
    compared = _compared_on_all(inputs, trial, search.judge.absent)
    return not any(row.differs for row in compared)


def _found_nearest(search: Search, inputs: _Inputs, trial: Trial) -> FoundConvention:
    judge = search.judge
    compared = _compared_on_all(inputs, trial, judge.absent)
    is_refused = len(compared) == 1 and isinstance(judge, ListJudge)
    if is_refused:
        compared = sorted(judge.compared(trial), key=_in_order)
    found = _counted("nearest", trial, inputs, compared)
    first = next((row for row in compared if row.differs), None)
    difference = None if first is None else _difference(inputs, trial, first)
    return dataclasses.replace(found, first_difference=difference, tried=search.tried)


def _difference(inputs: _Inputs, trial: Trial, row: Compared) -> Difference:
    """A score that differs, with the list of its query."""
    place = row.place
    cutoff = place.cutoff if inputs.targets.knows_cutoffs else trial.cutoff
    found = Difference(place.dataset, place.run, place.query_id, cutoff, row.given, row.ours)
    if place.query_id is None:
        return found
    pair = list_of(place, inputs.has_datasets)
    (one,) = [one for one in _fetched(inputs, [pair.query]) if one.pair == pair]
    refused = why_refused(one, trial.convention, cutoff)
    if refused:
        return found._replace(refused=refused)
    return found._replace(ranks=sides_by_rank(one, trial.convention, cutoff))


def _counted(
    verdict: Verdict,
    trial: Trial,
    inputs: _Inputs,
    compared: Sequence[Compared],
) -> FoundConvention:
    targets = inputs.targets
    rows = [row for row in compared if row.given is not None or row.differs]
    wrong = [difference_of(row) for row in rows if row.differs]
    return FoundConvention(
        verdict,
        trial.convention,
        targets.cutoffs if targets.knows_cutoffs else [trial.cutoff],
        compared=len(rows),
        equal=len(rows) - len(wrong),
        largest_difference=max(wrong, default=0.0),
        tolerance=targets.tolerance if targets.scores else targets.mean_tolerance,
        notes=targets.notes,
    )
