"""The output folder: its layout, and the storage operations that publishing and reading need.

    <output>/<table>/<night>/evaluation_id=<id>/*.parquet    the rows of one evaluation, never overwritten
    <output>/_evaluations/<night>/<number>-<id>.json         its record; the one with the greatest number counts
    <output>/_staging/<id>/                                  what an evaluation has not yet published

A night is dataset=.../evaluated_on=..., one date of one dataset.
"""

import concurrent.futures
import contextlib
import os
import re
import time
import urllib.parse
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
from pyarrow import fs

from ndcg_spark.errors import StorageError
from ndcg_spark.inputs.storage import HDFS, storage
from ndcg_spark.masking import masked

TABLES = ("query_scores", "dataset_scores", "rejected_rows", "ranked_documents", "comparisons", "evaluations")
RECORDS = "_evaluations"
STAGING = "_staging"

#: The exceptions of a storage that fails.
FAILURES = (OSError, pa.ArrowException)
#: The storages that rename a folder atomically. Others (S3, GCS, Azure) copy every file.
_RENAMES_FOLDERS = ("local", *HDFS)
#: What Spark percent-encodes in the name of a partition. pysail encodes more, so its folders are renamed.
_ESCAPED = set("\"#%'*/:=?\\{[]^\x7f") | {chr(code) for code in range(32)}
#: How many requests a remote storage gets at once. Its clients keep as many connections as pyarrow has threads.
AT_ONCE = 64
#: How often a listing is repeated while other processes remove folders from it.
_LISTINGS = 10
#: Records contain the configuration, so only the owner and the group may read them.
_MODE = 0o640
_IN_A_NIGHT = re.compile(r"[^/]+/(dataset=[^/]+/evaluated_on=[^/]+/evaluation_id=[^/]+)/[^/]+")
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/")


class Store:
    """An output folder, local or on any storage that pyarrow.fs supports. All paths are relative to it.

    Methods raise FAILURES if the storage fails, unless they say otherwise.
    """

    def __init__(self, output: str) -> None:
        self.output = _with_plain_scheme(output).rstrip("/") or "/"
        #: The output without secrets, for messages.
        self.place = masked(self.output)
        if "://" in self.output and pa.io_thread_count() < AT_ONCE:
            pa.set_io_thread_count(AT_ONCE)
        try:
            self._system, self._root = storage(self.output, "output", StorageError)
        except StorageError as error:
            raise StorageError(masked(str(error))) from error

    def refuse_a_file(self) -> None:
        """StorageError if the output is a file or cannot be accessed. It need not exist yet."""
        try:
            kind = self._system.get_file_info(self._root).type
        except FAILURES as error:
            raise StorageError(f"output: {self.place} cannot be read, {error}; check its path and rights") from error
        if kind not in (fs.FileType.Directory, fs.FileType.NotFound):
            raise StorageError(f"output: {self.place} is a file, not a folder; check its path")

    @contextlib.contextmanager
    def failures(self, failed: str) -> Iterator[None]:
        """Run the block; a failure of the storage in it becomes a StorageError that says what `failed`."""
        try:
            yield
        except FAILURES as error:
            raise StorageError(f"output: {self.place} {failed}, {error}; check space and rights") from error

    @property
    def moves_folders(self) -> bool:
        """Whether a folder is renamed atomically; if not, each of its files is copied."""
        return str(self._system.type_name) in _RENAMES_FOLDERS

    @property
    def system(self) -> fs.FileSystem:
        """The file system, for pyarrow.dataset."""
        return self._system

    def at(self, path: str) -> str:
        """The path within the file system."""
        return f"{self._root.rstrip('/')}/{path}"

    def for_engine(self, path: str) -> str:
        """The whole path or URI, as engines expect it."""
        return f"{self.output if '://' in self.output else self._root}/{path}"

    def folders(self, path: str) -> list[str]:
        """The names of the folders in a folder, sorted; none if it does not exist."""
        found = self._listed(path, recursive=False)
        return sorted(info.base_name for info in found if info.type == fs.FileType.Directory)

    def files(self, path: str, suffix: str = "") -> dict[str, int]:
        """All files below a folder whose names end in `suffix`, sorted, with their sizes in bytes."""
        top = self._root.rstrip("/") + "/"
        found = [info for info in self._listed(path, recursive=True) if info.type == fs.FileType.File]
        return dict(sorted((info.path.removeprefix(top), info.size) for info in found if info.path.endswith(suffix)))

    def is_older(self, path: str, seconds: float) -> bool:
        """Whether a folder and all that is in it were written longer ago than this."""
        found = [self._system.get_file_info(self.at(path)), *self._listed(path, recursive=True)]
        newest = max((info.mtime.timestamp() for info in found if info.mtime is not None), default=0.0)
        return time.time() - newest > seconds

    def _listed(self, path: str, recursive: bool) -> list[fs.FileInfo]:
        below = fs.FileSelector(self.at(path), recursive=recursive, allow_not_found=True)
        for _ in range(_LISTINGS):
            # Another evaluation may remove a folder before this listing reaches it.
            with contextlib.suppress(FileNotFoundError):
                return list(self._system.get_file_info(below))
        return list(self._system.get_file_info(below))

    def open(self, path: str) -> Any:
        """The file, opened for pyarrow to read."""
        return self._system.open_input_file(self.at(path))

    def read(self, path: str) -> bytes:
        """The content of a small file."""
        with self._system.open_input_stream(self.at(path)) as stream:
            return bytes(stream.read())

    def move(self, source: str, target: str) -> None:
        """Move a folder to where nobody else writes; on an object store its files are copied, and `source` stays."""
        if self.moves_folders:
            self._create(target.rpartition("/")[0])
            self._system.move(self.at(source), self.at(target))
            return
        copies = {self.at(path): self.at(target + path.removeprefix(source)) for path in self.files(source)}
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            list(pool.map(self._system.copy_file, copies, copies.values()))

    def write(self, path: str, content: bytes) -> None:
        """Write a small file atomically: objects always are, other files are renamed into place."""
        if not self.moves_folders:
            with self._system.open_output_stream(self.at(path)) as stream:
                stream.write(content)
            return
        self._create(path.rpartition("/")[0])
        part = self.at(f"{path}.part")
        try:
            if self._system.type_name == "local":
                with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, _MODE), "wb") as file:  # noqa: PTH123
                    file.write(content)
                    file.flush()
                    # A record decides which evaluation counts, so it must be on disk before it is visible.
                    os.fsync(file.fileno())
            else:
                with self._system.open_output_stream(part) as stream:
                    stream.write(content)
            if self._system.type_name in HDFS:
                # Unlike a local disk, HDFS does not rename over an existing file.
                self.delete(path)
            self._system.move(part, self.at(path))
        except BaseException:
            with contextlib.suppress(*FAILURES):
                self.delete(f"{path}.part")
            raise

    def _create(self, path: str) -> None:
        self._system.create_dir(self.at(path), recursive=True)

    def delete(self, path: str) -> bool:
        """Delete a file, or a folder with all that is in it. Returns False if there is none."""
        kind = self._system.get_file_info(self.at(path)).type
        # Another evaluation may remove it at the same time.
        with contextlib.suppress(FileNotFoundError):
            if kind == fs.FileType.Directory:
                self._system.delete_dir(self.at(path))
            elif kind == fs.FileType.File:
                self._system.delete_file(self.at(path))
        return bool(kind != fs.FileType.NotFound)

    def delete_if_empty(self, path: str) -> None:
        """Delete a folder if it is empty and local: other storages have no such operation, or no folders."""
        if self._system.type_name == "local":
            with contextlib.suppress(OSError):
                os.rmdir(self.at(path))  # noqa: PTH106  # as pyarrow has it


def _with_plain_scheme(output: str) -> str:
    """The output with its scheme, if any, in lower case. StorageError for a scheme without ://, except file:."""
    scheme = _SCHEME.match(output)
    if scheme is None:
        return output
    plain = scheme[1].lower()
    rest = output[scheme.end(1) :]
    if not rest.startswith("://") and plain != "file":
        raise StorageError(
            f"output: {scheme[0]}... is neither a path nor a URI; write {plain}://... or ./{scheme[0]}..."
        )
    return plain + rest


def night_folder(dataset: str, evaluated_on: str) -> str:
    """The folder of a night, dataset=.../evaluated_on=..., in Spark's spelling."""
    name = "".join(f"%{ord(c):02X}" if c in _ESCAPED else c for c in dataset)
    return f"dataset={name}/evaluated_on={evaluated_on}"


def folder_of(path: str) -> str | None:
    """The folder of the evaluation that a file of a table belongs to, dataset=.../evaluated_on=.../evaluation_id=..."""
    found = _IN_A_NIGHT.fullmatch(path)
    return found and found[1]


def night_of(folder: str) -> tuple[str, str]:
    """The dataset and the date of a folder dataset=.../evaluated_on=..., in the spelling of any engine."""
    dataset, evaluated_on = folder.split("/")[:2]
    return urllib.parse.unquote(dataset.removeprefix("dataset=")), evaluated_on.removeprefix("evaluated_on=")
