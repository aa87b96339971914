"""List and read the committed nights of an output, and remove old ones.

A night is one date of one dataset. It is committed if it has a record, which is written last and removed first.
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
from ndcg_spark.nights.journal import PLACES
from ndcg_spark.nights.recovery import recover, working
from ndcg_spark.nights.store import FAILURES, RECORDS, TABLES, Store, night_of
from ndcg_spark.plain import did_you_mean
from ndcg_spark.schemas import KEPT, QUERY_SCORES

#: How often nights are looked at again while other files of them are missing than before.
_LOOKS = 10


@dataclasses.dataclass(frozen=True)
class CommittedNight:
    """A night that is whole, with the record of its evaluation."""

    dataset: str
    evaluated_on: str
    #: The folder of its rows in every table: dataset=.../evaluated_on=...
    folder: str
    record: dict[str, Any]

    @property
    def is_good(self) -> bool:
        """Whether later nights may be compared with it: its verdict was a pass, or somebody has accepted it."""
        return bool(self.record.get("accepted")) or (self.record.get("verdict") or {}).get("verdict") == "pass"


def committed(output: str) -> list[CommittedNight]:
    """Every committed night, sorted by dataset and date.

    Raises
    ------
    StorageError
        The output is no folder or cannot be read, or a record stands without its files.
    """
    store = Store(output)
    store.refuse_a_file()
    with _as_storage_error(store, "cannot be read from"):
        nights, missing = _nights_and_missing_files(store)
        for _ in range(_LOOKS):
            before = missing
            # A rerun may have replaced a night after its record was read and before its files were listed.
            if before:
                nights, missing = _nights_and_missing_files(store)
            if missing == before:
                break
    if missing:
        place, name = missing[0]
        raise StorageError(
            f"output: {len(missing)} file(s) are gone from {store.place} that committed nights consist of, e.g. {name} "
            f"of {place}; run these dates again, or restore the files"
        )
    return sorted(nights, key=lambda night: (night.dataset, night.evaluated_on))


def read_scores(output: str, table: str = "dataset_scores", session: SparkSession | None = None) -> DataFrame:
    """The rows of all committed nights in one table, in its schema and in no order.

    Parameters
    ----------
    output : str
        The folder that keeps the scores, as the engine names it.
    table : str
        `dataset_scores`, `query_scores`, `comparisons`, `ranked_documents` or `rejected_rows`.
    session : SparkSession, optional
        The session to read with; by default the active one.

    Raises
    ------
    StorageError
        There is no session, no such table or no committed night; or as `committed`.
    """
    reader = session or SparkSession.getActiveSession()
    if reader is None:
        raise StorageError("read_scores: there is no active session; give one with session=")
    if table not in TABLES:
        near = did_you_mean(table, TABLES)
        raise StorageError(f"read_scores: no table is called {table!r}{near}; one of {', '.join(TABLES)}")
    nights = committed(output)
    if not nights:
        raise StorageError(f"read_scores: no committed night in {masked(output)}; check the path")
    schema, store = KEPT[table], Store(output)
    with _as_storage_error(store, "cannot be read from"):
        has_files = bool(store.files(table, ".parquet"))
    if not has_files:
        return reader.createDataFrame([], schema)
    rows = reader.read.schema(schema).parquet(store.for_engine(table))
    return rows.where(
        functools.reduce(Column.__or__, (_is_of(night.dataset, night.evaluated_on) for night in nights))
    ).select(*schema.names)


def night_scores(output: str, dataset: str, evaluated_on: str, session: SparkSession) -> DataFrame:
    """The rows of QUERY_SCORES of one committed night, in no order; null in columns that an older version lacks."""
    rows = session.read.schema(QUERY_SCORES).parquet(Store(output).for_engine("query_scores"))
    return rows.where(_is_of(dataset, evaluated_on)).select(*QUERY_SCORES.names)


def expire(output: str, keep_days: int, today: datetime.date) -> list[str]:
    """Remove all nights dated more than `keep_days` before today, after a `recover`. Returns a sentence for each.

    Nights without a record are removed too, because an earlier removal may have been interrupted. Raises as `recover`.
    """
    done = recover(output)
    store = Store(output)
    oldest = _oldest(keep_days, today)
    with _as_storage_error(store, "cannot be removed from"):
        if not _before(store, oldest):
            return done
        with working(store) as claim:
            for folder in _before(store, oldest):
                # The record is the first of these places: without it the night no longer counts as committed.
                for place in PLACES:
                    claim.hold()
                    store.delete(f"{place}/{folder}")
                dataset, evaluated_on = night_of(folder)
                done.append(f"removed {dataset} of {evaluated_on}")
    return done


def would_expire(output: str, keep_days: int, today: datetime.date) -> list[str]:
    """A sentence for each night that `expire` would remove. Nothing is changed. Raises StorageError."""
    store = Store(output)
    store.refuse_a_file()
    with _as_storage_error(store, "cannot be read from"):
        nights = [night_of(folder) for folder in _before(store, _oldest(keep_days, today))]
    return [f"would remove {dataset} of {evaluated_on}" for dataset, evaluated_on in nights]


def _oldest(keep_days: int, today: datetime.date) -> str:
    """The date of the oldest night that is kept."""
    # Python's dates begin with the year 1.
    days = min(max(keep_days, 0), (today - datetime.date.min).days)
    return (today - datetime.timedelta(days=days)).isoformat()


def _nights_and_missing_files(store: Store) -> tuple[list[CommittedNight], list[tuple[str, str]]]:
    """Every night with a record, and the files that records name and that are gone: the night's folder and the file."""
    nights, missing = [], []
    for path in store.files(RECORDS, ".json"):
        folder = path.removeprefix(f"{RECORDS}/").rpartition("/")[0]
        record = store.find_json(path)
        # None if a rerun is just replacing this night.
        if record is not None:
            nights.append(CommittedNight(*night_of(folder), folder, record))
    there = {path for table in TABLES for path in store.files(table, ".parquet")} if nights else set()
    with_scores = {path.rpartition("/")[0] for path in there}
    for night in nights:
        files = night.record.get("files")
        if isinstance(files, dict):
            wanted = [f"{table}/{night.folder}/{name}" for table, names in files.items() for name in names]
            missing += [(night.folder, path) for path in wanted if path not in there]
        elif f"dataset_scores/{night.folder}" not in with_scores:
            # Records of earlier versions do not name the files; every night has dataset scores.
            missing.append((night.folder, "dataset_scores"))
    return nights, missing


@contextlib.contextmanager
def _as_storage_error(store: Store, failed: str) -> Iterator[None]:
    try:
        yield
    except FAILURES as error:
        raise StorageError(f"output: {store.place} {failed}, {error}; check rights, then run again") from error


def _before(store: Store, date: str) -> list[str]:
    """The folders of all nights before a date, in any of the tables, sorted by dataset and date."""
    folders = {
        f"{dataset}/{night}"
        for place in (RECORDS, *TABLES)
        for dataset in store.folders(place)
        for night in store.folders(f"{place}/{dataset}")
        if dataset.startswith("dataset=") and night.startswith("evaluated_on=")
    }
    return sorted((folder for folder in folders if night_of(folder)[1] < date), key=night_of)


def _is_of(dataset: str, evaluated_on: str) -> Column:
    return (F.col("dataset") == F.lit(dataset)) & (F.col("evaluated_on") == F.to_date(F.lit(evaluated_on)))
