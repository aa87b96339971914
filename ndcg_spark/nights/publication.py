"""Scores go to a staging folder, are read back and verified, and are moved into place; the commit record comes last.

What decides is one small file, the journal in the staging folder: until it is there the old night stands and
staging is waste; once it is there the new night will stand, finished by this process or by the next one. One
evaluation of an output commits at a time.
"""

import contextlib
from collections.abc import Mapping
from typing import Any

from pyarrow import parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from ndcg_spark.errors import StorageError
from ndcg_spark.nights import commit, lock, recovery, store
from ndcg_spark.nights.commit import JOURNAL, Moves
from ndcg_spark.nights.recovery import OWNER
from ndcg_spark.nights.store import FAILURES, STAGING, Store
from ndcg_spark.schemas import PARTITIONS


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
        except FAILURES as error:
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
        except FAILURES as error:
            raise StorageError(f"output: {name} cannot be read back, {error}; nothing was published") from error
        if found != rows:
            raise StorageError(
                f"output: {found} of {rows} rows of {name} were read back from {self._store.output}/{self._staging}; "
                "nothing was published. If the engine is a cluster, give the output as a URI that this machine sees too"
            )

    def commit(self, record: Mapping[str, Any]) -> None:
        """Move every partition into place, replacing that dataset's date and nothing else, and write the record.

        Waits for other evaluations that commit to the output, and finishes what dead ones have left midway. A failure
        puts the old night back; a process that is killed leaves a journal that the next one goes on from.
        """
        try:
            with lock.claimed(self._store, self._id) as claim:
                # One that is finished after this commit would put its own night into this one's place.
                recovery.settle(self._store, claim)
                journal = commit.journal_of(self._store, self._id, record)
                done: Moves = []
                try:
                    self._store.write_json(f"{self._staging}/{JOURNAL}", journal)
                    commit.finish(self._store, journal, claim.hold, done)
                except FAILURES as error:
                    self._undo(journal, done, error)
                    raise
        except FAILURES as error:
            raise StorageError(
                f"output: {self._store.output} cannot be written, {error}; the old night was kept, "
                "check space and rights"
            ) from error
        # The night stands; what is left of the old one is waste now, and the next run removes it too.
        with contextlib.suppress(*FAILURES):
            self._store.delete(self._staging)

    def abandon(self) -> None:
        """Remove what was staged, unless it is committed already and only waits to be finished."""
        with contextlib.suppress(*FAILURES):
            if not self._store.exists(f"{self._staging}/{JOURNAL}"):
                self._store.delete(self._staging)

    def _undo(self, journal: Mapping[str, Any], done: Moves, error: BaseException) -> None:
        try:
            commit.undo(self._store, journal, done)
        except FAILURES as second:
            place = self._store.output
            raise StorageError(f"output: {place} fails midway, {second}; ndcg-spark recover {place} goes on") from error
