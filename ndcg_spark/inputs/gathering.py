"""Many files as one table, with the values of their folders and the unit (see `run_files`) of each row as columns.

Engines differ in which folders add columns, in which names they skip or take for wildcards, and in how many tables they
can unite. So local files are read through a temporary folder of symbolic links with plain names: one read, however many
files there are. Other files are read by their paths.
"""

import re
from collections.abc import Callable, Mapping
from pathlib import Path

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from ndcg_spark.conforming import refuse_own
from ndcg_spark.engine import Engine
from ndcg_spark.errors import EngineError, InputError
from ndcg_spark.inputs import run_files
from ndcg_spark.inputs.files import File
from ndcg_spark.inputs.loading import carried, literal, loaded, paths_of, quoted
from ndcg_spark.inputs.run_files import UNIT
from ndcg_spark.inputs.storage import is_local, local
from ndcg_spark.schemas import OWN

#: Characters that a folder's name cannot have, or that an engine treats in a special way.
_UNSAFE = re.compile(r"[%/\\:*?\"'#={}\[\]^\x00-\x1f\x7f]")
#: In the name of a link's folder, the first letter of a value, and what stands for null.
_VALUE, _NULL = "v", "n"
#: The endings by which engines know what is in a link.
_SUFFIXES = {"text": ".txt", "orc": ".orc", "parquet": ".parquet"}

#: Copies a file that the engine cannot read to a Parquet file that it can: the file, the copy, the name of the table.
Copy = Callable[[File, Path, str], None]


def gathered(
    engine: Engine,
    kind: str,
    group: list[File],
    units: Mapping[str, int],
    where: str,
    copy: Copy | None = None,
    schema: StructType | None = None,
) -> DataFrame:
    """The rows of the files, read as `kind` (text, parquet or orc), with our own columns: `folder` and `UNIT`.

    The folders of all files must give the same columns, and text files must be all compressed or all not. With `copy`,
    copies of the files are read in their place. `schema` is that of files on this machine, if it is known.

    InputError for a file that cannot be read; EngineError if there is no room for temporary files.
    """
    if copy:
        return _through_links(engine, kind, group, units, where, copy)
    near = [file for file in group if engine.sees_local_files and is_local(file.path)]
    if 0 < len(near) < len(group):
        far = [file for file in group if not is_local(file.path)]
        return united([gathered(engine, kind, some, units, where) for some in (near, far)])
    if near:
        return _through_links(engine, kind, group, units, where, None, schema)
    if engine.kind != "embedded":
        table = _by_paths(engine, kind, group, units, where)
        if table is not None:
            return table
    return _one_by_one(engine, kind, group, units, where)


def folder(number: int) -> str:
    """The name of our column for the value of a file's folder of this number, counted from 0."""
    return f"{OWN}folder_{number}"


def united(tables: list[DataFrame]) -> DataFrame:
    """All rows, with columns matched by name. The unions form a tree, as a long chain overflows an engine's stack."""
    while len(tables) > 1:
        pairs = (tables[at : at + 2] for at in range(0, len(tables), 2))
        tables = [pair[0].unionByName(pair[1]) if len(pair) == 2 else pair[0] for pair in pairs]
    return tables[0]


def _through_links(
    engine: Engine,
    kind: str,
    group: list[File],
    units: Mapping[str, int],
    where: str,
    copy: Copy | None,
    schema: StructType | None = None,
) -> DataFrame:
    kind = "parquet" if copy else kind
    try:
        root = engine.scratch.folder()
        for number, file in enumerate(group):
            place = root.joinpath(*_folders(file, units))
            place.mkdir(parents=True, exist_ok=True)
            link = place / f"{number:07}{_SUFFIXES[kind]}{'.gz' if kind == 'text' and file.compressed else ''}"
            if copy:
                copy(file, link, where)
            else:
                link.symlink_to(local(file.path))
    except OSError as error:
        raise EngineError(
            f"{where}: no temporary files, {error}; make room, or set TMPDIR to another folder"
        ) from error
    try:
        table = loaded(engine, kind, literal(engine, [str(root)]), where, schema=schema)
    except InputError as error:
        raise InputError(_with_users_files(str(error), root, group)) from error
    values = {name: _value(name) for name in carried(table) if name != UNIT}
    if units:
        values[UNIT] = F.col(UNIT).cast("int")
    return table.withColumns(values) if values else table


def _with_users_files(text: str, root: Path, group: list[File]) -> str:
    """A message with the user's files in place of our links to them."""
    link = re.compile(re.escape(str(root)) + r"(?:/\S*?(\d{7})\.(?:txt|orc|parquet)(?:\.gz)?)?")
    first = group[0].path if len(group) == 1 else f"{group[0].path} or one of {len(group) - 1} more"
    return link.sub(lambda found: group[int(found.group(1))].path if found.group(1) else first, text)


def _folders(file: File, units: Mapping[str, int]) -> list[str]:
    """The folders that the link to a file is put in, from which engines read our columns."""
    names = [
        f"{folder(number)}={_NULL if value is None else _VALUE + _UNSAFE.sub(_escaped, value)}"
        for number, (_, value) in enumerate(file.partition)
    ]
    return [*names, f"{UNIT}={units[file.path]}"] if units else names


def _escaped(character: re.Match[str]) -> str:
    return f"%{ord(character.group()):02X}"


def _value(name: str) -> Column:
    return F.when(F.col(name) != _NULL, F.substring(name, 2, 1 << 20))


def _by_paths(engine: Engine, kind: str, group: list[File], units: Mapping[str, int], where: str) -> DataFrame | None:
    """The files by their paths, on Spark; None if Spark does not see the columns that the folders give."""
    by_root: dict[str, list[File]] = {}
    for file in group:
        by_root.setdefault(file.root if file.partition else "", []).append(file)
    tables = []
    for root, files in by_root.items():
        options = {"basePath": root} if root else {}
        table = loaded(engine, kind, literal(engine, paths_of(files)), where, options)
        refuse_own(table.columns, f"{where}: {files[0].path}")
        keys = [key for key, _ in files[0].partition]
        if any(key not in table.columns for key in keys):
            return None
        columns = {folder(number): F.col(quoted(key)).cast("string") for number, key in enumerate(keys)}
        if units:
            columns[UNIT] = run_files.unit_column()
        tables.append(table.withColumns(columns) if columns else table)
    return united(tables)


def _one_by_one(engine: Engine, kind: str, group: list[File], units: Mapping[str, int], where: str) -> DataFrame:
    """The files by their paths: one read for all that agree on their folders and their unit."""
    alike: dict[tuple[object, ...], list[File]] = {}
    for file in group:
        alike.setdefault((file.partition, units.get(file.path)), []).append(file)
    tables = []
    for files in alike.values():
        values = (value for _, value in files[0].partition)
        columns = {folder(number): F.lit(value).cast("string") for number, value in enumerate(values)}
        if units:
            columns[UNIT] = F.lit(units[files[0].path])
        table = loaded(engine, kind, literal(engine, paths_of(files)), where)
        refuse_own(table.columns, f"{where}: {files[0].path}")
        tables.append(table.withColumns(columns) if columns else table)
    return united(tables)
