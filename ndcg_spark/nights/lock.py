"""One commit of an output at a time, without a lock of the storage's own.

An evaluation that wants to commit writes a claim into its own staging folder and then looks for the claims of others.
Requires only that listings are consistent after a write: of two that claim at once, at least one sees the other, and
nobody goes on before its own claim is the only one.
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
#: A claim whose process cannot be looked up counts for so long: a commit takes seconds, one of 10,000 objects minutes.
SECONDS_VALID = 600.0
#: Its holder stops moving a minute earlier, which is more than clocks are apart and a single move takes.
SECONDS_TO_WORK = 540.0
#: As long as a claim counts: who has waited for longer waits for a process of this machine that does not move.
SECONDS_TO_WAIT = 600.0
#: Whoever waits with its claim standing writes it anew, so that its time to work is not spent with waiting.
_SECONDS_FRESH = 60.0
#: Between two looks at the claims of others.
SECONDS_BETWEEN_LOOKS = 0.2


class LostClaimError(StorageError):
    """Another process may move what is in the output by now, so this one neither goes on nor goes back."""


class Standing(NamedTuple):
    """The claim of a process that may be alive, and when it was written."""

    note: dict[str, Any]
    written: float


class Claim:
    """The right to move what is in an output, from when `take` returns until `withdraw`."""

    def __init__(self, found: Store, evaluation_id: str) -> None:
        self.evaluation_id = evaluation_id
        self._store = found
        self._path = f"{STAGING}/{evaluation_id}/{CLAIM}"
        self._note: dict[str, Any] | None = None

    def hold(self) -> None:
        """To be called before every move: LostClaimError once another process may have taken the claim for dead.

        What is moved by then stays as it is; the journal tells the next who claims how to go on.
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
        """Wait until this claim is the only one; StorageError, with who stands in the way, when that takes too long."""
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
                # Should one of their processes wake, it moves nothing any more.
                for evaluation_id in dead:
                    self._store.delete(f"{STAGING}/{evaluation_id}/{CLAIM}")
                return
            if time.time() > deadline:
                raise StorageError(_waited(self._store.place, others))
            # One of two must yield, and both know which.
            if min(others) < self.evaluation_id:
                self.withdraw()
            time.sleep(SECONDS_BETWEEN_LOOKS)

    def withdraw(self) -> None:
        """Let others have their turn."""
        self._note = None
        self._store.delete(self._path)

    def _age(self) -> float:
        return time.time() - float(self._note["at"]) if self._note is not None else float("inf")


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


def standing(found: Store, but: str = "") -> dict[str, Standing]:
    """The claims of evaluations that may be alive, by evaluation_id; without the one of `but`."""
    return _claims(found, but)[0]


def _claims(found: Store, but: str) -> tuple[dict[str, Standing], list[str]]:
    """The claims of evaluations that may be alive, and the evaluations whose claims are dead."""
    alive, dead = {}, []
    for evaluation_id in found.folders(STAGING):
        note = found.find_note(f"{STAGING}/{evaluation_id}/{CLAIM}") if evaluation_id != but else None
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
