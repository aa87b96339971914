"""Says whether only tied lists differ from the nearest convention, and compares runs' means."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ndcg_spark.convention.convention import Convention
from ndcg_spark.convention.measures import Cutoff
from ndcg_spark.search.judges import Compared, depth_of
from ndcg_spark.search.old_lists import OldList
from ndcg_spark.search.targets import ScoreKey, Targets
from ndcg_spark.search.trials import Trial

#: The number of differing lists that cannot be a coincidence.
_ENOUGH = 5


class RunMean(NamedTuple):
    """The mean of a run according to the job, and according to the convention."""

    dataset: str
    run: str
    cutoff: Cutoff
    #: The number of queries that have a score; None if only the mean is given.
    given_queries: int | None
    given: float
    #: The number of queries in the convention's mean; None if it is unknown.
    queries: int | None
    ours: float | None

    def differs(self, tolerance: float) -> bool:
        """Whether the two means differ by more than the tolerance, or one is missing."""
        return self.ours is None or abs(self.ours - self.given) > tolerance


def run_means(compared: Iterable[Compared], targets: Targets, trial: Trial) -> list[RunMean]:
    """Return every run's mean: the mean that the job gives, or the mean of its scores."""
    given_scores: dict[ScoreKey, list[float]] = {}
    our_scores: dict[ScoreKey, list[float]] = {}
    our_means: dict[ScoreKey, float | None] = {}
    for row in compared:
        run = row.place._replace(query_id=None)
        if row.place.query_id is None:
            our_means[run] = row.ours
            continue
        if row.given is not None:
            given_scores.setdefault(run, []).append(row.given)
        if row.ours is not None:
            our_scores.setdefault(run, []).append(row.ours)
    for place, value in targets.unjudged.items():
        given_scores.setdefault(place._replace(query_id=None), []).append(value)
    found = []
    for run in sorted(set(given_scores).union(targets.means), key=_in_order):
        given = given_scores.get(run, [])
        ours = our_scores.get(run, [])
        given_mean = targets.means.get(run)
        if given_mean is None:
            given_mean = _mean(given)
        our_mean = our_means.get(run)
        if ours:
            our_mean = _mean(ours)
        mean = RunMean(
            run.dataset,
            run.run,
            cutoff=depth_of(trial, run.cutoff, targets),
            given_queries=len(given) or None,
            given=given_mean,
            queries=len(ours) or None,
            ours=our_mean,
        )
        found.append(mean)
    return found


def _in_order(place: ScoreKey) -> tuple[str, str, int]:
    """Return a sort key: by dataset, run and cutoff, with the whole ranking first."""
    return place.dataset, place.run, place.cutoff or 0


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def hint_at_order_of_rows(
    compared: Iterable[Compared], lists: Iterable[OldList], convention: Convention
) -> str:
    """Return a sentence if the job may keep tied documents in the order of its rows, or ""."""
    differing = [row for row in compared if row.differs and row.place.query_id is not None]
    # Documents are tied only if scores order them.
    if not convention.needs_score or not _only_ties_differ(differing, lists):
        return ""
    return (
        f"all {len(differing):,} lists that differ have documents with equal scores, and lists "
        "without such documents do not differ: "
        "the job may keep tied documents in the order of its rows"
    )


def _only_ties_differ(differing: Sequence[Compared], lists: Iterable[OldList]) -> bool:
    """Whether only lists with tied scores differ, although there are many other lists."""
    by_place = {(one.dataset, one.pair.run, one.pair.query_id): one for one in lists}
    differing_lists = []
    for row in differing:
        place = row.place.dataset, row.place.run, str(row.place.query_id)
        if place in by_place:
            differing_lists.append(by_place[place])
    untied = [one for one in by_place.values() if one.returned and not one.has_tied_scores]
    if len(differing_lists) < _ENOUGH or len(untied) < _ENOUGH:
        return False
    return all(one.has_tied_scores for one in differing_lists)
