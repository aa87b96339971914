"""A version of a table of Delta, read by the library `deltalake`, which applies deletion vectors and column mapping."""

import datetime
import json
import os
import urllib.parse
from typing import Any

import pyarrow as pa
from pyarrow import fs

from ndcg_spark.config import moment
from ndcg_spark.errors import InputError, NdcgSparkError, first_line
from ndcg_spark.inputs.files import File, Snapshot
from ndcg_spark.inputs.storage import is_local, storage
from ndcg_spark.text import printable


def library() -> Any:
    """The class of deltalake that reads tables; None if it is not installed."""
    try:
        from deltalake import DeltaTable
    except ImportError:
        return None
    return DeltaTable


def snapshot_of(path: str, as_of: int | str | None, where: str) -> File:
    """The table in a folder at the version or time `as_of`, else at its last version.

    Raises
    ------
    InputError
        There is no such version, nothing was written before that time, or the log cannot be read.
    """
    system, place = storage(path, where)
    table_of, address = library(), address_of(path, where)
    path = place if is_local(path) else path
    try:
        table = table_of(address, storage_options=storage_options())
        last = table.version()
        if isinstance(as_of, int) and as_of <= last:
            table.load_as_version(as_of)
        elif as_of is not None and not isinstance(as_of, int):
            table.load_as_version(moment(as_of))
        version = table.version()
        size = sum(pa.table(table.get_add_actions())["size_bytes"].to_pylist())
        schema = pa.schema(table.schema().to_arrow())
    except Exception as error:  # it raises many kinds, some of them Exception itself
        asked, todo = f" as of {as_of}", "if its log was cleaned up, name a later version"
        if as_of is None:
            asked, todo = "", "check its log and rights"
        raise InputError(
            f"{where}: the table of Delta in {path} cannot be read{asked}, {printable(first_line(error))}; {todo}"
        ) from error
    if isinstance(as_of, int) and as_of > last:
        raise InputError(f"{where}: {path} has no version {as_of}, its last one is {last}; name another version")
    if as_of is not None and not isinstance(as_of, int):
        _refuse_earlier(system, place, version, as_of, f"{where}: {path}")
    found = Snapshot(version, schema, lambda names: pa.RecordBatchReader.from_stream(table.scan(columns=names)))
    return File(path, size, content="delta", found=(system, place), snapshot=found)


def address_of(path: str, where: str, error: type[NdcgSparkError] = InputError) -> str:
    """The path as deltalake takes it; raises `error` for a path that it would mistake for another."""
    _, place = storage(path, where, error)
    address = place if is_local(path) else path.replace("s3a://", "s3://", 1)
    if urllib.parse.unquote(address) != address or "\\" in address:
        # deltalake lists one folder and reads the files of the other, which may be another table.
        named = place if is_local(path) else path
        raise error(f"{where}: {named} has % or \\ in it, which deltalake takes for another path; rename it")
    return address


def storage_options() -> dict[str, str] | None:
    """The options that deltalake, unlike pyarrow, does not take from the environment."""
    # Where people name a server without encryption, they mean it.
    return {"allow_http": "true"} if os.environ.get("AWS_ENDPOINT_URL", "").startswith("http://") else None


def _refuse_earlier(system: fs.FileSystem, place: str, version: int, as_of: str, where: str) -> None:
    """InputError if even the first version is later than that time, as deltalake gives the first one then."""
    first = f"{place}/_delta_log/{version:020}.json"
    before = f"{place}/_delta_log/{version - 1:020}.json"
    info, earlier = system.get_file_info([first, before])
    if earlier.type == fs.FileType.File or info.type != fs.FileType.File:
        return
    written = _committed(system, first) or info.mtime
    if written > moment(as_of):
        raise InputError(
            f"{where} has no version as of {as_of}, its first is {version} of {written:%Y-%m-%dT%H:%M:%SZ}; name a "
            "later time"
        )


def _committed(system: fs.FileSystem, commit: str) -> datetime.datetime | None:
    """The time that a commit has in itself, which counts where there is one."""
    with system.open_input_stream(commit) as stream:
        for line in stream.read().splitlines():
            milliseconds = json.loads(line).get("commitInfo", {}).get("inCommitTimestamp")
            if milliseconds is not None:
                return datetime.datetime.fromtimestamp(milliseconds / 1000, datetime.UTC)
    return None
