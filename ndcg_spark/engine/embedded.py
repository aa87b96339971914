"""The embedded engine: Sail in this process (pysail), without Java."""

import contextlib
import importlib.metadata
import os
import signal
import threading
from collections.abc import Iterator

from pyspark.sql import SparkSession

from ndcg_spark.engine import port_guard
from ndcg_spark.engine.connect import limit_retries
from ndcg_spark.engine.engine import (
    CALL_SITES,
    MEMORY_SHARE,
    Engine,
    machine_memory,
    start_session,
    suppressing,
    usable_cores,
)
from ndcg_spark.engine.errors import failures, reason_of
from ndcg_spark.errors import EngineError, engine_imports, first_line

#: Fewer partitions than this were slower even on 2 cores (1.97 s against 2.42 s).
LEAST_PARTITIONS = 16
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextlib.contextmanager
def _keeping_signal_handlers() -> Iterator[None]:
    """A context for starting Sail, which replaces Python's signal handlers; they are put back."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handlers = {number: signal.getsignal(number) for number in _SIGNALS}
    try:
        yield
    finally:
        for number, handler in handlers.items():
            # None means that Python had not installed the handler.
            signal.signal(number, signal.SIG_DFL if handler is None else handler)


def start() -> Engine:
    """Sail in this process, behind a guarded port on loopback; EngineError without pysail or without a guard."""
    for name, value in {
        "RUST_LOG": "off",
        "SAIL_RUNTIME__MEMORY_POOL__TYPE": "fair",
        "SAIL_RUNTIME__MEMORY_POOL__FAIR__MAX_SIZE": str(int(machine_memory() * MEMORY_SHARE)),
        "SAIL_EXECUTION__DEFAULT_PARALLELISM": str(max(LEAST_PARTITIONS, 4 * usable_cores())),
        # gRPC uses no_proxy only where this is not set; a proxy for web pages cannot reach the engine.
        "no_grpc_proxy": f"127.0.0.1,{os.environ.get('no_proxy', '')}",
    }.items():
        os.environ.setdefault(name, value)
    with engine_imports():
        # The client has packages of its own, which pysail does not require.
        import pyspark.sql.connect.session  # noqa: F401
        from pysail.spark import SparkConnectServer
    # Until the first answer: Sail replaces the handlers when its server begins to serve.
    with _keeping_signal_handlers(), contextlib.ExitStack() as stack:
        try:
            server = SparkConnectServer("127.0.0.1", 0)
            admitted = port_guard.start(server)
        except EngineError:
            raise
        except Exception as error:  # it raises many kinds, above all for its settings in the environment
            raise EngineError(
                f"engine: the embedded engine does not start, {first_line(error)}; check the variables SAIL_*"
            ) from error
        stack.callback(suppressing(server.stop))
        _, port = server.listening_address
        session = start_session(SparkSession.builder.remote(f"sc://127.0.0.1:{port}"), "the embedded engine's session")
        stack.callback(suppressing(session.stop))
        limit_retries(session, is_own=True)
        try:
            session.conf.set(CALL_SITES, "false")
        except failures() as error:
            raise EngineError(
                f"engine: the embedded engine does not answer, {reason_of(error)}; check the limit of open files "
                "(ulimit -n) and that this pysail supports this pyspark, or use --engine spark"
            ) from error
        if not admitted.is_set():
            raise EngineError("engine: the embedded engine accepts connections past its guard; use --engine spark")
        name = f"embedded (pysail {importlib.metadata.version('pysail')})"
        return Engine(session, "embedded", name, True, close=stack.pop_all().close)
