"""What the engine reads by itself: Parquet where it is, with the values of folders as columns, and copies.

Engines differ in which folders add columns, and in which names they skip or take for wildcards. So files of this
machine are read through a temporary folder of links with plain names: one read, however many files there are. Files
elsewhere are read by their paths.
"""

import functools
import itertools
import re
from collections.abc import Callable, Iterable, Sequence

import pyarrow as pa
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ndcg_spark.engine import Engine, failure_reason, failures
from ndcg_spark.errors import EngineError, InputError, NdcgSparkError
from ndcg_spark.inputs.dataframes import union_all
from ndcg_spark.inputs.files import File
from ndcg_spark.inputs.parquet_copy import ParquetCopy
from ndcg_spark.inputs.storage import is_local, local, missing
from ndcg_spark.rules import quoted
from ndcg_spark.schemas import INTERNAL, OWN

#: Characters that a folder's name cannot have, or that an engine treats in a special way.
_UNSAFE = re.compile(r"[%/\\:*?\"'#={}\[\]^\x00-\x1f\x7f]")
#: In the name of a link's folder, the first letter of a value, and what stands for null.
_VALUE, _NULL = "v", "n"
#: The bytes that a table may have as Arrow to be sent with a plan.
_MAX_SENT = 64 << 20


def read_paths(engine: Engine, paths: list[str], where: str, **options: str) -> DataFrame:
    """The table that the engine reads from the paths of Parquet, which are taken literally."""
    if engine.kind == "embedded":
        # Sail takes a URI's %2F for a slash, and reads no rows where it then finds no file.
        encoded = (path if is_local(path) else path.replace("%", "%25") for path in paths)
        literal = [re.sub(r"([*?\[\]{}])", r"[\1]", path) for path in encoded]
    else:
        literal = [re.sub(r"([*?\[\]{}\\])", r"\\\1", path) for path in paths]
    try:
        table = engine.session.read.options(**options).parquet(*literal)
        _ = table.schema
    except failures() as error:
        kind: type[NdcgSparkError] = EngineError
        if isinstance(error, PySparkException):
            if error.getCondition() == "PATH_NOT_FOUND":
                raise missing((error.getMessageParameters() or {}).get("path", paths[0]), where) from error
            kind = InputError
        raise kind(
            f"{where}: {paths[0]} cannot be read by {engine.name}, {failure_reason(error)}; check its format, its "
            "rights, and that the engine has a client for its storage, such as hadoop-aws for s3a://"
        ) from error
    return table


def read_files(engine: Engine, files: Sequence[File], where: str) -> DataFrame:
    """The rows of the files, and the values of their folders as columns of text in place of columns of their names."""
    by_place = itertools.groupby(sorted(files, key=lambda file: file.is_local), key=lambda file: file.is_local)
    tables = [(_by_links if is_near else _by_paths)(engine, list(some), where) for is_near, some in by_place]
    return union_all(tables)


def read_copy(engine: Engine, copy: ParquetCopy, where: str) -> DataFrame:
    """What this process has written, without those of our own columns that have no value.

    An engine that does not see this machine's files gets it with the plan. InputError if that is more than 64 MB.
    """
    if engine.sees_local_files:
        table = read_paths(engine, [str(copy.folder)], where)
    else:
        from pyarrow import parquet

        is_small = sum(path.stat().st_size for path in copy.folder.iterdir()) <= _MAX_SENT
        rows = parquet.read_table(copy.folder) if is_small else None
        if rows is None or rows.nbytes > _MAX_SENT:
            raise InputError(
                f"{where}: more than {_MAX_SENT >> 20} MB of rows on this machine, whose files {engine.name} does not "
                "read; write them as Parquet where it does, ndcg-spark convert IN OUT"
            )
        table = engine.session.createDataFrame(rows)
    return table.select(*(name for name in table.columns if name not in INTERNAL or name in copy.filled))


def read_arrow(engine: Engine, table: pa.Table, where: str) -> DataFrame:
    """A table of this process; InputError for more than 64 MB if the engine does not see this machine's files."""
    from pyarrow import parquet

    folder = engine.scratch.folder()
    parquet.write_table(table, folder / "rows.parquet", store_schema=False, write_statistics=False)
    return read_copy(engine, ParquetCopy(folder, len(table), set(table.column_names)), where)


def materializer(engine: Engine, where: str) -> Callable[[Iterable[DataFrame]], DataFrame] | None:
    """Keeps the batches of a table to be read more than once, as `Source.materialize`; None where that is expensive."""
    if engine.kind == "connect":
        return None

    def persist(batches: Iterable[DataFrame]) -> DataFrame:
        table = functools.reduce(DataFrame.unionByName, batches).persist()
        engine.scratch.later(table.unpersist)
        return table

    def materialize(batches: Iterable[DataFrame]) -> DataFrame:
        folder = str(engine.scratch.folder() / "rows")
        for batch in batches:
            batch.write.parquet(folder, mode="append", compression="lz4")
        return read_paths(engine, [folder], where)

    return materialize if engine.kind == "embedded" else persist


def _by_links(engine: Engine, files: Sequence[File], where: str) -> DataFrame:
    try:
        root = engine.scratch.folder()
        for number, file in enumerate(files):
            names = (f"{OWN}folder_{at}={_folder(value)}" for at, (_, value) in enumerate(file.partition))
            folder = root.joinpath(*names)
            folder.mkdir(parents=True, exist_ok=True)
            (folder / f"{number:07}.parquet").symlink_to(local(file.path))
    except OSError as error:
        raise EngineError(
            f"{where}: no temporary files, {error}; make room, or set TMPDIR to another folder"
        ) from error
    table = read_paths(engine, [str(root)], where)
    for at, (key, _) in enumerate(files[0].partition):
        value = F.col(f"{OWN}folder_{at}")
        table = table.withColumn(key, F.when(value != _NULL, F.substring(value, 2, 1 << 20)))
    return table.drop(*(name for name in table.columns if name.startswith(OWN)))


def _by_paths(engine: Engine, files: Sequence[File], where: str) -> DataFrame:
    """One read of all files below a root, whose folders Spark finds; else one for all files of equal folders."""
    tables = []
    for root, group in itertools.groupby(files, key=_root):
        below = list(group)
        table = read_paths(engine, [file.path for file in below], where, **({"basePath": root} if root else {}))
        texts = {key: F.col(quoted(key)).cast("string") for key, _ in below[0].partition}
        if texts.keys() <= {*table.columns}:
            tables.append(table.withColumns(texts) if texts else table)
            continue
        for partition, alike in itertools.groupby(below, key=lambda file: file.partition):
            table = read_paths(engine, [file.path for file in alike], where)
            tables.append(table.withColumns({key: F.lit(value).cast("string") for key, value in partition}))
    return union_all(tables)


def _root(file: File) -> str:
    """The folder above those that give columns; empty without such folders."""
    return file.path.rpartition("/")[0].rpartition(f"/{file.partition[0][0]}=")[0] if file.partition else ""


def _folder(value: str | None) -> str:
    """The name of a link's folder for a value of a file's folder."""
    return _NULL if value is None else _VALUE + _UNSAFE.sub(lambda match: f"%{ord(match.group()):02X}", value)
