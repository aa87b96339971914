"""Removes leftovers of dead evaluations, superseded evaluations, and nights that are too old."""

import datetime
import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from ndcg_spark.config_values import RECENT_GOOD
from ndcg_spark.nights.layout import STAGING, TABLES, Store, folder_of, night_of
from ndcg_spark.nights.records import CommittedNight, all_records, committed, last_good
from ndcg_spark.nights.sink import Night, Sink
from ndcg_spark.nights.table_outputs import is_of_tables

#: An evaluation without a record is left alone for a day, because it may be about to write its record.
SECONDS_WITHOUT_RECORD = 24 * 3600.0


class Removal(NamedTuple):
    """Something to remove: a description, and its paths in the order in which they are removed."""

    what: str
    paths: Sequence[str] = ()
    #: Removes it from an output of tables; returns False if it was already gone.
    from_tables: Callable[[], bool] | None = None


def remove(output: str, removals: Iterable[Removal]) -> list[str]:
    """Remove all of these. Returns a sentence for each that was still there. Raises StorageError."""
    if is_of_tables(output):
        return [f"removed {each.what}" for each in removals if each.from_tables and each.from_tables()]
    store, done = Store(output), []
    with store.failures("cannot be removed from"):
        for what, paths, _ in removals:
            was_there = [store.delete(path) for path in paths]
            for night in {path.rpartition("/")[0] for path in paths if not path.startswith(STAGING)}:
                store.delete_if_empty(night)
            done += [f"removed {what}"] if any(was_there) else []
    return done


def waste(output: str) -> list[Removal]:
    """Leftovers of evaluations that stopped over a day ago, and superseded evaluations. Raises StorageError."""
    if is_of_tables(output):
        sink = Sink(output)
        return [
            Removal(f"{key[2]} of {key[0]} on {key[1]}, which had not published", (), partial(sink.restore, key[:2]))
            for key in sorted(sink.unrecorded())
            if _is_old(key[2])
        ]
    store = Store(output)
    store.refuse_a_file()
    with store.failures("cannot be read"):
        staged = store.folders(STAGING)
        dead = [name for name in staged if store.is_older(f"{STAGING}/{name}", SECONDS_WITHOUT_RECORD)]
        records = all_records(store)
        recorded = {night.folder for night in records}
        # An evaluation that was killed while publishing has moved some of its folders, and its staging is still there.
        moved = {path.rpartition("/")[0] for table in TABLES if dead for path in store.files(table)}
    removals = []
    for name in dead:
        folders = {folder for folder in moved if folder.endswith(f"/evaluation_id={name}")}
        unrecorded = sorted(folder for folder in folders if folder.partition("/")[2] not in recorded)
        removals.append(Removal(f"{name}, which had not published", [*unrecorded, f"{STAGING}/{name}"]))
    newest = {(night.dataset, night.evaluated_on): night for night in records}
    for night in records:
        counts = newest[night.dataset, night.evaluated_on]
        if night is not counts:
            removals.append(_superseded(night, counts))
    return removals


def still_staged(output: str) -> list[str]:
    """A sentence for each evaluation in staging, which may still be running. Raises StorageError."""
    if is_of_tables(output):
        running = sorted({number for _, _, number in Sink(output).unrecorded() if not _is_old(number)})
    else:
        store = Store(output)
        with store.failures("cannot be read"):
            running = store.folders(STAGING)
    return [f"left {name}, which may be running; after a day it counts as dead" for name in running]


def _is_old(evaluation_id: str) -> bool:
    """Whether an evaluation began so long ago that it is dead if it has no record; its id begins with the time."""
    try:
        began = datetime.datetime.strptime(evaluation_id.partition("-")[0], "%Y%m%dT%H%M%SZ")
    except ValueError:
        return False
    age = datetime.datetime.now(datetime.UTC) - began.replace(tzinfo=datetime.UTC)
    return age.total_seconds() > SECONDS_WITHOUT_RECORD


def remove_superseded(records: Sequence[CommittedNight]) -> None:
    """Remove all evaluations of a night except the one that counts, the last of its `records`. Raises FAILURES."""
    for other in records[:-1]:
        for path in _superseded(other, records[-1]).paths:
            other.in_folder.delete(path)


def _superseded(night: CommittedNight, newest: CommittedNight) -> Removal:
    """The rows of an evaluation, then its record."""
    what = f"{night.evaluation_id} of {night.dataset} on {night.evaluated_on}, superseded by {newest.evaluation_id}"
    return Removal(what, [*(f"{table}/{night.folder}" for table in TABLES), night.path])


def old_nights(
    output: str, keep_days: int, today: datetime.date, dataset: str | None = None, baselines: bool = False
) -> tuple[list[Removal], list[str]]:
    """The nights dated more than `keep_days` before today, and a sentence for each of them that is kept.

    Unless `baselines` is set, the newest night of a dataset that passed or was accepted is kept, and so are the nights
    that the gate of its newest night compares with: without them the next night would have no verdict. Raises
    StorageError.
    """
    # Python's dates begin with the year 1.
    days = min(max(keep_days, 0), (today - datetime.date.min).days)
    oldest = (today - datetime.timedelta(days=days)).isoformat()
    nights = committed(output)
    needed = {} if baselines else _baselines(nights)
    if is_of_tables(output):
        return _expired({(night.dataset, night.evaluated_on): () for night in nights}, oldest, dataset, needed, output)
    store = Store(output)
    with store.failures("cannot be read"):
        # In this order: rows that were listed first and have neither staging nor a record are left from a removal.
        folders = {folder_of(path) for table in TABLES for path in store.files(table)}
        running = {f"evaluation_id={name}" for name in store.folders(STAGING)}
        records = all_records(store)
    paths: dict[tuple[str, str], list[str]] = {}
    # The records first, and the one that counts last, so that no older one ever counts.
    for night in records:
        paths.setdefault((night.dataset, night.evaluated_on), []).append(night.path)
    recorded = {night.folder for night in records}
    for folder in sorted(filter(None, folders | recorded)):
        # What is about to be published is kept, as its record may be written at any moment.
        if folder in recorded or folder.rpartition("/")[2] not in running:
            paths.setdefault(night_of(folder), []).extend(f"{table}/{folder}" for table in TABLES)
    return _expired(paths, oldest, dataset, needed, output)


def _expired(
    paths: Mapping[Night, Sequence[str]], oldest: str, dataset: str | None, needed: Mapping[Night, str], output: str
) -> tuple[list[Removal], list[str]]:
    """The nights before `oldest` with their paths (none in an output of tables), and why some are kept."""
    old = sorted((name, date) for name, date in paths if date < oldest and dataset in (None, name))
    sink = Sink(output) if is_of_tables(output) else None
    removals = [
        Removal("{} of {}".format(*night), paths[night], partial(sink.remove, night) if sink else None)
        for night in old
        if night not in needed
    ]
    return removals, [f"kept {name} of {date}, {needed[name, date]}" for name, date in old if (name, date) in needed]


def _baselines(nights: Sequence[CommittedNight]) -> dict[Night, str]:
    """Why nights are needed for comparisons of later ones, by dataset and date."""
    needed: dict[tuple[str, str], str] = {}
    for dataset in {night.dataset for night in nights}:
        of_dataset = [night for night in nights if night.dataset == dataset]
        gate = of_dataset[-1].record["configuration"].get("gate") or {}
        configured = gate.get("baseline", [])
        for baseline in configured:
            needed[dataset, str(baseline.get("night"))] = f"a baseline of the gate of {of_dataset[-1].evaluated_on}"
        most = max((each.get("nights", 1) for each in configured if each.get("night") == RECENT_GOOD), default=0)
        recent = itertools.islice((night for night in reversed(of_dataset) if night.is_not_worse), most)
        needed |= {(dataset, night.evaluated_on): f"one of the {most} nights of {RECENT_GOOD}" for night in recent}
        good = last_good(of_dataset)
        if good is not None:
            needed[dataset, good.evaluated_on] = "the newest that passed or was accepted; --baselines removes it, too"
    return needed
