"""One commit at a time: a claim in an evaluation's own staging folder, which all others look for before they move.

Nothing is asked of the storage but that a listing shows what was written before it. Everyone writes a claim first and
lists afterwards, so of two at once at least one sees the other; nobody goes on before its own is the only one.
"""

import contextlib
import datetime
import time
from collections.abc import Iterator, Mapping
from typing import Any

from ndcg_spark.errors import StorageError
from ndcg_spark.nights import store
from ndcg_spark.nights.store import FAILURES, STAGING, Store

CLAIM = "_claim.json"
#: A claim of another machine counts for so long: a commit takes seconds, and one of ten thousand objects some minutes.
SECONDS_VALID = 600.0
#: Its holder stops moving a minute earlier, which is more than clocks are apart and a single move takes.
SECONDS_TO_WORK = 540.0
#: As long as a claim counts: who has waited for longer waits for a process of this machine that does not move.
SECONDS_TO_WAIT = 600.0
#: Whoever waits with its claim standing writes it anew, so that its time to work is not spent with waiting.
_SECONDS_FRESH = 60.0
_PAUSE = 0.2


class Claim:
    """The right to move what is in an output, from `claimed`."""

    def __init__(self, found: Store, evaluation_id: str) -> None:
        self.evaluation_id = evaluation_id
        self._store = found
        self._path = f"{STAGING}/{evaluation_id}/{CLAIM}"
        self._written: float | None = None

    def hold(self) -> None:
        """To be called before every move: StorageError once other machines may take the claim for dead.

        What is moved by then stays as it is; the journal tells the next who claims how to go on.
        """
        if self._written is None or time.time() - self._written > SECONDS_TO_WORK:
            place = self._store.output
            raise StorageError(
                f"output: {place} takes longer than {SECONDS_TO_WORK:.0f} s to be moved into place, "
                f"evaluation {self.evaluation_id} stops midway; ndcg-spark recover {place} goes on"
            )

    def take(self) -> None:
        """Wait until this claim is the only one; StorageError, with who stands in the way, when that takes too long."""
        deadline = time.time() + SECONDS_TO_WAIT
        while True:
            if self._written is not None and time.time() - self._written > _SECONDS_FRESH:
                self.withdraw()
            if self._written is None:
                owner = store.owner()
                self._store.write_json(self._path, owner)
                self._written = float(owner["at"])
            others = standing(self._store, self.evaluation_id)
            if not others:
                return
            if time.time() > deadline:
                raise StorageError(_waited(self._store.output, others))
            # One of two must yield, and both know which.
            if min(others) < self.evaluation_id:
                self.withdraw()
            time.sleep(_PAUSE)

    def withdraw(self) -> None:
        """Let others have their turn."""
        self._written = None
        self._store.delete(self._path)


@contextlib.contextmanager
def claimed(found: Store, evaluation_id: str) -> Iterator[Claim]:
    """A claim that is the only one of the output while the block runs. Raises as `Claim.take`."""
    claim = Claim(found, evaluation_id)
    try:
        claim.take()
        yield claim
    finally:
        # What cannot be withdrawn is dead with its process, or when it is too old.
        with contextlib.suppress(*FAILURES):
            claim.withdraw()


def standing(found: Store, but: str = "") -> dict[str, Mapping[str, Any]]:
    """The claims of evaluations that may be alive, by evaluation_id; without the one of `but`."""
    claims: dict[str, Mapping[str, Any]] = {}
    for evaluation_id in found.folders(STAGING):
        claim = found.find_json(f"{STAGING}/{evaluation_id}/{CLAIM}") if evaluation_id != but else None
        if claim is not None and store.is_alive(claim, SECONDS_VALID):
            claims[evaluation_id] = claim
    return claims


def _waited(place: str, others: Mapping[str, Mapping[str, Any]]) -> str:
    evaluation_id, claim = min(others.items())
    since = datetime.datetime.fromtimestamp(float(claim["at"]), datetime.UTC).isoformat(timespec="seconds")
    return (
        f"output: {place} is held by {len(others)} other evaluation(s) for more than {SECONDS_TO_WAIT:.0f} s, "
        f"e.g. {evaluation_id}, process {claim['pid']} on {claim['host']} since {since}; nothing was published. "
        "Wait for it or end it, then run again"
    )
