"""The output folder: its layout, and the operations on its storage that nights need.

OUTPUT/<table>/evaluated_on=2026-11-20/evaluation_id=ID/*.parquet
    the rows of one evaluation; never changed
OUTPUT/evaluations/evaluated_on=2026-11-20/*.parquet
    the log; an evaluation without a row in it is ignored
"""

import contextlib
import functools
import io
import os
import re
import stat
import uuid
import zlib
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import pyarrow as pa
from pyarrow import fs

from ndcg_spark.errors import StorageError, first_line
from ndcg_spark.inputs.storage import HDFS, storage
from ndcg_spark.parquet_files import read_footer, read_whole, write_table
from ndcg_spark.text import masked

#: The log's folder.
LOG = "evaluations"
#: The exceptions of a failing storage; HDFS raises RuntimeError.
FAILURES = (OSError, RuntimeError, pa.ArrowException)
#: How many requests are sent to a remote storage at once. pyarrow needs as many threads, because
#: its clients keep one connection per thread.
_AT_ONCE = 64
#: The checksum of the content, in the name of a file that this process wrote.
_NAMED_CHECKSUM = re.compile(r"/[0-9a-f]{32}-([0-9a-f]{8})\.parquet$")
#: How much of a file is read at once for its checksum.
_BLOCK = 1 << 23
#: The mode of published files: the owner may read and write, the group may read.
_MODE = 0o640
#: A file that marks an evaluation whose rows are being removed.
REMOVING = ".removing"
#: The name prefixes of folders that may be links, by the depth of their parent folder.
_LINKED = {1: "evaluated_on=", 2: "evaluation_id="}


class OutputFile(NamedTuple):
    """A file in a listing of the output."""

    #: The path relative to the output.
    path: str
    size: int
    mtime_ns: int


class DamagedFileError(OSError):
    """The content of a file has changed since it was written."""


class Store:
    """An output folder on any storage of pyarrow.fs.

    All paths are relative to it. Operations that fail raise FAILURES.
    """

    def __init__(self, output: str) -> None:
        #: The output without secrets, for messages.
        self.location = masked(output)
        is_remote = "://" in output
        #: How many files to read at once: on a remote storage, most of the time is waiting.
        self.at_once = _AT_ONCE if is_remote else 4
        if is_remote and pa.io_thread_count() < _AT_ONCE:
            pa.set_io_thread_count(_AT_ONCE)
        base, root = storage(output, functools.partial(StorageError, option="output"))
        self._kind = base.type_name
        self._root = root.rstrip("/")
        self.is_local = self._kind == "local"
        #: The files whose checksums were correct.
        self._verified: set[str] = set()
        self._uri = output.rstrip("/") if is_remote else self._root
        self.system = fs.SubTreeFileSystem(self._root or "/", base)

    @contextlib.contextmanager
    def failures(self, failed: str) -> Iterator[None]:
        """Run the block; a storage failure becomes a StorageError that says what `failed`."""
        try:
            yield
        except FAILURES as error:
            advice = "check disk space, permissions and address"
            raise StorageError(
                f"output: {self.location} {failed}: {first_line(error)}; {advice}"
            ) from error

    def for_engine(self, path: str) -> str:
        """The path or URI of a file or folder, as an engine needs it."""
        return f"{self._uri}/{path}"

    def files(self, path: str, suffix: str = ".parquet") -> dict[str, OutputFile]:
        """The files below a folder whose names end in `suffix`, by path, sorted."""
        found = self._local_files(path) if self.is_local else self._remote_files(path)
        named = [file for file in found if file.path.endswith(suffix)]
        return {file.path: file for file in sorted(named)}

    def _remote_files(self, path: str, tries: int = 10) -> Iterable[OutputFile]:
        """The files below a folder of a remote storage."""
        below = fs.FileSelector(path, recursive=True, allow_not_found=True)
        try:
            infos = self.system.get_file_info(below)
        except FileNotFoundError:
            # Another evaluation removed a folder before this listing reached it.
            if tries == 1:
                raise
            return self._remote_files(path, tries - 1)
        files = []
        for info in infos:
            if info.type == fs.FileType.File:
                files.append(OutputFile(info.path, info.size, info.mtime_ns))
        return files

    def _local_files(self, path: str) -> Iterator[OutputFile]:
        """The files below a local folder.

        Only links to folders of dates or evaluations are followed. Other links may lead back to a
        folder above them, and a listing would never end.
        """
        depth = len(path.split("/")) if path else 0
        linked = _LINKED.get(depth)
        try:
            entries = sorted(os.scandir(f"{self._root}/{path}"), key=lambda entry: entry.name)
        except (FileNotFoundError, NotADirectoryError):
            # Another evaluation may have removed it.
            return
        for entry in entries:
            below = f"{path}/{entry.name}" if path else entry.name
            is_linked = linked is not None and entry.name.startswith(linked)
            if entry.is_dir(follow_symlinks=is_linked):
                yield from self._local_files(below)
                continue
            with contextlib.suppress(FileNotFoundError):
                found = entry.stat()
                if stat.S_ISREG(found.st_mode):
                    yield OutputFile(below, found.st_size, found.st_mtime_ns)

    def read(self, path: str, checksum: int | None = None) -> pa.Table:
        """The rows of a small file. DamagedFileError if its content has a different `checksum`."""
        with self.system.open_input_stream(path) as stream:
            content = stream.read()
        if checksum is not None and zlib.crc32(content) != checksum:
            raise _damage_error(path)
        return read_whole(content)

    def is_file(self, path: str) -> bool:
        return bool(self.system.get_file_info(path).type == fs.FileType.File)

    def checksum(self, path: str) -> int:
        """The crc32 of a file's content."""
        checksum = 0
        with self.system.open_input_stream(path) as stream:
            while block := stream.read_buffer(_BLOCK):
                checksum = zlib.crc32(block, checksum)
        return checksum

    def describe(self, path: str, size: int) -> dict[str, int]:
        """What the log keeps about a file that was just written: its rows, bytes and checksum.

        A remote file that an engine wrote has no checksum. Computing it would mean fetching the
        file again, and remote storages verify their files.
        """
        with self.system.open_input_file(path) as stream:
            _, rows = read_footer(stream)
        described = {"rows": rows, "bytes": size}
        named = named_checksum(path)
        checksum = self.checksum(path) if self.is_local else named
        if named is not None and checksum != named:
            raise _damage_error(path)
        if checksum is not None:
            described["crc32"] = checksum
        return described

    def protect(self, path: str) -> None:
        """Let only the owner and the group read a file that an engine wrote."""
        if self.is_local:
            local = f"{self._root}/{path}"
            mode = stat.S_IMODE(os.stat(local).st_mode)  # noqa: PTH116
            # A file of another user, such as one from a server's engine, keeps its mode.
            with contextlib.suppress(PermissionError):
                os.chmod(local, mode & _MODE)  # noqa: PTH101

    def refuse_changed(self, files: Mapping[str, Mapping[str, int]]) -> None:
        """Raise DamagedFileError if a local file does not have the checksum in the log.

        Each file is read once. Remote files are not checked, because every file would be fetched
        twice.
        """
        if not self.is_local:
            return
        for path, described in files.items():
            expected = described.get("crc32")
            if expected is None or path in self._verified:
                continue
            if self.checksum(path) != expected:
                raise _damage_error(path)
            self._verified.add(path)

    def add_rows(self, folder: str, rows: Iterable[Mapping[str, Any]], schema: pa.Schema) -> str:
        """Add a few rows as a new file, with nulls for missing values; return its path.

        Thousands of such files may be read at once. That takes half the time without compression
        and dictionaries.
        """
        table = pa.Table.from_pylist(list(rows), schema)
        file = io.BytesIO()
        write_table(table, file, compression="none", dictionaries=False, has_checksums=True)
        content = file.getvalue()
        path = f"{folder}/{uuid.uuid4().hex}-{zlib.crc32(content):08x}.parquet"
        self.add(path, content)
        return path

    def add(self, path: str, content: bytes) -> None:
        """Add a small file, which readers see only when it is complete. Its name must be new."""
        if self._kind not in ("local", *HDFS):
            # On object stores, a file appears only when it is complete.
            with self.system.open_output_stream(path) as stream:
                stream.write(content)
            return
        parent, _, name = path.rpartition("/")
        self.system.create_dir(parent)
        # No glob for tables matches this name.
        part = f"{parent}/.{name}.{uuid.uuid4().hex}.part"
        try:
            if self.is_local:
                self._write_to_disk(part, content)
            else:
                with self.system.open_output_stream(part) as stream:
                    stream.write(content)
            self.system.move(part, path)
        except BaseException:
            with contextlib.suppress(*FAILURES):
                self.system.delete_file(part)
            raise

    def _write_to_disk(self, path: str, content: bytes) -> None:
        """Write a new local file, and wait until it is on disk.

        Log rows contain the configuration, so only the owner and the group may read them. They
        determine the current evaluation, so they must be on disk before they are visible.
        """
        new = os.O_CREAT | os.O_EXCL | os.O_WRONLY
        with os.fdopen(os.open(f"{self._root}/{path}", new, _MODE), "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())

    def now(self) -> float:
        """The time in seconds by the storage's own clock, which also stamps its files."""
        path = f"{LOG}/.{uuid.uuid4().hex}.clock"
        self.add(path, b"")
        try:
            return float(self.system.get_file_info(path).mtime_ns / 1e9)
        finally:
            self.system.delete_file(path)

    def delete(self, path: str) -> bool:
        """Delete a file or a folder; return whether it existed.

        A local parent folder that is then empty is also deleted.
        """
        kind = self.system.get_file_info(path).type
        # Another evaluation may remove it at the same time.
        with contextlib.suppress(FileNotFoundError):
            if kind == fs.FileType.Directory:
                self.system.delete_dir(path)
            elif kind == fs.FileType.File:
                self.system.delete_file(path)
        if self.is_local:
            with contextlib.suppress(OSError):
                os.rmdir(f"{self._root}/{path.rpartition('/')[0]}")  # noqa: PTH106
        return bool(kind != fs.FileType.NotFound)


def folder(table: str, evaluated_on: str, evaluation_id: str) -> str:
    """The folder of an evaluation's rows in a table."""
    return f"{table}/evaluated_on={evaluated_on}/evaluation_id={evaluation_id}"


def named_checksum(path: str) -> int | None:
    """The checksum that the name of a file contains; None for a file that an engine wrote."""
    named = _NAMED_CHECKSUM.search(path)
    return int(named[1], 16) if named else None


def _damage_error(path: str) -> DamagedFileError:
    return DamagedFileError(f"{path} is damaged: its checksum has changed since it was written")
