"""The search: the simplest conventions that give the scores of a job, else the nearest one."""

import dataclasses
import itertools
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from ndcg_spark.convention.convention import Convention
from ndcg_spark.convention.options import OPTIONS
from ndcg_spark.search.judges import Compared, Judge, Trial
from ndcg_spark.search.space import DECIDING, Space, changed_or_none

#: How many conventions are compared in full where none is exact, and how many lead further.
_BEST, _BEAM = 20, 6
#: How many scores tell which conventions are near.
_SCREENED = 60
_HALF = 500


@dataclasses.dataclass
class Deadline:
    """When a search has to end, and whether it did so early."""

    ends_at: float
    has_passed: bool = False

    def is_over(self) -> bool:
        if time.monotonic() > self.ends_at:
            self.has_passed = True
        return self.has_passed

    @classmethod
    def after(cls, seconds: float) -> "Deadline":
        return cls(time.monotonic() + seconds)


class Distance(NamedTuple):
    """How far a convention is from the scores: fewer that differ, then less difference."""

    #: The share of the scores that differ, in thousandths. If more than half do, the others may be
    #: equal by chance, and the difference decides.
    differing: int
    difference: float
    options: int


@dataclasses.dataclass
class Search:
    """A search among the conventions of a space."""

    judge: Judge
    space: Space
    deadline: Deadline
    #: How many conventions were tried, each at every cutoff.
    tried: int = 0

    def exact(self) -> list[Trial]:
        """The conventions that give every score, the nearest to `standard` first.

        With more options changed, conventions are only tried where none with fewer is exact.
        """
        for level in self.space.levels():
            found = list(self._exact_of(level))
            if found:
                return self._simplest(found)
            if self.deadline.is_over():
                break
        return []

    def _exact_of(self, conventions: Iterable[Convention]) -> Iterator[Trial]:
        for convention in conventions:
            if self.deadline.is_over():
                return
            self.tried += 1
            for cutoff in self.space.cutoffs:
                trial = Trial(convention, cutoff)
                if not self.judge.differs(trial):
                    yield trial

    def _simplest(self, found: Sequence[Trial]) -> list[Trial]:
        """These, with every option as in `standard` that may be, then as they are."""
        reduced = list(map(self._reduced, found))
        every = dict.fromkeys(reduced + list(found))
        return sorted(every, key=self._nearest_to_standard)

    def _nearest_to_standard(self, trial: Trial) -> tuple[int, int]:
        cutoffs = list(self.space.cutoffs)
        return self.space.distance(trial.convention), cutoffs.index(trial.cutoff)

    def _reduced(self, trial: Trial) -> Trial:
        """An exact trial with the options of `standard` where the scores stay the same."""
        standard = self.space.standard.options()
        simplest = trial
        # What changes scores least often is given up first.
        for option in reversed(DECIDING):
            back = {option: standard[option]}
            convention = changed_or_none(simplest.convention, back)
            if convention is None or not self.space.is_usable(convention):
                continue
            simpler = Trial(convention, trial.cutoff)
            if not self.judge.differs(simpler):
                simplest = simpler
        values = simplest.convention.options()
        changed = {option: values[option] for option in DECIDING}
        return Trial(self.space.standard.replace(**changed), trial.cutoff)

    def presets_like(self, trial: Trial) -> list[Trial]:
        """The presets that give the same scores."""
        found = []
        for preset in self.space.presets():
            same = Trial(preset, trial.cutoff)
            if not self.deadline.is_over() and not self.judge.differs(same):
                found.append(same)
        return found

    def alternatives(self, trial: Trial) -> list[tuple[str, Any, Trial]]:
        """Other values of one option, or of the cutoff, that give the same scores."""
        found: list[tuple[str, Any, Trial]] = []
        for cutoff in self.space.cutoffs:
            other = trial._replace(cutoff=cutoff)
            if cutoff != trial.cutoff and not self.judge.differs(other):
                found.append(("cutoff", cutoff, other))
        for option, value, convention in self._neighbours(trial.convention):
            other = Trial(convention, trial.cutoff)
            if not self.judge.differs(other):
                found.append((option, value, other))
        return found

    def _neighbours(self, convention: Convention) -> Iterator[tuple[str, Any, Convention]]:
        """The conventions that have another value of one option."""
        options = [option for option in OPTIONS if option in DECIDING]
        for option in options:
            values = [] if option in self.space.fixed else self.space.values(option)
            for value in values:
                if self.deadline.is_over():
                    return
                changed = changed_or_none(convention, {option: value})
                if changed is not None and self.space.is_usable(changed):
                    yield option, value, changed

    def nearest(self) -> Trial:
        """The convention that gives most scores, where none gives all.

        From the nearest presets, it follows the nearest of those with one option changed.
        """
        front = self._screened(self.space.presets())
        best = list(front)
        for _ in range(2):
            unseen: dict[tuple[Any, ...], Convention] = {}
            for _, trial in front:
                for _, _, changed in self._neighbours(trial.convention):
                    unseen.setdefault(self.space.key(changed), changed)
            front = self._screened(unseen.values())
            best.extend(front)
        best.sort(key=_by_distance)
        compared: list[tuple[Distance, Trial]] = []
        for _, trial in best[:_BEST]:
            if not compared or not self.deadline.is_over():
                compared.append((self.distance(trial), trial))
        if not compared:
            return Trial(self.space.standard, self.space.cutoffs[0])
        return min(compared, key=_by_distance)[1]

    def _screened(self, conventions: Iterable[Convention]) -> list[tuple[Distance, Trial]]:
        """The nearest of these by some of the scores."""
        found: list[tuple[Distance, Trial]] = []
        for convention in conventions:
            if found and self.deadline.is_over():
                break
            self.tried += 1
            for cutoff in self.space.cutoffs:
                trial = Trial(convention, cutoff)
                found.append((self.distance(trial, _SCREENED), trial))
        found.sort(key=_by_distance)
        return found[:_BEAM]

    def distance(self, trial: Trial, most: int | None = None) -> Distance:
        rows = list(itertools.islice(self.judge.compared(trial), most))
        differing = sum(row.differs for row in rows)
        total = sum(difference_of(row) for row in rows) / max(len(rows), 1)
        share = round(1000 * differing / max(len(rows), 1))
        if share > _HALF:
            share = 1000
        return Distance(share, total, self.space.distance(trial.convention))


def _by_distance(pair: tuple[Distance, Trial]) -> Distance:
    return pair[0]


def difference_of(row: Compared) -> float:
    """How far a score is from ours; 1 if only one side has it."""
    if row.given is None or row.ours is None:
        return float(row.differs)
    return abs(row.given - row.ours)
