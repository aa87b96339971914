"""Publishes nights without an engine, here or in processes of their own that are killed after a change: 30 ms each."""

import contextlib
import datetime
import multiprocessing
import os
import random
import re
import signal
import time
from collections.abc import Callable, Iterator

import pyarrow as pa
import pyarrow.parquet as pq
from changes import told
from programs import PROCESSES

from ndcg_spark.nights import lock, recovery
from ndcg_spark.nights.publication import Publication

EVALUATED_ON = datetime.date(2026, 11, 16)


class Staged:
    """Writes itself as a DataFrame does, without an engine to wait for."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table
        self.write = self

    def partitionBy(self, *names: str) -> "Staged":  # noqa: N802  # Spark's name
        self._partitions = names
        return self

    def parquet(self, path: str) -> None:
        pq.write_to_dataset(self._table, path, partition_cols=list(self._partitions))


def table_of(ndcg: float, evaluation_id: str, dataset: str, evaluated_on: datetime.date) -> pa.Table:
    """Three scores of an evaluation, for every dataset in "a+b"."""
    values = [ndcg, ndcg / 3, ndcg / 7] * len(dataset.split("+"))
    return pa.table(
        {
            "dataset": sorted(dataset.split("+") * 3),
            "evaluated_on": [evaluated_on] * len(values),
            "evaluation_id": [evaluation_id] * len(values),
            "ndcg": values,
        }
    )


def rows(ndcg: float, evaluation_id: str) -> list[tuple[str, float]]:
    """What a table of such a night has, in order."""
    return sorted((evaluation_id, value) for value in (ndcg, ndcg / 3, ndcg / 7))


def staged(output: str, evaluation_id: str, ndcg: float, *, rejected: bool, dataset: str, evaluated_on: datetime.date):
    """A publication that only waits for its commit, of a night for every dataset in "a+b".

    A night with rejected rows has comparisons too: the two tables that a night may lack.
    """
    night = Publication(output, evaluation_id)
    for table in ("query_scores", "dataset_scores", *(["rejected_rows", "comparisons"] if rejected else [])):
        night.stage(table, Staged(table_of(ndcg, evaluation_id, dataset, evaluated_on)))
        night.verify(table, 3 * len(dataset.split("+")))
    return night


def publish(
    output: str,
    evaluation_id: str,
    ndcg: float,
    *,
    rejected: bool = False,
    dataset: str = "web",
    evaluated_on: datetime.date = EVALUATED_ON,
) -> None:
    """Publish a night as a job does."""
    recovery.recover(output)
    named = {"dataset": dataset, "evaluated_on": evaluated_on}
    staged(output, evaluation_id, ndcg, rejected=rejected, **named).commit({"evaluation_id": evaluation_id})


def start(
    function: Callable[..., None],
    *arguments: object,
    die_after: int | str | None = None,
    slow: int | None = None,
    **options: object,
) -> multiprocessing.Process:
    """The function in a process whose exit code is 0, or minus the signal that killed it.

    It dies of SIGKILL after so many changes of the output, or after one that a pattern is found in; `slow` is the seed
    of pauses between its changes.
    """
    process = PROCESSES.Process(
        target=_exit_with, args=(dict(os.environ), die_after, slow, function, arguments, options)
    )
    process.start()
    return process


def run(function: Callable[..., None], *arguments: object, **options: object) -> int:
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


def _exit_with(environment, die_after, slow, function, arguments, options) -> None:
    os.environ.update(environment)
    done: list[str] = []
    rng = random.Random(slow)  # noqa: S311  # no secret

    def then(change: str) -> None:
        if slow is not None:
            time.sleep(rng.random() * 0.003)
        if change:
            done.append(change)
            if len(done) == die_after or (isinstance(die_after, str) and re.search(die_after, change)):
                os.kill(os.getpid(), signal.SIGKILL)

    lock.SECONDS_BETWEEN_LOOKS = 0.01
    with told(then):
        function(*arguments, **options)
    raise SystemExit(0)
