"""What happened to each run across a change of judgments, for the log and for people."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from ndcg_spark.comparison.chain import change_facts, run_scores
from ndcg_spark.comparison.matrix import Metric
from ndcg_spark.comparison.readings import FIRST_READING
from ndcg_spark.comparison.references import newest_link
from ndcg_spark.convention.measures import JUDGED_RATE
from ndcg_spark.errors import InputError, StorageError
from ndcg_spark.gate.gate_inputs import GateInputs
from ndcg_spark.tables.format import count, score
from ndcg_spark.tables.format import difference as signed
from ndcg_spark.text import day


def links_of(inputs: GateInputs) -> list[dict[str, Any]]:
    """The facts about each run whose judgments change tonight, by every measure of a check.

    A run without a kept copy has no facts.
    """
    facts: list[dict[str, Any]] = []
    for run in inputs.runs:
        try:
            # Facts that are found before an error are kept.
            facts.extend(_facts_of_run(inputs, run))
        except (InputError, StorageError):
            # A night that cannot be read has no link; the comparisons say why.
            continue
    return facts


def _facts_of_run(inputs: GateInputs, run: str) -> Iterator[dict[str, Any]]:
    """How a run changed by each measure across the change of judgments that tonight begins."""
    scores = inputs.scores
    link = newest_link(run, inputs.tonight, inputs.nights, scores.runs_of)
    if link is None:
        return
    metrics = scores.source(inputs.tonight).metrics
    for metric in _metrics(inputs):
        if metric not in metrics:
            continue
        of_run = run_scores(run, metric, inputs.tonight, scores)
        sides = of_run.sides(link, FIRST_READING)
        if sides is not None:
            yield change_facts(sides, of_run, scores)


def _metrics(inputs: GateInputs) -> list[Metric]:
    """The metrics: the headline first, then those of the checks."""
    tonight = inputs.tonight
    cutoffs = tonight.record["configuration"].get("cutoffs") or []
    metrics: dict[Metric, None] = {}
    if cutoffs:
        metrics[tonight.measure_set.headline(cutoffs)] = None
    for _, check in inputs.checks:
        if check.measure != JUDGED_RATE and not check.is_of_catalog:
            metrics[check.metric] = None
    return list(metrics)


def changes_in_words(links: Iterable[Mapping[str, Any]]) -> list[str]:
    """A sentence per run about the first measure in its links."""
    by_run: dict[str, Mapping[str, Any]] = {}
    for link in links:
        by_run.setdefault(link["run"], link)
    return [_in_words(link) for link in by_run.values()]


def _in_words(link: Mapping[str, Any]) -> str:
    """A link's facts as sentences: `New judgments: 48 of 50 queries are in both. [...]`."""
    means = f"{score(link['mean'])} ({score(link['before_mean'])} under the old judgments)"
    if not link["queries_in_both"]:
        return f"New judgments: no query is in both. The mean of {link['run']} is {means}."
    both = f"{link['queries_in_both']:,} of {link['queries']:,} queries are in both"
    ends = f"{signed(link['old'])} (old judgments) to {signed(link['new'])} (new)"
    since = day(link["before"])
    sentence = f"New judgments: {both}. On these, {link['run']} changed by {ends} since {since}."
    sentence += f" The mean over all queries is {means}"
    if link["new_queries"]:
        score_ = "scores" if link["new_queries"] == 1 else "score"
        queries = count(link["new_queries"], "new query", "new queries")
        new = f"{queries} {score_} {score(link['new_queries_mean'])}"
        return f"{sentence}; {new}."
    return f"{sentence}."
