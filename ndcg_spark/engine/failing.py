"""How an engine says that it failed."""

import importlib.util

from ndcg_spark.errors import first_line


def failures() -> tuple[type[Exception], ...]:
    """The exceptions by which an engine says that it failed, for an except clause."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    # py4j passes the operating system's own errors on when it opens another connection to a Java machine that died.
    kinds: tuple[type[Exception], ...] = (PySparkException, Py4JError, ConnectionRefusedError, ConnectionResetError)
    if importlib.util.find_spec("grpc"):
        from grpc import RpcError

        kinds += (RpcError,)
    return kinds


def reason_of(error: BaseException) -> str:
    """The first line of what an engine says, short enough for a message."""
    # A failed call of gRPC is a table of many lines, of which `details` are what was said.
    details = getattr(error, "details", None)
    said = details() if callable(details) else None
    return first_line(Exception(said)) if isinstance(said, str) and said.strip() else first_line(error)
