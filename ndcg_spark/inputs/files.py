"""Lists the files of a path, with the columns of their folders, and detects changed files.

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


#: The number of threads that look at files.
_READERS = 8
#: The number of bytes that are read to recognise the shape of a file.
_HEAD = 1 << 16
#: The number of bytes that are read in addition if the first ones have no whole line.
_LONGEST_HEAD = 1 << 24

#: The table formats whose log says which rows they have.
TABLES = ("delta", "iceberg")
#: The file formats with types and a footer. All formats that are not here or in TABLES are text.
BINARY = ("parquet", "orc")
_FORMATS = {
    ".parquet": "parquet",
    ".orc": "orc",
    ".csv": "csv",
    ".tsv": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    # RecBole's interaction files have a header and tabs.
    ".inter": "tsv",
}
#: The paths that belong to the log of a table whose data files may still contain deleted rows.
_LOGS = {
    "delta": re.compile(r"(^|/)_delta_log(/|$)"),
    "iceberg": re.compile(r"(^|/)metadata/[^/]*\.metadata\.json(\.gz)?$"),
}
#: The kind of an unsupported file, and what to do about it, by a pattern for its first bytes.
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
    #: Reads the columns with these names. If it raises any error, the table is refused.
    scan: Callable[[list[str]], Iterable[pa.RecordBatch]] = lambda _: ()
    #: The table, if the engine reads it by itself.
    table: "DataFrame | None" = None


@dataclasses.dataclass(frozen=True)
class File:
    """A file, or a table that stands for its files."""

    #: The path in the form that engines read.
    path: str
    #: The size in bytes.
    size: int
    #: The columns that folders named column=value, below the given path, add to its rows.
    partition: tuple[tuple[str, str | None], ...] = ()
    #: The pyarrow file system that has it, and its path there. None if only the engine can open it.
    storage: tuple[fs.FileSystem, str] | None = dataclasses.field(
        default=None, compare=False, repr=False
    )
    stamp: tuple[int, int] = dataclasses.field(default=(0, 0), compare=False, repr=False)
    #: Whether it is in a temporary folder of this process, which no engine elsewhere can open.
    is_temporary: bool = False
    #: For a table of Delta, Iceberg or a catalog, the version that is read instead of its files.
    snapshot: Snapshot | None = dataclasses.field(default=None, compare=False, repr=False)

    @property
    def is_local(self) -> bool:
        """Whether this process can open the file on this machine."""
        return self.storage is not None and is_local(self.path)

    @property
    def has_changed(self) -> bool:
        """Whether the file has changed since it was listed; False if this cannot be seen."""
        if self.storage is None:
            # A version of a table never changes, and the rows that were copied from it are scored.
            return False
        system, fs_path = self.storage
        return _stamp(system, system.get_file_info(fs_path)) != self.stamp

    @property
    def location(self) -> tuple[fs.FileSystem, str]:
        """The file system and the path there; InputError if this process cannot open it."""
        return self.storage or storage(self.path)

    @contextlib.contextmanager
    def open(self) -> Iterator[pa.NativeFile]:
        """Open the file, and decompress its bytes. InputErrors name the file."""
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
        if len(read) >= _HEAD:
            # A line that is cut off is ignored, unless it is the only one.
            whole_lines = read[: read.rfind(b"\n") + 1]
            read = whole_lines or read
        return read.decode("utf-8", "replace").removeprefix("\ufeff")


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
        entries = _entries(place)
        root = entries.root
        left_out = hidden_data([*entries.below, *entries.below_hidden], root)
        # By path, because a glob may match a folder and a file in it.
        infos = {}
        for info in entries.below:
            if info.type != fs.FileType.Directory and not is_hidden(info.path.removeprefix(root)):
                infos[info.path] = info
        for info in infos.values():
            if info.type != fs.FileType.File:
                raise OSError(f"{info.path} is not a regular file, or is a broken link")
    files = []
    for fs_path in sorted(infos):
        stamp = _stamp(place.system, infos[fs_path])
        size, _ = stamp
        address = place.address + fs_path.removeprefix(place.bucket)
        location = (place.system, fs_path)
        files.append(File(address, size, _partition(root, fs_path), location, stamp))
    return Listing(path, files, left_out)


class _Place(NamedTuple):
    """A path, and where its file system has it."""

    system: fs.FileSystem
    fs_path: str
    #: How the paths of users and engines begin, such as s3://bucket; empty on this machine.
    address: str = ""
    #: How the file system's paths begin instead, such as bucket.
    bucket: str = ""


def _place(path: str) -> _Place:
    """Return where a path is. Raise InputError for an unknown storage."""
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


class _Entries(NamedTuple):
    """The entries of a path or a glob, which are files and folders."""

    #: The given file, or everything below the given folder or below the matches of a glob.
    below: list[fs.FileInfo]
    #: Everything below the matches that are hidden.
    below_hidden: list[fs.FileInfo]
    #: The given path, or the folders of a glob before its first wildcard.
    root: str


def _entries(place: _Place) -> _Entries:
    """Return the entries of a path. Raise TableLogError if they are within a table with a log."""
    system = place.system
    given = system.get_file_info(place.fs_path)
    # A path that does not exist may be a glob.
    is_glob = given.type == fs.FileType.NotFound
    root = _fixed_part(place.fs_path) if is_glob else place.fs_path
    matches = _matches(system, place.fs_path) if is_glob else [given]
    visible = []
    hidden = []
    for info in matches:
        if is_glob and is_hidden(info.path.removeprefix(root)):
            hidden.append(info)
        else:
            visible.append(info)
    below = list(itertools.chain(*map_files(visible, lambda entry: _below(system, entry))))
    # A file, or a match of a glob, may be within a table.
    parents = {entry.path.rpartition("/")[0] for entry in visible}
    if root != place.fs_path:
        parents.add(root)
    logs = _logs_in(system, parents - {""})
    refuse_log(info.path for info in [*below, *logs])
    below_hidden: list[fs.FileInfo] = []
    for entry in hidden:
        below_hidden.extend(_below(system, entry))
    return _Entries(below, below_hidden, root)


def _logs_in(system: fs.FileSystem, folders: Iterable[str]) -> list[fs.FileInfo]:
    """Return the log folders that are directly in these folders, and their entries."""
    logs = [f"{folder}/{name}" for folder in folders for name in ("_delta_log", "metadata")]

    def entries_of(log: str) -> list[fs.FileInfo]:
        infos: list[fs.FileInfo] = system.get_file_info(fs.FileSelector(log, allow_not_found=True))
        itself = system.get_file_info(log)
        # An empty log is a log as well.
        return [*infos, itself] if itself.type == fs.FileType.Directory else infos

    return list(itertools.chain(*map_files(logs, entries_of)))


def local_sizes(path: str) -> Iterator[float]:
    """Yield the size of each file of a path on this machine, or infinity if it cannot be seen."""
    if not is_local(path):
        yield math.inf
        return
    local_path = local(path)
    if os.path.exists(local_path):  # noqa: PTH110  # never raises an error
        found = [local_path]
    else:
        found = glob.glob(local_path)  # noqa: PTH207  # as engines glob
    if not found:
        yield math.inf
    for one in found:
        yield from _sizes_below(one)


def _sizes_below(path: str) -> Iterator[float]:
    """Yield the size of a file, or of each file below a folder; infinity if it cannot be seen."""
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


def _stamp(system: fs.FileSystem, info: fs.FileInfo) -> tuple[int, int]:
    """Return the size of a file and the time of its last change, which show later changes."""
    time = info.mtime_ns or 0
    has_whole_milliseconds = time % 10**6 == 0
    if has_whole_milliseconds and not isinstance(system, fs.LocalFileSystem):
        # S3 gives milliseconds when it lists files, but not when it is asked for one file.
        time = time // 10**9 * 10**9
    return info.size or 0, time


def _below(system: fs.FileSystem, entry: fs.FileInfo) -> Sequence[fs.FileInfo]:
    """Return the entries of a folder and of all folders below it, or the file itself."""
    if entry.type != fs.FileType.Directory:
        return [entry]
    if isinstance(system, fs.LocalFileSystem):
        # pyarrow's own listing skips broken links, and lists a cycle of links many times.
        names = []
        for folder, folders, files in os.walk(entry.path, followlinks=True, onerror=_raise):
            names += [f"{folder.rstrip('/')}/{name}" for name in folders + files]
    else:
        names = fs.FileSelector(entry.path, recursive=True)
    infos: list[fs.FileInfo] = system.get_file_info(names)
    return infos


def _raise(error: OSError) -> None:
    raise error


def _fixed_part(fs_path: str) -> str:
    """Return the folders of a glob before its first wildcard: /data for /data/*/runs."""
    folders = itertools.takewhile(lambda name: not _GLOB.search(name), fs_path.split("/"))
    return "/".join(folders) or "/"


def _matches(system: fs.FileSystem, fs_path: str) -> list[fs.FileInfo]:
    """Return the files and folders that a glob matches; none if it has no wildcard."""
    if isinstance(system, fs.LocalFileSystem):
        # This includes broken links.
        infos: list[fs.FileInfo] = system.get_file_info(glob.glob(fs_path))  # noqa: PTH207
        return infos
    segments = fs_path.split("/")
    wild = list(itertools.dropwhile(lambda segment: not _GLOB.search(segment), segments))
    if not wild:
        return []
    matched = [system.get_file_info(_fixed_part(fs_path))]
    for segment in wild:
        below = []
        for entry in matched:
            if entry.type == fs.FileType.Directory:
                below.extend(system.get_file_info(fs.FileSelector(entry.path)))
        matched = [info for info in below if fnmatch.fnmatchcase(info.base_name, segment)]
    return matched


def refuse_log(paths: Iterable[str]) -> None:
    """Raise TableLogError if one of the paths belongs to the log of a table."""
    for path in paths:
        for kind, log in _LOGS.items():
            found = log.search(path)
            if found:
                raise TableLogError(kind, path[: found.start()] or "/")


def _partition(root: str, fs_path: str) -> tuple[tuple[str, str | None], ...]:
    """Return the columns, with their values, that the folders below `root` add to a file.

    They are (("run", "bm25"),) for `root`/run=bm25/part.parquet. The value None means null.
    """
    folders = fs_path.removeprefix(root).strip("/").split("/")[:-1]
    pairs: list[tuple[str, str | None]] = []
    for folder in folders:
        key, equals, text = folder.partition("=")
        if equals:
            value = None if text == NULL_FOLDER else urllib.parse.unquote(text)
            pairs.append((key, value))
    return tuple(pairs)


def file_format(files: Sequence[File], configured: str | None) -> str:
    """Return the configured format, or the format by the file names if none is configured.

    Raise InputError if the files have several formats, or if their folders add different columns.
    """
    # The first file of each format.
    examples = {_format(file): file for file in reversed(files)}
    unnamed = examples.pop("", None)
    if unnamed is not None:
        is_parquet = not configured and _is_parquet(unnamed)
        examples.setdefault("parquet" if is_parquet else "trec", unnamed)
    # The format of a table with a log cannot be configured.
    is_configurable = examples.keys().isdisjoint(TABLES)
    if configured and is_configurable:
        kind = configured
    elif len(examples) == 1:
        kind = next(iter(examples))
    else:
        formats = ", ".join(f"{name} ({file.path})" for name, file in examples.items())
        what = f"{len(examples)} formats, {formats}"
        raise InputError(f"{what}; give files of one format, such as 'runs/*.run'")
    _refuse_different_folders(files)
    return kind


def _refuse_different_folders(files: Sequence[File]) -> None:
    """Raise InputError if the folders of two files add different columns."""
    # A file for each combination of columns, such as ("dataset", "run").
    examples = {}
    for file in files:
        columns = tuple(column for column, _ in file.partition)
        examples[columns] = file.path
    if len(examples) > 1:
        first, second, *_ = examples.values()
        what = f"folders that add different columns, e.g. {first} and {second}"
        raise InputError(f"{what}; use the same column names, column=value")


def _format(file: File) -> str:
    """Return the format that the name of a file or table shows, or "" if it shows none."""
    if file.snapshot is not None:
        return file.snapshot.format
    # Only Parquet can be read by the engine alone.
    unknown = "" if file.storage else "parquet"
    suffix = PurePosixPath(file.path.removesuffix(".gz")).suffix.lower()
    return _FORMATS.get(suffix, unknown)


def _is_parquet(file: File) -> bool:
    """Whether a file begins and ends like Parquet; text may begin in the same way."""
    system, fs_path = file.location
    with contextlib.suppress(OSError, ValueError), system.open_input_file(fs_path) as stream:
        if file.size > 8:
            begin = stream.read_at(4, 0)
            end = stream.read_at(4, file.size - 4)
            return bool(begin == end == b"PAR1")
    return False
