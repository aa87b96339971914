"""ORC for the embedded engine, which has no reader of its own."""

import atexit
import shutil
import tempfile

import pyarrow as pa
from pyspark.sql import DataFrame

from ndcg_spark.engine import Engine
from ndcg_spark.errors import InputError, first_line
from ndcg_spark.inputs.files import File
from ndcg_spark.inputs.loading import loaded


def orc(engine: Engine, group: list[File], name: str) -> DataFrame:
    """ORC for the embedded engine, which has none: through Parquet, in a folder that ends with the process."""
    from pyarrow import orc as pyarrow_orc
    from pyarrow import parquet as pq

    folder = tempfile.mkdtemp(prefix="ndcg-spark-orc-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    for number, file in enumerate(group):
        try:
            stored = pyarrow_orc.ORCFile(file.path)
            with pq.ParquetWriter(f"{folder}/{number:06}.parquet", stored.schema) as writer:
                for stripe in range(stored.nstripes):
                    writer.write_batch(stored.read_stripe(stripe))
        except (OSError, pa.ArrowException) as error:
            raise InputError(
                f"{name}: {file.path} is no whole ORC file, {first_line(error)}; write it again"
            ) from error
    return loaded(engine, "parquet", [folder], name)
