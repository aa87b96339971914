"""The nights that somebody asks for: of a date or the newest, of every dataset or of one."""

from collections.abc import Iterable, Sequence

from ndcg_spark.errors import ConfigurationError
from ndcg_spark.masking import masked
from ndcg_spark.nights.records import CommittedNight
from ndcg_spark.text import did_you_mean

#: As many datasets, or runs, are named in a message.
_SHOWN = 10


def chosen(
    nights: Sequence[CommittedNight], output: str, date: str | None = None, dataset: str | None = None
) -> list[CommittedNight]:
    """Those of the output's committed `nights` that are of the date, by default the newest; one of each dataset.

    Raises
    ------
    ConfigurationError
        There is no night, no such dataset or none of that date. A retry would not help.
    """
    own = nights_of(nights, output, dataset)
    newest = max(night.evaluated_on for night in own)
    found = [night for night in own if night.evaluated_on == (date or newest)]
    if not found:
        of = f" of {dataset}" if dataset else ""
        raise ConfigurationError(
            f"date: there is no night of {date}{of}; the newest is of {newest}, ndcg-spark nights lists them"
        )
    return found


def left_out(nights: Iterable[CommittedNight], date: str, dataset: str | None = None) -> str | None:
    """Which datasets have earlier nights and none of the date, in a sentence; None if none, or if one was named."""
    if dataset is not None:
        return None
    newest: dict[str, str] = {}
    for night in nights:
        if night.evaluated_on <= date:
            newest[night.dataset] = max(night.evaluated_on, newest.get(night.dataset, ""))
    older = sorted(name for name, last in newest.items() if last != date)
    if not older:
        return None
    shown = ", ".join(f"{name} (its last is of {newest[name]})" for name in older[:_SHOWN])
    more = f" and {len(older) - _SHOWN} more" if len(older) > _SHOWN else ""
    return f"{len(older)} dataset(s) have no night of {date} and are left out: {shown}{more}; name one with --dataset"


def nights_of(nights: Sequence[CommittedNight], output: str, dataset: str | None) -> list[CommittedNight]:
    """The nights of a dataset, or of all. ConfigurationError if there is no night, or no such dataset."""
    if not nights:
        raise ConfigurationError(f"output: no published night in {masked(output)}; check the path")
    own = [night for night in nights if dataset in (None, night.dataset)]
    if not own:
        raise ConfigurationError(_unknown(str(dataset), {night.dataset for night in nights}))
    return own


def unknown_run(option: str, run: str, known: Iterable[str]) -> ConfigurationError:
    """The error for a run that is not among those that are known."""
    names = sorted(known)
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return ConfigurationError(
        f"{option}: no run is called {run!r}{did_you_mean(run, names)}; there are {', '.join(names[:_SHOWN])}{more}"
    )


def _unknown(dataset: str, known: Iterable[str]) -> str:
    names = sorted(known)
    return (
        f"dataset: no dataset is called {dataset!r}{did_you_mean(dataset, names)}; "
        f"there are {', '.join(names[:_SHOWN])}"
    )
