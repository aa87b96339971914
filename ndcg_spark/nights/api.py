"""`read_scores`: the tables of published nights, for Python and notebooks."""

import datetime
import os
from typing import TYPE_CHECKING

from ndcg_spark.errors import StorageError
from ndcg_spark.nights.log import committed, log_table, read_again_if_replaced
from ndcg_spark.nights.read import read_nights, read_rows
from ndcg_spark.nights.select import select_nights
from ndcg_spark.nights.store import LOG
from ndcg_spark.schemas import KEPT
from ndcg_spark.tables.views import to_pandas
from ndcg_spark.text import did_you_mean, masked

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import DataFrame, SparkSession


def read_scores(
    output: str | os.PathLike[str],
    table: str = "dataset_scores",
    *,
    date: datetime.date | str | None = None,
    session: "SparkSession | None" = None,
) -> "pd.DataFrame | DataFrame":
    """The rows of a published table for all nights, or for the nights of one date, in its schema and in no order.

    Parameters
    ----------
    output : str or path
        The folder with the published scores.
    table : str
        `dataset_scores`, `query_scores`, `comparisons`, `ranked_documents`, `query_attributes`, `rejected_rows`, or
        `evaluations`, the log.
    date : date or str, optional
        Only nights of this date, one of each dataset.
    session : SparkSession, optional
        The session that reads the rows, for tables that do not fit into memory.

    Returns
    -------
    DataFrame
        Of pandas, or with a session a lazy one of Spark over exactly the files that count when it is made.

    Raises
    ------
    StorageError
        There is no table or night of that name, the output cannot be read, or files of a night are missing.
    ConfigurationError
        There is no night of the date.
    """
    tables = (*KEPT, LOG)
    if table not in tables:
        near = did_you_mean(table, tables)
        raise StorageError(f"read_scores: unknown table {table!r}{near}; choose {', '.join(tables)}")
    return read_again_if_replaced(lambda: _read(str(output), table, None if date is None else str(date), session))


def _read(output: str, table: str, date: str | None, session: "SparkSession | None") -> "pd.DataFrame | DataFrame":
    nights = committed(output)
    if not nights:
        raise StorageError(f"read_scores: there is no published night in {masked(output)}; check the path")
    chosen = nights if date is None else select_nights(nights, output, date)
    if table != LOG and session is not None:
        return read_nights(chosen, table, session)
    rows = log_table(nights.rows, date) if table == LOG else read_rows(chosen, table)
    return to_pandas(rows) if session is None else session.createDataFrame(rows)
