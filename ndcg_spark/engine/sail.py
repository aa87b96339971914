"""Sail, the engine without Java: in this process (pysail), or on a server, whose address looks like that of Spark."""

import contextlib
import functools
import importlib.metadata
import os
import tempfile
import uuid
from pathlib import Path

from pyspark.sql import SparkSession

from ndcg_spark.engine import patience, port_guard
from ndcg_spark.engine.failing import failures, reason_of
from ndcg_spark.engine.opened import BOTH_WAYS, CALL_SITES, MEMORY_SHARE, Engine, created, machine_memory, quietly
from ndcg_spark.errors import EngineError, first_line

#: Fewer partitions than this were slower even on 2 cores (1.97 s against 2.42 s).
LEAST_PARTITIONS = 16


def embedded() -> Engine:
    """Sail in this process, behind a guarded port on loopback; EngineError without pysail or without a guard."""
    pool = str(int(machine_memory() * MEMORY_SHARE))
    for name, value in {
        "RUST_LOG": "off",
        "SAIL_RUNTIME__MEMORY_POOL__TYPE": "fair",
        "SAIL_RUNTIME__MEMORY_POOL__FAIR__MAX_SIZE": pool,
        "SAIL_EXECUTION__DEFAULT_PARALLELISM": str(max(LEAST_PARTITIONS, 4 * (os.cpu_count() or 1))),
        # gRPC takes no_proxy only where this is not set; a proxy for web pages cannot reach the engine.
        "no_grpc_proxy": f"127.0.0.1,{os.environ.get('no_proxy', '')}",
    }.items():
        os.environ.setdefault(name, value)
    try:
        # The client has packages of its own, which pysail does not require.
        import pyspark.sql.connect.session  # noqa: F401
        from pysail.spark import SparkConnectServer
    except ImportError as error:
        raise EngineError(f"engine: the embedded engine is not installed, {error}; {BOTH_WAYS}") from error
    with contextlib.ExitStack() as ending:
        try:
            server = SparkConnectServer("127.0.0.1", 0)
            admitted = port_guard.start(server)
        except EngineError:
            raise
        except Exception as error:  # it raises many kinds, above all for its settings in the environment
            raise EngineError(
                f"engine: the embedded engine does not start, {first_line(error)}; check the variables SAIL_*"
            ) from error
        ending.callback(quietly(server.stop))
        _, port = server.listening_address
        session = created(SparkSession.builder.remote(f"sc://127.0.0.1:{port}"), "the embedded engine's session")
        ending.callback(quietly(session.stop))
        patience.bound(session, "own")
        try:
            session.conf.set(CALL_SITES, "false")
        except failures() as error:
            raise EngineError(
                f"engine: the embedded engine does not answer, {reason_of(error)}; check the limit of open files "
                "(ulimit -n), or use --engine spark"
            ) from error
        if not admitted.is_set():
            raise EngineError("engine: the embedded engine accepts connections past its guard; use --engine spark")
        name = f"embedded (pysail {importlib.metadata.version('pysail')})"
        return Engine(session, "embedded", name, True, close=ending.pop_all().close, abort=session.interruptAll)


@functools.lru_cache(maxsize=8)
def is_sail(session: SparkSession) -> bool:
    """Whether a session runs on Sail. A Spark Connect session is only asked once."""
    return type(session).__module__ != "pyspark.sql.session" and version_of(session) is not None


def version_of(session: SparkSession) -> str | None:
    """The version of Sail that a session on a server runs on; None if the server is Spark."""
    try:
        found = session.sql("SELECT version()").first()
    except failures():
        return None
    version = str(found[0]) if found else ""
    # Spark's version() ends with the revision it was built from. To everything else that can be asked, Sail answers as
    # Spark does.
    return version if version and " " not in version and version != session.version else None


def on_a_server(session: SparkSession, version: str, place: str) -> Engine:
    """A server of Sail that reads the files of this machine.

    Raises
    ------
    EngineError
        It reads other files than this process sees, and what Sail tells of their names is ambiguous.
    """
    if not _reads_our_files(session):
        raise EngineError(
            f"engine: Sail {version} ({place}) does not read the files of this machine; run ndcg-spark where the "
            "server is, with the embedded engine, or on a Spark Connect server of Spark"
        )
    return Engine(session, "embedded", f"Sail {version} ({place})", True)


def _reads_our_files(session: SparkSession) -> bool:
    secret = uuid.uuid4().hex
    with tempfile.TemporaryDirectory(prefix="ndcg-spark-") as folder:
        # A server that runs as another user must be able to read it; its content is of no use to anybody.
        Path(folder).chmod(0o755)
        path = Path(folder, "seen.txt")
        path.write_text(secret, encoding="ascii")
        try:
            return [row["value"] for row in session.read.text(str(path)).collect()] == [secret]
        except failures():
            return False
