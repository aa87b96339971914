"""Comparisons of tables of pyarrow on the session of the tests."""

import dataclasses
from typing import Any

import pytest
from pyspark.sql import SparkSession

from ndcg_spark import compare
from ndcg_spark.comparison.compare import Comparison, compare_tables
from ndcg_spark.comparison.options import ComparisonOptions


@dataclasses.dataclass(frozen=True)
class Comparer:
    session: SparkSession

    def rows(self, scores: Any, baseline: Any, **options: Any) -> list[dict[str, Any]]:
        """The rows of `compare`."""
        named = {name: self._table(value) for name, value in options.items()}
        return compare(self._table(scores), self._table(baseline), **named).toArrow().to_pylist()

    def compared(self, *tables: Any, **options: Any) -> Comparison:
        """What `compare_tables` finds."""
        named = {name: self._table(value) for name, value in options.items()}
        names = {field.name for field in dataclasses.fields(ComparisonOptions)} & named.keys()
        chosen = ComparisonOptions(**{name: named.pop(name) for name in names})
        own, other, *runs = [*map(self._table, tables), *[None] * (2 - len(tables))]
        return compare_tables(own, other, [run for run in runs if run], chosen, **named)

    def _table(self, value: Any) -> Any:
        return self.session.createDataFrame(value) if hasattr(value, "schema") else value


@pytest.fixture(scope="session")
def embedded(session: SparkSession) -> Comparer:
    return Comparer(session)
