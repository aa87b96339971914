"""Tables of Delta, Iceberg and catalogs, known by their logs: which version is read, and who reads it."""

import contextlib
import re

from pyspark.errors import PySparkException

from ndcg_spark.config import TableConfig, moment
from ndcg_spark.engine import Engine, failures, lost
from ndcg_spark.errors import ConfigurationError, InputError, MissingInputError, first_line
from ndcg_spark.inputs import delta, files, iceberg
from ndcg_spark.inputs.files import TABLES, File, Snapshot, TableLogError
from ndcg_spark.inputs.storage import NoStorageError, is_local

_CATALOG = "table:"
_COMMIT = re.compile(r"_delta_log/(\d{20})\.(json|checkpoint)")


def find(engine: Engine, config: TableConfig, paths: list[str], where: str) -> list[File]:
    """The files behind the paths of a table; a table of Delta or Iceberg, or of a catalog, is one file with a snapshot.

    Raises
    ------
    InputError
        As `files.find`; a table cannot be read, or needs a library that is not installed.
    ConfigurationError
        A version or the format of a table is configured, and the path is not such a table.
    """
    catalog = next((path for path in paths if path.startswith(_CATALOG)), None)
    if catalog and len(paths) > 1:
        raise InputError(f"{where}: {len(paths)} paths, among them {catalog}; give a catalog table alone")
    found = [file for path in paths for file in _of_path(engine, config, path, where)]
    plain = next((file.path for file in found if file.snapshot is None), None)
    wanted = config.format in TABLES and f"format is {config.format}"
    reason = wanted or (config.as_of is not None and f"a version is named, {config.as_of}")
    if reason and plain:
        raise ConfigurationError(
            f"{where}: {reason}, and {plain} is not a file of a Delta or Iceberg table; leave it out"
        )
    alone = next((file.path for file in found if file.snapshot and file.snapshot.table is not None), None)
    if alone and len(found) > 1:
        raise InputError(f"{where}: {len(paths)} paths, among them {alone}; give a table that the engine reads alone")
    return found


def versions(found: list[File]) -> list[str]:
    """Which versions of tables are read, in sentences for people."""
    return [
        f"{file.path} is read at version {file.snapshot.version}"
        for file in found
        if file.snapshot and file.snapshot.version is not None
    ]


def _of_path(engine: Engine, config: TableConfig, path: str, where: str) -> list[File]:
    if path.startswith(_CATALOG):
        return [_of_catalog(engine, path, config.as_of, where)]
    try:
        try:
            return files.find(engine, path, where)
        except (NoStorageError, MissingInputError) as error:
            if engine.sees_local_files or (isinstance(error, MissingInputError) and not is_local(path)):
                raise
            return [_far(engine, path, where)]
    except TableLogError as kept:
        if not kept.is_whole or kept.format not in TABLES:
            raise
        if config.format not in (None, kept.format):
            raise InputError(
                f"{where}: {path} is a table of {kept.format}, and format is {config.format}; leave the format out"
            ) from kept
        library = delta if kept.format == "delta" else iceberg
        if engine.sees_local_files and library.library():
            return [library.snapshot_of(path, config.as_of, where)]
        if kept.format == "delta" and engine.reads_lakehouses:
            return [_by_engine(engine, path, config.as_of, kept)]
        raise


def _far(engine: Engine, path: str, where: str) -> File:
    """A path that this process cannot open, as one file. TableLogError if it is that of a table with a log."""
    for log in ("{_delta_log,.hoodie}", "metadata/*.metadata.json"):
        with contextlib.suppress(PySparkException):
            found = engine.session.read.format("binaryFile").load(f"{path.rstrip('/')}/{log}").select("path").take(1)
            files.refuse_log((row["path"] for row in found), None, where)
    return File(path, 0)


def _of_catalog(engine: Engine, path: str, as_of: int | str | None, where: str) -> File:
    name = path.removeprefix(_CATALOG)
    asked = "" if as_of is None else f" as of {as_of}"
    refused: Exception | None = None
    # The embedded engine would read a table as it is, whatever `as_of` says.
    if as_of is None or engine.reads_lakehouses:
        try:
            table = engine.session.read.options(**_options(as_of)).table(name)
            _ = table.schema  # Connect only looks the table up when something is asked of it
        except PySparkException as error:
            refused = error
        else:
            return File(path, 0, snapshot=Snapshot(as_of if isinstance(as_of, int) else None, table=table))
    found = iceberg.of_catalog(name, as_of, where)
    if found:
        return found
    reason = first_line(refused) if refused else "which only pyiceberg can read with this engine"
    raise InputError(f"{where}: no catalog table {name}{asked}, {reason}; check its name") from refused


def _by_engine(engine: Engine, path: str, as_of: int | str | None, kept: TableLogError) -> File:
    """The table as the engine's own reader of Delta has it; at its last version if `as_of` is None."""
    version = _last_version(engine, path) if as_of is None else as_of
    if version is None:
        raise InputError(f"{kept}; its log has no commit that the engine sees")
    try:
        table = engine.session.read.format("delta").options(**_options(version)).load(path)
        _ = table.schema
    except failures() as error:
        if lost(error):
            raise
        raise InputError(f"{kept}; the engine cannot read it as of {version}, {first_line(error)}") from error
    return File(path, 0, content="delta", snapshot=Snapshot(version if isinstance(version, int) else None, table=table))


def _options(as_of: int | str | None) -> dict[str, str]:
    """The options by which an engine reads this version."""
    if as_of is None:
        return {}
    return {"versionAsOf": str(as_of)} if isinstance(as_of, int) else {"timestampAsOf": moment(as_of).isoformat()}


def _last_version(engine: Engine, path: str) -> int | None:
    """The number of the last commit in the log, so that nothing that is written from now on is read."""
    numbers = []
    with contextlib.suppress(InputError):
        log = engine.session.read.format("binaryFile").load(f"{path.rstrip('/')}/_delta_log/*").select("path")
        numbers = [int(found[1]) for row in log.collect() if (found := _COMMIT.search(row["path"]))]
    return max(numbers, default=None)
