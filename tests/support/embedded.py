"""The library on the embedded engine, in one process beside the tests, which are classic: a fifth of a second each."""

import dataclasses
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Any

from programs import PROCESSES

from ndcg_spark import evaluate
from ndcg_spark.engine import open_engine


@dataclasses.dataclass(frozen=True)
class Scored:
    """The rows of both tables of scores, without an order."""

    query_scores: list[dict[str, Any]]
    dataset_scores: list[dict[str, Any]]

    def of(self, query: str, cutoff: int | None) -> dict[str, Any]:
        """The scores of a query, of the only run."""
        (row,) = [row for row in self.query_scores if (row["query_id"], row["cutoff"]) == (query, cutoff)]
        return row

    def mean(self, cutoff: int | None) -> dict[str, Any]:
        """The scores of the only run."""
        (row,) = [row for row in self.dataset_scores if row["cutoff"] == cutoff]
        return row


Evaluate = Callable[..., Scored]


@contextmanager
def evaluating() -> Iterator[Evaluate]:
    """A function that evaluates as the library does and returns rows; what fails there is a RuntimeError here."""
    ours, theirs = PROCESSES.Pipe()
    process = PROCESSES.Process(target=_serve, args=(theirs,), daemon=True)
    process.start()

    def call(*arguments: Any, **named: Any) -> Scored:
        ours.send((arguments, named))
        failed, rows = ours.recv()
        if failed:
            raise RuntimeError(failed)
        return Scored(*rows)

    yield call
    ours.send(None)
    process.join()


def _serve(pipe: Connection) -> None:
    with open_engine("embedded"):
        while (asked := pipe.recv()) is not None:
            arguments, named = asked
            try:
                scores = evaluate(*arguments, **named)
                tables = (scores.query_scores, scores.dataset_scores)
                pipe.send(("", [[row.asDict() for row in table.collect()] for table in tables]))
            except Exception as error:  # noqa: BLE001  # the test is told
                pipe.send((f"{type(error).__name__}: {error}", []))
