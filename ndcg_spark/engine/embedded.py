"""The embedded engine: Sail in this process, behind a guarded port on loopback."""

import contextlib
import importlib.metadata
import os
import signal
import threading
from collections.abc import Iterator

from pyspark.sql import SparkSession

from ndcg_spark.engine import port_guard
from ndcg_spark.engine.failures import failure_reason
from ndcg_spark.engine.sessions import (
    CALL_SITES,
    MEMORY_SHARE,
    Engine,
    limit_retries,
    machine_memory,
    quietly,
    start_session,
    usable_cores,
)
from ndcg_spark.errors import EngineError, engine_imports

#: Fewer partitions than this were slower on Sail even on 2 cores (1.97 s against 2.42 s).
MIN_PARTITIONS = 16


def start_embedded() -> Engine:
    """Sail in this process, behind a guarded port on loopback; EngineError without pysail or without a guard."""
    for name, value in {
        "RUST_LOG": "off",
        "SAIL_RUNTIME__MEMORY_POOL__TYPE": "fair",
        "SAIL_RUNTIME__MEMORY_POOL__FAIR__MAX_SIZE": str(int(machine_memory() * MEMORY_SHARE)),
        "SAIL_EXECUTION__DEFAULT_PARALLELISM": str(max(MIN_PARTITIONS, 4 * usable_cores())),
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
            stack.callback(quietly, server.stop)
            url = f"sc://127.0.0.1:{server.listening_address[1]}"
            session = start_session(SparkSession.builder.remote(url), "the embedded engine's session")
            stack.callback(quietly, session.stop)
            # After about a second.
            limit_retries(session, 3, 1_000)
            session.conf.set(CALL_SITES, "false")
        except BaseException as error:  # many kinds, for its settings in the environment; a panic is no Exception
            is_panic = type(error).__name__ == "PanicException"
            if isinstance(error, EngineError) or not (is_panic or isinstance(error, Exception)):
                raise
            raise EngineError(
                f"engine: the embedded engine does not start, {failure_reason(error)}; check the variables SAIL_*, the "
                "limits of memory, threads and open files (ulimit -n), and that this pysail supports this pyspark"
            ) from error
        if not admitted.is_set():
            raise EngineError("engine: the embedded engine accepts connections past its guard; use --engine spark")
        name = f"embedded (pysail {importlib.metadata.version('pysail')})"
        return Engine(session, "embedded", name, True, close=stack.pop_all().close)


@contextlib.contextmanager
def _keeping_signal_handlers() -> Iterator[None]:
    """Put back the signal handlers that the block replaces."""
    is_main = threading.current_thread() is threading.main_thread()
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP) if is_main else ()
    handlers = {number: signal.getsignal(number) for number in numbers}
    try:
        yield
    finally:
        for number, handler in handlers.items():
            # None means that Python had not installed the handler.
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
