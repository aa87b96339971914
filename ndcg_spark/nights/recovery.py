"""Complete, undo or remove what dead evaluations left in the staging folder.

A staging folder without a journal is waste once its owner is dead. One with a journal is completed. Journals are only
written under a claim, so a process that holds the only claim knows that the owners of all other journals have stopped.
"""

import contextlib
import time
import uuid
from collections.abc import Iterator

from ndcg_spark.errors import StorageError
from ndcg_spark.nights import commit, liveness, lock
from ndcg_spark.nights.journal import JOURNAL, Journal, read_journal
from ndcg_spark.nights.lock import Claim
from ndcg_spark.nights.store import FAILURES, RECORDS, STAGING, Store

OWNER = "_owner.json"
#: For this long a staging folder without an owner counts as one that is just being made or removed.
SECONDS_TO_BEGIN = 600.0


def recover(output: str) -> list[str]:
    """Complete or remove what dead evaluations left in staging. Returns what was done, a sentence for each of them.

    If an evaluation had committed, its nights are completed, except those that a later evaluation has replaced since.
    If its staged files are lost, it is undone. Evaluations that may still be alive are not touched. If nothing has to
    be completed, nothing is written.

    Raises
    ------
    StorageError
        The output is no folder, the storage fails, a journal is damaged, or another evaluation is still committing
        when the wait is over.
    """
    store = Store(output)
    store.refuse_a_file()
    with _as_storage_error(store):
        # Waste is removed without a claim, because a disk that is full of it has no room to write one.
        done = [f"removed {name}, which had not committed" for name in _waste(store) if _remove(store, name)]
        if _journalled(store):
            with working(store) as claim:
                done += settle(store, claim)
    return done


def would_recover(output: str) -> list[str]:
    """What `recover` would complete or remove, a sentence for each. Nothing is changed. Raises StorageError."""
    store = Store(output)
    store.refuse_a_file()
    with _as_storage_error(store):
        return [
            *(f"would remove {name}, which had not committed" for name in _waste(store)),
            *(f"would finish or undo {name}, which was committing" for name in _journalled(store)),
        ]


def left_alone(output: str) -> list[str]:
    """What stands in staging because its process may still be running, a sentence for each. Raises StorageError."""
    store = Store(output)
    with _as_storage_error(store):
        owners = {name: store.find_note(f"{STAGING}/{name}/{OWNER}") for name in store.folders(STAGING)}
    sentences = []
    for name, found in owners.items():
        note = found[0] if found else {}
        who = f"process {note.get('pid', 'unknown')} on {note.get('host', 'an unknown machine')}"
        sentences.append(f"left {name} alone, as {who} may still be at work")
    return sentences


def settle(store: Store, claim: Claim) -> list[str]:
    """Complete or undo every journal of other evaluations, under the caller's claim. Returns a sentence for each.

    Raises
    ------
    StorageError
        A journal is damaged. In that case nothing is moved, for the other journals either.
    """
    names = [name for name in store.folders(STAGING) if name != claim.evaluation_id]
    journals = [read_journal(store, name) for name in names if store.exists(f"{STAGING}/{name}/{JOURNAL}")]
    done = []
    for journal in journals:
        open_nights = [night for night in journal.nights if not _replaced_since(store, journal, night)]
        done.append(_settled(store, journal.model_copy(update={"nights": open_nights}), claim))
        store.delete(journal.path)
        store.delete_staging(journal.evaluation_id)
    return done


@contextlib.contextmanager
def working(store: Store) -> Iterator[Claim]:
    """Run the block under a claim for upkeep, in a staging folder of its own, which is removed afterwards."""
    # This name sorts after every evaluation's, so the claim yields to all that wait.
    name = f"upkeep-{uuid.uuid4().hex[:8]}"
    try:
        store.write_json(f"{STAGING}/{name}/{OWNER}", liveness.owner())
        with lock.claimed(store, name) as claim:
            yield claim
    finally:
        with contextlib.suppress(*FAILURES):
            store.delete_staging(name)


def _settled(store: Store, journal: Journal, claim: Claim) -> str:
    lost = commit.lost_files(store, journal)
    if not lost:
        commit.finish(store, journal, claim.hold)
        nights = ", ".join(journal.nights) or "all replaced since"
        return f"finished {journal.evaluation_id}, which had committed: {nights}"
    kept = commit.undo(store, journal, claim.hold)
    old = "what stood before stands again" if kept else "what stood before is not whole either, run these dates again"
    return f"undid {journal.evaluation_id}, which has lost {len(lost)} file(s), e.g. {lost[0]}: {old}"


def _journalled(store: Store) -> list[str]:
    """Evaluations that stopped while they committed: they have a journal, and no claim that counts."""
    names = [name for name in store.folders(STAGING) if store.exists(f"{STAGING}/{name}/{JOURNAL}")]
    alive = lock.standing(store) if names else {}
    return [name for name in names if name not in alive]


def _waste(store: Store) -> list[str]:
    """Evaluations that stopped before or after their commit: they have no journal, and are dead."""
    names = [name for name in store.folders(STAGING) if not store.exists(f"{STAGING}/{name}/{JOURNAL}")]
    return [name for name in names if not _may_be_alive(store, name)]


def _may_be_alive(store: Store, name: str) -> bool:
    owner = store.find_note(f"{STAGING}/{name}/{OWNER}")
    if owner is not None:
        return liveness.may_be_alive(*owner)
    return time.time() - store.touched(f"{STAGING}/{name}") < SECONDS_TO_BEGIN


def _remove(store: Store, name: str) -> bool:
    """Remove a staging folder. Returns False if it is gone already, by its owner or another recovery."""
    if not store.exists(f"{STAGING}/{name}"):
        return False
    with contextlib.suppress(FileNotFoundError):
        store.delete_staging(name)
    return True


def _replaced_since(store: Store, journal: Journal, night: str) -> bool:
    """Whether a later evaluation has committed the night: it has a record that is not of this journal, new or old."""
    known = {journal.record_name, *journal.old_files(RECORDS, night)}
    return any(name.endswith(".json") and name not in known for name in store.names(f"{RECORDS}/{night}"))


@contextlib.contextmanager
def _as_storage_error(store: Store) -> Iterator[None]:
    try:
        yield
    except FAILURES as error:
        place = store.place
        raise StorageError(
            f"output: {place} cannot be put right, {error}; check space and rights, then ndcg-spark recover {place}"
        ) from error
