"""Rows that this process has read, as a table of an engine that sees the files of this machine."""

import pyarrow as pa
from pyarrow import parquet as pq
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import StructType

from ndcg_spark.engine.scratch import Scratch

#: Kept until the process ends, because a DataFrame is read whenever somebody asks for its rows.
_SCRATCH = Scratch()


def frame_of(rows: pa.RecordBatchReader, schema: StructType, session: SparkSession) -> DataFrame:
    """The rows, written as Parquet into a temporary folder."""
    folder = _SCRATCH.folder()
    with pq.ParquetWriter(folder / "rows.parquet", rows.schema) as writer:
        for batch in rows:
            writer.write_batch(batch)
    return session.read.schema(schema).parquet(str(folder))
