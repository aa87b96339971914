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


class Night:
    """One evaluation on its way to the folder that keeps scores.

    The order of calls is stage, verify, read, and at the end commit; until commit no reader sees a thing.
    """

    def __init__(self, output: str, evaluation_id: str) -> None:
        self.output = output.rstrip("/") or "/"
        self.evaluation_id = evaluation_id
        self._system, self._root = files.storage(self.output, "output", StorageError)
        self._staging = f"{_STAGING}/{evaluation_id}"
        self._tables: list[str] = []

    def stage(self, name: str, table: DataFrame) -> None:
        """Write a score table, partitioned by dataset and evaluated_on, where no reader looks. An action."""
        self._create(self._root)
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
        """Move every partition into place, replacing that dataset's date and nothing else, and write the record."""
        try:
            partitions = {name: self._partitions(name) for name in self._tables}
            for name, folders in partitions.items():
                for folder in folders:
                    self._replace(f"{name}/{folder}")
            for folder in sorted({folder for folders in partitions.values() for folder in folders}):
                self._write(f"{_RECORDS}/{folder}/{self.evaluation_id}.json", record)
            self._system.delete_dir(f"{self._root}/{self._staging}")
        except (OSError, pa.ArrowException) as error:
            raise StorageError(
                f"output: {self.output} cannot be written, {error}; check its space and rights"
            ) from error

    def abandon(self) -> None:
        """Remove what was staged, if anything was; for an evaluation that failed."""
        staging = f"{self._root}/{self._staging}"
        if self._system.get_file_info(staging).type != fs.FileType.NotFound:
            self._system.delete_dir(staging)

    def _partitions(self, name: str) -> list[str]:
        """`dataset=.../evaluated_on=...` of every staged partition, as the engine spelled it."""
        base = f"{self._root}/{self._staging}/{name}/"
        return sorted({path.removeprefix(base).rpartition("/")[0] for path in self._files(base.rstrip("/"))})

    def _replace(self, folder: str) -> None:
        target, staged = f"{self._root}/{folder}", f"{self._root}/{self._staging}/{folder}"
        aside = f"{self._root}/{self._staging}/_replaced/{folder}"
        if self._system.get_file_info(target).type != fs.FileType.NotFound:
            self._create(aside.rpartition("/")[0])
            self._system.move(target, aside)
        self._create(target.rpartition("/")[0])
        self._system.move(staged, target)

    def _write(self, path: str, record: Mapping[str, Any]) -> None:
        self._create(f"{self._root}/{path}".rpartition("/")[0])
        with self._system.open_output_stream(f"{self._root}/{path}") as stream:
            stream.write((json.dumps(record, indent=2, ensure_ascii=False) + "\n").encode())

    def _files(self, folder: str) -> list[str]:
        selector = fs.FileSelector(folder, recursive=True, allow_not_found=True)
        return sorted(
            info.path
            for info in self._system.get_file_info(selector)
            if info.type == fs.FileType.File and info.path.endswith(".parquet")
        )

    def _create(self, folder: str) -> None:
        try:
            self._system.create_dir(folder, recursive=True)
        except (OSError, pa.ArrowException) as error:
            raise StorageError(f"output: {folder} cannot be made, {error}; check the path and its rights") from error

    def _engine_root(self) -> str:
        return self.output if "://" in self.output else self._root
