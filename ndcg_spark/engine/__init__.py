"""The one place where a session is made: embedded, local Spark, the session of spark-submit, or Spark Connect."""

import contextlib
import importlib.util
import os
from collections.abc import Iterator

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession

from ndcg_spark.engine import classic, connect, embedded
from ndcg_spark.engine.connect import is_sail
from ndcg_spark.engine.engine import Engine, Kind
from ndcg_spark.engine.errors import failures, lost, reason_of
from ndcg_spark.errors import EngineError, refuse_mixed_sparks
from ndcg_spark.text import masked

__all__ = ["Engine", "Kind", "failures", "is_sail", "lost", "open_engine", "reason_of", "running_session"]

_CONNECT_MODE = "SPARK_CONNECT_MODE_ENABLED"


def running_session() -> SparkSession | None:
    """The active session of this thread, else the default session of the process; None if there is neither."""
    try:
        return SparkSession.active()
    except PySparkException:
        return None


@contextlib.contextmanager
def open_engine(choice: str = "auto", remote: str | None = None) -> Iterator[Engine]:
    """The engine for one evaluation, stopped at the end if it was started here.

    `auto` takes a running session, SPARK_REMOTE or the session of spark-submit if there is one; otherwise the embedded
    engine if it is installed, else local Spark.

    Raises
    ------
    EngineError
        The requested engine, or every engine, is unavailable; or it died within the block.
    """
    refuse_mixed_sparks()
    had_mode = _CONNECT_MODE in os.environ
    running = None if remote else running_session()
    # Out of pyspark's sight, which would start every engine there.
    server = os.environ.pop("SPARK_REMOTE", None)
    remote = remote or (server if choice == "auto" else None)
    try:
        if running is not None:
            engine = (classic if classic.is_classic(running) else connect).engine_of(running)
        elif remote:
            engine = connect.connect(remote)
        elif "PYSPARK_GATEWAY_PORT" in os.environ:
            engine = classic.submitted(choice)
        elif choice == "embedded" or (choice == "auto" and importlib.util.find_spec("pysail")):
            engine = embedded.start()
        else:
            engine = classic.start_local()
    finally:
        if server is not None:
            os.environ["SPARK_REMOTE"] = server
    try:
        yield engine
    except Exception as error:
        if not lost(error):
            raise
        # Whatever was blamed for the failure, such as the input, is not its cause.
        raise EngineError(f"engine: it died, {masked(reason_of(error))}; its log may say more") from error
    finally:
        engine.scratch.remove()
        engine.close()
        if not had_mode:
            # pyspark leaves it set after a session on a server, and then does not start local Spark in this process.
            os.environ.pop(_CONNECT_MODE, None)
