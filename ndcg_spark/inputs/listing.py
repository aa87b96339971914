"""What is in a folder, or behind a glob: the files that a reader would see.

Hidden names (`_SUCCESS`, `.part.crc`) are left out, as Spark does, and a hidden folder with everything in it.
"""

import fnmatch
import re
from collections.abc import Iterator

from pyarrow import fs

from ndcg_spark.inputs import local_listing, table_formats
from ndcg_spark.inputs.local_listing import Entry, hidden

_GLOB = re.compile(r"[*?\[]")


def entries(system: fs.FileSystem, place: str, where: str) -> list[Entry]:
    """The files and folders at a place that may be a glob; empty if there is nothing.

    A name that exists exactly as it is written is not taken for a glob.

    Raises
    ------
    InputError
        Something there is not a file or folder that can be read, or belongs to a table whose format keeps deleted
        files.
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
    """The files in a folder and in all folders below it; of a file, the file itself. Raises as `entries`."""
    if not entry.folder:
        yield entry
    elif isinstance(system, fs.LocalFileSystem):
        yield from local_listing.files_below(entry.place, where)
    else:
        found = list(system.get_file_info(fs.FileSelector(entry.place, recursive=True)))
        table_formats.refuse([info.path for info in found], where)
        for info in found:
            parts = info.path.removeprefix(entry.place).strip("/").split("/")
            if info.type == fs.FileType.File and not any(hidden(part) for part in parts):
                yield Entry(info.path, info.size, folder=False)


def before_wildcards(place: str) -> str:
    """The folder that a glob begins with, up to its first wildcard; the whole path if it has no wildcard."""
    segments = place.split("/")
    wild = (index for index, segment in enumerate(segments) if _GLOB.search(segment))
    return "/".join(segments[: next(wild, len(segments))]) or "/"


def _entry(system: fs.FileSystem, place: str, where: str) -> Entry | None:
    if isinstance(system, fs.LocalFileSystem):
        return local_listing.entry(place, where) if local_listing.exists(place, where) else None
    info = system.get_file_info(place)
    return None if info.type == fs.FileType.NotFound else Entry(info.path, info.size, info.type != fs.FileType.File)


def _children(system: fs.FileSystem, folder: str, where: str) -> list[Entry]:
    """What is in a folder, hidden or not; empty if it is not a folder."""
    if isinstance(system, fs.LocalFileSystem):
        return local_listing.children(folder, where)
    if system.get_file_info(folder).type != fs.FileType.Directory:
        return []
    found = system.get_file_info(fs.FileSelector(folder, allow_not_found=True))
    return [Entry(info.path, info.size, info.type == fs.FileType.Directory) for info in found]
