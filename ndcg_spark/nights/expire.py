"""Removes what does not count: leftovers of killed evaluations, superseded evaluations, and nights that are too old."""

import itertools
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ndcg_spark.advice import Give, Notice
from ndcg_spark.nights.log import Night, Nights, committed
from ndcg_spark.nights.store import REMOVING, Store, folder
from ndcg_spark.schemas import KEPT
from ndcg_spark.text import GOOD

#: What has no row in the log is left alone for a day, because its evaluation may still be writing.
SECONDS_WITHOUT_ROW = 24 * 3600.0
#: A reader that has read the log before an evaluation was superseded still finds its rows for an hour.
SECONDS_SUPERSEDED = 3600.0
_REMOVE_TOO = Give("baselines", then="removes them, too")
_FOLDER = re.compile(r"query_scores/evaluated_on=([^/]+)/evaluation_id=([^/]+)/")

#: The date and the id of an evaluation.
_Evaluation = tuple[str, str]


class Removal(NamedTuple):
    #: What to remove, in words.
    what: str
    #: In the order in which they are removed.
    paths: Sequence[str]
    #: The evaluation, if the log had no row of it.
    unpublished: _Evaluation | None = None


def remove(output: str, removals: Iterable[Removal]) -> list[str]:
    """Remove all of these. Returns a sentence for each that was still there. Raises StorageError."""
    store, removed = Store(output), []
    with store.failures("cannot be removed from"):
        for removal in removals:
            try:
                if removal.unpublished and _is_published(store, removal.unpublished):
                    continue
            except FileNotFoundError:
                # Another evaluation is removing it.
                continue
            if sum(store.delete(path) for path in removal.paths):
                removed.append(f"removed {removal.what}")
    return removed


def _is_published(store: Store, key: _Evaluation) -> bool:
    """Whether an evaluation has a row in the log now; if not, a sign says that its files go.

    An evaluation that has rested for a day adds its row and then looks for this sign. The sign is
    written before the log is read, so that one of the two notices the other.
    """
    sign = f"{folder('query_scores', *key)}/{REMOVING}"
    store.add(sign, b"")
    known = committed(store, [key[0]])
    is_published = bool(known.damaged) or key[1] in {row["evaluation_id"] for row in known.rows}
    if is_published:
        store.delete(sign)
    return is_published


def removable(
    output: str, before: str = "", baselines: bool = False, date: str | None = None
) -> tuple[list[Removal], list[Notice]]:
    """What does not count, and all nights of a `date` and `before` another; and a sentence for each that is kept.

    Unless `baselines` is set or the `date` is theirs, as many of the newest good nights of a
    dataset are kept as the gates of the nights that stay take, at least one, and those that these
    gates name: without them the next night could have no verdict. Where the log of a date cannot
    be read, its gate is not known, and no night is too old.
    """
    store = Store(output)
    with store.failures("cannot be used"):
        # Before the log: an evaluation that adds its rows to it in between is not taken for one without.
        matches = filter(None, map(_FOLDER.match, store.files("query_scores", "")))
        there = {(match[1], match[2]) for match in matches}
        known = committed(store)
        known.refuse_damaged([] if date is None else [date])
        now = store.now() if there else 0.0
        since = _superseded(known)
        left = {key for key in there - since.keys() if now - _last_written(store, key) > SECONDS_WITHOUT_ROW}
    gone = {key: "was superseded" for key, time in since.items() if now - time > SECONDS_SUPERSEDED}
    gone |= dict.fromkeys(left, "did not publish")
    removals = []
    for key in sorted(gone.keys() & there):
        if key[0] not in known.damaged:
            what = f"{key[1]} of {key[0]}, which {gone[key]}"
            removals.append(Removal(what, _folders(key), key if key in left else None))
    dates = {row["evaluated_on"] for row in known.rows}
    old = {day for day in dates if day < before or day == date}
    needed = set() if baselines else _baselines(known, old) - {date or ""}
    because = "they are the newest good nights or baselines of the gate"
    kept = [Notice(f"the nights of {day} stay: {because}", _REMOVE_TOO) for day in sorted(old & needed)]
    if before and known.damaged and not baselines:
        why = f"{next(iter(known.damaged.values()))}, so what its gate compares with is not known"
        restore = Give("baselines", words="restore it, or", then="removes what gates need, too")
        kept = [Notice(f"{len(old)} old night(s) stay: {why}", restore)]
        old = set()
    for day in sorted(old - needed):
        # In the order in which they were added, so that no older row ever counts.
        rows = [row for row in known.rows if row["evaluated_on"] == day]
        rows.sort(key=lambda row: (row["number"] or 0, row["written"], row["revision"] or 0))
        keys = sorted(key for key in there & since.keys() if key[0] == day)
        paths = [*(row["file"] for row in rows), *(path for key in keys for path in _folders(key))]
        removals.append(Removal(f"the nights of {day}", [*dict.fromkeys(paths)]))
    return removals, kept


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


def _baselines(nights: Sequence[Night], old: set[str]) -> set[str]:
    """The dates that gates compare with: those of nights that are not `old`, or stay for others.

    The newest night of a dataset tells what the next one is compared with, however old it is.
    """
    by_dataset = [list(own) for _, own in itertools.groupby(nights, lambda night: night.dataset)]
    needed: set[str] = set()
    while True:
        more = set(needed)
        for own in by_dataset:
            staying = [night for night in own[:-1] if night.evaluated_on not in old - needed]
            staying.append(own[-1])
            gates = [night.record["configuration"].get("gate") or {} for night in staying]
            more |= _compared_with(own, gates)
        if more == needed:
            return needed
        needed = more


def _compared_with(nights: Sequence[Night], gates: Iterable[Mapping[str, Any]]) -> set[str]:
    """As many of the newest good nights of a dataset as any of these gates takes, and those named."""
    # Which runs are expected follows from the newest good night, whatever the baseline is.
    count, named = 1, set[str]()
    for gate in gates:
        names = gate.get("baseline", ())
        named.update(names)
        if GOOD in names:
            count = max(count, gate.get("nights", 1))
    good = [night.evaluated_on for night in nights if night.is_good]
    return {*good[-count:], *named}
