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
from pyspark.errors import PySparkException

from ndcg_spark import background
from ndcg_spark.config import TableConfig, moment
from ndcg_spark.engine import Engine
from ndcg_spark.errors import ConfigurationError, InputError, MissingInputError, first_line
from ndcg_spark.inputs import files
from ndcg_spark.inputs.files import File, Snapshot, TableLogError
from ndcg_spark.inputs.storage import NoStorageError, delta_address, delta_options, is_local, reading, storage
from ndcg_spark.scratch import Scratch

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
    alone = [file.path for file in tables if file.snapshot and file.snapshot.table is not None]
    if alone and len(tables) > 1:
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


def _delta(path: str, as_of: int | str | None, where: str) -> File:
    from deltalake import DeltaTable

    address = delta_address(path, where)
    # The library raises many kinds, some of them Exception itself.
    with reading(path, where, (Exception,)):
        table = DeltaTable(address, storage_options=delta_options())
        if as_of is not None:
            table.load_as_version(as_of if isinstance(as_of, int) else moment(as_of))
        version, schema = table.version(), pa.schema(table.schema().to_arrow())
        if isinstance(as_of, str):
            # For a time before all versions it loads the first.
            system, fs_path = storage(path, where)
            commit = system.get_file_info(f"{fs_path}/_delta_log/{version:020}.json")
            if commit.is_file and commit.mtime > moment(as_of):
                raise InputError(f"{where}: {path} has no version as of {as_of}, its first is of {commit.mtime}")
    path = address if is_local(path) else path
    scan = lambda names: pa.RecordBatchReader.from_stream(table.scan(columns=names))  # noqa: E731
    return File(path, 0, snapshot=Snapshot("delta", version, schema, scan))


def _catalog_table(engine: Engine, path: str, as_of: int | str | None, where: str) -> File:
    """A table of a catalog that the engine knows, or of one that pyiceberg's configuration names."""
    name = path.removeprefix(_CATALOG)
    reason: object = "which only pyiceberg reads; make a view of that version"
    # Engines read a table as it is, and some of them whatever version is asked for.
    if as_of is None:
        try:
            table = engine.session.read.table(name)
            _ = table.schema  # Connect only looks the table up when something is asked of it
        except PySparkException as error:
            reason = first_line(error)
        else:
            return File(path, 0, snapshot=Snapshot(path, None, table=table))
    catalog, _, table_name = name.partition(".")
    if table_name and importlib.util.find_spec("pyiceberg"):
        from pyiceberg.catalog import load_catalog
        from pyiceberg.utils.config import Config

        with reading(path, where, (Exception,)):
            settings = Config().get_catalog_config(catalog)
            if settings is not None:
                with load_catalog(catalog, **settings) as opened:
                    return _iceberg(opened.load_table(table_name), path, as_of, where)
    raise InputError(f"{where}: no catalog table {name}, {reason}; check its name")


def _iceberg(table: Any, path: str, as_of: int | str | None, where: str) -> File:
    if as_of is None:
        snapshot = table.current_snapshot()
    elif isinstance(as_of, int):
        snapshot = table.snapshot_by_id(as_of)
    else:
        snapshot = table.snapshot_as_of_timestamp(int(moment(as_of).timestamp() * 1000))
    if snapshot is None and as_of is not None:
        raise InputError(f"{where}: {path} has no snapshot as of {as_of}; name another")
    scan = table.scan(snapshot_id=snapshot.snapshot_id if snapshot else None)
    read = lambda names: scan.select(*names).to_arrow_batch_reader()  # noqa: E731
    return File(path, 0, snapshot=Snapshot("iceberg", scan.snapshot_id, scan.projection().as_arrow(), read))
