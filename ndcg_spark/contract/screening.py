"""A table whose rows are held to the rules: why a row is bad, the good rows, and the rejected ones."""

import dataclasses
from typing import TypeVar

from pyspark.sql import Column, DataFrame
from pyspark.sql.types import StructType

from ndcg_spark.conforming import conform
from ndcg_spark.contract import counting, rejecting
from ndcg_spark.contract.counts import JudgmentCounts, ResultCounts
from ndcg_spark.inputs.read import Source

_Counts = TypeVar("_Counts", JudgmentCounts, ResultCounts)


@dataclasses.dataclass(frozen=True)
class Screened:
    """The rows of a source, and the column that tells which rule each of them breaks."""

    source: Source
    schema: StructType
    #: The code of the rule that a row breaks, else null.
    reason: Column

    @property
    def rows(self) -> DataFrame:
        """All rows, good and bad, as they were read."""
        return self.source.table

    def with_breaches(self, counts: _Counts) -> _Counts:
        """The counts of the rows, with the rules that bad rows break. An action if there are bad rows."""
        if not counts.bad:
            return counts
        return dataclasses.replace(counts, breaches=counting.breaches_of(self.source.name, self.rows, self.reason))

    def good(self, counts: JudgmentCounts | ResultCounts) -> DataFrame:
        """The good rows in the schema. If all are good, no row is tested again."""
        good = self.rows.where(self.reason.isNull()) if counts.bad else self.rows
        return conform(good, self.schema, self.source.name)

    def rejected(self, counts: JudgmentCounts | ResultCounts) -> list[DataFrame]:
        """The bad rows, in a table as `rejecting.rejected` makes it; none if all are good."""
        return [rejecting.rejected(self.rows, self.reason, self.source.name)] if counts.bad else []
