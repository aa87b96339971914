"""Removes what does not count: leftovers of killed evaluations, superseded evaluations, and nights that are too old."""

import math
import re
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
_FOLDER = re.compile(r"query_scores/evaluated_on=([^/]+)/evaluation_id=([^/]+)/")

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


def removable(output: str, before: str = "", baselines: bool = False) -> tuple[list[Removal], list[str]]:
    """What does not count, and all nights of the dates `before` one; and a sentence for each date that is kept.

    What does not count: rows of evaluations that stopped over a day ago, and of those superseded over an hour ago.
    Unless `baselines` is set, the newest night of a dataset that passed or was accepted is kept, and so are the nights
    that the gate of its newest night compares with: without them the next night would have no verdict. The storage's
    own clock, which stamps its files, says how late it is. Raises StorageError.
    """
    store = Store(output)
    with store.failures("cannot be used"):
        # Before the log: an evaluation that adds its rows to it in between is not taken for one without.
        there: dict[_Evaluation, float] = {}
        for path, file in store.files("query_scores", "").items():
            if match := _FOLDER.match(path):
                there[match[1], match[2]] = max(there.get((match[1], match[2]), 0.0), file.mtime_ns / 1e9)
        known = committed(store)
        now = store.now() if there else 0.0
    since = _superseded(known)
    left = {key for key in there.keys() - since.keys() if now - there[key] > SECONDS_WITHOUT_ROW}
    gone = {key: "was superseded" for key, time in since.items() if now - time > SECONDS_SUPERSEDED}
    gone |= dict.fromkeys(left, "did not publish")
    removals = [
        Removal(f"{name} of {date}, which {gone[date, name]}", _folders((date, name)))
        for date, name in sorted(gone.keys() & there.keys())
        if date not in known.damaged
    ]
    needed = set() if baselines else _baselines(known)
    dates = {row["evaluated_on"] for row in known.rows} | {date for date, _ in left}
    old = {date for date in dates if date < before}
    for date in sorted(old - needed - known.damaged.keys()):
        # In the order in which they were added, so that no older row ever counts.
        rows = [row for row in known.rows if row["evaluated_on"] == date]
        rows.sort(key=lambda row: (row["number"] or 0, row["written"], row["revision"] or 0))
        keys = sorted(key for key in there.keys() & (since.keys() | left) if key[0] == date)
        paths = [*(row["file"] for row in rows), *(path for key in keys for path in _folders(key))]
        removals.append(Removal(f"the nights of {date}", [*dict.fromkeys(paths)]))
    why = "the gate compares with them; --baselines removes them, too"
    return removals, [f"kept the nights of {date}: {why}" for date in sorted(old & needed)]


def _superseded(known: Nights) -> dict[_Evaluation, float]:
    """By published evaluation the time since when it counts for none of its datasets, infinite while it does."""
    counting = {(night.dataset, night.evaluated_on): night for night in known}
    since: dict[_Evaluation, float] = {}
    for row in known.rows:
        if row["number"]:
            key = row["evaluated_on"], row["evaluation_id"]
            night = counting.get((row["dataset"], row["evaluated_on"]))
            time = night.row["written"] if night and night.evaluation_id != key[1] else math.inf
            since[key] = max(time, since.get(key, 0.0))
    return since


def _folders(key: _Evaluation) -> list[str]:
    """The folders of an evaluation. query_scores, by which it is found, is written first and comes last here."""
    return [folder(table, *key) for table in reversed(KEPT)]


def _baselines(nights: Sequence[Night]) -> set[str]:
    """The dates whose nights are needed for comparisons of later ones."""
    needed: set[str] = set()
    for dataset in {night.dataset for night in nights}:
        kept_nights = [night for night in nights if night.dataset == dataset]
        gate = kept_nights[-1].record["configuration"].get("gate") or {}
        # Which runs are expected follows from the newest good night, whatever the baseline is.
        count = gate["nights"] if GOOD in gate.get("baseline", ()) else 1
        needed |= {night.evaluated_on for night in [night for night in kept_nights if night.is_good][-count:]}
        needed.update(gate.get("baseline", ()))
    return needed
