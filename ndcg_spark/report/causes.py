"""Why the NDCG of a query is not what it was, or not 1: documents that are gone, moved or came in, or are unjudged."""

import dataclasses
from collections.abc import Iterable, Mapping, Sequence
from math import fsum

from ndcg_spark.convention.cutoffs import Cutoff
from ndcg_spark.explanation.explain import Explanation, changed_documents
from ndcg_spark.explanation.facts import Facts

#: The first ranks, which a person sees.
_FIRST = 3
#: Smaller changes are those of adding the same numbers in another order.
_NOTHING = 1e-9
#: What happened to a document, in words; for one of the baseline's, and for one of the ideal ranking.
_CHANGED = {
    "gone": "left the {top}",
    "down": "moved down",
    "up": "moved up",
    "new": "came in",
    "regraded": "at the same rank (other judgments)",
}
_NOT_IDEAL = {
    "gone": "not in the {top}",
    "down": "lower than in the ideal ranking",
    "up": "higher than in the ideal ranking",
    "new": "not in the ideal ranking",
}


@dataclasses.dataclass(frozen=True)
class Cause:
    """How NDCG differs from that of the baseline, or from 1: documents and parts of the difference by what happened."""

    #: By the keys of _CHANGED: what each document adds less than in the baseline, over the ideal DCG. In all, they sum
    #: to the difference.
    parts: Mapping[str, Sequence[float]]
    #: The parts of documents that are gone or moved down and whose ranks unjudged documents have now; None without a
    #: baseline.
    at_unjudged: float | None
    #: The number of unjudged documents at the first ranks, and of these ranks; zeros if the list has no document.
    unjudged: int
    first: int
    cutoff: Cutoff

    @property
    def lost(self) -> float:
        """The sum of what documents add less."""
        return fsum(part for parts in self.parts.values() for part in parts if part < 0)

    @property
    def difference(self) -> float:
        """The sum of all parts."""
        return fsum(part for parts in self.parts.values() for part in parts)

    def sentence(self, before: float | None) -> str:
        """The cause of one query in words; `before` is the NDCG of the baseline."""
        words = _CHANGED if self.at_unjudged is not None else _NOT_IDEAL
        of = f" of {1.0 if before is None else before:.4f} NDCG" if self.difference < 0 else " NDCG"
        found: list[str] = []
        # What explains most comes first.
        for what, parts in sorted(self.parts.items(), key=lambda item: fsum(item[1]), reverse=self.difference > 0):
            if parts:
                relevant = "" if found else f" relevant document{'s' * (len(parts) != 1)}"
                happened = words[what].format(top=_top(self.cutoff))
                found.append(f"{len(parts)}{relevant} {happened}: {fsum(parts):+.4f}{'' if found else of}")
        if not self.first:
            found.append("the run returned nothing")
        if self.unjudged:
            found.append(f"{self.unjudged} of the first {self.first} {'is' if self.unjudged == 1 else 'are'} unjudged")
        return "; ".join(found) or "no relevant document changed its place"


def cause_of(explanation: Explanation, baseline: Facts | None) -> Cause | None:
    """The cause of the difference to the baseline, or without one to the ideal ranking; None without an ideal DCG."""
    facts = explanation.facts
    if not facts.score.ideal_dcg or (baseline and not baseline.score.ideal_dcg):
        return None
    parts: dict[str, list[float]] = {what: [] for what in _CHANGED}
    unjudged_ranks = {each.rank for each in facts.listed if each.relevance is None}
    at_unjudged = 0.0
    if baseline is None:
        for each in explanation.losses:
            what = _what(facts, each.rank, each.ideal_rank)
            parts[what].append(-each.loss / facts.score.ideal_dcg)
    else:
        for change in changed_documents(facts, [baseline]):
            adds = change.contribution / facts.score.ideal_dcg
            part = adds - change.baseline_contribution / baseline.score.ideal_dcg
            if abs(part) > _NOTHING:
                parts[_what(facts, change.rank, change.baseline_rank)].append(part)
                at_unjudged += part if part < 0 and change.baseline_rank in unjudged_ranks else 0.0
    first = [each for each in facts.listed if (each.rank or 0) <= _FIRST and _is_within(each.rank, facts.cutoff)]
    unjudged = sum(each.relevance is None for each in first)
    return Cause(parts, at_unjudged if baseline else None, unjudged, len(first), facts.cutoff)


def causes_in_words(causes: Iterable[Cause]) -> str:
    """How much several queries lost and why, as the end of a sentence; empty if there are none."""
    listed = list(causes)
    found: list[str] = []
    for what, words in (_NOT_IDEAL if listed and listed[0].at_unjudged is None else _CHANGED).items():
        parts = [part for cause in listed for part in cause.parts.get(what, ())]
        if parts:
            relevant = "" if found else f" relevant document{'s' * (len(parts) != 1)}"
            happened = words.format(top=_top(listed[0].cutoff))
            found.append(f"{len(parts):,}{relevant} {happened}: {fsum(parts):+.4f}")
    lost = fsum(cause.difference for cause in listed)
    if not found:
        return ""
    unjudged = fsum(cause.at_unjudged or 0.0 for cause in listed)
    where = f"; of this, {unjudged:+.4f} is at ranks that unjudged documents now hold" if unjudged else ""
    return f"{-lost:.4f} NDCG in all: {', '.join(found)}{where}"


def _what(facts: Facts, rank: int | None, before: int | None) -> str:
    is_in, was_in = (_is_within(each, facts.cutoff) for each in (rank, before))
    if is_in and was_in:
        return "regraded" if rank == before else "down" if (rank or 0) > (before or 0) else "up"
    return "new" if is_in else "gone"


def _is_within(rank: int | None, cutoff: Cutoff) -> bool:
    return rank is not None and (cutoff is None or rank <= cutoff)


def _top(cutoff: Cutoff) -> str:
    return "list" if cutoff is None else f"top {cutoff}"
