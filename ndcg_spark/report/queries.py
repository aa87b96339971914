"""The queries of a report: their scores, and the documents of those that lost or won most."""

import dataclasses
from collections.abc import Sequence

from ndcg_spark.convention.cutoffs import Cutoff
from ndcg_spark.explanation.explain import Explanation, explain
from ndcg_spark.explanation.facts import Facts
from ndcg_spark.job.explain_night import facts_of_queries
from ndcg_spark.nights.log import Night
from ndcg_spark.report.causes import Cause, cause_of

#: A table of documents of a query shows at most this many, that of the ranks at most MOST_RANKS.
MOST_ROWS, MOST_RANKS = 20, 50


@dataclasses.dataclass(frozen=True)
class QueryScore:
    """A query of a run and of its baseline, with its documents if it is shown with them and the night keeps them."""

    query_id: str
    score: float | None
    baseline: float | None
    explanation: Explanation | None = None
    baseline_facts: Facts | None = None
    #: Why NDCG is not higher, or is not what it was.
    cause: Cause | None = None

    @property
    def difference(self) -> float | None:
        """The score less that of the baseline."""
        return None if self.score is None or self.baseline is None else self.score - self.baseline


def with_documents(
    own: tuple[Night, str],
    baseline: tuple[Night, str] | None,
    cutoff: Cutoff,
    queries: Sequence[QueryScore],
) -> list[QueryScore]:
    """The queries with what the nights keep of their documents, in the same order."""
    sides = [own, *([baseline] if baseline else [])]
    names = [each.query_id for each in queries]
    facts = {
        (night, *key): found
        for night in dict.fromkeys(night for night, _ in sides)
        for key, found in facts_of_queries(night, [run for of, run in sides if of == night], cutoff, names).items()
    }

    def detailed(query: QueryScore) -> QueryScore:
        of_run, *others = (facts.get((*side, query.query_id)) for side in sides)
        if of_run is None:
            return query
        explanation, before = explain(of_run), others[0] if others else None
        # With a baseline whose documents are not kept, nothing is known of what changed.
        cause = cause_of(explanation, before) if before or not others else None
        return dataclasses.replace(query, explanation=explanation, baseline_facts=before, cause=cause)

    return list(map(detailed, queries))
