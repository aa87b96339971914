"""What the score would be if a document were moved, or judged: the list and its ideal ranking are rescored."""

from collections.abc import Mapping, Sequence

from ndcg_spark.convention.options import TIES
from ndcg_spark.explanation.model import Facts, Move, PossibleGrade, UnjudgedDocument
from ndcg_spark.reference import Item, ndcg, with_ties_broken

#: At most this many moves are suggested.
MOST_MOVES = 3
#: At most this many unjudged documents are rescored: those at the best ranks.
MOST_UNJUDGED = 100
#: The tie group of a document that was moved: it is not tied.
_MOVED = -1
#: Smaller differences are rounding errors.
_NOTHING = 1e-12


def moves(facts: Facts, ideal: Sequence[tuple[str | None, float]]) -> list[Move]:
    """The moves that would raise the score most, at most MOST_MOVES, the best first."""
    ranks = {each.doc_id: each.rank for each in facts.listed}
    grades = {each.doc_id: each.relevance for each in facts.judged}
    items = [Item(each.doc_id, each.tie_group, each.own_gain) for each in facts.listed]
    now = _score(items, facts.ideal_gains, facts) or 0.0
    # A document that the convention removes from the list cannot be moved in it.
    off = {each.doc_id for each in facts.returned if each.rank is None} - {*ranks}
    helpful = []
    for ideal_rank, (document, gain) in enumerate(ideal, 1):
        rank = None if document is None else ranks.get(document)
        if document is None or document in off or gain <= 0 or (rank is not None and rank < ideal_rank):
            continue
        moved = [item for item in items if item.doc_id != document]
        moved.insert(min(ideal_rank - 1, len(moved)), Item(document, _MOVED, gain))
        score = _score(moved, facts.ideal_gains, facts)
        if score is not None and score - now > _NOTHING:
            helpful.append(Move(document, grades.get(document), rank, ideal_rank, score, score - now))
    return sorted(helpful, key=lambda each: -each.ndcg)[:MOST_MOVES]


def unjudged_documents(facts: Facts, most: int = MOST_UNJUDGED) -> list[UnjudgedDocument]:
    """The unjudged documents within the cutoff, and what they could change; at most this many.

    With unjudged=drop these are the documents that would be within the cutoff if they were judged.
    """
    rescored: list[UnjudgedDocument] = []
    if not facts.whole and TIES[facts.convention.ties].by == "gain":
        # A document with another gain would change places with tied ones that a night does not keep.
        return rescored
    drops = facts.convention.unjudged == "drop"
    candidates = [each for each in facts.returned if each.relevance is None and (each.rank is None) == drops]
    if facts.convention.exclude_query_as_document:
        candidates = [each for each in candidates if each.doc_id != facts.query_id]
    for each in sorted(candidates, key=lambda each: (each.rank or 0, each.place)):
        others = [other for other in facts.listed if other.doc_id != each.doc_id]
        before = sum(other.place < each.place for other in others)
        within = facts.cutoff is None or (each.rank or before + 1) <= facts.cutoff
        if not within or len(rescored) == most:
            continue
        best, worst = (_if_judged(facts, each.doc_id, grade) for grade in (facts.best, facts.worst))
        rescored.append(UnjudgedDocument(each.doc_id, each.rank, best, worst))
    return rescored


def _if_judged(facts: Facts, document: str, grade: PossibleGrade | None) -> float | None:
    """NDCG if the document had the grade; None if there is no grade, or no ideal DCG."""
    if grade is None:
        return None
    gain = facts.unjudged_gain if grade.gain is None else grade.gain
    items = [
        Item(each.doc_id, each.tie_group, gain if each.doc_id == document else each.own_gain)
        for each in sorted(facts.returned, key=lambda each: each.place)
        if each.rank is not None or each.doc_id == document
    ]
    gains = facts.ideal_gains
    if facts.convention.ideal == "retrieved" or grade.gain is not None:
        gains[document] = gain
    return _score(with_ties_broken(items, facts.convention), gains, facts)


def _score(items: Sequence[Item], gains: Mapping[str, float], facts: Facts) -> float | None:
    return ndcg(items, gains, facts.convention, facts.cutoff, facts.discounts)
