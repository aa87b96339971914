"""Publishes nights without an engine, here or in processes of their own that are killed after a change: 30 ms each."""

import contextlib
import datetime
import json
import multiprocessing
import os
import random
import re
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from changes import told
from programs import PROCESSES
from readers import VALUES

from ndcg_spark.convention.convention import Convention
from ndcg_spark.nights.expire import remove, waste
from ndcg_spark.nights.publication import Publication

EVALUATED_ON = datetime.date(2026, 11, 16)
WEB, SHOP = ("web", "2026-11-16"), ("shop", "2026-11-16")
OLD, NEW, NEXT = "20261116T000000Z-old", "20261117T000000Z-new", "20261118T000000Z-next"


class Staged:
    """Writes itself as a DataFrame does, without an engine to wait for."""

    def __init__(self, table: pa.Table) -> None:
        self._table = table
        self.write = self

    def parquet(self, path: str, mode: str, partitionBy: list[str]) -> None:  # noqa: N803  # Spark's name
        assert mode == "append"
        pq.write_to_dataset(self._table, path, partition_cols=partitionBy)


def record(**more: object) -> dict[str, object]:
    """A record that readers can read, but for its files."""
    known = {"convention": "standard", "options": Convention().options(), "configuration": {}, "inputs": {}}
    return {**known, "formula": "f", "committed_at": "2026-11-17T00:00:00+00:00", "engine": "e", **more}


def whole(ndcg: float, evaluation_id: str, *, rejected: bool = False) -> dict[str, list[tuple[str, str]]]:
    """The rows of a night, as `readers.seen` has them."""
    rows = sorted((evaluation_id, f"{value}") for value in (ndcg, ndcg / 3, ndcg / 7))
    tables = ("query_scores", "dataset_scores", *(("rejected_rows", "comparisons") if rejected else ()))
    return {**dict.fromkeys(tables, rows), "evaluations": [(evaluation_id, f"{ndcg}")]}


def staged(
    output: str,
    evaluation_id: str,
    ndcg: float,
    *,
    rejected: bool = False,
    dataset: str = "web",
    evaluated_on: datetime.date = EVALUATED_ON,
) -> Publication:
    """A publication that only waits for its commit, of a night for every dataset in "a+b".

    A night with rejected rows has comparisons too: the two tables that a night may lack.
    """
    night, names = Publication(output, evaluation_id), dataset.split("+")
    # EVALUATIONS is written by the commit.
    for table in [*whole(ndcg, evaluation_id, rejected=rejected)][:-1]:
        values = [value if table != "rejected_rows" else f"{value}" for value in (ndcg, ndcg / 3, ndcg / 7)]
        columns = {"dataset": sorted(names * 3), VALUES[table]: values * len(names)}
        same = {"evaluated_on": evaluated_on, "evaluation_id": evaluation_id}
        columns |= {name: [value] * len(columns["dataset"]) for name, value in same.items()}
        night.stage(table, Staged(pa.table(columns)))
        night.verify(table, 3 * len(names))
    return night


def publish(output: str, evaluation_id: str, ndcg: float, *, note: str | None = None, **night: object) -> list[str]:
    """Publish a night as a job does; what its commit says of others is returned, and written to the file `note`."""
    remove(output, waste(output))
    told = staged(output, evaluation_id, ndcg, **night).commit(record(formula=f"{ndcg}"))
    if note is not None:
        Path(note).write_text(json.dumps(told), encoding="utf-8")
    return told


def start(
    function: Callable[..., object],
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


def run(function: Callable[..., object], *arguments: object, **options: object) -> int:
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

    with told(then):
        function(*arguments, **options)
    raise SystemExit(0)
