"""Text is parsed once: its typed rows are kept in a temporary place, from which every plan of an evaluation reads them.

Without that, each plan parses every line again, which takes longer than all the rest of an evaluation.
"""

from pyspark import StorageLevel
from pyspark.sql import DataFrame

from ndcg_spark.engine import Engine
from ndcg_spark.inputs.files import File
from ndcg_spark.inputs.loading import literal, loaded

#: Text of fewer bytes than this, as it is stored, is parsed again by each plan: that is quicker than another plan.
LEAST_BYTES = 1_500_000


def is_worth_keeping(engine: Engine, files: list[File]) -> bool:
    """Whether the rows of these text files are kept. Never on a server, where nobody may be left to remove them."""
    return engine.kind != "connect" and sum(file.size for file in files) >= LEAST_BYTES


def kept(engine: Engine, table: DataFrame, name: str) -> DataFrame:
    """The same rows, which are computed only once and removed when the engine's work is done.

    The embedded engine writes them to a temporary folder at once, so this is an action there. Classic Spark keeps them
    on its executors' disks when the first plan computes them. Raises whatever the engine raises.
    """
    if engine.kind == "spark":
        engine.scratch.later(table.persist(StorageLevel.DISK_ONLY).unpersist)
        return table
    folder = str(engine.scratch.folder() / "rows")
    table.write.parquet(folder, compression="lz4")
    return loaded(engine, "parquet", literal(engine, [folder]), name)
