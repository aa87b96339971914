"""Compares every score of an earlier job with the score that a convention gives."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, NamedTuple, Protocol

import numpy as np

from ndcg_spark import reference
from ndcg_spark.convention.convention import Convention
from ndcg_spark.convention.measures import Cutoff
from ndcg_spark.errors import ConventionError, InputError
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
    """Compares the scores of lists that this process scores."""

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
        self._scorer = ArrayScorer(lists)
        self._means = RunMeans(lists if is_whole else [], targets, cutoffs)

    @property
    def is_slow(self) -> bool:
        return not self.targets.scores

    def compared(self, trial: Trial) -> Iterator[Compared]:
        yield from self._compared_lists(trial)
        yield from self._means.compared(trial)

    def differs(self, trial: Trial) -> bool:
        return any(compared.differs for compared in self.compared(trial))

    def _compared_lists(self, trial: Trial) -> Iterator[Compared]:
        """Yield the score of every list, compared with ours."""
        if not self.targets.scores:
            return
        scores = self._scores(trial)
        for at, one in enumerate(self.lists):
            for column, cutoff in enumerate(self.targets.cutoffs):
                place = one.place(cutoff)
                ndcg = math.inf if scores is None else float(scores[at, column])
                if math.isinf(ndcg):
                    # The convention refuses a list, which may be a different one.
                    ours = self._ours(one, trial, cutoff)
                else:
                    ours = Ours(None if math.isnan(ndcg) else ndcg)
                if ours is None:
                    yield Compared(place, self.targets.scores.get(place), None, differs=True)
                else:
                    yield compare_score(place, ours, self.targets, self.absent)

    def _scores(self, trial: Trial) -> Floats | None:
        """Return the scores of all lists, as `ArrayScorer.scores` does."""
        depths = [depth_of(trial, cutoff, self.targets) for cutoff in self.targets.cutoffs]
        return self._scorer.scores(trial.convention, depths)

    def _ours(self, one: OldList, trial: Trial, cutoff: Cutoff) -> Ours | None:
        """Return the score of one list, or None if the convention refuses it."""
        depth = depth_of(trial, cutoff, self.targets)
        try:
            score = reference.score(
                one.pair.query_id, one.judged, one.returned, trial.convention, depth
            )
        except (InputError, ConventionError):
            return None
        return Ours(score.ndcg)

    def what_scores_lack(self, a: Trial, b: Trial) -> str:
        """Return what the scores lack to distinguish two trials, or "" if no list differs."""
        if not self.targets.scores:
            return self._means.what_scores_lack(a, b)
        first, second = self._scores(a), self._scores(b)
        if first is None or second is None:
            return ""
        differ = ~np.isclose(first, second, rtol=0, atol=EQUAL, equal_nan=True)
        if not differ.any():
            return ""
        at, column = np.argwhere(differ)[0].tolist()
        one = self.lists[at]
        if self.targets.scores.get(one.place(self.targets.cutoffs[column])) is None:
            return f"a score of query {one.pair.query_id} of {one.pair.run}"
        return "scores with more digits"


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
