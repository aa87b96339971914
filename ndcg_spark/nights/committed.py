"""The nights that an output keeps: listed, read, and removed when they are old.

A night is one dataset's date. It is committed if its record is there; the record comes last and goes first.
"""

import contextlib
import dataclasses
import datetime
import functools
from collections.abc import Iterator
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from ndcg_spark.errors import StorageError
from ndcg_spark.masking import masked
from ndcg_spark.nights import store
from ndcg_spark.nights.journal import PLACES
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
    """Every committed night, by dataset and date.

    Raises
    ------
    StorageError
        The output is no folder or cannot be read, or a record stands without its files.
    """
    found = Store(output)
    found.refuse_a_file()
    with _explained(found, "cannot be read from"):
        nights, lacking = _looked_at(found)
        if lacking:
            # A rerun may have taken a night away between its record and its files.
            nights, lacking = _looked_at(found)
    if lacking:
        place, name = lacking[0]
        raise StorageError(
            f"output: {len(lacking)} file(s) are gone from {found.place} that committed nights consist of, e.g. {name} "
            f"of {place}; run these dates again, or restore the files"
        )
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
        There is no committed night, or no session; or as `committed`.
    """
    reader = session or SparkSession.getActiveSession()
    if reader is None:
        raise StorageError("read_scores: there is no active session; give one with session=")
    if table not in TABLES:
        raise StorageError(f"read_scores: no table is called {table!r}; one of {', '.join(TABLES)}")
    nights = committed(output)
    if not nights:
        raise StorageError(f"read_scores: no committed night in {masked(output)}; check the path")
    schema, found = KEPT[table], Store(output)
    with _explained(found, "cannot be read from"):
        has_files = bool(found.files(table, ".parquet"))
    if not has_files:
        return reader.createDataFrame([], schema)
    rows = reader.read.schema(schema).parquet(found.for_engine(table))
    return rows.where(functools.reduce(Column.__or__, (_is_of(night) for night in nights))).select(*schema.names)


def expire(output: str, keep_days: int, today: datetime.date) -> list[str]:
    """Remove the nights dated more than `keep_days` before today, whole, and dead staging; what was removed.

    Of nights without a record too, which an earlier removal may have left midway. Raises as `recover`.
    """
    told = recover(output)
    found = Store(output)
    # Nothing is older than the first date there is.
    days = min(max(keep_days, 0), (today - datetime.date.min).days)
    oldest = (today - datetime.timedelta(days=days)).isoformat()
    with _explained(found, "cannot be removed from"):
        if not _before(found, oldest):
            return told
        with working(found) as claim:
            for folder in _before(found, oldest):
                # The record goes first: from then on the night counts as gone, whatever is still there of it.
                for place in PLACES:
                    claim.hold()
                    found.delete(f"{place}/{folder}")
                dataset, evaluated_on = store.night_of(folder)
                told.append(f"removed {dataset} of {evaluated_on}")
    return told


def _looked_at(found: Store) -> tuple[list[CommittedNight], list[tuple[str, str]]]:
    """Every night with a record, and the files that should be there and are not: the night's folder and the file."""
    nights, lacking = [], []
    for path in found.files(RECORDS, ".json"):
        folder = path.removeprefix(f"{RECORDS}/").rpartition("/")[0]
        record = found.find_json(path)
        # None: a rerun is replacing this night just now.
        if record is not None:
            nights.append(CommittedNight(*store.night_of(folder), folder, record))
    there = {path for table in TABLES for path in found.files(table, ".parquet")} if nights else set()
    with_scores = {path.rpartition("/")[0] for path in there}
    for night in nights:
        files = night.record.get("files")
        if isinstance(files, dict):
            wanted = [f"{table}/{night.folder}/{name}" for table, names in files.items() for name in names]
            lacking += [(night.folder, path) for path in wanted if path not in there]
        elif f"dataset_scores/{night.folder}" not in with_scores:
            # Records of earlier versions do not name the files; every night has dataset scores.
            lacking.append((night.folder, "dataset_scores"))
    return nights, lacking


@contextlib.contextmanager
def _explained(found: Store, failed: str) -> Iterator[None]:
    try:
        yield
    except FAILURES as error:
        raise StorageError(f"output: {found.place} {failed}, {error}; check rights, then run again") from error


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
