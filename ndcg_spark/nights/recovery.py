"""What evaluations that died have left in staging is finished or removed, by whoever comes next.

Without a journal it is waste, once its owner is dead. With one its nights will stand: journals are written under a
claim, so whoever holds the only claim knows that the owners of all journals it finds have stopped.
"""

import contextlib
import time
import uuid
from collections.abc import Iterator

from ndcg_spark.errors import StorageError
from ndcg_spark.nights import commit, lock, store
from ndcg_spark.nights.commit import JOURNAL
from ndcg_spark.nights.lock import Claim
from ndcg_spark.nights.store import FAILURES, RECORDS, STAGING, Store

OWNER = "_owner.json"
#: A staging folder without an owner is one that is just being made, for so long.
_SECONDS_TO_BEGIN = 600.0


def recover(output: str) -> list[str]:
    """Finish or remove what evaluations that are dead have left in staging; what was done, a sentence each.

    Of one that had committed, the nights are finished, but for those that a later evaluation has replaced since.
    Evaluations that may still be at work are left alone. Nothing is written where nothing is to be finished.

    Raises
    ------
    StorageError
        The storage fails, a journal is damaged, or another evaluation does not stop committing.
    """
    found = Store(output)
    with _refusing(found):
        # Waste goes without a claim: a disk that is full of it has no room for one.
        told = [f"removed {name}, which had not committed" for name in _waste(found) if _remove(found, name)]
        if _journalled(found):
            with working(found) as claim:
                told += settle(found, claim)
    return told


def settle(found: Store, claim: Claim) -> list[str]:
    """Finish what is journalled, under the claim of who does it; what was done, a sentence each."""
    told = []
    for evaluation_id in found.folders(STAGING):
        path = f"{STAGING}/{evaluation_id}/{JOURNAL}"
        if evaluation_id == claim.evaluation_id or not found.exists(path):
            continue
        journal = found.read_json(path)
        open_nights = [night for night in journal["nights"] if not _replaced_since(found, night, evaluation_id)]
        commit.finish(found, {**journal, "nights": open_nights}, claim.hold)
        found.delete(f"{STAGING}/{evaluation_id}")
        told.append(f"finished {evaluation_id}, which had committed: {', '.join(open_nights) or 'all replaced since'}")
    return told


@contextlib.contextmanager
def working(found: Store) -> Iterator[Claim]:
    """A claim for work on an output that is no evaluation, in a staging folder of its own that goes with it."""
    # By its name it comes after every evaluation, and yields to those that wait.
    name = f"upkeep-{uuid.uuid4().hex[:8]}"
    try:
        found.write_json(f"{STAGING}/{name}/{OWNER}", store.owner())
        with lock.claimed(found, name) as claim:
            yield claim
    finally:
        with contextlib.suppress(*FAILURES):
            found.delete(f"{STAGING}/{name}")


def _journalled(found: Store) -> list[str]:
    """Evaluations that have stopped between their journal and its end."""
    names = [name for name in found.folders(STAGING) if found.exists(f"{STAGING}/{name}/{JOURNAL}")]
    alive = lock.standing(found) if names else {}
    return [name for name in names if name not in alive]


def _waste(found: Store) -> list[str]:
    """Evaluations that have stopped before their journal, or after its end."""
    names = [name for name in found.folders(STAGING) if not found.exists(f"{STAGING}/{name}/{JOURNAL}")]
    return [name for name in names if not _is_alive(found, name)]


def _is_alive(found: Store, name: str) -> bool:
    staging = f"{STAGING}/{name}"
    owner = found.find_json(f"{staging}/{OWNER}")
    if owner is not None:
        return store.is_alive(owner)
    return time.time() - found.touched(staging) < _SECONDS_TO_BEGIN


def _remove(found: Store, name: str) -> bool:
    """Whether a staging folder was removed here, and not by its owner or another recovery at the same time."""
    if not found.exists(f"{STAGING}/{name}"):
        return False
    with contextlib.suppress(FileNotFoundError):
        found.delete(f"{STAGING}/{name}")
    return True


def _replaced_since(found: Store, night: str, evaluation_id: str) -> bool:
    names = [path.rpartition("/")[2].removesuffix(".json") for path in found.files(f"{RECORDS}/{night}", ".json")]
    return any(name > evaluation_id for name in names)


@contextlib.contextmanager
def _refusing(found: Store) -> Iterator[None]:
    try:
        yield
    except FAILURES as error:
        place = found.output
        raise StorageError(
            f"output: {place} cannot be put right, {error}; check space and rights, then ndcg-spark recover {place}"
        ) from error
