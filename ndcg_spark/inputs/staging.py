"""Parquet that this process has written, given to the engine: in its place, as Arrow, or in a folder that both see."""

import uuid
from pathlib import Path

import pyarrow as pa
from pyarrow import fs
from pyspark.sql import DataFrame

from ndcg_spark.engine import Engine
from ndcg_spark.errors import InputError, StorageError, first_line
from ndcg_spark.inputs.conversion import Converted
from ndcg_spark.inputs.engine_files import loaded
from ndcg_spark.inputs.storage import storage
from ndcg_spark.schemas import INTERNAL

#: The bytes that a table may have as Arrow to be sent with a plan.
_MOST_SENT = 64 << 20


def given(engine: Engine, rows: Converted, where: str) -> DataFrame:
    """What this process has written, without those of our own columns that have no value.

    An engine that does not see this machine's files gets at most 64 MB as Arrow, and more in its `shared` folder, which
    is removed when its work is done.

    Raises
    ------
    InputError
        There are more bytes, and no shared folder is named.
    StorageError
        The shared folder cannot be written.
    """
    table = _read(engine, rows.folder, where)
    return table.select(*(name for name in table.columns if name not in INTERNAL or rows.values[name]))


def _read(engine: Engine, folder: Path, where: str) -> DataFrame:
    if engine.sees_local_files:
        return loaded(engine, "parquet", [str(folder)], where)
    from pyarrow import dataset

    whole = dataset.dataset(str(folder), format="parquet")
    if sum(path.stat().st_size for path in folder.iterdir()) <= _MOST_SENT:
        table = whole.to_table()
        if table.nbytes <= _MOST_SENT:
            return engine.session.createDataFrame(table)
    if engine.shared is None:
        raise InputError(
            f"{where}: more than {_MOST_SENT >> 20} MB of rows on this machine, whose files {engine.name} does not "
            "read; name a folder that both see, --staging s3://bucket/folder, or publish to one with --output"
        )
    place = f"{engine.shared.rstrip('/')}/inputs-{uuid.uuid4().hex}"
    system, target = storage(place, where, StorageError)
    try:
        system.create_dir(target)
        engine.scratch.later(lambda: system.delete_dir(target))
        fs.copy_files(str(folder), target, source_filesystem=fs.LocalFileSystem(), destination_filesystem=system)
    except (OSError, pa.ArrowException) as error:
        raise StorageError(f"{where}: {place} cannot be written, {first_line(error)}; check its rights") from error
    return loaded(engine, "parquet", [place], where)
