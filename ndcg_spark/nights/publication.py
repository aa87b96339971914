"""Scores go to a staging folder, are read back and verified, and are moved into place; the commit record comes last.

One small file decides: the journal in the staging folder. Before it is written, the old night stands and the staging
folder is waste. Afterwards the new night will stand, completed by this process or by the next. Only one evaluation at a
time commits to an output.
"""

import contextlib
import datetime
from collections.abc import Iterator, Mapping
from typing import Any

from pyarrow import parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from ndcg_spark.errors import StorageError
from ndcg_spark.nights import commit, liveness, lock, recovery, store
from ndcg_spark.nights.journal import JOURNAL, Journal, StagedPartition
from ndcg_spark.nights.lock import Claim, LostClaimError
from ndcg_spark.nights.recovery import OWNER
from ndcg_spark.nights.store import FAILURES, STAGING, Store
from ndcg_spark.schemas import PARTITIONS

#: The rows of every staged Parquet file, by its path in the staging folder.
_Rows = dict[str, int]


class Publication:
    """Publishes the scores of one evaluation: one night of each of its datasets.

    Call stage and verify for every table, and read where the rows are needed; then commit, or abandon if anything
    failed. Readers see nothing of it before the commit.
    """

    def __init__(self, output: str, evaluation_id: str) -> None:
        self._store = Store(output)
        self._id = evaluation_id
        self._staging = f"{STAGING}/{evaluation_id}"
        self._verified: dict[str, _Rows | None] = {}

    def stage(self, name: str, table: DataFrame) -> None:
        """Write a table, partitioned by dataset and evaluated_on, to the staging folder. An action."""
        try:
            if not self._store.exists(f"{self._staging}/{OWNER}"):
                self._store.write_json(f"{self._staging}/{OWNER}", liveness.owner())
        except FAILURES as error:
            raise StorageError(
                f"output: {self._store.place} cannot be made, {error}; check its path and rights"
            ) from error
        self._verified[name] = None
        table.write.partitionBy(*PARTITIONS).parquet(self._store.for_engine(f"{self._staging}/{name}"))

    def read(self, name: str, session: SparkSession, schema: StructType) -> DataFrame:
        """The staged table, in this schema."""
        return session.read.schema(schema).parquet(self._store.for_engine(f"{self._staging}/{name}"))

    def rows(self, name: str, schema: StructType) -> list[dict[str, Any]]:
        """The rows of a small staged table in this schema, in no order, read without the engine. StorageError."""
        table, found = f"{self._staging}/{name}", []
        stored = [field for field in schema.names if field not in PARTITIONS]
        with self._readable(name):
            for path in self._store.files(table, ".parquet"):
                dataset, date = store.night_of(path.removeprefix(f"{table}/").rpartition("/")[0])
                night = {"dataset": dataset, "evaluated_on": datetime.date.fromisoformat(date)}
                with self._store.open(path) as stream, pq.ParquetFile(stream) as file:
                    found += [{**night, **row} for row in file.read(columns=stored).to_pylist()]
        return found

    def verify(self, name: str, rows: int) -> None:
        """Read the footers of all staged files. StorageError unless they add up to this many rows.

        On a cluster that also shows whether this process sees the files that the engine wrote.
        """
        read = self._footers(name)
        if sum(read.values()) != rows:
            raise StorageError(
                f"output: {sum(read.values())} of {rows} rows of {name} were read back from "
                f"{self._store.place}/{self._staging}; nothing was published. If the engine is a cluster, give the "
                "output as a URI that this machine sees too"
            )
        self._verified[name] = read

    def commit(self, record: Mapping[str, Any], of_datasets: Mapping[str, Mapping[str, Any]] | None = None) -> None:
        """Move every partition into place, replacing that dataset's date and nothing else, and write the record.

        `of_datasets` is what the record of a dataset's night has beside that of the others, such as its verdict.
        Waits while other evaluations commit to the output, and completes the commits of dead ones. A failure puts the
        old night back. A process that is killed leaves its journal, from which the next one continues.

        Raises
        ------
        StorageError
            The staged files are not the verified ones, or the storage fails. The message says which night stands.
        """
        try:
            with lock.claimed(self._store, self._id) as claim:
                # A commit that is completed after this one would replace this one's night.
                recovery.settle(self._store, claim)
                journal = commit.with_replaced(self._store, self._journal(record, of_datasets or {}))
                try:
                    commit.begin(self._store, journal, claim.hold)
                    commit.finish(self._store, journal, claim.hold)
                except LostClaimError:
                    raise
                except (StorageError, *FAILURES) as error:
                    raise self._undone(journal, claim, error) from error
                # The night stands. If the journal cannot be removed, completing it again changes nothing.
                with contextlib.suppress(*FAILURES):
                    self._store.delete(journal.path)
        except FAILURES as error:
            raise StorageError(
                f"output: {self._store.place} cannot be written, {error}; nothing was published, check space and rights"
            ) from error
        # What remains in staging is the old night. If it cannot be removed, the next run does it.
        with contextlib.suppress(*FAILURES):
            self._store.delete_staging(self._id)

    def abandon(self) -> None:
        """Remove what was staged, unless there is a journal, so that the next process completes the commit."""
        with contextlib.suppress(*FAILURES):
            if not self._store.exists(f"{self._staging}/{JOURNAL}"):
                self._store.delete_staging(self._id)

    def _journal(self, record: Mapping[str, Any], of_datasets: Mapping[str, Mapping[str, Any]]) -> Journal:
        """A journal of what is staged. StorageError unless that is what was verified."""
        staged: dict[str, dict[str, StagedPartition]] = {}
        for name, verified in self._verified.items():
            read = self._footers(name)
            if verified is None or read != verified:
                gone = sorted({*(verified or {})} - {*read}) or [name]
                raise StorageError(
                    f"output: {name} is not staged as it was verified, {len(read)} of {len(verified or {})} file(s) "
                    f"in {self._store.place}/{self._staging}, e.g. not {gone[0]}; nothing was published. "
                    "Find out what removes files there, then run again"
                )
            staged[name] = {}
            for folder in sorted({path.rpartition("/")[0] for path in read}):
                staged[name][store.partition(*store.night_of(folder))] = StagedPartition(
                    folder=folder,
                    files=self._store.names(f"{self._staging}/{name}/{folder}"),
                    rows={path.rpartition("/")[2]: n for path, n in read.items() if path.startswith(f"{folder}/")},
                )
        nights = sorted(set().union(*staged.values()))
        if not nights:
            raise StorageError(f"output: no scores are staged for {self._store.place}; nothing was published")
        own = {night: dict(of_datasets.get(store.night_of(night)[0], {})) for night in nights}
        return Journal.model_validate(
            {
                "evaluation_id": self._id,
                "nights": nights,
                "staged": staged,
                "record": dict(record),
                "of_nights": {night: found for night, found in own.items() if found},
            }
        )

    def _footers(self, name: str) -> _Rows:
        table, rows = f"{self._staging}/{name}", {}
        with self._readable(name):
            for path in self._store.files(table, ".parquet"):
                with self._store.open(path) as stream:
                    rows[path.removeprefix(f"{table}/")] = pq.read_metadata(stream).num_rows
        return rows

    @staticmethod
    @contextlib.contextmanager
    def _readable(name: str) -> Iterator[None]:
        """StorageError where what was staged cannot be read."""
        try:
            yield
        except FAILURES as error:
            raise StorageError(f"output: {name} cannot be read back, {error}; nothing was published") from error

    def _undone(self, journal: Journal, claim: Claim, error: BaseException) -> StorageError:
        """Put the old nights back after a failure. Returns the error to raise, which says which night stands."""
        place = self._store.place
        try:
            if commit.undo(self._store, journal, claim.hold):
                self._store.delete(journal.path)
                old = "the old night was kept" if any((journal.replaced or {}).values()) else "nothing was published"
                return StorageError(f"output: {place} cannot be written, {error}; {old}, check space and rights")
            reason = "and what stood before is not whole"
        except LostClaimError as lost:
            return lost
        except FAILURES as second:
            reason = str(second)
        return StorageError(f"output: {place} fails midway, {error}, {reason}; ndcg-spark recover {place} goes on")
