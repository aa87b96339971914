"""Tables of Delta, Iceberg and catalogs: which version is read, and who reads it.

The libraries of Delta and Iceberg apply deleted rows and column mapping, and this process copies what they give. A
table of a catalog that the engine knows is read by the engine.
"""

import contextlib
import functools
import importlib.util
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
from pyarrow import fs
from pyspark.errors import PySparkException

from ndcg_spark import background
from ndcg_spark.config import TableConfig, moment
from ndcg_spark.engine import Engine
from ndcg_spark.errors import ConfigurationError, InputError, MissingInputError, first_line
from ndcg_spark.inputs import files
from ndcg_spark.inputs.files import File, Snapshot, TableLogError
from ndcg_spark.inputs.storage import NoStorageError, delta_address, delta_options, is_local, storage
from ndcg_spark.scratch import Scratch
from ndcg_spark.text import printable

_CATALOG = "table:"


def find(engine: Engine, config: TableConfig, where: str) -> list[File]:
    """The files behind the paths of a table; a table of Delta or Iceberg, or of a catalog, is one file with a snapshot.

    ConfigurationError if a version is configured, and a path is not such a table.
    """
    # A file may be behind two of the paths.
    tables = list({file.path: file for path in config.path for file in _files(engine, config, path, where)}.values())
    if config.as_of is not None and (plain := [file.path for file in tables if file.snapshot is None]):
        raise ConfigurationError(
            f"{where}: a version is named, {config.as_of}, and {plain[0]} is not a Delta or Iceberg table; leave it out"
        )
    if len(tables) > 1 and (
        alone := [file.path for file in tables if file.snapshot and file.snapshot.table is not None]
    ):
        raise InputError(f"{where}: {len(tables)} tables, among them {alone[0]}; give what the engine reads alone")
    return tables


def _files(engine: Engine, config: TableConfig, path: str, where: str) -> list[File]:
    if path.startswith(_CATALOG):
        return [_catalog_table(engine, path, config.as_of, where)]
    try:
        # The library's process is asked more than once, and would give a copy of an earlier pipe.
        is_pipe = not background.is_here and Path(path).is_fifo()
        return files.list_files(_pipe_copy(engine.scratch, path) if is_pipe else engine.addressed(path), where)
    except TableLogError as log:
        # deltalake gives the rows of a version; files of a table alone have deleted rows too.
        is_read = log.format == "delta" and engine.sees_local_files and importlib.util.find_spec("deltalake")
        if not is_read or storage(path, where)[1].rstrip("/") != log.folder:
            raise
        return [_delta(path, config.as_of, where)]
    except (NoStorageError, MissingInputError) as error:
        if engine.sees_local_files or (isinstance(error, MissingInputError) and not is_local(path)):
            raise
    # What this process cannot open is one file, unless it is the folder of a table with a log.
    for name in ("_delta_log", "metadata/*.metadata.json"):
        with contextlib.suppress(PySparkException):
            rows = engine.session.read.format("binaryFile").load(f"{path.rstrip('/')}/{name}").select("path").take(1)
            files.refuse_log((row["path"] for row in rows), where)
    return [File(path, 0)]


@functools.lru_cache(maxsize=8)
def _pipe_copy(scratch: Scratch, path: str) -> str:
    """A copy of a pipe, which can be read once: of /dev/stdin, or the shell's <(zcat ...)."""
    copy = scratch.folder() / Path(path).name
    with Path(path).open("rb") as pipe, copy.open("wb") as target:
        shutil.copyfileobj(pipe, target, 1 << 20)
    return str(copy)


def _unreadable(kind: str, path: str, as_of: int | str | None, where: str, error: Exception) -> InputError:
    asked = "" if as_of is None else f" as of {as_of}"
    return InputError(
        f"{where}: the table of {kind} {path} cannot be read{asked}, {type(error).__name__}, "
        f"{printable(first_line(error))}; check its log and rights, or name another version"
    )


def _delta(path: str, as_of: int | str | None, where: str) -> File:
    """The table of Delta at the version or time `as_of`, else at its last version."""
    from deltalake import DeltaTable

    system, fs_path = storage(path, where)
    address = delta_address(path, where)
    path = fs_path if is_local(path) else path
    try:
        table = DeltaTable(address, storage_options=delta_options())
        if as_of is not None:
            table.load_as_version(as_of if isinstance(as_of, int) else moment(as_of))
        version, schema = table.version(), pa.schema(table.schema().to_arrow())
        # For a time before all versions it loads the first.
        commit = system.get_file_info(f"{fs_path}/_delta_log/{version:020}.json")
    except Exception as error:  # it raises many kinds, some of them Exception itself
        raise _unreadable("Delta", path, as_of, where, error) from error
    if isinstance(as_of, str) and commit.type == fs.FileType.File and commit.mtime > moment(as_of):
        raise InputError(
            f"{where}: {path} has no version as of {as_of}, its first is {version} of "
            f"{commit.mtime:%Y-%m-%dT%H:%M:%SZ}; name a later time"
        )

    snapshot = Snapshot(
        "delta", version, schema, lambda names: pa.RecordBatchReader.from_stream(table.scan(columns=names))
    )
    return File(path, 0, snapshot=snapshot)


def _catalog_table(engine: Engine, path: str, as_of: int | str | None, where: str) -> File:
    """A table of a catalog that the engine knows, or of one that pyiceberg's configuration names."""
    name = path.removeprefix(_CATALOG)
    refused: Exception | None = None
    # Engines read a table as it is, and some of them whatever version is asked for.
    if as_of is None:
        try:
            table = engine.session.read.table(name)
            _ = table.schema  # Connect only looks the table up when something is asked of it
        except PySparkException as error:
            refused = error
        else:
            return File(path, 0, snapshot=Snapshot(path, None, table=table))
    catalog, _, table_name = name.partition(".")
    if table_name and importlib.util.find_spec("pyiceberg"):
        from pyiceberg.catalog import load_catalog
        from pyiceberg.utils.config import Config

        try:
            settings = Config().get_catalog_config(catalog)
            if settings is not None:
                with load_catalog(catalog, **settings) as opened:
                    return _iceberg(opened.load_table(table_name), path, as_of, where)
        except InputError:
            raise
        except Exception as error:
            raise _unreadable("Iceberg", path, as_of, where, error) from error
    asked = "" if as_of is None else f" as of {as_of}"
    reason = first_line(refused) if refused else "which only pyiceberg reads; make a view of that version"
    raise InputError(f"{where}: no catalog table {name}{asked}, {reason}; check its name") from refused


def _iceberg(table: Any, path: str, as_of: int | str | None, where: str) -> File:
    """The table of Iceberg at the snapshot or time `as_of`, else as it is now."""
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
    scan = table.scan(snapshot_id=snapshot.snapshot_id if snapshot else None)
    snapshot = Snapshot(
        "iceberg",
        scan.snapshot_id,
        scan.projection().as_arrow(),
        lambda names: scan.select(*names).to_arrow_batch_reader(),
    )
    return File(path, 0, snapshot=snapshot)
