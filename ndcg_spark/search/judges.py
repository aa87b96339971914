"""Whether a convention gives the scores of an earlier job: every score beside ours."""

import dataclasses
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple, Protocol

from ndcg_spark import reference
from ndcg_spark.convention.convention import Convention
from ndcg_spark.convention.measures import Cutoff
from ndcg_spark.errors import ConventionError, InputError
from ndcg_spark.reference import Ranking, Returned
from ndcg_spark.search.targets import Score, Targets
from ndcg_spark.spot_check.plain_rows import Pair


class Trial(NamedTuple):
    """What is tried: a convention, and a cutoff where the job does not say its own."""

    convention: Convention
    cutoff: Cutoff = None


class Ours(NamedTuple):
    """Our score of a list."""

    #: None where the convention leaves the query out.
    ndcg: float | None
    #: Whether the query was answered and has a gain, so that no policy leaves it out.
    is_scored: bool


class Compared(NamedTuple):
    place: Score
    #: None where the job has no score.
    given: float | None
    ours: float | None
    differs: bool


#: What a query without a score of the job says: that it was left out; that it was, or that the
#: job's scores are only some; or nothing, because the means say it.
Absent = Literal["left_out", "perhaps_left_out", "unknown"]


class Judge(Protocol):
    """Compares the scores of a job with ours."""

    @property
    def absent(self) -> Absent: ...

    def compared(self, trial: Trial) -> Iterator[Compared]:
        """Every score beside ours, as far as they are asked for."""

    def differs(self, trial: Trial) -> bool: ...


@dataclasses.dataclass
class OldList:
    """A list of the results, the judgments of its query, and what the job says of it."""

    pair: Pair
    dataset: str
    judged: Sequence[tuple[str, float]]
    returned: Sequence[Returned]

    def place(self, cutoff: Cutoff) -> Score:
        return Score(self.dataset, self.pair.run, self.pair.query_id, cutoff)


class ListJudge:
    """A judge of lists that are scored by `reference`."""

    def __init__(
        self,
        lists: Sequence[OldList],
        targets: Targets,
        absent: Absent,
        *,
        is_whole: bool,
    ) -> None:
        self.lists = lists
        self.targets = targets
        self.absent = absent
        #: Whether these are all lists, so that their means are those of the runs.
        self.is_whole = is_whole
        self._scorer = ListScorer(lists)
        #: The lists in the order in which they are compared: first what told conventions apart.
        self._order = list(range(len(lists)))
        self._of_run: dict[tuple[str, str], list[int]] = {}
        for at, one in enumerate(lists):
            self._of_run.setdefault((one.dataset, one.pair.run), []).append(at)

    def compared(self, trial: Trial) -> Iterator[Compared]:
        yield from self._compared_lists(trial, range(len(self.lists)))
        yield from self._compared_means(trial)

    def differs(self, trial: Trial) -> bool:
        for compared in self._compared_lists(trial, list(self._order)):
            if compared.differs:
                self._put_first(compared.place)
                return True
        return any(compared.differs for compared in self._compared_means(trial))

    def _compared_lists(self, trial: Trial, which: Iterable[int]) -> Iterator[Compared]:
        if not self.targets.scores:
            return
        cutoffs = self.targets.cutoffs
        for at in which:
            for cutoff in cutoffs:
                place = self.lists[at].place(cutoff)
                ours = self._scorer.score(at, trial.convention, self._depth(trial, cutoff))
                if ours is None:
                    # The convention refuses the list.
                    yield Compared(place, self.targets.scores.get(place), None, True)
                else:
                    yield compare_score(place, ours, self.targets, self.absent)

    def _compared_means(self, trial: Trial) -> Iterator[Compared]:
        """The means, those of short runs first, as they are computed for one difference."""
        if not self.is_whole:
            return
        for place in sorted(self.targets.means, key=self._number_of_lists):
            scores = []
            for at in self._of_run.get((place.dataset, place.run), ()):
                depth = self._depth(trial, place.cutoff)
                scores.append(self._scorer.score(at, trial.convention, depth))
            yield compare_mean(place, scores, self.targets)

    def _number_of_lists(self, place: Score) -> int:
        return len(self._of_run.get((place.dataset, place.run), ()))

    def _depth(self, trial: Trial, cutoff: Cutoff) -> Cutoff:
        return cutoff if self.targets.knows_cutoffs else trial.cutoff

    def _put_first(self, place: Score) -> None:
        """Compare the list of a place first from now on, as it tells conventions apart."""
        for index, at in enumerate(self._order):
            one = self.lists[at]
            if one.place(place.cutoff) == place:
                self._order.insert(0, self._order.pop(index))
                return


#: The options on which the ranked list and its gains depend.
_OF_RANKING = (
    *("gain", "min_relevance", "order", "ties", "score_precision", "unjudged", "negative"),
    *("duplicates", "judgment_duplicates", "exclude_query_as_document"),
)
#: So many lists, and so many sums, are kept for other conventions that share them.
_MOST_RANKED, _MOST_SUMS = 200_000, 1_000_000


class ListScorer:
    """Scores lists; conventions that differ in other options share ranked lists and sums."""

    def __init__(self, lists: Sequence[OldList]) -> None:
        self.lists = lists
        self._longest = max((len(one.returned) + len(one.judged) for one in lists), default=0)
        self._convention: Convention | None = None
        #: What of the convention the ranked lists, and the sums, depend on.
        self._ranks_by: tuple[str, ...] = ()
        self._sums_by: tuple[str, ...] = ()
        self._ranked: dict[tuple[Any, ...], Ranking] = {}
        self._sums: dict[tuple[Any, ...], tuple[float, float]] = {}
        self._weights: dict[str, list[float]] = {}

    def score(self, at: int, convention: Convention, cutoff: Cutoff) -> Ours | None:
        """The score of a list; None if the convention refuses it."""
        self._use(convention)
        query = self.lists[at].pair.query_id
        try:
            ranking = self._ranking(at, convention)
            sums = self._sums_of(at, ranking, convention, cutoff)
            ndcg, status = reference.ndcg_of(ranking, *sums, convention, query)
        except (InputError, ConventionError):
            return None
        return Ours(ndcg, status == "scored")

    def _use(self, convention: Convention) -> None:
        if self._convention is convention:
            return
        self._convention = convention
        values = convention.options()
        self._ranks_by = tuple(str(values[option]) for option in _OF_RANKING)
        self._sums_by = (*self._ranks_by, str(values["discount"]), str(values["ideal"]))
        if len(self._ranked) > _MOST_RANKED:
            self._ranked.clear()
        if len(self._sums) > _MOST_SUMS:
            self._sums.clear()

    def _ranking(self, at: int, convention: Convention) -> Ranking:
        key = (at, *self._ranks_by)
        if key not in self._ranked:
            one = self.lists[at]
            self._ranked[key] = reference.rank_documents(
                one.pair.query_id,
                one.judged,
                one.returned,
                convention,
            )
        return self._ranked[key]

    def _sums_of(
        self,
        at: int,
        ranking: Ranking,
        convention: Convention,
        cutoff: Cutoff,
    ) -> tuple[float, float]:
        key = (at, cutoff, *self._sums_by)
        if key not in self._sums:
            discount = str(convention.discount)
            if discount not in self._weights:
                weights = reference.discounts(self._longest, convention.discount)
                self._weights[discount] = weights
            known = self._weights[discount]
            self._sums[key] = reference.dcg_at(ranking, convention, cutoff, known)
        return self._sums[key]


class ScoreJudge:
    """A judge of scores that an engine computes: `scored` returns all of them for a trial."""

    def __init__(self, targets: Targets, absent: Absent, scored: "Scorer") -> None:
        self.targets = targets
        self.absent = absent
        self._scored = scored

    def compared(self, trial: Trial) -> Iterator[Compared]:
        found = self._scored(trial)
        if found is None:
            place = next(iter([*self.targets.scores, *self.targets.means]))
            yield Compared(place, None, None, True)
            return
        if self.targets.scores:
            for place, ours in found.items():
                yield compare_score(place, ours, self.targets, self.absent)
        of_runs: dict[Score, list[Ours]] = {}
        for place, ours in found.items():
            of_runs.setdefault(place._replace(query_id=None), []).append(ours)
        for place in self.targets.means:
            yield compare_mean(place, of_runs.get(place, []), self.targets)

    def differs(self, trial: Trial) -> bool:
        return any(compared.differs for compared in self.compared(trial))


class Scorer(Protocol):
    def __call__(self, trial: Trial) -> Mapping[Score, Ours] | None:
        """Every score under a convention; None if it refuses the inputs."""


def compare_score(place: Score, ours: Ours, targets: Targets, absent: Absent) -> Compared:
    """The score of a query beside ours."""
    given = targets.scores.get(place)
    if given is None:
        is_meant = place in targets.scores or absent == "left_out"
        is_meant = is_meant or (absent == "perhaps_left_out" and not ours.is_scored)
        return Compared(place, None, ours.ndcg, is_meant and ours.ndcg is not None)
    differs = ours.ndcg is None or abs(ours.ndcg - given) > targets.tolerance
    return Compared(place, given, ours.ndcg, differs)


def compare_mean(place: Score, scores: Iterable[Ours | None], targets: Targets) -> Compared:
    """The mean of a run beside ours, which is of all of its `scores`."""
    values: list[float] = []
    given = targets.means[place]
    for ours in scores:
        if ours is None:
            # The convention refuses a list.
            return Compared(place, given, None, True)
        if ours.ndcg is not None:
            values.append(ours.ndcg)
    if not values:
        return Compared(place, given, None, True)
    mean = math.fsum(values) / len(values)
    return Compared(place, given, mean, abs(mean - given) > targets.mean_tolerance)
