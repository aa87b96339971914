"""`read_scores`: the tables of published nights, for Python and notebooks."""

import datetime
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ndcg_spark.errors import StorageError
from ndcg_spark.nights.log import Night, committed, log_table, read_again_if_replaced
from ndcg_spark.nights.read import read_nights, read_rows
from ndcg_spark.nights.select import select_nights
from ndcg_spark.nights.store import LOG
from ndcg_spark.pandas_tables import to_pandas
from ndcg_spark.schemas import KEPT
from ndcg_spark.text import did_you_mean, masked

if TYPE_CHECKING:
    import pandas as pd
    from pyspark.sql import DataFrame, SparkSession


def read_scores(
    output: str | os.PathLike[str],
    table: str = "dataset_scores",
    session: "SparkSession | None" = None,
    *,
    date: datetime.date | str | None = None,
) -> "pd.DataFrame | DataFrame":
    """The rows of a published table for all nights, or for the nights of one date, in its schema and in no order.

    Parameters
    ----------
    output : str or path
        The folder with the published scores.
    table : str
        `dataset_scores`, `query_scores`, `comparisons`, `ranked_documents`, `query_attributes`, `rejected_rows`, or
        `evaluations`, the log.
    session : SparkSession, optional
        The session that reads the rows, for tables that do not fit into memory.
    date : date or str, optional
        Only nights of this date, one of each dataset.

    Returns
    -------
    DataFrame
        Of pandas, or with a session a lazy one of Spark, of which rows may be missing if a night is evaluated again
        before they are read.

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
    return read_again_if_replaced(lambda: _read(str(output), table, session, None if date is None else str(date)))


def _read(output: str, table: str, session: "SparkSession | None", date: str | None) -> "pd.DataFrame | DataFrame":
    known = committed(output)
    nights: Sequence[Night] = known
    if not nights:
        raise StorageError(f"read_scores: there is no published night in {masked(output)}; check the path")
    if date is not None:
        nights = select_nights(known, output, date)
    if table != LOG and session is not None:
        return read_nights(nights, table, session)
    rows = log_table(known.rows, date) if table == LOG else read_rows(nights, table)
    return to_pandas(rows) if session is None else session.createDataFrame(rows)
