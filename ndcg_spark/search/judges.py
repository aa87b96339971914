"""Compares every score of an earlier job with the score that a convention gives."""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np

from ndcg_spark import reference
from ndcg_spark.convention.convention import Convention
from ndcg_spark.convention.measures import Cutoff
from ndcg_spark.errors import ConventionError, InputError
from ndcg_spark.reference import Ranking
from ndcg_spark.search.arrays import ArrayScorer, Floats
from ndcg_spark.search.old_lists import OldList
from ndcg_spark.search.samples import ListSample
from ndcg_spark.search.targets import ScoreKey, Targets
from ndcg_spark.search.trials import Trial
from ndcg_spark.tolerance import EQUAL


class Ours(NamedTuple):
    """Our score of a list."""

    #: None if the convention leaves the query out.
    ndcg: float | None


class Compared(NamedTuple):
    """A score of the job, compared with ours."""

    place: ScoreKey
    #: None if the job has no score.
    given: float | None
    #: None if the convention leaves the query out or refuses it.
    ours: float | None
    differs: bool


#: What a list without a score means. `left_out`: the job has left it out. `left_out_if_empty`: only
#: if a row has an empty score. `unknown`: nothing, because the scores are incomplete.
Absent = Literal["left_out", "left_out_if_empty", "unknown"]


class Judge(Protocol):
    """Compares the scores of a job with ours."""

    @property
    def absent(self) -> Absent: ...

    @property
    def is_slow(self) -> bool:
        """Whether all lists are scored to check a convention, even after the first difference."""

    @property
    def sample(self) -> ListSample | None:
        """Some lists that already distinguish most conventions."""

    def compared(self, trial: Trial) -> Iterator[Compared]:
        """Yield every score, compared with ours."""

    def differs(self, trial: Trial) -> bool:
        """Whether any score differs from ours."""


class ListJudge:
    """Compares the scores of lists that `reference` scores."""

    def __init__(
        self,
        lists: Sequence[OldList],
        targets: Targets,
        absent: Absent,
        *,
        is_whole: bool,
        cutoffs: Sequence[Cutoff] = (None,),
    ) -> None:
        """`cutoffs` are the cutoffs to try if the job does not name its own."""
        self.lists = lists
        self.targets = targets
        self.absent = absent
        #: Whether these are all lists, so that their means are the means of the runs.
        self.is_whole = is_whole
        self.sample = ListSample(lists, targets) if targets.scores else None
        self._scorer = ListScorer(lists)
        #: The order in which lists are compared. The last list that differed comes first, because
        #: it is likely to differ again.
        self._order = list(range(len(lists)))
        self._means = RunMeans(lists if is_whole else [], targets, cutoffs)

    @property
    def is_slow(self) -> bool:
        return not self.targets.scores

    def compared(self, trial: Trial) -> Iterator[Compared]:
        yield from self._compared_lists(trial, range(len(self.lists)))
        yield from self._means.compared(trial)

    def differs(self, trial: Trial) -> bool:
        for compared in self._compared_lists(trial, list(self._order)):
            if compared.differs:
                self._put_first(compared.place)
                return True
        return any(compared.differs for compared in self._means.compared(trial))

    def _compared_lists(self, trial: Trial, which: Iterable[int]) -> Iterator[Compared]:
        """Yield the scores of the lists at these positions, compared with ours."""
        if not self.targets.scores:
            return
        cutoffs = self.targets.cutoffs
        for at in which:
            for cutoff in cutoffs:
                place = self.lists[at].place(cutoff)
                depth = depth_of(trial, cutoff, self.targets)
                ours = self._scorer.score(at, trial.convention, depth)
                if ours is None:
                    # The convention refuses the list.
                    yield Compared(place, self.targets.scores.get(place), None, differs=True)
                else:
                    yield compare_score(place, ours, self.targets, self.absent)

    def what_scores_lack(self, a: Trial, b: Trial) -> str:
        """Return what the scores lack to distinguish two trials, or "" if no list differs."""
        if not self.targets.scores:
            return self._means.what_scores_lack(a, b)
        for at, one in enumerate(self.lists):
            for cutoff in self.targets.cutoffs:
                if self._has_same(at, a, b, cutoff):
                    continue
                if self.targets.scores.get(one.place(cutoff)) is None:
                    return f"a score of query {one.pair.query_id} of {one.pair.run}"
                return "scores with more digits"
        return ""

    def _has_same(self, at: int, a: Trial, b: Trial, cutoff: Cutoff) -> bool:
        """Whether two trials give a list the same score."""
        scores = []
        for trial in (a, b):
            depth = depth_of(trial, cutoff, self.targets)
            ours = self._scorer.score(at, trial.convention, depth)
            if ours is None:
                return False
            scores.append(ours.ndcg)
        first, second = scores
        if first is None or second is None:
            return first is second
        return abs(first - second) <= EQUAL

    def _put_first(self, place: ScoreKey) -> None:
        """From now on, compare the list with this score first."""
        for index, at in enumerate(self._order):
            one = self.lists[at]
            if one.place(place.cutoff) == place:
                self._order.insert(0, self._order.pop(index))
                return


def depth_of(trial: Trial, cutoff: Cutoff, targets: Targets) -> Cutoff:
    """Return the cutoff of a score: the cutoff that the job names, or the one that is tried."""
    return cutoff if targets.knows_cutoffs else trial.cutoff


class RunMeans:
    """Compares the means of runs."""

    def __init__(
        self,
        lists: Sequence[OldList],
        targets: Targets,
        cutoffs: Sequence[Cutoff],
    ) -> None:
        """`lists` are all lists of the runs. `cutoffs` are the cutoffs to try."""
        self.targets = targets
        self._cutoffs = targets.cutoffs if targets.knows_cutoffs else list(cutoffs)
        #: Each run's lists, by its dataset and name.
        self._lists: dict[tuple[str, str], list[OldList]] = {}
        if targets.means:
            for one in lists:
                self._lists.setdefault((one.dataset, one.pair.run), []).append(one)
        self._scorers: dict[tuple[str, str], ArrayScorer] = {}
        #: The last convention, and its means of each run at every cutoff.
        self._convention: Convention | None = None
        self._known: dict[tuple[str, str], Sequence[float]] = {}

    def compared(self, trial: Trial) -> Iterator[Compared]:
        """Yield the means, compared with ours. Each takes some time to compute."""
        if not self._lists:
            return
        for place, given in self.targets.means.items():
            depth = depth_of(trial, place.cutoff, self.targets)
            mean = self._means_of(place, trial.convention)[self._cutoffs.index(depth)]
            if math.isfinite(mean):
                differs = abs(mean - given) > self.targets.mean_tolerance
                yield Compared(place, given, mean, differs)
            else:
                # No query is in the mean, or the convention refuses one.
                yield Compared(place, given, None, differs=True)

    def _means_of(self, place: ScoreKey, convention: Convention) -> Sequence[float]:
        """Return a run's mean at every cutoff, which is not finite if there is no mean."""
        if self._convention is not convention:
            self._convention = convention
            self._known = {}
        run = place.dataset, place.run
        if run not in self._known:
            scores = self._scores(place, convention)
            means = [math.nan] * len(self._cutoffs)
            if scores is not None:
                is_in_mean = ~np.isnan(scores)
                with np.errstate(invalid="ignore", divide="ignore"):
                    sums = np.where(is_in_mean, scores, 0.0).sum(axis=0)
                    means = (sums / is_in_mean.sum(axis=0)).tolist()
            self._known[run] = means
        return self._known[run]

    def _scores(self, place: ScoreKey, convention: Convention) -> Floats | None:
        """Return a run's scores, with a column for each cutoff, or None if it is refused."""
        run = place.dataset, place.run
        if run not in self._scorers:
            self._scorers[run] = ArrayScorer(self._lists.get(run, []))
        return self._scorers[run].scores(convention, self._cutoffs)

    def what_scores_lack(self, a: Trial, b: Trial) -> str:
        """Return what the means lack to distinguish two trials, or "" if they do not differ."""
        cutoffs_of_runs: dict[ScoreKey, list[Cutoff]] = {}
        for place in self.targets.means:
            run = place._replace(cutoff=None)
            cutoffs_of_runs.setdefault(run, []).append(place.cutoff)
        for run, cutoffs in cutoffs_of_runs.items():
            first = self._scores_at(run, a, cutoffs)
            second = self._scores_at(run, b, cutoffs)
            if first is None or second is None:
                # A convention refuses the run.
                continue
            if not np.allclose(first, second, rtol=0, atol=EQUAL, equal_nan=True):
                return "scores of queries, or means with more digits"
        return ""

    def _scores_at(self, run: ScoreKey, trial: Trial, cutoffs: Sequence[Cutoff]) -> Floats | None:
        """Return a run's scores, with a column for each of these cutoffs of the job."""
        scores = self._scores(run, trial.convention)
        if scores is None:
            return None
        columns = []
        for cutoff in cutoffs:
            depth = depth_of(trial, cutoff, self.targets)
            columns.append(self._cutoffs.index(depth))
        return scores[:, columns]


#: The options that affect the ranked list and its gains.
_OF_RANKING = (
    *("gain", "min_relevance", "order", "ties", "score_precision", "unjudged", "negative"),
    *("duplicates", "judgment_duplicates", "exclude_query_as_document"),
)
#: The number of ranked lists that are kept for other conventions.
_MOST_RANKED = 200_000
#: The number of sums that are kept for other conventions.
_MOST_SUMS = 1_000_000


class ListScorer:
    """Scores lists. Conventions with the same options for ranked lists and sums share them."""

    def __init__(self, lists: Sequence[OldList]) -> None:
        self.lists = lists
        self._longest = max((len(one.returned) + len(one.judged) for one in lists), default=0)
        self._convention: Convention | None = None
        #: The values of the options that affect the ranked lists.
        self._ranks_by: tuple[str, ...] = ()
        #: The values of the options that affect the sums.
        self._sums_by: tuple[str, ...] = ()
        #: The ranked lists, by the position of the list and these values.
        self._ranked: dict[tuple[Any, ...], Ranking] = {}
        #: The DCG and the ideal DCG, by the list's position, the cutoff and these values.
        self._sums: dict[tuple[Any, ...], tuple[float, float]] = {}
        #: The discounts, by the option's value.
        self._discounts: dict[str, list[float]] = {}

    def score(self, at: int, convention: Convention, cutoff: Cutoff) -> Ours | None:
        """Return the list's score at a position, or None if the convention refuses it."""
        self._use(convention)
        query = self.lists[at].pair.query_id
        try:
            ranking = self._ranking(at, convention)
            dcg, ideal_dcg = self._sums_of(at, ranking, convention, cutoff)
            ndcg, _ = reference.ndcg_of(ranking, dcg, ideal_dcg, convention, query)
        except (InputError, ConventionError):
            return None
        return Ours(ndcg)

    def _use(self, convention: Convention) -> None:
        """Note the options of a convention that lists are scored with."""
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
        """Return the ranked list at a position, computed once for the same options."""
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
        """Return the DCG and the ideal DCG of a list."""
        key = (at, cutoff, *self._sums_by)
        if key not in self._sums:
            name = str(convention.discount)
            if name not in self._discounts:
                discounts = reference.discounts(self._longest, convention.discount)
                self._discounts[name] = discounts
            sums = reference.dcg_at(ranking, convention, cutoff, self._discounts[name])
            self._sums[key] = sums
        return self._sums[key]


class ScoreJudge:
    """Compares scores that an engine computes; `scored` returns all of them for a trial."""

    is_slow = True
    sample = None

    def __init__(self, targets: Targets, absent: Absent, scored: "Scorer") -> None:
        self.targets = targets
        self.absent = absent
        self._scored = scored

    def compared(self, trial: Trial) -> Iterator[Compared]:
        found = self._scored(trial)
        if found is None:
            # The convention refuses the inputs, so any score stands for all.
            place = next(iter([*self.targets.scores, *self.targets.means]))
            yield Compared(place, None, None, differs=True)
            return
        if self.targets.scores:
            for place, ours in found.items():
                yield compare_score(place, ours, self.targets, self.absent)
        scores_of_runs: dict[ScoreKey, list[float]] = {}
        for place, ours in found.items():
            if ours.ndcg is not None:
                scores_of_runs.setdefault(place._replace(query_id=None), []).append(ours.ndcg)
        for place in self.targets.means:
            yield compare_mean(place, scores_of_runs.get(place, []), self.targets)

    def differs(self, trial: Trial) -> bool:
        return any(compared.differs for compared in self.compared(trial))


class Scorer(Protocol):
    """Scores all lists on an engine."""

    def __call__(self, trial: Trial) -> Mapping[ScoreKey, Ours] | None:
        """Return every score under a convention, or None if it refuses the inputs."""


def compare_score(place: ScoreKey, ours: Ours, targets: Targets, absent: Absent) -> Compared:
    """Return a query's score, compared with ours."""
    given = targets.scores.get(place)
    if given is None:
        is_left_out = absent == "left_out"
        if absent == "left_out_if_empty":
            has_empty_score = place in targets.scores
            is_left_out = has_empty_score
        # If the job has left the query out, the convention must do so as well.
        differs = is_left_out and ours.ndcg is not None
        return Compared(place, None, ours.ndcg, differs)
    differs = ours.ndcg is None or abs(ours.ndcg - given) > targets.tolerance
    return Compared(place, given, ours.ndcg, differs)


def compare_mean(place: ScoreKey, scores: Sequence[float], targets: Targets) -> Compared:
    """Return a run's mean, compared with the mean of our `scores`."""
    given = targets.means[place]
    if not scores:
        return Compared(place, given, None, differs=True)
    mean = math.fsum(scores) / len(scores)
    differs = abs(mean - given) > targets.mean_tolerance
    return Compared(place, given, mean, differs)
