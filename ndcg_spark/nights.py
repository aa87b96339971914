"""The nights that an output keeps: listed, read, finished after a crash, and removed when they are old.

A night is one dataset's date. It is committed if its record is there; the record is written last and goes first.
"""

import dataclasses
import datetime
import functools
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from ndcg_spark import store
from ndcg_spark.errors import StorageError
from ndcg_spark.publishing import JOURNAL, OWNER, finish
from ndcg_spark.schemas import KEPT
from ndcg_spark.store import RECORDS, STAGING, TABLES, Store


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
        nights.append(CommittedNight(*store.night_of(folder), folder, found.read_json(path)))
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


def recover(output: str) -> list[str]:
    """Finish or remove what evaluations that are dead have left in staging; what was done, a sentence each.

    Of one that had committed, the nights are finished, but for those that a later evaluation has replaced since.
    Evaluations that may still be at work are left alone.
    """
    found = Store(output)
    told = []
    for evaluation_id in found.folders(STAGING):
        staging = f"{STAGING}/{evaluation_id}"
        if found.exists(f"{staging}/{OWNER}") and store.is_alive(found.read_json(f"{staging}/{OWNER}")):
            continue
        if not found.exists(f"{staging}/{JOURNAL}"):
            found.delete(staging)
            told.append(f"removed {evaluation_id}, which had not committed")
            continue
        journal = found.read_json(f"{staging}/{JOURNAL}")
        open_nights = [night for night in journal["nights"] if not _replaced_since(found, night, evaluation_id)]
        finish(found, {**journal, "nights": open_nights})
        told.append(f"finished {evaluation_id}, which had committed: {', '.join(open_nights) or 'all replaced since'}")
    return told


def expire(output: str, keep_days: int, today: datetime.date) -> list[str]:
    """Remove the nights dated more than `keep_days` before today, whole, and dead staging; what was removed."""
    found = Store(output)
    told = recover(output)
    oldest = (today - datetime.timedelta(days=keep_days)).isoformat()
    for night in committed(output):
        if night.evaluated_on < oldest:
            # The record goes first: from then on the night counts as gone, whatever is still there of it.
            for place in (RECORDS, *TABLES):
                found.delete(f"{place}/{night.folder}")
            told.append(f"removed {night.dataset} of {night.evaluated_on}")
    return told


def _is_of(night: CommittedNight) -> Column:
    date = F.to_date(F.lit(night.evaluated_on))
    return (F.col("dataset") == F.lit(night.dataset)) & (F.col("evaluated_on") == date)


def _replaced_since(found: Store, night: str, evaluation_id: str) -> bool:
    names = [path.rpartition("/")[2].removesuffix(".json") for path in found.files(f"{RECORDS}/{night}", ".json")]
    return any(name > evaluation_id for name in names)
