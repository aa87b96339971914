"""The weights of ranks in the measures of two lists: a small table, so that a plan only has to compute sums."""

import itertools
from collections.abc import Iterable, Sequence

import pyarrow as pa
from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.dataframe import DataFrame

from ndcg_spark.convention.convention import Convention
from ndcg_spark.reference import discounts

#: The columns of `table` beside `rank`: the discount of the rank, and the `harmonic` sum and the sum of
#: `persistent` of all ranks before it.
DISCOUNT, AVERAGE_BEFORE, PERSISTENT_BEFORE = "weight", "average_before", "persistent_before"


def sums(terms: Iterable[float]) -> list[float]:
    """The sums of the first 0, 1, 2, ... terms."""
    return [0.0, *itertools.accumulate(terms)]


def harmonic(depth: int) -> list[float]:
    """1 / d for the ranks d from 1 to `depth`, which average overlap sums."""
    return [1 / d for d in range(1, depth + 1)]


def persistent(p: float, depth: int) -> list[float]:
    """p^d / d for the ranks d from 1 to `depth`, which rank-biased overlap sums."""
    return [p**d / d for d in range(1, depth + 1)]


def table(session: SparkSession, convention: Convention, p: float, depth: int) -> DataFrame:
    """One row per rank from 1 to `depth`: rank, DISCOUNT, AVERAGE_BEFORE, PERSISTENT_BEFORE."""
    columns = {
        "rank": pa.array(range(1, depth + 1), pa.int32()),
        DISCOUNT: pa.array(discounts(depth, convention.discount), pa.float64()),
        AVERAGE_BEFORE: pa.array(sums(harmonic(depth - 1)), pa.float64()),
        PERSISTENT_BEFORE: pa.array(sums(persistent(p, depth - 1)), pa.float64()),
    }
    return session.createDataFrame(pa.table(columns))


def at(values: Sequence[float], place: Column) -> Column:
    """The value at a place that is counted from 0."""
    # As SQL, because on classic Spark every constant would be a round trip to the JVM.
    return F.get(F.expr(f"array({', '.join(f'{value!r}D' for value in values)})"), place.cast("int"))
