"""The folder that keeps the scores: its layout, and the storage operations that publishing needs.

    <output>/query_scores/<partition>/*.parquet        what readers see
    <output>/dataset_scores/<partition>/*.parquet
    <output>/rejected_rows/<partition>/*.parquet       only of nights that had some
    <output>/ranked_documents/<partition>/*.parquet    only of nights that were asked for them
    <output>/comparisons/<partition>/*.parquet         only of nights that were compared with a baseline
    <output>/_evaluations/<partition>/<id>.json        the commit record of the night that is there
    <output>/_staging/<id>/                            an evaluation that is not published yet: its tables, and
        _owner.json    the process that writes it           _claim.json    while it commits or waits to
        _commit.json   the journal, while it commits        _replaced/     the old night, while it commits

A partition is dataset=.../evaluated_on=...; it holds one night, which is one date of one dataset.
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

TABLES = ("query_scores", "dataset_scores", "rejected_rows", "ranked_documents", "comparisons")
STAGING = "_staging"
RECORDS = "_evaluations"

#: The exceptions of a storage that fails.
FAILURES = (OSError, pa.ArrowException)
#: What an operating system says of a disk that cannot be written, which engines pass on as text.
_REFUSALS = ("No space left on device", "Read-only file system", "Disk quota exceeded", "File too large")
#: The storages that rename a folder at once. Others (S3, GCS, Azure) copy every file and delete the original.
_RENAMES_FOLDERS = ("local", "hdfs")
#: What Spark percent-encodes in the name of a partition. pysail encodes more, so its names are spelled again.
_ESCAPED = set("\"#%'*/:=?\\{[]^\x7f") | {chr(code) for code in range(32)}
#: How often a listing is repeated while others remove folders from it.
_LISTINGS = 10
#: Records contain the configuration, so only the owner and the group may read small files.
_MODE = 0o640
_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]+):/")


class Store:
    """An output folder, local or on any storage that pyarrow.fs knows. All paths are relative to it.

    Methods raise FAILURES if the storage fails, unless they say otherwise.
    """

    def __init__(self, output: str) -> None:
        self.output = _with_plain_scheme(output).rstrip("/") or "/"
        #: The output as messages show it, without secrets.
        self.place = masked(self.output)
        try:
            self._system, self._root = storage(self.output, "output", StorageError)
        except StorageError as error:
            raise StorageError(masked(str(error))) from error

    def refuse_a_file(self) -> None:
        """StorageError if the output is a file or cannot be looked at. It need not exist yet."""
        try:
            kind = self._system.get_file_info(self._root).type
        except FAILURES as error:
            raise StorageError(f"output: {self.place} cannot be read, {error}; check its path and rights") from error
        if kind not in (fs.FileType.Directory, fs.FileType.NotFound):
            raise StorageError(f"output: {self.place} is a file and no folder; check its path")

    @property
    def moves_folders(self) -> bool:
        """Whether a folder is moved at once; if not, `move` takes files only."""
        return str(self._system.type_name) in _RENAMES_FOLDERS

    def for_engine(self, path: str) -> str:
        """The whole path or URI, as engines expect it."""
        return f"{self.output if '://' in self.output else self._root}/{path}"

    def exists(self, path: str) -> bool:
        """Whether there is a file or folder of this path."""
        return bool(self._system.get_file_info(self._at(path)).type != fs.FileType.NotFound)

    def folders(self, path: str) -> list[str]:
        """The names of the folders in a folder, sorted; none if it does not exist."""
        found = self._listed(path, recursive=False)
        return sorted(info.base_name for info in found if info.type == fs.FileType.Directory)

    def files(self, path: str, suffix: str = "") -> list[str]:
        """The paths of all files below a folder that end in `suffix`, sorted; none if it does not exist."""
        found = self._listed(path, recursive=True)
        wanted = (info.path for info in found if info.type == fs.FileType.File and info.path.endswith(suffix))
        return sorted(place.removeprefix(self._root.rstrip("/") + "/") for place in wanted)

    def names(self, folder: str) -> list[str]:
        """The names of all files below a folder, relative to it, sorted; none if it does not exist."""
        return [path.removeprefix(f"{folder}/") for path in self.files(folder)]

    def touched(self, path: str) -> float:
        """When a file, or anything in a folder, was last written, in seconds since 1970; 0 if unknown."""
        found = [self._system.get_file_info(self._at(path))]
        if found[0].type != fs.FileType.File:
            found += self._listed(path, recursive=True)
        return max((info.mtime.timestamp() for info in found if info.mtime is not None), default=0.0)

    def _listed(self, path: str, recursive: bool) -> list[fs.FileInfo]:
        below = fs.FileSelector(self._at(path), recursive=recursive, allow_not_found=True)
        for _ in range(_LISTINGS):
            # Another evaluation may remove a folder before this listing comes to it.
            with contextlib.suppress(FileNotFoundError):
                return list(self._system.get_file_info(below))
        return list(self._system.get_file_info(below))

    def open(self, path: str) -> Any:
        """The file, opened for pyarrow to read."""
        return self._system.open_input_file(self._at(path))

    def create(self, path: str) -> None:
        """Make a folder, and those above it."""
        self._system.create_dir(self._at(path), recursive=True)

    def move(self, source: str, target: str) -> None:
        """Move a file, or a folder if `moves_folders`. The target must not exist; the folder that it is in must."""
        self._system.move(self._at(source), self._at(target))

    def delete(self, path: str) -> None:
        """Delete a file, or a folder with all that is in it. It may be gone already."""
        kind = self._system.get_file_info(self._at(path)).type
        # Another evaluation may remove the same.
        with contextlib.suppress(FileNotFoundError):
            if kind == fs.FileType.Directory:
                self._system.delete_dir(self._at(path))
            elif kind == fs.FileType.File:
                self._system.delete_file(self._at(path))

    def delete_staging(self, evaluation_id: str) -> None:
        """Delete the staging folder of an evaluation, its small files last.

        If that is interrupted, others can still tell whose folder it is.
        """
        staging = f"{STAGING}/{evaluation_id}"
        for name in self.folders(staging):
            self.delete(f"{staging}/{name}")
        self.delete(staging)

    def write_json(self, path: str, content: Mapping[str, Any]) -> None:
        """Write a small file that is either whole or absent: under another name, then renamed."""
        text = (json.dumps(content, indent=2, ensure_ascii=False, default=str) + "\n").encode()
        self.create(path.rpartition("/")[0])
        # An object only appears when it is complete, and renaming it would copy it.
        written = f"{path}.part" if self.moves_folders else path
        self._write(self._at(written), text)
        if written != path:
            self._system.move(self._at(written), self._at(path))

    def _write(self, place: str, text: bytes) -> None:
        if self._system.type_name == "local":
            with open(os.open(place, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, _MODE), "wb") as stream:  # noqa: PTH123
                stream.write(text)
                stream.flush()
                # These files decide what happens to a night, so they must be on the disk before anything is moved.
                os.fsync(stream.fileno())
        else:
            with self._system.open_output_stream(place) as stream:
                stream.write(text)

    def read_json(self, path: str) -> dict[str, Any]:
        """The content of a small file. StorageError if it is no JSON object."""
        try:
            with self.open(path) as stream:
                content = json.loads(stream.read())
        except (ValueError, RecursionError) as error:
            raise StorageError(f"output: {self.place}/{path} is no JSON, {error}; restore or remove it") from error
        if not isinstance(content, dict):
            raise StorageError(f"output: {self.place}/{path} is no JSON object; restore or remove it")
        return content

    def find_json(self, path: str) -> dict[str, Any] | None:
        """As `read_json`, for a file that others may remove at any moment; None if it does not exist."""
        try:
            return self.read_json(path) if self.exists(path) else None
        except FileNotFoundError:
            return None

    def find_note(self, path: str) -> tuple[dict[str, Any], float] | None:
        """The content of a small file, empty if it cannot be read, and when it was written; None if there is none."""
        try:
            note = self.find_json(path)
        except (StorageError, *FAILURES):
            note = {}
        return None if note is None else (note, self.touched(path))

    def _at(self, path: str) -> str:
        return f"{self._root.rstrip('/')}/{path}"


def _with_plain_scheme(output: str) -> str:
    """The output with its scheme, if any, in lower case. StorageError for a scheme without ://, except file:."""
    scheme = _SCHEME.match(output)
    if scheme is None:
        return output
    plain = scheme[1].lower()
    rest = output[scheme.end(1) :]
    if not rest.startswith("://") and plain != "file":
        raise StorageError(f"output: {scheme[0]}... is no path and no URI; write {plain}://..., or ./{scheme[0]}...")
    return plain + rest


def is_refusal(message: str) -> bool:
    """Whether the message of an engine says that a storage cannot be written."""
    return any(words in message for words in _REFUSALS)


def partition(dataset: str, evaluated_on: str) -> str:
    """The folder of a night, dataset=.../evaluated_on=..., in Spark's spelling."""
    name = "".join(f"%{ord(c):02X}" if c in _ESCAPED else c for c in dataset)
    return f"dataset={name}/evaluated_on={evaluated_on}"


def night_of(folder: str) -> tuple[str, str]:
    """The dataset and the date of a night's folder, in the spelling of any engine."""
    dataset, _, evaluated_on = folder.partition("/")
    return urllib.parse.unquote(dataset.removeprefix("dataset=")), evaluated_on.removeprefix("evaluated_on=")
