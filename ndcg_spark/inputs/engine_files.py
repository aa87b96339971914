"""Parquet, ORC and what else an engine reads by itself, with the values of folders as columns.

Engines differ in which folders add columns, and in which names they skip or take for wildcards. So files of this
machine are read through a temporary folder of links with plain names: one read, however many files there are. Files
elsewhere are read by their paths.
"""

import contextlib
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from ndcg_spark.casting import refuse_own
from ndcg_spark.engine import Engine
from ndcg_spark.errors import EngineError, InputError, MissingInputError, first_line
from ndcg_spark.inputs import table_formats
from ndcg_spark.inputs.files import File
from ndcg_spark.inputs.storage import is_local, local
from ndcg_spark.schemas import OWN

#: Characters that a folder's name cannot have, or that an engine treats in a special way.
_UNSAFE = re.compile(r"[%/\\:*?\"'#={}\[\]^\x00-\x1f\x7f]")
#: In the name of a link's folder, the first letter of a value, and what stands for null.
_VALUE, _NULL = "v", "n"


def loaded(
    engine: Engine, kind: str, paths: list[str], where: str, options: Mapping[str, str] = MappingProxyType({})
) -> DataFrame:
    """The table that the engine reads from the paths, each of which stands for itself. InputError if it cannot."""
    try:
        table = engine.session.read.format(kind).options(**options).load(_literal(engine, paths))
        _ = table.schema
    except PySparkException as error:
        refused = MissingInputError if error.getCondition() == "PATH_NOT_FOUND" else InputError
        raise refused(
            f"{where}: {paths[0]} cannot be read as {kind}, {first_line(error)}; write it again, or name its format"
        ) from error
    return table


def gathered(engine: Engine, kind: str, files: Sequence[File], where: str) -> DataFrame:
    """The rows of the files, and the values of their folders as columns of text in place of columns of their names.

    InputError for files that cannot be read; EngineError if there is no room for temporary links.
    """
    near = [file for file in files if file.found and is_local(file.path)]
    far = [file for file in files if not (file.found and is_local(file.path))]
    tables = [_by_links(engine, kind, near, where)] if near else []
    return united([*tables, *(_by_paths(engine, kind, far, where) if far else [])])


def unseen(engine: Engine, path: str, where: str) -> File:
    """A path that this process cannot open, as one file of the size of all that are there.

    Raises
    ------
    MissingInputError
        Nothing is there, or no file.
    KeptByLogError
        It is a table with a log.
    """
    every = {"recursiveFileLookup": "true"}
    sizes = [row["length"] for row in loaded(engine, "binaryFile", [path], where, every).select("length").collect()]
    if not sizes:
        raise MissingInputError(f"{where}: no files in {path}, an empty folder; check what should have written it")
    for log in ("{_delta_log,.hoodie}", "metadata/*.metadata.json"):
        with contextlib.suppress(PySparkException):
            found = engine.session.read.format("binaryFile").load(f"{path.rstrip('/')}/{log}").select("path").take(1)
            table_formats.refuse([row["path"] for row in found], where)
    return File(path, sum(sizes))


def united(tables: list[DataFrame]) -> DataFrame:
    """All rows, with columns matched by name. The unions form a tree, as a long chain overflows an engine's stack."""
    while len(tables) > 1:
        pairs = (tables[at : at + 2] for at in range(0, len(tables), 2))
        tables = [pair[0].unionByName(pair[1]) if len(pair) == 2 else pair[0] for pair in pairs]
    return tables[0]


def quoted(name: str) -> str:
    """A column's name, quoted so that Spark takes every character of it literally."""
    escaped = name.replace("`", "``")
    return f"`{escaped}`"


def materializer(engine: Engine, where: str) -> Callable[[DataFrame], DataFrame] | None:
    """Writes a table to a temporary place and reads it from there; None for an engine to which that is expensive."""
    if engine.kind != "embedded":
        return None

    def materialize(table: DataFrame) -> DataFrame:
        folder = str(engine.scratch.folder() / "rows")
        table.write.parquet(folder, compression="lz4")
        return loaded(engine, "parquet", [folder], where)

    return materialize


def _literal(engine: Engine, paths: list[str]) -> list[str]:
    """The paths with every wildcard escaped, so that each stands for one file only."""
    if engine.kind == "embedded":
        # Sail takes a URI's %2F for a slash, and reads no rows where it then finds no file.
        encoded = (path if is_local(path) else path.replace("%", "%25") for path in paths)
        return [re.sub(r"([*?\[\]{}])", r"[\1]", path) for path in encoded]
    return [re.sub(r"([*?\[\]{}\\])", r"\\\1", path) for path in paths]


def _by_links(engine: Engine, kind: str, files: Sequence[File], where: str) -> DataFrame:
    try:
        root = engine.scratch.folder()
        for number, file in enumerate(files):
            names = (f"{_own(at)}={_folder(value)}" for at, (_, value) in enumerate(file.partition))
            place = root.joinpath(*names)
            place.mkdir(parents=True, exist_ok=True)
            (place / f"{number:07}.{kind}").symlink_to(local(file.path))
    except OSError as error:
        raise EngineError(
            f"{where}: no temporary files, {error}; make room, or set TMPDIR to another folder"
        ) from error
    try:
        table = loaded(engine, kind, [str(root)], where)
    except InputError as error:
        raise InputError(_with_users_files(str(error), root, files)) from error
    keys = [key for key, _ in files[0].partition]
    return _with_folders(table, {key: _value(_own(at)) for at, key in enumerate(keys)})


def _by_paths(engine: Engine, kind: str, files: Sequence[File], where: str) -> list[DataFrame]:
    """One read of all files below a root, of which Spark finds the folders; else one for all files of equal folders."""
    alike: dict[object, list[File]] = {}
    for file in files:
        alike.setdefault(file.root if file.partition else "", []).append(file)
    tables = []
    for root, group in alike.items():
        keys = [key for key, _ in group[0].partition]
        table = loaded(engine, kind, _paths(group), where, {"basePath": str(root)} if root else {})
        refuse_own(table.columns, f"{where}: {group[0].path}")
        if all(key in table.columns for key in keys):
            tables.append(_with_folders(table, {key: F.col(quoted(key)).cast("string") for key in keys}))
        else:
            tables += _by_folder(engine, kind, group, where)
    return tables


def _by_folder(engine: Engine, kind: str, files: Sequence[File], where: str) -> list[DataFrame]:
    alike: dict[object, list[File]] = {}
    for file in files:
        alike.setdefault(file.partition, []).append(file)
    return [
        _with_folders(
            loaded(engine, kind, _paths(group), where),
            {key: F.lit(value).cast("string") for key, value in group[0].partition},
        )
        for group in alike.values()
    ]


def _with_folders(table: DataFrame, values: Mapping[str, Column]) -> DataFrame:
    whole = table.withColumns(dict(values)) if values else table
    return whole.drop(*(name for name in whole.columns if name.startswith(OWN)))


def _paths(files: Sequence[File]) -> list[str]:
    return [file.path for file in files]


def _own(number: int) -> str:
    """The name of our folder for the value of a file's folder of this number, counted from 0."""
    return f"{OWN}folder_{number}"


def _folder(value: str | None) -> str:
    if value is None:
        return _NULL
    return _VALUE + _UNSAFE.sub(lambda found: f"%{ord(found.group()):02X}", value)


def _value(name: str) -> Column:
    return F.when(F.col(name) != _NULL, F.substring(name, 2, 1 << 20))


def _with_users_files(text: str, root: Path, files: Sequence[File]) -> str:
    """A message with the user's files in place of our links to them."""
    link = re.compile(re.escape(str(root)) + r"(?:/\S*?(\d{7})\.(?:orc|parquet))?")
    first = files[0].path if len(files) == 1 else f"{files[0].path} or one of {len(files) - 1} more"
    return link.sub(lambda found: files[int(found.group(1))].path if found.group(1) else first, text)
