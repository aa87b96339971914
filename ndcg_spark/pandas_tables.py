"""Tables of scores and comparisons as pandas frames, and as notebooks show them."""

import functools
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

if TYPE_CHECKING:
    import pandas as pd

#: How many rows a notebook shows, and the columns that they are sorted by.
_SHOWN = 20
_KEY = (
    *("dataset", "evaluated_on", "evaluation_id", "run", "baseline", "query_id", "cutoff"),
    *("measure", "attribute", "value", "rank", "doc_id"),
)


def to_pandas(table: DataFrame | pa.Table) -> "pd.DataFrame":
    """All rows of a table as a pandas DataFrame, in no order. Runs a Spark job.

    Integers stay integers where some are missing (Int64): the cutoff of the whole ranking is <NA>, not NaN beside 10.0.
    Dates are datetime64.

    Parameters
    ----------
    table : DataFrame or pyarrow.Table
        The scores of `evaluate` or `read_scores`, a comparison of `compare`, or any other table.

    Examples
    --------
    >>> from ndcg_spark import evaluate
    >>> scores = evaluate({"q": {"a": 1}}, {"q": {"a": 0.5}}, [1, None])
    >>> to_pandas(scores.query_scores)["cutoff"].sort_values().tolist()
    [1, <NA>]
    """
    # Imported here, because commands that read nights without an engine do not need it.
    import pandas as pd

    whole = dict.fromkeys((pa.int16(), pa.int32(), pa.int64()), pd.Int64Dtype())
    arrow = table if isinstance(table, pa.Table) else table.toArrow()
    frame: pd.DataFrame = arrow.to_pandas(types_mapper=whole.get, date_as_object=False)
    return frame


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
    return rows_as_html(to_pandas(table.orderBy(*key).limit(_SHOWN + 1)), columns)


def rows_as_html(frame: "pd.DataFrame", columns: Collection[str] = ()) -> str:
    """As `first_rows`, for rows that are already in memory, in their own order."""
    rows = frame.head(_SHOWN)
    if "cutoff" in rows:
        rows = rows.assign(cutoff=rows["cutoff"].astype(object).where(rows["cutoff"].notna(), "all"))
    named = rows[list(columns or rows.columns)].dropna(axis="columns", how="all")
    page = named.to_html(index=False, na_rep="", float_format="{:.4f}".format)
    more = f"<p>The first {_SHOWN} rows; to_pandas gives all.</p>" if len(frame) > _SHOWN else ""
    return f"<div>{page}{more}</div>"


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
