"""An evaluation stages its tables, verifies them, moves each night to a folder of its own, and writes the records.

Nothing is overwritten, so a process that is killed at any point leaves the old night, or the new one if its record was
written. What it has staged or moved without a record is ignored.
"""

import contextlib
from collections.abc import Collection, Iterator, Mapping
from typing import Any

import pyarrow as pa
from pyarrow import dataset as ds
from pyarrow import parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from ndcg_spark.errors import StorageError
from ndcg_spark.nights.expire import remove_superseded
from ndcg_spark.nights.layout import FAILURES, STAGING, TABLES, Store, night_folder, night_of
from ndcg_spark.nights.record_format import EVALUATION_FILE, evaluation_row
from ndcg_spark.nights.records import all_records, write_record
from ndcg_spark.schemas import PARTITIONS

#: The rows and bytes of every Parquet file of a staged table, by its path in it.
_Files = dict[str, dict[str, int]]
#: By table, the staged folder of a night and its files by name.
_Staged = dict[str, tuple[str, _Files]]


class Publication:
    """Publishes the scores of one evaluation: one night of each of its datasets.

    Call `stage` and `verify` for every table, and `read` where rows are needed; then `commit`, or `abandon` if anything
    failed. Our readers see nothing before the commit.
    """

    #: Whether `commit` needs the engine.
    needs_engine = False

    def __init__(self, output: str, evaluation_id: str) -> None:
        self._store = Store(output)
        self._id = evaluation_id
        self._staging = f"{STAGING}/{evaluation_id}"
        self._verified: dict[str, _Files] = {}

    def stage(self, name: str, table: DataFrame) -> None:
        """Add rows to a table in the staging folder, partitioned as it will be kept. Runs a job of the engine."""
        self._store.refuse_a_file()
        place = self._store.for_engine(f"{self._staging}/{name}")
        table.write.parquet(place, mode="append", partitionBy=list(PARTITIONS))

    def read(self, name: str, session: SparkSession, schema: StructType) -> DataFrame:
        """The staged table, in this schema."""
        return session.read.schema(schema).parquet(self._store.for_engine(f"{self._staging}/{name}"))

    def rows(self, name: str, schema: StructType) -> list[dict[str, Any]]:
        """The rows of a small staged table in no order, read without the engine. Raises StorageError."""
        with self._readable(name):
            return list(self._dataset(name, schema).to_table().to_pylist())

    def verify(self, name: str, rows: int) -> None:
        """Read the footers of all staged files. StorageError unless they add up to this many rows.

        On a cluster this also verifies that this process sees the files that the engine wrote.
        """
        table, read = f"{self._staging}/{name}", {}
        with self._readable(name):
            for path, size in self._store.files(table, ".parquet").items():
                with self._store.open(path) as stream:
                    count = pq.read_metadata(stream).num_rows
                read[path.removeprefix(f"{table}/")] = {"rows": count, "bytes": size}
        found = sum(file["rows"] for file in read.values())
        if found != rows:
            raise StorageError(
                f"output: {found} of {rows} rows of {name} were read back from {self._store.place}/{self._staging}; "
                "nothing was published. If the engine is a cluster, give the output as a URI that this machine sees too"
            )
        self._verified[name] = read

    def commit(
        self, record: Mapping[str, Any], of_datasets: Mapping[str, Mapping[str, Any]] | None = None
    ) -> list[str]:
        """Move the tables of every night into place, then write the records, and remove what they supersede.

        `of_datasets` has more entries for the record of each dataset's night, such as its verdict. Returns a sentence
        for each night that another evaluation has superseded, because it was published at the same time.

        Raises
        ------
        StorageError
            What was staged is gone, or the storage fails. The message says which nights were published.
        """
        nights = self._nights()
        if not nights:
            raise StorageError(f"output: no scores were staged for {self._store.place}; nothing was published")
        try:
            records = {
                night: self._with_evaluation(night, tables, {**record, **(of_datasets or {}).get(night[0], {})})
                for night, tables in nights.items()
            }
            for night, tables in nights.items():
                self._move(night, tables)
            for night, of_night in records.items():
                write_record(self._store, *night, self._id, of_night)
        except FAILURES as error:
            published = self._published(nights)
            self.abandon()
            raise StorageError(
                f"output: {self._store.place} cannot be written, {error}; {published}, check space and rights"
            ) from error
        superseded = []
        # The next evaluation removes what cannot be removed now.
        with contextlib.suppress(*FAILURES):
            for dataset, date in nights:
                evaluations = all_records(self._store, night_folder(dataset, date))
                remove_superseded(evaluations)
                newest = evaluations[-1].evaluation_id if evaluations else self._id
                if newest != self._id:
                    superseded.append(f"{dataset} of {date}: {newest}, which was published at the same time, counts")
            self._store.delete(self._staging)
        return superseded

    def abandon(self) -> None:
        """Remove what was staged, and what was moved of nights that have no record of this evaluation."""
        with contextlib.suppress(*FAILURES):
            for night in self._nights() if self._verified else ():
                for table in () if self._has_record(night) else TABLES:
                    self._store.delete(f"{table}/{night_folder(*night)}/evaluation_id={self._id}")
            self._store.delete(self._staging)

    def _dataset(self, name: str, schema: StructType) -> ds.Dataset:
        """A staged table, in this schema, as this process reads it. Raises FAILURES."""
        kinds = to_arrow_schema(schema)
        night = ds.partitioning(pa.schema([kinds.field(column) for column in PARTITIONS]), flavor="hive")
        return ds.dataset(self._store.at(f"{self._staging}/{name}"), kinds, "parquet", self._store.system, night)

    def _nights(self) -> dict[tuple[str, str], _Staged]:
        """The staged tables of each night, by its dataset and date."""
        nights: dict[tuple[str, str], _Staged] = {}
        for name, files in self._verified.items():
            for path, file in files.items():
                folder, _, base = path.rpartition("/")
                _, of_night = nights.setdefault(night_of(folder), {}).setdefault(name, (folder, {}))
                of_night[base] = file
        return nights

    def _with_evaluation(self, night: tuple[str, str], tables: _Staged, record: dict[str, Any]) -> dict[str, Any]:
        """The record of a night with its files. Stages its row of EVALUATIONS, which is one of them."""
        record["files"] = {name: files for name, (_, files) in tables.items()}
        content, folder = evaluation_row(record), f"{night_folder(*night)}/evaluation_id={self._id}"
        self._store.write(f"{self._staging}/evaluations/{folder}/{EVALUATION_FILE}", content)
        tables["evaluations"] = (folder, {EVALUATION_FILE: {"rows": 1, "bytes": len(content)}})
        record["files"]["evaluations"] = {EVALUATION_FILE: {"rows": 1, "bytes": None}}
        return record

    def _move(self, night: tuple[str, str], tables: _Staged) -> None:
        """Move the tables of a night into place. FileNotFoundError unless all its files are there."""
        for name, (folder, files) in tables.items():
            target = f"{name}/{night_folder(*night)}/evaluation_id={self._id}"
            self._store.move(f"{self._staging}/{name}/{folder}", target)
            sizes = self._store.files(target, ".parquet")
            lost = [base for base, file in files.items() if sizes.get(f"{target}/{base}") != file["bytes"]]
            if lost:
                raise FileNotFoundError(f"{len(lost)} verified file(s) of {name} are gone, e.g. {lost[0]}")

    def _has_record(self, night: tuple[str, str]) -> bool:
        return self._id in {each.evaluation_id for each in all_records(self._store, night_folder(*night))}

    def _published(self, nights: Collection[tuple[str, str]]) -> str:
        """A clause that says which of these nights were published before the storage failed."""
        try:
            names = [f"{dataset} of {date}" for dataset, date in nights if self._has_record((dataset, date))]
        except FAILURES:
            return f"ndcg-spark nights {self._store.place} shows whether anything was published"
        some = "everything was published" if len(names) == len(nights) else f"only {', '.join(names)} was published"
        return some if names else "nothing was published"

    @contextlib.contextmanager
    def _readable(self, name: str) -> Iterator[None]:
        """StorageError where what was staged cannot be read."""
        try:
            yield
        except FAILURES as error:
            raise StorageError(f"output: {name} cannot be read back, {error}; nothing was published") from error
