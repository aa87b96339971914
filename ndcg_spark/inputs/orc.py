"""ORC for the embedded engine, which has no reader of its own."""

from collections.abc import Iterator

import pyarrow as pa

from ndcg_spark.inputs.copying import empty
from ndcg_spark.inputs.files import File


def orc_batches(columns: list[str], file: File, where: str) -> Iterator[pa.RecordBatch]:
    """The wanted columns of an ORC file, stripe by stripe; all its columns if it has none of the wanted.

    Before them comes a batch without rows. OSError or ArrowException for a damaged file.
    """
    from pyarrow import orc

    system, place = file.located(where)
    with system.open_input_file(place) as stream:
        stored = orc.ORCFile(stream)
        names = [name for name in stored.schema.names if name in columns] or stored.schema.names
        schema = pa.schema([stored.schema.field(name) for name in names])
        yield empty(schema)
        for stripe in range(stored.nstripes):
            yield stored.read_stripe(stripe, columns=names).select(names)
