"""The accepted state of a run, and the changes of judgments between it and tonight.

A mean of the last nights follows a slow loss down. So a gate also compares with a night that
somebody vouched for, however long ago. If the judgments have changed since then, the difference is
a chain: from the reference to the night before the change, across the change, and on to tonight.
"""

import dataclasses
from collections.abc import Iterable

from ndcg_spark.comparison.baselines import (
    RunsOf,
    has_judgments_of,
    has_options_of,
    is_accepted_for,
    is_good_for,
)
from ndcg_spark.nights.log import Night
from ndcg_spark.nights.reader import earlier

#: A reference is the mean of at most this many nights: a single night may be a lucky one.
MOST_NIGHTS = 7
#: How many changes of judgments are followed back at most.
MOST_LINKS = 60


@dataclasses.dataclass(frozen=True)
class Link:
    """A change of judgments, from the last night before it to the first night under the new
    judgments.
    """

    before: Night
    after: Night


@dataclasses.dataclass(frozen=True)
class Reference:
    """What a run is compared with: the mean of its nights, which are ordered by date."""

    nights: tuple[Night, ...]
    #: The changes of judgments from these nights to tonight, ordered by date.
    links: tuple[Link, ...] = ()
    #: Whether older links were left out, so that the nights are later than the accepted ones.
    begins_later: bool = False

    @property
    def first(self) -> str:
        return self.nights[0].evaluated_on


def nights_of_run(
    run: str,
    tonight: Night,
    nights: Iterable[Night],
    runs_of: RunsOf,
) -> list[Night]:
    """The earlier verified nights that have the run and tonight's options, ordered by date.

    A night on which the run was not measured does not have it.
    """
    of_run = []
    for night in earlier(nights, tonight.dataset, tonight.evaluated_on):
        if night.unverified is not None or not has_options_of(night, tonight):
            continue
        if run in runs_of(night) and run not in night.unmeasured:
            of_run.append(night)
    return of_run


def accepted_reference(
    run: str,
    tonight: Night,
    nights: Iterable[Night],
    runs_of: RunsOf,
    most: int,
) -> Reference | None:
    """The newest night accepted for a run, with the good nights after it.

    If no night was accepted, it starts at the first good night. None if there is no good night.
    """
    before = nights_of_run(run, tonight, nights, runs_of)
    good = [night for night in before if is_good_for(night, run)]
    accepted = [night for night in before if is_accepted_for(night, run)]
    if accepted:
        first = accepted[-1]
    elif good:
        first = good[0]
    else:
        return None
    reference = (first, *_good_nights_after(run, first, before, _most_of(most) - 1))
    return _with_links(reference, before, tonight)


def dated_reference(
    run: str,
    date: str,
    tonight: Night,
    nights: Iterable[Night],
    runs_of: RunsOf,
) -> Reference | None:
    """A date's night as a reference; None if it does not have the run."""
    before = nights_of_run(run, tonight, nights, runs_of)
    for night in before:
        if night.evaluated_on == date:
            return _with_links((night,), before, tonight)
    return None


def _most_of(most: int) -> int:
    """How many nights a reference may have, given the number of nights that a gate averages."""
    return min(most, MOST_NIGHTS)


def _good_nights_after(
    run: str,
    first: Night,
    nights: Iterable[Night],
    most: int,
) -> list[Night]:
    """The good nights that follow a night, up to a change of judgments."""
    good: list[Night] = []
    for night in nights:
        if night.evaluated_on <= first.evaluated_on:
            continue
        if not has_judgments_of(night, first) or len(good) >= most:
            break
        if is_good_for(night, run):
            good.append(night)
    return good


def _with_links(
    reference: tuple[Night, ...],
    nights: Iterable[Night],
    tonight: Night,
) -> Reference:
    """A reference with the changes of judgments until tonight.

    If it has tonight's judgments, the difference is paired, whatever changed in between.
    """
    if has_judgments_of(reference[0], tonight):
        return Reference(reference)
    links = []
    before = reference[0]
    for night in (*nights, tonight):
        if night.evaluated_on <= before.evaluated_on:
            continue
        if not has_judgments_of(before, night):
            links.append(Link(before, night))
        before = night
    return Reference(reference, tuple(links))


def newest_link(
    run: str,
    tonight: Night,
    nights: Iterable[Night],
    runs_of: RunsOf,
) -> Link | None:
    """The change of judgments that begins tonight for a run.

    None if there is no such change, or if the run was not measured tonight.
    """
    before = nights_of_run(run, tonight, nights, runs_of)
    if run in tonight.unmeasured:
        return None
    if not before or has_judgments_of(before[-1], tonight):
        return None
    return Link(before[-1], tonight)


def after_link(
    run: str,
    link: Link,
    tonight: Night,
    nights: Iterable[Night],
    most: int,
) -> tuple[Night, ...]:
    """The first good nights before tonight under a link's new judgments.

    `nights`: the run's nights before tonight.
    """
    first = link.after
    if first.evaluated_on >= tonight.evaluated_on:
        return ()
    before = earlier(nights, tonight.dataset, tonight.evaluated_on)
    good = [first] if is_good_for(first, run) else []
    good += _good_nights_after(run, first, before, _most_of(most))
    return tuple(good[: _most_of(most)])
