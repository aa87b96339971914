"""Publishes one night and is killed after a step of it: python publish_and_die.py OUTPUT ID NDCG STEPS

STEPS counts what is done to the output: small files written, folders moved, folders deleted. Without dying it prints
how many steps there were.
"""

import datetime
import os
import signal
import sys

import pyarrow as pa
import pyarrow.parquet as pq

from ndcg_spark import nights
from ndcg_spark.publishing import Night
from ndcg_spark.store import Store

EVALUATED_ON = datetime.date(2026, 11, 16)


class Staged:
    """Writes itself as a DataFrame does, without an engine to wait for."""

    def __init__(self, ndcg: float, evaluation_id: str) -> None:
        rows = {"dataset": ["web"], "evaluated_on": [EVALUATED_ON], "run": ["r"], "ndcg": [ndcg]}
        self._table = pa.table({**rows, "evaluation_id": [evaluation_id]})
        self.write = self

    def partitionBy(self, *names: str) -> "Staged":  # noqa: N802  # Spark's name
        self._partitions = names
        return self

    def parquet(self, path: str) -> None:
        pq.write_to_dataset(self._table, path, partition_cols=list(self._partitions))


def die_after(steps: int) -> list[str]:
    """Make the process kill itself after so many steps; the steps so far."""
    done: list[str] = []
    for name in ("write_json", "move", "delete"):
        original = getattr(Store, name)

        def step(store: Store, *args: object, _original: object = original, _name: str = name) -> None:
            _original(store, *args)  # type: ignore[operator]
            done.append(_name)
            if len(done) == steps:
                os.kill(os.getpid(), signal.SIGKILL)

        setattr(Store, name, step)
    return done


if __name__ == "__main__":
    output, evaluation_id, ndcg, steps = sys.argv[1], sys.argv[2], float(sys.argv[3]), int(sys.argv[4])
    nights.recover(output)
    done = die_after(steps)
    night = Night(output, evaluation_id)
    for table in ("query_scores", "dataset_scores"):
        night.stage(table, Staged(ndcg, evaluation_id))  # type: ignore[arg-type]
        night.verify(table, 1)
    night.commit({"evaluation_id": evaluation_id})
    sys.stdout.write(str(len(done)))
