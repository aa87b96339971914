"""Delta, Iceberg and Hudi: tables that also keep files with rows that were deleted or replaced.

Only the log of such a table says which files count. Tables are recognised by their log and refused, because read as
plain files they would still have the deleted rows. What can be read by its log, `lakehouse` reads instead.
"""

import re
import urllib.parse
from collections.abc import Iterable

from pyarrow import fs

from ndcg_spark.errors import InputError
from ndcg_spark.inputs.storage import is_local, local

#: By format, the paths in a listing that belong to its log.
_MARKS = {
    "Delta": re.compile(r"(^|/)_delta_log(/|$)"),
    "Hudi": re.compile(r"(^|/)\.hoodie(/|$|_partition_metadata)"),
    "Iceberg": re.compile(r"(^|/)metadata/[^/]*\.metadata\.json(\.gz)?$"),
}
#: What installs the library that reads a format.
_EXTRAS = {"Delta": "delta", "Iceberg": "iceberg"}


class TableLogError(InputError):
    """Files that belong to a table of such a format; `format` is its name in a configuration."""

    def __init__(self, name: str, folder: str, where: str) -> None:
        extra = _EXTRAS.get(name)
        first = f"give its folder {folder} alone, which needs pip install 'ndcg-spark[{extra}]', " if extra else ""
        super().__init__(
            f"{where}: {folder} is a table of {name}, whose files have deleted rows too; {first}{'or ' * bool(extra)}"
            "read it as a catalog table, table:catalog.db.name, on a cluster that knows it, or export its current "
            "version to Parquet"
        )
        self.format = name.lower()
        self.folder = folder

    def is_all_of(self, path: str) -> bool:
        """Whether the path is that of the table's folder, or of a file of metadata, which is a version of the table."""
        given = local(path) if is_local(path) else urllib.parse.urlsplit(path).netloc + urllib.parse.urlsplit(path).path
        folder = given.strip("/")
        if self.format == "iceberg" and folder.endswith(".metadata.json"):
            folder = folder.rpartition("/metadata/")[0]
        whole = urllib.parse.urlsplit(self.folder)
        return folder in (self.folder.strip("/"), (whole.netloc + whole.path).strip("/"))


def refuse(paths: Iterable[str], where: str) -> None:
    """TableLogError if one of the paths in a listing belongs to the log of such a table."""
    for path in paths:
        for name, mark in _MARKS.items():
            found = mark.search(path)
            if found:
                raise TableLogError(name, path[: found.start()] or "/", where)


def refuse_table(system: fs.FileSystem, folder: str, where: str) -> None:
    """TableLogError if a folder is that of such a table."""
    for place in (folder, f"{folder}/metadata"):
        if system.get_file_info(place).type != fs.FileType.Directory:
            # HDFS refuses to look below a file, for all but its superuser.
            return
        refuse((info.path for info in system.get_file_info(fs.FileSelector(place))), where)
