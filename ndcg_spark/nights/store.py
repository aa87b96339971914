"""The output folder: its layout, and the few operations on its storage that nights need.

OUTPUT/<table>/evaluated_on=2026-11-20/evaluation_id=ID/*.parquet    the rows of one evaluation; never changed
OUTPUT/evaluations/evaluated_on=2026-11-20/*.parquet                 the log; what has no row in it does not count
"""

import contextlib
import io
import os
import re
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import pyarrow as pa
from pyarrow import fs
from pyarrow import parquet as pq

from ndcg_spark.errors import StorageError, first_line
from ndcg_spark.inputs.storage import HDFS, storage
from ndcg_spark.masking import masked

#: The folder of the log.
LOG = "evaluations"
#: The exceptions of a storage that fails.
FAILURES = (OSError, pa.ArrowException)
#: How many requests a remote storage gets at once. Its clients keep as many connections as pyarrow has threads.
AT_ONCE = 64
_LOCAL_THREADS = 4
#: The storages where a file is written under another name and renamed. Elsewhere a file is there once it is whole.
_RENAMES = ("local", *HDFS)
#: How often a listing is repeated while other processes remove folders from it.
_LISTINGS = 10
#: Rows of the log contain the configuration, so only the owner and the group may read them.
_MODE = 0o640
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/(/?)")


class Stored(NamedTuple):
    """A file of the output: its size in bytes, and when it was written, in seconds by the storage's clock."""

    size: int
    written: float


class Store:
    """An output folder on any storage that pyarrow.fs supports. All paths are relative to it.

    Methods raise FAILURES if the storage fails, unless they say otherwise.
    """

    def __init__(self, output: str) -> None:
        if scheme := _SCHEME.match(output):
            name = scheme[1].lower()
            if not scheme[2] and name != "file":
                raise StorageError(f"output: {scheme[0]}... is neither a path nor a URI; write {name}://...")
            output = name + output[scheme.end(1) :]
        self.output = output.rstrip("/") or "/"
        #: The output without secrets, for messages.
        self.place = masked(self.output)
        is_remote = "://" in self.output
        #: How many files to read at once: on a remote storage, reading is waiting.
        self.at_once = AT_ONCE if is_remote else _LOCAL_THREADS
        if is_remote and pa.io_thread_count() < AT_ONCE:
            pa.set_io_thread_count(AT_ONCE)
        try:
            self.system, root = storage(self.output, "output", StorageError)
        except StorageError as error:
            raise StorageError(masked(str(error))) from error
        self._root = root.rstrip("/")

    def refuse_a_file(self) -> None:
        """StorageError if the output is a file or cannot be accessed. It need not exist yet."""
        with self.failures("cannot be read"):
            kind = self.system.get_file_info(self._root or "/").type
        if kind not in (fs.FileType.Directory, fs.FileType.NotFound):
            raise StorageError(f"output: {self.place} is a file, not a folder; check its path")

    @contextlib.contextmanager
    def failures(self, failed: str) -> Iterator[None]:
        """Run the block; a failure of the storage in it becomes a StorageError that says what `failed`."""
        try:
            yield
        except FAILURES as error:
            raise StorageError(f"output: {self.place} {failed}, {first_line(error)}; check space and rights") from error

    def at(self, path: str) -> str:
        """The path within the file system."""
        return f"{self._root}/{path}"

    def for_engine(self, path: str) -> str:
        """The whole path or URI, as engines expect it."""
        return f"{self.output if '://' in self.output else self._root}/{path}"

    def files(self, path: str, suffix: str = "") -> dict[str, Stored]:
        """The files below a folder whose names end in `suffix`, by path, sorted."""
        below = fs.FileSelector(self.at(path), recursive=True, allow_not_found=True)
        for again in reversed(range(_LISTINGS)):
            try:
                infos = self.system.get_file_info(below)
                break
            except FileNotFoundError:
                # Another evaluation has removed a folder before this listing reached it.
                if not again:
                    raise
        infos = [info for info in infos if info.type == fs.FileType.File and info.path.endswith(suffix)]
        infos.sort(key=lambda info: info.path)
        return {info.path.removeprefix(self.at("")): _stored(info) for info in infos}

    def sizes(self, paths: Iterable[str]) -> dict[str, int | None]:
        """The sizes of these files in bytes; None for one that does not exist."""
        named = {self.at(path): path for path in paths}
        return {named[info.path]: info.size for info in self.system.get_file_info([*named])}

    def open(self, path: str) -> Any:
        """The file, opened for pyarrow to read."""
        return self.system.open_input_file(self.at(path))

    def read(self, path: str) -> bytes:
        """The content of a small file."""
        with self.system.open_input_stream(self.at(path)) as stream:
            return bytes(stream.read())

    def add(self, path: str, content: bytes) -> None:
        """Add a small file, which no reader sees before it is whole. Its name must be new."""
        if self.system.type_name not in _RENAMES:
            self._write(path, content)
            return
        folder, _, _ = path.rpartition("/")
        self.system.create_dir(self.at(folder), recursive=True)
        # No glob for tables matches this name.
        part = f"{folder}/.{uuid.uuid4().hex}.part".lstrip("/")
        try:
            self._write(part, content)
            self.system.move(self.at(part), self.at(path))
        except BaseException:
            with contextlib.suppress(*FAILURES):
                self.system.delete_file(self.at(part))
            raise

    def _write(self, path: str, content: bytes) -> None:
        if self.system.type_name != "local":
            with self.system.open_output_stream(self.at(path)) as stream:
                stream.write(content)
            return
        with open(os.open(self.at(path), os.O_WRONLY | os.O_CREAT | os.O_EXCL, _MODE), "wb") as file:  # noqa: PTH123
            file.write(content)
            file.flush()
            # A row of the log decides what counts, so it must be on disk before it is visible.
            os.fsync(file.fileno())

    def now(self) -> float:
        """The time by the storage's own clock, which stamps its files, in seconds."""
        path = f".{uuid.uuid4().hex}.clock"
        self.add(path, b"")
        try:
            return _stored(self.system.get_file_info(self.at(path))).written
        finally:
            self.delete(path)

    def delete(self, path: str) -> bool:
        """Delete a file, or a folder with all that is in it. Returns False if there is none."""
        kind = self.system.get_file_info(self.at(path)).type
        # Another evaluation may remove it at the same time.
        with contextlib.suppress(FileNotFoundError):
            if kind == fs.FileType.Directory:
                self.system.delete_dir(self.at(path))
            elif kind == fs.FileType.File:
                self.system.delete_file(self.at(path))
        return bool(kind != fs.FileType.NotFound)

    def delete_if_empty(self, path: str) -> None:
        """Delete a folder if it is empty and local: other storages have no such operation, or no folders."""
        if self.system.type_name == "local":
            with contextlib.suppress(OSError):
                os.rmdir(self.at(path))  # noqa: PTH106  # as pyarrow has it


def parquet(rows: Sequence[Mapping[str, Any]], schema: pa.Schema) -> bytes:
    """A few rows as a file, with null for a value that a row lacks.

    A thousand such files are read at once, in half the time if there is nothing in them but values.
    """
    content = io.BytesIO()
    table = pa.Table.from_pylist([{name: row.get(name) for name in schema.names} for row in rows], schema)
    pq.write_table(table, content, compression="none", use_dictionary=False, write_statistics=False, store_schema=False)
    return content.getvalue()


def folder(table: str, evaluated_on: str, evaluation_id: str) -> str:
    """The folder with the rows of one evaluation in a table."""
    return f"{table}/evaluated_on={evaluated_on}/evaluation_id={evaluation_id}"


def _stored(info: fs.FileInfo) -> Stored:
    return Stored(info.size, info.mtime.timestamp() if info.mtime is not None else 0.0)
