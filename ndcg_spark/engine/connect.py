"""Spark Connect: a session on a server of Spark, or of the embedded engine of this process."""

import dataclasses
import functools
import os
import sys
import uuid
from typing import Any

from pyspark.sql import SparkSession

from ndcg_spark.engine import classic
from ndcg_spark.engine.engine import Engine, join_in_place, keep_partition_names, start_session, suppressing
from ndcg_spark.engine.errors import failures, reason_of
from ndcg_spark.errors import EngineError, engine_imports, first_line
from ndcg_spark.text import masked

#: Seconds until a server must have answered its first request; without this limit, more than ten minutes.
ANSWER_SECONDS = 30.0
#: The gRPC status codes of an address without a server, with a server of another kind, or with one that refuses us.
_NO_ANSWER = ("UNAVAILABLE", "DEADLINE_EXCEEDED", "UNIMPLEMENTED", "UNKNOWN", "UNAUTHENTICATED", "PERMISSION_DENIED")
#: The channels of `require_server` are never closed: closing one can deadlock gRPC, which then holds Python's lock, so
#: that not even a signal ends the process.
_CHANNELS: list[object] = []


def connect(url: str) -> Engine:
    """A session on the server at this address, `sc://host:port/;name=value`, or `local...` to start a server.

    Raises
    ------
    EngineError
        No Spark Connect server answers there, or it is one that cannot be used.
    """
    is_own = url.startswith("local")
    if is_own:
        classic.refuse_client()
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    else:
        require_server(url)
    session = start_session(SparkSession.builder.remote(url), url)
    limit_retries(session, is_own)
    stop = suppressing(session.stop)
    try:
        engine = engine_of(session, url)
        if engine.kind == "embedded":
            raise EngineError(
                f"engine: {engine.name} is a server of Sail; use the embedded engine on that machine, or a Spark "
                "Connect server of Spark"
            )
    except BaseException:
        stop()
        raise
    return dataclasses.replace(engine, close=stop)


def engine_of(session: SparkSession, url: str = "running session") -> Engine:
    """The engine of a session on a server, which `close` leaves running."""
    place = masked(url)
    sail = sail_version(session)
    if sail is None:
        keep_partition_names(session)
        join_in_place(session)
        return Engine(session, "connect", f"Spark {session.version} ({place})", url.startswith("local"))
    return Engine(session, "embedded", f"Sail {sail} ({place})", True)


@functools.lru_cache(maxsize=8)
def is_sail(session: SparkSession) -> bool:
    """Whether a session runs on Sail. A Spark Connect session runs one query for this, the first time."""
    return not classic.is_classic(session) and sail_version(session) is not None


def sail_version(session: SparkSession) -> str | None:
    """The version of Sail that a session on a server runs on; None if the server is Spark."""
    try:
        row = session.sql("SELECT version()").first()
    except failures():
        return None
    version = str(row[0]) if row else ""
    # The version() of Spark ends with the revision it was built from. Everything else is the same on both.
    return version if version and " " not in version and version != session.version else None


def require_server(url: str) -> None:
    """Return once a Spark Connect server has answered at this address, with the parameters that a session would use.

    Raises
    ------
    EngineError
        The address is not valid, or no Spark Connect server answers there within ANSWER_SECONDS.
    """
    # gRPC would print its own message before ours.
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    with engine_imports():
        import grpc
        from pyspark.errors import PySparkException
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
                f"engine: no Spark Connect server answers at {masked(url)}{encrypted}, {masked(reason_of(error))}; "
                "check the address and its parameters"
            ) from error


def limit_retries(session: Any, is_own: bool) -> None:
    """Let a session give up on our own server after about 1 second, on another, which may come back, after 40."""
    from pyspark.sql.connect.client.retries import DefaultPolicy

    retries, longest_pause = (3, 1_000) if is_own else (8, 10_000)
    # The session is Any: before Spark 4.2 the type of its `client` is wrong.
    session.client.set_retry_policies([DefaultPolicy(max_retries=retries, max_backoff=longest_pause)])
