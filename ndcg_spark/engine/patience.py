"""How long a client of Spark Connect waits for its server, which by itself is ten minutes and more."""

import os
import uuid

from pyspark.sql import SparkSession

from ndcg_spark.engine.failing import reason_of
from ndcg_spark.errors import EngineError, first_line
from ndcg_spark.masking import masked

#: Seconds for a server to answer its first question.
ANSWER_SECONDS = 30.0
#: The codes of gRPC that a server of another kind, none at all, or one that lets nobody in ends with.
_NO_ANSWER = ("UNAVAILABLE", "DEADLINE_EXCEEDED", "UNIMPLEMENTED", "UNKNOWN", "UNAUTHENTICATED", "PERMISSION_DENIED")
#: How often a server that does not answer is asked again, and the longest pause between: about 1 and 40 seconds in all.
_TRIES = {"own": (3, 1_000), "remote": (8, 10_000)}


def ask(url: str) -> None:
    """Return once a Spark Connect server has answered at this address, with the parameters that a session would use.

    Raises
    ------
    EngineError
        It is no address, or nothing answers there within ANSWER_SECONDS as a Spark Connect server does.
    """
    # What fails is told by our own message; gRPC would print its own before it.
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
            f"engine: {masked(url)} is no address of a Spark Connect server, {masked(first_line(error))}; "
            "write sc://host:port"
        ) from error
    # The end of a session that never began: the one question that leaves nothing behind on the server.
    question = proto.ReleaseSessionRequest(session_id=str(uuid.uuid4()))
    question.user_context.user_id = address.userId or ""
    try:
        proto.SparkConnectServiceStub(channel).ReleaseSession(  # type: ignore[no-untyped-call]  # generated
            question, timeout=ANSWER_SECONDS, metadata=address.metadata()
        )
    except grpc.RpcError as error:
        # Any other refusal comes from a Spark Connect server, and the session will be told why.
        if error.code().name in _NO_ANSWER:
            encrypted = " (encrypted, as use_ssl or a token demands)" if address.secure else ""
            raise EngineError(
                f"engine: no Spark Connect server answers at {masked(url)}{encrypted}, {masked(reason_of(error))}; "
                "check the address and its parameters"
            ) from error
    finally:
        channel.close()


def bound(session: SparkSession, whose: str) -> None:
    """Let a session give up on its server within seconds: one of our `own`, or a `remote` one, which may come back."""
    from pyspark.sql.connect.client.retries import DefaultPolicy

    tries, longest_pause = _TRIES[whose]
    session.client.set_retry_policies([DefaultPolicy(max_retries=tries, max_backoff=longest_pause)])
