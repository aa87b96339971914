"""What evaluations that died have left in staging is finished, undone or removed, by whoever comes next.

Without a journal it is waste, once its owner is dead. With one its nights will stand: journals are written under a
claim, so whoever holds the only claim knows that the owners of all journals it finds have stopped.
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
#: A staging folder without an owner is one that is just being made, or just being removed, for so long.
SECONDS_TO_BEGIN = 600.0


def recover(output: str) -> list[str]:
    """Finish or remove what evaluations that are dead have left in staging; what was done, a sentence each.

    Of one that had committed, the nights are finished, but for those that a later evaluation has replaced since; if
    its staged files are lost, it is undone. Evaluations that may still be at work are left alone. Nothing is written
    where nothing is to be finished.

    Raises
    ------
    StorageError
        The output is no folder, the storage fails, a journal is damaged, or another evaluation does not stop
        committing.
    """
    found = Store(output)
    found.refuse_a_file()
    with _explained(found):
        # Waste goes without a claim: a disk that is full of it has no room for one.
        told = [f"removed {name}, which had not committed" for name in _waste(found) if _remove(found, name)]
        if _journalled(found):
            with working(found) as claim:
                told += settle(found, claim)
    return told


def settle(found: Store, claim: Claim) -> list[str]:
    """Finish what is journalled, under the claim of who does it; what was done, a sentence each.

    Raises
    ------
    StorageError
        A journal is damaged: nothing is moved then, not of others either.
    """
    names = [name for name in found.folders(STAGING) if name != claim.evaluation_id]
    journals = [read_journal(found, name) for name in names if found.exists(f"{STAGING}/{name}/{JOURNAL}")]
    told = []
    for journal in journals:
        open_nights = [night for night in journal.nights if not _replaced_since(found, journal, night)]
        told.append(_settled(found, journal.model_copy(update={"nights": open_nights}), claim))
        found.delete(journal.path)
        found.delete_staging(journal.evaluation_id)
    return told


@contextlib.contextmanager
def working(found: Store) -> Iterator[Claim]:
    """A claim for work on an output that is no evaluation, in a staging folder of its own that goes with it."""
    # By its name it comes after every evaluation, and yields to those that wait.
    name = f"upkeep-{uuid.uuid4().hex[:8]}"
    try:
        found.write_json(f"{STAGING}/{name}/{OWNER}", liveness.owner())
        with lock.claimed(found, name) as claim:
            yield claim
    finally:
        with contextlib.suppress(*FAILURES):
            found.delete_staging(name)


def _settled(found: Store, journal: Journal, claim: Claim) -> str:
    lost = commit.lost_files(found, journal)
    if not lost:
        commit.finish(found, journal, claim.hold)
        nights = ", ".join(journal.nights) or "all replaced since"
        return f"finished {journal.evaluation_id}, which had committed: {nights}"
    kept = commit.undo(found, journal, claim.hold)
    old = "what stood before stands again" if kept else "what stood before is not whole either, run these dates again"
    return f"undid {journal.evaluation_id}, which has lost {len(lost)} file(s), e.g. {lost[0]}: {old}"


def _journalled(found: Store) -> list[str]:
    """Evaluations that have stopped between their journal and its end."""
    names = [name for name in found.folders(STAGING) if found.exists(f"{STAGING}/{name}/{JOURNAL}")]
    alive = lock.standing(found) if names else {}
    return [name for name in names if name not in alive]


def _waste(found: Store) -> list[str]:
    """Evaluations that have stopped before their journal, or after its end."""
    names = [name for name in found.folders(STAGING) if not found.exists(f"{STAGING}/{name}/{JOURNAL}")]
    return [name for name in names if not _may_be_alive(found, name)]


def _may_be_alive(found: Store, name: str) -> bool:
    owner = found.find_note(f"{STAGING}/{name}/{OWNER}")
    if owner is not None:
        return liveness.may_be_alive(*owner)
    return time.time() - found.touched(f"{STAGING}/{name}") < SECONDS_TO_BEGIN


def _remove(found: Store, name: str) -> bool:
    """Whether a staging folder was removed here, and not by its owner or another recovery at the same time."""
    if not found.exists(f"{STAGING}/{name}"):
        return False
    with contextlib.suppress(FileNotFoundError):
        found.delete_staging(name)
    return True


def _replaced_since(found: Store, journal: Journal, night: str) -> bool:
    """Whether a record stands that was not there when the journal was made: then nothing of its own is in place."""
    known = {journal.record_name, *journal.old_files(RECORDS, night)}
    return any(name.endswith(".json") and name not in known for name in found.names(f"{RECORDS}/{night}"))


@contextlib.contextmanager
def _explained(found: Store) -> Iterator[None]:
    try:
        yield
    except FAILURES as error:
        place = found.place
        raise StorageError(
            f"output: {place} cannot be put right, {error}; check space and rights, then ndcg-spark recover {place}"
        ) from error
