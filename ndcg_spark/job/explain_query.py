"""Explain one query, from the inputs of an evaluation or from the documents that a night keeps.

The documents of a night can be explained or listed for judging without an engine, so engine modules
are imported only when needed.
"""

import dataclasses
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ndcg_spark.comparison.baselines import has_judgments_of, named_night
from ndcg_spark.config import EvaluationConfig
from ndcg_spark.convention.convention import Convention
from ndcg_spark.convention.measures import Cutoff, format_cutoff
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.explanation.query import (
    Explained,
    ExplainedBaseline,
    ExplainRequest,
    Facts,
    Row,
    explain_runs,
    query_facts,
)
from ndcg_spark.job.to_judge import KEY, first_to_judge, listed_documents, moved_documents
from ndcg_spark.nights.copies import keeps_whole_lists
from ndcg_spark.nights.log import Night, committed
from ndcg_spark.nights.reader import (
    night_rows,
    read_again,
    read_dataset_scores,
    read_rows,
    select_nights,
)
from ndcg_spark.schemas import query_key
from ndcg_spark.text import did_you_mean, unknown_name
from ndcg_spark.voices import Do, Either, Give

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from ndcg_spark.engine import Engine

#: The number of queries that an unknown one is compared with, which takes a second.
_COMPARED = 20_000


def explain_on(engine: "Engine", config: EvaluationConfig, request: ExplainRequest) -> Explained:
    """Explain a query as this configuration would score it, from its inputs.

    Both tables are validated first, so nothing is explained that would not be scored.
    """
    from pyspark.sql import functions as F

    from ndcg_spark.job.inputs import count_refusals, read_inputs
    from ndcg_spark.scoring.evaluation import query_scores
    from ndcg_spark.scoring.ideal import judged_documents
    from ndcg_spark.scoring.lists import returned_documents
    from ndcg_spark.scoring.ranking import by_window

    context = read_inputs(engine, config)
    checked = context.checked
    cutoff = request.cutoff_or(config.measure_set.main_cutoff("ndcg", config.cutoffs))
    evaluation = dataclasses.replace(context.evaluation, cutoffs=(cutoff,), rank=by_window)
    convention = evaluation.convention
    key = query_key(checked.judgments.columns)
    judged_queries = checked.judgment_counts.queries
    datasets = [evaluation.dataset]
    if "dataset" in key:
        datasets = sorted(name for name in judged_queries if name is not None) or datasets
    dataset = request.dataset_from(datasets)
    runs_of_dataset = []
    for run in checked.result_counts.runs:
        if run.dataset in (dataset, None):
            runs_of_dataset.append(run.run)
    runs = request.runs(runs_of_dataset)

    def keep_dataset(table: "DataFrame") -> "DataFrame":
        return table.where(F.col("dataset") == dataset) if "dataset" in key else table

    def of_query(table: "DataFrame") -> "DataFrame":
        # Fetched, so that the inputs are read only once, and because the embedded engine cannot
        # plan windows over a column that the filter makes constant.
        found = keep_dataset(table).where(F.col("query_id") == request.query)
        return engine.session.createDataFrame(found.toArrow(), found.schema)

    with count_refusals(dataclasses.replace(context, evaluation=evaluation)):
        judgments = of_query(checked.judgments)
        results = of_query(checked.results.where(F.col("run").isin(*runs)))
        documents = judged_documents(judgments, key, convention)
        judged = [row.asDict() for row in documents.select("doc_id", "relevance", "gain").collect()]
        if not judged:
            names = keep_dataset(checked.judgments).select("query_id").distinct()
            some = [row["query_id"] for row in names.limit(_COMPARED).collect()]
            raise _not_judged(request.query, sum(judged_queries.values()), some)
        table = keep_dataset(checked.runs()).where(F.col("run").isin(*runs))
        scores = query_scores(judgments, results, table, evaluation).collect()
        listed = returned_documents(results, documents, key, convention)
        returned = [row.asDict() for row in listed.collect()]
    facts = {}
    for row in scores:
        facts[row["run"]] = query_facts(row.asDict(), returned, judged, convention)
    return explain_runs(facts, runs, request)


def _not_judged(query: str, queries: int, names: Iterable[str]) -> ConfigurationError:
    meant = did_you_mean(query, list(names)[:_COMPARED])
    sentence = f"query: {query!r} is not one of the {queries:,} judged queries{meant}"
    return ConfigurationError(sentence)


@read_again
def explain_night(output: str, date: str | None, request: ExplainRequest) -> Explained:
    """One query's explanations on one night, the newest if no date is given.

    The night may be compared with another night.
    """
    known = committed(output)
    nights = select_nights(known, output, date, request.dataset)
    dataset = request.dataset_from([night.dataset for night in nights])
    night = next(night for night in nights if night.dataset == dataset)
    scores = _scores_of_query(night, request.query)
    cutoff = _kept_cutoff(night, scores, request)
    has_other_night = request.baseline_date is not None
    # Another night's baseline is not a run of this one.
    own_request = dataclasses.replace(request, baseline=None) if has_other_night else request
    runs = own_request.runs(sorted(row["run"] for row in scores if row["cutoff"] == cutoff))
    facts = _facts_of_query(night, runs, cutoff, request.query)
    for name in (own_request.run, own_request.baseline):
        if name is not None and name not in facts:
            raise _not_kept(night, request.query)
    if not facts:
        raise _not_kept(night, request.query)
    kept_runs = [run for run in runs if run in facts]
    explained = explain_runs(facts, kept_runs, own_request)
    if explained.baselines or has_other_night:
        _refuse_unknown_ties(night, facts.values())
    if not has_other_night:
        return explained
    (other,) = select_nights(known, output, request.baseline_date, dataset)
    return explained._replace(baselines=_baselines(other, list(facts), cutoff, request))


def _scores_of_query(night: Night, query: str) -> list[dict[str, Any]]:
    """A query's scores. Raises ConfigurationError if it is not judged, or if the night keeps
    no documents.
    """
    scores = night_rows(night, "query_scores", query_id=[query])
    if not scores:
        queries = {row["query_id"] for row in night_rows(night, "query_scores", ["query_id"])}
        raise _not_judged(query, len(queries), queries)
    if not night.kept_rows("ranked_documents"):
        raise _not_kept(night, query)
    return scores


def _kept_cutoff(night: Night, scores: Iterable[Row], request: ExplainRequest) -> Cutoff:
    """The cutoff to explain. Raises ConfigurationError if the night has no scores there."""
    known = list(dict.fromkeys(row["cutoff"] for row in scores))
    # Documents are kept down to the deepest rank, even if the whole ranking is scored.
    ranks = [rank for rank in known if rank is not None] or known
    cutoff = request.cutoff_or(night.measure_set.main_cutoff("ndcg", ranks))
    if cutoff not in ranks:
        scored = ", ".join(map(format_cutoff, ranks))
        raise ConfigurationError(
            f"cutoff: {night} has no scores at {format_cutoff(cutoff)}, only at "
            f"{scored}; explain it from the judgments and results"
        )
    return cutoff


def _facts_of_query(
    night: Night,
    runs: Sequence[str],
    cutoff: Cutoff,
    query: str,
) -> dict[str, Facts]:
    """The facts about the lists that a night keeps, by run."""
    kept = read_facts(night, runs, cutoff, [query])
    return {run: facts for (run, _), facts in kept.items()}


def _baselines(
    other: Night,
    runs: Sequence[str],
    cutoff: Cutoff,
    request: ExplainRequest,
) -> dict[str, ExplainedBaseline]:
    """Each run's baseline in another night: the requested run, or the run with the same name."""
    (rows,) = read_dataset_scores([other])
    known_runs = {row["run"] for row in rows}
    baseline = request.baseline
    if baseline is not None and baseline not in known_runs:
        raise unknown_name("baseline", "run", baseline, known_runs)
    if cutoff not in {row["cutoff"] for row in rows}:
        what = f"cutoff: {other} has no scores at {format_cutoff(cutoff)}"
        raise ConfigurationError(what, Give("cutoff", words="choose a different one with"))
    names = {run: baseline or run for run in runs}
    facts = _facts_of_query(other, sorted(set(names.values())), cutoff, request.query)
    _refuse_unknown_ties(other, facts.values())
    baselines = {}
    for run, name in names.items():
        if name in facts:
            baselines[run] = ExplainedBaseline(facts[name], f"{name} of {other.evaluated_on}")
    if not baselines:
        raise _not_kept(other, request.query)
    return baselines


def _not_kept(night: Night, query: str) -> ConfigurationError:
    what = f"documents: {night} keeps none for query {query!r} and these runs"
    evaluate = Give("documents", "all", words="evaluate it with")
    explain = Do(words="explain it from the judgments and results")
    return ConfigurationError(what, Either((evaluate, explain)))


def read_facts(
    night: Night, runs: Sequence[str], cutoff: int | None, queries: Sequence[str]
) -> dict[tuple[str, str], Facts]:
    """The facts about the lists whose documents a night keeps, by run and query.

    Only lists of these runs and queries are read.
    """
    if not queries or not night.kept_rows("ranked_documents"):
        return {}
    # A label begins with the preset: `trec_eval gain=exp2`.
    preset = night.record["convention"].partition(" ")[0]
    convention = Convention(**night.record["options"], based_on=preset)
    keeps_all = keeps_whole_lists(night)
    #: By run and query; an ideal ranking's run is None.
    lists: dict[tuple[str | None, str], list[Row]] = {}
    for row in night_rows(night, "ranked_documents", query_id=queries, run=[*runs, None]):
        lists.setdefault((row["run"], row["query_id"]), []).append(row)
    kept_queries = {query for _, query in lists}
    facts = {}
    for score in night_rows(night, "query_scores", query_id=queries, run=runs, cutoff=[cutoff]):
        run, query = score["run"], score["query_id"]
        own = lists.get((run, query), [])
        # A list without documents is kept if its query's ideal ranking is kept.
        is_empty_list = score["returned"] == 0 and query in kept_queries
        if keeps_all or own or is_empty_list:
            ideal = lists.get((None, query), [])
            facts[run, query] = _kept_facts(score, own, ideal, convention)
    return facts


def _kept_facts(
    score: Row,
    own: Sequence[Row],
    ideal: Sequence[Row],
    convention: Convention,
) -> Facts:
    """The facts about a list, from the documents and the ideal ranking that a night stores."""
    returned = []
    judged: list[Row] = []
    for row in own:
        returned.append({**row, "on_list": True, "own_gain": row["gain"]})
        grade = row["relevance"]
        if grade is not None and (grade >= 0 or convention.negative == "keep"):
            judged.append(row)
    judged.extend(ideal)
    return query_facts(score, returned, judged, convention, whole=False)


def _refuse_unknown_ties(night: Night, facts: Iterable[Facts]) -> None:
    """Raise ConfigurationError if a night from an older version lacks required tie groups."""
    if not all(one.knows_ties for one in facts):
        raise ConfigurationError(
            f"documents: {night} was written by a version that kept no tie groups, so with "
            "averaged ties it is unknown what a document added; evaluate it again, or leave out "
            "the baseline"
        )


def _runs_of(nights: Sequence[Night]) -> set[str]:
    """The runs that have scores in these nights."""
    runs: set[str] = set()
    for rows in read_dataset_scores(nights):
        runs.update(row["run"] for row in rows)
    return runs


def _compared_run(
    run: str | None, baseline: str | None, nights: Sequence[Night], others: Sequence[Night]
) -> str | None:
    """The requested run; with a baseline and no requested run, the only other run.

    Raises ConfigurationError if there is no such run.
    """
    runs = _runs_of(nights)
    if run is not None and run not in runs:
        raise unknown_name("run", "run", run, runs)
    if baseline is None:
        return run
    runs_of_others = _runs_of(others)
    if baseline not in runs_of_others:
        raise unknown_name("baseline", "run", baseline, runs_of_others)
    compared = runs if run is None else {run}
    if others == nights:
        compared = compared - {baseline}
    if len(compared) != 1:
        what = f"baseline: {baseline} is compared with a single other run"
        raise ConfigurationError(what, Give("run", words="choose it with"))
    return min(compared)


@read_again
def night_documents_to_judge(
    output: str,
    limit: int,
    date: str | None = None,
    dataset: str | None = None,
    run: str | None = None,
    baseline_date: str | None = None,
    baseline: str | None = None,
) -> list[dict[str, Any]]:
    """The first rows of TO_JUDGE, at most `limit`, the largest weight first, for one run or all.

    With a baseline, which is another night, another run or both, the documents of both sides are
    listed. A document's weight is then how far its discounts on the two sides differ, because
    that is how much judging it can change.
    """
    known = committed(output)
    nights = select_nights(known, output, date, dataset)
    others: list[Night] = []
    if baseline_date:
        others = [named_night(known, night, baseline_date) for night in nights]
    is_same_run = baseline is None or baseline == run
    if others == nights and is_same_run:
        sentence = f"{nights[0]} would be compared with itself; choose a different night"
        raise ConfigurationError(sentence, option="baseline-date")
    for night, other in zip(nights, others, strict=False):
        # A night's documents do not show what the other judgments contain.
        if not has_judgments_of(other, night):
            what = f"{other} has different judgments from {night}"
            what += ", so some of its documents may be judged"
            instead = "evaluate both with the same judgments, or leave out"
            raise ConfigurationError(what, Give("baseline_date", words=instead), "baseline-date")
    if not others and baseline is not None:
        # The baseline is another run of the same night.
        others = nights
    run = _compared_run(run, baseline, nights, others)
    lists = _unjudged_lists(nights, run)
    if not others:
        return first_to_judge(listed_documents(lists), limit)
    baseline_lists = _unjudged_lists(others, baseline or run)
    moved = moved_documents(lists, baseline_lists, by_run=baseline is None)
    return first_to_judge(moved, limit)


def _unjudged_lists(nights: Sequence[Night], run: str | None) -> pa.Table:
    """The unjudged rows of RANKED_DOCUMENTS of these nights, for one run or all."""
    if not any(night.kept_rows("ranked_documents") for night in nights):
        what = f"documents: {nights[0]} keeps none"
        raise ConfigurationError(what, Give("documents", "all", words="evaluate it with"))
    where: dict[str, Sequence[Any]] = {"relevance": [None]}
    if run is not None:
        where["run"] = [run]
    rows = read_rows(nights, "ranked_documents", [*KEY, "run", "rank", "discount"], where)
    # A night may also keep the lists of queries that are not judged.
    query = ["dataset", "query_id"]
    judged = read_rows(nights, "query_scores", query).group_by(query).aggregate([])
    return rows.join(judged, query, join_type="left semi")
