"""NDCG in plain Python, for explanations, and as the reference of the tests."""

import dataclasses
import math
from collections.abc import Iterable, Mapping, Sequence

from ndcg_spark.convention.convention import Convention, Discount, counted_grade, named_gain, table_gain
from ndcg_spark.convention.options import DISCOUNTS, GAINS, Numbers
from ndcg_spark.user_functions import computed


@dataclasses.dataclass(frozen=True)
class Item:
    """A document of a list. The documents of one tie group are neighbours."""

    doc_id: str
    tie_group: int
    gain: float


def gain(grade: float, convention: Convention) -> float | None:
    """The gain of a judged document with this grade; None if the grade counts as unjudged, or a table lacks it."""
    if grade < 0 and convention.negative != "keep":
        return None
    rule, counted = convention.gain, counted_grade(grade, convention)
    if isinstance(rule, Mapping):
        return table_gain(rule, counted)
    return named_gain(rule, counted) if rule in GAINS else computed(rule, [counted])[0]


def unjudged_gain(convention: Convention) -> float:
    """The gain of a returned document without a judgment: that of the grade which `unjudged` assigns to it.

    With `unjudged=zero` that is grade 0: the named gains give 0, a table its gain for grade 0 (0 if it has none), a
    user's function its value at 0. Raises ConventionError if a user's function cannot be computed.
    """
    grade = convention.unjudged if isinstance(convention.unjudged, float) else 0.0
    rule = convention.gain
    if isinstance(rule, str) and rule in GAINS and not GAINS[rule].of_grade:
        return 0.0
    return gain(grade, convention) or 0.0


def discounts(depth: int, rule: Discount) -> list[float]:
    """The discounts of the ranks 1 to `depth`. ConventionError if a user's function cannot be computed."""
    if isinstance(rule, tuple):
        return [*rule[:depth], *[0.0] * (depth - len(rule))]
    if rule not in DISCOUNTS:
        return computed(rule, [float(rank) for rank in range(1, depth + 1)])
    return [float(DISCOUNTS[rule].of(rank, Numbers())) for rank in range(1, depth + 1)]


def ideal_ranking(
    gains: Mapping[str, float], convention: Convention, cutoff: int | None, returned: int, first: Iterable[str] = ()
) -> list[tuple[str | None, float]]:
    """The documents of the ideal ranking and their gains, by rank, as deep as the convention allows.

    `gains` are those of the documents in the ideal. Among equal gains, the documents in `first` come first, in that
    order, then larger ids. None stands for any relevant document if there are fewer than k.
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


def ndcg(items: Sequence[Item], gains: Mapping[str, float], convention: Convention, cutoff: int | None) -> float | None:
    """NDCG of a list, by rank, with an ideal made of these gains by document; None if its ideal DCG is not above 0.

    With averaged ties, the gain at every rank is the mean of its tie group.
    """
    ideal = [worth for _, worth in ideal_ranking(gains, convention, cutoff, len(items))]
    weights = discounts(max(len(items), len(ideal)), convention.discount)
    groups: dict[int, list[float]] = {}
    for at, item in enumerate(items):
        groups.setdefault(item.tie_group if convention.ties == "average" else at, []).append(item.gain)
    means = {key: math.fsum(group) / len(group) for key, group in groups.items()}
    counted = [means[item.tie_group if convention.ties == "average" else at] for at, item in enumerate(items)]
    ideal_dcg = _dcg(ideal, weights)
    return _dcg(counted[:cutoff], weights) / ideal_dcg if ideal_dcg > 0 else None


def _dcg(gains: Sequence[float], weights: Sequence[float]) -> float:
    return math.fsum(worth * weight for worth, weight in zip(gains, weights, strict=False))
