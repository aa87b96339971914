"""`read_scores`: the tables of published nights, for Python and notebooks."""

import datetime
import os
from typing import TYPE_CHECKING

import pyarrow as pa

from ndcg_spark.errors import StorageError
from ndcg_spark.nights.log import committed, log_table, read_again_if_replaced
from ndcg_spark.nights.read import read_rows
from ndcg_spark.nights.select import select_nights
from ndcg_spark.nights.store import LOG
from ndcg_spark.pandas_tables import to_pandas
from ndcg_spark.schemas import KEPT
from ndcg_spark.text import did_you_mean, masked

if TYPE_CHECKING:
    import pandas as pd


def read_scores(
    output: str | os.PathLike[str],
    table: str = "dataset_scores",
    *,
    date: datetime.date | str | None = None,
) -> "pd.DataFrame":
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

    Returns
    -------
    DataFrame
        Of pandas. For tables that do not fit into memory, RECIPES.md has views of Spark.

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
    return read_again_if_replaced(lambda: to_pandas(_read(str(output), table, None if date is None else str(date))))


def _read(output: str, table: str, date: str | None) -> pa.Table:
    nights = committed(output)
    if not nights:
        raise StorageError(f"read_scores: there is no published night in {masked(output)}; check the path")
    chosen = nights if date is None else select_nights(nights, output, date)
    if table == LOG:
        return log_table(row for row in nights.rows if date in (None, row["evaluated_on"]))
    return read_rows(chosen, table)
