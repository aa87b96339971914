"""Scores go to a staging folder, are read back and verified, and are moved into place; the commit record comes last.

What decides is one small file, `_commit.json` in the staging folder: until it is there the old night stands and
staging is waste; once it is there the new night will stand, finished by this process or by the next one.
"""

import contextlib
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
from pyarrow import parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from ndcg_spark import store
from ndcg_spark.errors import StorageError
from ndcg_spark.schemas import PARTITIONS
from ndcg_spark.store import RECORDS, STAGING, TABLES, Store

OWNER = "_owner.json"
JOURNAL = "_commit.json"
_REPLACED = "_replaced"
_FAILURES = (OSError, pa.ArrowException)


class Night:
    """One evaluation on its way to the folder that keeps scores.

    The order of calls is stage, verify, read, and at the end commit; until commit no reader sees a thing.
    """

    def __init__(self, output: str, evaluation_id: str) -> None:
        self._store = Store(output)
        self._id = evaluation_id
        self._staging = f"{STAGING}/{evaluation_id}"

    def stage(self, name: str, table: DataFrame) -> None:
        """Write a score table, partitioned by dataset and evaluated_on, where no reader looks. An action."""
        try:
            if not self._store.exists(f"{self._staging}/{OWNER}"):
                self._store.write_json(f"{self._staging}/{OWNER}", store.owner())
        except _FAILURES as error:
            raise StorageError(
                f"output: {self._store.output} cannot be made, {error}; check its path and rights"
            ) from error
        table.write.partitionBy(*PARTITIONS).parquet(self._store.for_engine(f"{self._staging}/{name}"))

    def read(self, name: str, session: SparkSession, schema: StructType) -> DataFrame:
        """The staged table as it was written."""
        return session.read.schema(schema).parquet(self._store.for_engine(f"{self._staging}/{name}"))

    def verify(self, name: str, rows: int) -> None:
        """Read back every footer: StorageError unless the staged table has this many rows, and this driver sees it."""
        try:
            found = 0
            for path in self._store.files(f"{self._staging}/{name}", ".parquet"):
                with self._store.open(path) as stream:
                    found += pq.read_metadata(stream).num_rows
        except _FAILURES as error:
            raise StorageError(f"output: {name} cannot be read back, {error}; nothing was published") from error
        if found != rows:
            raise StorageError(
                f"output: {found} of {rows} rows of {name} were read back from {self._store.output}/{self._staging}; "
                "nothing was published. If the engine is a cluster, give the output as a URI that this machine sees too"
            )

    def commit(self, record: Mapping[str, Any]) -> None:
        """Move every partition into place, replacing that dataset's date and nothing else, and write the record.

        A failure puts the old night back; a process that is killed leaves a journal that `finish` goes on from.
        """
        moves: list[tuple[str, str]] = []
        try:
            spelled = {name: self._partitions(name) for name in TABLES}
            nights = sorted(set().union(*spelled.values()))
            journal = {"evaluation_id": self._id, "nights": nights, "spelled": spelled, "record": dict(record)}
            self._store.write_json(f"{self._staging}/{JOURNAL}", journal)
            finish(self._store, journal, moves)
        except _FAILURES as error:
            place = self._store.output
            try:
                self._undo(moves)
            except _FAILURES as second:
                raise StorageError(
                    f"output: {place} fails midway, {second}; ndcg-spark recover {place} goes on"
                ) from error
            raise StorageError(
                f"output: {place} cannot be written, {error}; the old night was kept, check space and rights"
            ) from error

    def abandon(self) -> None:
        """Remove what was staged, unless it is committed already and only waits to be finished."""
        with contextlib.suppress(*_FAILURES):
            if not self._store.exists(f"{self._staging}/{JOURNAL}"):
                self._store.delete(self._staging)

    def _undo(self, moves: list[tuple[str, str]]) -> None:
        for source, target in reversed(moves):
            self._store.move(target, source)
        self._store.delete(f"{self._staging}/{JOURNAL}")

    def _partitions(self, name: str) -> dict[str, str]:
        """Every staged partition: how it is called, and the folder that the engine has called it."""
        base = f"{self._staging}/{name}/"
        folders = {path.removeprefix(base).rpartition("/")[0] for path in self._store.files(base, ".parquet")}
        return {store.partition(*store.night_of(folder)): folder for folder in sorted(folders)}


def finish(found: Store, journal: Mapping[str, Any], moves: list[tuple[str, str]] | None = None) -> None:
    """Bring about the nights that a journal describes, from wherever its process had come to.

    Of one night, the old record and both old tables go before either new table comes: a reader never sees two nights of
    a date. A staged folder that is gone has come into place. What is moved is told in `moves`, in order.
    """
    done = moves if moves is not None else []
    staging = f"{STAGING}/{journal['evaluation_id']}"
    for night in journal["nights"]:
        record = f"{RECORDS}/{night}/{journal['evaluation_id']}.json"
        if found.exists(record):
            continue
        staged = {name: folders.get(night) for name, folders in journal["spelled"].items()}
        _move(found, f"{RECORDS}/{night}", f"{staging}/{_REPLACED}/{RECORDS}/{night}", done)
        for name, folder in staged.items():
            if folder is None or found.exists(f"{staging}/{name}/{folder}"):
                _move(found, f"{name}/{night}", f"{staging}/{_REPLACED}/{name}/{night}", done)
        for name, folder in staged.items():
            if folder is not None:
                _move(found, f"{staging}/{name}/{folder}", f"{name}/{night}", done)
        found.write_json(record, journal["record"])
        done.append((f"{staging}/{_REPLACED}/undone/{night}.json", record))
    found.delete(staging)


def _move(found: Store, source: str, target: str, moves: list[tuple[str, str]]) -> None:
    if found.exists(source):
        found.move(source, target)
        moves.append((source, target))
