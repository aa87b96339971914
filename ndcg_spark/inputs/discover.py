"""The files that a path stands for: a file, a pipe, a folder with all below it, or a glob.

Hidden names (`_SUCCESS`, `.part.crc`) are left out, as Spark does, and a hidden folder with everything in it.
"""

import fnmatch
import os
import re
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
from pyarrow import fs

from ndcg_spark.engine import Engine
from ndcg_spark.errors import EngineError, InputError, MissingInputError
from ndcg_spark.inputs import engine_files, table_logs
from ndcg_spark.inputs.files import File, of_each, partition_of, with_content
from ndcg_spark.inputs.storage import NoStorageError, is_local, local, refuse_credentials, storage, unreadable
from ndcg_spark.masking import masked

#: How the names of backups and of unfinished copies end.
_BACKUPS = ("~", ".bak", ".backup", ".old", ".orig", ".swp", ".tmp", ".temp", ".part", ".partial", ".crdownload")
_GLOB = re.compile(r"[*?\[]")
#: A folder or a file: its place in its file system, its size, and whether it is a folder.
_Entry = tuple[str, int, bool]


def find(engine: Engine, path: str, where: str) -> list[File]:
    """The files behind a path, sorted by path; a path that only the engine can open is one file that it reads alone.

    Raises
    ------
    InputError
        Nothing is there, or only empty folders; what is there cannot be read; the path has credentials in it; or it
        belongs to a table whose format keeps deleted files.
    StorageError
        The storage is not on this machine, and cannot be read.
    """
    refuse_credentials(path, where)
    try:
        found = files_of(_without_pipe(engine, engine.addressed(path), where), where)
        return of_each(found, lambda file: with_content(file, where))
    except (NoStorageError, MissingInputError) as error:
        if engine.sees_local_files or (isinstance(error, MissingInputError) and not is_local(path)):
            raise
        return [engine_files.far_file(engine, path, where)]


def files_of(path: str, where: str) -> list[File]:
    """The files that a file name, a folder or a glob stands for, sorted by path. Raises as `find`."""
    address, key = _split(path)
    system, place = storage(f"{address}/" if address else path, where)
    bucket = place.rstrip("/") if address else ""
    place = (bucket + key).rstrip("/") or "/" if address else place
    try:
        entries = list(_entries(system, place))
        if not entries:
            raise MissingInputError(
                f"{where}: no such path, {masked(path)}; check the spelling, and the date if it is part of it"
            )
        fixed = place if entries[0][0] == place else _before_wildcards(place)
        found = [below for entry in entries for below in _below(system, entry, where)]
        for folder in {fixed, *(name.rpartition("/")[0] for name, _, is_folder in entries if not is_folder)}:
            table_logs.refuse_table(system, folder, where)
    except (OSError, pa.ArrowException, UnicodeError) as error:
        raise unreadable(path, where, error) from error
    if not found:
        raise MissingInputError(
            f"{where}: no files in {masked(path)}, an empty folder; check what should have written it"
        )

    root = address + fixed.removeprefix(bucket)
    files = (
        File(address + place.removeprefix(bucket), size, partition_of(fixed, place), root, found=(system, place))
        for place, size, _ in found
    )
    return sorted(files, key=lambda file: file.path)


def without_backups(files: list[File], paths: list[str], name: str) -> tuple[list[File], list[str]]:
    """The files that are read, and sentences about those that are not, and about empty files.

    Backups in a folder or behind a glob are left out; MissingInputError if nothing else is there.
    """
    backups = [file.path for file in files if file.snapshot is None and _is_backup(file)]
    kept = [file for file in files if file.path not in backups] if backups else files
    if not kept:
        raise MissingInputError(
            f"{name}: no files in {paths[0]} but {len(backups)} backup(s), e.g. {backups[0]}; give the path of the "
            "file itself if it is meant"
        )
    empty = [file.path for file in kept if file.size == 0 and file.snapshot is None and file.found]
    sentences = [f"{len(backups)} backup(s) left out, e.g. {backups[0]}"] if backups else []
    sentences += [f"{len(empty)} empty file(s), e.g. {empty[0]}"] if empty else []
    return kept, sentences


def _before_wildcards(place: str) -> str:
    """The folder that a glob begins with, up to its first wildcard; the whole path if it has no wildcard."""
    segments = place.split("/")
    wild = (index for index, segment in enumerate(segments) if _GLOB.search(segment))
    return "/".join(segments[: next(wild, len(segments))]) or "/"


def _is_backup(file: File) -> bool:
    """Whether this is a backup, an unfinished copy or a readme beside data, and not named by the user itself."""
    if file.root and file.path.endswith(file.root):
        return False
    name = file.path.rpartition("/")[2]
    plain = name.lower().removesuffix(".gz")
    return plain.endswith(_BACKUPS) or plain.split(".")[0] == "readme" or (name.startswith("#") and name.endswith("#"))


def _is_hidden(name: str) -> bool:
    return name.startswith(".") or (name.startswith("_") and "=" not in name)


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


def _entries(system: fs.FileSystem, place: str) -> Iterator[_Entry]:
    """The files and folders at a place that may be a glob. A name that exists as it is written is not a glob."""
    entry = _entry(system, place)
    if entry or not _GLOB.search(place):
        yield from [entry] if entry else []
        return
    fixed = _before_wildcards(place)
    level = [fixed]
    for segment in place.removeprefix(fixed).strip("/").split("/"):
        names = (name for folder in level for name in _names(system, folder))
        level = [name for name in names if fnmatch.fnmatchcase(name.rpartition("/")[2], segment)]
    yield from (entry for entry in (_entry(system, name) for name in level) if entry)


def _below(system: fs.FileSystem, entry: _Entry, where: str) -> Iterator[_Entry]:
    """The files in a folder and in all folders below it; of a file, the file itself."""
    place, _, is_folder = entry
    if not is_folder:
        yield entry
    elif isinstance(system, fs.LocalFileSystem):
        # pyarrow's own listing passes over links to nothing.
        table_logs.refuse((f"{place}/{name}" for name in os.listdir(place)), where)  # noqa: PTH208  # as below
        for name in _names(system, place):
            found = _entry(system, name)
            yield from _below(system, found, where) if found else ()
    else:
        infos = system.get_file_info(fs.FileSelector(place, recursive=True))
        table_logs.refuse((info.path for info in infos), where)
        for info in infos:
            parts = info.path.removeprefix(place).strip("/").split("/")
            if info.type == fs.FileType.File and not any(map(_is_hidden, parts)):
                yield info.path, info.size, False


def _names(system: fs.FileSystem, folder: str) -> list[str]:
    """What is in a folder, sorted, without hidden names; nothing for a file."""
    if isinstance(system, fs.LocalFileSystem):
        names = os.listdir(folder) if Path(folder).is_dir() else []  # noqa: PTH208  # also names that are not text
        for name in names:
            name.encode()
    elif system.get_file_info(folder).type == fs.FileType.Directory:
        names = [info.base_name for info in system.get_file_info(fs.FileSelector(folder, allow_not_found=True))]
    else:
        names = []
    return [f"{folder.rstrip('/')}/{name}" for name in sorted(names) if not _is_hidden(name)]


def _entry(system: fs.FileSystem, place: str) -> _Entry | None:
    """The file or folder of this name; None if there is none. OSError for a link to nothing, and for a device."""
    if not isinstance(system, fs.LocalFileSystem):
        info = system.get_file_info(place)
        return None if info.type == fs.FileType.NotFound else (place, info.size or 0, info.type != fs.FileType.File)
    try:
        os.lstat(place)
    except (FileNotFoundError, NotADirectoryError, ValueError):
        return None
    found = os.stat(place)  # noqa: PTH116  # follows links, as readers do
    is_folder = stat.S_ISDIR(found.st_mode)
    if not is_folder and not stat.S_ISREG(found.st_mode):
        raise OSError(f"{place} is not a regular file")
    return os.path.realpath(place) if place.startswith(("/dev/", "/proc/")) else place, found.st_size, is_folder


def _without_pipe(engine: Engine, path: str, where: str) -> str:
    """A temporary copy of a pipe, such as /dev/stdin or the shell's <(zcat ...), which can be read once; else the path.

    Raises
    ------
    InputError
        The pipe cannot be read.
    EngineError
        There is no room for the copy.
    """
    try:
        # A name below /proc stands for the pipe only as it is: its target is not a path.
        place = path if path.startswith("/") else local(path)
        if not is_local(path) or not stat.S_ISFIFO(os.stat(place).st_mode):  # noqa: PTH116
            return path
    except (OSError, ValueError):
        return path
    if path not in engine.scratch.copies:
        target = engine.scratch.folder() / (Path(path).name if path.startswith("/dev/std") else "pipe")
        try:
            with Path(path).open("rb") as source, target.open("wb") as copy:
                shutil.copyfileobj(source, copy, 1 << 20)
        except OSError as error:
            if error.filename == path:
                raise InputError(f"{where}: {path} cannot be read, {error.strerror}; check its rights") from error
            raise EngineError(
                f"{where}: {path} cannot be copied to a temporary file, {error}; make room, or set TMPDIR"
            ) from error
        engine.scratch.copies[path] = target
    return str(engine.scratch.copies[path])
