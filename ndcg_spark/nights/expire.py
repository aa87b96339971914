"""Removes what does not count: leftovers of killed evaluations, superseded evaluations, and nights that are too old."""

import datetime
import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ndcg_spark.nights.log import Night, Nights, committed
from ndcg_spark.nights.store import Store, folder
from ndcg_spark.schemas import KEPT
from ndcg_spark.text import GOOD

#: What has no row in the log is left alone for a day, because its evaluation may still be writing.
SECONDS_WITHOUT_ROW = 24 * 3600.0
#: A reader that has read the log before an evaluation was superseded still finds its rows for an hour.
SECONDS_SUPERSEDED = 3600.0
#: Every evaluation writes this table first, and it is removed last.
_SCORES = "query_scores"

#: The date and the id of an evaluation.
_Evaluation = tuple[str, str]


class Removal(NamedTuple):
    """Something to remove: a description, and its paths in the order in which they are removed."""

    what: str
    paths: Sequence[str]


def remove(output: str, removals: Iterable[Removal]) -> list[str]:
    """Remove all of these. Returns a sentence for each that was still there. Raises StorageError."""
    store = Store(output)
    with store.failures("cannot be removed from"):
        return [f"removed {what}" for what, paths in removals if sum(store.delete(path) for path in paths)]


def waste(output: str) -> list[Removal]:
    """The rows of evaluations that stopped over a day ago, and of those superseded over an hour ago.

    Ages are those by the storage's own clock. Raises StorageError.
    """
    known, there, unknown, now = _scan(output)
    counting = {(night.dataset, night.evaluated_on): night for night in known}
    since: dict[_Evaluation, float] = {}
    for row in known.rows:
        night = counting.get((row["dataset"], row["evaluated_on"]))
        if row["status"] == "published" and night is not None:
            # It is superseded since what counts was added, or never.
            key = row["evaluated_on"], row["evaluation_id"]
            begin = math.inf if key[1] == night.evaluation_id else night.row["written"]
            since[key] = max(begin, since.get(key, 0.0))
    late = {key: "was superseded" for key, then in since.items() if now - then > SECONDS_SUPERSEDED}
    return [
        Removal(f"{key[1]} of {key[0]}, which {why}", _folders(key))
        for key, why in sorted({**late, **dict.fromkeys(unknown, "did not publish")}.items())
        if key in there and key[0] not in known.damaged
    ]


def _scan(output: str) -> tuple[Nights, set[_Evaluation], set[_Evaluation], float]:
    """The log, the evaluations with rows, those of them that it does not know and that are old, and the time."""
    store = Store(output)
    with store.failures("cannot be used"):
        # Before the log: an evaluation that adds its rows to it in between is not taken for one without.
        there = {_key(path) for path in store.files(_SCORES, "")}
        known = committed(store)
        now = store.now() if there else 0.0
        unknown = there - {(row["evaluated_on"], row["evaluation_id"]) for row in known.rows if row["number"]}
        files = {key: [file for path in _folders(key) for file in store.files(path, "").values()] for key in unknown}
    newest = {key: max((file.mtime_ns for file in files[key]), default=0) / 1e9 for key in unknown}
    return known, there, {key for key in unknown if now - newest[key] > SECONDS_WITHOUT_ROW}, now


def _key(path: str) -> _Evaluation:
    _, date, evaluation, *_ = path.split("/")
    return date.partition("=")[2], evaluation.partition("=")[2]


def _folders(key: _Evaluation) -> list[str]:
    return [folder(table, *key) for table in sorted(KEPT, key=lambda table: table == _SCORES)]


def old_nights(
    output: str, keep_days: int, today: datetime.date, baselines: bool = False
) -> tuple[list[Removal], list[str]]:
    """The dates more than `keep_days` before today, with all their nights, and a sentence for each that is kept.

    Unless `baselines` is set, the newest night of a dataset that passed or was accepted is kept, and so are the nights
    that the gate of its newest night compares with: without them the next night would have no verdict. Raises
    StorageError.
    """
    # Python's dates begin with the year 1.
    oldest = (today - datetime.timedelta(min(keep_days, (today - datetime.date.min).days))).isoformat()
    known, there, unknown, _ = _scan(output)
    needed = {} if baselines else _baselines(known)
    published = {(row["evaluated_on"], row["evaluation_id"]) for row in known.rows if row["number"]}
    removals = []
    for date in sorted({row["evaluated_on"] for row in known.rows} | {key[0] for key in unknown}):
        if date < oldest and date not in needed and date not in known.damaged:
            # In the order in which they were added, so that no older row ever counts.
            rows = [row for row in known.rows if row["evaluated_on"] == date]
            rows.sort(key=lambda row: (row["number"] or 0, row["written"], row["revision"] or 0))
            keys = sorted(key for key in there & (published | unknown) if key[0] == date)
            paths = [*(row["file"] for row in rows), *(path for key in keys for path in _folders(key))]
            removals.append(Removal(f"the nights of {date}", [*dict.fromkeys(paths)]))
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
