"""The storage behind a path: this machine, or one that pyarrow.fs knows by the scheme."""

import importlib.util
import os
import re
import urllib.parse
from pathlib import Path

import pyarrow as pa
from pyarrow import fs

from ndcg_spark.errors import InputError, MissingInputError, NdcgSparkError, StorageError, first_line
from ndcg_spark.text import masked

_FILE_SCHEME = re.compile(r"^file:(//(?=/)|//localhost(?=/)|//)?", re.IGNORECASE)
_HDFS_USER = re.compile(r"^(hdfs|viewfs)://[^/@:?;&]+@[^?;&]*$")
#: The types of file systems of HDFS: pyarrow's, which needs libhdfs, and that of hdfs-native.
HDFS = ("hdfs", "py::hdfs")
#: Seconds and tries until a storage that does not answer counts as failed. The defaults allow for long transfers.
_CONNECT_SECONDS, _REQUEST_SECONDS, _TRIES = 10, 60, 3


class NoStorageError(InputError):
    """A path in a storage that this process cannot open; an engine may know it."""


def is_local(path: str) -> bool:
    """Whether a path is on this machine: it has no scheme, or file://."""
    return "://" not in _FILE_SCHEME.sub("", path, count=1)


def local(path: str) -> str:
    """A local path or file:// URI as an absolute path without `..`.

    The operating system resolves `..` after a symbolic link to the parent of the folder that the link leads to.
    Engines and pyarrow would just drop the name before it.
    """
    parts = Path(_FILE_SCHEME.sub("", path, count=1)).absolute().parts
    if ".." not in parts:
        return str(Path(*parts))
    last = len(parts) - parts[::-1].index("..")
    return str(Path(os.path.realpath(Path(*parts[:last])), *parts[last:]))


def refuse_credentials(path: str, where: str) -> None:
    """InputError for a URI with keys or parameters in it: pyarrow would use them, and an engine would not.

    The user of an hdfs:// URI is not a secret, and engines take it.
    """
    if not is_local(path) and masked(path) != path and not _HDFS_USER.match(path):
        raise InputError(
            f"{where}: {masked(path)} has keys or parameters in it, which engines do not take; leave them out and set "
            "them in the environment, such as AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY and AWS_ENDPOINT_URL"
        )


def storage(path: str, where: str, error: type[NdcgSparkError] = NoStorageError) -> tuple[fs.FileSystem, str]:
    """The file system of a path, and the path there. A path without a scheme is local.

    Raises `error` if pyarrow knows no such storage.
    """
    if is_local(path):
        return fs.LocalFileSystem(), local(path)
    is_hdfs = path.startswith(("hdfs://", "viewfs://"))
    has_client = importlib.util.find_spec("hdfs_native") is not None
    try:
        if is_hdfs and has_client:
            from ndcg_spark.inputs.hdfs import hdfs

            return hdfs(path)
        system, fs_path = fs.FileSystem.from_uri(path.replace("s3a://", "s3://", 1))
    except (pa.ArrowException, OSError, ValueError) as reason:
        hdfs_advice = "check HADOOP_CONF_DIR" if has_client else "pip install 'ndcg-spark[hdfs]'"
        advice = hdfs_advice if is_hdfs else "check its scheme"
        raise error(f"{where}: no storage for {masked(path)}, {masked(first_line(reason))}; {advice}") from reason
    return (_impatient(system) if system.type_name == "s3" else system), fs_path


def missing(path: str, where: str) -> MissingInputError:
    """What to raise for a path where no file is."""
    return MissingInputError(
        f"{where}: no files at {masked(path)}; check the path, its date if it has one, and the job that writes it"
    )


def unreadable(path: str, where: str, error: Exception) -> NdcgSparkError:
    """What to raise for a path that cannot be opened: a storage elsewhere may answer if it is tried again."""
    kind, advice = (InputError, "check") if is_local(path) else (StorageError, "check that its storage answers, and")
    return kind(f"{where}: {masked(path)} cannot be read, {first_line(error)}; {advice} its rights")


def delta_address(path: str, where: str, error: type[NdcgSparkError] = InputError) -> str:
    """The path as deltalake takes it; raises `error` for a path that it would mistake for another."""
    address = storage(path, where, error)[1] if is_local(path) else path
    if urllib.parse.unquote(address) != address or "\\" in address:
        # deltalake lists one folder and reads the files of the other, which may be another table.
        raise error(f"{where}: {address} has % or \\ in it, which deltalake takes for another path; rename it")
    return address.replace("s3a://", "s3://", 1)


def delta_options() -> dict[str, str] | None:
    """The options that deltalake, unlike pyarrow, does not take from the environment."""
    # Where people name a server without encryption, they mean it.
    return {"allow_http": "true"} if os.environ.get("AWS_ENDPOINT_URL", "").startswith("http://") else None


def _impatient(system: fs.FileSystem) -> fs.FileSystem:
    """The same S3 storage, but it gives up soon on a server that does not answer."""
    rebuild, (options,) = system.__reduce__()
    retries = fs.AwsStandardS3RetryStrategy(max_attempts=_TRIES)
    limits = {"connect_timeout": _CONNECT_SECONDS, "request_timeout": _REQUEST_SECONDS, "retry_strategy": retries}
    return rebuild({**options, **limits})
