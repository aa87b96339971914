"""The engines: one opens per evaluation, and its failures are distinguished from those of the input."""

import contextlib
import importlib.util
import os
from collections.abc import Iterator

from ndcg_spark.engine.embedded import start_embedded
from ndcg_spark.engine.failures import failure_reason, failures, lost
from ndcg_spark.engine.sessions import (
    Engine,
    connect,
    running_session,
    sail_version,
    start_local,
    submitted,
    wrap_session,
)
from ndcg_spark.errors import EngineError, refuse_mixed_sparks
from ndcg_spark.text import masked

__all__ = ["Engine", "failure_reason", "failures", "lost", "open_engine", "running_session", "sail_version"]

_CONNECT_MODE = "SPARK_CONNECT_MODE_ENABLED"


@contextlib.contextmanager
def open_engine(choice: str = "auto", remote: str | None = None) -> Iterator[Engine]:
    """The engine for one evaluation, stopped at the end if it was started here.

    `auto` takes a running session, SPARK_REMOTE or the session of spark-submit if there is one; otherwise the embedded
    engine if it is installed, else local Spark. EngineError where it is unavailable, or stops within the block.
    """
    refuse_mixed_sparks()
    had_mode = _CONNECT_MODE in os.environ
    running = None if remote else running_session()
    # Out of pyspark's sight, which would start every engine there.
    server = os.environ.pop("SPARK_REMOTE", None)
    remote = remote or (server if choice == "auto" else None)
    try:
        if running is not None:
            engine = wrap_session(running)
        elif remote:
            engine = connect(remote)
        elif "PYSPARK_GATEWAY_PORT" in os.environ:
            engine = submitted(choice)
        elif choice == "embedded" or (choice == "auto" and importlib.util.find_spec("pysail")):
            engine = start_embedded()
        else:
            engine = start_local()
    finally:
        if server is not None:
            os.environ["SPARK_REMOTE"] = server
    try:
        yield engine
    except Exception as error:
        if not lost(error):
            raise
        # Whatever was blamed for the failure, such as the input, is not its cause.
        raise EngineError(f"engine: it stopped, {masked(failure_reason(error))}; its log may say more") from error
    finally:
        engine.scratch.remove()
        engine.close()
        if not had_mode:
            # pyspark leaves it set after a session on a server, and then does not start local Spark in this process.
            os.environ.pop(_CONNECT_MODE, None)
