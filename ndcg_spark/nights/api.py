"""`read_scores`: the tables of published nights, for Python and notebooks."""

import datetime
import functools
import os

from pyspark.sql import DataFrame, SparkSession

from ndcg_spark.engine import running_session
from ndcg_spark.errors import StorageError
from ndcg_spark.masking import masked
from ndcg_spark.nights.layout import TABLES
from ndcg_spark.nights.read import read_nights
from ndcg_spark.nights.records import committed
from ndcg_spark.nights.selection import select_nights
from ndcg_spark.pandas_tables import Table, with_html
from ndcg_spark.tables.comparisons import comparison_table
from ndcg_spark.tables.writers import html
from ndcg_spark.text import did_you_mean

#: At most this many comparisons are shown.
_SHOWN = 100


def read_scores(
    output: str | os.PathLike[str],
    table: str = "dataset_scores",
    session: SparkSession | None = None,
    *,
    date: datetime.date | str | None = None,
) -> Table:
    """The rows of a published table for all nights, or for the nights of one date, in its schema and in no order.

    They are read lazily: rows of a night that is evaluated again in the meantime may be missing. A notebook shows the
    first rows, or the comparisons of a date as `compare` does; `to_pandas` and `to_arrow` return all rows.

    Parameters
    ----------
    output : str or path
        The folder with the published scores, as the engine names it.
    table : str
        `dataset_scores`, `query_scores`, `comparisons`, `ranked_documents`, `rejected_rows` or `evaluations`.
    session : SparkSession, optional
        The session to read with; by default the running one.
    date : date or str, optional
        Only nights of this date, one of each dataset.

    Raises
    ------
    StorageError
        There is no session, table or night of that name, the output cannot be read, or files of a night are missing.
    ConfigurationError
        There is no night of the date.
    """
    reader = session or running_session()
    if reader is None:
        raise StorageError("read_scores: there is no running session; give one with session=")
    if table not in TABLES:
        near = did_you_mean(table, TABLES)
        raise StorageError(f"read_scores: unknown table {table!r}{near}; choose {', '.join(TABLES)}")
    output = str(output)
    nights = committed(output)
    if not nights:
        raise StorageError(f"read_scores: there is no published night in {masked(output)}; check the path")
    if date is not None:
        nights = select_nights(nights, output, str(date))
    rows = read_nights(nights, table, reader)
    if table != "comparisons" or date is None:
        return with_html(rows)
    gate = (nights[0].record.get("configuration") or {}).get("gate") or {}
    options = {"correction": gate.get("correction", "holm"), "alpha": gate.get("alpha", 0.05)}
    return with_html(rows, functools.partial(_compared, **options))


def _compared(table: DataFrame, correction: str, alpha: float) -> str:
    """Comparisons of one date as HTML, those of all queries first. Runs a Spark job."""
    rows = [row.asDict() for row in table.collect()]
    rows.sort(key=lambda row: (row["dataset"], str(row["attribute"] or ""), str(row["value"] or "")))
    return html(comparison_table(rows, correction, alpha).first(_SHOWN, "rows"))
