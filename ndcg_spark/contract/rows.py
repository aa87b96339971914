"""The rows of an input: the good ones, and those that break a rule, with the reason."""

import dataclasses
from typing import TypeVar

import pyarrow as pa
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from ndcg_spark.casting import conform
from ndcg_spark.contract import scan
from ndcg_spark.contract.counts import JudgmentCounts, ResultCounts
from ndcg_spark.inputs.read import Source
from ndcg_spark.schemas import IN_PATHS, LINE, REJECTED_ROWS

_Counts = TypeVar("_Counts", JudgmentCounts, ResultCounts)


@dataclasses.dataclass(frozen=True)
class InputRows:
    """The rows of a source, and the column with the rule that each of them breaks."""

    source: Source
    schema: pa.Schema
    #: The code of the rule that a row breaks, else null.
    reason: Column

    @property
    def all(self) -> DataFrame:
        """All rows, good and bad, as they were read."""
        return self.source.table

    def with_breaches(self, counts: _Counts) -> _Counts:
        """The counts of the rows, with the rules that bad rows break. Runs a Spark job if there are bad rows."""
        if not counts.bad:
            return counts
        return dataclasses.replace(counts, breaches=scan.breaches_of(self.source.name, self.all, self.reason))

    def good(self, counts: JudgmentCounts | ResultCounts) -> DataFrame:
        """The good rows in the schema. If all are good, no row is tested again."""
        good = self.all.where(self.reason.isNull()) if counts.bad else self.all
        return conform(good, self.schema, self.source.name)

    def rejected(self, counts: JudgmentCounts | ResultCounts) -> list[DataFrame]:
        """The bad rows, as `rejected_rows` returns them, if there are any."""
        return [rejected_rows(self.all, self.reason, self.source.name)] if counts.bad else []


def rejected_rows(table: DataFrame, reason: Column, name: str) -> DataFrame:
    """The rows that have a `reason`, with their values as text; no key, in no order.

    The columns of REJECTED_ROWS without dataset, evaluated_on and evaluation_id, which depend on the night.
    """
    described = {"table": F.lit(name), "reason": reason}
    sources = {"dataset_read": "dataset", "line": LINE}
    values = [field for field in REJECTED_ROWS.names if field not in {*described, "dataset", *IN_PATHS}]
    described |= {field: scan.shown_as(table, sources.get(field, field)) for field in values}
    return table.select(*(column.alias(field) for field, column in described.items())).where("reason is not null")
