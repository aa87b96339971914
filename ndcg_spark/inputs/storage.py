"""Opens a path's storage: this machine, or one that pyarrow.fs knows by its scheme, such as
s3:// and hdfs://.
"""

import contextlib
import functools
import importlib.util
import os
import re
import urllib.parse
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import fs

from ndcg_spark.errors import (
    InputError,
    MissingInputError,
    NdcgSparkError,
    UnreachableError,
    first_line,
)
from ndcg_spark.text import masked, printable

_FILE_SCHEME = re.compile(r"^file:(//(?=/)|//localhost(?=/)|//)?", re.IGNORECASE)
#: The types of HDFS file systems: of pyarrow, which needs libhdfs, and of hdfs-native.
HDFS = ("hdfs", "py::hdfs")
#: The errors that storages and file readers raise. hdfs-native raises a RuntimeError in safe mode,
#: over a quota, or without permission.
FAILURES = (OSError, EOFError, UnicodeError, RuntimeError, pa.ArrowException)


class NoStorageError(InputError):
    """A path in a storage that this process cannot open; an engine may know it."""


def is_local(path: str) -> bool:
    """Whether a path is on this machine: it has no scheme, or file://."""
    return "://" not in _FILE_SCHEME.sub("", path, count=1)


def local(path: str) -> str:
    """Return a local path or URI as an absolute path.

    `..` after a link is resolved as the operating system does.
    """
    parts = Path(_FILE_SCHEME.sub("", path, count=1)).absolute().parts
    if ".." not in parts:
        return str(Path(*parts))
    # Only the part up to the last `..` is resolved. Links below it keep their names.
    end = len(parts) - parts[::-1].index("..")
    resolved = os.path.realpath(Path(*parts[:end]))
    return str(Path(resolved, *parts[end:]))


def refuse_credentials(path: str) -> None:
    """Raise InputError for a URI with a user, keys or parameters.

    pyarrow would use them, but an engine would not.
    """
    if not is_local(path) and masked(path) != path:
        what = f"{masked(path)} contains a user, keys or parameters, which engines do not accept"
        variables = "AWS_ACCESS_KEY_ID, AWS_ENDPOINT_URL or HADOOP_USER_NAME"
        to_do = f"leave them out and set environment variables such as {variables}"
        raise InputError(f"{what}; {to_do}")


def storage(
    path: str,
    error: Callable[[str], NdcgSparkError] = NoStorageError,
) -> tuple[fs.FileSystem, str]:
    """Return the file system of a path, and the path there. A path without a scheme is local.

    Raise `error` for an unknown storage.
    """
    if is_local(path):
        return fs.LocalFileSystem(), local(path)
    try:
        if path.startswith("hdfs://") and importlib.util.find_spec("hdfs_native"):
            return _hdfs(path)
        system, fs_path = fs.FileSystem.from_uri(path.replace("s3a://", "s3://", 1))
    except (*FAILURES, ValueError) as reason:
        to_do = "its scheme, and for hdfs:// HADOOP_CONF_DIR, or pip install 'ndcg-spark[hdfs]'"
        if path.startswith(("s3://", "s3a://")):
            to_do = (
                "the bucket, its region and credentials (AWS_REGION and the like), "
                "AWS_ENDPOINT_URL and the network"
            )
        what = f"the storage of {masked(path)} cannot be opened, {masked(first_line(reason))}"
        raise error(f"{what}; check {to_do}") from reason
    return system, fs_path


def missing_input(path: str) -> MissingInputError:
    """Return the error for a path without files."""
    to_do = "check the path, its date if it has one, and the job that writes it"
    if path == "-":
        to_do = "write /dev/stdin for standard input"
    return MissingInputError(f"no files at {masked(path)}; {to_do}")


@contextlib.contextmanager
def reading(path: str, failures: tuple[type[Exception], ...] = FAILURES) -> Iterator[None]:
    """Turn errors of a library within the block into errors that name the path.

    They become an UnreachableError if a remote storage may answer later. Otherwise they become an
    InputError.
    """
    try:
        yield
    except failures as error:
        if isinstance(error, NdcgSparkError):
            raise
        is_far = isinstance(error, OSError | RuntimeError) and not is_local(path)
        kind = UnreachableError if is_far else InputError
        what = f"{printable(masked(path))} cannot be read, {printable(first_line(error))}"
        raise kind(f"{what}; check its permissions and its storage, or write it again") from error


def delta_address(path: str, error: Callable[[str], NdcgSparkError] = InputError) -> str:
    """Return the path for deltalake. Raise `error` if it would read a different path."""
    address = storage(path, error)[1] if is_local(path) else path
    if urllib.parse.unquote(address) != address or "\\" in address:
        # deltalake would list the log of one folder and read the files of another.
        what = f"{address} contains % or \\, which deltalake reads as a different path"
        raise error(f"{what}; rename it")
    return address.replace("s3a://", "s3://", 1)


def delta_options() -> dict[str, str] | None:
    """Return the options that deltalake, unlike pyarrow, does not read from the environment."""
    endpoint = os.environ.get("AWS_ENDPOINT_URL", "")
    # A user who gives an http:// address wants no encryption.
    return {"allow_http": "true"} if endpoint.startswith("http://") else None


def _hdfs(uri: str) -> tuple[fs.FileSystem, str]:
    """Return HDFS through hdfs-native, the client that the embedded engine also uses.

    pyarrow's own client needs libhdfs.so, Java and all Hadoop jars on CLASSPATH, which a YARN
    container may lack. The user is taken from HADOOP_USER_NAME, Kerberos or this process, as for
    engines.
    """
    user = os.environ.get("SPARK_USER")
    if user:
        # A YARN container belongs to a different user, and Spark's own clients act as SPARK_USER.
        os.environ.setdefault("HADOOP_USER_NAME", user)
    authority, _, fs_path = uri.removeprefix("hdfs://").partition("/")
    host_and_port = authority.rpartition("@")[2].split(":")
    system = fs.PyFileSystem(_HdfsHandler(_hdfs_client(*host_and_port)))
    return system, f"/{fs_path}"


@functools.cache
def _hdfs_client(host: str, port: str = "") -> Any:
    """Return a client that is cached here, not by fsspec.

    fsspec empties its cache in a forked process, and classic Spark forks one when it starts. There,
    the end of a client would wait forever for its threads, which exist only in the first process.
    """
    from hdfs_native.fsspec import HdfsFileSystem

    return HdfsFileSystem(host or None, int(port) if port else None, skip_instance_cache=True)


class _HdfsHandler(fs.FSSpecHandler):  # type: ignore[misc]  # pyarrow has no types
    """HDFS for pyarrow through hdfs-native."""

    def get_type_name(self) -> str:
        return "hdfs"

    def get_file_info_selector(self, selector: fs.FileSelector) -> list[fs.FileInfo]:
        # fsspec would skip folders that cannot be read.
        try:
            statuses = [*self.fs.client.list_status(selector.base_dir, selector.recursive)]
        except FileNotFoundError:
            if selector.allow_not_found:
                return []
            raise
        return [
            self._create_file_info(status.path, self.fs._convert_file_status(status))
            for status in statuses
        ]

    @staticmethod
    def _create_file_info(path: str, info: dict[str, Any]) -> fs.FileInfo:
        return fs.FSSpecHandler._create_file_info(
            path, {**info, "mtime": info["modification_time"] / 1000}
        )
