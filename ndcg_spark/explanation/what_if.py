"""What the score would be if a document were moved, or judged: the list and its ideal are scored again."""

import dataclasses
from collections.abc import Mapping, Sequence

from ndcg_spark.convention.options import TIES
from ndcg_spark.explanation import arrangement
from ndcg_spark.explanation.arrangement import MOVED, Item
from ndcg_spark.explanation.facts import Facts, Grade

#: So many moves are named.
MOST_HELP = 3
#: Of so many unjudged documents it is computed what they could change, those of the best ranks.
MOST_UNJUDGED = 100
#: Smaller differences are those of adding the same numbers in another order.
_NOTHING = 1e-12


@dataclasses.dataclass(frozen=True)
class Help:
    """The score if one document were moved to its rank in the ideal ranking and the others kept their order."""

    doc_id: str
    relevance: float | None
    #: Its rank now; None if it is not on the list.
    rank: int | None
    ideal_rank: int
    ndcg: float
    change: float


@dataclasses.dataclass(frozen=True)
class Unjudged:
    """The score if one document that nobody judged had the best, or the worst, grade of the judgments."""

    doc_id: str
    #: None if the convention takes it off the list; then it would come back at its place.
    rank: int | None
    ndcg_if_best: float | None
    ndcg_if_worst: float | None


def ideal_gains(facts: Facts) -> dict[str, float]:
    """The gains of the documents that the ideal ranking is made of, by document."""
    if facts.convention.ideal == "retrieved":
        return {each.doc_id: each.own_gain for each in facts.listed}
    return {each.doc_id: each.gain for each in facts.judged if each.gain is not None}


def would_help(facts: Facts, ideal: Sequence[tuple[str | None, float]]) -> list[Help]:
    """The moves that would help most, at most MOST_HELP, the best first."""
    listed = facts.listed
    ranks = {each.doc_id: each.rank for each in listed}
    grades = {each.doc_id: each.relevance for each in facts.judged}
    items = [Item(each.doc_id, each.tie_group, each.own_gain) for each in listed]
    now = score(items, ideal_gains(facts), facts) or 0.0
    # What the convention takes off the list cannot be moved on it.
    off = {each.doc_id for each in facts.returned if each.rank is None} - {*ranks}
    found = []
    for ideal_rank, (document, gain) in enumerate(ideal, 1):
        rank = None if document is None else ranks.get(document)
        if document is None or document in off or gain <= 0 or (rank is not None and rank < ideal_rank):
            continue
        moved = [item for item in items if item.doc_id != document]
        moved.insert(min(ideal_rank - 1, len(moved)), Item(document, MOVED, gain))
        ndcg = score(moved, ideal_gains(facts), facts)
        if ndcg is not None and ndcg - now > _NOTHING:
            found.append(Help(document, grades.get(document), rank, ideal_rank, ndcg, ndcg - now))
    return sorted(found, key=lambda each: -each.ndcg)[:MOST_HELP]


def unjudged_documents(facts: Facts) -> list[Unjudged]:
    """The documents within the cutoff that nobody judged, and what they could change; at most MOST_UNJUDGED.

    With unjudged=drop these are the documents that would be within the cutoff if they were judged.
    """
    found: list[Unjudged] = []
    if not facts.whole and TIES[facts.convention.ties].by == "gain":
        # A document that changes its gain would change places with tied ones that a night does not keep.
        return found
    drops = facts.convention.unjudged == "drop"
    candidates = [each for each in facts.returned if each.relevance is None and (each.rank is None) == drops]
    if facts.convention.exclude_query_as_document:
        candidates = [each for each in candidates if each.doc_id != facts.query_id]
    for each in sorted(candidates, key=lambda each: (each.rank or 0, each.place)):
        others = [other for other in facts.listed if other.doc_id != each.doc_id]
        before = sum(other.place < each.place for other in others)
        within = facts.cutoff is None or (each.rank or before + 1) <= facts.cutoff
        if not within or len(found) == MOST_UNJUDGED:
            continue
        best, worst = (_if_judged(facts, each.doc_id, grade) for grade in (facts.best, facts.worst))
        found.append(Unjudged(each.doc_id, each.rank, best, worst))
    return found


def _if_judged(facts: Facts, document: str, grade: Grade | None) -> float | None:
    """NDCG if the document had the grade; None if there is no grade, or no ideal DCG."""
    if grade is None:
        return None
    gain = facts.unjudged_gain if grade.gain is None else grade.gain
    items = [
        Item(each.doc_id, each.tie_group, gain if each.doc_id == document else each.own_gain)
        for each in sorted(facts.returned, key=lambda each: each.place)
        if each.rank is not None or each.doc_id == document
    ]
    gains = ideal_gains(facts)
    if facts.convention.ideal == "retrieved" or grade.gain is not None:
        gains[document] = gain
    return score(arrangement.arranged(items, facts.convention), gains, facts)


def score(items: Sequence[Item], gains: Mapping[str, float], facts: Facts) -> float | None:
    """NDCG of a list of items by rank, with an ideal made of these gains; None if its ideal DCG is not above 0."""
    ideal = arrangement.ideal_order(gains, (), facts.convention, facts.cutoff, len(items))
    ideal_dcg = arrangement.dcg([gain for _, gain in ideal], facts.discounts, None)
    dcg = arrangement.dcg(arrangement.gains_of(items, facts.convention), facts.discounts, facts.cutoff)
    return dcg / ideal_dcg if ideal_dcg > 0 else None
