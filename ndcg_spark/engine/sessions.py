"""The one place where a session is made: embedded, local Spark, the session of spark-submit, or Spark Connect."""

import contextlib
import dataclasses
import functools
import importlib.metadata
import importlib.util
import itertools
import math
import os
import shutil
import signal
import sys
import threading
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path, PurePath
from typing import Any, Literal
from xml.etree import ElementTree

from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.util import is_remote_only

from ndcg_spark.engine import port_guard
from ndcg_spark.engine.failures import failure_reason, failures, lost
from ndcg_spark.errors import (
    INSTALL_ADVICE,
    EngineError,
    InstallationError,
    engine_imports,
    first_line,
    refuse_mixed_sparks,
)
from ndcg_spark.scratch import Scratch
from ndcg_spark.text import masked

#: The dialect of paths, formats and plans: Sail's, classic Spark's, or a Spark Connect server's.
Kind = Literal["embedded", "spark", "connect"]

#: The share of the machine's memory that an engine may use before it spills; the rest is for Python and others.
MEMORY_SHARE = 0.6
#: Fewer partitions than this were slower on Sail even on 2 cores (1.97 s against 2.42 s).
MIN_PARTITIONS = 16
#: Seconds until a server must have answered its first request; without this limit, more than ten minutes.
ANSWER_SECONDS = 30.0
CONTROL_GROUPS = Path("/sys/fs/cgroup")
OWN_GROUPS = Path("/proc/self/cgroup")

#: Whether every Column records the line of code that made it, which takes a quarter of a small evaluation's time.
#: A server refuses to change it.
_CALL_SITES = "spark.python.sql.dataFrameDebugging.enabled"
#: Java does not compile long methods, as Spark generates them: that took a quarter of an evaluation's time.
_LONG_METHODS = "-XX:-DontCompileHugeMethods"
_CONNECT_MODE = "SPARK_CONNECT_MODE_ENABLED"
#: The gRPC status codes of an address without a server, with a server of another kind, or with one that refuses us.
_NO_ANSWER = ("UNAVAILABLE", "DEADLINE_EXCEEDED", "UNIMPLEMENTED", "UNKNOWN", "UNAUTHENTICATED", "PERMISSION_DENIED")
#: The channels of `require_server` are never closed: closing one can deadlock gRPC, which then holds Python's lock, so
#: that not even a signal ends the process.
_CHANNELS: list[object] = []


@dataclasses.dataclass(frozen=True)
class Engine:
    """A session, and what depends on its engine."""

    session: SparkSession
    kind: Kind
    #: Its name and version as they are printed and recorded, without secrets: 'embedded (pysail 0.7.2)'.
    name: str
    #: Whether it reads the files that this process sees.
    sees_local_files: bool
    #: What it puts before a path without a scheme, such as hdfs://host:port; empty for the files of a machine.
    default_storage: str = ""
    #: Stops everything that was started for it; a second call does nothing.
    close: Callable[[], None] = lambda: None
    #: Temporary folders that it reads from.
    scratch: Scratch = dataclasses.field(default_factory=Scratch, compare=False, repr=False)

    def addressed(self, path: str) -> str:
        """The path with the engine's default storage, if it names none."""
        return f"{self.default_storage}{path}" if self.default_storage and path.startswith("/") else path


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


def wrap_session(session: SparkSession, address: str = "running session") -> Engine:
    """The engine of a session, which `close` leaves running."""
    sail = None if is_classic(session) else sail_version(session)
    if sail is not None:
        return Engine(session, "embedded", f"Sail {sail} ({masked(address)})", True)
    configure(session)
    if not is_classic(session):
        return Engine(session, "connect", f"Spark {session.version} ({masked(address)})", sees_local_files=False)
    master = session.conf.get("spark.master", "") or ""
    files = session.conf.get("spark.hadoop.fs.defaultFS", "") or _default_storage()
    # Storage without a host, such as dbfs:///, is where this process sees it too, as in /Volumes.
    storage = files.rstrip("/") if "://" in files.rstrip("/") else ""
    is_near = master.startswith("local") and files.startswith("file:")
    return Engine(session, "spark", f"Spark {session.version} ({master})", is_near, storage)


def is_classic(session: SparkSession) -> bool:
    """Whether a session has its own JVM, rather than being a client of a server."""
    return type(session).__module__ == "pyspark.sql.session"


@functools.lru_cache(maxsize=8)
def is_sail(session: SparkSession) -> bool:
    """Whether a session runs on Sail. A Spark Connect session runs one query for this, the first time."""
    return not is_classic(session) and sail_version(session) is not None


def sail_version(session: SparkSession) -> str | None:
    """The version of Sail that a session on a server runs on; None if the server is Spark."""
    try:
        row = session.sql("SELECT version()").first()
    except failures():
        return None
    version = str(row[0]) if row else ""
    # The version() of Spark ends with the revision it was built from. Everything else is the same on both.
    return version if version and " " not in version and version != session.version else None


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
        except BaseException as error:  # many kinds, for its settings in the environment; a panic is no Exception
            is_panic = type(error).__name__ == "PanicException"
            if isinstance(error, EngineError) or not (is_panic or isinstance(error, Exception)):
                raise
            raise EngineError(
                f"engine: the embedded engine does not start, {first_line(error)}; check the variables SAIL_*, and the "
                "limits of memory and threads"
            ) from error
        stack.callback(_suppressing(server.stop))
        _, port = server.listening_address
        session = start_session(SparkSession.builder.remote(f"sc://127.0.0.1:{port}"), "the embedded engine's session")
        stack.callback(_suppressing(session.stop))
        # After about a second.
        _limit_retries(session, 3, 1_000)
        try:
            session.conf.set(_CALL_SITES, "false")
        except failures() as error:
            raise EngineError(
                f"engine: the embedded engine does not answer, {failure_reason(error)}; check the limit of open files "
                "(ulimit -n) and that this pysail supports this pyspark, or use --engine spark"
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


def start_local() -> Engine:
    """Local Spark on every core that this process may use; InstallationError without Java."""
    if not (shutil.which("java") or Path(os.environ.get("JAVA_HOME", "")).joinpath("bin/java").is_file()):
        raise InstallationError(f"engine: there is no Java for local Spark; {INSTALL_ADVICE}")
    # Without it, Spark's workers run whichever `python3` is first on the path.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    cores = usable_cores()
    settings = {
        "spark.master": f"local[{cores}]",
        # Spark would print the stack trace of each failed task before our own message.
        "spark.log.level": "OFF",
        _CALL_SITES: "false",
        "spark.driver.defaultJavaOptions": _LONG_METHODS,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": f"{max(1, int(machine_memory() * MEMORY_SHARE / 2**30))}g",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        # Every user of the machine can reach the ports of the JVM, so connections must present a secret.
        "spark.authenticate": "true",
        "spark.sql.shuffle.partitions": str(4 * cores),
        # Judgments are joined without sorting them where each partition is this small, so that it fits into memory.
        "spark.sql.adaptive.maxShuffledHashJoinLocalMapThreshold": "64m",
    }
    return _start_classic(settings, "local Spark")


def _start_classic(settings: dict[str, str], what: str) -> Engine:
    """A session of Spark in a JVM of its own."""
    if is_remote_only():
        raise InstallationError(
            "engine: pyspark-client has no Spark of its own; use --engine embedded, or pip uninstall pyspark-client, "
            "then pip install 'ndcg-spark[spark]' where the platform has no Spark"
        )
    builder = SparkSession.builder.appName("ndcg-spark")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = start_session(builder, what)
    return dataclasses.replace(wrap_session(session), close=_suppressing(session.stop))


def submitted(choice: str) -> Engine:
    """The session of spark-submit; EngineError if the embedded engine was chosen."""
    if choice == "embedded":
        raise EngineError("engine: spark-submit brings its own Spark, not the embedded one; leave --engine out")
    return _start_classic({_CALL_SITES: "false"}, "the session of spark-submit")


def connect(url: str) -> Engine:
    """A session on the server at this address, `sc://host:port/;name=value`."""
    require_server(url)
    session = start_session(SparkSession.builder.remote(url), url)
    # After about 40 seconds, as another's server may come back.
    _limit_retries(session, 8, 10_000)
    with contextlib.ExitStack() as stack:
        stack.callback(_suppressing(session.stop))
        engine = wrap_session(session, url)
        if engine.kind == "embedded":
            raise EngineError(f"engine: {engine.name} is a server of Sail; use --engine embedded on that machine")
        return dataclasses.replace(engine, close=stack.pop_all().close)


def require_server(url: str) -> None:
    """Return once a Spark Connect server has answered at this address; EngineError if none does in ANSWER_SECONDS."""
    # gRPC would print its own message before ours.
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    with engine_imports():
        import grpc
        from pyspark.sql.connect import proto
        from pyspark.sql.connect.client import DefaultChannelBuilder

    try:
        address = DefaultChannelBuilder(url)
        channel = address.toChannel()
    except (PySparkException, ValueError) as error:
        raise EngineError(
            f"engine: {masked(url)} is not the address of a Spark Connect server, {masked(first_line(error))}; "
            "write sc://host:port"
        ) from error
    _CHANNELS.append(channel)
    # Releasing a session that never began is the only request that leaves nothing behind on the server.
    request = proto.ReleaseSessionRequest(session_id=str(uuid.uuid4()))
    request.user_context.user_id = address.userId or ""
    try:
        proto.SparkConnectServiceStub(channel).ReleaseSession(  # type: ignore[no-untyped-call]  # generated
            request, timeout=ANSWER_SECONDS, metadata=address.metadata()
        )
    except grpc.RpcError as error:
        # Any other code comes from a Spark Connect server; opening the session will show what is wrong.
        if error.code().name in _NO_ANSWER:
            encrypted = " (encrypted, as use_ssl or a token demands)" if address.secure else ""
            raise EngineError(
                f"engine: no Spark Connect server answers at {masked(url)}{encrypted}, "
                f"{masked(failure_reason(error))}; check the address and its parameters"
            ) from error


def _limit_retries(session: Any, retries: int, longest_pause: int) -> None:
    """Let a session give up on its server after so many retries, with pauses of at most so many milliseconds."""
    from pyspark.sql.connect.client.retries import DefaultPolicy

    # The session is Any: before Spark 4.2 the type of its `client` is wrong.
    session.client.set_retry_policies([DefaultPolicy(max_retries=retries, max_backoff=longest_pause)])


def start_session(builder: SparkSession.Builder, what: str) -> SparkSession:
    """The builder's session; EngineError if it does not start."""
    try:
        return builder.getOrCreate()
    except Exception as error:  # a JVM and a gRPC channel raise many kinds while they start
        raise EngineError(
            f"engine: {masked(what)} does not start, {masked(first_line(error))}; check its address, Java and logs"
        ) from error


def configure(session: SparkSession) -> None:
    """Set what reading and joining rely on; EngineError where that is not allowed."""
    name = "spark.sql.sources.partitionColumnTypeInference.enabled"
    try:
        # The folder run=007 is the run 007, not the number 7.
        session.conf.set(name, "false")
    except failures() as error:
        raise EngineError(
            f"engine: {name} cannot be set, {failure_reason(error)}; serverless compute is not supported"
        ) from error
    # Join without a shuffle where all rows of a query are in one partition already, if the session lets us say so.
    with contextlib.suppress(*failures()):
        session.conf.set("spark.sql.requireAllClusterKeysForCoPartition", "false")


def _default_storage() -> str:
    """The storage of paths without a scheme in the configuration of Hadoop."""
    site = Path(os.environ.get("HADOOP_CONF_DIR", "/nowhere"), "core-site.xml")
    if not site.is_file():
        return "file:///"
    properties = ElementTree.parse(site).iter("property")  # noqa: S314  # the administrator's own file
    values = {entry.findtext("name", "").strip(): entry.findtext("value", "").strip() for entry in properties}
    return values.get("fs.defaultFS") or values.get("fs.default.name") or "file:///"


def machine_memory() -> int:
    """The memory that this process may use, in bytes: the machine's, or the limit of its control groups if lower."""
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    limits = (*_limits("memory", "memory.max"), *_limits("memory", "memory.limit_in_bytes"))
    return min([total, *(limit for (limit,) in limits)])


def usable_cores() -> int:
    """The processor cores that this process may use: its affinity, or the quota of its control groups if lower."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quotas = (*_limits("cpu", "cpu.max"), *_limits("cpu", "cpu.cfs_quota_us", "cpu.cfs_period_us"))
    return min([cores, *(math.ceil(quota / period) for quota, period in quotas if quota > 0)])


def _limits(controller: str, *names: str) -> Iterator[list[int]]:
    """The numbers in these files of every control group, of version 2 or 1, that limits this process.

    In a container, the groups of the machine may not be there, and its own group is the root.
    """
    groups = {PurePath("/")}
    with contextlib.suppress(OSError):
        for line in OWN_GROUPS.read_text("utf-8").splitlines():
            _, controllers, group = line.split(":", 2)
            if {"", controller} & set(controllers.split(",")):
                groups |= {PurePath(group), *PurePath(group).parents}
    for root, path in itertools.product((CONTROL_GROUPS, CONTROL_GROUPS / controller), groups):
        folder = root / path.relative_to("/")
        # Without a limit there is no file, or the word max; a quota is -1.
        with contextlib.suppress(OSError, ValueError):
            yield [*map(int, " ".join((folder / name).read_text("ascii") for name in names).split())]


def _suppressing(function: Callable[[], object]) -> Callable[[], None]:
    """The function without its exceptions, for the end, when an evaluation already has its result or its error."""

    def call() -> None:
        with contextlib.suppress(Exception):
            function()

    return call
