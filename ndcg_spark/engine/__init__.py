"""The engines: which one opens for an evaluation, and the embedded one, which is Sail in this
process behind a guarded port.
"""

import atexit
import contextlib
import importlib.metadata
import importlib.util
import os
import signal
import sys
import threading
from collections.abc import Iterator

from pyspark.sql import SparkSession

from ndcg_spark.engine import port_guard
from ndcg_spark.engine.footers import SETTINGS, require_read_values
from ndcg_spark.engine.sessions import (
    CALL_SITES,
    MEMORY_SHARE,
    Engine,
    connect,
    failure_reason,
    failures,
    is_client_alone,
    limit_retries,
    lost,
    machine_memory,
    quietly,
    running_session,
    sail_version,
    start_classic,
    start_local,
    start_session,
    usable_cores,
    wrap_session,
)
from ndcg_spark.errors import EngineError, engine_imports, refuse_mixed_sparks
from ndcg_spark.text import masked, unknown_name
from ndcg_spark.voices import Give

__all__ = [
    "Engine",
    "failure_reason",
    "failures",
    "kept_open",
    "lost",
    "open_engine",
    "open_session",
    "require_read_values",
    "running_session",
    "sail_version",
]

#: The engines that can be requested.
ENGINES = ("auto", "embedded", "spark")
_CONNECT_MODE = "SPARK_CONNECT_MODE_ENABLED"
#: Fewer partitions than this were slower on Sail, even on 2 cores (1.97 s against 2.42 s).
MIN_PARTITIONS = 16
#: The guard says that it has admitted a connection just after the server got it.
_GUARD_SECONDS = 3
#: The variable with which users set the number themselves.
_PARTITIONS = "SAIL_EXECUTION__DEFAULT_PARALLELISM"


@contextlib.contextmanager
def open_engine(
    choice: str = "auto", remote: str | None = None, partitions: int | None = None
) -> Iterator[Engine]:
    """The engine for one evaluation, stopped at the end if it was started here.

    `auto` uses a running session, SPARK_REMOTE or the spark-submit session if there is one;
    otherwise the embedded engine if it is installed, otherwise local Spark. An embedded engine that
    is started here uses `partitions` partitions; None for as many as large tables need. Raises
    EngineError if the engine is not available, or stops within the block.
    """
    refuse_mixed_sparks()
    _import_client()
    had_mode = _CONNECT_MODE in os.environ
    running = None if remote else running_session()
    # Hidden from pyspark, which would otherwise start every engine on that server.
    server = os.environ.pop("SPARK_REMOTE", None)
    if choice == "auto":
        remote = remote or server
    try:
        if running is not None:
            engine = wrap_session(running)
        else:
            engine = _started(choice, remote, partitions)
    finally:
        if server is not None:
            os.environ["SPARK_REMOTE"] = server
    if running is not None:
        require_read_values(running)
    try:
        with kept_open(engine):
            yield engine
    finally:
        engine.scratch.remove()
        engine.close()
        if not had_mode:
            # pyspark leaves it set after a session on a server, and then does not start local Spark
            # in this process.
            os.environ.pop(_CONNECT_MODE, None)


@contextlib.contextmanager
def kept_open(engine: Engine) -> Iterator[Engine]:
    """Use an engine that its owner closes. Raises EngineError if it stops within the block."""
    try:
        yield engine
    except Exception as error:
        if not lost(error):
            raise
        # The failure was blamed on something else, such as the input, but this is the cause.
        reason = masked(failure_reason(error))
        raise EngineError(f"engine: it stopped, {reason}; its log may say more") from error


def open_session(engine: str = "auto", remote: str | None = None) -> SparkSession:
    """Return the running session or, if there is none, a new one that stays open until the program
    ends.

    `engine` applies to a new session: `embedded`, `spark`, or `auto`, which uses SPARK_REMOTE or
    the spark-submit session if there is one, otherwise the embedded engine if it is installed,
    otherwise local Spark. `remote`, the URL of a Spark Connect server (sc://host:port), takes
    precedence over a running session. Raises ConfigurationError for an unknown engine, and
    EngineError if the requested engine (or, with `auto`, every engine) is unavailable.
    """
    if engine not in ENGINES:
        raise unknown_name("engine", "engine", engine, ENGINES)
    opened = contextlib.ExitStack()
    session = opened.enter_context(open_engine(engine, remote)).session
    atexit.register(opened.close)
    return session


def _started(choice: str, remote: str | None, partitions: int | None) -> Engine:
    """The requested engine, if no session is running."""
    if remote:
        return connect(remote)
    if "PYSPARK_GATEWAY_PORT" in os.environ:
        if choice == "embedded":
            sentence = (
                "engine: spark-submit brings its own Spark, not the embedded one; leave engine out"
            )
            raise EngineError(sentence)
        return start_classic({CALL_SITES: "false"}, "the spark-submit session")
    is_installed = importlib.util.find_spec("pysail") is not None
    if choice == "embedded" or (choice == "auto" and is_installed):
        return start_embedded(partitions)
    return start_local()


def _import_client() -> None:
    """Import the contents of pyspark-client. It takes a program that is not in a file, such as
    python -c, for its doctests, and ends.
    """
    if is_client_alone() and not hasattr(sys, "ps1"):
        sys.ps1 = ">>> "
        try:
            with engine_imports():
                import pyspark.sql.connect  # noqa: F401
        finally:
            del sys.ps1


def _set_environment() -> None:
    """Set the variables that the embedded engine reads when it starts."""
    # These override the user's values, because the scores would come from different rows.
    os.environ.update(SETTINGS)
    memory = int(machine_memory() * MEMORY_SHARE)
    defaults = {
        "RUST_LOG": "off",
        "SAIL_RUNTIME__MEMORY_POOL__TYPE": "fair",
        "SAIL_RUNTIME__MEMORY_POOL__FAIR__MAX_SIZE": str(memory),
        # gRPC reads no_proxy only if this is not set; a web proxy cannot reach the engine.
        "no_grpc_proxy": f"127.0.0.1,{os.environ.get('no_proxy', '')}",
        # AWS_ENDPOINT_URL may be a server without TLS, as for pyarrow.
        "AWS_ALLOW_HTTP": "true",
    }
    for name, value in defaults.items():
        os.environ.setdefault(name, value)


def _is_failed_start(error: BaseException) -> bool:
    """Whether the engine did not start; an EngineError already says why."""
    if isinstance(error, EngineError):
        return False
    # A Rust panic is not an Exception.
    is_panic = type(error).__name__ == "PanicException"
    return is_panic or isinstance(error, Exception)


def start_embedded(partitions: int | None = None) -> Engine:
    """Start the embedded engine in this process, and a session on it."""
    _set_environment()
    with engine_imports():
        # The client needs packages that pysail does not require.
        import pyspark.sql.connect.session  # noqa: F401
        from pysail.spark import SparkConnectServer
    # Until the first answer: Sail replaces the handlers when its server begins to serve.
    with _keeping_signal_handlers(), contextlib.ExitStack() as stack:
        try:
            with _partitioned(partitions or max(MIN_PARTITIONS, 4 * usable_cores())):
                server = SparkConnectServer("127.0.0.1", 0)
                admitted = port_guard.start(server)
            stack.callback(quietly, server.stop)
            url = f"sc://127.0.0.1:{server.listening_address[1]}"
            session = start_session(
                SparkSession.builder.remote(url), "the embedded engine's session"
            )
            stack.callback(quietly, session.stop)
            # Gives up after about one second.
            limit_retries(session, 3, 1_000)
            session.conf.set(CALL_SITES, "false")
        except BaseException as error:
            if not _is_failed_start(error):
                raise
            raise EngineError(
                f"engine: the embedded engine does not start, {failure_reason(error)}; "
                "check the variables SAIL_*, the limits of memory, threads and open files "
                "(ulimit -n), and that this pysail supports this pyspark"
            ) from error
        if not admitted.wait(_GUARD_SECONDS):
            what = "engine: the embedded engine accepts connections past its guard"
            raise EngineError(what, Give("engine", "spark", words="use"))
        name = f"embedded (pysail {importlib.metadata.version('pysail')})"
        return Engine(session, "embedded", name, sees_local_files=True, close=stack.pop_all().close)


@contextlib.contextmanager
def _partitioned(partitions: int) -> Iterator[None]:
    """Start servers in this context with this many partitions, unless the user sets a number.

    The variable is removed again, because the next engine of this process may read larger tables.
    """
    if _PARTITIONS in os.environ:
        yield
        return
    os.environ[_PARTITIONS] = str(partitions)
    try:
        yield
    finally:
        del os.environ[_PARTITIONS]


@contextlib.contextmanager
def _keeping_signal_handlers() -> Iterator[None]:
    is_main = threading.current_thread() is threading.main_thread()
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP) if is_main else ()
    handlers = {number: signal.getsignal(number) for number in numbers}
    try:
        yield
    finally:
        for number, handler in handlers.items():
            # None means that Python had not installed the handler.
            signal.signal(number, signal.SIG_DFL if handler is None else handler)
