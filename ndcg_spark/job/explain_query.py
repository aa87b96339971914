"""Explain one query: from the inputs, by the steps of an evaluation, or from a night's documents.

The documents that a night keeps can be explained or listed for judging without an engine, so engine
modules are imported only when needed.
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
    """The explanations of a query as this configuration would score it, from its inputs.

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
    convention, queries = evaluation.convention, checked.judgment_counts.queries
    key = query_key(checked.judgments.columns)
    known = sorted(name for name in queries if name is not None and "dataset" in key)
    dataset = request.dataset_from(known or [evaluation.dataset])
    named = [run.run for run in checked.result_counts.runs if run.dataset in (dataset, None)]
    runs = request.runs(named)

    def keep_dataset(table: "DataFrame") -> "DataFrame":
        return table.where(F.col("dataset") == dataset) if "dataset" in key else table

    def of_query(table: "DataFrame") -> "DataFrame":
        # Fetched so that it is read once; the embedded engine also fails to plan windows over a
        # constant number.
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
            raise _not_judged(request.query, sum(queries.values()), some)
        table = keep_dataset(checked.runs()).where(F.col("run").isin(*runs))
        scores = query_scores(judgments, results, table, evaluation).collect()
        listed = returned_documents(results, documents, key, convention)
        returned = [row.asDict() for row in listed.collect()]
    facts = {row["run"]: query_facts(row.asDict(), returned, judged, convention) for row in scores}
    return explain_runs(facts, runs, request)


def _not_judged(query: str, queries: int, names: Iterable[str]) -> ConfigurationError:
    meant = did_you_mean(query, list(names)[:_COMPARED])
    sentence = f"query: {query!r} is not one of the {queries:,} judged queries{meant}"
    return ConfigurationError(sentence)


@read_again
def explain_night(output: str, date: str | None, request: ExplainRequest) -> Explained:
    """The explanations of a query of one night, the newest if no date is given.

    The night may be compared with another night.
    """
    known = committed(output)
    nights = select_nights(known, output, date, request.dataset)
    dataset = request.dataset_from([night.dataset for night in nights])
    night = next(night for night in nights if night.dataset == dataset)
    scores = _scores_of_query(night, request.query)
    cutoff = _kept_cutoff(night, scores, request)
    # A baseline in another night is not a run of this one.
    own = request
    if request.baseline_date is not None:
        own = dataclasses.replace(request, baseline=None)
    runs = own.runs(sorted(row["run"] for row in scores if row["cutoff"] == cutoff))
    facts = _facts_of_query(night, runs, cutoff, request.query)
    asked = {own.run, own.baseline}.difference([None])
    if not facts or not asked.issubset(facts):
        raise _not_kept(night, request.query)
    explained = explain_runs(facts, [run for run in runs if run in facts], own)
    if explained.baselines or request.baseline_date:
        _refuse_unknown_ties(night, facts.values())
    if request.baseline_date is None:
        return explained
    (other,) = select_nights(known, output, request.baseline_date, dataset)
    return explained._replace(baselines=_baselines(other, list(facts), cutoff, request))


def _scores_of_query(night: Night, query: str) -> list[dict[str, Any]]:
    """The scores of a query. Raises ConfigurationError if it is not judged, or keeps no
    document.
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
    """The facts of the lists that a night keeps, by run."""
    kept = read_facts(night, runs, cutoff, [query])
    return {run: facts for (run, _), facts in kept.items()}


def _baselines(
    other: Night,
    runs: Sequence[str],
    cutoff: Cutoff,
    request: ExplainRequest,
) -> dict[str, tuple[Facts, str]]:
    """By run, the facts of its baseline in another night, and where they come from."""
    (rows,) = read_dataset_scores([other])
    theirs = {row["run"] for row in rows}
    baseline = request.baseline
    if baseline is not None and baseline not in theirs:
        raise unknown_name("baseline", "run", baseline, theirs)
    if cutoff not in {row["cutoff"] for row in rows}:
        what = f"cutoff: {other} has no scores at {format_cutoff(cutoff)}"
        raise ConfigurationError(what, Give("cutoff", words="choose a different one with"))
    names = {run: baseline or run for run in runs}
    facts = _facts_of_query(other, sorted(set(names.values())), cutoff, request.query)
    _refuse_unknown_ties(other, facts.values())
    baselines = {}
    for run, name in names.items():
        if name in facts:
            baselines[run] = facts[name], f"{name} of {other.evaluated_on}"
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
    """The facts of the lists whose documents a night keeps, for these runs and queries."""
    if not queries or not night.kept_rows("ranked_documents"):
        return {}
    based_on = night.record["convention"].partition(" ")[0]
    convention = Convention(**night.record["options"], based_on=based_on)
    keeps_all = keeps_whole_lists(night)
    lists: dict[tuple[str | None, str], list[Row]] = {}
    for row in night_rows(night, "ranked_documents", query_id=queries, run=[*runs, None]):
        lists.setdefault((row["run"], row["query_id"]), []).append(row)
    kept_queries = {query for _, query in lists}
    facts = {}
    for score in night_rows(night, "query_scores", query_id=queries, run=runs, cutoff=[cutoff]):
        run, query = score["run"], score["query_id"]
        own = lists.get((run, query), [])
        # A list without documents is kept if the ideal ranking of its query is kept.
        is_empty_list = score["returned"] == 0 and query in kept_queries
        if keeps_all or own or is_empty_list:
            # An ideal ranking is kept without a run.
            ideal = lists.get((None, query), [])
            facts[run, query] = _kept_facts(score, own, ideal, convention)
    return facts


def _kept_facts(
    score: Row,
    own: Sequence[Row],
    ideal: Sequence[Row],
    convention: Convention,
) -> Facts:
    """The facts of a list, from the documents that a night keeps of it and of the ideal ranking."""
    returned = []
    # Among equal gains, the ideal begins with documents of the run that is explained.
    known: list[Row] = []
    for row in own:
        returned.append({**row, "on_list": True, "own_gain": row["gain"]})
        grade = row["relevance"]
        if grade is not None and (grade >= 0 or convention.negative == "keep"):
            known.append(row)
    known.extend(ideal)
    return query_facts(score, returned, known, convention, whole=False)


def _refuse_unknown_ties(night: Night, facts: Iterable[Facts]) -> None:
    """Raise ConfigurationError if a night of an older version lacks tie groups that are needed."""
    if not all(one.knows_ties for one in facts):
        raise ConfigurationError(
            f"documents: {night} was written by a version that kept no tie groups, so with "
            "averaged ties it is unknown what a document added; evaluate it again, or leave out "
            "the baseline"
        )


def _runs_of(nights: Sequence[Night]) -> set[str]:
    runs: set[str] = set()
    for rows in read_dataset_scores(nights):
        runs.update(row["run"] for row in rows)
    return runs


def _compared_run(
    run: str | None, baseline: str | None, nights: Sequence[Night], others: Sequence[Night]
) -> str | None:
    """The run itself, or the only run other than the baseline.

    Raises ConfigurationError if there is no such run.
    """
    runs = _runs_of(nights)
    if run is not None and run not in runs:
        raise unknown_name("run", "run", run, runs)
    if baseline is None:
        return run
    theirs = _runs_of(others)
    if baseline not in theirs:
        raise unknown_name("baseline", "run", baseline, theirs)
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

    With another night, or with another run as the baseline of one, the documents of both sides are
    listed, each weighted by how far its discounts differ, which is what judging it can change.
    """
    known = committed(output)
    nights = select_nights(known, output, date, dataset)
    others = [named_night(known, night, baseline_date) for night in nights] if baseline_date else []
    if others == nights and baseline in (None, run):
        sentence = f"{nights[0]} would be compared with itself; choose a different night"
        raise ConfigurationError(sentence, option="baseline-date")
    for night, other in zip(nights, others, strict=False):
        # The documents of a night do not show what the other judgments contain.
        if not has_judgments_of(other, night):
            what = f"{other} has different judgments from {night}"
            what += ", so some of its documents may be judged"
            instead = "evaluate both with the same judgments, or leave out"
            raise ConfigurationError(what, Give("baseline_date", words=instead), "baseline-date")
    others = others or (nights if baseline is not None else [])
    run = _compared_run(run, baseline, nights, others)
    lists = _unjudged_lists(nights, run)
    if not others:
        return first_to_judge(listed_documents(lists), limit)
    there = _unjudged_lists(others, baseline or run)
    return first_to_judge(moved_documents(lists, there, by_run=baseline is None), limit)


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
