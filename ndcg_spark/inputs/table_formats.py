"""Delta, Iceberg and Hudi: folders whose files are not all rows of the table.

Such a table keeps the files that were deleted or rewritten, and only its log says which count. They are recognised by
the log, and refused: read as plain files, a table has rows that it no longer has.
"""

import re
from collections.abc import Iterable

from pyarrow import fs

from ndcg_spark.errors import InputError

#: The format that a path tells, in a folder's listing.
_MARKS = {
    "Delta": re.compile(r"(^|/)_delta_log(/|$)"),
    "Hudi": re.compile(r"(^|/)\.hoodie(/|$|_partition_metadata)"),
    "Iceberg": re.compile(r"(^|/)metadata/[^/]*\.metadata\.json(\.gz)?$"),
}
#: What stands in a folder of such a table, to be asked for by name: by format, a folder and the names in it that tell.
_LOGS = {"Delta": ("_delta_log", ""), "Hudi": (".hoodie", ""), "Iceberg": ("metadata", "metadata.json")}


def refuse(paths: Iterable[str], where: str) -> None:
    """InputError if one of the paths, of a folder and all in it, is the log of such a table."""
    for path in paths:
        for name, mark in _MARKS.items():
            found = mark.search(path)
            if found:
                _refuse(name, path[: found.start()] or "/", where)


def refuse_above(system: fs.FileSystem, place: str, where: str) -> None:
    """InputError if a file, folder or glob is a part of such a table, whose log is in a folder above it.

    A storage that is not local is only asked as far up as folders of partitions, or one called data, may lead.
    """
    folders = place.rstrip("/").split("/")
    local = isinstance(system, fs.LocalFileSystem)
    for depth in range(len(folders), 0 if local else 1, -1):
        folder = "/".join(folders[:depth])
        for name, (log, end) in _LOGS.items():
            if _has(system, f"{folder}/{log}", end):
                _refuse(name, folder or "/", where)
        inner = folders[depth - 1]
        if not local and depth < len(folders) and "=" not in inner and inner != "data":
            return


def _has(system: fs.FileSystem, log: str, end: str) -> bool:
    if system.get_file_info(log).type != fs.FileType.Directory:
        return False
    if not end:
        return True
    names = (info.base_name for info in system.get_file_info(fs.FileSelector(log)))
    return any(name.removesuffix(".gz").endswith(f".{end}") for name in names)


def _refuse(name: str, folder: str, where: str) -> None:
    raise InputError(
        f"{where}: {folder} is a table of {name}, whose files have deleted rows too; read it as a catalog table, "
        "table:catalog.db.name, on a cluster that knows it, or export its current version to Parquet"
    )
