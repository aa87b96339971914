"""Some lists as arrays: most conventions differ on these already, at every cutoff."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ndcg_spark.convention.convention import Convention
from ndcg_spark.convention.measures import Cutoff
from ndcg_spark.search.arrays import ArrayScorer, Floats
from ndcg_spark.search.old_lists import OldList
from ndcg_spark.search.targets import Targets
from ndcg_spark.tolerance import EQUAL

#: How many lists with a score other than 0 and 1, and with one of these.
_TELLING, _OTHERS = 90, 30


class Estimate(NamedTuple):
    """How far a convention is from the scores of a sample, as `Distance` has it."""

    middle: float
    differing: int
    difference: float


class ListSample:
    """Compares some scores of a job with ours."""

    def __init__(self, lists: Sequence[OldList], targets: Targets) -> None:
        self._targets = targets
        chosen = _chosen(lists, targets)
        self._scorer = ArrayScorer(chosen)
        given = []
        for one in chosen:
            places = [one.place(cutoff) for cutoff in targets.cutoffs]
            given.append([targets.scores.get(place) for place in places])
        # None, which is no score, becomes NaN.
        self._given = np.array(given, np.float64).reshape(len(chosen), len(targets.cutoffs))
        self._is_telling = (self._given > 0) & (self._given < 1)

    def possible(self, convention: Convention, cutoffs: Sequence[Cutoff]) -> list[Cutoff]:
        """The cutoffs at which no score of the sample differs."""
        differences = self._differences(convention, cutoffs)
        if differences is None:
            return []
        tolerance = self._targets.tolerance + EQUAL
        found = []
        for cutoff, column in zip(cutoffs, differences, strict=True):
            # A score that one side lacks is NaN here, which is no difference.
            is_different = column > tolerance
            if not is_different.any():
                found.append(cutoff)
        return found

    def estimates(self, convention: Convention, cutoffs: Sequence[Cutoff]) -> list[Estimate]:
        """How far the convention is at each cutoff; none if it is refused."""
        differences = self._differences(convention, cutoffs)
        if differences is None:
            return []
        found = []
        for column in differences:
            counted = np.where(column > self._targets.tolerance, column, 0.0)
            telling = counted[self._is_telling] if self._is_telling.any() else counted
            middle = float(np.median(telling)) if telling.size else 1.0
            share = round(1000 * float((counted > 0).mean())) if counted.size else 0
            found.append(Estimate(middle, share, float(counted.mean()) if counted.size else 0.0))
        return found

    def _differences(
        self,
        convention: Convention,
        cutoffs: Sequence[Cutoff],
    ) -> list[Floats] | None:
        """Of each cutoff that is tried how far the scores are from ours; 0 where none is given."""
        depths = self._targets.cutoffs if self._targets.knows_cutoffs else list(cutoffs)
        ours = self._scorer.scores(convention, depths)
        if ours is None:
            return None
        # Where the convention leaves a query out, 1 is as far as a score can be.
        far = np.where(np.isnan(ours), np.inf, ours)
        if self._targets.knows_cutoffs:
            return [self._apart(far)] * len(cutoffs)
        return [self._apart(far[:, [column]]) for column in range(len(depths))]

    def _apart(self, ours: Floats) -> Floats:
        difference = np.minimum(np.abs(ours - self._given), 1.0)
        return np.where(np.isnan(self._given), 0.0, difference)


def _chosen(lists: Sequence[OldList], targets: Targets) -> list[OldList]:
    """Lists that have a score, from everywhere."""
    telling, others = [], []
    for one in lists:
        scores = [targets.scores.get(one.place(cutoff)) for cutoff in targets.cutoffs]
        given = [score for score in scores if score is not None]
        if any(0 < score < 1 for score in given):
            telling.append(one)
        elif given:
            others.append(one)
    return _evenly(telling, _TELLING) + _evenly(others, _OTHERS)


def _evenly(lists: list[OldList], number: int) -> list[OldList]:
    """So many of these, equally far from each other."""
    if len(lists) <= number:
        return lists
    places = np.linspace(0, len(lists) - 1, number).astype(int)
    return [lists[at] for at in places.tolist()]
