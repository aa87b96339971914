"""An earlier job's scores and its inputs: read, partly fetched, and scored by the engine."""

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
from ndcg_spark.inputs.old_scores import OldRow, read_old_scores
from ndcg_spark.job.inputs import Context, count_refusals, read_inputs, translated_failures
from ndcg_spark.schemas import query_key
from ndcg_spark.scoring.evaluation import query_scores
from ndcg_spark.search.finder import Deadline
from ndcg_spark.search.judges import Ours
from ndcg_spark.search.old_lists import OldList
from ndcg_spark.search.space import CUTOFFS
from ndcg_spark.search.targets import ScoreKey, Targets, make_targets
from ndcg_spark.search.trials import Trial
from ndcg_spark.spot_check.plain_rows import Pair, Query
from ndcg_spark.steps import hidden

#: Up to this many results and lists, this process fetches and scores all of them. If only means are
#: known, the limits are this many times higher, because means are computed faster, with arrays.
_WHOLE_ROWS, _WHOLE_LISTS = 300_000, 20_000
_TIMES_FOR_MEANS = 4
#: The number of queries in a sample, including up to this many without a score, this many with the
#: score 0, and this many with the score 1.
_QUERIES, _OF_A_KIND = 150, 25
#: The means of long inputs are compared at few cutoffs.
FEW_CUTOFFS = (10, 5, 1, 3, 20, 100, None)
#: The configuration keys that have no effect here.
_NOT_USED = ("output", "documents", "gate", "query_weights", "query_attributes")
#: The convention that reads the inputs: it refuses no row that any convention can score.
_LENIENT = Convention(
    gain="linear",
    negative="keep",
    duplicates="best",
    judgment_duplicates="max",
)


@dataclasses.dataclass
class OldInputs:
    """An evaluation's inputs, with the earlier job's scores."""

    context: Context
    targets: Targets
    #: The judged queries.
    queries: Sequence[Query]
    #: The options that every convention to try has.
    fixed: Mapping[str, Any]
    deadline: Deadline
    #: The cutoffs to try.
    cutoffs: Sequence[Cutoff]
    #: How long the engine needed to score all rows, in seconds.
    seconds_of_a_pass: float = 0.0

    def has_time(self) -> bool:
        """Whether the engine can score all rows once more before the time is over."""
        seconds_left = self.deadline.ends_at - time.monotonic()
        if seconds_left < self.seconds_of_a_pass:
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
        pairs = []
        for query in queries:
            own_dataset = self.dataset_of(query.dataset)
            for dataset, run in runs:
                if dataset == own_dataset:
                    pairs.append(Pair(query.dataset, run, query.query_id))
        return pairs


def read_old_inputs(
    engine: Engine,
    config: EvaluationConfig,
    scores: str,
    columns: Mapping[str, str],
    fixed: Mapping[str, Any],
    deadline: Deadline,
) -> OldInputs:
    """The inputs and the scores. Raises InputError if they do not match, or cannot be read."""
    rows = read_old_scores(scores, columns)
    lenient = _LENIENT
    if fixed.get("gain") == "judged":
        # Such judgments may have no grades.
        lenient = lenient.replace(gain="judged")
    if fixed.get("order") == "file":
        # The positions of the rows are read as ranks.
        lenient = lenient.replace(order="file")
    changes: dict[str, Any] = dict.fromkeys(_NOT_USED)
    changes["convention"] = lenient
    context, rows = _read_run(engine, config.model_copy(update=changes), rows)
    runs = [(run.dataset, run.run) for run in context.checked.result_counts.runs]
    queries = _judged_queries(context)
    targets = make_targets(rows, runs, context.evaluation.dataset)
    targets = _without_unjudged(targets, queries, context)
    cutoffs: Sequence[Cutoff] = CUTOFFS
    if "cutoffs" in config.model_fields_set:
        cutoffs = tuple(config.cutoffs)
    # Refuses fixed options that are wrong or contradict each other, before anything is tried.
    Convention().replace(**fixed)
    return OldInputs(context, targets, queries, fixed, deadline, cutoffs)


def _judged_queries(context: Context) -> list[Query]:
    """All judged queries, sorted."""
    judgments = context.checked.judgments
    key = query_key(judgments.columns)
    with translated_failures(context.sources):
        rows = judgments.select(*key).distinct().toArrow().to_pylist()
    queries = [Query(row.get("dataset"), row["query_id"]) for row in rows]
    return sorted(queries, key=lambda query: (query.dataset or "", query.query_id))


def _without_unjudged(targets: Targets, queries: Sequence[Query], context: Context) -> Targets:
    """The targets without queries that nobody judged, which no convention scores."""
    default = context.evaluation.dataset
    judged = {(query.dataset or default, query.query_id) for query in queries}
    kept = {}
    unjudged = {}
    for place, value in targets.scores.items():
        if (place.dataset, place.query_id) in judged:
            kept[place] = value
        elif value is not None:
            unjudged[place] = value
    ignored = {place.query_id for place in targets.scores} - {place.query_id for place in kept}
    if not ignored:
        return targets
    example = min(map(str, ignored))
    if not kept and not targets.means:
        what = f"scores: none of their queries is judged, e.g. {example}"
        raise InputError(f"{what}; check that both write ids in the same way")
    notes = [*targets.notes, _about_unjudged(unjudged, example, len(ignored))]
    return dataclasses.replace(targets, scores=kept, unjudged=unjudged, notes=notes)


def _about_unjudged(unjudged: Mapping[ScoreKey, float], example: str, number: int) -> str:
    """The note about the scores of this number of unjudged queries."""
    several = f"{number:,} queries" if number > 1 else "1 query"
    sentence = f"scores of {several} without judgments, e.g. {example}, are ignored"
    if not unjudged:
        return sentence
    mean = sum(unjudged.values()) / len(unjudged)
    counted = f"{len(unjudged):,} score(s) with the mean {mean:.4f}"
    return f"{sentence}: an evaluation has none of them, but the job's means have {counted}"


def _read_run(
    engine: Engine,
    config: EvaluationConfig,
    rows: list[OldRow],
) -> tuple[Context, list[OldRow]]:
    """The inputs, and the scores that belong to them.

    If the results name several runs, the configured run selects one of them. Otherwise the
    configured run is the name of all results, as in an evaluation.
    """
    run = config.results.run
    if run is None:
        return read_inputs(engine, config), rows
    as_named = config.results.model_copy(update={"run": None})
    with hidden():
        context = read_inputs(engine, config.model_copy(update={"results": as_named}))
    names = {one.run for one in context.checked.result_counts.runs}
    if len(names) < 2 or run not in names:
        return read_inputs(engine, config), rows
    rows_of_run = [row._replace(run=run) for row in rows if row.run in (None, run)]
    return context, rows_of_run


def whole_or_sampled(inputs: OldInputs) -> tuple[list[OldList], bool]:
    """All lists if there are few, or else a sample's lists; and whether they are all lists.

    Returns no lists if only means are known and there are too many lists, because a mean needs all.
    """
    has_scores = bool(inputs.targets.scores)
    rows = inputs.context.checked.result_counts.rows
    lists = len(inputs.pairs(inputs.queries))
    times = 1 if has_scores else _TIMES_FOR_MEANS
    if rows <= times * _WHOLE_ROWS and lists <= times * _WHOLE_LISTS:
        return fetched(inputs, inputs.queries), True
    if has_scores:
        return fetched(inputs, _sample(inputs)), False
    return [], False


def _sample(inputs: OldInputs) -> list[Query]:
    """Random queries, including some whose score is missing, 0 or 1."""
    chance = random.Random(0)  # noqa: S311  # the same queries every time
    known: dict[tuple[str, str | None], float | None] = {}
    for place, value in inputs.targets.scores.items():
        known[place.dataset, place.query_id] = value
    shuffled = chance.sample(list(inputs.queries), len(inputs.queries))
    special: dict[float | None, list[Query]] = {None: [], 0.0: [], 1.0: []}
    others: list[Query] = []
    for query in shuffled:
        value = known.get((inputs.dataset_of(query.dataset), query.query_id))
        special.get(value, others).append(query)
    chosen: list[Query] = []
    for queries in special.values():
        chosen.extend(queries[:_OF_A_KIND])
    return chosen + others[: _QUERIES - len(chosen)]


def fetched(inputs: OldInputs, queries: Sequence[Query]) -> list[OldList]:
    """The lists of these queries, with their judgments."""
    checked = inputs.context.checked
    key = query_key(checked.judgments.columns)
    are_all = len(queries) == len(inputs.queries)
    names = [query.query_id for query in queries]
    runs = sorted({run for _, run in inputs.targets.runs})

    def rows_of(table: DataFrame, columns: Sequence[str]) -> list[dict[str, Any]]:
        if not are_all:
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
        if grade is None:
            # Judgments without grades.
            grade = 1.0
        grades.setdefault(query, []).append((row["doc_id"], grade))
    lists: dict[Pair, list[tuple[str, float | None, int | None]]] = {}
    for row in returned:
        pair = Pair(row.get("dataset"), row["run"], row["query_id"])
        document = row["doc_id"], row.get("score"), row.get("rank")
        lists.setdefault(pair, []).append(document)
    found = []
    for pair in inputs.pairs(queries):
        dataset = inputs.dataset_of(pair.dataset)
        found.append(OldList(pair, dataset, grades.get(pair.query, []), lists.get(pair, [])))
    return found


def pair_of_score(place: ScoreKey, inputs: OldInputs) -> Pair:
    """The run and query whose list has this score."""
    dataset = place.dataset if inputs.has_datasets else None
    return Pair(dataset, place.run, str(place.query_id))


def scored_by_engine(inputs: OldInputs, trial: Trial) -> dict[ScoreKey, Ours] | None:
    """The engine's scores for all lists, or None if the convention refuses the inputs."""
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
    wanted = ("dataset", "run", "query_id", "cutoff", "ndcg")
    try:
        with count_refusals(dataclasses.replace(context, evaluation=evaluation)):
            rows = scores.select(*wanted).where(F.col("run").isin(sorted(runs))).toArrow()
    except (InputError, ConventionError):
        return None
    found = {}
    for row in rows.to_pylist():
        cutoff = row["cutoff"] if targets.knows_cutoffs else None
        place = ScoreKey(row["dataset"], row["run"], row["query_id"], cutoff)
        if (place.dataset, place.run) in targets.runs:
            found[place] = Ours(row["ndcg"])
    return found
