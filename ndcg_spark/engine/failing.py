"""How an engine says that it failed."""

import importlib.util
from collections.abc import Iterator

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


def lost(error: BaseException) -> bool:
    """Whether a failure is that the engine is not there any more: whatever it was doing is not to blame."""
    from py4j.protocol import Py4JError, Py4JNetworkError

    for failure in _behind(error):
        if isinstance(failure, Py4JNetworkError | ConnectionRefusedError | ConnectionResetError):
            return True
        # An exception of Java's is a Py4JJavaError; py4j's own says that the answer was none.
        if type(failure) is Py4JError or _status(failure) == "UNAVAILABLE":
            return True
    return False


def reason_of(error: BaseException) -> str:
    """The first line of what an engine says, short enough for a message."""
    # A failed call of gRPC is a table of many lines, of which `details` are what was said; pyspark wraps the table.
    said = [failure.details() for failure in _behind(error) if _status(failure)]  # type: ignore[attr-defined]
    text = next((text for text in said if text and text.strip()), None)
    return first_line(Exception(text) if text else error).rstrip(".")


def _behind(error: BaseException) -> Iterator[BaseException]:
    """The error, and those that it was raised from or while handling."""
    behind: BaseException | None = error
    while behind is not None:
        yield behind
        behind = behind.__cause__ or behind.__context__


def _status(error: BaseException) -> str:
    """The name of the code that a call of gRPC ended with; empty if it is no such call."""
    if not importlib.util.find_spec("grpc"):
        return ""
    import grpc

    return error.code().name if isinstance(error, grpc.RpcError) and isinstance(error, grpc.Call) else ""
