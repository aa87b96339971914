"""Accept a committed night as a baseline of later ones: its record says why, and nothing else of it changes."""

import datetime
from typing import Any

from ndcg_spark.errors import StorageError
from ndcg_spark.nights.committed import CommittedNight
from ndcg_spark.nights.recovery import settle, working
from ndcg_spark.nights.store import FAILURES, RECORDS, Store


def acceptance(reason: str) -> dict[str, Any]:
    """What a record says of an acceptance."""
    return {"reason": reason, "at": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")}


def accept(output: str, night: CommittedNight, reason: str) -> None:
    """Note in the record of a night why it is accepted.

    Raises
    ------
    StorageError
        The night was replaced or removed in the meantime, or the storage fails.
    """
    store = Store(output)
    path = f"{RECORDS}/{night.folder}/{night.record['evaluation_id']}.json"
    try:
        with working(store) as claim:
            settle(store, claim)
            record = store.find_json(path)
            if record is None:
                raise StorageError(
                    f"output: {night.dataset} of {night.evaluated_on} in {store.place} has been replaced or removed; "
                    "look at what is there, then run this again"
                )
            claim.hold()
            store.write_json(path, {**record, "accepted": acceptance(reason)})
    except FAILURES as error:
        raise StorageError(f"output: {store.place} cannot be written, {error}; check space and rights") from error
