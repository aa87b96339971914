"""What explains the scores that the nearest convention does not give, and the means next to
ours.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from ndcg_spark.convention.convention import Convention
from ndcg_spark.convention.measures import Cutoff
from ndcg_spark.search.judges import Compared, depth_of
from ndcg_spark.search.old_lists import OldList
from ndcg_spark.search.targets import LEAST_TOLERANCE, ScoreKey, Targets
from ndcg_spark.search.trials import Trial
from ndcg_spark.tolerance import EQUAL

#: The number of differing lists that cannot be a coincidence.
_ENOUGH = 5


class RunMean(NamedTuple):
    """The mean of a run in the scores, and the convention's mean."""

    dataset: str
    run: str
    cutoff: Cutoff
    #: The number of queries that have a score; None if only the mean is given.
    given_queries: int | None
    given: float
    queries: int | None
    ours: float | None

    def differs(self, tolerance: float) -> bool:
        return self.ours is None or abs(self.ours - self.given) > tolerance


def run_means(compared: Iterable[Compared], targets: Targets, trial: Trial) -> list[RunMean]:
    """The mean of every run: the one that the job gives, otherwise the mean of all its scores."""
    given: dict[ScoreKey, list[float]] = {}
    ours: dict[ScoreKey, list[float]] = {}
    means: dict[ScoreKey, float | None] = {}
    for row in compared:
        run = row.place._replace(query_id=None)
        if row.place.query_id is None:
            means[run] = row.ours
            continue
        if row.given is not None:
            given.setdefault(run, []).append(row.given)
        if row.ours is not None:
            ours.setdefault(run, []).append(row.ours)
    for place, value in targets.unjudged.items():
        given.setdefault(place._replace(query_id=None), []).append(value)
    found = []
    for run in sorted({*given, *targets.means}, key=_in_order):
        here = ours.get(run, [])
        theirs = given.get(run, [])
        found.append(
            RunMean(
                run.dataset,
                run.run,
                depth_of(trial, run.cutoff, targets),
                len(theirs) or None,
                targets.means[run] if run in targets.means else _mean(theirs),
                len(here) or None,
                _mean(here) if here else means.get(run),
            )
        )
    return found


def _in_order(place: ScoreKey) -> tuple[str, str, int]:
    return place.dataset, place.run, place.cutoff or 0


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def hints(
    compared: Iterable[Compared],
    lists: Iterable[OldList],
    targets: Targets,
    convention: Convention,
) -> Iterator[str]:
    """Sentences about what the differing scores have in common."""
    rows = list(compared)
    wrong = [row for row in rows if row.differs and row.place.query_id is not None]
    if not wrong:
        return
    if _is_cut_off(wrong, targets):
        yield (
            "every score that differs is below ours by less than one unit of its last digit: "
            "the job may cut digits off instead of rounding"
        )
    if may_keep_order_of_rows(wrong, lists, convention):
        yield (
            f"all {len(wrong):,} lists that differ have documents with equal scores, and lists "
            "without are equal: the job may keep tied documents in the order of its rows"
        )


def may_keep_order_of_rows(
    compared: Iterable[Compared], lists: Iterable[OldList], convention: Convention
) -> bool:
    """Whether the lists that differ are those with tied documents, which scores do not order."""
    wrong = [row for row in compared if row.differs and row.place.query_id is not None]
    return convention.needs_score and _is_of_ties(wrong, _by_place(lists))


def _is_cut_off(wrong: Iterable[Compared], targets: Targets) -> bool:
    if targets.tolerance <= LEAST_TOLERANCE + EQUAL:
        return False
    unit = 2 * targets.tolerance
    for row in wrong:
        if row.given is None or row.ours is None or not 0 < row.ours - row.given < unit:
            return False
    return True


def _by_place(lists: Iterable[OldList]) -> dict[tuple[str, str, str], OldList]:
    return {(one.dataset, one.pair.run, one.pair.query_id): one for one in lists}


def _is_of_ties(
    wrong: Sequence[Compared],
    lists: Mapping[tuple[str, str, str], OldList],
) -> bool:
    """Whether lists with tied scores differ, and none of many other lists does."""
    known = []
    for row in wrong:
        one = lists.get((row.place.dataset, row.place.run, str(row.place.query_id)))
        if one is not None:
            known.append(one)
    untied = [one for one in lists.values() if one.returned and not one.has_tied_scores]
    if len(known) < _ENOUGH or len(untied) < _ENOUGH:
        return False
    return all(one.has_tied_scores for one in known)
