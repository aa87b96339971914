"""The exceptions of engines: which there are, what they mean, and their message."""

import contextlib
import importlib
from collections.abc import Iterator

from ndcg_spark.errors import first_line


def failures() -> tuple[type[Exception], ...]:
    """The exceptions that an engine raises when it fails, for an except clause."""
    from pyspark.errors import PySparkException

    # After the JVM has died, py4j raises the errors of the operating system when it opens another connection.
    kinds: tuple[type[Exception], ...] = (PySparkException, ConnectionRefusedError, ConnectionResetError)
    # The client of Spark Connect comes without py4j (pyspark-client), and classic Spark without gRPC.
    for module, name in (("py4j.protocol", "Py4JError"), ("grpc", "RpcError")):
        with contextlib.suppress(ImportError):
            kinds += (getattr(importlib.import_module(module), name),)
    return kinds


def lost(error: BaseException) -> bool:
    """Whether an error means that the engine itself is gone, whatever it was doing."""
    return any(
        isinstance(failure, ConnectionRefusedError | ConnectionResetError)
        or _status(failure) == "UNAVAILABLE"
        # py4j got no answer; an exception in Java is a Py4JJavaError.
        or ("Py4JError" in _kinds(failure) and "Py4JJavaError" not in _kinds(failure))
        for failure in _chain(error)
    )


def failure_reason(error: BaseException) -> str:
    """The first line of an engine's error, short enough for a message."""
    # A failed gRPC call prints many lines, which pyspark wraps; only `details` is what the server said.
    details = [failure.details() for failure in _chain(error) if _status(failure)]  # type: ignore[attr-defined]
    text = next((text for text in details if text and text.strip()), None)
    return first_line(Exception(text) if text else error).rstrip(".")


def _chain(error: BaseException) -> Iterator[BaseException]:
    """The error, and those that it was raised from or while handling."""
    link: BaseException | None = error
    while link is not None:
        yield link
        link = link.__cause__ or link.__context__


def _kinds(error: BaseException) -> set[str]:
    return {kind.__name__ for kind in type(error).__mro__}


def _status(error: BaseException) -> str:
    """The name of the status code of a failed gRPC call; empty for any other error."""
    return error.code().name if {"RpcError", "Call"} <= _kinds(error) else ""  # type: ignore[attr-defined]
