"""The difference between two runs of one query, document by document: which moved, and what that changed."""

import dataclasses
from collections.abc import Iterable, Mapping

from ndcg_spark.explanation.build import contributions
from ndcg_spark.explanation.model import Facts


@dataclasses.dataclass(frozen=True)
class Change:
    """A document in the list of a run and in that of its baseline. All changes sum to that of the DCG."""

    doc_id: str
    #: None if it is unjudged.
    relevance: float | None
    #: Its rank in each list; None if it is not in it.
    rank: int | None
    baseline_rank: int | None
    #: How many ranks it moved up; None if it is in only one of the lists.
    moved_up: int | None
    #: Its contribution to the DCG of the run, to that of the baseline, and the difference.
    contribution: float
    baseline_contribution: float
    change: float


def changed_documents(run: Facts, baseline: Facts) -> list[Change]:
    """The documents within the cutoff of either list, the largest change first, then by rank."""
    ranks, baseline_ranks = _ranks(run), _ranks(baseline)
    added, baseline_added = contributions(run), contributions(baseline)
    grades = {each.doc_id: each.relevance for facts in (baseline, run) for each in facts.listed}
    changes = []
    for document in dict.fromkeys([*_counted(run, added), *_counted(baseline, baseline_added)]):
        rank, before = ranks.get(document), baseline_ranks.get(document)
        adds, added_before = added.get(document, 0.0), baseline_added.get(document, 0.0)
        moved = before - rank if rank is not None and before is not None else None
        changes.append(Change(document, grades[document], rank, before, moved, adds, added_before, adds - added_before))
    return sorted(changes, key=lambda each: -abs(each.change))


def _ranks(facts: Facts) -> dict[str, int | None]:
    return {each.doc_id: each.rank for each in facts.listed}


def _counted(facts: Facts, added: Mapping[str, float]) -> Iterable[str]:
    """The documents within the cutoff, and those that are tied with one of them and so may also be within it."""
    within = facts.cutoff or len(facts.listed)
    return (each.doc_id for at, each in enumerate(facts.listed) if at < within or added[each.doc_id])
