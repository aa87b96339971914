"""Query scores handed over row by row, sorted by the engine: there may be more of them than fit into memory."""

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from ndcg_spark.nights.read import read_evaluation
from ndcg_spark.tables.sorting import DECIMALS, Order

_KEY = ("dataset", "run", "query_id", "cutoff")


class Taker(Protocol):
    """Who wants the query scores of an evaluation."""

    def expect(self, runs: list[str]) -> None:
        """Called with the runs once the input is checked, before anything is scored; may refuse."""

    def hand_over(self, scores: DataFrame) -> None:
        """Called with scores that are not published. An action."""

    def hand_over_night(self, output: str, evaluation_id: str, session: SparkSession) -> None:
        """Called after an evaluation was published. An action."""


@dataclasses.dataclass(frozen=True)
class QueryScores:
    """Who takes the query scores, and in which order; by run, query and cutoff unless the order says otherwise."""

    #: Called once, with rows of QUERY_SCORES as the engine yields them.
    take: Callable[[Iterable[Mapping[str, Any]]], None]
    order: Order | None = None

    def expect(self, runs: list[str]) -> None:
        """Whatever the runs, all are handed over."""

    def hand_over(self, scores: DataFrame) -> None:
        """Sort the scores and hand them over. An action."""
        rows = scores.orderBy(*_order(self.order))
        self.take(row.asDict() for row in rows.toLocalIterator())

    def hand_over_night(self, output: str, evaluation_id: str, session: SparkSession) -> None:
        """Hand over the scores of an evaluation that was published. An action."""
        self.hand_over(read_evaluation(output, evaluation_id, session))


def _order(order: Order | None) -> list[Column]:
    key = [F.asc_nulls_last(name) for name in _KEY]
    if order is None:
        return key
    value = F.col(order.column) if order.is_of_text else F.round(order.column, DECIMALS)
    turned = value.desc_nulls_last() if order.descending else value.asc_nulls_last()
    if order.cutoff is None:
        return [turned, *key]
    # Rows at the cutoff that was named come first.
    cutoff = F.coalesce(F.col("cutoff").cast("string"), F.lit("all"))
    return [F.when(cutoff == order.cutoff, 0).otherwise(1), turned, *key]
