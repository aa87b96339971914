"""Publishes nights in processes of their own, which may be killed after a step: no engine, 30 ms each.

A step is something done to the output: a small file written, a folder or object moved or deleted.
"""

import contextlib
import datetime
import multiprocessing
import os
import random
import signal
import time
from collections.abc import Callable, Iterator

import pyarrow as pa
import pyarrow.parquet as pq

from ndcg_spark.nights import committed, lock, recovery
from ndcg_spark.nights.publication import Night
from ndcg_spark.nights.store import Store

EVALUATED_ON = datetime.date(2026, 11, 16)
NEVER = 0
STEPS = ("write_json", "move", "delete")

# Forked from a process that has imported what they need, and that nothing else has run in.
PROCESSES = multiprocessing.get_context("forkserver")
PROCESSES.set_forkserver_preload(
    ["ndcg_spark.nights.committed", "ndcg_spark.nights.publication", "pyarrow.parquet", "pyarrow.dataset"]
)


class Staged:
    """Writes itself as a DataFrame does, without an engine to wait for."""

    def __init__(self, ndcg: float, evaluation_id: str, dataset: str, evaluated_on: datetime.date) -> None:
        values = ndcg, ndcg / 3, ndcg / 7
        self._table = pa.table(
            {
                "dataset": [dataset] * len(values),
                "evaluated_on": [evaluated_on] * len(values),
                "evaluation_id": [evaluation_id] * len(values),
                "ndcg": values,
            }
        )
        self.write = self

    def partitionBy(self, *names: str) -> "Staged":  # noqa: N802  # Spark's name
        self._partitions = names
        return self

    def parquet(self, path: str) -> None:
        pq.write_to_dataset(self._table, path, partition_cols=list(self._partitions))


def rows(ndcg: float, evaluation_id: str) -> list[tuple[str, float]]:
    """What a table of such a night has, in order."""
    return sorted((evaluation_id, value) for value in (ndcg, ndcg / 3, ndcg / 7))


def staged(output: str, evaluation_id: str, ndcg: float, *, rejected: bool, dataset: str, evaluated_on: datetime.date):
    """A night that only waits for its commit; a night without rejected rows stages no such table."""
    night = Night(output, evaluation_id)
    for table in ("query_scores", "dataset_scores", *(["rejected_rows"] if rejected else [])):
        night.stage(table, Staged(ndcg, evaluation_id, dataset, evaluated_on))
        night.verify(table, 3)
    return night


def publish(
    output: str,
    evaluation_id: str,
    ndcg: float,
    *,
    die_after: int = NEVER,
    rejected: bool = False,
    dataset: str = "web",
    evaluated_on: datetime.date = EVALUATED_ON,
    slow: int | None = None,
) -> int:
    """Publish a night as a job does, or die of SIGKILL midway; how many steps there were."""
    if slow is not None:
        lock._PAUSE = 0.01
        _slow_down(random.Random(slow))  # noqa: S311  # no secret
    recovery.recover(output)
    done = _die_after(die_after)
    named = {"dataset": dataset, "evaluated_on": evaluated_on}
    staged(output, evaluation_id, ndcg, rejected=rejected, **named).commit({"evaluation_id": evaluation_id})
    return len(done)


def recover(output: str, *, die_after: int) -> int:
    done = _die_after(die_after)
    recovery.recover(output)
    return len(done)


def expire(output: str, today: datetime.date, *, die_after: int = NEVER) -> int:
    done = _die_after(die_after)
    committed.expire(output, 3, today)
    return len(done)


def start(function: Callable[..., int], *arguments: object, **options: object) -> multiprocessing.Process:
    """The function in a process whose exit code is what it returns, or minus the signal that killed it."""
    process = PROCESSES.Process(target=_exit_with, args=(dict(os.environ), function, arguments, options))
    process.start()
    return process


def run(function: Callable[..., int], *arguments: object, **options: object) -> int:
    """The exit code of `start`."""
    process = start(function, *arguments, **options)
    process.join(60)
    return process.exitcode


@contextlib.contextmanager
def ended(*processes: multiprocessing.Process) -> Iterator[None]:
    """Wait for processes, and leave none behind."""
    try:
        yield
    finally:
        for process in processes:
            process.join(60)
            process.kill()


def _exit_with(environment, function, arguments, options) -> None:
    os.environ.update(environment)
    raise SystemExit(function(*arguments, **options))


def _die_after(steps: int) -> list[str]:
    """Make the process kill itself after so many steps; the steps so far."""
    done: list[str] = []

    def then(name: str) -> None:
        done.append(name)
        if len(done) == steps:
            os.kill(os.getpid(), signal.SIGKILL)

    _after_each_step(then)
    return done


def _slow_down(rng: random.Random) -> None:
    _after_each_step(lambda _: time.sleep(rng.random() * 0.01))


def _after_each_step(then: Callable[[str], None]) -> None:
    for name in STEPS:
        original = getattr(Store, name)

        def step(store: Store, *args: object, _original: object = original, _name: str = name) -> None:
            _original(store, *args)  # type: ignore[operator]
            then(_name)

        setattr(Store, name, step)
