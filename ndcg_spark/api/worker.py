"""The worker: a process that computes for this one and stays warm.

A process is a client either of classic Spark or of Spark Connect, on which the embedded engine is
based. A separate process does not disturb a Spark session that is active here.
"""

import atexit
import contextlib
import dataclasses
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
from typing import TYPE_CHECKING, Any, BinaryIO, Concatenate, ParamSpec, TypeVar

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
_running: "tuple[int, subprocess.Popen[bytes]] | None" = None
#: Where the process looks for modules, and the files of the user's modules that it has loaded.
_path = ""
_user_files: user_modules.Stamps = {}


def call(
    function: "Callable[Concatenate[Engine, Arguments], Result]",
    *arguments: Arguments.args,
    **options: Arguments.kwargs,
) -> tuple[Result, list[str | Notice]]:
    """Return the result of a function on the worker's engine, and the warnings among its steps.

    Functions are pickled by name, so the worker must be able to import the function's module.
    Raises NdcgSparkError as the function raises it, and EngineError if the worker ended.
    """
    global _user_files
    request = str(Path.cwd()), _search_path(), pickle.dumps((function, arguments, options))
    with _LOCK:
        if _is_outdated():
            stop()
        process = _started()
        try:
            pickle.dump(request, process.stdin)  # type: ignore[arg-type]  # both are pipes
            process.stdin.flush()  # type: ignore[union-attr]
            failure, reply, _user_files = pickle.load(process.stdout)  # type: ignore[arg-type]  # noqa: S301  # from our own process
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
    if failure is not None:
        raise failure
    value, sentences = reply
    return value, sentences


def _is_outdated() -> bool:
    """Whether a user module that the process has loaded has changed since.

    The process imports a module once, so it would keep using a gain as it was before the file
    changed.
    """
    if not _user_files:
        return False
    return _path != _search_path() or user_modules.have_changed(_user_files)


def _search_path() -> str:
    folders = [*sys.path, str(Path.cwd())]
    return os.pathsep.join(folder for folder in folders if folder)


def stop() -> None:
    """End the process, if it is ours."""
    global _running, _user_files  # noqa: PLW0603  # one process of a program
    _user_files = {}
    if _running and _running[0] == os.getpid():
        _running[1].kill()
        _running[1].communicate()
    _running = None


def _end() -> None:
    if _running:
        stop()
        # It was killed, so it did not remove its temporary folders.
        remove_abandoned()


def _started() -> "subprocess.Popen[bytes]":
    global _running, _path  # noqa: PLW0603
    # A fork of this process must not read the replies to its parent.
    if _running is None or _running[0] != os.getpid() or _running[1].poll() is not None:
        stop()
        _path = _search_path()
        process = subprocess.Popen(
            # Not with -c: pyspark takes a program that is not in a file for its own doctests, and
            # looks for their Spark.
            [sys.executable, "-m", "ndcg_spark.api.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": _path},
            # Ctrl+C ends the call here first, and only then that process.
            start_new_session=True,
        )
        _running = os.getpid(), process
    return _running[1]


def _streams() -> tuple[BinaryIO, BinaryIO]:
    """The streams for requests and replies, which nothing else reads or writes from now on."""
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
    engine: Engine | None = None
    files: user_modules.Stamps = {}
    steps = logging.handlers.BufferingHandler(capacity=10_000)
    LOGGER.addHandler(steps)
    with contextlib.ExitStack() as stack, contextlib.suppress(EOFError):
        while True:
            folder, path, request = pickle.load(requests)  # noqa: S301  # from the one that started us
            began = time.time_ns()
            reply: tuple[NdcgSparkError | None, Any]
            try:
                os.chdir(folder)
                _search_also(path)
                with engine_imports():
                    if engine is None:
                        engine = _opened(stack)
                    steps.buffer.clear()
                    value = _computed(engine, request)
                    reply = None, (value, [_said(record) for record in steps.buffer])
            except NdcgSparkError as error:
                reply = _plain(error), None
            except Exception:  # noqa: BLE001  # a bug, which the other process shows
                reply = NdcgSparkError(traceback.format_exc()), None
            # A loaded module is not loaded again.
            files = {**user_modules.stamps(began), **files}
            pickle.dump((*reply, files), replies)
            replies.flush()


def _search_also(path: str) -> None:
    """Also find modules in these folders, which the program may have added since we started."""
    new = [folder for folder in path.split(os.pathsep) if folder and folder not in sys.path]
    sys.path.extend(new)
    os.environ["PYTHONPATH"] = path


def _opened(stack: contextlib.ExitStack) -> "Engine":
    from ndcg_spark.engine import open_engine

    installed = "embedded" if importlib.util.find_spec("pysail") else "spark"
    return stack.enter_context(open_engine(installed))


def _computed(engine: "Engine", request: bytes) -> Any:
    """The result of a request's function; its temporary folders are removed after the call."""
    # The request comes from the process that started us.
    function, arguments, options = pickle.loads(request)  # noqa: S301
    of_this_call = dataclasses.replace(engine, scratch=Scratch())
    try:
        return function(of_this_call, *arguments, **options)
    finally:
        of_this_call.scratch.remove()


def _said(record: logging.LogRecord) -> str | Notice:
    """The sentence of a step, with its advice, which the other process renders in its own words."""
    given = record.args[0] if isinstance(record.args, tuple) and record.args else None
    return given if isinstance(given, Notice) else record.getMessage()


def _plain(error: NdcgSparkError) -> NdcgSparkError:
    """The error as a class of `errors`, because the other process may be unable to import
    others.
    """
    if type(error).__module__ == errors.__name__:
        return error
    kind = next(kind for kind in type(error).__mro__ if kind.__module__ == errors.__name__)
    plain: NdcgSparkError = kind(error.sentence, error.advice, error.option)
    plain.code = error.code
    return plain


atexit.register(_end)
if __name__ == "__main__":
    # The module that others import, and not this copy of it.
    importlib.import_module("ndcg_spark.api.worker").serve()
