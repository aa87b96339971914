"""ORC for the embedded engine, which has no reader of its own."""

from pathlib import Path

import pyarrow as pa

from ndcg_spark.errors import InputError, first_line
from ndcg_spark.inputs.files import File
from ndcg_spark.inputs.plain_parquet import plain_columns
from ndcg_spark.inputs.storage import storage


def write_parquet(columns: list[str], file: File, target: Path, where: str) -> None:
    """The wanted columns of an ORC file as a Parquet file, stripe by stripe.

    InputError for a file that is damaged, has none of the columns, or one that is no text and no number.
    """
    from pyarrow import orc
    from pyarrow import parquet as pq

    try:
        system, place = storage(file.path, where)
        stored = orc.ORCFile(system.open_input_file(place))
        schema = plain_columns(stored.schema, columns, f"{where}: {file.path}")
        names = schema.names
        with pq.ParquetWriter(target, schema) as writer:
            for stripe in range(stored.nstripes):
                writer.write_batch(stored.read_stripe(stripe, columns=names).select(names))
    except (OSError, pa.ArrowException) as error:
        raise InputError(f"{where}: {file.path} is no whole ORC file, {first_line(error)}; write it again") from error
