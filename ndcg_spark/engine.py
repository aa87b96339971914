"""The one place a session is made: embedded, local Spark, the session of spark-submit, or Spark Connect."""

import contextlib
import dataclasses
import importlib.metadata
import importlib.util
import os
import re
import shutil
import socket
import sys
import urllib.parse
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from pyspark.sql import SparkSession

from ndcg_spark.errors import EngineError, first_line

Kind = Literal["embedded", "spark", "connect"]

#: Of the machine's memory, what the embedded engine may use before it spills; Python and the rest have the remainder.
MEMORY_SHARE = 0.6
#: Fewer partitions than this were slower even on 2 cores (engines.md: 1.97 s against 2.42 s).
LEAST_PARTITIONS = 16
#: Where a Spark Connect server listens unless its address says otherwise, and how long it may take to answer.
CONNECT_PORT = 15002
ANSWER_SECONDS = 10

#: Whether every Column notes the line that made it: a quarter of a small evaluation's time. A server's cannot be set.
CALL_SITES = "spark.python.sql.dataFrameDebugging.enabled"

_BOTH_WAYS = (
    "install the embedded engine with: pip install 'ndcg-spark[embedded]', or Java 17 for local Spark "
    "(Debian: apt-get install openjdk-17-jre-headless)"
)


@dataclasses.dataclass(frozen=True)
class Engine:
    """A session and what must be known of it."""

    session: SparkSession
    kind: Kind
    #: Its name and version, as printed and recorded: 'embedded (pysail 0.7.2)'.
    name: str
    #: Whether the files it reads are those this process sees.
    sees_local_files: bool


@contextlib.contextmanager
def open_engine(choice: str = "auto", remote: str | None = None) -> Iterator[Engine]:
    """The engine for one evaluation, stopped at the end if it was started here.

    `auto` takes a running session, SPARK_REMOTE or spark-submit's session first, then the embedded engine if it is
    installed, then local Spark if there is Java.

    Raises
    ------
    EngineError
        The engine that was asked for, or any engine at all, is not to be had here.
    """
    running = None if remote else SparkSession.getActiveSession()
    if running is not None:
        yield _classic(running) if _is_classic(running) else _connected(running, "running session")
        return
    remote = remote or os.environ.get("SPARK_REMOTE")
    with contextlib.ExitStack() as stack:
        if remote:
            engine = _connect(remote)
        elif "PYSPARK_GATEWAY_PORT" in os.environ:
            engine = _submitted(choice)
        elif choice == "embedded" or (choice == "auto" and importlib.util.find_spec("pysail")):
            engine = _embedded(stack)
        else:
            engine = _local()
        stack.callback(_quietly, engine.session.stop)
        yield engine


def _embedded(stack: contextlib.ExitStack) -> Engine:
    pool = str(int(_machine_memory() * MEMORY_SHARE))
    for name, value in {
        "RUST_LOG": "off",
        "SAIL_RUNTIME__MEMORY_POOL__TYPE": "fair",
        "SAIL_RUNTIME__MEMORY_POOL__FAIR__MAX_SIZE": pool,
        "SAIL_EXECUTION__DEFAULT_PARALLELISM": str(max(LEAST_PARTITIONS, 4 * (os.cpu_count() or 1))),
    }.items():
        os.environ.setdefault(name, value)
    try:
        from pysail.spark import SparkConnectServer
    except ImportError as error:
        raise EngineError(f"engine: the embedded engine is not installed, {error}; {_BOTH_WAYS}") from error
    server = SparkConnectServer("127.0.0.1", 0)
    server.start(background=True)
    stack.callback(server.stop)
    _, port = server.listening_address
    session = SparkSession.builder.remote(f"sc://127.0.0.1:{port}").getOrCreate()
    session.conf.set(CALL_SITES, "false")
    return Engine(session, "embedded", f"embedded (pysail {importlib.metadata.version('pysail')})", True)


def _local() -> Engine:
    if not (shutil.which("java") or Path(os.environ.get("JAVA_HOME", "")).joinpath("bin/java").is_file()):
        raise EngineError(f"engine: there is no Java for local Spark; {_BOTH_WAYS}")
    # Without it the workers are whatever `python3` is on the path.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    cores = os.cpu_count() or 1
    memory = max(1, int(_machine_memory() * MEMORY_SHARE / 2**30))
    builder = (
        SparkSession.builder.master(f"local[{cores}]")
        .appName("ndcg-spark")
        # What fails is told by our own message; Spark would print each task's stack trace before it.
        .config("spark.log.level", "OFF")
        .config(CALL_SITES, "false")
        # Spark's generated methods are long, and Java leaves long ones uncompiled: a quarter of an evaluation's time.
        .config("spark.driver.defaultJavaOptions", "-XX:-DontCompileHugeMethods")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.memory", f"{memory}g")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.sql.shuffle.partitions", str(4 * cores))
    )
    return _classic(_created(builder, "local Spark"))


def _submitted(choice: str) -> Engine:
    if choice == "embedded":
        raise EngineError("engine: spark-submit brings its own Spark, not the embedded one; leave --engine out")
    return _classic(
        _created(SparkSession.builder.appName("ndcg-spark").config(CALL_SITES, "false"), "spark-submit's Spark")
    )


def _connect(remote: str) -> Engine:
    if remote.startswith("local"):
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    else:
        _knock(remote)
    return _connected(_created(SparkSession.builder.remote(remote), remote), remote)


def _knock(remote: str) -> None:
    """EngineError at once where nothing answers: the client itself would try again for ten minutes."""
    try:
        address = urllib.parse.urlsplit(remote)
        host, port = address.hostname or "", address.port or CONNECT_PORT
        with socket.create_connection((host, port), timeout=ANSWER_SECONDS):
            pass
    except (OSError, ValueError) as error:
        raise EngineError(f"engine: nothing answers at {_without_token(remote)}, {error}; check the address") from error


def _created(builder: SparkSession.Builder, what: str) -> SparkSession:
    try:
        return builder.getOrCreate()
    except Exception as error:  # whatever a JVM or a gRPC channel says while it starts
        raise EngineError(
            f"engine: {what} does not start, {first_line(error)}; check its address, Java and logs"
        ) from error


def _is_classic(session: SparkSession) -> bool:
    return type(session).__module__ == "pyspark.sql.session"


def _classic(session: SparkSession) -> Engine:
    master = session.conf.get("spark.master", "") or ""
    files = session.conf.get("spark.hadoop.fs.defaultFS", "file:///") or ""
    _keep_partition_names(session)
    sees = master.startswith("local") and files.startswith("file:") and "HADOOP_CONF_DIR" not in os.environ
    return Engine(session, "spark", f"Spark {session.version} ({master})", sees)


def _connected(session: SparkSession, remote: str) -> Engine:
    _keep_partition_names(session)
    name = f"Spark {session.version} ({_without_token(remote)})"
    return Engine(session, "connect", name, remote.startswith("local"))


def _without_token(remote: str) -> str:
    return re.sub(r"(token=)[^;]*", r"\1...", remote)


def _keep_partition_names(session: SparkSession) -> None:
    """A folder run=007 is the run 007, not the number 7."""
    session.conf.set("spark.sql.sources.partitionColumnTypeInference.enabled", "false")


def _machine_memory() -> int:
    """Bytes of memory this process may use: the machine's, or its control group's limit where that is less."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    for limit in ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"):
        with contextlib.suppress(OSError, ValueError):
            total = min(total, int(Path(limit).read_text(encoding="ascii")))
    return total


def _quietly(stop: object) -> None:
    """Stop without a word: the evaluation has ended, well or with its own error."""
    with contextlib.suppress(Exception):
        stop()  # type: ignore[operator]  # SparkSession.stop


def failures() -> tuple[type[Exception], ...]:
    """The exceptions by which an engine says that it failed, for an except clause."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    kinds: tuple[type[Exception], ...] = (PySparkException, Py4JError)
    if importlib.util.find_spec("grpc"):
        from grpc import RpcError

        kinds += (RpcError,)
    return kinds
