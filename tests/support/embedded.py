"""The library on the embedded engine, in the process that stays beside the tests: a fifth of a second each."""

import contextlib
import dataclasses
import doctest
import importlib
import io
from collections.abc import Callable
from typing import Any

from pyspark.sql import SparkSession
from staying import returned

from ndcg_spark import evaluate

Rows = list[dict[str, Any]]


@dataclasses.dataclass(frozen=True)
class Scored:
    """The rows of both tables of scores, without an order."""

    query_scores: Rows
    dataset_scores: Rows

    def of(self, query: str, cutoff: int | None) -> dict[str, Any]:
        """The scores of a query, of the only run."""
        (row,) = [row for row in self.query_scores if (row["query_id"], row["cutoff"]) == (query, cutoff)]
        return row

    def mean(self, cutoff: int | None) -> dict[str, Any]:
        """The scores of the only run."""
        (row,) = [row for row in self.dataset_scores if row["cutoff"] == cutoff]
        return row

    def ndcg(self, cutoff: int | None) -> dict[str, float | None]:
        """The NDCG of every query at this cutoff, of the only run."""
        return {row["query_id"]: row["ndcg"] for row in self.query_scores if row["cutoff"] == cutoff}


class Embedded:
    """The embedded engine in another process. Called, it evaluates as the library does, and returns rows.

    An error of ours is raised here as it is there; any other is a RuntimeError that has its traceback.
    """

    def __call__(self, *arguments: Any, **named: Any) -> Scored:
        return Scored(*self.call(_evaluated, ("query_scores", "dataset_scores"), *arguments, **named))

    def queries(self, *arguments: Any, **named: Any) -> Scored:
        """The same without dataset scores, in half the time."""
        return Scored(*self.call(_evaluated, ("query_scores",), *arguments, **named), [])

    def call(self, function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        """What a function of a module returns there; its first argument is the session."""
        return returned(_with_session, function, arguments, named)


def examples_of(_: SparkSession, module: str) -> tuple[int, int, str]:
    """How many examples of a module's docstrings fail, and how many there are; what is said of those that fail."""
    with contextlib.redirect_stdout(io.StringIO()) as said:
        failed, attempted = doctest.testmod(importlib.import_module(module))[:2]
    return failed, attempted, said.getvalue()


def _evaluated(_: SparkSession, tables: tuple[str, ...], *arguments: Any, **named: Any) -> list[Rows]:
    scores = evaluate(*arguments, **named)
    return [[row.asDict() for row in getattr(scores, table).collect()] for table in tables]


def _with_session(function: Callable[..., Any], arguments: tuple[Any, ...], named: dict[str, Any]) -> Any:
    return function(SparkSession.getActiveSession(), *arguments, **named)
