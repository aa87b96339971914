"""Which nights are a baseline: the night of a date, or the last good nights before a night."""

import itertools
from collections.abc import Iterable, Sequence

from ndcg_spark.comparison.comparability import convention_key, fingerprint
from ndcg_spark.config_values import LAST_GOOD, RECENT_GOOD
from ndcg_spark.nights.records import CommittedNight, last_good


def baseline_night(
    nights: Iterable[CommittedNight], dataset: str, evaluated_on: str, baseline: str
) -> CommittedNight | None:
    """The night of a dataset that `baseline`, a date, LAST_GOOD or RECENT_GOOD, stands for on a date, if there is one.

    `nights` are sorted by date. A good night is an earlier one, so that a night that is evaluated again is not compared
    with what it replaces. RECENT_GOOD stands for the last night that is not worse and, by `alike`, for those before it.
    """
    if baseline == RECENT_GOOD:
        return next((night for night in reversed(earlier(nights, dataset, evaluated_on)) if night.is_not_worse), None)
    if baseline == LAST_GOOD:
        return last_good(earlier(nights, dataset, evaluated_on))
    return next((night for night in nights if (night.dataset, night.evaluated_on) == (dataset, baseline)), None)


def alike(nights: Iterable[CommittedNight], night: CommittedNight, most: int) -> list[CommittedNight]:
    """A night and those before it that were not found worse, as long as they are alike; at most `most`, by date.

    Nights with the same judgments and convention are alike.
    """
    good = (each for each in reversed(earlier(nights, night.dataset, night.evaluated_on)) if each.is_not_worse)
    before = itertools.takewhile(lambda each: _meaning(each) == _meaning(night), good)
    return [*reversed([night, *itertools.islice(before, most - 1)])]


def _meaning(night: CommittedNight) -> tuple[str, str | None]:
    return convention_key(night.record), fingerprint(night.record, "judgments", night.dataset)


def earlier(nights: Iterable[CommittedNight], dataset: str, evaluated_on: str) -> list[CommittedNight]:
    """The nights of a dataset before a date."""
    return [night for night in nights if night.dataset == dataset and night.evaluated_on < evaluated_on]


def expected_datasets(nights: Sequence[CommittedNight], dataset: str, evaluated_on: str) -> dict[str, str]:
    """The datasets that were evaluated together with this one since its last good night, each with the last date.

    A dataset that was added in the meantime is not part of the last good night, but is expected all the same.
    """
    found: dict[str, str] = {}
    for night in reversed(earlier(nights, dataset, evaluated_on)):
        found = {**dict.fromkeys(together(nights, night), night.evaluated_on), **found}
        if night.is_good:
            break
    return found


def arrived(nights: Iterable[CommittedNight], evaluated_on: str) -> set[str]:
    """The datasets that have a night of a date, without those that a later evaluation of it had no results of."""
    of_date = [night for night in nights if night.evaluated_on == evaluated_on]
    return {night.dataset for night in of_date if not any(_lacks(other, night) for other in of_date)}


def _lacks(other: CommittedNight, night: CommittedNight) -> bool:
    is_later = other.record.get("committed_at", "") >= night.record.get("committed_at", "")
    return is_later and night.dataset in other.record.get("datasets_without_results", ())


def together(nights: Iterable[CommittedNight], night: CommittedNight) -> list[str]:
    """The datasets that were evaluated together with a night, even if it was later evaluated again alone."""
    of_date = (each for each in nights if each.evaluated_on == night.evaluated_on and each.dataset != night.dataset)
    others = (each.dataset for each in of_date if night.dataset in each.record.get("datasets", ()))
    return sorted({*night.record.get("datasets", ()), *others})
