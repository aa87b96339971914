"""The files of a table: where each is, which columns its folders have, its format, and how it is opened."""

import contextlib
import dataclasses
import urllib.parse
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, TypeVar

import pyarrow as pa
from pyarrow import fs

from ndcg_spark.errors import InputError, first_line
from ndcg_spark.inputs.storage import storage, unreadable
from ndcg_spark.schemas import NULL_FOLDER

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

#: How many files are looked into at the same time.
_READERS = 8
#: The bytes by which the shape of a file is recognised, and how many are read at most to see one whole line.
_HEAD, _LONGEST_HEAD = 1 << 16, 1 << 24

#: The formats of tables whose log tells which rows they have, and those of files with types and a footer. The others
#: are text.
TABLES = ("delta", "iceberg")
BINARY = ("parquet", "orc")
_FORMATS = {
    ".parquet": "parquet",
    ".orc": "orc",
    ".csv": "csv",
    ".tsv": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
}
_MAGIC = {b"PAR1": "parquet", b"ORC": "orc", b"\x1f\x8b": "gzip"}
#: The gzip of an empty file is smaller: 20 bytes, and the name of what was compressed.
_LARGEST_EMPTY_GZIP = 300

_Seen = TypeVar("_Seen")


@dataclasses.dataclass(frozen=True)
class Snapshot:
    """A version of a table with a log; `version` is None if there is none yet, or if only the engine knows it."""

    version: int | None
    schema: pa.Schema = dataclasses.field(default_factory=lambda: pa.schema([]))
    #: Reads the columns of these names; whatever it raises is a reason to refuse the table.
    scan: Callable[[list[str]], Iterable[pa.RecordBatch]] = lambda _: ()
    #: The table, where the engine reads it by itself.
    table: "DataFrame | None" = None


@dataclasses.dataclass(frozen=True)
class File:
    """A file: its path as an engine takes it, and its size in bytes."""

    path: str
    size: int
    #: The columns that folders named column=value add to its rows, below the path that was given.
    partition: tuple[tuple[str, str | None], ...] = ()
    #: The path that was given, up to its first wildcard.
    root: str = dataclasses.field(default="", compare=False)
    #: What its first bytes show it to be, where its name does not tell: parquet, orc or gzip. Of a table: its format.
    content: str | None = dataclasses.field(default=None, compare=False)
    #: Where pyarrow found it: the file system and the place there. None if only the engine can open it.
    found: tuple[fs.FileSystem, str] | None = dataclasses.field(default=None, compare=False, repr=False)
    #: Of a table of Delta, Iceberg or a catalog, in place of its files: the version that is read.
    snapshot: Snapshot | None = dataclasses.field(default=None, compare=False, repr=False)

    @property
    def is_gzipped(self) -> bool:
        """Whether its name or its content says gzip."""
        return self.path.endswith(".gz") or self.content == "gzip"

    def location(self, where: str) -> tuple[fs.FileSystem, str]:
        """The file system and the place there, for pyarrow to open; InputError if there is no such storage."""
        return self.found or storage(self.path, where)

    @contextlib.contextmanager
    def open(self, where: str) -> Iterator[pa.NativeFile]:
        """The bytes of the file, decompressed. InputError that names it for whatever is wrong with it."""
        system, place = self.location(where)
        try:
            with system.open_input_stream(place, compression="gzip" if self.is_gzipped else None) as stream:
                yield stream
        except (OSError, EOFError, pa.ArrowException, UnicodeDecodeError) as error:
            raise InputError(f"{where}: {self.path} cannot be read, {first_line(error)}; write it again") from error

    def head(self, where: str) -> str:
        """Its first 64 KiB, or as much as has one whole line; bytes that are not UTF-8 are replaced."""
        with self.open(where) as stream:
            read = bytes(stream.read(_HEAD))
            while b"\n" not in read and len(read) < _LONGEST_HEAD and (more := stream.read(len(read))):
                read += more
        # A line that is cut off does not count, unless it is the only one.
        whole = read[: read.rfind(b"\n") + 1] if len(read) >= _HEAD else b""
        return (whole or read).decode("utf-8", "replace").removeprefix("\ufeff")


def partition_of(root: str, place: str) -> tuple[tuple[str, str | None], ...]:
    """The columns, with their values, that the folders between `root` and the file at `place` add; None is null."""
    folders = place.removeprefix(root).strip("/").split("/")[:-1]
    pairs = (folder.split("=", 1) for folder in folders if "=" in folder)
    return tuple((key, None if value == NULL_FOLDER else urllib.parse.unquote(value)) for key, value in pairs)


def of_each(files: list[File], look: Callable[[File], _Seen]) -> list[_Seen]:
    """What `look` returns for each file, in their order; several files are looked into at the same time."""
    with ThreadPoolExecutor(_READERS) as pool:
        return list(pool.map(look, files))


def with_content(file: File, where: str) -> File:
    """The file, with `content` set from its first bytes if its name names no binary format.

    A gzip file in which nothing was compressed has the size 0, as the file that was compressed. InputError for a file
    that cannot be opened, StorageError if it is not on this machine.
    """
    if file.size and not file.path.endswith((".parquet", ".orc", ".gz")):
        system, place = file.location(where)
        try:
            with system.open_input_stream(place, compression=None) as stream:
                start = stream.read(4)
        except (OSError, pa.ArrowException) as error:
            raise unreadable(file.path, where, error) from error
        content = next((kind for magic, kind in _MAGIC.items() if start.startswith(magic)), None)
        file = dataclasses.replace(file, content=content)
    is_empty = file.is_gzipped and file.size < _LARGEST_EMPTY_GZIP and not file.head(where)
    return dataclasses.replace(file, size=0) if is_empty else file


def format_of(files: Iterable[File], where: str) -> str:
    """The format by names and contents, TREC text where these show none; InputError where they disagree.

    What only the engine can open is Parquet unless its name says otherwise.
    """
    by_format: dict[str, str] = {}
    for file in files:
        suffix = PurePosixPath(file.path.removesuffix(".gz")).suffix.lower()
        binary = file.content if file.content in (*BINARY, *TABLES) else None
        by_format.setdefault(binary or _FORMATS.get(suffix, "trec" if file.found else "parquet"), file.path)
    if len(by_format) > 1:
        examples = ", ".join(f"{name} ({path})" for name, path in by_format.items())
        raise InputError(f"{where}: {len(by_format)} formats in one place, {examples}; name one with format")
    return next(iter(by_format))


def refuse_unlike(files: Sequence[File], kind: str, where: str) -> None:
    """InputError for files that are not one table of the format `kind`.

    Such files have no content, are of another format, are text that this process cannot open, or have folders that give
    different columns, or two that are alike but for their case.
    """
    unknown = [file.path for file in files if not file.found and file.snapshot is None]
    if unknown and kind not in BINARY:
        raise InputError(
            f"{where}: {unknown[0]} is {kind}, which this process reads, and it cannot open the storage; write "
            "Parquet, or give a path that pyarrow can open, such as s3://, hdfs:// or file://"
        )
    if not unknown and not any(file.size or file.snapshot for file in files):
        raise InputError(f"{where}: {len(files)} empty file(s), e.g. {files[0].path}; an empty table is refused")
    for file in files:
        other = file.content if file.content in BINARY or (file.content and kind in BINARY) else kind
        if other != kind:
            raise InputError(f"{where}: {file.path} is {other} by its first bytes, not {kind}; name its format")
    keys = {tuple(key for key, _ in file.partition): file.path for file in files}
    if len(keys) > 1:
        (first, *_, last) = keys.values()
        raise InputError(
            f"{where}: folders that give different columns, e.g. {first} and {last}; name them alike, column=value"
        )
    for names, path in keys.items():
        # Here, because Delta is also written where there is no engine.
        from ndcg_spark.casting import refuse_alike

        refuse_alike(names, f"{where}: the folders of {path}")
