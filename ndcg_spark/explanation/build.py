"""The explanation of one query of one run: what every document contributes, and loses against the ideal ranking."""

import itertools
import math
from collections.abc import Mapping, Sequence

from ndcg_spark.explanation.model import (
    ANY_RELEVANT,
    Explanation,
    Facts,
    Loss,
    RankLine,
    ReturnedDocument,
    UnjudgedDocument,
)
from ndcg_spark.reference import ideal_ranking

#: The documents of the ideal ranking and their gains, by rank; None for any relevant document.
Ideal = Sequence[tuple[str | None, float]]
#: Sums of the same numbers in different orders differ by less than this.
_SAME = 1e-9


def explain(facts: Facts) -> Explanation:
    """The explanation of the facts."""
    listed, convention = facts.listed, facts.convention
    first = [each.doc_id for each in listed]
    ideal = ideal_ranking(facts.ideal_gains, convention, facts.cutoff, len(listed), first)
    ideal_dcg = math.fsum(gain * discount for (_, gain), discount in zip(ideal, facts.discounts, strict=False))
    # A night stores neither all documents of an ideal made of the returned ones nor whole groups of ties.
    known = facts.whole or (convention.ties != "average" and abs(ideal_dcg - facts.score.ideal_dcg) <= _SAME)
    if not known:
        return Explanation(facts, _lines(facts, []), [], [], [], ideal_known=False)
    lost = [each for each in losses(facts, ideal, contributions(facts)) if each.loss]
    return Explanation(facts, _lines(facts, ideal), lost, absent(facts), unjudged(facts), ideal_known=True)


def _lines(facts: Facts, ideal: Ideal) -> list[RankLine]:
    shown, discounts = facts.listed[: facts.cutoff], facts.discounts
    lines: list[RankLine] = []
    dcg = ideal_dcg = 0.0
    for at, (here, best) in enumerate(itertools.zip_longest(shown, ideal)):
        document, gain = best or (None, None)
        adds = here.gain * discounts[at] if here else None
        would_add = None if gain is None else gain * discounts[at]
        dcg, ideal_dcg = dcg + (adds or 0.0), ideal_dcg + (would_add or 0.0)
        lines.append(
            RankLine(
                rank=at + 1,
                doc_id=here.doc_id if here else None,
                score=here.score if here else None,
                tied=here is not None and here.tied,
                relevance=here.relevance if here else None,
                gain=here.gain if here else None,
                discount=discounts[at],
                contribution=adds,
                ideal_doc_id=None if gain is None else document or ANY_RELEVANT,
                ideal_contribution=would_add,
                ndcg=dcg / ideal_dcg if ideal_dcg else None,
            )
        )
    return lines


def contributions(facts: Facts) -> dict[str, float]:
    """What each document within the cutoff contributes, by its id; the sum is the DCG.

    With averaged ties, a document contributes its gain times the mean discount of the ranks that its group shares.
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


def losses(facts: Facts, ideal: Ideal, added: Mapping[str, float]) -> list[Loss]:
    """The loss of every document that is returned or in the ideal ranking, the largest first.

    They sum to the ideal DCG minus the DCG, under every convention.
    """
    ideal_ranks = {document: rank for rank, (document, _) in enumerate(ideal, 1) if document is not None}
    grades = {each.doc_id: each.relevance for each in facts.judged}
    gains = {document: gain for document, gain in ideal if document is not None}
    rows = {each.doc_id: each for each in facts.returned if each.rank is None}
    rows |= {each.doc_id: each for each in facts.listed}
    all_losses = []
    for document in dict.fromkeys([*ideal_ranks, *rows]):
        row, ideal_rank = rows.get(document), ideal_ranks.get(document)
        gain = row.own_gain if row and row.rank is not None else gains.get(document, 0.0)
        would_add = gain * facts.discounts[ideal_rank - 1] if ideal_rank else 0.0
        relevance = row.relevance if row else grades.get(document)
        where, rank = _place_of(document, row, facts), row.rank if row else None
        all_losses.append(
            Loss(document, relevance, rank, where, ideal_rank, gain, would_add - added.get(document, 0.0))
        )
    for rank, (entry, gain) in enumerate(ideal, 1):
        if entry is None:
            lost = gain * facts.discounts[rank - 1]
            all_losses.append(Loss(ANY_RELEVANT, None, None, "fewer documents are relevant", rank, gain, lost))
    return sorted(all_losses, key=lambda each: -each.loss)


def absent(facts: Facts) -> list[Loss]:
    """The judged documents with a gain that are not within the cutoff, the best first, then by rank; with loss 0."""
    rows = {each.doc_id: each for each in sorted(facts.returned, key=lambda each: each.rank is not None)}
    beyond = []
    for each in facts.judged:
        row = rows.get(each.doc_id)
        rank = row.rank if row else None
        if (each.gain or 0.0) > 0 and (rank is None or (facts.cutoff is not None and rank > facts.cutoff)):
            where = _place_of(each.doc_id, row, facts)
            beyond.append(Loss(each.doc_id, each.relevance, rank, where, None, each.gain or 0.0, 0.0))
    return sorted(beyond, key=lambda each: (-each.gain, each.rank is None, each.rank or 0))


def unjudged(facts: Facts) -> list[UnjudgedDocument]:
    """The unjudged documents within the cutoff, by rank.

    With unjudged=drop these are the documents that would be within the cutoff if they were judged.
    """
    convention, cutoff = facts.convention, facts.cutoff
    if convention.unjudged != "drop":
        return [UnjudgedDocument(each.doc_id, each.rank) for each in facts.listed[:cutoff] if each.relevance is None]
    places = [each.place for each in facts.listed]
    last = math.inf if cutoff is None or len(places) < cutoff else places[cutoff - 1]
    dropped = (each for each in facts.returned if each.relevance is None and each.rank is None and each.place < last)
    by_place = sorted(dropped, key=lambda each: each.place)
    excluded = facts.query_id if convention.exclude_query_as_document else None
    return [UnjudgedDocument(each.doc_id, None) for each in by_place if each.doc_id != excluded]


def _place_of(document: str, row: ReturnedDocument | None, facts: Facts) -> str:
    """A phrase that says where a document is."""
    if row is None:
        return "not returned" if facts.whole else "not within the cutoff"
    if row.rank is not None:
        deep = facts.cutoff is not None and row.rank > facts.cutoff
        return f"rank {row.rank}, beyond the cutoff" if deep else f"rank {row.rank}"
    return f"taken off the list: {_reason(document, row, facts)}"


def _reason(document: str, row: ReturnedDocument, facts: Facts) -> str:
    convention = facts.convention
    if convention.exclude_query_as_document and document == facts.query_id:
        return "it is the query"
    if convention.unjudged == "drop" and row.relevance is None:
        return "it is unjudged"
    if row.relevance is not None and row.relevance < 0 and convention.negative != "keep":
        return "its grade is negative"
    return "it is returned twice"
