"""Folders of this machine, where names may also stand for pipes, broken links and files that we may not read.

pyarrow's own recursive listing leaves out links to nothing, and follows links that lead in a circle.
"""

import dataclasses
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from ndcg_spark.errors import InputError, first_line
from ndcg_spark.inputs import table_formats

#: How the names of backups and of unfinished copies end.
_BACKUPS = ("~", ".bak", ".backup", ".old", ".orig", ".swp", ".tmp", ".temp", ".part", ".partial", ".crdownload")
_SPECIAL = {
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}


@dataclasses.dataclass(frozen=True)
class Entry:
    """A file or a folder in a storage, with its size in bytes."""

    place: str
    size: int
    folder: bool

    @property
    def name(self) -> str:
        """The last part of its path."""
        return self.place.rstrip("/").rpartition("/")[2]


def hidden(name: str) -> bool:
    """Whether readers leave out a file or folder of this name."""
    return name.startswith(".") or (name.startswith("_") and "=" not in name)


def is_backup(name: str) -> bool:
    """Whether a file of this name lies beside data and is none: a backup, an unfinished copy, or a file about the data.

    Such files are only read if they are named themselves.
    """
    plain = name.lower().removesuffix(".gz")
    return plain.endswith(_BACKUPS) or plain.split(".")[0] == "readme" or (name.startswith("#") and name.endswith("#"))


def exists(place: str, where: str) -> bool:
    """Whether there is anything of this name, even a link to nothing; InputError if we are not allowed to look."""
    try:
        os.lstat(place)  # unlike Path.exists, it tells a missing file from a folder that is closed to us
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (OSError, ValueError) as error:
        raise InputError(f"{where}: {place} cannot be read, {first_line(error)}; check it and its rights") from error
    return True


def entry(place: str, where: str) -> Entry:
    """The file or folder of this name; InputError if it is something else, or we may not read it."""
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


def children(folder: str, where: str) -> list[Entry]:
    """The names in a folder, hidden or not, none of them looked at: a glob may leave them out. Empty for a file."""
    return [Entry(place, 0, folder=False) for place in _names(folder, where)] if Path(folder).is_dir() else []


def files_below(folder: str, where: str, above: tuple[str, ...] = ()) -> Iterator[Entry]:
    """The files in a folder and in all folders below it, but not the hidden ones.

    `above` are the real paths of the folders that led here. InputError for a link that leads back to one of them, and
    as `entry`.
    """
    real = os.path.realpath(folder)
    if real in above:
        raise InputError(f"{where}: {folder} is a link to a folder that it is in itself; remove it")
    places = _names(folder, where)
    table_formats.refuse(places, where)
    for place in places:
        if hidden(place.rpartition("/")[2]):
            continue
        found = entry(place, where)
        if found.folder:
            yield from files_below(place, where, (*above, real))
        else:
            yield found


def _names(folder: str, where: str) -> list[str]:
    try:
        names = sorted(os.listdir(folder))  # noqa: PTH208  # names alone, as the operating system has them
    except OSError as error:
        raise InputError(f"{where}: {folder} cannot be listed, {error.strerror}; check its rights") from error
    for name in names:
        if not name.isprintable() and any("\udc80" <= character <= "\udcff" for character in name):
            raise InputError(f"{where}: a name in {folder} that is not UTF-8, {os.fsencode(name)!r}; rename it")
    return [f"{folder.rstrip('/')}/{name}" for name in names]
