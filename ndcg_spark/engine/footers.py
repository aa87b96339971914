"""Whether a session reads the values of Parquet files, or relies on their footers instead.

Sail relies on footers unless it is configured not to. In a column with one minimum and maximum, NaN
is read as that number, and so is null if the footer does not count nulls. A filter, such as one for
null, skips parts of a file if the footer rules such rows out, even if they exist.
"""

import functools
import math

import pyarrow as pa
from pyspark.sql import SparkSession

from ndcg_spark.engine.sessions import failures, require_new_spark, sail_version
from ndcg_spark.errors import EngineError
from ndcg_spark.scratch import Scratch

#: The settings with which Sail's server reads every value.
SETTINGS = {
    "SAIL_EXECUTION__COLLECT_STATISTICS": "false",
    "SAIL_PARQUET__PRUNING": "false",
    "SAIL_PARQUET__ENABLE_PAGE_INDEX": "false",
}


def require_read_values(session: SparkSession) -> None:
    """Raise EngineError for a Sail session that does not demonstrably read every value (the first
    check runs a query), and for a Spark 3 session.
    """
    sail = sail_version(session)
    if not sail:
        require_new_spark(session)
    elif not _reads_values(session):
        settings = " ".join(f"{name}={value}" for name, value in SETTINGS.items())
        raise EngineError(
            f"engine: this Sail {sail} session may read different values from those in a "
            "Parquet file, such as a number instead of NaN or null; start its server on this "
            f"machine with {settings}, use ndcg_spark.open_session(), or give paths or pandas "
            "DataFrames"
        )


@functools.lru_cache(maxsize=8)
def _reads_values(session: SparkSession) -> bool:
    """Whether NaN, which is outside every minimum and maximum, is found in a file written here."""
    from pyarrow import parquet

    scratch = Scratch()
    try:
        path = scratch.folder() / "values.parquet"
        # With statistics, unlike all other files.
        parquet.write_table(pa.table({"value": [1.0, math.nan]}), path, write_page_index=True)
        # For Spark and Sail, NaN is the largest number.
        rows = session.read.parquet(str(path)).where("value > 2").collect()
    except failures():
        return False
    finally:
        scratch.remove()
    return any(math.isnan(row["value"]) for row in rows)
