"""One commit to an output at a time, without any lock that the storage would have to offer.

An evaluation that wants to commit writes a claim into its own staging folder, then looks for the claims of others, and
goes on only when its own is the only one. Requires only that listings are consistent after a write: of two evaluations
that claim at once, at least one sees the other.
"""

import contextlib
import datetime
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

from ndcg_spark.errors import StorageError
from ndcg_spark.nights import liveness
from ndcg_spark.nights.store import FAILURES, STAGING, Store

CLAIM = "_claim.json"
#: How long a claim counts if its process cannot be looked up. A commit takes seconds, of 10,000 objects minutes.
SECONDS_VALID = 600.0
#: Its holder stops a minute earlier, which is longer than a single move takes and more than clocks differ.
SECONDS_TO_WORK = 540.0
#: As long as a claim counts: after a longer wait, the holder can only be a process of this machine that hangs.
SECONDS_TO_WAIT = 600.0
#: A claim that waits is renewed when it is this old, so that waiting does not use up its time to work.
_SECONDS_FRESH = 60.0
#: The pause between two looks at the claims of others.
SECONDS_BETWEEN_LOOKS = 0.2


class LostClaimError(StorageError):
    """Another process may be changing the output by now, so this one must neither go on nor undo."""


class Standing(NamedTuple):
    """The claim of a process that may be alive, and the time of its file in seconds since 1970."""

    note: dict[str, Any]
    written: float


class Claim:
    """The right to change an output, from when `take` returns until `withdraw`."""

    def __init__(self, store: Store, evaluation_id: str) -> None:
        self.evaluation_id = evaluation_id
        self._store = store
        self._path = f"{STAGING}/{evaluation_id}/{CLAIM}"
        self._note: dict[str, Any] | None = None

    def hold(self) -> None:
        """Call this before every move. LostClaimError if another process may have taken this one for dead.

        What was moved stays as it is; whoever claims next continues from the journal.
        """
        place = self._store.place
        if self._age() > SECONDS_TO_WORK:
            raise LostClaimError(
                f"output: {place} takes longer than {SECONDS_TO_WORK:.0f} s to be moved into place, "
                f"evaluation {self.evaluation_id} stops midway; ndcg-spark recover {place} goes on"
            )
        written = None
        with contextlib.suppress(StorageError):
            written = self._store.find_json(self._path)
        if written is None or written != self._note:
            raise LostClaimError(
                f"output: evaluation {self.evaluation_id} has lost its claim to {place} to another process, and stops; "
                f"ndcg-spark nights {place} tells what stands"
            )

    def take(self) -> None:
        """Wait until this claim is the only one. StorageError, which names the holder, if that takes too long."""
        deadline = time.time() + SECONDS_TO_WAIT
        while True:
            if self._note is not None and self._age() > _SECONDS_FRESH:
                self.withdraw()
            if self._note is None:
                note = liveness.owner()
                self._store.write_json(self._path, note)
                self._note = note
            others, dead = _claims(self._store, self.evaluation_id)
            if not others:
                # If one of their processes was only suspended, it can no longer move anything.
                for evaluation_id in dead:
                    self._store.delete(f"{STAGING}/{evaluation_id}/{CLAIM}")
                return
            if time.time() > deadline:
                raise StorageError(_waited(self._store.place, others))
            # The claim with the later id yields.
            if min(others) < self.evaluation_id:
                self.withdraw()
            time.sleep(SECONDS_BETWEEN_LOOKS)

    def withdraw(self) -> None:
        """Remove the claim, so that others can go on."""
        self._note = None
        self._store.delete(self._path)

    def _age(self) -> float:
        return time.time() - float(self._note["at"]) if self._note is not None else float("inf")


@contextlib.contextmanager
def claimed(store: Store, evaluation_id: str) -> Iterator[Claim]:
    """Run the block under a claim that is the only one of the output. Raises as `Claim.take`."""
    claim = Claim(store, evaluation_id)
    try:
        claim.take()
        yield claim
    finally:
        # A claim that cannot be removed is dead when its process is, or when it is too old.
        with contextlib.suppress(*FAILURES):
            claim.withdraw()


def standing(store: Store, but: str = "") -> dict[str, Standing]:
    """The claims of evaluations that may be alive, by evaluation_id, except that of the evaluation `but`."""
    return _claims(store, but)[0]


def _claims(store: Store, but: str) -> tuple[dict[str, Standing], list[str]]:
    """The claims of evaluations that may be alive, and the ids of evaluations whose claims are dead."""
    alive, dead = {}, []
    for evaluation_id in store.folders(STAGING):
        note = store.find_note(f"{STAGING}/{evaluation_id}/{CLAIM}") if evaluation_id != but else None
        if note is not None and liveness.may_be_alive(*note, SECONDS_VALID):
            alive[evaluation_id] = Standing(*note)
        elif note is not None:
            dead.append(evaluation_id)
    return alive, dead


def _waited(place: str, others: dict[str, Standing]) -> str:
    evaluation_id, (note, written) = min(others.items())
    at = datetime.datetime.fromtimestamp(liveness.written_at(note, written), datetime.UTC)
    return (
        f"output: {place} is held by {len(others)} other evaluation(s) for more than {SECONDS_TO_WAIT:.0f} s, "
        f"e.g. {evaluation_id}, process {note.get('pid', 'unknown')} on {note.get('host', 'an unknown machine')} "
        f"since {at.isoformat(timespec='seconds')}; nothing was published. Wait for it or end it, then run again"
    )
