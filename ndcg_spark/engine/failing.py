"""Exceptions of engines: which there are, what they mean, and what they say."""

import importlib.util
from collections.abc import Iterator

from ndcg_spark.errors import first_line


def failures() -> tuple[type[Exception], ...]:
    """The exceptions that an engine raises when it fails, for an except clause."""
    from pyspark.errors import PySparkException

    # After a Java machine has died, py4j raises the operating system's errors when it opens another connection.
    kinds: tuple[type[Exception], ...] = (PySparkException, ConnectionRefusedError, ConnectionResetError)
    # The client of Spark Connect comes without py4j (pyspark-client), and classic Spark without gRPC.
    if importlib.util.find_spec("py4j"):
        from py4j.protocol import Py4JError

        kinds += (Py4JError,)
    if importlib.util.find_spec("grpc"):
        from grpc import RpcError

        kinds += (RpcError,)
    return kinds


def lost(error: BaseException) -> bool:
    """Whether an error means that the engine is gone, so that what it was doing is not to blame."""
    return any(
        isinstance(failure, ConnectionRefusedError | ConnectionResetError)
        or _status(failure) == "UNAVAILABLE"
        or _java_is_silent(failure)
        for failure in _behind(error)
    )


def reason_of(error: BaseException) -> str:
    """The first line of an engine's error, short enough for a message."""
    # A failed gRPC call prints many lines, which pyspark wraps; only `details` is what the server said.
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
    """The name of the status code of a failed gRPC call; empty for any other error."""
    if not importlib.util.find_spec("grpc"):
        return ""
    import grpc

    return error.code().name if isinstance(error, grpc.RpcError) and isinstance(error, grpc.Call) else ""


def _java_is_silent(error: BaseException) -> bool:
    """Whether py4j says that no answer came; an exception in Java is a Py4JJavaError."""
    if not importlib.util.find_spec("py4j"):
        return False
    from py4j.protocol import Py4JError, Py4JJavaError

    return isinstance(error, Py4JError) and not isinstance(error, Py4JJavaError)
