"""The explanation of one query of one run: what every document adds and loses, and what would change the score."""

import dataclasses
import math
from collections.abc import Sequence

from ndcg_spark.explanation.arrangement import ideal_order, running
from ndcg_spark.explanation.facts import Facts, Returned
from ndcg_spark.explanation.losses import ANY_RELEVANT, Loss, absent, contributions, losses
from ndcg_spark.explanation.what_if import Help, Unjudged, ideal_gains, unjudged_documents, would_help

#: Sums of the same numbers in another order differ by less.
_SAME = 1e-9


@dataclasses.dataclass(frozen=True)
class Line:
    """One rank: the document there and what it adds, and the document of the ideal ranking and what it would add."""

    rank: int
    #: None below the end of the list, and so are what follows but the discount.
    doc_id: str | None
    score: float | None
    tied: bool
    relevance: float | None
    gain: float | None
    discount: float
    contribution: float | None
    ideal_doc_id: str | None
    ideal_contribution: float | None
    #: NDCG with this rank as the cutoff; None where the ideal DCG is 0 or not known.
    ndcg: float | None


@dataclasses.dataclass(frozen=True)
class Explanation:
    """Everything there is to say about one query of one run."""

    facts: Facts
    lines: list[Line]
    #: The losses that are not 0, the largest first. They sum to ideal DCG - DCG.
    losses: list[Loss]
    #: The relevant documents that are not within the cutoff.
    absent: list[Loss]
    would_help: list[Help]
    unjudged: list[Unjudged]
    #: Whether the ideal ranking is known document by document. If not, only `lines` say something, and less.
    ideal_known: bool


def explain(facts: Facts) -> Explanation:
    """The explanation of the facts."""
    listed, convention = facts.listed, facts.convention
    first = [each.doc_id for each in listed]
    ideal = ideal_order(ideal_gains(facts), first, convention, facts.cutoff, len(listed))
    ideal_dcg = math.fsum(gain * discount for (_, gain), discount in zip(ideal, facts.discounts, strict=False))
    # A night has neither all that an ideal of the returned documents is made of, nor whole groups of ties.
    known = facts.whole or (convention.ties != "average" and abs(ideal_dcg - facts.score.ideal_dcg) <= _SAME)
    if not known:
        return Explanation(facts, _lines(facts, []), [], [], [], [], ideal_known=False)
    lost = losses(facts, ideal, contributions(facts))
    return Explanation(
        facts,
        _lines(facts, ideal),
        [each for each in lost if each.loss],
        absent(facts),
        would_help(facts, ideal),
        unjudged_documents(facts),
        ideal_known=True,
    )


def _lines(facts: Facts, ideal: Sequence[tuple[str | None, float]]) -> list[Line]:
    shown, discounts = facts.listed[: facts.cutoff], facts.discounts
    ranks = max(len(shown), len(ideal))
    dcgs = running([each.gain for each in shown], discounts, ranks)
    ideal_dcgs = running([gain for _, gain in ideal], discounts, ranks)
    lines = []
    for at in range(ranks):
        here: Returned | None = shown[at] if at < len(shown) else None
        document, gain = ideal[at] if at < len(ideal) else (None, None)
        lines.append(
            Line(
                rank=at + 1,
                doc_id=here.doc_id if here else None,
                score=here.score if here else None,
                tied=here is not None and here.tied,
                relevance=here.relevance if here else None,
                gain=here.gain if here else None,
                discount=discounts[at],
                contribution=here.gain * discounts[at] if here else None,
                ideal_doc_id=None if gain is None else document or ANY_RELEVANT,
                ideal_contribution=None if gain is None else gain * discounts[at],
                ndcg=dcgs[at] / ideal_dcgs[at] if ideal_dcgs[at] else None,
            )
        )
    return lines
