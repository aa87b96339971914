"""Removes what does not count: leftovers of killed evaluations, superseded evaluations, and nights that are too old."""

import itertools
import math
import re
from collections.abc import Iterable, Sequence

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
#: What to remove in words, and its paths in the order in which they are removed.
Removal = tuple[str, Sequence[str]]


def remove(output: str, removals: Iterable[Removal]) -> list[str]:
    """Remove all of these. Returns a sentence for each that was still there. Raises StorageError."""
    store = Store(output)
    with store.failures("cannot be removed from"):
        return [f"removed {what}" for what, paths in removals if sum(store.delete(path) for path in paths)]


def removable(
    output: str, before: str = "", baselines: bool = False, date: str | None = None
) -> tuple[list[Removal], list[str]]:
    """What does not count, and all nights of a `date` and `before` another; and a sentence for each that is kept.

    Unless `baselines` is set or the `date` is theirs, as many of the newest good nights of a dataset are kept as its
    gate takes, at least one, and those that the gate names: without them the next night could have no verdict.
    """
    store = Store(output)
    with store.failures("cannot be used"):
        # Before the log: an evaluation that adds its rows to it in between is not taken for one without.
        matches = filter(None, map(_FOLDER.match, store.files("query_scores", "")))
        there = {(match[1], match[2]) for match in matches}
        known = committed(store)
        now = store.now() if there else 0.0
        since = _superseded(known)
        left = {key for key in there - since.keys() if now - _last_written(store, key) > SECONDS_WITHOUT_ROW}
    gone = {key: "was superseded" for key, time in since.items() if now - time > SECONDS_SUPERSEDED}
    gone |= dict.fromkeys(left, "did not publish")
    removals: list[Removal] = [
        (f"{name} of {date}, which {gone[date, name]}", _folders((date, name)))
        for date, name in sorted(gone.keys() & there)
        if date not in known.damaged
    ]
    needed = set() if baselines else _baselines(known) - {date or ""}
    dates = {row["evaluated_on"] for row in known.rows} | {date for date, _ in left}
    old = {day for day in dates if day < before or day == date}
    for day in sorted(old - needed - known.damaged.keys()):
        # In the order in which they were added, so that no older row ever counts.
        rows = [row for row in known.rows if row["evaluated_on"] == day]
        rows.sort(key=lambda row: (row["number"] or 0, row["written"], row["revision"] or 0))
        keys = sorted(key for key in there & (since.keys() | left) if key[0] == day)
        paths = [*(row["file"] for row in rows), *(path for key in keys for path in _folders(key))]
        removals.append((f"the nights of {day}", [*dict.fromkeys(paths)]))
    why = "they are the newest good nights or baselines of the gate; --baselines removes them, too"
    return removals, [f"the nights of {day} stay: {why}" for day in sorted(old & needed)]


def _superseded(known: Nights) -> dict[_Evaluation, float]:
    """For each published evaluation, when it was superseded in all its datasets (infinite if it still counts)."""
    counting = {(night.dataset, night.evaluated_on): night for night in known}
    since: dict[_Evaluation, float] = {}
    for row in known.rows:
        if row["number"]:
            key = row["evaluated_on"], row["evaluation_id"]
            night = counting.get((row["dataset"], row["evaluated_on"]))
            time = night.row["written"] if night and night.evaluation_id != key[1] else math.inf
            since[key] = max(time, since.get(key, 0.0))
    return since


def _last_written(store: Store, key: _Evaluation) -> float:
    return max((file.mtime_ns / 1e9 for path in _folders(key) for file in store.files(path, "").values()), default=0.0)


def _folders(key: _Evaluation) -> list[str]:
    """The folders of an evaluation. query_scores, by which it is found, is written first and comes last here."""
    return [folder(table, *key) for table in reversed(KEPT)]


def _baselines(nights: Sequence[Night]) -> set[str]:
    needed: set[str] = set()
    for _, group in itertools.groupby(nights, lambda night: night.dataset):
        own = list(group)
        gate = own[-1].record["configuration"].get("gate") or {}
        # Which runs are expected follows from the newest good night, whatever the baseline is.
        count = gate["nights"] if GOOD in gate.get("baseline", ()) else 1
        needed.update([night.evaluated_on for night in own if night.is_good][-count:], gate.get("baseline", ()))
    return needed
