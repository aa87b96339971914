"""The folder that keeps the scores: its layout, and the moves and small files that publishing is made of.

    <output>/query_scores/<partition>/*.parquet        what readers see
    <output>/dataset_scores/<partition>/*.parquet
    <output>/rejected_rows/<partition>/*.parquet       only of nights that had some
    <output>/_evaluations/<partition>/<id>.json        the commit record of the night that is there
    <output>/_staging/<id>/                            an evaluation on its way: its tables and records, and
        _owner.json    whose it is, from the beginning      _claim.json    while it wants to commit, or commits
        _commit.json   the journal, while it commits        _replaced/     what stood before

A partition is dataset=.../evaluated_on=...; one dataset's date is a night.
"""

import contextlib
import json
import os
import re
import urllib.parse
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
from pyarrow import fs

from ndcg_spark.errors import StorageError
from ndcg_spark.inputs.storage import storage
from ndcg_spark.masking import masked

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
#: Small files hold the configuration, so others than the owner and the group do not read them.
_MODE = 0o640
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/")


class Store:
    """An output folder, local or on any storage that pyarrow.fs knows. Paths are relative to it."""

    def __init__(self, output: str) -> None:
        self.output = _with_plain_scheme(output).rstrip("/") or "/"
        #: The output as messages name it.
        self.place = masked(self.output)
        try:
            self._system, self._root = storage(self.output, "output", StorageError)
        except StorageError as error:
            raise StorageError(masked(str(error))) from error

    def refuse_a_file(self) -> None:
        """StorageError if the output is no folder, or cannot be looked at; one that is not there yet is fine."""
        try:
            kind = self._system.get_file_info(self._root).type
        except FAILURES as error:
            raise StorageError(f"output: {self.place} cannot be read, {error}; check its path and rights") from error
        if kind not in (fs.FileType.Directory, fs.FileType.NotFound):
            raise StorageError(f"output: {self.place} is a file and no folder; check its path")

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

    def names(self, folder: str) -> list[str]:
        """The files in a folder by their names in it, sorted; none where it is not there."""
        return [path.removeprefix(f"{folder}/") for path in self.files(folder)]

    def touched(self, path: str) -> float:
        """When a file or anything in a folder was last written, in seconds since 1970; 0 if the storage is silent."""
        found = [self._system.get_file_info(self._at(path))]
        if found[0].type != fs.FileType.File:
            found += self._listed(path, recursive=True)
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
        """A file, or a folder where `moves_folders`, to a place where nothing is, in a folder that is there."""
        self._system.move(self._at(source), self._at(target))

    def delete(self, path: str) -> None:
        """A folder with all in it, or a file; nothing where it is not there."""
        kind = self._system.get_file_info(self._at(path)).type
        # Another evaluation may remove the same.
        with contextlib.suppress(FileNotFoundError):
            if kind == fs.FileType.Directory:
                self._system.delete_dir(self._at(path))
            elif kind == fs.FileType.File:
                self._system.delete_file(self._at(path))

    def delete_staging(self, evaluation_id: str) -> None:
        """An evaluation's staging folder, its small files last: by its owner others tell what is cut short midway."""
        staging = f"{STAGING}/{evaluation_id}"
        for name in self.folders(staging):
            self.delete(f"{staging}/{name}")
        self.delete(staging)

    def write_json(self, path: str, content: Mapping[str, Any]) -> None:
        """A small file that is whole or not there: written under another name, then moved."""
        text = (json.dumps(content, indent=2, ensure_ascii=False, default=str) + "\n").encode()
        self.create(path.rpartition("/")[0])
        # An object appears when it is complete, and a move would be a second copy of it.
        written = f"{path}.part" if self.moves_folders else path
        self._write(self._at(written), text)
        if written != path:
            self._system.move(self._at(written), self._at(path))

    def _write(self, place: str, text: bytes) -> None:
        if self._system.type_name == "local":
            with open(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, _MODE), "wb") as stream:  # noqa: PTH123
                stream.write(text)
                stream.flush()
                # What decides is in small files: they are on the disk before anything is done by them.
                os.fsync(stream.fileno())
        else:
            with self._system.open_output_stream(place) as stream:
                stream.write(text)

    def read_json(self, path: str) -> dict[str, Any]:
        """A small file; StorageError where it is no JSON object."""
        try:
            with self.open(path) as stream:
                found = json.loads(stream.read())
        except (ValueError, RecursionError) as error:
            raise StorageError(f"output: {self.place}/{path} is no JSON, {error}; restore or remove it") from error
        if not isinstance(found, dict):
            raise StorageError(f"output: {self.place}/{path} is no JSON object; restore or remove it")
        return found

    def find_json(self, path: str) -> dict[str, Any] | None:
        """A small file that others may remove at any moment; None where it is not there. Raises as `read_json`."""
        try:
            return self.read_json(path) if self.exists(path) else None
        except FileNotFoundError:
            return None

    def find_note(self, path: str) -> tuple[dict[str, Any], float] | None:
        """What `find_json` finds, and when it was written; an empty note where it cannot be understood."""
        try:
            note = self.find_json(path)
        except (StorageError, *FAILURES):
            note = {}
        return None if note is None else (note, self.touched(path))

    def _at(self, path: str) -> str:
        return f"{self._root.rstrip('/')}/{path}"


def _with_plain_scheme(output: str) -> str:
    """The output with its scheme in small letters, if it has one, and file: as a local path is written."""
    scheme = _SCHEME.match(output)
    if scheme is None:
        return output
    plain = scheme[1].lower()
    rest = output[scheme.end(1) :]
    if not rest.startswith("://") and plain != "file":
        raise StorageError(f"output: {scheme[0]}... is no path and no URI; write {plain}://..., or ./{scheme[0]}...")
    return plain + rest


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
