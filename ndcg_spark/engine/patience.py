"""How long a client of Spark Connect waits for its server; without this module, more than ten minutes."""

import os
import uuid

from pyspark.sql import SparkSession

from ndcg_spark.engine.failing import reason_of
from ndcg_spark.errors import EngineError, first_line
from ndcg_spark.masking import masked

#: Seconds until a server must have answered its first request.
ANSWER_SECONDS = 30.0
#: The gRPC status codes that mean that there is no server, one of another kind, or one that does not let us in.
_NO_ANSWER = ("UNAVAILABLE", "DEADLINE_EXCEEDED", "UNIMPLEMENTED", "UNKNOWN", "UNAUTHENTICATED", "PERMISSION_DENIED")
#: How often a server that does not answer is asked again, and the longest pause in milliseconds: in all about 1 second
#: for our own server and 40 for a remote one.
_TRIES = {"own": (3, 1_000), "remote": (8, 10_000)}
#: Every connection that was asked, kept so that nothing closes it: gRPC would hold Python's lock and wait for a
#: thread of its own, which may be waiting for that lock just then, and no signal would end the process.
_UNCLOSED: list[object] = []


def ask(url: str) -> None:
    """Return once a Spark Connect server has answered at this address, with the parameters that a session would use.

    Raises
    ------
    EngineError
        It is not an address, or no Spark Connect server answers there within ANSWER_SECONDS.
    """
    # Our own message says what failed; gRPC would print another before it.
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
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
    _UNCLOSED.append(channel)
    # Asks to end a session that never began: the only request that leaves nothing behind on the server.
    question = proto.ReleaseSessionRequest(session_id=str(uuid.uuid4()))
    question.user_context.user_id = address.userId or ""
    try:
        proto.SparkConnectServiceStub(channel).ReleaseSession(  # type: ignore[no-untyped-call]  # generated
            question, timeout=ANSWER_SECONDS, metadata=address.metadata()
        )
    except grpc.RpcError as error:
        # Any other code comes from a Spark Connect server; opening the session will show what is wrong.
        if error.code().name in _NO_ANSWER:
            encrypted = " (encrypted, as use_ssl or a token demands)" if address.secure else ""
            raise EngineError(
                f"engine: no Spark Connect server answers at {masked(url)}{encrypted}, {masked(reason_of(error))}; "
                "check the address and its parameters"
            ) from error


def bound(session: SparkSession, whose: str) -> None:
    """Let a session give up within seconds on its server: our `own`, or a `remote` one, which may come back."""
    from pyspark.sql.connect.client.retries import DefaultPolicy

    tries, longest_pause = _TRIES[whose]
    session.client.set_retry_policies([DefaultPolicy(max_retries=tries, max_backoff=longest_pause)])
