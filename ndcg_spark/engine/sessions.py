"""Spark sessions (the running one, local Spark, spark-submit, or one on a server) and their
failures.
"""

import contextlib
import dataclasses
import functools
import importlib
import math
import os
import shutil
import sys
import uuid
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path, PurePath
from typing import Any, Literal
from xml.etree import ElementTree

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from ndcg_spark.errors import (
    INSTALL_ADVICE,
    EngineError,
    InstallationError,
    engine_imports,
    first_line,
    installed_spark,
    refuse_old_spark,
)
from ndcg_spark.scratch import Scratch
from ndcg_spark.text import masked
from ndcg_spark.voices import Give

# Importing an engine fails at once with a clear message, not with a name that Spark 3 lacks.
refuse_old_spark(installed_spark())

#: The dialect of paths, formats and plans: Sail's, classic Spark's, or a Spark Connect server's.
Kind = Literal["embedded", "spark", "connect"]

#: The share of the machine's memory that an engine may use before it spills; the rest is for Python
#: and others.
MEMORY_SHARE = 0.6
#: Seconds until a server must have answered its first request. Without this limit, it takes more
#: than ten minutes.
ANSWER_SECONDS = 30.0
CONTROL_GROUPS = Path("/sys/fs/cgroup")
OWN_GROUPS = Path("/proc/self/cgroup")

#: Whether every Column records the line of code that created it, which takes a quarter of a small
#: evaluation's time. A server does not allow changing it.
CALL_SITES = "spark.python.sql.dataFrameDebugging.enabled"
#: By default Java does not compile long methods, which Spark generates: that took a quarter of an
#: evaluation's time.
_LONG_METHODS = "-XX:-DontCompileHugeMethods"
#: The gRPC status codes of an address without a server, with a different kind of server, or with a
#: server that refuses us.
_NO_ANSWER = (
    "UNAVAILABLE",
    "DEADLINE_EXCEEDED",
    "UNIMPLEMENTED",
    "UNKNOWN",
    "UNAUTHENTICATED",
    "PERMISSION_DENIED",
)
#: What gRPC reports in this process for an answer that it cannot decode; it has no code of its own.
_UNREADABLE = "Exception deserializing response!"
#: The channels of `require_server` are never closed: closing one can deadlock gRPC, which then
#: holds Python's lock, so that not even a signal ends the process.
_CHANNELS: list[object] = []


@dataclasses.dataclass(frozen=True)
class Engine:
    session: SparkSession
    kind: Kind
    #: Its name and version as printed and recorded, without secrets: 'embedded (pysail 0.7.2)'.
    name: str
    #: Whether it can read the files that this process sees.
    sees_local_files: bool
    #: The prefix of a path without a scheme, such as hdfs://host:port; empty for a machine's files.
    default_storage: str = ""
    #: Stops everything that was started for it. A second call does nothing.
    close: Callable[[], None] = lambda: None
    #: Temporary folders that it reads from.
    scratch: Scratch = dataclasses.field(default_factory=Scratch, compare=False, repr=False)
    #: Whether the values in folder names are kept as text (run=007 is the run 007) and not as
    #: numbers.
    has_text_folders: bool = True
    #: Options for every Parquet read.
    read_options: Mapping[str, str] = dataclasses.field(default_factory=dict)

    @property
    def for_lookups(self) -> "Engine":
        """The same engine, reading Parquet in the way that is fastest if a filter leaves few rows.

        Sail decodes the other columns only of these rows. That took half the time for 60 of 96,000
        queries, and a fifth longer for an evaluation. Spark ignores the option.
        """
        return dataclasses.replace(self, read_options={"pushdown_filters": "true"})

    def addressed(self, path: str) -> str:
        if self.default_storage and path.startswith("/"):
            return f"{self.default_storage}{path}"
        return path


def running_session() -> SparkSession | None:
    """The active session of this thread, otherwise the default session of the process, or None if
    there is neither.
    """
    try:
        return SparkSession.active()
    except PySparkException:
        return None


def wrap_session(session: SparkSession, address: str = "running session") -> Engine:
    """The engine of a session, which `close` leaves running."""
    sail = sail_version(session)
    if sail:
        name = f"Sail {sail} ({masked(address)})"
        return Engine(session, "embedded", name, sees_local_files=True)
    require_new_spark(session)
    has_text_folders = configure(session)
    if not is_classic(session):
        return Engine(
            session,
            "connect",
            f"Spark {session.version} ({masked(address)})",
            sees_local_files=False,
            has_text_folders=has_text_folders,
        )
    master = session.conf.get("spark.master", "") or ""
    files = session.conf.get("spark.hadoop.fs.defaultFS", "") or _default_storage()
    # Storage without a host, such as dbfs:///, is also visible to this process, as in /Volumes.
    storage = files.rstrip("/") if "://" in files.rstrip("/") else ""
    is_near = master.startswith("local") and files.startswith("file:")
    return Engine(
        session,
        "spark",
        f"Spark {session.version} ({master})",
        sees_local_files=is_near,
        default_storage=storage,
        has_text_folders=has_text_folders,
    )


def is_classic(session: SparkSession) -> bool:
    """Whether a session has its own JVM, rather than being a client of a server."""
    return type(session).__module__ == "pyspark.sql.session"


@functools.lru_cache(maxsize=8)
def sail_version(session: SparkSession) -> str | None:
    """The version of Sail that a session runs on, or None on Spark. The first time, a session on a
    server runs a query.
    """
    try:
        row = None if is_classic(session) else session.sql("SELECT version()").first()
    except failures():
        return None
    version = str(row[0]) if row else ""
    # Spark's version() ends with the revision it was built from. Everything else is the same on
    # both.
    return version if version and " " not in version and version != session.version else None


def is_client_alone() -> bool:
    """Whether pyspark is only the client: pyspark-client, which contains no Spark."""
    # Spark 3 has no such function and no such package.
    from pyspark.util import is_remote_only

    return is_remote_only()


@functools.lru_cache(maxsize=8)
def require_new_spark(session: SparkSession) -> None:
    """Raise InstallationError for a session of an unsupported Spark. Asks a server once."""
    refuse_old_spark(session.version)


def start_local() -> Engine:
    """Local Spark on every core that this process may use. Raises InstallationError without Java,
    or if only the client is installed.
    """
    has_java = (
        shutil.which("java") or Path(os.environ.get("JAVA_HOME", "")).joinpath("bin/java").is_file()
    )
    if is_client_alone() or not has_java:
        what = "Spark, only its client" if has_java else "Java for local Spark"
        raise InstallationError(f"engine: there is no {what}; {INSTALL_ADVICE}")
    # Without it, Spark's workers run whichever `python3` is first on the path.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    cores = usable_cores()
    settings = {
        "spark.master": f"local[{cores}]",
        # Spark would print the stack trace of each failed task before our own message.
        "spark.log.level": "OFF",
        CALL_SITES: "false",
        "spark.driver.defaultJavaOptions": _LONG_METHODS,
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.memory": f"{max(1, int(machine_memory() * MEMORY_SHARE / 2**30))}g",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        # Every user of the machine can reach the ports of the JVM, so connections must present a
        # secret.
        "spark.authenticate": "true",
        "spark.sql.shuffle.partitions": str(4 * cores),
        # Judgments are joined without sorting if each partition is this small, so that it fits into
        # memory.
        "spark.sql.adaptive.maxShuffledHashJoinLocalMapThreshold": "64m",
    }
    return start_classic(settings, "local Spark")


def start_classic(settings: dict[str, Any], what: str) -> Engine:
    session = start_session(SparkSession.builder.appName("ndcg-spark").config(map=settings), what)
    return dataclasses.replace(
        wrap_session(session), close=functools.partial(quietly, session.stop)
    )


def connect(url: str) -> Engine:
    """A session on the Spark Connect server at this address, which `close` ends.

    Raises EngineError if no server answers, or if it is a Sail server.
    """
    require_server(url)
    session = start_session(SparkSession.builder.remote(url), url)
    # Gives up after about 40 seconds, because a user's server may come back.
    limit_retries(session, 8, 10_000)
    engine = dataclasses.replace(
        wrap_session(session, url), close=functools.partial(quietly, session.stop)
    )
    if engine.kind == "embedded":
        # Sail is given paths of this machine, also of temporary folders, which a server on another
        # machine does not have.
        engine.close()
        what = f"engine: {engine.name} is a Sail server"
        raise EngineError(what, Give("engine", "embedded", words="use", then="on that machine"))
    return engine


def require_server(url: str) -> None:
    # gRPC would print its own message before ours.
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    with engine_imports():
        import grpc
        from pyspark.sql.connect import proto
        from pyspark.sql.connect.client import DefaultChannelBuilder

    try:
        address = DefaultChannelBuilder(url)
        _CHANNELS.append(address.toChannel())
        # Releasing a session that never began is the only request that leaves nothing on the
        # server.
        request = proto.ReleaseSessionRequest(session_id=str(uuid.uuid4()))
        request.user_context.user_id = address.userId or ""
        # The generated class has no types.
        stub = proto.SparkConnectServiceStub(_CHANNELS[-1])  # type: ignore[no-untyped-call]
        stub.ReleaseSession(request, timeout=ANSWER_SECONDS, metadata=address.metadata())
    except (PySparkException, ValueError, grpc.RpcError) as error:
        # Any other code comes from a Spark Connect server; opening the session will show what is
        # wrong.
        if not isinstance(error, grpc.RpcError) or error.code().name in _NO_ANSWER:
            if _status(error) == "UNIMPLEMENTED":
                # Spark 3 servers do not know the request.
                refuse_old_spark(_server_version(address))
            raise EngineError(
                f"engine: no Spark Connect server answers at {masked(url)}, "
                f"{masked(failure_reason(error))}; "
                "check the address, sc://host:port, and its parameters "
                "(with use_ssl or a token, the server must encrypt)"
            ) from error


def _server_version(address: Any) -> str:
    """The Spark version that the server of a DefaultChannelBuilder reports, or "" if it reports
    none.

    `require_server` has opened a channel to it.
    """
    import grpc
    from pyspark.sql.connect import proto

    request = proto.AnalyzePlanRequest(session_id=str(uuid.uuid4()))
    request.user_context.user_id = address.userId or ""
    request.spark_version.SetInParent()
    stub: Any = proto.SparkConnectServiceStub
    service = stub(_CHANNELS[-1])
    try:
        answer = service.AnalyzePlan(request, timeout=ANSWER_SECONDS, metadata=address.metadata())
    except grpc.RpcError:
        return ""
    return str(answer.spark_version.version)


def limit_retries(session: Any, retries: int, longest_pause: int) -> None:
    from pyspark.sql.connect.client.retries import DefaultPolicy

    # The class is Any in versions of pyspark without types.
    class Policy(DefaultPolicy):  # type: ignore[misc,unused-ignore]
        def can_retry(self, e: BaseException) -> bool:
            # Very rarely, an answer from Sail cannot be decoded, but the next answer to the same
            # request can.
            has_status = _status(e) == "INTERNAL"
            # Only an error of gRPC has a status, and it has details.
            is_unreadable = has_status and e.details() == _UNREADABLE  # type: ignore[attr-defined]
            return bool(super().can_retry(e) or is_unreadable)

    # The session is Any: before Spark 4.2, the type of its `client` is wrong.
    session.client.set_retry_policies([Policy(max_retries=retries, max_backoff=longest_pause)])


def start_session(builder: SparkSession.Builder, what: str) -> SparkSession:
    try:
        return builder.getOrCreate()
    except Exception as error:  # a JVM and a gRPC channel raise many kinds while they start
        raise EngineError(
            f"engine: {masked(what)} does not start, {masked(first_line(error))}; "
            "check its address, Java and logs"
        ) from error


def configure(session: SparkSession) -> bool:
    """Change the settings that the session allows. Return whether values of folders are kept as
    text.

    Databricks' serverless compute refuses nearly all of them.
    """
    # Join without a shuffle if all rows of a query are already in one partition.
    _is_set(session, "spark.sql.requireAllClusterKeysForCoPartition")
    # The folder run=007 is the run 007, not the number 7.
    return _is_set(session, "spark.sql.sources.partitionColumnTypeInference.enabled")


def _is_set(session: SparkSession, name: str) -> bool:
    """Set a setting to false; returns whether it is false from now on."""
    try:
        session.conf.set(name, "false")
    except failures():
        return False
    return True


def keep_rows(table: DataFrame, scratch: Scratch) -> DataFrame:
    """The table, computed once if the engine can keep it. Serverless compute cannot, and computes
    it at each use.
    """
    with contextlib.suppress(*failures()):
        table = table.persist()
        scratch.call_at_end(table.unpersist)
    return table


@contextlib.contextmanager
def kept_in_block(table: DataFrame) -> Iterator[DataFrame]:
    """Yield the table, computed once within the block if the engine can keep it."""
    with contextlib.suppress(*failures()):
        table = table.persist()
    try:
        yield table
    finally:
        with contextlib.suppress(*failures()):
            table.unpersist()


def _default_storage() -> str:
    site = Path(os.environ.get("HADOOP_CONF_DIR", "/nowhere"), "core-site.xml")
    if not site.is_file():
        return "file:///"
    # The file is the administrator's own.
    properties = ElementTree.parse(site).iter("property")  # noqa: S314
    values = {
        entry.findtext("name", "").strip(): entry.findtext("value", "").strip()
        for entry in properties
    }
    return values.get("fs.defaultFS") or values.get("fs.default.name") or "file:///"


def machine_memory() -> int:
    """The memory that this process may use, in bytes: the machine's, or the limit of its control
    groups if that is lower.
    """
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    limits = [total]
    for group in _groups():
        limits += _numbers(CONTROL_GROUPS / group / "memory.max")
        # In the first version of control groups, each resource has a tree of its own.
        limits += _numbers(CONTROL_GROUPS / "memory" / group / "memory.limit_in_bytes")
    return min(limits)


def usable_cores() -> int:
    """The processor cores that this process may use: its affinity, or the quota of its control
    groups if that is lower.
    """
    cores = (
        len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    )
    limits = [cores]
    for group in _groups():
        old = CONTROL_GROUPS / "cpu" / group
        for quota in (
            _numbers(CONTROL_GROUPS / group / "cpu.max"),
            _numbers(old / "cpu.cfs_quota_us") + _numbers(old / "cpu.cfs_period_us"),
        ):
            # Without a limit, the first is the word max, or -1.
            if len(quota) == 2 and min(quota) > 0:
                limits.append(math.ceil(quota[0] / quota[1]))
    return min(limits)


def _groups() -> set[PurePath]:
    """Every control group that limits this process, below the folder of all; a container is its
    own root.
    """
    groups = {PurePath()}
    with contextlib.suppress(OSError):
        for line in OWN_GROUPS.read_text("utf-8").splitlines():
            group = PurePath(line.split(":", 2)[2]).relative_to("/")
            groups |= {group, *group.parents}
    return groups


def _numbers(file: Path) -> list[int]:
    """The numbers in a file of a control group; none if there is no file, or no limit."""
    with contextlib.suppress(OSError, ValueError):
        return [int(word) for word in file.read_text("ascii").split()]
    return []


def quietly(stop: Callable[[], object]) -> None:
    """Stop something without further errors, because the evaluation already has its result or its
    error.
    """
    with contextlib.suppress(Exception):
        stop()


def failures() -> tuple[type[Exception], ...]:
    """The exceptions that an engine raises when it fails, for an except clause."""
    from pyspark.errors import PySparkException

    # After the JVM has died, py4j raises errors of the operating system when it opens another
    # connection.
    kinds: tuple[type[Exception], ...] = (
        PySparkException,
        ConnectionRefusedError,
        ConnectionResetError,
    )
    # The Spark Connect client comes without py4j (pyspark-client), and classic Spark without
    # gRPC.
    for module, name in (("py4j.protocol", "Py4JError"), ("grpc", "RpcError")):
        with contextlib.suppress(ImportError):
            kinds += (getattr(importlib.import_module(module), name),)
    return kinds


def lost(error: BaseException) -> bool:
    """Whether an error means that the engine itself is gone, whatever it was doing."""
    return any(map(_is_loss, _chain(error)))


def _is_loss(error: BaseException) -> bool:
    if isinstance(error, ConnectionRefusedError | ConnectionResetError):
        return True
    if _status(error) == "UNAVAILABLE":
        return True
    # py4j got no answer; an exception in Java is a Py4JJavaError.
    kinds = _kinds(error)
    return "Py4JError" in kinds and "Py4JJavaError" not in kinds


def failure_reason(error: BaseException) -> str:
    # A failed gRPC call prints many lines, which pyspark wraps; only `details` is the server's
    # message.
    reason = first_line(error)
    for failure in _chain(error):
        # Only an error of gRPC has a status, and it has details.
        details = failure.details() if _status(failure) else None  # type: ignore[attr-defined]
        if details and details.strip():
            reason = first_line(Exception(details))
            break
    return reason.rstrip(".")


def _chain(error: BaseException) -> Iterator[BaseException]:
    link: BaseException | None = error
    seen: set[int] = set()
    # An error may be its own cause.
    while link is not None and id(link) not in seen:
        seen.add(id(link))
        yield link
        link = link.__cause__ or link.__context__


def _kinds(error: BaseException) -> set[str]:
    return {kind.__name__ for kind in type(error).__mro__}


def _status(error: BaseException) -> str:
    """The name of the status of an answer of gRPC, such as UNAVAILABLE; empty for other errors."""
    if not {"RpcError", "Call"} <= _kinds(error):
        return ""
    return str(error.code().name)  # type: ignore[attr-defined]  # an RpcError that is a Call
