"""Compares a sample of the lists, which already rules out most conventions."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ndcg_spark.convention.convention import Convention
from ndcg_spark.convention.measures import Cutoff
from ndcg_spark.search.arrays import ArrayScorer, Floats
from ndcg_spark.search.old_lists import OldList
from ndcg_spark.search.targets import Targets
from ndcg_spark.tolerance import EQUAL

#: The number of lists with a score other than 0 and 1.
_TELLING = 90
#: The number of lists whose scores are all 0 or 1.
_OTHERS = 30


class Estimate(NamedTuple):
    """The distance of a convention from a sample's scores; see `Distance`."""

    middle: float
    differing: int
    difference: float


class ListSample:
    """Compares some scores of a job with ours."""

    def __init__(self, lists: Sequence[OldList], targets: Targets) -> None:
        self._targets = targets
        chosen = _choose(lists, targets)
        self._scorer = ArrayScorer(chosen)
        given = []
        for one in chosen:
            places = [one.place(cutoff) for cutoff in targets.cutoffs]
            given.append([targets.scores.get(place) for place in places])
        # A missing score, which is None, becomes NaN.
        self._given = np.array(given, np.float64).reshape(len(chosen), len(targets.cutoffs))
        self._is_telling = (self._given > 0) & (self._given < 1)

    def possible(self, convention: Convention, cutoffs: Sequence[Cutoff]) -> list[Cutoff]:
        """Return the cutoffs at which no score of the sample differs."""
        differences = self._differences(convention, cutoffs)
        if differences is None:
            return []
        tolerance = self._targets.tolerance + EQUAL
        found = []
        for cutoff, column in zip(cutoffs, differences, strict=True):
            is_different = column > tolerance
            if not is_different.any():
                found.append(cutoff)
        return found

    def estimates(self, convention: Convention, cutoffs: Sequence[Cutoff]) -> list[Estimate]:
        """Return the estimate at each cutoff; nothing if the convention refuses a list."""
        differences = self._differences(convention, cutoffs)
        if differences is None:
            return []
        return list(map(self._estimate, differences))

    def _estimate(self, differences: Floats) -> Estimate:
        """Return the estimate for the differences at one cutoff."""
        if not differences.size:
            return Estimate(middle=1.0, differing=0, difference=0.0)
        counted = np.where(differences > self._targets.tolerance, differences, 0.0)
        telling = counted[self._is_telling] if self._is_telling.any() else counted
        differing_share = float((counted > 0).mean())
        return Estimate(
            middle=float(np.median(telling)),
            differing=round(1000 * differing_share),
            difference=float(counted.mean()),
        )

    def _differences(
        self,
        convention: Convention,
        cutoffs: Sequence[Cutoff],
    ) -> list[Floats] | None:
        """Return the difference between each score and ours, for each cutoff that is tried.

        Return None if the convention refuses a list.
        """
        has_given_cutoffs = self._targets.knows_cutoffs
        scored_at = self._targets.cutoffs if has_given_cutoffs else list(cutoffs)
        ours = self._scorer.scores(convention, scored_at)
        if ours is None:
            return None
        # If the convention skips a list, its difference is the largest one.
        ours = np.where(np.isnan(ours), np.inf, ours)
        if has_given_cutoffs:
            # The given scores have their own cutoffs, so the cutoffs to try do not matter.
            return [self._differences_from(ours)] * len(cutoffs)
        return [self._differences_from(scores_at[:, np.newaxis]) for scores_at in ours.T]

    def _differences_from(self, ours: Floats) -> Floats:
        """Return the differences between the given scores and ours, at most 1.

        The difference is 0 if no score is given.
        """
        difference = np.minimum(np.abs(ours - self._given), 1.0)
        return np.where(np.isnan(self._given), 0.0, difference)


def _choose(lists: Sequence[OldList], targets: Targets) -> list[OldList]:
    """Return lists that have a score, spread over all lists."""
    telling = []
    others = []
    for one in lists:
        scores = [targets.scores.get(one.place(cutoff)) for cutoff in targets.cutoffs]
        given = [score for score in scores if score is not None]
        if any(0 < score < 1 for score in given):
            telling.append(one)
        elif given:
            others.append(one)
    return _evenly_spaced(telling, _TELLING) + _evenly_spaced(others, _OTHERS)


def _evenly_spaced(lists: list[OldList], number: int) -> list[OldList]:
    """Return at most `number` of these lists, evenly spaced."""
    if len(lists) <= number:
        return lists
    places = np.linspace(0, len(lists) - 1, number).astype(int)
    return [lists[at] for at in places.tolist()]
