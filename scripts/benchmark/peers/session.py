"""Classic local Spark for the peers, with the settings ours has: every core, most of the memory, Arrow, no console."""

import contextlib
import os
import sys
from collections.abc import Iterator

from pyspark.sql import SparkSession

from ndcg_spark.engine import open_engine


@contextlib.contextmanager
def classic() -> Iterator[SparkSession]:
    """The session that our own `--engine spark` makes."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    with open_engine("spark") as engine:
        engine.session.conf.set("spark.sql.execution.arrow.pyspark.enabled", "true")
        yield engine.session
