"""What happened to each run across a change of judgments, for the log and for people."""

from collections.abc import Iterable, Mapping
from typing import Any

from ndcg_spark.comparison.chain import RunScores, change_facts
from ndcg_spark.comparison.matrix import Metric
from ndcg_spark.comparison.readings import FIRST
from ndcg_spark.comparison.references import newest_link
from ndcg_spark.comparison.sources import ScoreCache
from ndcg_spark.convention.measures import JUDGED_RATE
from ndcg_spark.errors import InputError, StorageError
from ndcg_spark.gate.settings import GateConfig
from ndcg_spark.nights.log import Night, Nights
from ndcg_spark.tables.format import difference as signed
from ndcg_spark.tables.format import score


def links_of(
    gate: GateConfig, tonight: Night, nights: Nights, scores: ScoreCache
) -> list[dict[str, Any]]:
    """The facts about each run by every measure of a check, if tonight's judgments are new to it.

    Runs without a kept copy have none.
    """
    facts = []
    source = scores.source(tonight)
    for run in source.runs:
        try:
            link = newest_link(run, tonight, nights, lambda night: scores.source(night).runs)
            if link is None:
                continue
            for metric in _metrics(gate, tonight):
                if metric not in source.metrics:
                    continue
                of_run = RunScores(run, metric, scores)
                sides = of_run.sides(link, FIRST)
                if sides is not None:
                    facts.append(change_facts(sides, of_run, scores))
        except (InputError, StorageError):
            # A night that cannot be read has no link; the comparisons say why.
            continue
    return facts


def _metrics(gate: GateConfig, tonight: Night) -> list[Metric]:
    """The metrics: the headline first, then those of the checks."""
    cutoffs = tonight.record["configuration"].get("cutoffs") or []
    metrics: dict[Metric, None] = {}
    if cutoffs:
        metrics[tonight.measure_set.headline(cutoffs)] = None
    for _, check in gate.checks(tonight.dataset):
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
    both = f"{link['queries_in_both']:,} of {link['queries']:,} queries are in both"
    ends = f"{signed(link['old'])} (old judgments) to {signed(link['new'])} (new)"
    means = f"{score(link['mean'])} ({score(link['before_mean'])} under the old judgments)"
    sentence = f"New judgments: {both}. On these, {link['run']} changed by {ends}."
    sentence += f" The mean over all queries is {means}"
    if link["new_queries"]:
        new = f"{link['new_queries']:,} new queries score {score(link['new_queries_mean'])}"
        return f"{sentence}; {new}."
    return f"{sentence}."
