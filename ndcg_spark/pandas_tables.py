"""Tables of scores and comparisons as pandas frames, and as notebooks show them."""

import weakref
from collections.abc import Callable, Sequence

import pandas as pd
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

_WHOLE_NUMBERS = {kind: pd.Int64Dtype() for kind in (pa.int16(), pa.int32(), pa.int64())}
#: How many rows a notebook shows.
_SHOWN = 20


def to_pandas(table: DataFrame) -> pd.DataFrame:
    """All rows of a table as a pandas DataFrame, in no order. Runs a Spark job.

    Integers stay integers where some are missing (Int64): the cutoff of the whole ranking is <NA>, not NaN beside 10.0.
    Dates are datetime64.

    Parameters
    ----------
    table : DataFrame
        A Spark DataFrame: the scores of `evaluate` or `read_scores`, a comparison of `compare`, or any other.

    Examples
    --------
    >>> from ndcg_spark import evaluate
    >>> scores = evaluate({"q": {"a": 1}}, {"q": {"a": 0.5}}, [1, None])
    >>> to_pandas(scores.query_scores)["cutoff"].sort_values().tolist()
    [1, <NA>]
    """
    frame: pd.DataFrame = table.toArrow().to_pandas(types_mapper=_WHOLE_NUMBERS.get, date_as_object=False)
    return frame


def with_html(table: DataFrame, html: Callable[[DataFrame], str]) -> DataFrame:
    """The same table, which a notebook shows as the HTML that is made of it; it stays lazy until then."""
    # A table that refers to itself would keep its plan, and the engine its rows, until Python looks for cycles.
    itself = weakref.proxy(table)

    def display() -> None:
        from IPython.display import HTML
        from IPython.display import display as shown

        shown(HTML(html(itself)))

    # A DataFrame of Spark Connect returns a column for any attribute. IPython does not ask such objects for a display
    # method, and recognizes them by the first of these attributes.
    vars(table).update(_ipython_canary_method_should_not_exist_=None, _ipython_display_=display)
    return table


def first_rows(table: DataFrame, key: Sequence[str], columns: Sequence[str]) -> str:
    """The first rows of a table by its key, with those of the columns that are not empty, as HTML. Runs a Spark job.

    All queries (no attribute) come before the slices, the whole ranking (no cutoff) after the ranks.
    """
    order = (F.col(name).asc_nulls_last() if name == "cutoff" else F.col(name).asc_nulls_first() for name in key)
    frame = to_pandas(table.orderBy(*order).limit(_SHOWN + 1))
    rows = frame.head(_SHOWN)
    named = rows.assign(cutoff=rows["cutoff"].astype(object).where(rows["cutoff"].notna(), "all"))[list(columns)]
    page = named.dropna(axis="columns", how="all").to_html(index=False, na_rep="", float_format="{:.4f}".format)
    more = f"<p>The first {_SHOWN} rows; to_pandas gives all.</p>" if len(frame) > _SHOWN else ""
    return f"<div>{page}{more}</div>"
