"""The nights that a command works on: of a date or the newest, of every dataset or of one."""

import datetime
import itertools
import statistics
from collections.abc import Iterable, Sequence

from ndcg_spark.config_values import date as date_value
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.masking import masked
from ndcg_spark.nights.log import Night, Nights
from ndcg_spark.text import unknown_name

#: How many datasets a message names.
_SHOWN = 10


def select_nights(
    nights: Sequence[Night], output: str, date: str | None = None, dataset: str | None = None
) -> list[Night]:
    """The nights of a date, by default the newest, one of each dataset. `nights` are all that the output has.

    Raises
    ------
    ConfigurationError
        There is no night at all, of that dataset or of that date, or it is not a date. A retry would not help.
    """
    try:
        date = date and date_value(date).isoformat()
    except ValueError as error:
        raise ConfigurationError(f"date: {error}") from None
    if isinstance(nights, Nights):
        nights.refuse_damaged([date] if date else nights.damaged)
    of_dataset = nights_of_dataset(nights, output, dataset)
    newest = max(night.evaluated_on for night in of_dataset)
    of_date = [night for night in of_dataset if night.evaluated_on == (date or newest)]
    if not of_date:
        of = f" of {dataset}" if dataset else ""
        raise ConfigurationError(
            f"date: there is no night of {date}{of}; the newest is of {newest}, ndcg-spark nights lists them"
        )
    return of_date


def missing_datasets(nights: Iterable[Night], date: str, dataset: str | None = None) -> str | None:
    """A sentence that names the datasets that have earlier nights but none of the date.

    None if there are no such datasets, or if a `dataset` was named.
    """
    if dataset is not None:
        return None
    newest: dict[str, str] = {}
    for night in nights:
        if night.evaluated_on <= date:
            newest[night.dataset] = max(night.evaluated_on, newest.get(night.dataset, ""))
    older = [f"{name} (its last is of {last})" for name, last in sorted(newest.items()) if last != date]
    if not older:
        return None
    return f"{len(older)} dataset(s) have no night of {date} and are left out: {_some(older)}; name one with --dataset"


def nights_of_dataset(nights: Sequence[Night], output: str, dataset: str | None) -> list[Night]:
    """The nights of a dataset, or of all. ConfigurationError if there is no night at all or of the dataset."""
    if not nights:
        raise ConfigurationError(f"output: no published night in {masked(output)}; check the path")
    of_dataset = [night for night in nights if dataset in (None, night.dataset)]
    if not of_dataset:
        raise unknown_name("dataset", "dataset", str(dataset), {night.dataset for night in nights})
    return of_dataset


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"{', '.join(names[:_SHOWN])}{more}"


def unpublished(nights: Nights, dataset: str | None = None) -> list[str]:
    """A sentence for each evaluation that published nothing on a date without a night, and for each gap of a dataset.

    A gap is where the days between two nights are more than they usually are.
    """
    there = {night.evaluated_on for night in nights if dataset in (None, night.dataset)}
    last = {row["evaluated_on"]: row for row in nights.attempts if row["evaluated_on"] not in there}
    sentences = [
        f"{date} was {row['status']} with exit code {row['exit_code']}: {row['reason']}" for date, row in last.items()
    ]
    for name in sorted({night.dataset for night in nights if dataset in (None, night.dataset)}):
        dates = [datetime.date.fromisoformat(night.evaluated_on) for night in nights if night.dataset == name]
        steps = [(after - before).days for before, after in itertools.pairwise(dates)]
        usual = statistics.mode(steps) if steps else 0
        sentences += [
            f"{name} has no night between {before} and {after}"
            for before, after, days in zip(dates, dates[1:], steps, strict=False)
            if days > usual
        ]
    return _last(sentences)


def _last(sentences: list[str]) -> list[str]:
    more = len(sentences) - _SHOWN
    return [f"and {more} more before", *sentences[-_SHOWN:]] if more > 0 else sentences
