"""HDFS as a file system of pyarrow, by hdfs-native: the client that the embedded engine has too, without Java.

pyarrow's own needs libhdfs.so, Java and every jar of Hadoop on CLASSPATH, which a container of YARN need not have.
"""

import functools
import os
import re
from collections.abc import Callable
from typing import Any

from hdfs_native.fsspec import BaseFileSystem
from pyarrow import fs

from ndcg_spark.errors import first_line

#: How often a NameNode that is alone is tried again, seven seconds in all; the client's default takes three minutes.
_MORE_TRIES = {"dfs.client.failover.max.attempts": "3"}
#: The client's errors have Rust's spelling: RPCError("class of Java", "what is wrong\n\tat a line of Java").
_SPELLED = re.compile(r'\w+\((?:"[\w.$]+", )?"(.*?)(?:\\n.*)?"\)', re.DOTALL)


def hdfs(uri: str) -> tuple[fs.FileSystem, str]:
    """The file system of an hdfs:// or viewfs:// URI, and the path there. OSError if there is no such NameNode.

    The user is that of HADOOP_USER_NAME, of Kerberos or of this process, as it is for engines, and not the URI's.
    """
    if user := os.environ.get("SPARK_USER"):
        # In a container of YARN, which belongs to another user, Spark's own clients act as this one.
        os.environ.setdefault("HADOOP_USER_NAME", user)
    scheme, _, rest = uri.partition("://")
    authority, _, fs_path = rest.partition("/")
    host, _, port = authority.rpartition("@")[2].partition(":")
    kind = _Viewfs if scheme == "viewfs" else _Hdfs
    client = _client(kind, host, int(port), **_MORE_TRIES) if port else _client(kind, host or None)
    return fs.PyFileSystem(_Handler(client)), f"/{fs_path}"


@functools.cache
def _client(kind: Any, *address: Any, **options: str) -> Any:
    return kind(*address, **options)


def _failing(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function; a failure for which the client has no class (safe mode, a quota, no DataNode) is an OSError."""

    @functools.wraps(function, updated=())
    def call(*arguments: Any, **options: Any) -> Any:
        try:
            return function(*arguments, **options)
        except RuntimeError as error:
            spelled = _SPELLED.fullmatch(str(error))
            raise OSError(spelled[1].replace('\\"', '"') if spelled else first_line(error)) from error

    return call


class _Hdfs(BaseFileSystem):  # type: ignore[misc]  # an optional package
    protocol = "hdfs"
    # fsspec empties its cache in a process that is forked, as classic Spark's start does, and dropping a client there
    # waits forever for the client's threads, which only the first process has. `_client` keeps them instead.
    cachable = False

    def find(self, path: str, maxdepth: int | None = None, **_: Any) -> dict[str, dict[str, Any]]:
        """What is in a folder. fsspec would pass over folders that cannot be read."""
        return {
            status.path: self._convert_file_status(status) for status in self.client.list_status(path, not maxdepth)
        }

    def open(self, path: str, mode: str = "rb", **_: Any) -> Any:
        file = self._open(path, mode)
        file.read, file.write, file.close = map(_failing, (file.read, file.write, file.close))
        return file

    def _convert_file_status(self, status: Any) -> dict[str, Any]:
        # The name that pyarrow has for the time.
        return {**super()._convert_file_status(status), "mtime": status.modification_time / 1000}


for _name in ("__init__", "info", "find", "mkdir", "mv", "rm", "open"):
    setattr(_Hdfs, _name, _failing(getattr(_Hdfs, _name)))


class _Viewfs(_Hdfs):
    protocol = "viewfs"


class _Handler(fs.FSSpecHandler):  # type: ignore[misc]  # pyarrow has no types
    def get_type_name(self) -> str:
        return "hdfs"
