"""The files behind a path, looked at before an engine reads them.

Engines differ in what they do with a path that is not there (the embedded one reads zero rows) and with a damaged
file (it names none), so both are found out here, with pyarrow, where this process sees the files.
"""

import dataclasses
import os
import urllib.parse
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
from pyarrow import fs

from ndcg_spark.errors import InputError, first_line
from ndcg_spark.inputs import listing, table_formats
from ndcg_spark.inputs.listing import before_wildcards
from ndcg_spark.inputs.storage import is_local, local, storage
from ndcg_spark.masking import masked
from ndcg_spark.schemas import NULL_FOLDER

__all__ = ["File", "before_wildcards", "below", "find", "format_of", "local", "sniffed", "storage"]

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
_READERS = 8


@dataclasses.dataclass(frozen=True)
class File:
    """A file as an engine names it, and its size in bytes."""

    path: str
    size: int
    #: The columns that folders named column=value give its rows, below the path that was asked for.
    partition: tuple[tuple[str, str | None], ...] = ()
    #: The path that was asked for, down to its first wildcard.
    root: str = dataclasses.field(default="", compare=False)
    #: What its first bytes say that it is, where its name does not say it: parquet, orc or gzip.
    content: str | None = dataclasses.field(default=None, compare=False)

    @property
    def compressed(self) -> bool:
        """Whether its name or its content says gzip."""
        return self.path.endswith(".gz") or self.content == "gzip"


def find(path: str, where: str) -> list[File]:
    """The files that a file name, a folder or a glob stands for, in the order of their names.

    Hidden files (`_SUCCESS`, `.part.crc`) are left out, as Spark does. Folders in folders are looked into.

    Raises
    ------
    InputError
        Nothing is there or nothing but empty folders, what is there is no file (a pipe, a link to nothing), cannot be
        read, or belongs to a table whose format keeps deleted files; a storage that does not answer.
    """
    system, place = storage(path, where)
    try:
        return _found(system, place, path, where)
    except (OSError, pa.ArrowException, UnicodeDecodeError) as error:
        raise InputError(
            f"{where}: {masked(path)} cannot be listed, {first_line(error)}; check it and its rights"
        ) from error


def _found(system: fs.FileSystem, place: str, path: str, where: str) -> list[File]:
    entries = listing.entries(system, place, where)
    if not entries:
        raise InputError(f"{where}: no such path, {masked(path)}; check the spelling, and the date if it is part of it")
    if is_local(path) and place.startswith(("/dev/", "/proc/")):
        # Another process has other files behind such a name.
        place = os.path.realpath(place)
        entries = [dataclasses.replace(entry, place=place) for entry in entries]
    fixed = place if entries[0].place.rstrip("/") == place.rstrip("/") else before_wildcards(place)
    _refuse_table_formats(system, {fixed, *(_folder(entry) for entry in entries)}, where)
    found = [file for entry in entries for file in listing.below(system, entry, where)]
    if not found:
        raise InputError(f"{where}: no files in {masked(path)}, an empty folder; check what should have written it")
    if is_local(path):
        _refuse_table_formats(system, _linked_folders(fixed, found), where)
    prefix = "" if is_local(path) else f"{path.partition('://')[0]}://"
    named = (below(fixed, prefix + entry.place, entry.place, entry.size, prefix + fixed) for entry in found)
    return sorted(named, key=lambda file: file.path)


def _folder(entry: listing.Entry) -> str:
    return entry.place.rstrip("/").rpartition("/")[0]


def _linked_folders(fixed: str, found: list[listing.Entry]) -> set[str]:
    """Where links lead to out of the path that was asked for, and that path itself without links."""
    root = os.path.realpath(fixed)
    real = (os.path.realpath(entry.place) for entry in found)
    return {root, *(place.rpartition("/")[0] for place in real if not place.startswith(f"{root}/"))}


def _refuse_table_formats(system: fs.FileSystem, folders: set[str], where: str) -> None:
    for folder in sorted(folders):
        table_formats.refuse_above(system, folder, where)


def below(root: str, path: str, place: str, size: int, written: str) -> File:
    """The file at a place below a root, which was `written` so, with the columns of the folders between them."""
    folders = place.removeprefix(root).strip("/").split("/")[:-1]
    pairs = (folder.split("=", 1) for folder in folders if "=" in folder)
    values = tuple((key, None if value == NULL_FOLDER else urllib.parse.unquote(value)) for key, value in pairs)
    return File(path, size, values, written)


def sniffed(files: list[File], where: str) -> list[File]:
    """The files with what the first bytes of those say whose names say no binary format."""
    with ThreadPoolExecutor(_READERS) as pool:
        return list(pool.map(lambda file: _sniff(file, where), files))


def _sniff(file: File, where: str) -> File:
    if file.path.endswith((".parquet", ".orc", ".gz")) or file.size == 0:
        return file
    system, place = storage(file.path, where)
    try:
        with system.open_input_stream(place, compression=None) as stream:
            start = stream.read(4)
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"{where}: {file.path} cannot be read, {first_line(error)}; check its rights") from error
    return dataclasses.replace(
        file, content=next((kind for magic, kind in _MAGIC.items() if start.startswith(magic)), None)
    )


def format_of(files: Iterable[File], where: str) -> str:
    """The format that names and contents say, TREC text where they say nothing; InputError where they disagree."""
    by_format: dict[str, str] = {}
    for file in files:
        suffix = Path(file.path.removesuffix(".gz")).suffix.lower()
        binary = file.content if file.content != "gzip" else None
        by_format.setdefault(binary or _FORMATS.get(suffix, "trec"), file.path)
    if len(by_format) > 1:
        examples = ", ".join(f"{name} ({path})" for name, path in by_format.items())
        raise InputError(f"{where}: {len(by_format)} formats in one place, {examples}; name one with format")
    return next(iter(by_format))
