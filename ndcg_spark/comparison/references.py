"""The state of a run that somebody accepted, and the changes of judgments between it and tonight.

A mean of the last nights follows a slow loss down. So a gate also compares with a night that
somebody stood for, however long ago. Where the judgments have changed since, the difference is a
chain: from the reference to the night before the change, over the change, and on to tonight.
"""

import dataclasses
import itertools
from collections.abc import Iterable, Sequence

from ndcg_spark.comparison.baselines import (
    RunsOf,
    has_judgments_of,
    has_options_of,
    is_accepted_for,
    is_good_for,
)
from ndcg_spark.nights.log import Night
from ndcg_spark.nights.reader import earlier

#: A reference is the mean of at most so many nights: one night alone may be a lucky one.
MOST_NIGHTS = 7
#: So many changes of judgments are followed back.
MOST_LINKS = 60


@dataclasses.dataclass(frozen=True)
class Link:
    """A change of judgments, from the last night before it to the first one under the new judgments."""

    before: Night
    after: Night


@dataclasses.dataclass(frozen=True)
class Reference:
    """What a run is compared with: the mean of its nights, by date."""

    nights: tuple[Night, ...]
    #: By date, the changes of judgments from these nights to tonight.
    links: tuple[Link, ...] = ()
    #: Whether older links than these were left out, so that the nights are not those accepted.
    begins_later: bool = False

    @property
    def first(self) -> str:
        return self.nights[0].evaluated_on


def nights_of_run(run: str, tonight: Night, nights: Iterable[Night], runs_of: RunsOf) -> list[Night]:
    """The verified nights before this one that have the run, with its options, by date."""
    before = earlier(nights, tonight.dataset, tonight.evaluated_on)
    comparable = [night for night in before if night.unverified is None]
    comparable = [night for night in comparable if has_options_of(night, tonight)]
    return [night for night in comparable if run in runs_of(night)]


def accepted_reference(
    run: str,
    tonight: Night,
    nights: Iterable[Night],
    runs_of: RunsOf,
    most: int,
) -> Reference | None:
    """The newest night that somebody accepted for a run, with the good nights after it.

    Without one it is the first good night; None if there is none.
    """
    before = nights_of_run(run, tonight, nights, runs_of)
    accepted = [night for night in before if is_accepted_for(night, run)]
    good = [night for night in before if is_good_for(night, run)]
    chosen = accepted[-1:] or good[:1]
    if not chosen:
        return None
    return _with_links(_with_good_nights(run, chosen[0], before, most), before, tonight)


def dated_reference(run: str, date: str, tonight: Night, nights: Iterable[Night], runs_of: RunsOf) -> Reference | None:
    """The night of a date alone; None if it does not have the run."""
    before = nights_of_run(run, tonight, nights, runs_of)
    chosen = tuple(night for night in before if night.evaluated_on == date)
    return _with_links(chosen, before, tonight) if chosen else None


def _with_good_nights(run: str, first: Night, nights: Sequence[Night], most: int) -> tuple[Night, ...]:
    """A night and the good ones that follow it; a change of judgments ends them."""
    after = [night for night in nights if night.evaluated_on > first.evaluated_on]
    same = itertools.takewhile(lambda night: has_judgments_of(night, first), after)
    good = [night for night in same if is_good_for(night, run)]
    return (first, *good[: min(most, MOST_NIGHTS) - 1])


def _with_links(reference: tuple[Night, ...], nights: Sequence[Night], tonight: Night) -> Reference:
    if has_judgments_of(reference[0], tonight):
        return Reference(reference)
    since = [night for night in nights if night.evaluated_on >= reference[0].evaluated_on]
    path = [*since, tonight]
    links = []
    for before, after in itertools.pairwise(path):
        if not has_judgments_of(before, after):
            links.append(Link(before, after))
    return Reference(reference, tuple(links))


def newest_link(run: str, tonight: Night, nights: Iterable[Night], runs_of: RunsOf) -> Link | None:
    """The change of judgments that leads to tonight; None if the run was judged like this before."""
    before = nights_of_run(run, tonight, nights, runs_of)
    if not before or has_judgments_of(before[-1], tonight):
        return None
    return Link(before[-1], tonight)


def after_link(run: str, link: Link, tonight: Night, nights: Sequence[Night], most: int) -> tuple[Night, ...]:
    """The first good nights under the judgments that a link leads to, before tonight.

    `nights` are those of the run before tonight.
    """
    after = [night for night in nights if night.evaluated_on >= link.after.evaluated_on]
    same = itertools.takewhile(lambda night: has_judgments_of(night, link.after), after)
    good = [night for night in same if is_good_for(night, run)]
    before = [night for night in good if night.evaluated_on < tonight.evaluated_on]
    return tuple(before[: min(most, MOST_NIGHTS)])
