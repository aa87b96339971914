"""Removes files that are no longer needed: superseded and killed evaluations, and old nights."""

import dataclasses
import datetime
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from ndcg_spark.nights.copies import RESCORED, unneeded_copies
from ndcg_spark.nights.log import Nights, committed
from ndcg_spark.nights.store import REMOVING, Store, folder
from ndcg_spark.schemas import KEPT
from ndcg_spark.voices import Give, Notice

#: Files without a log row are kept for a day, because their evaluation may still be writing.
SECONDS_WITHOUT_ROW = 24 * 3600.0
#: A reader that read the log before an evaluation was superseded still finds its rows for an hour.
SECONDS_SUPERSEDED = 3600.0
_WHY_KEPT = (
    "the gate compares with them, or needs them to connect nights before and after a change of "
    "judgments"
)
_REMOVE_TOO = Give("baselines", then="also removes them")
_FOLDER = re.compile(r"query_scores/evaluated_on=([^/]+)/evaluation_id=([^/]+)/")


class _Evaluation(NamedTuple):
    """What identifies an evaluation in the output."""

    date: str
    evaluation_id: str


#: Returns the dates that gates compare with, given all nights and the dates that are too old.
Needed = Callable[[Nights, set[str]], set[str]]


class Removal(NamedTuple):
    """Files to remove together."""

    #: What to remove, in words.
    what: str
    #: The paths in the order in which they are removed.
    paths: Sequence[str]
    #: The evaluation, if the log had no row for it.
    unpublished: _Evaluation | None = None
    #: The date, if all of its nights are removed.
    date: str | None = None


def removals_in_words(removals: Iterable[Removal], verb: str) -> list[str]:
    """A sentence for each removal, such as `removed NAME`; one for all dates."""
    sentences = []
    dates = []
    for removal in removals:
        if removal.date is not None:
            dates.append(removal.date)
        else:
            sentences.append(f"{verb} {removal.what}")
    if dates:
        sentences.append(f"{verb} the nights of {_dates_in_words(dates)}")
    return sentences


def _dates_in_words(dates: Iterable[str]) -> str:
    """Dates, as ranges if they follow each other: `2026-11-01 to 2026-11-03, 2026-11-07`."""
    ranges: list[list[datetime.date]] = []
    for day in map(datetime.date.fromisoformat, sorted(dates)):
        if ranges and (day - ranges[-1][-1]).days == 1:
            ranges[-1].append(day)
        else:
            ranges.append([day])
    words = []
    for days in ranges:
        words.append(f"{days[0]} to {days[-1]}" if len(days) > 1 else str(days[0]))
    return ", ".join(words)


def remove(output: str, removals: Iterable[Removal]) -> list[str]:
    """Remove all of these; return sentences about those that still existed. Raises StorageError."""
    store = Store(output)
    removed = []
    with store.failures("cannot be removed from"):
        for removal in removals:
            if removal.unpublished and not _mark_unpublished(store, removal.unpublished):
                continue
            existed = [store.delete(path) for path in removal.paths]
            if any(existed):
                removed.append(removal)
    return removals_in_words(removed, "removed")


def _mark_unpublished(store: Store, evaluation: _Evaluation) -> bool:
    """Mark an evaluation as being removed; return False if it must not be removed.

    That is the case if it has been published in the meantime, or if it is already being removed. An
    evaluation that was idle for a day adds its log row and then looks for this mark. The mark is
    written before the log is read, so that one of the two processes notices the other.
    """
    date, evaluation_id = evaluation
    mark = f"{folder('query_scores', date, evaluation_id)}/{REMOVING}"
    try:
        store.add(mark, b"")
        known = committed(store, [date])
        is_published = any(row["evaluation_id"] == evaluation_id for row in known.rows)
        # A damaged log may have a row of the evaluation.
        if not is_published and not known.damaged:
            return True
        store.delete(mark)
    except FileNotFoundError:
        # Another evaluation is removing it.
        return False
    return False


@dataclasses.dataclass(frozen=True)
class _Output:
    """An output's evaluations, and which of them are current."""

    store: Store
    #: The evaluations that have folders.
    with_folder: set[_Evaluation]
    known: Nights
    #: When each published evaluation was superseded; infinite if it is current.
    superseded_at: Mapping[_Evaluation, float]
    #: The current time by the clock of the storage.
    now: float


def leftovers(output: str) -> list[Removal]:
    """Superseded and killed evaluations. Raises StorageError."""
    store = Store(output)
    with store.failures("cannot be used"):
        return _leftovers(_read_output(store))


def removable(
    output: str,
    *,
    before: str = "",
    date: str | None = None,
    baselines: bool = False,
    needed: Needed,
) -> tuple[list[Removal], list[Notice]]:
    """Superseded and killed evaluations, and old nights: those of a `date`, or `before` a date.

    Also returns a sentence about the old dates that are kept, because they are `needed`. Such a
    date is removed if `baselines` is set, or if it is the `date`. If the log of a date cannot be
    read, it is not known what its gate compares with, so no night is removed as too old.
    """
    store = Store(output)
    with store.failures("cannot be used"):
        found = _read_output(store)
        found.known.refuse_damaged([] if date is None else [date])
        removals = _leftovers(found)
    known = found.known
    dates = {row["evaluated_on"] for row in known.rows}
    old = {day for day in dates if day < before or day == date}
    if before and known.damaged and not baselines:
        damage = next(iter(known.damaged.values()))
        why = f"{damage}, so it is not known what its gate compares with"
        restore = Give("baselines", words="restore it, or", then="also removes what gates need")
        return removals, [Notice(f"{len(old)} old night(s) are kept: {why}", restore)]
    kept: set[str] = set()
    if not baselines:
        kept = old & needed(known, old)
        if date is not None:
            kept.discard(date)
    removals.extend(_removal_of_nights(found, day) for day in sorted(old - kept))
    if not kept:
        return removals, []
    sentence = f"the nights of {_dates_in_words(kept)} are kept: {_WHY_KEPT}"
    return removals, [Notice(sentence, _REMOVE_TOO)]


def _read_output(store: Store) -> _Output:
    """An output's evaluations. Raises FAILURES."""
    # Folders are listed before the log is read, so that an evaluation that adds its rows in between
    # is not taken for one without rows.
    with_folder = set()
    for path in store.files("query_scores", ""):
        match = _FOLDER.match(path)
        if match:
            with_folder.add(_Evaluation(match[1], match[2]))
    known = committed(store)
    now = store.now() if with_folder else 0.0
    return _Output(store, with_folder, known, _superseded_at(known), now)


def _leftovers(output: _Output) -> list[Removal]:
    """Superseded and killed evaluations that are old enough, and unneeded copies."""
    removals = []
    for one in sorted(output.with_folder):
        if one.date in output.known.damaged:
            continue
        if one in output.superseded_at:
            if output.now - output.superseded_at[one] > SECONDS_SUPERSEDED:
                removals.append(_removal(one, "was superseded"))
        elif output.now - _last_written(output.store, one) > SECONDS_WITHOUT_ROW:
            removals.append(_removal(one, "did not publish")._replace(unpublished=one))
    copies = unneeded_copies(output.store, output.known)
    if copies:
        what = f"{len(copies):,} unneeded copies of scores or judgments"
        removals.append(Removal(what, copies))
    return removals


def _removal(evaluation: _Evaluation, why: str) -> Removal:
    what = f"{evaluation.evaluation_id} of {evaluation.date}, which {why}"
    return Removal(what, _folders(evaluation))


def _removal_of_nights(output: _Output, day: str) -> Removal:
    """All nights of a date."""
    rows = [row for row in output.known.rows if row["evaluated_on"] == day]
    rows.sort(key=_order_of_adding)
    paths = [f"{RESCORED}/evaluated_on={day}"]
    paths.extend(row["file"] for row in rows)
    for evaluation in sorted(output.with_folder & output.superseded_at.keys()):
        if evaluation.date == day:
            paths.extend(_folders(evaluation))
    return Removal(f"the nights of {day}", list(dict.fromkeys(paths)), date=day)


def _order_of_adding(row: Mapping[str, Any]) -> tuple[int, float, int]:
    """A sort key for the order of removal: an older log row must never become current."""
    return row["number"] or 0, row["written"], row["revision"] or 0


def _superseded_at(known: Nights) -> dict[_Evaluation, float]:
    """When each published evaluation was superseded in all its datasets.

    The value is infinite if the evaluation is still current.
    """
    current = {(night.dataset, night.evaluated_on): night for night in known}
    since: dict[_Evaluation, float] = {}
    for row in known.rows:
        # Only published evaluations have a number.
        if not row["number"]:
            continue
        evaluation = _Evaluation(row["evaluated_on"], row["evaluation_id"])
        night = current.get((row["dataset"], row["evaluated_on"]))
        replaced_at = math.inf
        if night is not None and night.evaluation_id != row["evaluation_id"]:
            replaced_at = night.row["written"]
        # It is superseded once a later evaluation has replaced the last of its datasets.
        since[evaluation] = max(replaced_at, since.get(evaluation, 0.0))
    return since


def _last_written(store: Store, evaluation: _Evaluation) -> float:
    """When an evaluation's newest file was written."""
    times = [0.0]
    for path in _folders(evaluation):
        times.extend(file.mtime_ns / 1e9 for file in store.files(path, "").values())
    return max(times)


def _folders(evaluation: _Evaluation) -> list[str]:
    """An evaluation's folders.

    query_scores, which identifies the evaluation, is written first and comes last here.
    """
    date, evaluation_id = evaluation
    return [folder(table, date, evaluation_id) for table in reversed(KEPT)]
