"""The output folder: its layout, and the few operations on its storage that nights need.

OUTPUT/<table>/evaluated_on=2026-11-20/evaluation_id=ID/*.parquet    the rows of one evaluation; never changed
OUTPUT/evaluations/evaluated_on=2026-11-20/*.parquet                 the log; what has no row in it does not count
"""

import contextlib
import io
import os
import uuid
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import pyarrow as pa
from pyarrow import fs
from pyarrow import parquet as pq

from ndcg_spark.errors import StorageError, first_line
from ndcg_spark.inputs.storage import HDFS, storage
from ndcg_spark.text import masked

#: The folder of the log.
LOG = "evaluations"
#: The exceptions of a storage that fails; a RuntimeError is one of HDFS.
FAILURES = (OSError, RuntimeError, pa.ArrowException)
#: How many requests a remote storage gets at once. Its clients keep as many connections as pyarrow has threads.
_AT_ONCE = 64


class Store:
    """An output folder on any storage of pyarrow.fs. All paths are relative to it; what fails raises FAILURES."""

    def __init__(self, output: str) -> None:
        #: The output without secrets, for messages.
        self.location = masked(output)
        is_remote = "://" in output
        #: How many files to read at once: on a remote storage, reading is waiting.
        self.at_once = _AT_ONCE if is_remote else 4
        if is_remote and pa.io_thread_count() < _AT_ONCE:
            pa.set_io_thread_count(_AT_ONCE)
        base, root = storage(output, "output", StorageError)
        self._kind, self._root = base.type_name, root.rstrip("/")
        self._uri = output.rstrip("/") if is_remote else self._root
        self.system = fs.SubTreeFileSystem(self._root or "/", base)

    @contextlib.contextmanager
    def failures(self, failed: str) -> Iterator[None]:
        """Run the block; a failure of the storage in it becomes a StorageError that says what `failed`."""
        try:
            yield
        except FAILURES as error:
            advice = "check space, rights and address"
            raise StorageError(f"output: {self.location} {failed}, {first_line(error)}; {advice}") from error

    def for_engine(self, path: str) -> str:
        return f"{self._uri}/{path}"

    def files(self, path: str, suffix: str = ".parquet", tries: int = 10) -> dict[str, fs.FileInfo]:
        """The files below a folder whose names end in `suffix`, by path, sorted."""
        try:
            infos = self.system.get_file_info(fs.FileSelector(path, recursive=True, allow_not_found=True))
        except FileNotFoundError:
            # Another evaluation has removed a folder before this listing reached it.
            if tries == 1:
                raise
            return self.files(path, suffix, tries - 1)
        infos = (info for info in infos if info.type == fs.FileType.File and info.path.endswith(suffix))
        return {info.path: info for info in sorted(infos, key=lambda info: info.path)}

    def read(self, path: str) -> pq.ParquetFile:
        with self.system.open_input_stream(path) as stream:
            return pq.ParquetFile(pa.BufferReader(stream.read()))

    def add_rows(self, folder: str, rows: Iterable[Mapping[str, Any]], schema: pa.Schema) -> None:
        """Add a few rows as a new file, with null for a value that a row lacks.

        A thousand such files are read at once, in half the time if there is nothing in them but values.
        """
        content, table = io.BytesIO(), pa.Table.from_pylist([*rows], schema)
        plain = {"compression": "none", "use_dictionary": False, "write_statistics": False, "store_schema": False}
        pq.write_table(table, content, **plain)
        self.add(f"{folder}/{uuid.uuid4().hex}.parquet", content.getvalue())

    def add(self, path: str, content: bytes) -> None:
        """Add a small file, which no reader sees before it is whole. Its name must be new."""
        if self._kind not in ("local", *HDFS):
            # On object stores, a file is there once it is whole.
            with self.system.open_output_stream(path) as stream:
                stream.write(content)
            return
        above, _, name = path.rpartition("/")
        self.system.create_dir(above)
        # No glob for tables matches this name.
        part = f"{above}/.{name}.part"
        try:
            if self._kind == "local":
                # Rows of the log contain the configuration, so only the owner and the group may read them. They decide
                # what counts, so they must be on disk before they are visible.
                with os.fdopen(
                    os.open(f"{self._root}/{part}", os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o640), "wb"
                ) as file:
                    file.write(content)
                    file.flush()
                    os.fsync(file.fileno())
            else:
                with self.system.open_output_stream(part) as stream:
                    stream.write(content)
            self.system.move(part, path)
        except BaseException:
            with contextlib.suppress(*FAILURES):
                self.system.delete_file(part)
            raise

    def now(self) -> float:
        """The time by the storage's own clock, which stamps its files, in seconds."""
        path = f"{LOG}/.{uuid.uuid4().hex}.clock"
        self.add(path, b"")
        try:
            return float(self.system.get_file_info(path).mtime_ns / 1e9)
        finally:
            self.system.delete_file(path)

    def delete(self, path: str) -> bool:
        """Delete a file or a folder, and locally its parent if that is empty then; returns whether it was there."""
        kind = self.system.get_file_info(path).type
        # Another evaluation may remove it at the same time.
        with contextlib.suppress(FileNotFoundError):
            if kind == fs.FileType.Directory:
                self.system.delete_dir(path)
            elif kind == fs.FileType.File:
                self.system.delete_file(path)
        if self._kind == "local":
            with contextlib.suppress(OSError):
                os.rmdir(f"{self._root}/{path.rpartition('/')[0]}")  # noqa: PTH106
        return bool(kind != fs.FileType.NotFound)


def folder(table: str, evaluated_on: str, evaluation_id: str) -> str:
    return f"{table}/evaluated_on={evaluated_on}/evaluation_id={evaluation_id}"
