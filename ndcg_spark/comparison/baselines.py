"""Which night is a baseline: of a date, or the last good one before a night."""

from collections.abc import Iterable, Sequence

from ndcg_spark.config_values import LAST_GOOD
from ndcg_spark.nights.records import CommittedNight, last_good


def baseline_night(
    nights: Iterable[CommittedNight], dataset: str, evaluated_on: str, baseline: str
) -> CommittedNight | None:
    """The night of a dataset that `baseline`, a date or LAST_GOOD, stands for on a date; None if there is none.

    `nights` are sorted by date. The last good night is an earlier one, so that a night that is evaluated again is not
    compared with what it replaces.
    """
    if baseline == LAST_GOOD:
        return last_good(earlier(nights, dataset, evaluated_on))
    return next((night for night in nights if (night.dataset, night.evaluated_on) == (dataset, baseline)), None)


def earlier(nights: Iterable[CommittedNight], dataset: str, evaluated_on: str) -> list[CommittedNight]:
    """The nights of a dataset before a date."""
    return [night for night in nights if night.dataset == dataset and night.evaluated_on < evaluated_on]


def expected_datasets(nights: Sequence[CommittedNight], dataset: str, evaluated_on: str) -> dict[str, str]:
    """The datasets that were evaluated together with this one since its last good night, each with the last date.

    A dataset that was new in the meantime is not part of the last good night, and is expected all the same.
    """
    found: dict[str, str] = {}
    for night in reversed(earlier(nights, dataset, evaluated_on)):
        found = {**dict.fromkeys(night.record.get("datasets", ()), night.evaluated_on), **found}
        if night.is_good:
            break
    return found
