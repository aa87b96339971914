"""The queries of a report that are shown document by document, of the run and of its baseline."""

import dataclasses
from collections.abc import Sequence
from typing import Any

from ndcg_spark.explanation.build import explain
from ndcg_spark.explanation.model import Explanation, Facts
from ndcg_spark.job.explain_night import facts_of_night, keeps
from ndcg_spark.nights.read import NightRows
from ndcg_spark.nights.records import CommittedNight


@dataclasses.dataclass(frozen=True)
class QueryDetails:
    """A query of a run: its scores, and its documents if the night keeps them."""

    query_id: str
    ndcg: float | None
    baseline: float | None
    explanation: Explanation | None = None
    baseline_facts: Facts | None = None

    @property
    def difference(self) -> float | None:
        """The score less that of the baseline."""
        return None if self.ndcg is None or self.baseline is None else self.ndcg - self.baseline


@dataclasses.dataclass(frozen=True)
class RunOfNight:
    """A run of a night, at one cutoff."""

    night: CommittedNight
    tables: NightRows
    run: str
    cutoff: int | None


def with_documents(
    own: RunOfNight, baseline: RunOfNight | None, queries: Sequence[QueryDetails]
) -> dict[str, QueryDetails]:
    """The queries with their documents, by id."""
    names = [each.query_id for each in queries]
    if baseline is None or baseline.night == own.night:
        # Both at once: the documents of a large night take seconds to look through.
        facts = _facts(own, names, [own.run, *([baseline.run] if baseline else [])])
    else:
        facts = {**_facts(baseline, names, [baseline.run]), **_facts(own, names, [own.run])}
    ours, theirs = ((side.night.evaluated_on, side.run) for side in (own, baseline or own))
    detailed = {}
    for query in queries:
        of_run, of_baseline = facts.get((*ours, query.query_id)), facts.get((*theirs, query.query_id))
        explanation = explain(of_run) if of_run else None
        shown = of_baseline if baseline and of_run else None
        detailed[query.query_id] = dataclasses.replace(query, explanation=explanation, baseline_facts=shown)
    return detailed


def _facts(side: RunOfNight, queries: Sequence[str], runs: Sequence[str]) -> dict[tuple[str, str, str], Facts]:
    """What is known of the documents, by date, run and query; nothing of a night that keeps none."""
    if not queries or not side.tables.has_documents():
        return {}
    documents: dict[str, list[dict[str, Any]]] = {query: [] for query in queries}
    for row in side.tables.rows_of_queries("ranked_documents", queries, runs):
        documents[row["query_id"]].append(row)
    facts = {}
    for row in side.tables.rows_of_queries("query_scores", queries, runs):
        query, run = row["query_id"], row["run"]
        if row["cutoff"] == side.cutoff and keeps(side.night, row, documents[query]):
            key = (side.night.evaluated_on, run, query)
            facts[key] = facts_of_night(side.night, [row], documents[query])[run]
    return facts
