"""Scores go to a staging folder, are read back and verified, and are moved into place; the commit record comes last."""

import json
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
from pyarrow import fs
from pyarrow import parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from ndcg_spark import files
from ndcg_spark.errors import StorageError
from ndcg_spark.schemas import PARTITIONS

_STAGING = "_staging"
_RECORDS = "_evaluations"
_REPLACED = "_replaced"


class Night:
    """One evaluation on its way to the folder that keeps scores.

    The order of calls is stage, verify, read, and at the end commit; until commit no reader sees a thing. A commit that
    fails puts back what it had moved; one whose process is killed leaves what it replaced in the staging folder.
    """

    def __init__(self, output: str, evaluation_id: str) -> None:
        self.output = output.rstrip("/") or "/"
        self.evaluation_id = evaluation_id
        self._system, self._root = files.storage(self.output, "output", StorageError)
        self._staging = f"{_STAGING}/{evaluation_id}"
        self._tables: list[str] = []
        #: What the commit has done so far: folders moved, records written.
        self._moves: list[tuple[str, str]] = []
        self._records: list[str] = []

    def stage(self, name: str, table: DataFrame) -> None:
        """Write a score table, partitioned by dataset and evaluated_on, where no reader looks. An action."""
        try:
            self._create(f"{self._root}/{self._staging}")
        except (OSError, pa.ArrowException) as error:
            raise StorageError(
                f"output: {self.output} cannot be made, {error}; check the path and its rights"
            ) from error
        table.write.partitionBy(*PARTITIONS).parquet(f"{self._engine_root()}/{self._staging}/{name}")
        self._tables.append(name)

    def read(self, name: str, session: SparkSession, schema: StructType) -> DataFrame:
        """The staged table as it was written."""
        return session.read.schema(schema).parquet(f"{self._engine_root()}/{self._staging}/{name}")

    def verify(self, name: str, rows: int) -> None:
        """Read back every footer: StorageError unless the staged table has this many rows, and this driver sees it."""
        staged = self._files(f"{self._root}/{self._staging}/{name}")
        try:
            found = sum(pq.read_metadata(path, filesystem=self._system).num_rows for path in staged)
        except (OSError, pa.ArrowException) as error:
            raise StorageError(f"output: {name} cannot be read back, {error}; nothing was published") from error
        if found != rows:
            raise StorageError(
                f"output: {found} of {rows} rows of {name} were read back from {self.output}/{self._staging}; nothing "
                "was published. If the engine is a cluster, give the output as a URI that this machine sees too"
            )

    def commit(self, record: Mapping[str, Any]) -> None:
        """Move every partition into place, replacing that dataset's date and nothing else, and write the record.

        Of one partition both tables go before either comes: a reader never sees two nights of a date.
        """
        try:
            staged = {name: self._partitions(name) for name in self._tables}
            for partition in sorted(set().union(*staged.values())):
                for name in self._tables:
                    self._move_if_there(f"{name}/{partition}", f"{self._staging}/{_REPLACED}/{name}/{partition}")
                for name in self._tables:
                    self._move_if_there(f"{self._staging}/{name}/{partition}", f"{name}/{partition}")
            for partition in sorted(set().union(*staged.values())):
                self._write(f"{_RECORDS}/{partition}/{self.evaluation_id}.json", record)
        except (OSError, pa.ArrowException) as error:
            self.abandon()
            raise StorageError(f"output: {self.output} cannot be written, {error}; the old night was kept") from error
        self._moves.clear()
        self._records.clear()
        self.abandon()

    def abandon(self) -> None:
        """Put back what an unfinished commit has moved, and remove what was staged."""
        for path in self._records:
            self._system.delete_file(path)
        while self._moves:
            source, target = self._moves.pop()
            self._system.move(f"{self._root}/{target}", f"{self._root}/{source}")
        staging = f"{self._root}/{self._staging}"
        if self._system.get_file_info(staging).type != fs.FileType.NotFound:
            self._system.delete_dir(staging)

    def _partitions(self, name: str) -> list[str]:
        """`dataset=.../evaluated_on=...` of every staged partition, as the engine spelled it."""
        base = f"{self._root}/{self._staging}/{name}/"
        return sorted({path.removeprefix(base).rpartition("/")[0] for path in self._files(base.rstrip("/"))})

    def _move_if_there(self, source: str, target: str) -> None:
        if self._system.get_file_info(f"{self._root}/{source}").type == fs.FileType.NotFound:
            return
        self._create(f"{self._root}/{target}".rpartition("/")[0])
        self._system.move(f"{self._root}/{source}", f"{self._root}/{target}")
        self._moves.append((source, target))

    def _write(self, path: str, record: Mapping[str, Any]) -> None:
        place = f"{self._root}/{path}"
        self._create(place.rpartition("/")[0])
        with self._system.open_output_stream(place) as stream:
            self._records.append(place)
            stream.write((json.dumps(record, indent=2, ensure_ascii=False) + "\n").encode())

    def _files(self, folder: str) -> list[str]:
        selector = fs.FileSelector(folder, recursive=True, allow_not_found=True)
        return sorted(
            info.path
            for info in self._system.get_file_info(selector)
            if info.type == fs.FileType.File and info.path.endswith(".parquet")
        )

    def _create(self, folder: str) -> None:
        self._system.create_dir(folder, recursive=True)

    def _engine_root(self) -> str:
        return self.output if "://" in self.output else self._root
