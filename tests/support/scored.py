"""The library's scores as rows, for tests that look at a few numbers of one query."""

import dataclasses
import functools
from typing import Any

import tables
from pyspark.sql import SparkSession
from tables import Row

from ndcg_spark import evaluate


@dataclasses.dataclass
class Scored:
    scores: Any

    @functools.cached_property
    def query_scores(self) -> list[Row]:
        return [row.asDict() for row in self.scores.query_scores.collect()]

    @functools.cached_property
    def dataset_scores(self) -> list[Row]:
        return [row.asDict() for row in self.scores.dataset_scores.collect()]

    def of(self, query: str, cutoff: int | None) -> Row:
        (row,) = [row for row in self.query_scores if (row["query_id"], row["cutoff"]) == (query, cutoff)]
        return row

    def mean(self, cutoff: int | None) -> Row:
        (row,) = [row for row in self.dataset_scores if row["cutoff"] == cutoff]
        return row

    def ndcg(self, cutoff: int | None) -> dict[str, float | None]:
        return {row["query_id"]: row["ndcg"] for row in self.query_scores if row["cutoff"] == cutoff}


def scored(session: SparkSession, judged: Any, returned: Any, *more: Any, **named: Any) -> Scored:
    judged = tables.judgments(session, judged) if _are_rows(judged) else judged
    returned = tables.results(session, returned) if _are_rows(returned) else returned
    return Scored(evaluate(judged, returned, *more, session=session, **named))


def _are_rows(given: Any) -> bool:
    return isinstance(given, list) and isinstance(given[0], dict)
