"""Tables of scores and comparisons as pandas frames, and as notebooks show them."""

from collections.abc import Collection
from typing import TYPE_CHECKING

import pyarrow as pa

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import DataFrame

#: How many rows a notebook shows.
MAX_SHOWN = 20


def to_pandas(table: "DataFrame | pa.Table") -> "pd.DataFrame":
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


def rows_as_html(frame: "pd.DataFrame", columns: Collection[str] = ()) -> str:
    """As `first_rows`, for rows that are already in memory, in their own order."""
    rows = frame.head(MAX_SHOWN)
    if "cutoff" in rows:
        rows = rows.assign(cutoff=rows["cutoff"].astype(object).where(rows["cutoff"].notna(), "all"))
    named = rows[list(columns or rows.columns)].dropna(axis="columns", how="all")
    page = named.to_html(index=False, na_rep="", float_format="{:.4f}".format)
    more = f"<p>The first {MAX_SHOWN} rows; to_pandas gives all.</p>" if len(frame) > MAX_SHOWN else ""
    return f"<div>{page}{more}</div>"
