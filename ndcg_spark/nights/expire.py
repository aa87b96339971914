"""Removes what does not count: leftovers of killed evaluations, superseded evaluations, and nights that are too old."""

import datetime
import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ndcg_spark.config_values import RECENT_GOOD
from ndcg_spark.nights.log import Night, Nights, committed, last_good
from ndcg_spark.nights.store import LOG, Store, folder
from ndcg_spark.schemas import KEPT

#: What has no row in the log is left alone for a day, because its evaluation may still be writing.
SECONDS_WITHOUT_ROW = 24 * 3600.0
#: A reader that has read the log before an evaluation was superseded still finds its rows for an hour.
SECONDS_SUPERSEDED = 3600.0

#: The date and the id of an evaluation.
_Evaluation = tuple[str, str]


class Removal(NamedTuple):
    """Something to remove: a description, and its paths in the order in which they are removed."""

    what: str
    paths: Sequence[str]


def remove(output: str, removals: Iterable[Removal]) -> list[str]:
    """Remove all of these. Returns a sentence for each that was still there. Raises StorageError."""
    store, done = Store(output), []
    with store.failures("cannot be removed from"):
        for what, paths in removals:
            was_there = [store.delete(path) for path in paths]
            done += [f"removed {what}"] if any(was_there) else []
            for date in {path.rpartition("/")[0] for path in paths}:
                store.delete_if_empty(date)
    return done


def waste(output: str) -> list[Removal]:
    """The rows of evaluations that stopped over a day ago, and of those superseded over an hour ago.

    Ages are those by the storage's own clock. Raises StorageError.
    """
    store = Store(output)
    store.refuse_a_file()
    with store.failures("cannot be read"):
        # In this order: an evaluation that adds its rows to the log in between is not taken for one without.
        written = _written(store)
        known = committed(store)
        unknown = {key: newest for key, newest in written.items() if key[1] not in _logged(known)}
        superseded = {key: since for key, since in _superseded(known).items() if key in written}
        now = store.now() if unknown or superseded else 0.0
    dates = {*known.damaged}
    old = sorted(key for key, newest in unknown.items() if now - newest > SECONDS_WITHOUT_ROW and key[0] not in dates)
    late = sorted(key for key, since in superseded.items() if now - since > SECONDS_SUPERSEDED and key[0] not in dates)
    return [
        *(
            Removal(f"{evaluation} of {date}, which did not publish", _folders(date, evaluation))
            for date, evaluation in old
        ),
        *(
            Removal(f"{evaluation} of {date}, which was superseded", _folders(date, evaluation))
            for date, evaluation in late
        ),
    ]


def _folders(date: str, evaluation: str) -> list[str]:
    return [folder(table, date, evaluation) for table in KEPT]


def _written(store: Store) -> dict[_Evaluation, float]:
    """When the newest file of each evaluation was written, whether or not the log knows it."""
    found: dict[_Evaluation, float] = {}
    for table in KEPT:
        for path, file in store.files(table).items():
            parts = path.split("/")
            if len(parts) > 3 and parts[1].startswith("evaluated_on=") and parts[2].startswith("evaluation_id="):
                key = parts[1].partition("=")[2], parts[2].partition("=")[2]
                found[key] = max(found.get(key, 0.0), file.written)
    return found


def _logged(known: Nights) -> set[str]:
    return {row["evaluation_id"] for row in known.rows if row["status"] == "published"}


def _superseded(known: Nights) -> dict[_Evaluation, float]:
    """The evaluations that count for none of their datasets, and when the last of these got one that counts."""
    counting = {(night.evaluated_on, night.evaluation_id) for night in known}
    ids = {(night.dataset, night.evaluated_on): night.evaluation_id for night in known}
    since: dict[tuple[str, str], float] = {}
    for row in known.rows:
        key = row["dataset"], row["evaluated_on"]
        if row["evaluation_id"] == ids.get(key):
            since[key] = min(row["written"], since.get(key, row["written"]))
    found: dict[_Evaluation, float] = {}
    for row in known.rows:
        evaluation = row["evaluated_on"], row["evaluation_id"]
        if row["status"] == "published" and evaluation not in counting:
            found[evaluation] = max(found.get(evaluation, 0.0), since[row["dataset"], row["evaluated_on"]])
    return found


def old_nights(
    output: str, keep_days: int, today: datetime.date, baselines: bool = False
) -> tuple[list[Removal], list[str]]:
    """The dates more than `keep_days` before today, with all their nights, and a sentence for each that is kept.

    Unless `baselines` is set, the newest night of a dataset that passed or was accepted is kept, and so are the nights
    that the gate of its newest night compares with: without them the next night would have no verdict. Raises
    StorageError.
    """
    # Python's dates begin with the year 1.
    days = min(max(keep_days, 0), (today - datetime.date.min).days)
    oldest = (today - datetime.timedelta(days=days)).isoformat()
    store = Store(output)
    known = committed(store)
    needed = {} if baselines else _baselines(known)
    with store.failures("cannot be read"):
        written = _written(store)
        logged = {path.split("/")[1].partition("=")[2] for path in store.files(LOG, ".parquet")}
        fresh = {date for date, evaluation in written if evaluation not in _logged(known)}
        now = store.now() if fresh else 0.0
    running = {
        key for key, newest in written.items() if key[1] not in _logged(known) and now - newest <= SECONDS_WITHOUT_ROW
    }
    removals = []
    for date in sorted(logged | {key[0] for key in written}):
        if date >= oldest or date in needed or date in known.damaged:
            continue
        # In the order in which they were added, so that no older row ever counts.
        files = dict.fromkeys(row["file"] for row in sorted(known.rows, key=_added) if row["evaluated_on"] == date)
        folders = [path for key in sorted(written) if key[0] == date and key not in running for path in _folders(*key)]
        removals.append(Removal(f"the nights of {date}", [*files, *folders]))
    return removals, [f"kept the nights of {date}: {why}" for date, why in sorted(needed.items()) if date < oldest]


def _added(row: Mapping[str, Any]) -> tuple[float, int, int]:
    return row["written"], row["number"] or 0, row["revision"] or 0


def _baselines(nights: Sequence[Night]) -> dict[str, str]:
    """Why the nights of a date are needed for comparisons of later ones."""
    needed: dict[str, str] = {}
    for dataset in {night.dataset for night in nights}:
        of_dataset = [night for night in nights if night.dataset == dataset]
        gate = of_dataset[-1].record["configuration"].get("gate") or {}
        configured = gate.get("baseline", [])
        for baseline in configured:
            needed[str(baseline.get("night"))] = f"{dataset} has a baseline of the gate there"
        most = max((each.get("nights", 1) for each in configured if each.get("night") == RECENT_GOOD), default=0)
        for night in itertools.islice((night for night in reversed(of_dataset) if night.is_not_worse), most):
            needed[night.evaluated_on] = f"{dataset} is compared with the mean of its {most} last good nights"
        good = last_good(of_dataset)
        if good is not None:
            needed[good.evaluated_on] = f"{dataset} has no newer good night; --baselines removes it, too"
    return {date: why for date, why in needed.items() if any(night.evaluated_on == date for night in nights)}
