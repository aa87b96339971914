"""Files that an engine cannot read, copied to Parquet that it can: only the wanted columns, a part at a time."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow as pa

from ndcg_spark.errors import InputError, first_line
from ndcg_spark.inputs.files import File

#: Reads a file, given with the table's name, a part at a time. The first part has no rows: it tells the columns.
Batches = Callable[[File, str], Iterator[pa.RecordBatch]]


def write_parquet(batches: Batches, file: File, target: Path, where: str) -> None:
    """Write the batches of a file to `target`, a Parquet file.

    Raises
    ------
    InputError
        The file is damaged, or as `batches` refuses it.
    OSError
        The target cannot be written.
    """
    from pyarrow import parquet

    read = _readable(batches, file, where)
    with parquet.ParquetWriter(target, next(read).schema) as writer:
        for batch in read:
            writer.write_batch(batch)


def empty(schema: pa.Schema) -> pa.RecordBatch:
    """A batch without rows, of these columns."""
    return pa.record_batch([pa.nulls(0, field.type) for field in schema], schema=schema)


def _readable(batches: Batches, file: File, where: str) -> Iterator[pa.RecordBatch]:
    """The batches; InputError where reading fails, so that only writing is left to fail with an OSError."""
    try:
        yield from batches(file, where)
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"{where}: {file.path} cannot be read, {first_line(error)}; write it again") from error
