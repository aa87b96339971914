"""The folder that keeps the scores: its layout, and the moves and small files that publishing is made of.

    <output>/query_scores/<partition>/*.parquet        what readers see
    <output>/dataset_scores/<partition>/*.parquet
    <output>/rejected_rows/<partition>/*.parquet       only of nights that had some
    <output>/_evaluations/<partition>/<id>.json        the commit record of the night that is there
    <output>/_staging/<id>/                            an evaluation on its way: its tables, _owner.json, _claim.json,
                                                       _commit.json, _replaced/

A partition is dataset=.../evaluated_on=...; one dataset's date is a night.
"""

import contextlib
import json
import os
import socket
import time
import urllib.parse
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
from pyarrow import fs

from ndcg_spark.errors import StorageError
from ndcg_spark.inputs import files

TABLES = ("query_scores", "dataset_scores", "rejected_rows")
STAGING = "_staging"
RECORDS = "_evaluations"

#: How a storage says that it cannot.
FAILURES = (OSError, pa.ArrowException)
#: The same in the words of an operating system, which engines pass on.
_REFUSALS = ("No space left on device", "Read-only file system", "Disk quota exceeded", "File too large")
#: Where a folder with all in it is renamed at once; elsewhere (S3, GCS, Azure) every file is copied, then deleted.
_RENAMES_FOLDERS = ("local", "hdfs")
#: What Spark percent-encodes in the name of a partition; pysail encodes more, so names are spelled anew.
_ESCAPED = set("\"#%'*/:=?\\{[]^\x7f") | {chr(code) for code in range(32)}
#: How often a listing is begun that others remove folders from.
_LISTINGS = 10
#: After so many hours without a sign of life, an evaluation of another machine is taken for dead.
HOURS_UNTIL_DEAD = 12


class Store:
    """An output folder, local or on any storage that pyarrow.fs knows. Paths are relative to it."""

    def __init__(self, output: str) -> None:
        self.output = output.rstrip("/") or "/"
        self._system, self._root = files.storage(self.output, "output", StorageError)

    @property
    def moves_folders(self) -> bool:
        """Whether a folder moves as one, with all in it, or file by file."""
        return str(self._system.type_name) in _RENAMES_FOLDERS

    def for_engine(self, path: str) -> str:
        """The path as an engine takes it."""
        return f"{self.output if '://' in self.output else self._root}/{path}"

    def exists(self, path: str) -> bool:
        """Whether a file or folder is there."""
        return bool(self._system.get_file_info(self._at(path)).type != fs.FileType.NotFound)

    def folders(self, path: str) -> list[str]:
        """The names of the folders in a folder, sorted; none where it is not there."""
        found = self._listed(path, recursive=False)
        return sorted(info.base_name for info in found if info.type == fs.FileType.Directory)

    def files(self, path: str, suffix: str = "") -> list[str]:
        """The files below a folder whose names end so, sorted; none where it is not there."""
        found = self._listed(path, recursive=True)
        wanted = (info.path for info in found if info.type == fs.FileType.File and info.path.endswith(suffix))
        return sorted(place.removeprefix(self._root.rstrip("/") + "/") for place in wanted)

    def touched(self, path: str) -> float:
        """When a folder or a file in it was last written, in seconds since 1970; 0 where the storage does not say."""
        found = [*self._system.get_file_info([self._at(path)]), *self._listed(path, recursive=True)]
        return max((info.mtime.timestamp() for info in found if info.mtime is not None), default=0.0)

    def _listed(self, path: str, recursive: bool) -> list[fs.FileInfo]:
        below = fs.FileSelector(self._at(path), recursive=recursive, allow_not_found=True)
        for _ in range(_LISTINGS):
            # Another evaluation may remove a folder after it was found and before it is listed.
            with contextlib.suppress(FileNotFoundError):
                return list(self._system.get_file_info(below))
        return list(self._system.get_file_info(below))

    def open(self, path: str) -> Any:
        """The file, for pyarrow to read."""
        return self._system.open_input_file(self._at(path))

    def create(self, path: str) -> None:
        """The folder, and those above it."""
        self._system.create_dir(self._at(path), recursive=True)

    def move(self, source: str, target: str) -> None:
        """A file, or a folder where `moves_folders`, to a place where nothing is."""
        self.create(target.rpartition("/")[0])
        self._system.move(self._at(source), self._at(target))

    def delete(self, path: str) -> None:
        """A folder with all in it, or a file; nothing where it is not there."""
        kind = self._system.get_file_info(self._at(path)).type
        if kind == fs.FileType.Directory:
            self._system.delete_dir(self._at(path))
        elif kind == fs.FileType.File:
            self._system.delete_file(self._at(path))

    def write_json(self, path: str, content: Mapping[str, Any]) -> None:
        """A small file that is whole or not there: written under another name, then moved."""
        text = (json.dumps(content, indent=2, ensure_ascii=False, default=str) + "\n").encode()
        self.create(path.rpartition("/")[0])
        # An object appears when it is complete, and a move would be a second copy of it.
        written = f"{path}.part" if self.moves_folders else path
        with self._system.open_output_stream(self._at(written)) as stream:
            stream.write(text)
        if written != path:
            self._system.move(self._at(written), self._at(path))

    def read_json(self, path: str) -> dict[str, Any]:
        """A small file; StorageError where it is no JSON object."""
        try:
            with self.open(path) as stream:
                found = json.loads(stream.read())
        except ValueError as error:
            raise StorageError(f"output: {self.output}/{path} is no JSON, {error}; restore or remove it") from error
        if not isinstance(found, dict):
            raise StorageError(f"output: {self.output}/{path} is no JSON object; restore or remove it")
        return found

    def find_json(self, path: str) -> dict[str, Any] | None:
        """A small file that others may remove at any moment; None where it is not there. Raises as `read_json`."""
        try:
            return self.read_json(path) if self.exists(path) else None
        except FileNotFoundError:
            return None

    def _at(self, path: str) -> str:
        return f"{self._root.rstrip('/')}/{path}"


def is_refusal(message: str) -> bool:
    """Whether an engine's words are those of a storage that cannot be written."""
    return any(words in message for words in _REFUSALS)


def partition(dataset: str, evaluated_on: str) -> str:
    """The folder of a night, spelled as Spark spells it."""
    name = "".join(f"%{ord(c):02X}" if c in _ESCAPED else c for c in dataset)
    return f"dataset={name}/evaluated_on={evaluated_on}"


def night_of(folder: str) -> tuple[str, str]:
    """Dataset and date of a partition's folder, whoever spelled it."""
    dataset, _, evaluated_on = folder.partition("/")
    return urllib.parse.unquote(dataset.removeprefix("dataset=")), evaluated_on.removeprefix("evaluated_on=")


def owner() -> dict[str, Any]:
    """Who is evaluating, so that others can tell whether it is still alive."""
    return {"host": socket.gethostname(), "pid": os.getpid(), "started": _started(os.getpid()), "at": time.time()}


def is_alive(found: Mapping[str, Any], seconds: float = HOURS_UNTIL_DEAD * 3600) -> bool:
    """Whether an owner may still be at work: its process is there, or on another machine its word is not too old."""
    if found.get("host") == socket.gethostname():
        started = _started(int(found["pid"]))
        return started is not None and started == str(found["started"])
    return bool(time.time() - float(found["at"]) < seconds)


def _started(pid: int) -> str | None:
    """When a process of this machine started, in its own clock; None where no such process runs."""
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as stat:  # noqa: PTH123  # no path of a user's
            # The name in parentheses may hold anything; the fields after it are counted from its end.
            fields = stat.read().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return None
    # A zombie has ended; in a container without an init nobody may ever take note of it.
    return None if fields[0] in "ZX" else fields[19]
