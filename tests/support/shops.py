"""Shops that are simulated: lists that vary, judgments that change, and what breaks; no engine.

A shop has three runs and three times as many queries as are judged at a time. Each query has its
documents with true grades; a run orders them by the grade and by noise, of which a part stays, a
part moves slowly and a part is new each night. All numbers follow from the seed.
"""

import dataclasses
import functools
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]
Indices = NDArray[np.int64]

#: The length of a list, how deep judgments are pooled, and the documents of a query.
DEPTH, POOLED, DOCUMENTS = 10, 11, 50
RUNS = ("bm25", "ltr", "vector")
#: How much noise the order of a run has beside the grades.
_NOISE = np.array([1.9, 1.2, 1.5])
#: The shares of that noise that stay, that move over weeks, and that are new each night.
_STAYS, _SLOW, _FAST = 0.80, 0.17, 0.03
#: After so many nights the slow part is another one.
_SLOW_NIGHTS = 60
LANGUAGES, SHARES = ("en", "de", "fr"), (0.5, 0.3, 0.2)
#: How often a document has the grade 0, 1, 2, 3.
_GRADES = (0.70, 0.15, 0.10, 0.05)
#: The share of the queries that a change of judgments replaces, and of grade rows that it moves.
_REPLACED, _MOVED = 0.3, 0.11
DISCOUNTS = 1 / np.log2(np.arange(DEPTH) + 2)
#: The number of judgments that know the true grade of every document.
TRUTH = -1


@dataclasses.dataclass(frozen=True)
class World:
    """Which documents are judged."""

    name: str
    #: Of how many changes of judgments the lists are judged: 0, the newest, or that and the one before.
    pooled: int
    #: The share of all other documents that is judged.
    rest: float


INDEPENDENT = World("independent of the lists", 0, 0.8)
NEWEST = World("newest lists and 40 %", 1, 0.4)
NEWEST_FEW = World("newest lists and 10 %", 1, 0.1)
BOTH = World("old and new lists and 10 %", 2, 0.1)
WORLDS = (INDEPENDENT, NEWEST, NEWEST_FEW, BOTH)

#: Nights between two changes of judgments.
WEEKLY, MONTHLY, NEVER = 7, 30, 10_000


@dataclasses.dataclass(frozen=True)
class Event:
    """Something that happens on the nights from `first` to `last`.

    loss: the lists of a run get worse, by `loss` of its mean or of that of a language; `by_night`,
    if not 0, is how much of that comes each night. reindex: a twentieth of the lists are others.
    missing: a run has no results. ids: a run writes ids in another way. nothing: no night.
    identical: the lists are those of the night before.
    """

    kind: str
    first: int
    last: int
    run: str = "ltr"
    loss: float = 0.0
    by_night: float = 0.0
    language: str | None = None

    def loss_on(self, night: int) -> float:
        """How much of its mean the run, or the language, has lost."""
        if self.kind != "loss" or not self.is_on(night):
            return 0.0
        if not self.by_night:
            return self.loss
        return min(self.loss, self.by_night * (night - self.first + 1))

    def is_on(self, night: int) -> bool:
        return self.first <= night <= self.last


@dataclasses.dataclass(frozen=True)
class Judged:
    """The scores of a night's lists under some judgments: [run, query], NaN where there is none."""

    ndcg: Numbers
    #: The share of judged discounts.
    share: Numbers
    dcg: Numbers
    ideal: Numbers
    #: By query, the number of its judgments, 0 without any.
    hashes: Indices


class Shop:
    """The lists, the judgments and the scores of each night, all of them from the seed."""

    def __init__(
        self,
        queries: int,
        seed: int,
        world: World = INDEPENDENT,
        period: int = MONTHLY,
        events: Sequence[Event] = (),
    ) -> None:
        self.queries, self.seed, self.world = queries, seed, world
        self.period, self.events = period, tuple(events)
        chance = np.random.default_rng([seed, queries])
        self.pool = 3 * queries
        shape = (self.pool, DOCUMENTS)
        self.grades = chance.choice(4, shape, p=_GRADES).astype(np.float64)
        # Every query has a relevant document that is always judged.
        self.grades[:, 0] = np.maximum(self.grades[:, 0], 2)
        self.language = chance.choice(3, self.pool, p=SHARES)
        self._difficulty = np.exp(chance.normal(0, 0.3, self.pool))
        self._judged_rank = chance.random(shape)
        self._judged_rank[:, 0] = 0.0
        self._stays = self._noise(0, 0)
        self._field = functools.lru_cache(3)(lambda number: self._noise(1, number))
        self._curve = functools.cache(self._measured_curve)
        self.lists = functools.cache(self._lists)
        self.judgments = functools.lru_cache(64)(self._judgments)
        self._ideals = functools.lru_cache(64)(self._measured_ideals)
        self.scores = functools.lru_cache(2_000)(self._scores)
        self._active = [np.sort(chance.choice(self.pool, queries, replace=False))]

    def _noise(self, kind: int, number: int) -> NDArray[np.float32]:
        chance = np.random.default_rng([self.seed, self.queries, kind, number])
        return chance.standard_normal((len(RUNS), self.pool, DOCUMENTS), np.float32)

    def on(self, night: int, kind: str) -> list[Event]:
        return [event for event in self.events if event.kind == kind and event.is_on(night)]

    def number(self, night: int) -> int:
        """The number of the judgments of a night."""
        return night // self.period

    def active(self, number: int) -> Indices:
        """The queries that some judgments judge."""
        if number == TRUTH:
            return np.arange(self.pool)
        while len(self._active) <= number:
            chance = np.random.default_rng([self.seed, self.queries, 2, len(self._active)])
            own = self._active[-1]
            gone = chance.choice(own, round(_REPLACED * len(own)), replace=False)
            others = np.setdiff1d(np.arange(self.pool), own)
            new = chance.choice(others, len(gone), replace=False)
            self._active.append(np.sort(np.concatenate([np.setdiff1d(own, gone), new])))
        return self._active[number]

    # What is lost.

    def loss(self, run: str, night: int) -> float:
        """How much of its mean a run has lost by what was planted."""
        lost = 0.0
        for event in self.on(night, "loss"):
            if event.run == run:
                share = 1.0 if event.language is None else SHARES[LANGUAGES.index(event.language)]
                lost += share * event.loss_on(night)
        return lost

    def _strength(self, night: int) -> NDArray[np.float32]:
        """By run and query, how much of the grade a run still sees."""
        lost = np.zeros((len(RUNS), self.pool))
        for event in self.on(night, "loss"):
            is_in = np.ones(self.pool, np.bool_)
            if event.language is not None:
                is_in = self.language == LANGUAGES.index(event.language)
            lost[RUNS.index(event.run), is_in] += event.loss_on(night)
        strength = np.ones_like(lost, np.float32)
        for at in np.flatnonzero(lost.any(1)):
            strengths, losses = self._curve(int(at))
            strength[at] = np.interp(lost[at], losses, strengths)
        return strength

    def _measured_curve(self, at: int) -> tuple[Numbers, Numbers]:
        """Strengths, and how much of its mean a run loses by each, where judgments know 80 %."""
        strengths = np.linspace(1, 0, 12)
        grades = np.where(self._judged_rank < INDEPENDENT.rest, self.grades, 0.0)
        ideal = _dcg(-np.sort(-_gains(grades), 1)[:, :DEPTH])
        noise = self._mixed(0)[at] + np.sqrt(_FAST) * self._noise(4, 0)[at]
        means = []
        for strength in strengths:
            order = _ordered(strength * self.grades + self._sized(at) * noise)
            gains = np.take_along_axis(_gains(grades), order, 1)[:, :DEPTH]
            means.append(np.mean(_dcg(gains) / ideal))
        return strengths, np.maximum.accumulate(means[0] - np.array(means))

    def _sized(self, at: int) -> Numbers:
        return (_NOISE[at] * self._difficulty)[:, None].astype(np.float32)

    def _mixed(self, night: int) -> NDArray[np.float32]:
        """The noise that stays and the slow one."""
        before, part = divmod(night, _SLOW_NIGHTS)
        angle = np.pi / 2 * part / _SLOW_NIGHTS
        slow = np.cos(angle) * self._field(before) + np.sin(angle) * self._field(before + 1)
        mixed = np.sqrt(_STAYS) * self._stays + np.sqrt(_SLOW) * slow
        return mixed.astype(np.float32)

    # Lists and judgments.

    def _lists(self, night: int) -> NDArray[np.int8]:
        """[run, query of the pool, rank]: the documents of each list, the first `POOLED`."""
        if self.on(night, "identical"):
            return self.lists(night - 1)
        noise = self._mixed(night) + np.sqrt(_FAST) * self._noise(3, night)
        for event in self.on(night, "reindex"):
            chance = np.random.default_rng([self.seed, 5, event.first])
            changed = chance.random(self.pool) < 0.05
            noise[:, changed] = self._noise(5, event.first)[:, changed]
        sizes = (_NOISE[:, None] * self._difficulty)[:, :, None].astype(np.float32)
        seen = self._strength(night)[:, :, None] * self.grades.astype(np.float32)
        return _ordered(seen + sizes * noise)[:, :, :POOLED].astype(np.int8)

    def _judgments(self, number: int) -> Numbers:
        """[query of the pool, document]: the grade, NaN where there is none."""
        if number == TRUTH:
            return self.grades
        chance = np.random.default_rng([self.seed, self.queries, 6, number])
        judged = self._judged_rank < self.world.rest
        for back in range(self.world.pooled):
            lists = self.lists(max(number - back, 0) * self.period)
            for of_run in lists:
                np.put_along_axis(judged, of_run.astype(np.int64), True, 1)
        steps = chance.choice([-1, 0, 1], self.grades.shape, p=[_MOVED / 2, 1 - _MOVED, _MOVED / 2])
        steps[:, 0] = 0
        grades = np.where(judged, np.clip(self.grades + steps, 0, 3), np.nan)
        is_active = np.zeros(self.pool, np.bool_)
        is_active[self.active(number)] = True
        return np.where(is_active[:, None], grades, np.nan)

    def _measured_ideals(self, number: int) -> Numbers:
        gains = _gains(np.nan_to_num(self.judgments(number)))
        return _dcg(-np.sort(-gains, 1)[:, :DEPTH])

    def _scores(self, night: int, number: int) -> Judged:
        """A night's lists under judgments with a number.

        Only queries that its own judgments judge have lists; TRUTH has all of them.
        """
        own = self.active(number if number == TRUTH else self.number(night))
        both = np.intersect1d(own, self.active(number))
        documents = self.lists(night)[:, both, :DEPTH].astype(np.int64)
        grades = self.judgments(number)[both[:, None], documents]
        shape = (len(RUNS), self.pool)
        judged = ~np.isnan(grades)
        dcg, share = np.full(shape, np.nan), np.full(shape, np.nan)
        dcg[:, both] = _dcg(_gains(np.nan_to_num(grades)))
        share[:, both] = (judged * DISCOUNTS).sum(-1) / DISCOUNTS.sum()
        for event in self.on(night, "ids"):
            at = RUNS.index(event.run)
            dcg[at, both], share[at, both] = 0.0, 0.0
        ideal = self._ideals(number)
        hashes = np.zeros(self.pool, np.int64)
        hashes[both] = number + 1
        with np.errstate(invalid="ignore", divide="ignore"):
            return Judged(dcg / ideal, share, dcg, ideal, hashes)

    def runs(self, night: int) -> list[str]:
        """The runs that have results."""
        missing = {event.run for event in self.on(night, "missing")}
        return [run for run in RUNS if run not in missing]


def _gains(grades: Numbers) -> Numbers:
    return 2.0**grades - 1


def _dcg(gains: Numbers) -> Numbers:
    return np.asarray((gains * DISCOUNTS[: gains.shape[-1]]).sum(-1))


def _ordered(scores: NDArray[np.float32]) -> Indices:
    """The documents by descending score, the first `POOLED`."""
    top = np.argpartition(-scores, POOLED, -1)[..., :POOLED]
    order = np.argsort(-np.take_along_axis(scores, top, -1), -1)
    return np.asarray(np.take_along_axis(top, order, -1))


#: What happens in a year: kind, how many nights, and the rest of the event.
_YEAR: tuple[tuple[str, int, dict[str, object]], ...] = (
    ("loss", 1, {"loss": 0.10, "language": "de"}),
    ("loss", 1, {"loss": 0.15, "language": "fr"}),
    ("loss", 1, {"loss": 0.08, "language": "de"}),
    ("loss", 10, {"loss": 0.05, "language": "en"}),
    ("loss", 10, {"loss": 0.05, "language": "en"}),
    ("loss", 10, {"loss": 0.025}),
    ("loss", 10, {"loss": 0.018}),
    ("loss", 10, {"loss": 0.04, "run": "bm25"}),
    ("loss", 21, {"loss": 0.0168, "by_night": 0.0012}),
    ("loss", 21, {"loss": 0.0168, "by_night": 0.0012}),
    ("missing", 1, {"run": "vector"}),
    ("missing", 1, {"run": "ltr"}),
    ("missing", 1, {"run": "bm25"}),
    ("nothing", 1, {}),
    ("nothing", 1, {}),
    ("identical", 1, {}),
    ("identical", 1, {}),
    ("ids", 1, {"run": "bm25"}),
    ("ids", 1, {"run": "ltr"}),
    ("reindex", 8, {}),
    ("reindex", 8, {}),
)
#: Quiet nights before the first event, and at least so many between two.
_FIRST, _BETWEEN = 10, 7


def calendar(seed: int, nights: int, period: int) -> list[Event]:
    """The events of a year in an order by the seed, one at a time.

    A slice that breaks for ten nights does so on a night of new judgments.
    """
    chance = np.random.default_rng([seed, 7])
    events = []
    at = _FIRST
    for number in chance.permutation(len(_YEAR)):
        kind, many, more = _YEAR[number]
        if many == 10 and more.get("language"):
            at = -(-at // period) * period
        event = Event(kind, at, at + many - 1, **more)  # type: ignore[arg-type]
        if event.last >= nights:
            break
        events.append(event)
        at = event.last + 1 + _BETWEEN + int(chance.integers(0, 3))
    return events
