"""How a job's scores can be read: what a list without a score means, and the name of the cutoff."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ndcg_spark.convention.measures import Cutoff
from ndcg_spark.search.judges import Absent
from ndcg_spark.search.old_lists import OldList, highest_grade, is_always_scored
from ndcg_spark.search.targets import Targets


class Reading(NamedTuple):
    targets: Targets
    absent: Absent
    #: What must be true if a convention gives the scores as they are read.
    note: str = ""
    #: The only cutoff that the job names, if other cutoffs are tried.
    named_cutoff: Cutoff = None


class _Lacking(NamedTuple):
    """The lists without a score."""

    #: Lists that have a row with an empty score, and lists without a row.
    empty: list[OldList]
    absent: list[OldList]
    #: The lists among both that every convention scores.
    certain: list[OldList]


def readings(targets: Targets, lists: Sequence[OldList]) -> list[Reading]:
    """The ways to read the scores, the most informative first."""
    if targets.means or not targets.scores:
        ways = [Reading(targets, "unknown")]
    else:
        ways = list(_of_lacking(targets, _lacking(targets, lists)))
    if targets.knows_cutoffs and len(targets.cutoffs) == 1:
        (named,) = targets.cutoffs
        ways.append(ways[0]._replace(targets=targets.with_any_cutoff(), named_cutoff=named))
    return ways


def _lacking(targets: Targets, lists: Sequence[OldList]) -> _Lacking:
    highest = highest_grade(lists)
    lacking = _Lacking([], [], [])
    for one in lists:
        rows = _rows(one, targets)
        if set(rows) - {None}:
            continue
        if rows:
            lacking.empty.append(one)
        else:
            lacking.absent.append(one)
        if is_always_scored(one, highest):
            lacking.certain.append(one)
    return lacking


def _rows(one: OldList, targets: Targets) -> list[float | None]:
    """The scores that the job has for a list, one for each row; None if a score is empty."""
    found = []
    for cutoff in targets.cutoffs:
        place = one.place(cutoff)
        if place in targets.scores:
            found.append(targets.scores[place])
    return found


def _of_lacking(targets: Targets, lacking: _Lacking) -> Iterator[Reading]:
    if not lacking.certain:
        yield Reading(targets, "left_out")
    has_both = bool(lacking.empty) and bool(lacking.absent)
    certain = {one.pair for one in lacking.certain}
    empty = {one.pair for one in lacking.empty}
    if has_both and not certain & empty:
        yield Reading(targets, "left_out_if_empty", _in_words(lacking.absent, "have no row"))
    if lacking.empty or lacking.absent:
        every = [*lacking.absent, *lacking.empty]
        yield Reading(targets, "unknown", _in_words(every, "have no score", lacking.empty))


def _in_words(lists: Sequence[OldList], lack: str, empty: Sequence[OldList] = ()) -> str:
    one = lists[0].pair
    some = f"{len(lists):,} judged lists {lack}"
    if empty:
        some += f" ({len(empty):,} of them an empty one)"
    return (
        f"{some}, e.g. query {one.query_id} of {one.run}, and no convention leaves out just these: "
        "the scores are assumed to be incomplete, and lists without a score are not compared"
    )
