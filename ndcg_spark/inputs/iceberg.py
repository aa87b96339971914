"""A snapshot of a table of Iceberg, read by the library `pyiceberg`, which applies the rows that were deleted."""

import os
import re
from typing import Any

from pyarrow import fs

from ndcg_spark.config import moment
from ndcg_spark.errors import InputError, first_line
from ndcg_spark.inputs.files import File, Snapshot
from ndcg_spark.inputs.storage import is_local, storage
from ndcg_spark.text import printable

#: The name of a file of metadata, with its number: 00003-<id>.metadata.json, v3.metadata.json.
_METADATA = re.compile(r"v?(\d+)(-[^/]*)?(\.gz)?\.metadata\.json")


def library() -> Any:
    """The class of pyiceberg that reads tables without a catalog; None if it is not installed."""
    try:
        from pyiceberg.table import StaticTable
    except ImportError:
        return None
    return StaticTable


def snapshot_of(path: str, as_of: int | str | None, where: str) -> File:
    """The table in a folder, or of a file of its metadata, at the snapshot or time `as_of`, else as it is now.

    Raises
    ------
    InputError
        There is no such snapshot, there was none at that time, or the metadata cannot be read.
    """
    system, place = storage(path, where)
    path = place if is_local(path) else path
    metadata = place if path.endswith(".metadata.json") else _current(system, place, f"{where}: {path}")
    address = metadata if is_local(path) else f"{path.partition('://')[0].replace('s3a', 's3')}://{metadata}"
    try:
        # pyiceberg would look for a bucket under a name of its own at a server that the environment names, and for its
        # region at Amazon, which takes seconds where that is out of reach.
        named = {"s3.endpoint": os.environ.get("AWS_ENDPOINT_URL"), "s3.region": os.environ.get("AWS_REGION")}
        table = library().from_metadata(address, {name: value for name, value in named.items() if value})
    except Exception as error:  # it raises many kinds
        raise _unreadable(path, where, error) from error
    return _at(table, path, as_of, where)


def of_catalog(name: str, as_of: int | str | None, where: str) -> File | None:
    """The table `catalog.namespace.name` of a catalog that pyiceberg's configuration names; None if it names none.

    Raises as `snapshot_of`.
    """
    catalog, _, table = name.partition(".")
    if library() is None or not table:
        return None
    from pyiceberg.catalog import load_catalog
    from pyiceberg.utils.config import Config

    try:
        settings = Config().get_catalog_config(catalog)
        if settings is None:
            return None
        with load_catalog(catalog, **settings) as opened:
            return _at(opened.load_table(table), f"table:{name}", as_of, where)
    except InputError:
        raise
    except Exception as error:
        raise _unreadable(f"table:{name}", where, error) from error


def _at(table: Any, path: str, as_of: int | str | None, where: str) -> File:
    if as_of is None:
        snapshot = table.current_snapshot()
    elif isinstance(as_of, int):
        snapshot = table.snapshot_by_id(as_of)
    else:
        snapshot = table.snapshot_as_of_timestamp(int(moment(as_of).timestamp() * 1000))
    if snapshot is None and as_of is not None:
        known = [str(entry.snapshot_id) for entry in table.snapshots()]
        listed = f"it has {', '.join(known[-3:])}" if known else "it has none at all"
        raise InputError(f"{where}: {path} has no snapshot as of {as_of}, {listed}; name another")
    version = snapshot.snapshot_id if snapshot else None
    try:
        scanned = table.scan(snapshot_id=version)
        schema = scanned.projection().as_arrow()
        size = sum(task.file.file_size_in_bytes for task in scanned.plan_files())
    except Exception as error:
        raise _unreadable(path, where, error) from error

    def scan(names: list[str]) -> Any:
        return table.scan(snapshot_id=version, selected_fields=tuple(names)).to_arrow_batch_reader()

    return File(path, size, content="iceberg", snapshot=Snapshot(version, schema, scan))


def _current(system: fs.FileSystem, place: str, where: str) -> str:
    """The last file of metadata of a folder; InputError where the folder does not show which one that is."""
    hint = f"{place}/metadata/version-hint.text"
    if system.get_file_info(hint).type == fs.FileType.File:
        with system.open_input_stream(hint) as stream:
            text = stream.read().decode().strip()
        return f"{place}/metadata/" + (f"v{text}.metadata.json" if text.isdecimal() else text)
    names: list[str] = [info.path for info in system.get_file_info(fs.FileSelector(f"{place}/metadata"))]
    numbered = [(int(found[1]), name) for name in names if (found := _METADATA.fullmatch(name.rpartition("/")[2]))]
    last = [name for number, name in numbered if number == max(numbered)[0]]
    if len(last) != 1:
        raise InputError(
            f"{where} is a table of Iceberg with {len(last)} files that may be its last metadata; name it by its "
            "catalog, table:catalog.db.name, or name the file ....metadata.json"
        )
    return last[0]


def _unreadable(path: str, where: str, error: Exception) -> InputError:
    return InputError(
        f"{where}: the table of Iceberg {path} cannot be read, {type(error).__name__}, {printable(first_line(error))}; "
        "check its metadata and rights"
    )
