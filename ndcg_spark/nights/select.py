"""The nights that a command works on: of a date or the newest, of every dataset or of one."""

import datetime
import itertools
import statistics
from collections.abc import Iterable, Sequence

from ndcg_spark.errors import ConfigurationError
from ndcg_spark.nights.log import Night, Nights
from ndcg_spark.text import GOOD, masked, unknown_name


def select_nights(nights: Nights, output: str, date: str | None = None, dataset: str | None = None) -> list[Night]:
    """The nights of a date, by default the newest, one of each dataset. `nights` are all that the output has.

    ConfigurationError if there is no such night; StorageError if the log of the date, or by default of a date after the
    newest night, is damaged.
    """
    newest = max((night.evaluated_on for night in nights if dataset in (None, night.dataset)), default="")
    nights.refuse_damaged([date] if date else (day for day in nights.damaged if day > newest))
    chosen = [night for night in nights_of_dataset(nights, output, dataset) if night.evaluated_on == (date or newest)]
    if not chosen:
        which = f" of {dataset}" if dataset else ""
        raise ConfigurationError(
            f"date: there is no night of {date}{which}; the newest is of {newest}, ndcg-spark nights lists them"
        )
    return chosen


def nights_of_dataset(nights: Sequence[Night], output: str, dataset: str | None) -> list[Night]:
    """The nights of a dataset, or of all. ConfigurationError if there is no night at all or of the dataset."""
    if not nights:
        raise ConfigurationError(f"output: no published night in {masked(output)}; check the path")
    chosen = [night for night in nights if dataset in (None, night.dataset)]
    if not chosen:
        raise unknown_name("dataset", "dataset", str(dataset), {night.dataset for night in nights})
    return chosen


def missing_datasets(nights: Iterable[Night], date: str, dataset: str | None = None) -> str | None:
    """A sentence about the datasets that have earlier nights but none of the date; None if a `dataset` was named."""
    newest = {night.dataset: night.evaluated_on for night in sorted(nights) if night.evaluated_on <= date}
    older = [f"{name} (its last is of {last})" for name, last in newest.items() if last != date]
    if dataset is not None or not older:
        return None
    return f"{len(older)} dataset(s) have no night of {date} and are left out, e.g. {older[0]}; name one with --dataset"


def unpublished(nights: Nights, dataset: str | None = None) -> list[str]:
    """A sentence for each date without a night whose evaluation failed, and each gap of a dataset.

    A gap is where the days between two nights are more than they usually are.
    """
    there = {night.evaluated_on for night in nights if dataset in (None, night.dataset)}
    last = {row["evaluated_on"]: row for row in nights.attempts if row["evaluated_on"] not in there}
    sentences = [
        f"{date} was {row['status']} with exit code {row['exit_code']}: {row['reason']}" for date, row in last.items()
    ]
    for name, group in itertools.groupby(nights, key=lambda night: night.dataset):
        days = [datetime.date.fromisoformat(night.evaluated_on) for night in group if dataset in (None, name)]
        steps = [(after - before).days for before, after in itertools.pairwise(days)]
        sentences += [
            f"{name} has no night between {before} and {after}"
            for before, after in itertools.pairwise(days)
            if (after - before).days > statistics.mode(steps)
        ]
    before, shown = sentences[:-10], sentences[-10:]
    return [f"and {len(before)} more before", *shown] if before else shown


def earlier(nights: Iterable[Night], dataset: str, evaluated_on: str) -> list[Night]:
    """The nights of a dataset before a date, which are sorted by date."""
    return [night for night in nights if night.dataset == dataset and night.evaluated_on < evaluated_on]


def baseline_nights(nights: Iterable[Night], night: Night, baseline: str) -> list[Night]:
    """The nights that `baseline`, a date or GOOD, may stand for on a night.

    A good night is an earlier one, so that a night that is evaluated again is not compared with what it replaces.
    """
    if baseline == GOOD:
        return [other for other in earlier(nights, night.dataset, night.evaluated_on) if other.is_good]
    return [other for other in nights if (other.dataset, other.evaluated_on) == (night.dataset, baseline)]


def baseline_night(nights: Iterable[Night], night: Night, baseline: str) -> Night:
    """The newest of `baseline_nights`. ConfigurationError if there is none."""
    chosen = baseline_nights(nights, night, baseline)
    if not chosen:
        absent = f"good night before {night.evaluated_on}" if baseline == GOOD else f"night of {baseline}"
        raise ConfigurationError(f"baseline-date: {night.dataset} has no {absent}; ndcg-spark nights lists them")
    return chosen[-1]
