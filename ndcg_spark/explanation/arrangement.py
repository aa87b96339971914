"""Lists of gains and their DCG in plain numbers, so that a list can be scored as it would be after a change."""

import dataclasses
import itertools
import math
from collections.abc import Iterable, Mapping, Sequence

from ndcg_spark.convention.convention import Convention


@dataclasses.dataclass(frozen=True)
class Item:
    """A document of a list: those of one tie group stand side by side until one of them is moved."""

    doc_id: str
    tie_group: int
    gain: float


#: The tie group of a document that was moved: it is tied with none.
MOVED = -1


def arranged(items: Sequence[Item], convention: Convention) -> list[Item]:
    """The items, which come as they were returned, with ties settled by gain if the convention says so."""
    if convention.ties not in ("worst", "best"):
        return list(items)
    sign = 1.0 if convention.ties == "worst" else -1.0
    return sorted(items, key=lambda item: (item.tie_group, sign * item.gain))


def gains_of(items: Sequence[Item], convention: Convention) -> list[float]:
    """The gain that counts at every rank: with averaged ties, the mean over the tie group."""
    if convention.ties != "average":
        return [item.gain for item in items]
    groups: dict[int, list[float]] = {}
    for item in items:
        groups.setdefault(item.tie_group, []).append(item.gain)
    means = {group: math.fsum(gains) / len(gains) for group, gains in groups.items()}
    return [means[item.tie_group] for item in items]


def ideal_order(
    gains: Mapping[str, float], first: Iterable[str], convention: Convention, cutoff: int | None, returned: int
) -> list[tuple[str | None, float]]:
    """The documents of the ideal ranking and their gains, by rank, as deep as the convention lets it be.

    `gains` are those of the documents that the ideal is made of. Of equal gains those come first that are named in
    `first`, in that order, then the larger id. None stands for any relevant document, where there are fewer than k.
    """
    place = {document: at for at, document in enumerate(first)}
    by_id = sorted(gains, key=lambda document: document.encode(), reverse=True)
    order = sorted(by_id, key=lambda document: (-gains[document], place.get(document, len(place))))
    ideal: list[tuple[str | None, float]] = [(document, gains[document]) for document in order]
    if convention.ideal == "k_relevant" and cutoff is not None:
        relevant = [entry for entry in ideal if entry[1] > 0]
        return (relevant + [(None, 1.0)] * max(cutoff - len(relevant), 0) if relevant else ideal)[:cutoff]
    depth = len(ideal) if cutoff is None else cutoff
    return ideal[: min(depth, returned) if convention.ideal == "judged_capped" else depth]


def dcg(gains: Sequence[float], discounts: Sequence[float], cutoff: int | None) -> float:
    """The sum of gain * discount down to the cutoff."""
    return math.fsum(gain * discount for gain, discount in zip(gains[:cutoff], discounts, strict=False))


def running(gains: Sequence[float], discounts: Sequence[float], ranks: int) -> list[float]:
    """The DCG at every rank from 1 to `ranks`; below the end of the list it stays what it is."""
    terms = [gain * discount for gain, discount in zip(gains, discounts, strict=False)]
    padded = [*terms, *[0.0] * max(ranks - len(terms), 0)]
    return list(itertools.accumulate(padded))[:ranks]
