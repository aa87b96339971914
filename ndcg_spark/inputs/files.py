"""The files of a path: where each file is, what its folders say, and whether it has changed.

Hidden names (`_SUCCESS`, `.part.crc`) are left out, as in Spark. A hidden folder is left out with
everything in it.
"""

import codecs
import contextlib
import dataclasses
import fnmatch
import glob
import itertools
import math
import os
import re
import urllib.parse
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import pyarrow as pa
from pyarrow import fs

from ndcg_spark.errors import InputError
from ndcg_spark.inputs.hidden_files import hidden_data, is_hidden, warn_of_data
from ndcg_spark.inputs.storage import (
    is_local,
    local,
    missing_input,
    reading,
    refuse_credentials,
    storage,
)
from ndcg_spark.schemas import NULL_FOLDER

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


_READERS = 8
#: How many bytes are read to recognise the shape of a file, and how many more to see a whole line.
_HEAD, _LONGEST_HEAD = 1 << 16, 1 << 24

#: The table formats whose log says which rows they have, and the file formats with types and a
#: footer. All other formats are text.
TABLES = ("delta", "iceberg")
BINARY = ("parquet", "orc")
_FORMATS = {f".{kind}": kind for kind in (*BINARY, "csv", "tsv", "jsonl")} | dict.fromkeys(
    (".ndjson", ".json"), "jsonl"
)
# RecBole's interaction files have a header and tabs.
_FORMATS[".inter"] = "tsv"
#: The paths that belong to the log of a table whose data files may still contain deleted rows.
_LOGS = {
    "delta": re.compile(r"(^|/)_delta_log(/|$)"),
    "iceberg": re.compile(r"(^|/)metadata/[^/]*\.metadata\.json(\.gz)?$"),
}
#: By the first bytes of a file that is refused: what it is, and what to do.
_REFUSED = {
    codecs.BOM_UTF16_LE + b"|" + codecs.BOM_UTF16_BE: "in UTF-16; save it as UTF-8",
    rb"PK\x03\x04": "an Excel workbook or a zip archive; save it as CSV",
    rb"BZh[1-9]1AY&SY": "compressed with bzip2; compress it with gzip, as .gz",
    rb"\xfd7zXZ\x00": "compressed with xz; compress it with gzip, as .gz",
    rb"\x28\xb5\x2f\xfd": "compressed with zstd; compress it with gzip, as .gz",
    rb"\x04\x22\x4d\x18": "compressed with lz4; compress it with gzip, as .gz",
}
_GLOB = re.compile(r"[*?\[]")

_Item = TypeVar("_Item")
_Seen = TypeVar("_Seen")


class TableLogError(InputError):
    """Files of a table with a log. Only the log says which of their rows are valid."""

    def __init__(self, kind: str, folder: str) -> None:
        super().__init__(
            f"{folder} is in {kind.capitalize()} format, and its files may contain deleted rows; "
            "for judgments or results, give the folder of a Delta table (pip install "
            "'ndcg-spark[delta]'), or table:catalog.db.name; otherwise write its rows as Parquet"
        )
        self.format, self.folder = kind, folder


@dataclasses.dataclass(frozen=True)
class Snapshot:
    """A version of a table with a log.

    `version` is None if the table has no version yet, or if only the engine knows it.
    """

    #: delta or iceberg, or the given path for a table in the engine's catalog.
    format: str
    version: int | None
    schema: pa.Schema = dataclasses.field(default_factory=lambda: pa.schema([]))
    #: Reads the columns with these names; the table is refused for any error that it raises.
    scan: Callable[[list[str]], Iterable[pa.RecordBatch]] = lambda _: ()
    #: The table, if the engine reads it by itself.
    table: "DataFrame | None" = None


@dataclasses.dataclass(frozen=True)
class File:
    """A file: its path in the form for engines, and its size in bytes."""

    path: str
    size: int
    #: The columns that folders named column=value, below the given path, add to its rows.
    partition: tuple[tuple[str, str | None], ...] = ()
    #: The pyarrow file system that has it, and its path there. None if only the engine can open it.
    storage: tuple[fs.FileSystem, str] | None = dataclasses.field(
        default=None, compare=False, repr=False
    )
    stamp: tuple[int, int] = dataclasses.field(default=(0, 0), compare=False, repr=False)
    #: For a table of Delta, Iceberg or a catalog, the version that is read instead of its files.
    snapshot: Snapshot | None = dataclasses.field(default=None, compare=False, repr=False)

    @property
    def is_local(self) -> bool:
        return self.storage is not None and is_local(self.path)

    @property
    def has_changed(self) -> bool:
        # A version of a table never changes, and the rows that were copied from it are scored.
        return (
            self.storage is not None
            and _stamp(self.storage[0].get_file_info(self.storage[1])) != self.stamp
        )

    @property
    def location(self) -> tuple[fs.FileSystem, str]:
        """The file system and the path there; InputError if this process cannot open it."""
        return self.storage or storage(self.path)

    @contextlib.contextmanager
    def open(self) -> Iterator[pa.NativeFile]:
        """Open the file for its bytes, decompressed. InputErrors name the file."""
        system, fs_path = self.location
        kind = "gzip" if self.path.endswith(".gz") else None
        with reading(self.path), system.open_input_stream(fs_path, compression=kind) as stream:
            yield stream

    def head(self) -> str:
        """Return the first lines. Raise InputError for a format that is not supported."""
        with self.open() as stream:
            read = bytes(stream.read(_HEAD))
            if b"\n" not in read:
                read += stream.read(_LONGEST_HEAD)
        for first, what in _REFUSED.items():
            if re.match(first, read):
                raise InputError(f"{self.path} is {what}")
        # A line that is cut off is ignored, unless it is the only one.
        whole = read[: read.rfind(b"\n") + 1] if len(read) >= _HEAD else b""
        return (whole or read).decode("utf-8", "replace").removeprefix("\ufeff")


class Listing(NamedTuple):
    """The files of a path, sorted, and the files that are left out but may be data."""

    path: str
    files: list[File]
    left_out: Sequence[str] = ()


def map_files(files: Iterable[_Item], look: Callable[[_Item], _Seen]) -> list[_Seen]:
    """Return the results of `look` for all files, in order. Several files are read in parallel."""
    with ThreadPoolExecutor(_READERS) as pool:
        return list(pool.map(look, files))


def list_files(path: str) -> Listing:
    """Return the files of a path, a folder or a glob; there may be none.

    Raise InputError if they cannot be listed, and TableLogError if only a log says which rows are
    valid.
    """
    refuse_credentials(path)
    place = _place(path)
    with reading(path):
        listed, hidden, root = _listed_infos(place)
        left_out = hidden_data([*listed, *hidden], root)
        infos = {}
        for info in listed:
            if info.type != fs.FileType.Directory and not is_hidden(info.path.removeprefix(root)):
                infos[info.path] = info
        for info in infos.values():
            if info.type != fs.FileType.File:
                raise OSError(f"{info.path} is not a regular file, or is a broken link")
    files = []
    for at in sorted(infos):
        stamp = _stamp(infos[at])
        address = place.address + at.removeprefix(place.bucket)
        files.append(File(address, stamp[0], _partition(root, at), (place.system, at), stamp))
    return Listing(path, files, left_out)


class _Place(NamedTuple):
    """A path in a file system. Its paths begin with `bucket` where ours begin with `address`."""

    system: fs.FileSystem
    fs_path: str
    address: str = ""
    bucket: str = ""


def _place(path: str) -> _Place:
    if is_local(path):
        return _Place(*storage(path))
    # pyarrow gets only the address as a URI: engines read the rest literally, including %20 and ?.
    scheme, _, rest = path.partition("://")
    authority, slash, key = rest.partition("/")
    address = f"{scheme}://{authority}"
    system, top = storage(f"{address}/")
    bucket = top.rstrip("/")
    fs_path = (bucket + slash + key).rstrip("/") or "/"
    return _Place(system, fs_path, address, bucket)


def _listed_infos(place: _Place) -> tuple[list[fs.FileInfo], list[fs.FileInfo], str]:
    """Return the entries below a path or its matches, those below hidden matches, and their root.

    Raise TableLogError if they are within a table with a log.
    """
    system, root = place.system, place.fs_path
    given, passed_over = [system.get_file_info(root)], []
    if given[0].type == fs.FileType.NotFound:
        matched, root = _matches(system, place.fs_path)
        given = [info for info in matched if not is_hidden(info.path.removeprefix(root))]
        passed_over = [info for info in matched if is_hidden(info.path.removeprefix(root))]
    below = map_files(given, lambda entry: _below(system, entry))
    listed = list(itertools.chain(*below))
    # A file, or a match of a glob, may be within a table.
    above = {entry.path.rpartition("/")[0] for entry in given}
    if root != place.fs_path:
        above.add(root)
    beside = _logs_in(system, above - {""})
    refuse_log(info.path for info in [*listed, *beside])
    hidden = itertools.chain(*(_below(system, entry) for entry in passed_over))
    return listed, list(hidden), root


def _logs_in(system: fs.FileSystem, folders: Iterable[str]) -> list[fs.FileInfo]:
    """Return the entries of the log folders that are directly in these folders."""
    logs = [f"{folder}/{name}" for folder in folders for name in ("_delta_log", "metadata")]

    def look(log: str) -> list[fs.FileInfo]:
        infos: list[fs.FileInfo] = system.get_file_info(fs.FileSelector(log, allow_not_found=True))
        return infos

    return list(itertools.chain(*map_files(logs, look)))


def local_sizes(path: str) -> Iterator[float]:
    """Yield the size of each file of a path on this machine, or infinity if it cannot be seen."""
    if not is_local(path):
        yield math.inf
        return
    at = local(path)
    given = [at] if os.path.exists(at) else glob.glob(at)  # noqa: PTH110, PTH207  # as engines glob
    if not given:
        yield math.inf
    for one in given:
        yield from _sizes_below(one)


def _sizes_below(path: str) -> Iterator[float]:
    try:
        if not Path(path).is_dir():
            yield Path(path).stat().st_size
        for folder, _, names in os.walk(path, followlinks=True):
            for name in names:
                yield Path(folder, name).stat().st_size
    except OSError:
        yield math.inf


def listed_files(table: str, listings: Sequence[Listing]) -> list[File]:
    """Return the files of all paths of a table, each once, and warn about files that are left out.

    Raise MissingInputError for a path without files.
    """
    # Two paths may have the same file.
    files: dict[str, File] = {}
    for listing in listings:
        warn_of_data(table, listing.left_out)
        if not listing.files:
            raise missing_input(listing.path)
        files.update((file.path, file) for file in listing.files)
    return list(files.values())


def _stamp(info: fs.FileInfo) -> tuple[int, int]:
    # S3 gives milliseconds when it lists files, but not when it is asked for one file.
    time = info.mtime_ns or 0
    return info.size or 0, time // 10**9 if time % 10**6 == 0 else time


def _below(system: fs.FileSystem, entry: fs.FileInfo) -> Sequence[fs.FileInfo]:
    """Return the entries of a folder and of all folders below it, or the file itself."""
    if entry.type != fs.FileType.Directory:
        return [entry]
    if isinstance(system, fs.LocalFileSystem):
        # pyarrow's own listing skips broken links, and lists a cycle of links many times.
        walk = os.walk(entry.path, followlinks=True, onerror=_raise)
        names = [f"{folder.rstrip('/')}/{name}" for folder, _, names in walk for name in names]
    else:
        names = fs.FileSelector(entry.path, recursive=True)
    infos: list[fs.FileInfo] = system.get_file_info(names)
    return infos


def _raise(error: OSError) -> None:
    raise error


def _matches(system: fs.FileSystem, fs_path: str) -> tuple[list[fs.FileInfo], str]:
    segments = fs_path.split("/")
    fixed = [*itertools.takewhile(lambda segment: not _GLOB.search(segment), segments)]
    root = "/".join(fixed) or "/"
    if isinstance(system, fs.LocalFileSystem):
        # This includes broken links.
        level = system.get_file_info(glob.glob(fs_path))  # noqa: PTH207  # a path of pyarrow
    else:
        level = [system.get_file_info(root)] if len(fixed) < len(segments) else []
        for segment in segments[len(fixed) :]:
            folders = [entry.path for entry in level if entry.type == fs.FileType.Directory]
            infos = (
                info for folder in folders for info in system.get_file_info(fs.FileSelector(folder))
            )
            level = [info for info in infos if fnmatch.fnmatchcase(info.base_name, segment)]
    return level, root


def refuse_log(paths: Iterable[str]) -> None:
    for path in paths:
        for kind, log in _LOGS.items():
            if match := log.search(path):
                raise TableLogError(kind, path[: match.start()] or "/")


def _partition(root: str, fs_path: str) -> tuple[tuple[str, str | None], ...]:
    """Return the columns, with their values, that the folders below `root` add to a file.

    The file is at `fs_path`, and the value None means null.
    """
    folders = fs_path.removeprefix(root).strip("/").split("/")[:-1]
    pairs = (folder.split("=", 1) for folder in folders if "=" in folder)
    return tuple(
        (key, None if value == NULL_FOLDER else urllib.parse.unquote(value)) for key, value in pairs
    )


def file_format(files: Sequence[File], configured: str | None) -> str:
    """Return the configured format, or the format by the file names if none is configured.

    Raise InputError if the files have several formats.
    """
    by_format = {_format(file): file for file in reversed(files)}
    unnamed = by_format.pop("", None)
    if unnamed:
        by_format.setdefault(
            "parquet" if not configured and _is_parquet(unnamed) else "trec", unnamed
        )
    kind = configured if configured and by_format.keys().isdisjoint(TABLES) else ""
    if len(by_format) > 1 and not kind:
        examples = ", ".join(f"{name} ({file.path})" for name, file in by_format.items())
        what = f"{len(by_format)} formats, {examples}"
        raise InputError(f"{what}; give files of one format, such as 'runs/*.run'")
    kind = kind or next(iter(by_format))
    keys = {tuple(key for key, _ in file.partition): file.path for file in files}
    if len(keys) > 1:
        first, second, *_ = keys.values()
        what = f"folders that add different columns, e.g. {first} and {second}"
        raise InputError(f"{what}; use the same column names, column=value")
    return kind


def _format(file: File) -> str:
    """Return the format of a table or a file by its name, or "" if its name does not tell."""
    suffix = PurePosixPath(file.path.removesuffix(".gz")).suffix.lower()
    return (
        file.snapshot.format
        if file.snapshot
        else _FORMATS.get(suffix, "" if file.storage else "parquet")
    )


def _is_parquet(file: File) -> bool:
    """Whether a file begins and ends like Parquet; text may begin in the same way."""
    system, fs_path = file.location
    with contextlib.suppress(OSError, ValueError), system.open_input_file(fs_path) as stream:
        return file.size > 8 and stream.read_at(4, 0) == stream.read_at(4, file.size - 4) == b"PAR1"
    return False
