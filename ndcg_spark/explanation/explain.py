"""Explanations: what every document contributes to the score, loses against the ideal ranking, or has changed."""

import dataclasses
import itertools
import math
import statistics
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ndcg_spark.explanation.facts import ExplainRequest, Facts, ReturnedDocument
from ndcg_spark.tables.table import best_first

#: The name of a document in the ideal ranking if the convention needs more relevant documents than there are.
ANY_RELEVANT = "(any relevant document)"
#: Sums of the same numbers in different orders differ by less than this.
_SAME = 1e-9


@dataclasses.dataclass(frozen=True)
class RankLine:
    """One rank: its document and contribution, and the document of the ideal ranking and its contribution."""

    rank: int
    #: This and the following fields, except the discount, are None below the end of the list.
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
class Loss:
    """How much less (above 0) or more (below 0) a document adds than in the ideal ranking."""

    doc_id: str
    relevance: float | None
    #: Its rank in the scored list, None if it is not in it; `where` says where it is.
    rank: int | None
    where: str
    #: None if it is not within the cutoff of the ideal ranking.
    ideal_rank: int | None
    gain: float
    loss: float


@dataclasses.dataclass(frozen=True)
class Change:
    """A document in the list of a run and in those of its baseline."""

    doc_id: str
    #: None if it is unjudged.
    relevance: float | None
    #: Its rank tonight and in the newest list of the baseline; None if it is not in it.
    rank: int | None
    baseline_rank: int | None
    #: How many ranks it moved up; None if it is in only one of the two lists.
    moved_up: int | None
    #: `left` or `came_in`: within the cutoff in at least half of the baseline's lists and not tonight, or the reverse;
    #: `same_rank`, with another gain; else `up` or `down`.
    what: str
    #: Its contribution to the DCG, the mean of that to the DCGs of the baseline, and the difference.
    contribution: float
    baseline_contribution: float
    change: float
    #: Its part of the difference in NDCG.
    part: float


@dataclasses.dataclass(frozen=True)
class Explanation:
    """The explanation of one query of one run."""

    facts: Facts
    lines: list[RankLine]
    #: Whether every document of the ideal ranking is known. If not, there are only `lines`, without their ideal.
    ideal_known: bool = False
    #: The losses that are not 0, the largest first. They sum to ideal DCG - DCG.
    losses: Sequence[Loss] = ()
    #: The relevant documents that are not within the cutoff.
    absent: Sequence[Loss] = ()
    #: The unjudged documents within the cutoff, by rank; with unjudged=drop those that would be there if judged.
    unjudged: Sequence[ReturnedDocument] = ()


class Explained(NamedTuple):
    """The explanations of the requested runs, and by run the facts that it is compared with and where they are from."""

    explanations: list[Explanation]
    baselines: Mapping[str, tuple[Facts, str]] = {}


def explain_runs(facts: Mapping[str, Facts], runs: Sequence[str], request: ExplainRequest) -> Explained:
    """The explanations of the runs, the best first."""
    explanations = [explain(facts[run]) for run in runs if run != request.baseline]
    explanations.sort(key=lambda explanation: best_first(explanation.facts.score.ndcg, explanation.facts.run))
    other = facts.get(request.baseline or "")
    return Explained(explanations, dict.fromkeys(facts, (other, other.run)) if other else {})


def explain(facts: Facts) -> Explanation:
    """The explanation of the facts."""
    ideal_dcg = math.fsum(gain * discount for (_, gain), discount in zip(facts.ideal, facts.discounts, strict=False))
    # A night stores neither all documents of an ideal made of the returned ones nor whole groups of ties.
    is_exact = facts.convention.ties != "average" and abs(ideal_dcg - facts.score.ideal_dcg) <= _SAME
    if not (facts.whole or is_exact):
        return Explanation(facts, _lines(facts, []))
    losses, absent = _losses(facts)
    return Explanation(facts, _lines(facts, facts.ideal), True, losses, absent, _unjudged(facts))


def _lines(facts: Facts, ideal: Sequence[tuple[str | None, float]]) -> list[RankLine]:
    lines: list[RankLine] = []
    dcg = ideal_dcg = 0.0
    for rank, (here, best) in enumerate(itertools.zip_longest(facts.listed[: facts.cutoff], ideal), 1):
        discount = facts.discounts[rank - 1]
        adds, would_add = here and here.gain * discount, best and best[1] * discount
        dcg, ideal_dcg = dcg + (adds or 0.0), ideal_dcg + (would_add or 0.0)
        lines.append(
            RankLine(
                rank=rank,
                **{name: getattr(here, name, None) for name in ("doc_id", "score", "relevance", "gain")},
                tied=bool(here and here.tied),
                discount=discount,
                contribution=adds,
                ideal_doc_id=best and (best[0] or ANY_RELEVANT),
                ideal_contribution=would_add,
                ndcg=dcg / ideal_dcg if ideal_dcg else None,
            )
        )
    return lines


def contributions(facts: Facts) -> dict[str, float]:
    """What each document within the cutoff contributes, by its id; the sum is the DCG.

    With averaged ties, a document contributes its gain times the mean discount of the ranks that its group shares.
    """
    averaged = facts.convention.ties == "average"
    weights: dict[int, list[float]] = {}
    for at, row in enumerate(facts.listed):
        weight = facts.discounts[at] if facts.is_within(row.rank) else 0.0
        weights.setdefault(row.tie_group if averaged else at, []).append(weight)
    means = {key: math.fsum(group) / len(group) for key, group in weights.items()}
    return {row.doc_id: row.own_gain * means[row.tie_group if averaged else at] for at, row in enumerate(facts.listed)}


def _losses(facts: Facts) -> tuple[list[Loss], list[Loss]]:
    """The losses that are not 0, the largest first, and the relevant documents outside the cutoff, the best first."""
    added = contributions(facts)
    best = {entry[0]: (rank, entry[1]) for rank, entry in enumerate(facts.ideal, 1) if entry[0] is not None}
    # A document that is returned twice stays on the list once.
    rows = {row.doc_id: row for row in [*(row for row in facts.returned if row.rank is None), *facts.listed]}
    losses, absent = [], []
    for document in dict.fromkeys([*best, *rows, *facts.judged]):
        row, (ideal_rank, ideal_gain) = rows.get(document), best.get(document, (None, 0.0))
        grade, judged_gain = facts.judged.get(document, (None, None))
        rank = row and row.rank
        gain = row.own_gain if row and rank else ideal_gain
        would_add = gain * facts.discounts[ideal_rank - 1] if ideal_rank else 0.0
        relevance, where = row.relevance if row else grade, _where(document, row, facts)
        losses.append(Loss(document, relevance, rank, where, ideal_rank, gain, would_add - added.get(document, 0.0)))
        if (judged_gain or 0.0) > 0 and not facts.is_within(rank):
            absent.append(Loss(document, grade, rank, where, None, judged_gain or 0.0, 0.0))
    for rank, (entry, gain) in enumerate(facts.ideal, 1):
        if entry is None:
            lost = gain * facts.discounts[rank - 1]
            losses.append(Loss(ANY_RELEVANT, None, None, "fewer documents are relevant", rank, gain, lost))
    return (
        sorted((loss for loss in losses if loss.loss), key=lambda loss: -loss.loss),
        sorted(absent, key=lambda loss: (-loss.gain, loss.rank or math.inf)),
    )


def _where(document: str, row: ReturnedDocument | None, facts: Facts) -> str:
    """A phrase that says where a document is."""
    convention = facts.convention
    if row is None:
        return "not returned" if facts.whole else "not within the cutoff"
    if row.rank is not None:
        return f"rank {row.rank}" if facts.is_within(row.rank) else f"rank {row.rank}, beyond the cutoff"
    if convention.exclude_query_as_document and document == facts.query_id:
        return "taken off the list: it is the query"
    if convention.unjudged == "drop" and row.relevance is None:
        return "taken off the list: it is unjudged"
    if row.relevance is not None and row.relevance < 0 and convention.negative != "keep":
        return "taken off the list: its grade is negative"
    return "taken off the list: it is returned twice"


def _unjudged(facts: Facts) -> list[ReturnedDocument]:
    within = facts.listed[: facts.cutoff]
    if facts.convention.unjudged != "drop":
        return [row for row in within if row.relevance is None]
    last = within[-1].returned_rank if facts.cutoff is not None and len(within) == facts.cutoff else math.inf
    excluded = facts.query_id if facts.convention.exclude_query_as_document else None
    dropped = (row for row in facts.returned if row.relevance is None and row.rank is None and row.returned_rank < last)
    return sorted((row for row in dropped if row.doc_id != excluded), key=lambda row: row.returned_rank)


def changed_documents(run: Facts, baseline: Sequence[Facts]) -> list[Change]:
    """What changed since a baseline, document by document: those within the cutoff, the largest change first.

    `baseline` is the list of another run, or the lists of the nights that the baseline is the mean of, the newest last.
    `change` sums to the DCG of the run less the mean DCG of the baseline, and `part` to the difference of their NDCG,
    if the ideal DCGs are above 0.
    """
    sides = [*baseline, run]
    rows = [{row.doc_id: row for row in facts.listed} for facts in sides]
    added = [contributions(facts) for facts in sides]
    ideals = [facts.score.ideal_dcg or math.inf for facts in sides]
    changes = []
    # Those that are tied with a document within the cutoff count, too.
    within = ({row.doc_id for row in facts.listed if facts.is_within(row.rank)} for facts in sides)
    for document in set().union(*within, *({doc for doc, value in values.items() if value} for values in added)):
        by_side = [listed.get(document) for listed in rows]
        *ranks, rank = (row and row.rank for row in by_side)
        *before, adds = (values.get(document, 0.0) for values in added)
        *shares, share = (values.get(document, 0.0) / ideal for values, ideal in zip(added, ideals, strict=True))
        mean, part, newest = statistics.fmean(before), share - statistics.fmean(shares), ranks[-1]
        was_in = 2 * sum(map(run.is_within, ranks)) >= len(ranks)
        if was_in != run.is_within(rank):
            what = "left" if was_in else "came_in"
        else:
            what = "same_rank" if {*ranks} == {rank} else "up" if part > 0 else "down"
        changes.append(
            Change(
                doc_id=document,
                relevance=next((row.relevance for row in reversed(by_side) if row is not None), None),
                rank=rank,
                baseline_rank=newest,
                moved_up=newest - rank if newest is not None and rank is not None else None,
                what=what,
                contribution=adds,
                baseline_contribution=mean,
                change=adds - mean,
                part=part,
            )
        )
    last = math.inf
    return sorted(changes, key=lambda c: (-abs(c.change), c.rank or last, c.baseline_rank or last, c.doc_id))
