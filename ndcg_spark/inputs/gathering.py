"""Many files as one table: with the values of their folders, and with the unit that each row is of.

Engines differ in the folders that give columns, in the names they pass over or take for wildcards, and in how many
tables can be united. Local files are therefore read through a temporary folder of symbolic links with plain names, one
read whatever the number of files; others by their paths.
"""

import atexit
import re
import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from ndcg_spark.engine import Engine
from ndcg_spark.errors import EngineError, InputError
from ndcg_spark.inputs import run_files
from ndcg_spark.inputs.files import File
from ndcg_spark.inputs.loading import carried, literal, loaded, paths_of, quoted
from ndcg_spark.inputs.run_files import UNIT
from ndcg_spark.inputs.storage import is_local, local
from ndcg_spark.schemas import OWN, refuse_own

#: What a folder's name cannot hold, or an engine takes for something else.
_UNSAFE = re.compile(r"[%/\\:*?\"'#={}\[\]^\x00-\x1f\x7f]")
#: How the value of a folder begins that is one, or null.
_VALUE, _NULL = "v", "n"


#: Writes Parquet that the engine can read from a file that it cannot: of which file, where to, for messages.
Copy = Callable[[File, Path, str], None]


def gathered(
    engine: Engine, kind: str, group: list[File], units: Mapping[str, int], where: str, copy: Copy | None = None
) -> DataFrame:
    """What the files hold as `kind` (text, parquet or orc), and columns of our own: see `folder` and `UNIT`.

    All files have the same names of folders. Files of text must be alike compressed or not. With `copy` the table is
    read from what that writes.
    """
    if copy or (engine.sees_local_files and all(is_local(file.path) for file in group)):
        return _through_links(engine, kind, group, units, where, copy)
    if engine.kind != "embedded":
        table = _by_paths(engine, kind, group, units, where)
        if table is not None:
            return table
    return _one_by_one(engine, kind, group, units, where)


def folder(number: int) -> str:
    """The column with the value of a file's folder of this number, null where the folder says so."""
    return f"{OWN}folder_{number}"


def united(tables: list[DataFrame]) -> DataFrame:
    """All rows, by the columns' names. A tree: a chain of some hundred unions is more than an engine's stack holds."""
    while len(tables) > 1:
        pairs = (tables[at : at + 2] for at in range(0, len(tables), 2))
        tables = [pair[0].unionByName(pair[1]) if len(pair) == 2 else pair[0] for pair in pairs]
    return tables[0]


def _through_links(
    engine: Engine, kind: str, group: list[File], units: Mapping[str, int], where: str, copy: Copy | None
) -> DataFrame:
    kind = "parquet" if copy else kind
    suffix = {"text": ".txt", "orc": ".orc", "parquet": ".parquet"}[kind]
    try:
        root = Path(tempfile.mkdtemp(prefix="ndcg-spark-"))
        atexit.register(shutil.rmtree, root, ignore_errors=True)
        for number, file in enumerate(group):
            place = root.joinpath(*_folders(file, units))
            place.mkdir(parents=True, exist_ok=True)
            link = place / f"{number:07}{suffix}{'.gz' if kind == 'text' and file.compressed else ''}"
            if copy:
                copy(file, link, where)
            else:
                link.symlink_to(local(file.path))
    except OSError as error:
        raise EngineError(
            f"{where}: no temporary files, {error}; make room, or set TMPDIR to another folder"
        ) from error
    try:
        table = loaded(engine, kind, [str(root)], where)
    except InputError as error:
        raise InputError(_of_files(str(error), root, group)) from error
    values = {name: _value(name) for name in carried(table) if name != UNIT}
    if units:
        values[UNIT] = F.col(UNIT).cast("int")
    return table.withColumns(values) if values else table


def _of_files(text: str, root: Path, group: list[File]) -> str:
    """A message with the user's files in the place of our links to them."""
    link = re.compile(re.escape(str(root)) + r"(?:/\S*?(\d{7})\.(?:txt|orc|parquet)(?:\.gz)?)?")
    first = group[0].path if len(group) == 1 else f"{group[0].path} or one of {len(group) - 1} more"
    return link.sub(lambda found: group[int(found.group(1))].path if found.group(1) else first, text)


def _folders(file: File, units: Mapping[str, int]) -> list[str]:
    """The folders of the link to a file, which engines read columns from."""
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
    """The files by their paths, on Spark; None where it does not see the columns that the folders give."""
    by_root: dict[str, list[File]] = {}
    for file in group:
        by_root.setdefault(file.root if file.partition else "", []).append(file)
    tables = []
    for root, files in by_root.items():
        options = {"basePath": root} if root else {}
        table = loaded(engine, kind, literal(paths_of(files)), where, **options)
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
    """The files that agree on folders and unit in one read each."""
    alike: dict[tuple[object, ...], list[File]] = {}
    for file in group:
        alike.setdefault((file.partition, units.get(file.path)), []).append(file)
    tables = []
    for files in alike.values():
        values = (value for _, value in files[0].partition)
        columns = {folder(number): F.lit(value).cast("string") for number, value in enumerate(values)}
        if units:
            columns[UNIT] = F.lit(units[files[0].path])
        table = loaded(engine, kind, paths_of(files), where)
        refuse_own(table.columns, f"{where}: {files[0].path}")
        tables.append(table.withColumns(columns) if columns else table)
    return united(tables)
