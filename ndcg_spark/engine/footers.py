"""Whether a session reads the values of Parquet files, or takes what footers say for values.

Sail does the latter unless it is told not to. In a column with one minimum and maximum, NaN is read
as that number, and so is null where the footer does not count nulls. A filter, such as one for
null, passes over parts of a file where the footer rules such rows out, although they are there.
"""

import functools
import math

import pyarrow as pa
from pyspark.sql import SparkSession

from ndcg_spark.engine.sessions import failures, require_new_spark, sail_version
from ndcg_spark.errors import EngineError
from ndcg_spark.scratch import Scratch

#: The settings of Sail's server with which it reads every value.
SETTINGS = {
    "SAIL_EXECUTION__COLLECT_STATISTICS": "false",
    "SAIL_PARQUET__PRUNING": "false",
    "SAIL_PARQUET__ENABLE_PAGE_INDEX": "false",
}


def require_read_values(session: SparkSession) -> None:
    """EngineError for a session of Sail that is not seen to read every value, which runs a query
    once, and for one of Spark 3.
    """
    sail = sail_version(session)
    if not sail:
        require_new_spark(session)
    elif not _reads_values(session):
        settings = " ".join(f"{name}={value}" for name, value in SETTINGS.items())
        raise EngineError(
            f"engine: this session of Sail {sail} may read other values than a Parquet file has, "
            "such as a number instead of NaN or null; start its server on this machine with "
            f"{settings}, take ndcg_spark.open_session(), or give paths or tables of pandas"
        )


@functools.lru_cache(maxsize=8)
def _reads_values(session: SparkSession) -> bool:
    """Whether NaN, which no minimum and maximum includes, is found in a file written for this."""
    from pyarrow import parquet

    scratch = Scratch()
    try:
        path = scratch.folder() / "values.parquet"
        # With statistics, unlike all other files.
        parquet.write_table(pa.table({"value": [1.0, math.nan]}), path, write_page_index=True)
        # To Spark and to Sail, NaN is the largest number.
        rows = session.read.parquet(str(path)).where("value > 2").collect()
    except failures():
        return False
    finally:
        scratch.remove()
    return any(math.isnan(row["value"]) for row in rows)
