"""The search: the simplest conventions that give a job's scores, otherwise the nearest one."""

import dataclasses
import statistics
import time
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from ndcg_spark.convention.convention import Convention
from ndcg_spark.convention.options import OPTIONS
from ndcg_spark.search.judges import Compared, Judge
from ndcg_spark.search.space import DECIDING, Space, changed_or_none
from ndcg_spark.search.trials import Trial
from ndcg_spark.steps import report_step

#: How many conventions are compared in full if none is exact, and how many are expanded.
_BEST, _BEAM = 20, 6
#: How often conventions are expanded, by one option each time.
_ROUNDS = 4
_LEVELS = ("presets", "with one option changed", "with two options changed")


@dataclasses.dataclass
class Deadline:
    """When a search has to end, and whether it ended early."""

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
    """The distance of a convention from the scores."""

    #: The median difference, 0 if that score is equal. Scores of 0 and 1 are used only if there are
    #: no others, because many conventions give them.
    middle: float
    #: The number of differing scores per thousand.
    differing: int
    difference: float
    options: int


@dataclasses.dataclass
class Search:
    """A search among the conventions of a space."""

    judge: Judge
    space: Space
    deadline: Deadline
    #: The number of conventions tried, each at every cutoff.
    tried: int = 0

    def exact(self) -> list[Trial]:
        """The conventions that give every score, the nearest to `standard` first.

        Conventions with more options changed are tried only if none with fewer is exact.
        """
        for changed, level in enumerate(self.space.levels()):
            before = self.tried
            found: list[Trial] = []
            for group in level:
                found.extend(self._exact_of(group))
                # A whole level takes long if every list is scored for a mean.
                if self.deadline.is_over() or (found and self.judge.is_slow):
                    break
            number = f"{self.tried - before:,} {_LEVELS[changed]}"
            give = "give" if len(found) > 1 else "gives"
            report_step("tried", f"{number}: {len(found) or 'none'} {give} all scores")
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
            cutoffs = self.space.cutoffs
            if self.judge.sample is not None:
                cutoffs = self.judge.sample.possible(convention, cutoffs)
            for cutoff in cutoffs:
                trial = Trial(convention, cutoff)
                if not self.judge.differs(trial):
                    yield trial

    def _simplest(self, found: Sequence[Trial]) -> list[Trial]:
        """The exact trials with as many options as possible as in `standard`, then as they are."""
        reduced = list(map(self._reduced, found))
        every = dict.fromkeys(reduced + list(found))
        return sorted(every, key=self._nearest_to_standard)

    def _nearest_to_standard(self, trial: Trial) -> tuple[int, int, int]:
        cutoffs = list(self.space.cutoffs)
        return (
            self.space.distance(trial.convention),
            cutoffs.index(trial.cutoff),
            self.space.rareness(trial.convention),
        )

    def _reduced(self, trial: Trial) -> Trial:
        """An exact trial with the options of `standard` wherever the scores do not change."""
        simplest = trial
        # The options that change scores least often are reset first.
        for option in reversed(DECIDING):
            back = {option: self.space.plain(simplest.convention, option)}
            convention = changed_or_none(simplest.convention, back)
            if convention is None or not self.space.is_usable(convention):
                continue
            simpler = Trial(convention, trial.cutoff)
            if not self.judge.differs(simpler):
                simplest = simpler
        # Few jobs read ids as numbers.
        as_text = simplest.convention.ties.replace("_num_", "_")
        simpler = Trial(simplest.convention.replace(ties=as_text), trial.cutoff)
        if "ties" not in self.space.fixed and not self.judge.differs(simpler):
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
            if self.is_inert(option) or not self.judge.differs(other):
                found.append((option, value, other))
        return found

    def is_inert(self, option: str) -> bool:
        """Whether an option changes nothing here, whatever the others are."""
        return option in self.space.facts.inert

    def _neighbours(self, convention: Convention) -> Iterator[tuple[str, Any, Convention]]:
        """The conventions that have a different value of one option."""
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
        """The convention that gives most scores, if none gives all.

        Starts from the nearest presets. Each round changes one more option of the nearest
        conventions of the round before.
        """
        seen: set[tuple[Any, ...]] = set()
        front = self._screened(self.space.new(self.space.presets(), seen))
        best = list(front)
        for _ in range(_ROUNDS):
            changed: list[Convention] = []
            for _, trial in front:
                for _, _, neighbour in self._neighbours(trial.convention):
                    changed.append(neighbour)
            front = self._screened(self.space.new(changed, seen))
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
        """The nearest of these conventions, judged by some of the scores."""
        found: list[tuple[Distance, Trial]] = []
        for convention in conventions:
            if found and self.deadline.is_over():
                break
            self.tried += 1
            found.extend(self._estimated(convention))
        found.sort(key=_by_distance)
        return found[:_BEAM]

    def _estimated(self, convention: Convention) -> Iterator[tuple[Distance, Trial]]:
        """The estimated distance of a convention at every cutoff, from a sample."""
        cutoffs = self.space.cutoffs
        if self.judge.sample is None:
            for cutoff in cutoffs:
                trial = Trial(convention, cutoff)
                yield self.distance(trial), trial
            return
        estimates = self.judge.sample.estimates(convention, cutoffs)
        options = self.space.distance(convention)
        for cutoff, estimate in zip(cutoffs, estimates, strict=False):
            yield Distance(*estimate, options), Trial(convention, cutoff)

    def distance(self, trial: Trial) -> Distance:
        rows = list(self.judge.compared(trial))
        telling = list(filter(is_telling, rows)) or rows
        middle = statistics.median([_counted(row) for row in telling] or [1.0])
        differing = sum(row.differs for row in rows)
        total = sum(_counted(row) for row in rows)
        number = max(len(rows), 1)
        options = self.space.distance(trial.convention)
        return Distance(middle, round(1000 * differing / number), total / number, options)


def _counted(row: Compared) -> float:
    return difference_of(row) if row.differs else 0.0


def _by_distance(pair: tuple[Distance, Trial]) -> Distance:
    return pair[0]


def difference_of(row: Compared) -> float:
    """The difference of a score from ours; 1 if only one side has it."""
    if row.given is None or row.ours is None:
        return float(row.differs)
    return abs(row.given - row.ours)


def is_telling(row: Compared) -> bool:
    """Whether few conventions give a score: it is present, and neither 0 nor 1."""
    return row.given is not None and 0 < row.given < 1
