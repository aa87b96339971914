"""A table that is held to its rules: the rows that every plan reads, and why a row is bad."""

import dataclasses
import functools
from collections.abc import Callable
from typing import TypeVar

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from ndcg_spark.conforming import conform, conform_rows
from ndcg_spark.contract import counting, rejecting
from ndcg_spark.contract.counts import JudgmentCounts, ResultCounts
from ndcg_spark.inputs.parsed_once import Kept, Odd
from ndcg_spark.inputs.reading import Source

_Counts = TypeVar("_Counts", JudgmentCounts, ResultCounts)


@dataclasses.dataclass(frozen=True)
class Held:
    """The rows of a source, and the column that tells which rule each of them breaks."""

    source: Source
    schema: StructType
    #: All rows, good and bad. If text was parsed once, they are typed, and a bad value is null in them.
    rows: DataFrame
    #: The code of the rule that a row of a table breaks, else null; a table may be typed or as it was read.
    reason_in: Callable[[DataFrame], Column]
    #: Those of the rows that are in odd files of text; None if there are no such files.
    odd: Odd | None = None

    @property
    def is_parsed_again(self) -> bool:
        """Whether each plan that reads the rows parses text."""
        return self.source.is_text and self.source.text is None

    @property
    def reason(self) -> Column:
        """The code of the rule that each of the rows breaks, else null."""
        return self.reason_in(self.rows)

    def with_breaches(self, counts: _Counts) -> _Counts:
        """The counts of the rows, with the rules that bad rows break. An action if there are bad rows."""
        if not counts.bad:
            return counts
        table = self._as_read(counts)
        return dataclasses.replace(
            counts, breaches=counting.breaches_of(self.source.name, table, self.reason_in(table))
        )

    def good(self, counts: JudgmentCounts | ResultCounts) -> DataFrame:
        """The good rows in the schema. If all are good, no row is tested again, nor is its text."""
        untested = self.source.untested if self.source.text is None else None
        good = self.rows if untested is None else untested
        return conform(self.rows.where(self.reason.isNull()) if counts.bad else good, self.schema, self.source.name)

    def rejected(self, counts: JudgmentCounts | ResultCounts) -> list[DataFrame]:
        """The bad rows, in a table as `rejecting.rejected` makes it; none if all are good."""
        if not counts.bad:
            return []
        table = self._as_read(counts)
        return [rejecting.rejected(table, self.reason_in(table), self.source.name)]

    def _as_read(self, counts: JudgmentCounts | ResultCounts) -> DataFrame:
        """All bad rows, and others, with the text of a bad value: the odd files if all are there, else the table."""
        return self.odd.as_read if self.odd is not None and self._bad_in_odd == counts.bad else self.source.table

    @functools.cached_property
    def _bad_in_odd(self) -> int:
        """How many rows of the odd files break a rule. An action, once."""
        if self.odd is None:
            return 0
        rows = self.odd.kept()
        found = rows.select(self.reason_in(rows).alias("reason")).agg(F.count("reason").alias("bad"))
        return int(found.collect()[0]["bad"])


def held(source: Source, schema: StructType, reason_in: Callable[[DataFrame], Column]) -> Held:
    """The rows of a source in one place. An action where text is written down once it is parsed."""
    typed = functools.partial(conform_rows, schema=schema, where=source.name)
    kept = Kept(source.table) if source.text is None else source.text.kept(source.table, typed)
    return Held(source, schema, kept.rows, reason_in, kept.odd)
