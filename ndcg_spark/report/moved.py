"""The documents of the queries on a page, and the movements that made the difference."""

from collections.abc import Iterable, Mapping, Sequence
from math import fsum
from typing import Any, NamedTuple

from ndcg_spark.explanation.query import Facts, changed_documents
from ndcg_spark.job.explain_query import read_facts
from ndcg_spark.nights.log import Night
from ndcg_spark.report.outline import Outline
from ndcg_spark.tolerance import EQUAL

Row = Mapping[str, Any]
#: Movements are computed for at most this many queries: those that changed most.
EXPLAINED = 1_000
#: What can happen to a document, in display order.
_WHAT = ("left", "down", "up", "came_in", "same_rank")
#: The parts of documents sum to a query's difference, up to this rounding error.
_SUM = 1e-6


class QueryLists(NamedTuple):
    """A query's documents: tonight's, the baseline's, and the changes between them."""

    facts: Facts
    newest: Facts | None
    changes: Sequence[Row]
    #: The date of the baseline's newest night that has them.
    newest_on: str | None = None


class Moved(NamedTuple):
    #: The difference split by what happened to documents.
    sums: Mapping[str, float]
    #: The share of the losses at ranks that now hold unjudged documents.
    unjudged: float
    #: The number of these queries, and their share of the total change.
    queries: int
    share: float


def read_lists(
    shown: Outline,
    run: str,
    cutoff: int | None,
    ends: Sequence[str],
    changes: Mapping[str, float],
) -> dict[str, QueryLists]:
    """The documents by query, for the queries at both ends and those that changed most."""
    measure, shown_cutoff = shown.metric
    queries = list(ends)
    if measure == "ndcg" and shown_cutoff is not None:
        queries += _changed_most(changes)
    queries = list(dict.fromkeys(queries))
    baseline = shown.baseline.run or run
    nights: Sequence[Night] = shown.baseline.nights
    if not nights and changes:
        nights = [shown.night]
    before = [read_facts(night, [baseline], cutoff, queries) for night in nights]
    documents = {}
    for (_, query), facts in read_facts(shown.night, [run], cutoff, queries).items():
        earlier = []
        newest_on = None
        for night, lists in zip(nights, before, strict=True):
            if (baseline, query) in lists:
                earlier.append(lists[baseline, query])
                newest_on = night.evaluated_on
        if not earlier:
            documents[query] = QueryLists(facts, None, [])
            continue
        if not shown.baseline.nights:
            # The baseline is a run on the same night.
            newest_on = None
        changed = changed_documents(facts, earlier)
        documents[query] = QueryLists(facts, earlier[-1], changed, newest_on)
    return documents


def _changed_most(changes: Mapping[str, float]) -> list[str]:
    """The queries that changed most.

    Unchanged queries are included if there are few, as movements within them may cancel out.
    """

    def size(query: str) -> float:
        return abs(changes[query])

    by_size = sorted(changes, key=size, reverse=True)
    return by_size[:EXPLAINED]


def what_moved(documents: Mapping[str, QueryLists], changes: Mapping[str, float]) -> Moved | None:
    """The difference split by what happened to documents; None if no documents explain it.

    `changes`: the change of every query.
    """
    explained = {}
    for query, change in changes.items():
        lists = documents.get(query)
        if lists is not None and _sums_to(lists, change):
            explained[query] = lists
    if not explained:
        return None
    sums = dict.fromkeys(_WHAT, 0.0)
    for lists in explained.values():
        for moved in lists.changes:
            sums[moved["what"]] += moved["part"] / len(changes)
    total = fsum(map(abs, changes.values()))
    covered = fsum(abs(changes[query]) for query in explained)
    # With a single grade, an unjudged document is no worse than a judged one.
    is_graded = len(_judged_grades(documents)) > 1
    return Moved(
        sums={what: value for what, value in sums.items() if abs(value) > EQUAL},
        unjudged=_share_at_unjudged_ranks(explained.values()) if is_graded else 0.0,
        queries=len(explained),
        share=covered / total if total else 1.0,
    )


def _share_at_unjudged_ranks(explained: Iterable[QueryLists]) -> float:
    """The share of the losses of documents at ranks that now hold unjudged documents."""
    total = 0.0
    at_unjudged = 0.0
    for lists in explained:
        unjudged_ranks = {row.rank for row in lists.facts.listed if row.relevance is None}
        for moved in lists.changes:
            loss = min(moved["part"], 0.0)
            total += loss
            if moved["baseline_rank"] in unjudged_ranks:
                at_unjudged += loss
    return at_unjudged / total if total else 0.0


def _sums_to(lists: QueryLists, change: float) -> bool:
    """Whether the parts sum to the difference, which needs all lists of the baseline."""
    if lists.newest is None:
        return False
    return abs(fsum(row["part"] for row in lists.changes) - change) <= _SUM


def _judged_grades(documents: Mapping[str, QueryLists]) -> set[float | None]:
    """The distinct grades of all judgments; clicks have only one."""
    grades: set[float | None] = set()
    for lists in documents.values():
        grades.update(document.grade for document in lists.facts.judged.values())
    return grades
