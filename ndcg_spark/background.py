"""A process that evaluates for this one and stays warm, so that a session of Spark that is active here is left alone.

A process is either a client of classic Spark or of Spark Connect, on which the embedded engine is based.
"""

import atexit
import contextlib
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ndcg_spark import errors
from ndcg_spark.errors import EngineError

_LOCK = threading.Lock()
#: Whether this is that process.
is_here = False
_running: "tuple[int, subprocess.Popen[bytes]] | None" = None


def is_for(*tables: Any) -> bool:
    """Whether the other process computes with these tables: unless one is a DataFrame of Spark."""
    return not (is_here or any(map(is_spark, tables)))


def is_spark(table: Any) -> bool:
    """Whether a table is a DataFrame of Spark, or has one for a run."""
    tables = table.values() if isinstance(table, Mapping) else [table]
    return any(type(table).__module__.startswith("pyspark.") for table in tables)


def call(task: str, *arguments: Any, **options: Any) -> Any:
    """What a task of `worker.TASKS` returns, computed in the other process, which is started if there is none.

    Raises
    ------
    NdcgSparkError
        What the task raises; EngineError if the process ended.
    """
    with _LOCK:
        process = _started()
        try:
            pickle.dump((task, str(Path.cwd()), arguments, options), process.stdin)  # type: ignore[arg-type]  # both are pipes
            process.stdin.flush()  # type: ignore[union-attr]
            failure, value = pickle.load(process.stdout)  # type: ignore[arg-type]  # noqa: S301  # from our own process
        except (EOFError, OSError) as error:
            stop()
            raise EngineError(
                f"engine: the process that evaluates ended with code {process.returncode}, perhaps for lack of memory; "
                "call again, or give session="
            ) from error
        except BaseException:
            # Interrupted: the next call would read the answer to this one.
            stop()
            raise
    if failure is None:
        return value
    raise getattr(errors, failure)(value)


def stop() -> None:
    """End the process, if there is one of ours."""
    global _running  # noqa: PLW0603  # one process of a program
    if _running and _running[0] == os.getpid():
        process = _running[1]
        process.kill()
        for pipe in (process.stdin, process.stdout):
            with contextlib.suppress(OSError):
                pipe.close()  # type: ignore[union-attr]
        process.wait()
    _running = None


def _started() -> "subprocess.Popen[bytes]":
    global _running  # noqa: PLW0603
    # A fork of this process must not read the answers of its parent.
    if _running is None or _running[0] != os.getpid() or _running[1].poll() is not None:
        stop()
        path = os.pathsep.join(folder for folder in (*sys.path, str(Path.cwd())) if folder)
        process = subprocess.Popen(
            [sys.executable, "-m", "ndcg_spark.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": path},
            # Ctrl+C ends the call here, and only then that process.
            start_new_session=True,
        )
        _running = os.getpid(), process
    return _running[1]


atexit.register(stop)
