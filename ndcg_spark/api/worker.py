"""The worker: a process that computes for this one, and keeps its engine open for later calls.

A process can be a client of classic Spark or of Spark Connect, which the embedded engine uses, but
not of both. A separate process does not disturb a Spark session that is active here.
"""

import atexit
import contextlib
import dataclasses
import functools
import importlib
import importlib.util
import logging.handlers
import os
import pickle
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Concatenate, NamedTuple, ParamSpec, TypeVar

from ndcg_spark import errors, user_modules
from ndcg_spark.errors import EngineError, NdcgSparkError, engine_imports, hide_library_warnings
from ndcg_spark.scratch import Scratch, remove_abandoned
from ndcg_spark.steps import LOGGER
from ndcg_spark.voices import Notice

if TYPE_CHECKING:
    from ndcg_spark.engine import Engine

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")

_LOCK = threading.Lock()


class _Worker(NamedTuple):
    """A running worker, and the id of the process that started it."""

    parent: int
    process: "subprocess.Popen[bytes]"

    @property
    def is_ours(self) -> bool:
        """Whether this process started it. A fork of that process must not use it."""
        return self.parent == os.getpid()


class _Reply(NamedTuple):
    """What the worker sends back."""

    failure: NdcgSparkError | None
    #: The result, and the warnings among the steps; None after a failure.
    result: Any
    #: The files of the user's modules that the worker has loaded.
    user_files: user_modules.Stamps


_running: _Worker | None = None
#: Where the worker looks for modules, and the files of the user's modules that it has loaded.
_path = ""
_user_files: user_modules.Stamps = {}


def call(
    function: "Callable[Concatenate[Engine, Arguments], Result]",
    *arguments: Arguments.args,
    **options: Arguments.kwargs,
) -> tuple[Result, list[str | Notice]]:
    """Call a function in the worker, with its engine as the first argument.

    Returns the result, and the warnings that the function reported. The function is pickled by its
    name, so the worker must be able to import its module. Raises the NdcgSparkError that the
    function raises, and EngineError if the worker ended.
    """
    global _user_files  # noqa: PLW0603
    request = str(Path.cwd()), _search_path(), pickle.dumps((function, arguments, options))
    with _LOCK:
        if _is_outdated():
            stop()
        process = _running_process() or _start()
        try:
            reply = _exchange(process, request)
        except (EOFError, OSError) as error:
            stop()
            raise EngineError(
                f"engine: the process that evaluates ended with code {process.returncode}, "
                "perhaps for lack of memory; call again, or give session="
            ) from error
        except BaseException:
            # Interrupted: the next call would read the reply to this one.
            stop()
            raise
        _user_files = reply.user_files
    if reply.failure is not None:
        raise reply.failure
    value, warnings = reply.result
    return value, warnings


def _exchange(process: "subprocess.Popen[bytes]", request: object) -> _Reply:
    """Send a request and wait for the reply."""
    requests, replies = process.stdin, process.stdout
    if requests is None or replies is None:
        raise EOFError("the process has no pipes")
    pickle.dump(request, requests)
    requests.flush()
    return _Reply(*pickle.load(replies))  # noqa: S301  # from our own process


def _is_outdated() -> bool:
    """Whether a user module has changed since the worker loaded it.

    The worker imports a module only once, so it would use a gain as it was before the change.
    """
    if not _user_files:
        return False
    return _path != _search_path() or user_modules.have_changed(_user_files)


def _search_path() -> str:
    folders = [*sys.path, str(Path.cwd())]
    return os.pathsep.join(folder for folder in folders if folder)


def stop() -> None:
    """End the worker, if this process started it."""
    global _running, _user_files  # noqa: PLW0603  # a program has one worker
    _user_files = {}
    if _running is not None and _running.is_ours:
        _running.process.kill()
        _running.process.communicate()
    _running = None


def _end() -> None:
    """End the worker when this process ends."""
    if _running:
        stop()
        # A killed worker does not remove its temporary folders.
        remove_abandoned()


def _running_process() -> "subprocess.Popen[bytes] | None":
    """The worker's process; None if it is not running, or if another process started it."""
    if _running is None or not _running.is_ours:
        return None
    has_ended = _running.process.poll() is not None
    return None if has_ended else _running.process


def _start() -> "subprocess.Popen[bytes]":
    """Start a worker instead of the last one, and return its process."""
    global _running, _path  # noqa: PLW0603
    stop()
    _path = _search_path()
    process = subprocess.Popen(
        # Not with -c: if a program is not in a file, pyspark looks for a Spark as its doctests do.
        [sys.executable, "-m", "ndcg_spark.api.worker"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": _path},
        # Ctrl+C must reach only this process, which then ends the worker.
        start_new_session=True,
    )
    _running = _Worker(os.getpid(), process)
    return process


def _streams() -> tuple[BinaryIO, BinaryIO]:
    """The streams for requests and replies, which nothing else can read or write afterwards."""
    requests = os.fdopen(os.dup(0), "rb")
    replies = os.fdopen(os.dup(1), "wb")
    # Engines and users' functions print, and a path may be /dev/stdin.
    os.dup2(2, 1)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    return requests, replies


def serve() -> None:
    """Serve requests until standard input ends.

    Uses the embedded engine if it is installed, otherwise Spark.
    """
    hide_library_warnings()
    requests, replies = _streams()
    files: user_modules.Stamps = {}
    steps = logging.handlers.BufferingHandler(capacity=10_000)
    LOGGER.addHandler(steps)
    with contextlib.ExitStack() as stack, contextlib.suppress(EOFError):
        # The first request opens the engine, so that the reply can say why it cannot be opened.
        engine_once = functools.cache(functools.partial(_open_engine, stack))
        while True:
            folder, path, request = pickle.load(requests)  # noqa: S301  # from our parent
            began = time.time_ns()
            failure: NdcgSparkError | None = None
            result = None
            try:
                os.chdir(folder)
                _search_also(path)
                result = _result(engine_once, request, steps)
            except NdcgSparkError as error:
                failure = _as_public(error)
            except Exception:  # noqa: BLE001  # a bug, which the other process shows
                failure = NdcgSparkError(traceback.format_exc())
            # Earlier stamps are kept, because a module is loaded only once.
            files = {**user_modules.stamps(began), **files}
            reply = _Reply(failure, result, files)
            pickle.dump(tuple(reply), replies)
            replies.flush()


def _result(
    engine_once: "Callable[[], Engine]",
    request: bytes,
    steps: logging.handlers.BufferingHandler,
) -> tuple[Any, list[str | Notice]]:
    """The result of a request, and the warnings that it reported, which `steps` collects."""
    with engine_imports():
        engine = engine_once()
        steps.buffer.clear()
        value = _call_function(engine, request)
        return value, [_warning_in(record) for record in steps.buffer]


def _search_also(path: str) -> None:
    """Also find modules in these folders, which the parent may have added since we started."""
    new = [folder for folder in path.split(os.pathsep) if folder and folder not in sys.path]
    sys.path.extend(new)
    os.environ["PYTHONPATH"] = path


def _open_engine(stack: contextlib.ExitStack) -> "Engine":
    from ndcg_spark.engine import open_engine

    installed = "embedded" if importlib.util.find_spec("pysail") else "spark"
    return stack.enter_context(open_engine(installed))


def _call_function(engine: "Engine", request: bytes) -> Any:
    """The result of a request's function; its temporary folders are removed after the call."""
    # The request comes from the process that started us.
    function, arguments, options = pickle.loads(request)  # noqa: S301
    engine_of_call = dataclasses.replace(engine, scratch=Scratch())
    try:
        return function(engine_of_call, *arguments, **options)
    finally:
        engine_of_call.scratch.remove()


def _warning_in(record: logging.LogRecord) -> str | Notice:
    """The warning of a log record. A Notice keeps its advice, which the parent puts into words."""
    given = record.args[0] if isinstance(record.args, tuple) and record.args else None
    return given if isinstance(given, Notice) else record.getMessage()


def _as_public(error: NdcgSparkError) -> NdcgSparkError:
    """The error as the nearest class of `errors`, because the parent may be unable to import its
    own class.
    """
    if type(error).__module__ == errors.__name__:
        return error
    kind = next(kind for kind in type(error).__mro__ if kind.__module__ == errors.__name__)
    public: NdcgSparkError = kind(error.sentence, error.advice, error.option)
    public.code = error.code
    return public


atexit.register(_end)
if __name__ == "__main__":
    # Serve with the module that others import, and not with this copy of it, __main__.
    importlib.import_module("ndcg_spark.api.worker").serve()
