"""What is in a folder, or behind a glob: every file that a reader would see, and a refusal of what none can read.

Hidden names (`_SUCCESS`, `.part.crc`) are left out, as Spark does, and with a hidden folder all that is in it.
"""

import dataclasses
import fnmatch
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path

from pyarrow import fs

from ndcg_spark.errors import InputError, first_line
from ndcg_spark.inputs import table_formats

_GLOB = re.compile(r"[*?\[]")
_SPECIAL = {
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


@dataclasses.dataclass(frozen=True)
class Entry:
    """A file or a folder in a storage."""

    place: str
    size: int
    folder: bool

    @property
    def name(self) -> str:
        """The last part of its path."""
        return self.place.rstrip("/").rpartition("/")[2]


def entries(system: fs.FileSystem, place: str, where: str) -> list[Entry]:
    """What is at a path that may be a glob, nothing if nothing is; a name that exists as it is written is no glob.

    Raises
    ------
    InputError
        It is no file or folder that can be read, or a part of a table whose format keeps deleted files.
    """
    entry = _entry(system, place, where)
    if entry is not None or not _GLOB.search(place):
        return [entry] if entry else []
    fixed = before_wildcards(place)
    level = [fixed]
    for segment in place.removeprefix(fixed).strip("/").split("/"):
        children = (child for parent in level for child in _children(system, parent, where) if not hidden(child.name))
        level = [child.place for child in children if fnmatch.fnmatchcase(child.name, segment)]
    return [entry for entry in (_entry(system, place, where) for place in level) if entry]


def below(system: fs.FileSystem, entry: Entry, where: str) -> Iterator[Entry]:
    """The files in a folder and in the folders below it; a file itself. Raises as `entries`."""
    if not entry.folder:
        yield entry
    elif isinstance(system, fs.LocalFileSystem):
        yield from _walk(entry.place, where, ())
    else:
        found = list(system.get_file_info(fs.FileSelector(entry.place, recursive=True)))
        table_formats.refuse([info.path for info in found], where)
        for info in found:
            parts = info.path.removeprefix(entry.place).strip("/").split("/")
            if info.type == fs.FileType.File and not any(hidden(part) for part in parts):
                yield Entry(info.path, info.size, folder=False)


def before_wildcards(place: str) -> str:
    """The part of a glob that names one folder; all of a path that is none."""
    segments = place.split("/")
    wild = (index for index, segment in enumerate(segments) if _GLOB.search(segment))
    return "/".join(segments[: next(wild, len(segments))]) or "/"


def hidden(name: str) -> bool:
    """Whether readers pass over a file or folder of this name."""
    return name.startswith(".") or (name.startswith("_") and "=" not in name)


def _entry(system: fs.FileSystem, place: str, where: str) -> Entry | None:
    if isinstance(system, fs.LocalFileSystem):
        return _local(place, where) if _exists(place, where) else None
    info = system.get_file_info(place)
    return None if info.type == fs.FileType.NotFound else Entry(info.path, info.size, info.type != fs.FileType.File)


def _exists(place: str, where: str) -> bool:
    """Whether there is anything of this name, a link to nothing too; InputError where that may not be looked at."""
    try:
        os.lstat(place)  # its errors tell what is not there from what is closed to us
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (OSError, ValueError) as error:
        raise InputError(f"{where}: {place} cannot be read, {first_line(error)}; check it and its rights") from error
    return True


def _children(system: fs.FileSystem, folder: str, where: str) -> list[Entry]:
    """What is in a folder, hidden or not; nothing in what is no folder."""
    if not isinstance(system, fs.LocalFileSystem):
        if system.get_file_info(folder).type != fs.FileType.Directory:
            return []
        found = system.get_file_info(fs.FileSelector(folder, allow_not_found=True))
        return [Entry(info.path, info.size, info.type == fs.FileType.Directory) for info in found]
    # Looked at when they are wanted: what a glob passes over may be anything.
    return [Entry(place, 0, folder=False) for place in _names(folder, where)] if Path(folder).is_dir() else []


def _walk(folder: str, where: str, above: tuple[str, ...]) -> Iterator[Entry]:
    """The same as a recursive listing of pyarrow, which passes over links to nothing and follows those in circles."""
    real = os.path.realpath(folder)
    if real in above:
        raise InputError(f"{where}: {folder} is a link to a folder that it is in itself; remove it")
    places = _names(folder, where)
    table_formats.refuse(places, where)
    for place in places:
        if hidden(place.rpartition("/")[2]):
            continue
        entry = _local(place, where)
        if entry.folder:
            yield from _walk(place, where, (*above, real))
        else:
            yield entry


def _names(folder: str, where: str) -> list[str]:
    try:
        names = sorted(os.listdir(folder))  # noqa: PTH208  # names alone, as the operating system has them
    except OSError as error:
        raise InputError(f"{where}: {folder} cannot be listed, {error.strerror}; check its rights") from error
    for name in names:
        if not name.isprintable() and any("\udc80" <= character <= "\udcff" for character in name):
            raise InputError(f"{where}: a name in {folder} that is not UTF-8, {os.fsencode(name)!r}; rename it")
    return [f"{folder.rstrip('/')}/{name}" for name in names]


def _local(place: str, where: str) -> Entry:
    """A local file or folder; InputError for what is neither, or not ours to read."""
    try:
        info = os.stat(place)  # noqa: PTH116  # follows links, as readers do
    except FileNotFoundError as error:
        raise InputError(f"{where}: {place} is a link to nothing; remove it, or restore what it names") from error
    except OSError as error:
        raise InputError(f"{where}: {place} cannot be read, {error.strerror}; check it and its rights") from error
    special = _SPECIAL.get(stat.S_IFMT(info.st_mode))
    if special:
        raise InputError(f"{where}: {place} is {special}, and input is read more than once; write it to a file")
    if not os.access(place, os.R_OK):
        raise InputError(f"{where}: {place} cannot be read, Permission denied; check its rights")
    return Entry(place, info.st_size, stat.S_ISDIR(info.st_mode))
