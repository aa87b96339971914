"""Finds the simplest conventions that give a job's scores, or the nearest one if none does."""

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

#: The number of conventions that are compared with all scores if none is exact.
_BEST = 20
#: The number of nearest conventions whose options are changed in the next round.
_BEAM = 6
#: The number of rounds, each of which changes one more option.
_ROUNDS = 4
#: The levels of the search, by the number of options that are changed.
_LEVELS = ("presets", "with one option changed", "with two options changed")


@dataclasses.dataclass
class Deadline:
    """The time at which a search has to end, and whether the search noticed that it has passed."""

    ends_at: float
    has_passed: bool = False

    def is_over(self) -> bool:
        """Whether the search has to end now."""
        if time.monotonic() > self.ends_at:
            self.has_passed = True
        return self.has_passed

    @classmethod
    def after(cls, seconds: float) -> "Deadline":
        """Return the deadline that many seconds from now."""
        return cls(time.monotonic() + seconds)


class Distance(NamedTuple):
    """The distance of a convention from the scores, compared field by field."""

    #: The median difference of the scores; a score that is equal has the difference 0. Scores of 0
    #: and 1 are used only if there are no others, because many conventions give them.
    middle: float
    #: The number of differing scores per thousand.
    differing: int
    #: The mean difference of all scores.
    difference: float
    #: The number of options that differ from `standard`.
    options: int


class Ranked(NamedTuple):
    """A trial with its distance from the scores."""

    distance: Distance
    trial: Trial


class Change(NamedTuple):
    """A trial with a different value of one option, or a different `cutoff`."""

    option: str
    value: Any
    trial: Trial


@dataclasses.dataclass
class Search:
    """A search among the conventions of a space."""

    judge: Judge
    space: Space
    deadline: Deadline
    #: The number of conventions tried, each at every cutoff.
    tried: int = 0

    def exact(self) -> list[Trial]:
        """Return the conventions that give every score, the nearest to `standard` first.

        Conventions with more options changed are tried only if none with fewer is exact.
        """
        for changed, level in enumerate(self.space.levels()):
            tried_before = self.tried
            found: list[Trial] = []
            for group in level:
                found.extend(self._exact_among(group))
                # A whole level takes long if every list is scored for a mean.
                if self.deadline.is_over() or (found and self.judge.is_slow):
                    break
            number = f"{self.tried - tried_before:,} {_LEVELS[changed]}"
            give = "give" if len(found) > 1 else "gives"
            report_step("tried", f"{number}: {len(found) or 'none'} {give} all scores")
            if found:
                return self._simplest(found)
            if self.deadline.is_over():
                break
        return []

    def _exact_among(self, conventions: Iterable[Convention]) -> Iterator[Trial]:
        """Yield the conventions, each with a cutoff, that give every score."""
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
        """Return exact trials, the simplest first, including simpler ones than those found."""
        reduced = list(map(self._reduced, found))
        distinct = dict.fromkeys(reduced + list(found))
        return sorted(distinct, key=self._complexity)

    def _complexity(self, trial: Trial) -> tuple[int, int, int]:
        """Return a sort key: the nearest to `standard`, the likeliest cutoff, the usual values."""
        cutoffs = list(self.space.cutoffs)
        return (
            self.space.distance(trial.convention),
            cutoffs.index(trial.cutoff),
            self.space.rareness(trial.convention),
        )

    def _reduced(self, trial: Trial) -> Trial:
        """Return an exact trial with the options of `standard` wherever scores do not change."""
        simplest = trial
        # The options that change scores least often are reset first.
        for option in reversed(DECIDING):
            plain_value = self.space.plain(simplest.convention, option)
            convention = changed_or_none(simplest.convention, {option: plain_value})
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
        # The same options, based on `standard` and not on the preset that was tried.
        values = simplest.convention.options()
        changed = {option: values[option] for option in DECIDING}
        return Trial(self.space.standard.replace(**changed), trial.cutoff)

    def presets_like(self, trial: Trial) -> list[Trial]:
        """Return the presets that give the same scores."""
        found = []
        for preset in self.space.presets():
            same = Trial(preset, trial.cutoff)
            if not self.deadline.is_over() and not self.judge.differs(same):
                found.append(same)
        return found

    def alternatives(self, trial: Trial) -> list[Change]:
        """Return other values of one option, or of the cutoff, that give the same scores."""
        found: list[Change] = []
        for cutoff in self.space.cutoffs:
            other = trial._replace(cutoff=cutoff)
            if cutoff != trial.cutoff and not self.judge.differs(other):
                found.append(Change("cutoff", cutoff, other))
        for change in self._changes(trial):
            if self.is_inert(change.option) or not self.judge.differs(change.trial):
                found.append(change)
        return found

    def is_inert(self, option: str) -> bool:
        """Whether an option changes nothing here, whatever the values of other options are."""
        return option in self.space.facts.inert

    def _changes(self, trial: Trial) -> Iterator[Change]:
        """Yield trials that have a different value of one option."""
        options = [option for option in OPTIONS if option in DECIDING]
        for option in options:
            if option in self.space.fixed:
                continue
            for value in self.space.values(option):
                if self.deadline.is_over():
                    return
                changed = changed_or_none(trial.convention, {option: value})
                if changed is not None and self.space.is_usable(changed):
                    yield Change(option, value, Trial(changed, trial.cutoff))

    def nearest(self) -> Trial:
        """Return the convention that is nearest to the scores, if none gives all of them.

        The search starts from the nearest presets. Each round changes one more option of the
        nearest conventions of the round before.
        """
        seen: set[tuple[Any, ...]] = set()
        nearest_of_round = self._screened(self.space.new(self.space.presets(), seen))
        candidates = list(nearest_of_round)
        for _ in range(_ROUNDS):
            changed: list[Convention] = []
            for ranked in nearest_of_round:
                changed.extend(change.trial.convention for change in self._changes(ranked.trial))
            nearest_of_round = self._screened(self.space.new(changed, seen))
            candidates.extend(nearest_of_round)
        if not candidates:
            return Trial(self.space.standard, self.space.cutoffs[0])
        candidates.sort(key=_by_distance)
        return self._nearest_to_all_scores(candidates[:_BEST])

    def _nearest_to_all_scores(self, candidates: Iterable[Ranked]) -> Trial:
        """Return the nearest of some candidates, whose own distances were only estimated."""
        compared: list[Ranked] = []
        for candidate in candidates:
            # One is compared even if there is no time left.
            if compared and self.deadline.is_over():
                break
            compared.append(Ranked(self.distance(candidate.trial), candidate.trial))
        return min(compared, key=_by_distance).trial

    def _screened(self, conventions: Iterable[Convention]) -> list[Ranked]:
        """Return the nearest of these conventions, judged by some of the scores."""
        found: list[Ranked] = []
        for convention in conventions:
            if found and self.deadline.is_over():
                break
            self.tried += 1
            found.extend(self._estimated(convention))
        found.sort(key=_by_distance)
        return found[:_BEAM]

    def _estimated(self, convention: Convention) -> Iterator[Ranked]:
        """Yield a convention's estimated distance at every cutoff, from a sample."""
        cutoffs = self.space.cutoffs
        if self.judge.sample is None:
            for cutoff in cutoffs:
                trial = Trial(convention, cutoff)
                yield Ranked(self.distance(trial), trial)
            return
        # There are no estimates if the convention refuses a list.
        estimates = self.judge.sample.estimates(convention, cutoffs)
        options = self.space.distance(convention)
        for cutoff, estimate in zip(cutoffs, estimates, strict=False):
            yield Ranked(Distance(*estimate, options), Trial(convention, cutoff))

    def distance(self, trial: Trial) -> Distance:
        """Return the distance of a trial from all scores."""
        rows = list(self.judge.compared(trial))
        telling = list(filter(is_telling, rows)) or rows
        middle = statistics.median([_counted_difference(row) for row in telling] or [1.0])
        differing = sum(row.differs for row in rows)
        total = sum(_counted_difference(row) for row in rows)
        number = max(len(rows), 1)
        options = self.space.distance(trial.convention)
        return Distance(middle, round(1000 * differing / number), total / number, options)


def _counted_difference(row: Compared) -> float:
    """Return the difference of a score, or 0 if it is within the tolerance."""
    return difference_of(row) if row.differs else 0.0


def _by_distance(ranked: Ranked) -> Distance:
    return ranked.distance


def difference_of(row: Compared) -> float:
    """Return the difference between a score and ours, or 1 if one is wrongly missing."""
    if row.given is None or row.ours is None:
        return float(row.differs)
    return abs(row.given - row.ours)


def is_telling(row: Compared) -> bool:
    """Whether few conventions give a score: it is present, and neither 0 nor 1."""
    return row.given is not None and 0 < row.given < 1
