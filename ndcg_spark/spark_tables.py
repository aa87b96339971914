"""Lazy tables of scores that notebooks show, made of a DataFrame of an engine."""

import functools
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ndcg_spark.pandas_tables import MAX_SHOWN, rows_as_html, to_pandas

if TYPE_CHECKING:
    import pandas as pd

#: The columns that shown rows are sorted by.
_KEY = (
    *("dataset", "evaluated_on", "evaluation_id", "run", "baseline", "query_id", "cutoff"),
    *("measure", "attribute", "value", "rank", "doc_id"),
)


class Table(DataFrame):
    """A lazy DataFrame that a notebook shows as a table. What `where` or `select` makes of it is a plain DataFrame."""

    #: A DataFrame of Spark Connect returns a column for any attribute; notebooks ask it for HTML only if this is None.
    _ipython_canary_method_should_not_exist_ = None
    _html: Callable[[DataFrame], str]

    def to_pandas(self) -> "pd.DataFrame":
        """All rows, in no order, as `ndcg_spark.to_pandas` returns them. Runs a Spark job."""
        return to_pandas(self)

    #: Spark's own method returns NaN for the whole ranking, and then 10.0 instead of 10.
    toPandas = to_pandas  # noqa: N815  # the name of Spark

    def to_arrow(self) -> pa.Table:
        """All rows, in no order; the cutoff of the whole ranking is null. Runs a Spark job."""
        return self.toArrow()

    def _repr_html_(self) -> str:
        """As notebooks show it. Runs a Spark job."""
        return self._html(self)


def first_rows(table: DataFrame, columns: Collection[str] = ()) -> str:
    """The first rows of a table by its key as HTML, without empty columns. Runs a Spark job.

    All queries (no attribute) come before the slices, the whole ranking (no cutoff) after the ranks.
    `columns` are the columns to show, in this order; by default all of them.
    """
    slices = [F.col(name).asc_nulls_first() for name in ("attribute", "value") if name in table.columns]
    key = [*slices, *(F.col(name).asc_nulls_last() for name in _KEY if name in table.columns)]
    return rows_as_html(to_pandas(table.orderBy(*key).limit(MAX_SHOWN + 1)), columns)


def with_html(table: DataFrame, html: Callable[[DataFrame], str] = first_rows) -> Table:
    """The same table, for which a notebook shows HTML made from it; it stays lazy until then."""
    # Whether it is a DataFrame of classic Spark or of Spark Connect is known only now.
    kind: Any = type(table)
    table.__class__ = _kind(kind)
    vars(table)["_html"] = html
    return cast("Table", table)


@functools.cache
def _kind(kind: type) -> type:
    return kind if issubclass(kind, Table) else type("Table", (Table, kind), {})
