"""ORC for the embedded engine, which has no reader of its own."""

from pathlib import Path

import pyarrow as pa

from ndcg_spark.errors import InputError, first_line
from ndcg_spark.inputs.files import File
from ndcg_spark.inputs.storage import storage


def write_parquet(columns: list[str], file: File, target: Path, where: str) -> None:
    """The wanted columns of an ORC file as a Parquet file, stripe by stripe; all columns if it has none of them.

    InputError for a file that is damaged.
    """
    from pyarrow import orc
    from pyarrow import parquet as pq

    try:
        system, place = storage(file.path, where)
        stored = orc.ORCFile(system.open_input_file(place))
        names = [name for name in stored.schema.names if name in columns] or stored.schema.names
        schema = pa.schema([stored.schema.field(name) for name in names])
        with pq.ParquetWriter(target, schema) as writer:
            for stripe in range(stored.nstripes):
                writer.write_batch(stored.read_stripe(stripe, columns=names).select(names))
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"{where}: {file.path} is no whole ORC file, {first_line(error)}; write it again") from error
