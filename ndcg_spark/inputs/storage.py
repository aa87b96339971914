"""The storage behind a path: local, or whatever pyarrow.fs knows by its scheme."""

import os
import re
from pathlib import Path

import pyarrow as pa
from pyarrow import fs

from ndcg_spark.errors import InputError, NdcgSparkError, first_line
from ndcg_spark.masking import masked

_FILE_SCHEME = re.compile(r"^file:(//(?=/)|//localhost(?=/)|//)?", re.IGNORECASE)
#: Seconds and tries until a storage that does not answer is a failure; its own defaults are for long transfers.
_CONNECT_SECONDS, _REQUEST_SECONDS, _TRIES = 10, 60, 3


def is_local(path: str) -> bool:
    """Whether a path is one of this machine's: without a scheme, or file://."""
    return "://" not in _FILE_SCHEME.sub("", path, count=1)


def local(path: str) -> str:
    """A local path, or a file:// URI of one, as an absolute path without `..`.

    What `..` leads to is asked of the operating system, which goes up from where a symbolic link leads to; engines
    and pyarrow only drop the name before it.
    """
    parts = Path(_FILE_SCHEME.sub("", path, count=1)).absolute().parts
    if ".." not in parts:
        return str(Path(*parts))
    last = len(parts) - parts[::-1].index("..")
    return str(Path(os.path.realpath(Path(*parts[:last])), *parts[last:]))


def storage(path: str, where: str, error: type[NdcgSparkError] = InputError) -> tuple[fs.FileSystem, str]:
    """The file system of a path and its place there; a path without a scheme is local. `error` where there is none."""
    if is_local(path):
        return fs.LocalFileSystem(), local(path)
    try:
        system, place = fs.FileSystem.from_uri(path.replace("s3a://", "s3://", 1))
    except (pa.ArrowException, OSError, ValueError) as reason:
        raise error(f"{where}: no storage for {masked(path)}, {first_line(reason)}; check its scheme") from reason
    return (_impatient(system) if system.type_name == "s3" else system), place


def _impatient(system: fs.FileSystem) -> fs.FileSystem:
    """The same S3 storage, which gives up on a server that does not answer."""
    rebuild, (options,) = system.__reduce__()
    retries = fs.AwsStandardS3RetryStrategy(max_attempts=_TRIES)
    limits = {"connect_timeout": _CONNECT_SECONDS, "request_timeout": _REQUEST_SECONDS, "retry_strategy": retries}
    return rebuild({**options, **limits})
