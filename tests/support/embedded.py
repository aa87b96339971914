"""The library on the engine of the tests, for tests that look at a few numbers of one query."""

import contextlib
import dataclasses
import doctest
import importlib
import io
from collections.abc import Callable
from typing import Any

import sessions
from pyspark.sql import SparkSession

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
    """Called, it evaluates as the library does, and returns rows."""

    def __call__(self, *arguments: Any, **named: Any) -> Scored:
        return Scored(*_evaluated(("query_scores", "dataset_scores"), *arguments, **named))

    def queries(self, *arguments: Any, **named: Any) -> Scored:
        """The same without dataset scores, in half the time."""
        return Scored(*_evaluated(("query_scores",), *arguments, **named), [])

    def call(self, function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        """What a function returns whose first argument is the session."""
        return function(sessions.engine().session, *arguments, **named)


def examples_of(_: SparkSession, module: str) -> tuple[int, int, str]:
    """How many examples of a module's docstrings fail, and how many there are; what is said of those that fail."""
    with contextlib.redirect_stdout(io.StringIO()) as said:
        failed, attempted = doctest.testmod(importlib.import_module(module))[:2]
    return failed, attempted, said.getvalue()


def _evaluated(tables: tuple[str, ...], *arguments: Any, **named: Any) -> list[Rows]:
    sessions.engine()
    scores = evaluate(*arguments, **named)
    return [[row.asDict() for row in getattr(scores, table).collect()] for table in tables]
