"""ORC for the embedded engine, which has no reader of its own."""

from collections.abc import Iterator

import pyarrow as pa

from ndcg_spark.inputs.copying import empty
from ndcg_spark.inputs.files import File
from ndcg_spark.inputs.plain_parquet import plain_columns


def orc_batches(columns: list[str], file: File, where: str) -> Iterator[pa.RecordBatch]:
    """The wanted columns of an ORC file, stripe by stripe, after a batch without rows.

    Raises
    ------
    InputError
        A wanted column is neither text nor a number, or there is no wanted column at all.
    OSError, ArrowException
        The file is damaged.
    """
    from pyarrow import orc

    system, place = file.located(where)
    with system.open_input_file(place) as stream:
        stored = orc.ORCFile(stream)
        schema = plain_columns(stored.schema, columns, f"{where}: {file.path}")
        names = schema.names
        yield empty(schema)
        for stripe in range(stored.nstripes):
            yield stored.read_stripe(stripe, columns=names).select(names)
