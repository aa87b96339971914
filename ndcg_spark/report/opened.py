"""The queries of a report that are opened document by document, of the run and of what it is held against."""

import dataclasses
from collections.abc import Sequence
from typing import Any

from ndcg_spark.explanation.build import explain
from ndcg_spark.explanation.model import Explanation, Facts
from ndcg_spark.job.explain_night import facts_of_night, keeps
from ndcg_spark.job.night_rows import NightRows
from ndcg_spark.nights.records import CommittedNight


@dataclasses.dataclass(frozen=True)
class Query:
    """A query of the run that is looked at: its scores, and its documents if the night keeps them."""

    query_id: str
    ndcg: float | None
    baseline: float | None
    explanation: Explanation | None = None
    of_baseline: Facts | None = None

    @property
    def difference(self) -> float | None:
        """The score less that of the baseline."""
        return None if self.ndcg is None or self.baseline is None else self.ndcg - self.baseline


@dataclasses.dataclass(frozen=True)
class Side:
    """A run of a night."""

    night: CommittedNight
    tables: NightRows
    run: str
    cutoff: int | None


def explained(own: Side, other: Side | None, queries: Sequence[Query]) -> dict[str, Query]:
    """The queries with their documents, by id."""
    names = [each.query_id for each in queries]
    if other is None or other.night == own.night:
        # Both at once: the documents of a large night take seconds to look through.
        facts = _facts(own, names, [own.run, *([other.run] if other else [])])
    else:
        facts = {**_facts(other, names, [other.run]), **_facts(own, names, [own.run])}
    ours, theirs = _place(own), _place(other or own)
    return {
        query.query_id: dataclasses.replace(
            query,
            explanation=explain(facts[*ours, query.query_id]),
            of_baseline=facts.get((*theirs, query.query_id)) if other else None,
        )
        if (*ours, query.query_id) in facts
        else query
        for query in queries
    }


def _place(side: Side) -> tuple[str, str]:
    return side.night.evaluated_on, side.run


def _facts(side: Side, queries: Sequence[str], runs: Sequence[str]) -> dict[tuple[str, str, str], Facts]:
    """What is known of the documents, by date, run and query; nothing of a night that keeps none."""
    if not queries or not side.tables.has_documents():
        return {}
    scores = side.tables.rows_of_queries("query_scores", queries, runs)
    documents = side.tables.rows_of_queries("ranked_documents", queries, runs)
    of: dict[str, list[dict[str, Any]]] = {}
    for row in documents:
        of.setdefault(row["query_id"], []).append(row)
    return {
        (side.night.evaluated_on, row["run"], query): facts_of_night(side.night, [row], of.get(query, []))[row["run"]]
        for row in scores
        if row["cutoff"] == side.cutoff and keeps(side.night, row, of.get(row["query_id"], []))
        for query in [row["query_id"]]
    }
