"""`read_scores`: the tables of published nights, for Python and notebooks."""

import dataclasses
import datetime
import functools
import os
from collections.abc import Sequence

from pyspark.sql import DataFrame, SparkSession

from ndcg_spark.engine import running_session
from ndcg_spark.errors import StorageError
from ndcg_spark.masking import masked
from ndcg_spark.nights.log import Night, committed, log_table
from ndcg_spark.nights.read import read_nights
from ndcg_spark.nights.select import select_nights
from ndcg_spark.nights.store import LOG
from ndcg_spark.schemas import KEPT
from ndcg_spark.spark_tables import Table, with_html
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
        `dataset_scores`, `query_scores`, `comparisons`, `ranked_documents`, `query_attributes`, `rejected_rows`, or
        `evaluations`, the log.
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
    tables = (*KEPT, LOG)
    if table not in tables:
        near = did_you_mean(table, tables)
        raise StorageError(f"read_scores: unknown table {table!r}{near}; choose {', '.join(tables)}")
    output = str(output)
    known = committed(output)
    nights: Sequence[Night] = known
    if not nights:
        raise StorageError(f"read_scores: there is no published night in {masked(output)}; check the path")
    if date is not None:
        nights = select_nights(known, output, str(date))
    if table == LOG:
        return with_html(reader.createDataFrame(log_table(known.rows, None if date is None else str(date))))
    rows = read_nights(nights, table, reader)
    if table != "comparisons" or date is None:
        return with_html(rows)
    gate = (nights[0].record.get("configuration") or {}).get("gate") or {}
    options = {"correction": "holm", "alpha": gate.get("alpha", 0.05)}
    return with_html(rows, functools.partial(_compared, **options))


def _compared(table: DataFrame, correction: str, alpha: float) -> str:
    """Comparisons of one date as HTML, those of all queries first. Runs a Spark job."""
    rows = [row.asDict() for row in table.collect()]
    rows.sort(key=lambda row: (row["dataset"], str(row["attribute"] or ""), str(row["value"] or "")))
    shown = comparison_table(rows, correction, alpha).first(_SHOWN, "rows")
    return html(dataclasses.replace(shown, notes=[shown.title, *shown.notes]))
