"""The ways to read a job's scores: what a list without a score means, and what the cutoff is."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ndcg_spark.convention.measures import Cutoff
from ndcg_spark.search.judges import Absent
from ndcg_spark.search.old_lists import OldList, highest_grade, is_always_scored
from ndcg_spark.search.targets import Targets


class Reading(NamedTuple):
    """One way to read a job's scores."""

    targets: Targets
    absent: Absent
    #: What is assumed about the scores; empty if nothing is.
    note: str = ""
    #: The only cutoff that the job names, if other cutoffs are tried.
    named_cutoff: Cutoff = None


class _Unscored(NamedTuple):
    """The lists that have no score in the job."""

    #: Lists that have a row with an empty score.
    with_empty_score: list[OldList]
    #: Lists that have no row.
    without_row: list[OldList]
    #: The lists among both that every convention scores.
    always_scored: list[OldList]


def readings(targets: Targets, lists: Sequence[OldList]) -> list[Reading]:
    """Return the ways to read the scores, the most informative first."""
    if targets.means or not targets.scores:
        found = [Reading(targets, "unknown")]
    else:
        found = list(_readings_of_unscored(targets, _unscored(targets, lists)))
    if targets.knows_cutoffs and len(targets.cutoffs) == 1:
        # The job may call its scores by the wrong cutoff.
        (named,) = targets.cutoffs
        found.append(found[0]._replace(targets=targets.with_any_cutoff(), named_cutoff=named))
    return found


def _unscored(targets: Targets, lists: Sequence[OldList]) -> _Unscored:
    """Return the lists that have no score in the job."""
    highest = highest_grade(lists)
    unscored = _Unscored([], [], [])
    for one in lists:
        scores = _given_scores(one, targets)
        if any(score is not None for score in scores):
            continue
        if scores:
            unscored.with_empty_score.append(one)
        else:
            unscored.without_row.append(one)
        if is_always_scored(one, highest):
            unscored.always_scored.append(one)
    return unscored


def _given_scores(one: OldList, targets: Targets) -> list[float | None]:
    """Return the job's scores of a list at the cutoffs that it has a row for.

    A score is None if its row is empty.
    """
    found = []
    for cutoff in targets.cutoffs:
        place = one.place(cutoff)
        if place in targets.scores:
            found.append(targets.scores[place])
    return found


def _readings_of_unscored(targets: Targets, unscored: _Unscored) -> Iterator[Reading]:
    """Yield what the missing scores may mean."""
    with_empty_score, without_row, always_scored = unscored
    if not always_scored:
        yield Reading(targets, "left_out")
    empty_pairs = {one.pair for one in with_empty_score}
    may_leave_out_empty = empty_pairs.isdisjoint(one.pair for one in always_scored)
    if with_empty_score and without_row and may_leave_out_empty:
        yield Reading(targets, "left_out_if_empty", _in_words(without_row, "have no row"))
    all_lists = without_row + with_empty_score
    if all_lists:
        lack = "have no score"
        if with_empty_score:
            lack += f" ({len(with_empty_score):,} of them an empty one)"
        yield Reading(targets, "unknown", _in_words(all_lists, lack))


def _in_words(lists: Sequence[OldList], lack: str) -> str:
    """Return the note that scores are assumed to be incomplete."""
    one = lists[0].pair
    some = f"{len(lists):,} judged lists {lack}, e.g. query {one.query_id} of {one.run}"
    return (
        f"{some}, and no convention leaves out exactly these: "
        "the scores are assumed to be incomplete, and lists without a score are not compared"
    )
