"""What every document adds to the DCG, and what that is less than in the ideal ranking."""

import dataclasses
import math
from collections.abc import Mapping, Sequence

from ndcg_spark.explanation.facts import Facts, Returned

#: What a document of the ideal ranking is called where the convention asks for more than there are.
ANY_RELEVANT = "(any relevant document)"


@dataclasses.dataclass(frozen=True)
class Loss:
    """What a document adds less (above 0) or more (below 0) than in the ideal ranking."""

    doc_id: str
    relevance: float | None
    #: Its rank in the list that is scored, None if it is not on it; `where` says where it is.
    rank: int | None
    where: str
    #: None if the ideal ranking has it not, or below the cutoff.
    ideal_rank: int | None
    gain: float
    loss: float


def contributions(facts: Facts) -> dict[str, float]:
    """What each document within the cutoff adds, by its id; the sum is the DCG.

    Where ties are averaged, a document adds its own gain times the mean discount of the ranks that its group shares.
    """
    listed, cutoff = facts.listed, facts.cutoff
    weights = [weight if cutoff is None or rank <= cutoff else 0.0 for rank, weight in enumerate(facts.discounts, 1)]
    if facts.convention.ties != "average":
        return {each.doc_id: each.own_gain * weights[at] for at, each in enumerate(listed)}
    groups: dict[int, list[float]] = {}
    for at, each in enumerate(listed):
        groups.setdefault(each.tie_group, []).append(weights[at])
    return {
        each.doc_id: each.own_gain * math.fsum(groups[each.tie_group]) / len(groups[each.tie_group]) for each in listed
    }


def losses(facts: Facts, ideal: Sequence[tuple[str | None, float]], added: Mapping[str, float]) -> list[Loss]:
    """The loss of every document that is returned, or in the ideal ranking; the largest first.

    They sum to the ideal DCG less the DCG, under every convention.
    """
    ideal_ranks = {document: rank for rank, (document, _) in enumerate(ideal, 1) if document is not None}
    grades = {each.doc_id: each.relevance for each in facts.judged}
    gains = {document: gain for document, gain in ideal if document is not None}
    rows = {each.doc_id: each for each in facts.returned if each.rank is None}
    rows |= {each.doc_id: each for each in facts.listed}
    found = []
    for document in dict.fromkeys([*ideal_ranks, *rows]):
        row, ideal_rank = rows.get(document), ideal_ranks.get(document)
        gain = row.own_gain if row and row.rank is not None else gains.get(document, 0.0)
        wanted = gain * facts.discounts[ideal_rank - 1] if ideal_rank else 0.0
        relevance = row.relevance if row else grades.get(document)
        where, rank = place_of(document, row, facts), row.rank if row else None
        found.append(Loss(document, relevance, rank, where, ideal_rank, gain, wanted - added.get(document, 0.0)))
    for rank, (entry, gain) in enumerate(ideal, 1):
        if entry is None:
            lost = gain * facts.discounts[rank - 1]
            found.append(Loss(ANY_RELEVANT, None, None, "there are not so many", rank, gain, lost))
    return sorted(found, key=lambda each: -each.loss)


def absent(facts: Facts) -> list[Loss]:
    """The judged documents with a gain that are not within the cutoff, the best first, then by rank; without losses."""
    rows = {each.doc_id: each for each in sorted(facts.returned, key=lambda each: each.rank is not None)}
    found = []
    for each in facts.judged:
        row = rows.get(each.doc_id)
        rank = row.rank if row else None
        if (each.gain or 0.0) > 0 and (rank is None or (facts.cutoff is not None and rank > facts.cutoff)):
            where = place_of(each.doc_id, row, facts)
            found.append(Loss(each.doc_id, each.relevance, rank, where, None, each.gain or 0.0, 0.0))
    return sorted(found, key=lambda each: (-each.gain, each.rank is None, each.rank or 0))


def place_of(document: str, row: Returned | None, facts: Facts) -> str:
    """Where a document is, in words."""
    if row is None:
        return "not returned" if facts.whole else "not within the cutoff"
    if row.rank is not None:
        deep = facts.cutoff is not None and row.rank > facts.cutoff
        return f"rank {row.rank}, beyond the cutoff" if deep else f"rank {row.rank}"
    return f"taken off the list: {_reason(document, row, facts)}"


def _reason(document: str, row: Returned, facts: Facts) -> str:
    convention = facts.convention
    if convention.exclude_query_as_document and document == facts.query_id:
        return "it is the query"
    if convention.unjudged == "drop" and row.relevance is None:
        return "nobody judged it"
    if row.relevance is not None and row.relevance < 0 and convention.negative != "keep":
        return "its grade is negative"
    return "it is returned twice"
