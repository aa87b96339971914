"""A run's difference from its reference across changes of judgments, as a sum of pieces.

A piece is a difference per query between two nights under one set of judgments. A change of
judgments has two such pieces, its sides: both nights under the old judgments, and both under the
new ones. Neither is fair by itself, so the chain is computed once with the higher sides and once
with the lower sides.
"""

import dataclasses
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ndcg_spark.comparison import statistics
from ndcg_spark.comparison.matrix import Metric, ScoreMatrix, mean_matrix, padded
from ndcg_spark.comparison.readings import FIRST_READING
from ndcg_spark.comparison.references import MOST_LINKS, Link, Reference, after_link
from ndcg_spark.comparison.sources import NoCopyError, ScoreCache, is_small
from ndcg_spark.comparison.statistics import Numbers
from ndcg_spark.nights.log import Night
from ndcg_spark.schemas import COMPARISONS
from ndcg_spark.tolerance import EQUAL, ROUNDING

#: How many pieces, and how many sides of changes, are kept: those of a whole chain in two readings.
_MAX_KEPT = 4 * MOST_LINKS

HIGH, LOW = "chain_high", "chain_low"

#: Returns whether each query is in the compared slice, by the attributes of two nights (the newer
#: first).
MaskOf = Callable[[Night, Night], NDArray[np.bool_]]


@dataclasses.dataclass(frozen=True)
class LinkSides:
    """A run's differences across a change of judgments, by query; NaN if a side has none."""

    link: Link
    old: Numbers
    new: Numbers


@dataclasses.dataclass(frozen=True)
class Piece:
    """A run's differences between two nights, by query."""

    newer: Night
    #: The newest one, if these are differences from the mean of several nights.
    older: Night
    differences: Numbers


@dataclasses.dataclass(frozen=True)
class Chain:
    """The pieces from a reference to tonight in one reading."""

    pieces: tuple[Piece, ...]
    links: tuple[LinkSides, ...]


class RunScores:
    """The scores of one run by one measure, for nights under any judgments that are kept."""

    def __init__(self, run: str, metric: Metric, scores: ScoreCache) -> None:
        self.run = run
        self.metric = metric
        self._scores = scores
        # Caches, because every slice and every later night uses the same differences again.
        self.piece = functools.lru_cache(_MAX_KEPT)(self._piece)
        self.sides = functools.lru_cache(_MAX_KEPT)(self._sides)

    def differences(self, own: ScoreMatrix, theirs: ScoreMatrix) -> Numbers:
        """The difference of two matrices by query; NaN unless both have the same judgments."""
        hashes = own.hashes()
        has_same_judgments = (hashes == theirs.hashes()) & (hashes != 0)
        with np.errstate(over="ignore"):
            differences = own.scores(self.run) - theirs.scores(self.run)
        return np.where(has_same_judgments, differences, np.nan)

    def matrix(self, night: Night, reading: int, judgments: str | None = None) -> ScoreMatrix:
        return self._scores.matrix(night, self.metric, reading, judgments)

    def _piece(self, newer: Night, older: tuple[Night, ...], reading: int) -> Piece:
        """A night compared with the mean of older nights that have its judgments, newest last."""
        newest_of_older = older[-1]
        scores = self.matrix(newer, reading)
        if len(older) == 1:
            older_scores = self.matrix(newest_of_older, reading)
        else:
            older_scores = mean_matrix((self.matrix(night, reading) for night in older), scores)
        return Piece(newer, newest_of_older, self.differences(scores, older_scores))

    def _sides(self, link: Link, reading: int) -> LinkSides | None:
        """Both sides of a change of judgments; None if a copy is missing."""
        before = link.before.row["judgments_fingerprint"]
        after = link.after.row["judgments_fingerprint"]
        try:
            earlier_now = self.matrix(link.before, reading, after)
            later_then = self.matrix(link.after, reading, before)
        except NoCopyError:
            # Kept as well: copies are made before anything is compared.
            return None
        # All are read before any are compared, so that all have the same queries.
        earlier_then = self.matrix(link.before, reading)
        later_now = self.matrix(link.after, reading)
        old = self.differences(later_then, earlier_then)
        new = self.differences(later_now, earlier_now)
        return LinkSides(link, old, new)


def run_scores(run: str, metric: Metric, night: Night, scores: ScoreCache) -> RunScores:
    """The scores of a run for a night and those before it, with the differences kept so far.

    A rehearsal follows almost the same chain on every night. The differences of large nights would
    need too much memory, so they are kept for one night only.
    """
    if is_small(night):
        return scores.made_once(RunScores, run, metric)
    return RunScores(run, metric, scores)


@dataclasses.dataclass(frozen=True)
class Limits:
    """The limits beyond which a chain begins later than its reference."""

    #: How far a change's sides may be apart, given the mean before the change.
    allowed: Callable[[float], float]
    min_queries: int
    mask_of: MaskOf

    def has_few(self, differences: Numbers, newer: Night, older: Night) -> bool:
        """Whether too few queries of the slice have a difference between two nights."""
        counted = ~np.isnan(_in_slice(differences, self.mask_of(newer, older)))
        return int(np.count_nonzero(counted)) < self.min_queries


def usable_reference(
    reference: Reference,
    tonight: Night,
    nights: Sequence[Night],
    most: int,
    scores: RunScores,
    limits: Limits,
) -> Reference | None:
    """The reference, or the one after the newest change of judgments that cannot be crossed.

    `nights`: the run's nights before tonight. None if there is no good night after that change.
    """
    for at in reversed(range(len(reference.links))):
        link = reference.links[at]
        newer_links = reference.links[at + 1 :]
        start = _start_of_piece(reference, at)
        if len(newer_links) == MOST_LINKS or not _can_cross(link, start, scores, limits):
            first = after_link(scores.run, link, tonight, nights, most)
            return Reference(first, newer_links, begins_later=True) if first else None
    return reference


def _start_of_piece(reference: Reference, at: int) -> tuple[Night, ...]:
    """The nights at the start of the piece that leads to the link with this index."""
    if at == 0:
        return reference.nights
    return (reference.links[at - 1].after,)


def _can_cross(link: Link, start: tuple[Night, ...], scores: RunScores, limits: Limits) -> bool:
    """Whether a change of judgments, and the piece before it, can be part of a chain."""
    sides = scores.sides(link, FIRST_READING)
    if sides is None:
        return False
    # A piece from a night to itself is left out.
    if start != (link.before,):
        piece = scores.piece(link.before, start, FIRST_READING)
        if limits.has_few(piece.differences, piece.newer, piece.older):
            return False
    for side in (sides.old, sides.new):
        if limits.has_few(side, link.after, link.before):
            return False
    mean_before = mean_of(scores.matrix(link.before, FIRST_READING).scores(scores.run))
    distance = abs(mean_of(sides.new) - mean_of(sides.old))
    return distance <= limits.allowed(mean_before) + ROUNDING


def chain(reference: Reference, tonight: Night, scores: RunScores, reading: int) -> Chain | None:
    """The pieces from a reference to tonight; None if a copy has disappeared."""
    pieces: list[Piece] = []
    links: list[LinkSides] = []
    start: tuple[Night, ...] = reference.nights
    for link in reference.links:
        # A piece from a night to itself is left out.
        if start != (link.before,):
            pieces.append(scores.piece(link.before, start, reading))
        sides = scores.sides(link, reading)
        if sides is None:
            return None
        links.append(sides)
        start = (link.after,)
    if start != (tonight,):
        pieces.append(scores.piece(tonight, start, reading))
    return Chain(tuple(pieces), tuple(links))


def mean_of(values: Numbers, weights: Numbers | None = None) -> float:
    """The weighted mean of the values that exist; NaN if there are none."""
    is_there = ~np.isnan(values)
    if weights is not None:
        is_there &= ~np.isnan(weights)
    if not is_there.any():
        return float("nan")
    if weights is None:
        return float(values[is_there].mean())
    return float(np.average(values[is_there], weights=weights[is_there]))


def chain_row(
    key: Mapping[str, Any],
    made: Chain,
    side: str,
    tonights_scores: Numbers,
    mask_of: MaskOf,
    weights: Numbers | None,
    buckets: NDArray[np.int64],
    alpha: float,
) -> dict[str, Any]:
    """A chain's COMPARISONS row, with the higher or the lower side of every link.

    `tonights_scores` and `weights` are by query; a query without a weight is left out.
    """
    parts = _differences(made, side, mask_of, weights)
    own_weights = np.ones(len(buckets)) if weights is None else weights
    has_weight = ~np.isnan(own_weights)
    queries = min(int(np.count_nonzero(~np.isnan(part) & has_weight)) for part in parts)
    row: dict[str, Any] = dict.fromkeys(COMPARISONS.names)
    row |= {**key, "side": side, "queries": queries, "flags": []}
    if queries < 2:
        return row | {"flags": ["too_few"]}
    total = statistics.total_of_pieces(parts, [own_weights] * len(parts))
    tonight = _last_night(made)
    mean = mean_of(_in_slice(tonights_scores, mask_of(tonight, tonight)), weights)
    row |= {"mean": mean, "difference": total.total, "baseline_mean": mean - total.total}
    row |= _tests_of_sum(total, queries, buckets, alpha)
    if weights is not None:
        row["weight_effective_n"] = total.freedom + 1
    return row


def _differences(made: Chain, side: str, mask_of: MaskOf, weights: Numbers | None) -> list[Numbers]:
    """The differences in each piece and on each link's chosen side, for the slice's queries."""
    differences = []
    for piece in made.pieces:
        differences.append(_in_slice(piece.differences, mask_of(piece.newer, piece.older)))
    for sides in made.links:
        mask = mask_of(sides.link.after, sides.link.before)
        old, new = _in_slice(sides.old, mask), _in_slice(sides.new, mask)
        differences.append(_chosen_side(old, new, weights, side))
    return differences


def _last_night(made: Chain) -> Night:
    """The night at the end of a chain, which ends with a piece or with a link."""
    ends = [piece.newer for piece in made.pieces]
    ends += [sides.link.after for sides in made.links]
    return max(ends, key=lambda night: night.evaluated_on)


def _in_slice(differences: Numbers, mask: NDArray[np.bool_]) -> Numbers:
    # Queries that were first seen after these differences were computed are not in them.
    return np.where(mask, padded(differences, len(mask), np.nan), np.nan)


def _chosen_side(old: Numbers, new: Numbers, weights: Numbers | None, side: str) -> Numbers:
    """A link's side with the higher mean for HIGH, with the lower mean for LOW."""
    is_new_higher = mean_of(new, weights) >= mean_of(old, weights)
    return new if is_new_higher == (side == HIGH) else old


def _tests_of_sum(
    total: statistics.Total, n: int, buckets: NDArray[np.int64], alpha: float
) -> dict[str, Any]:
    """The tests of a sum of pieces. No random signs are drawn unless the sum is a loss."""
    units = total.units
    if np.all(np.abs(units) <= EQUAL / len(units)):
        return {"p_value": 1.0, "flags": ["unchanged"]}
    if total.error <= EQUAL * abs(total.total):
        return {"p_value": max(2.0 ** (1 - n), statistics.MIN_P), "flags": ["no_variation"]}
    deviation = total.error * n**0.5
    answers = statistics.paired_t(n, total.total, deviation, alpha, freedom=total.freedom)
    names = ("p_value", "interval_low", "interval_high")
    row: dict[str, Any] = {name: float(answers[name]) for name in names}
    if total.total < 0 and row["p_value"] < alpha:
        units = statistics.in_buckets(units, buckets)
        row["p_randomization"] = statistics.random_signs(units, precise=True)
    return row


def link_facts(sides: LinkSides, run: str, metric: Metric) -> dict[str, Any]:
    """What the log keeps about a change of judgments: both differences and their errors."""
    measure, cutoff = metric
    facts: dict[str, Any] = {
        "run": run,
        "measure": measure,
        "cutoff": cutoff,
        "before": sides.link.before.evaluated_on,
        "before_id": sides.link.before.evaluation_id,
        "after": sides.link.after.evaluated_on,
        "after_id": sides.link.after.evaluation_id,
        "queries_in_both": int(np.count_nonzero(~np.isnan(sides.new))),
    }
    for name, differences in (("old", sides.old), ("new", sides.new)):
        known = differences[~np.isnan(differences)]
        facts[name] = float(known.mean()) if len(known) else None
        error = float(known.std(ddof=1) / len(known) ** 0.5) if len(known) > 1 else None
        facts[f"{name}_error"] = error
    return facts


def change_facts(sides: LinkSides, scores: RunScores, cache: ScoreCache) -> dict[str, Any]:
    """A link's facts, with the means of both nights and of the new queries.

    Each night's mean is under its own judgments.
    """
    link = sides.link
    before = scores.matrix(link.before, FIRST_READING).scores(scores.run)
    after = scores.matrix(link.after, FIRST_READING).scores(scores.run)
    # More queries may have been seen since the sides were computed.
    new = padded(sides.new, len(after), np.nan)
    is_new = np.isnan(new) & ~np.isnan(after)
    _, cutoff = scores.metric
    run_and_cutoff = scores.run, cutoff
    return {
        **link_facts(sides, scores.run, scores.metric),
        "queries": int(np.count_nonzero(~np.isnan(after))),
        "mean": _finite(mean_of(after)),
        "before_mean": _finite(mean_of(before)),
        "new_queries": int(np.count_nonzero(is_new)),
        "new_queries_mean": _finite(mean_of(after[is_new])),
        "judged_rate": cache.source(link.after).judged_rates.get(run_and_cutoff),
        "before_judged_rate": cache.source(link.before).judged_rates.get(run_and_cutoff),
    }


def _finite(value: float) -> float | None:
    return value if np.isfinite(value) else None
