"""What does not count is removed: what dead evaluations left, what was superseded, and nights that are too old."""

import datetime
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ndcg_spark.nights.layout import RECORDS, STAGING, TABLES, Store, night_folder, night_of
from ndcg_spark.nights.records import CommittedNight, all_records, committed

#: What has no record is left alone for a day, because its evaluation may be about to write it.
SECONDS_WITHOUT_RECORD = 24 * 3600.0


class Removal(NamedTuple):
    """Something to remove: what it is in words, and its paths in the order in which they go."""

    what: str
    paths: Sequence[str]


def recover(output: str) -> list[str]:
    """Remove what dead evaluations left and what was superseded. Returns a sentence for each, and for what stays.

    Nothing that counts is touched, and neither is what was written within the last day and may belong to an evaluation
    that is still running.

    Raises
    ------
    StorageError
        The output is not a folder, or the storage fails.
    """
    return _removed(output, _waste(Store(output)))


def would_recover(output: str) -> list[str]:
    """A sentence for each thing that `recover` would remove. Nothing is changed. Raises as `recover`."""
    return [f"would remove {each.what}" for each in _waste(Store(output))]


def left_alone(output: str) -> list[str]:
    """A sentence for each evaluation in staging that may still be running. Raises StorageError."""
    store = Store(output)
    with store.failures("cannot be read"):
        names = store.folders(STAGING)
    return [f"left {name} alone; if it is not running any more, it will be removed after a day" for name in names]


def remove_superseded(records: Sequence[CommittedNight]) -> str:
    """Remove all evaluations of a night but the one that counts, the last of `records`; returns its id.

    Raises FAILURES.
    """
    *others, newest = records
    for other in others:
        for path in _superseded(other, newest).paths:
            other.store.delete(path)
    return newest.evaluation_id


def expire(
    output: str, keep_days: int, today: datetime.date, dataset: str | None = None, baselines: bool = False
) -> list[str]:
    """Remove all nights dated more than `keep_days` before today, after a `recover`. Returns a sentence for each.

    Of each dataset, the newest night that passed or was accepted, and the nights that the gate of the newest night
    names, stay unless `baselines` is set: without them the next night would have no verdict. Raises as `recover`, and
    StorageError if a record cannot be read that tells what is a baseline.
    """
    done = recover(output)
    kept, old = _old_nights(output, keep_days, today, dataset, baselines)
    return [*done, *_removed(output, old), *kept]


def would_expire(
    output: str, keep_days: int, today: datetime.date, dataset: str | None = None, baselines: bool = False
) -> list[str]:
    """A sentence for each night that `expire` would remove or keep. Nothing is changed. Raises as `expire`."""
    kept, old = _old_nights(output, keep_days, today, dataset, baselines)
    return [*(f"would remove {each.what}" for each in old), *kept]


def _removed(output: str, removals: Iterable[Removal]) -> list[str]:
    store, done = Store(output), []
    with store.failures("cannot be removed from"):
        for what, paths in removals:
            was_there = [store.delete(path) for path in paths]
            if any(was_there):
                done.append(f"removed {what}")
    return done


def _waste(store: Store) -> list[Removal]:
    """What counts for nobody: of evaluations that stopped more than a day ago, and what a newer record supersedes."""
    store.refuse_a_file()
    with store.failures("cannot be read"):
        dead = [name for name in store.folders(STAGING) if store.is_older(f"{STAGING}/{name}", SECONDS_WITHOUT_RECORD)]
        of_nights: dict[tuple[str, str], list[CommittedNight]] = {}
        for night in all_records(store):
            of_nights.setdefault((night.dataset, night.evaluated_on), []).append(night)
        recorded = {night.folder for nights in of_nights.values() for night in nights}
        moved: dict[str, set[str]] = {}
        for file in (file for table in TABLES if dead for file in store.files(table)):
            evaluation_id = file.folder.rpartition("evaluation_id=")[2]
            if evaluation_id in dead and file.folder.partition("/")[2] not in recorded:
                moved.setdefault(evaluation_id, set()).add(file.folder)
    removals = [
        Removal(f"{name}, which had not published", [*sorted(moved.get(name, ())), f"{STAGING}/{name}"])
        for name in dead
    ]
    return removals + [_superseded(night, nights[-1]) for nights in of_nights.values() for night in nights[:-1]]


def _superseded(night: CommittedNight, newest: CommittedNight) -> Removal:
    """The rows of an evaluation and then its record; of a night that was accepted, only the record before that."""
    tables = TABLES if night.evaluation_id != newest.evaluation_id else ()
    what = f"{night.evaluation_id} of {night.dataset} on {night.evaluated_on}, superseded by {newest.evaluation_id}"
    return Removal(what, [*(f"{table}/{night.folder}" for table in tables), night.path])


def _old_nights(
    output: str, keep_days: int, today: datetime.date, dataset: str | None, baselines: bool
) -> tuple[list[str], list[Removal]]:
    """Sentences about old nights that stay, and the old nights that go; with records, or left by an earlier removal."""
    store = Store(output)
    store.refuse_a_file()
    # Python's dates begin with the year 1.
    days = min(max(keep_days, 0), (today - datetime.date.min).days)
    oldest = (today - datetime.timedelta(days=days)).isoformat()
    nights = committed(output)
    needed = {} if baselines else _baselines(nights)
    with store.failures("cannot be read"):
        folders = sorted(
            {
                night_of(f"{name}/{date}")
                for place in (RECORDS, *TABLES)
                for name in store.folders(place)
                for date in store.folders(f"{place}/{name}")
                if name.startswith("dataset=") and date.startswith("evaluated_on=")
            }
        )
        kept, old = [], []
        for name, date in folders:
            if date >= oldest or dataset not in (None, name):
                continue
            if (name, date) in needed:
                kept.append(f"kept {name} of {date}, {needed[name, date]}; --baselines removes it, too")
                continue
            folder = night_folder(name, date)
            records = [night.path for night in all_records(store, folder)]
            # The record that counts goes last of the records, so that no older one ever counts, and before the rows.
            places = [f"{place}/{folder}" for place in (RECORDS, *TABLES)]
            old.append(Removal(f"{name} of {date}", [*records, *places]))
    return kept, old


def _baselines(nights: Sequence[CommittedNight]) -> dict[tuple[str, str], str]:
    """The nights that later ones are compared with, by dataset and date: why each of them is needed."""
    needed: dict[tuple[str, str], str] = {}
    for dataset in {night.dataset for night in nights}:
        own = [night for night in nights if night.dataset == dataset]
        good = next((night for night in reversed(own) if night.is_good), None)
        if good is not None:
            needed[dataset, good.evaluated_on] = "the newest night that passed or was accepted"
        gate = own[-1].record["configuration"].get("gate") or {}
        for baseline in gate.get("baseline", []):
            needed[dataset, str(baseline.get("night"))] = f"a baseline of the gate of {own[-1].evaluated_on}"
    return needed
