"""Removes what does not count: leftovers of killed evaluations, superseded evaluations, and nights that are too old."""

import datetime
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ndcg_spark.config_values import GOOD
from ndcg_spark.nights.log import Night, Nights, committed
from ndcg_spark.nights.store import Store, folder
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
    known, unknown, written, now = _scan(output)
    late = (key for key, since in _superseded(known).items() if now - since > SECONDS_SUPERSEDED)
    old = (key for key in unknown if now - written[key] > SECONDS_WITHOUT_ROW)
    whys = {**dict.fromkeys(late, "was superseded"), **dict.fromkeys(old, "did not publish")}
    return [
        Removal(f"{key[1]} of {key[0]}, which {why}", _folders(key))
        for key, why in sorted(whys.items())
        if key in written and key[0] not in known.damaged
    ]


def _scan(output: str) -> tuple[Nights, set[_Evaluation], dict[_Evaluation, float], float]:
    """The log, evaluations that it does not know, when the newest file of each evaluation was written, and the time."""
    store = Store(output)
    store.refuse_a_file()
    written: dict[_Evaluation, float] = {}
    with store.failures("cannot be read"):
        # Before the log: an evaluation that adds its rows to it in between is not taken for one without.
        for path, file in (each for table in KEPT for each in store.files(table).items()):
            date, _, evaluation = path.partition("/evaluated_on=")[2].partition("/evaluation_id=")
            key = date, evaluation.partition("/")[0]
            if all(key):
                written[key] = max(written.get(key, 0.0), file.written)
        known = committed(store)
        unknown = {*written} - {(row["evaluated_on"], row["evaluation_id"]) for row in known.rows if row["number"]}
        return known, unknown, written, store.now() if written else 0.0


def _folders(key: _Evaluation) -> list[str]:
    return [folder(table, *key) for table in KEPT]


def _superseded(known: Nights) -> dict[_Evaluation, float]:
    """The evaluations that count for none of their datasets, and when the last of these got one that counts."""
    counting = {(night.dataset, night.evaluated_on): night.evaluation_id for night in known}
    published = [row for row in known.rows if row["status"] == "published"]
    since: dict[_Evaluation, float] = {}
    for row in published:
        night = row["dataset"], row["evaluated_on"]
        if row["evaluation_id"] == counting[night]:
            since[night] = min(row["written"], since.get(night, row["written"]))
    found: dict[_Evaluation, float] = {}
    for row in published:
        evaluation = row["evaluated_on"], row["evaluation_id"]
        found[evaluation] = max(found.get(evaluation, 0.0), since[row["dataset"], row["evaluated_on"]])
    for each in known:
        found.pop((each.evaluated_on, each.evaluation_id), None)
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
    oldest = (today - datetime.timedelta(min(max(keep_days, 0), (today - datetime.date.min).days))).isoformat()
    known, unknown, written, now = _scan(output)
    needed = {} if baselines else _baselines(known)
    going = [key for key in sorted(written) if key not in unknown or now - written[key] > SECONDS_WITHOUT_ROW]
    removals = []
    for date in sorted({row["evaluated_on"] for row in known.rows} | {key[0] for key in going}):
        if date < oldest and date not in needed and date not in known.damaged:
            # In the order in which they were added, so that no older row ever counts.
            rows = [row for row in known.rows if row["evaluated_on"] == date]
            rows.sort(key=lambda row: (row["written"], row["number"] or 0, row["revision"] or 0))
            folders = [path for key in going if key[0] == date for path in _folders(key)]
            removals.append(Removal(f"the nights of {date}", [*dict.fromkeys(row["file"] for row in rows), *folders]))
    return removals, [f"kept the nights of {date}: {why}" for date, why in sorted(needed.items()) if date < oldest]


def _baselines(nights: Sequence[Night]) -> dict[str, str]:
    """Why the nights of a date are needed for comparisons of later ones."""
    needed: dict[str, str] = {}
    for dataset in {night.dataset for night in nights}:
        of_dataset = [night for night in nights if night.dataset == dataset]
        gate = of_dataset[-1].record["configuration"].get("gate") or {}
        for baseline in gate.get("baseline", ()):
            needed[baseline] = f"{dataset} has a baseline of the gate there"
        good = [night.evaluated_on for night in of_dataset if night.is_good]
        # The newest good night says what must arrive, whatever the baseline is.
        needed |= dict.fromkeys(good[-1:], f"{dataset} has no newer good night; --baselines removes it, too")
        if GOOD in gate.get("baseline", ()):
            most = gate["nights"]
            needed |= dict.fromkeys(good[-most:], f"{dataset} is compared with the mean of its {most} last good nights")
    return {date: why for date, why in needed.items() if any(night.evaluated_on == date for night in nights)}
