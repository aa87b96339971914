"""A process that stays beside the tests, with a session of the embedded engine: functions and commands, in turn.

A process of its own and the start of an engine cost as much as an evaluation of three rows, so tests share this one.
What a test leaves in it but files must be of no concern to the next: what sets limits, dies, or looks at how the
program starts and ends belongs into a process of its own (`programs.forked`).
"""

import os
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

from programs import PROCESSES

from ndcg_spark.engine import open_engine
from ndcg_spark.errors import NdcgSparkError

_kept: list[tuple[Connection, BaseProcess]] = []


def told(function: Callable[..., Any], *arguments: object, cwd: Path, **environment: str) -> tuple[Any, str, str]:
    """What a function returns, and what it prints on stdout and stderr, within this folder and this environment.

    The failures of the program are raised here as they are there, any other is a RuntimeError with its traceback.
    """
    if not _kept:
        ours, theirs = PROCESSES.Pipe()
        process = PROCESSES.Process(target=_serve, args=(theirs,), daemon=True)
        process.start()
        theirs.close()
        _kept.append((ours, process))
    connection, process = _kept[0]
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        # By their paths, as a process that is forked elsewhere has none of our files open.
        streams = [f"/proc/{os.getpid()}/fd/{stream.fileno()}" for stream in (out, err)]
        connection.send((streams, str(cwd), {**os.environ, **environment}, function, arguments))
        try:
            returned, kind, words = connection.recv()
        except EOFError:
            _kept.clear()
            process.join()
            err.seek(0)
            raise RuntimeError(f"the process ended with {process.exitcode}: {err.read().decode()[-2000:]}") from None
        texts = []
        for stream in (out, err):
            stream.seek(0)
            texts.append(stream.read().decode())
    if kind is None:
        return returned, *texts
    raise kind.__new__(kind, words)


def returned(function: Callable[..., Any], *arguments: object) -> Any:
    """What a function returns there, or the failure that it raises."""
    return told(function, *arguments, cwd=Path.cwd())[0]


def command_line(*arguments: object, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """The command line with these arguments; what it says of its engine is that a session was running."""
    code, out, err = told(_command_line, *map(str, arguments), cwd=cwd, **environment)
    return subprocess.CompletedProcess(["ndcg-spark", *map(str, arguments)], code, out, err)


def _command_line(*arguments: str) -> int:
    from ndcg_spark.cli.app import main

    try:
        main([*arguments])
    except SystemExit as end:
        return end.code or 0
    return 0


def _serve(connection: Connection) -> None:
    before = {**os.environ}
    with open_engine("embedded"):
        # What pyspark has noted there, above all that this is a process of Spark Connect.
        opened = {name: value for name, value in os.environ.items() if before.get(name) != value}
        sys.stdout.reconfigure(encoding="utf-8")
        sys.stderr.reconfigure(encoding="utf-8", line_buffering=True)
        while True:
            try:
                streams, cwd, environment, function, arguments = connection.recv()
            except EOFError:
                return
            for number, path in enumerate(streams, 1):
                opened_stream = os.open(path, os.O_WRONLY | os.O_APPEND)
                os.dup2(opened_stream, number)
                os.close(opened_stream)
            os.chdir(cwd)
            os.environ.clear()
            os.environ.update({**environment, **opened})
            connection.send(_answer(function, arguments))


def _answer(function: Callable[..., Any], arguments: list[Any]) -> tuple[Any, type[BaseException] | None, str]:
    try:
        answer = function(*arguments), None, ""
    except NdcgSparkError as error:
        answer = None, type(error), str(error)
    except BaseException:  # noqa: BLE001  # the test is told
        answer = None, RuntimeError, traceback.format_exc()
    sys.stdout.flush()
    sys.stderr.flush()
    return answer
