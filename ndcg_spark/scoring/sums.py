"""Sums at several cutoffs in one pass: the names of their columns, and the rows that each takes."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType

from pyspark.sql import Column
from pyspark.sql import functions as F

from ndcg_spark.convention.cutoffs import Cutoff

#: Ascending, each once, the whole ranking last.
Cutoffs = Sequence[Cutoff]

NO_COLUMNS: Mapping[str, Column] = MappingProxyType({})


def named(score: str, cutoff: int | None) -> str:
    """The column of a sum at one cutoff: dcg_10, dcg_all."""
    return f"{score}_{cutoff or 'all'}"


def within(rank: str, cutoff: int | None) -> Column:
    """Whether a row's rank is within the cutoff."""
    return F.lit(True) if cutoff is None else F.col(rank) <= cutoff


def are_distinct(values: str | Column) -> Column:
    """Whether the values of an array are all different."""
    # Not count_distinct, for which the embedded engine keeps a set for every group: that took half of all the time.
    return F.size(values) == F.size(F.array_distinct(values))
