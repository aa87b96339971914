"""The files behind a path, looked at before an engine reads them.

Engines disagree about a path that does not exist (the embedded one reads zero rows) and about a damaged file (it does
not say which one). So both are looked for here, with pyarrow, where this process sees the files.
"""

import dataclasses
import os
import urllib.parse
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import pyarrow as pa
from pyarrow import fs

from ndcg_spark.errors import InputError, MissingInputError, first_line
from ndcg_spark.inputs import listing, table_formats
from ndcg_spark.inputs.local_listing import Entry
from ndcg_spark.inputs.snapshots import Snapshot
from ndcg_spark.inputs.storage import is_local, storage
from ndcg_spark.masking import masked
from ndcg_spark.schemas import NULL_FOLDER

#: How many files are looked into at the same time.
_READERS = 8

_Seen = TypeVar("_Seen")


@dataclasses.dataclass(frozen=True)
class File:
    """A file: its path as an engine takes it, and its size in bytes."""

    path: str
    size: int
    #: The columns that folders named column=value add to its rows, below the path that was asked for.
    partition: tuple[tuple[str, str | None], ...] = ()
    #: The path that was asked for, up to its first wildcard.
    root: str = dataclasses.field(default="", compare=False)
    #: What its first bytes show it to be, where its name does not tell: parquet, orc or gzip. Of a table: its format.
    content: str | None = dataclasses.field(default=None, compare=False)
    #: Where pyarrow found it: the file system and the place there.
    found: tuple[fs.FileSystem, str] | None = dataclasses.field(default=None, compare=False, repr=False)
    #: Of a table of Delta, Iceberg or a catalog, in place of its files: the version that is read.
    snapshot: Snapshot | None = dataclasses.field(default=None, compare=False, repr=False)

    @property
    def compressed(self) -> bool:
        """Whether its name or its content says gzip."""
        return self.path.endswith(".gz") or self.content == "gzip"

    def located(self, where: str) -> tuple[fs.FileSystem, str]:
        """The file system and the place there, for pyarrow to open; InputError if there is no such storage."""
        return self.found or storage(self.path, where)


def find(path: str, where: str) -> list[File]:
    """The files that a file name, a folder or a glob stands for, sorted by path.

    Folders are searched to any depth. Hidden files (`_SUCCESS`, `.part.crc`) are left out, as Spark does.

    Raises
    ------
    InputError
        Nothing is there, or only empty folders; what is there cannot be read or is not a file (a pipe, a link to
        nothing); it belongs to a table whose format keeps deleted files; or the storage does not answer.
    """
    address, key = _split(path)
    system, place = storage(f"{address}/" if address else path, where)
    bucket = place.rstrip("/") if address else ""
    try:
        root, entries = _entries(system, (bucket + key).rstrip("/") or "/" if address else place, path, where)
    except (OSError, pa.ArrowException, UnicodeDecodeError) as error:
        raise InputError(
            f"{where}: {masked(path)} cannot be listed, {first_line(error)}; check it and its rights"
        ) from error

    def named(place: str) -> str:
        return address + place.removeprefix(bucket)

    files = (
        File(named(entry.place), entry.size, partition_of(root, entry.place), named(root), found=(system, entry.place))
        for entry in entries
    )
    return sorted(files, key=lambda file: file.path)


def partition_of(root: str, place: str) -> tuple[tuple[str, str | None], ...]:
    """The columns, with their values, that the folders between `root` and the file at `place` add; None is null."""
    folders = place.removeprefix(root).strip("/").split("/")[:-1]
    pairs = (folder.split("=", 1) for folder in folders if "=" in folder)
    return tuple((key, None if value == NULL_FOLDER else urllib.parse.unquote(value)) for key, value in pairs)


def of_each(files: list[File], look: Callable[[File], _Seen]) -> list[_Seen]:
    """What `look` returns for each file, in their order; several files are looked into at the same time."""
    with ThreadPoolExecutor(_READERS) as pool:
        return list(pool.map(look, files))


def _split(path: str) -> tuple[str, str]:
    """The `scheme://authority` of a path and the rest of it; no address for a local path.

    Only the address is given to pyarrow as a URI. In the rest no %20 is decoded and no ? begins parameters, because
    engines take it literally.
    """
    if is_local(path):
        return "", path
    scheme, _, rest = path.partition("://")
    authority, slash, key = rest.partition("/")
    return f"{scheme}://{authority}", slash + key


def _entries(system: fs.FileSystem, place: str, path: str, where: str) -> tuple[str, list[Entry]]:
    """The folder that partitions are counted from, and the files at a place that may be a glob."""
    entries = listing.entries(system, place, where)
    if not entries:
        raise MissingInputError(
            f"{where}: no such path, {masked(path)}; check the spelling, and the date if it is part of it"
        )
    if is_local(path) and place.startswith(("/dev/", "/proc/")):
        # In another process such a name stands for another file.
        place = os.path.realpath(place)
        entries = [dataclasses.replace(entry, place=place) for entry in entries]
    literal = entries[0].place.rstrip("/") == place.rstrip("/")
    fixed = place if literal else listing.before_wildcards(place)
    _refuse_table_formats(system, {fixed, *(entry.place.rstrip("/").rpartition("/")[0] for entry in entries)}, where)
    found = [file for entry in entries for file in listing.below(system, entry, where)]
    if not found:
        raise MissingInputError(
            f"{where}: no files in {masked(path)}, an empty folder; check what should have written it"
        )
    if is_local(path):
        _refuse_table_formats(system, _linked_folders(fixed, found), where)
    return fixed, found


def _linked_folders(root: str, found: list[Entry]) -> set[str]:
    """Where links lead to out of the folder `root`, and that folder itself without links."""
    real_root = os.path.realpath(root)
    real = (os.path.realpath(entry.place) for entry in found)
    return {real_root, *(place.rpartition("/")[0] for place in real if not place.startswith(f"{real_root}/"))}


def _refuse_table_formats(system: fs.FileSystem, folders: set[str], where: str) -> None:
    for folder in sorted(folders):
        table_formats.refuse_above(system, folder, where)
