"""The nights that an output keeps: listed, read, finished after a crash, and removed when they are old.

A night is one dataset's date. It is committed if its record is there; the record is written last and goes first.
"""

import dataclasses
import datetime
import functools
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from ndcg_spark.errors import StorageError
from ndcg_spark.nights import store
from ndcg_spark.nights.recovery import recover, working
from ndcg_spark.nights.store import FAILURES, RECORDS, TABLES, Store
from ndcg_spark.schemas import KEPT


@dataclasses.dataclass(frozen=True)
class CommittedNight:
    """A night that readers may rely on, and the record of its evaluation."""

    dataset: str
    evaluated_on: str
    #: The folder of its partition in every table.
    folder: str
    record: dict[str, Any]


def committed(output: str) -> list[CommittedNight]:
    """Every committed night, by dataset and date."""
    found = Store(output)
    nights = []
    for path in found.files(RECORDS, ".json"):
        folder = path.removeprefix(f"{RECORDS}/").rpartition("/")[0]
        record = found.find_json(path)
        # None: a rerun is replacing this night just now.
        if record is not None:
            nights.append(CommittedNight(*store.night_of(folder), folder, record))
    return sorted(nights, key=lambda night: (night.dataset, night.evaluated_on))


def read_scores(output: str, table: str = "dataset_scores", session: SparkSession | None = None) -> DataFrame:
    """A table of the committed nights only: `dataset_scores`, `query_scores` or `rejected_rows`, in no order.

    Parameters
    ----------
    output : str
        The folder that keeps the scores, as the engine names it.
    table : str
        Which table.
    session : SparkSession, optional
        What reads it; the active session unless given.

    Raises
    ------
    StorageError
        There is no committed night, or no session.
    """
    reader = session or SparkSession.getActiveSession()
    if reader is None:
        raise StorageError("read_scores: there is no active session; give one with session=")
    if table not in TABLES:
        raise StorageError(f"read_scores: no table is called {table!r}; one of {', '.join(TABLES)}")
    nights = committed(output)
    if not nights:
        raise StorageError(f"read_scores: no committed night in {output}; check the path")
    schema, found = KEPT[table], Store(output)
    if not found.files(table, ".parquet"):
        return reader.createDataFrame([], schema)
    rows = reader.read.schema(schema).parquet(found.for_engine(table))
    return rows.where(functools.reduce(Column.__or__, (_is_of(night) for night in nights))).select(*schema.names)


def expire(output: str, keep_days: int, today: datetime.date) -> list[str]:
    """Remove the nights dated more than `keep_days` before today, whole, and dead staging; what was removed.

    Of nights without a record too, which an earlier removal may have left midway. Raises as `recover`.
    """
    told = recover(output)
    found = Store(output)
    oldest = (today - datetime.timedelta(days=keep_days)).isoformat()
    if not _before(found, oldest):
        return told
    try:
        with working(found):
            for folder in _before(found, oldest):
                # The record goes first: from then on the night counts as gone, whatever is still there of it.
                for place in (RECORDS, *TABLES):
                    found.delete(f"{place}/{folder}")
                dataset, evaluated_on = store.night_of(folder)
                told.append(f"removed {dataset} of {evaluated_on}")
    except FAILURES as error:
        raise StorageError(f"output: {output} cannot be removed from, {error}; check rights, then run again") from error
    return told


def _before(found: Store, date: str) -> list[str]:
    """The folders of the nights before a date, in whichever table; by dataset and date."""
    folders = {
        f"{dataset}/{night}"
        for place in (RECORDS, *TABLES)
        for dataset in found.folders(place)
        for night in found.folders(f"{place}/{dataset}")
        if dataset.startswith("dataset=") and night.startswith("evaluated_on=")
    }
    return sorted((folder for folder in folders if store.night_of(folder)[1] < date), key=store.night_of)


def _is_of(night: CommittedNight) -> Column:
    date = F.to_date(F.lit(night.evaluated_on))
    return (F.col("dataset") == F.lit(night.dataset)) & (F.col("evaluated_on") == date)
