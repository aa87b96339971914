"""A whole process from outside: its seconds, the processor seconds and memory of all it starts, and what it prints."""

import contextlib
import ctypes
import dataclasses
import json
import os
import select
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from typing import Any

_SUBREAPER = 36


@dataclasses.dataclass(frozen=True)
class Measurement:
    """What one process took."""

    seconds: float
    #: User and system time of the process and of all it started, a JVM too.
    cpu_seconds: float
    #: The most memory that one of them held.
    peak_gb: float
    #: The machine's load average before it: other work makes a figure worthless.
    load: float
    #: The last line it printed, if that is JSON.
    printed: dict[str, Any]


class ProgramError(Exception):
    """A program that is measured has failed."""


def measure(command: Sequence[str], env: Mapping[str, str], timeout: float) -> Measurement:
    """Run the command to its end.

    Raises
    ------
    ProgramError
        It fails, or takes longer than `timeout` seconds.
    """
    # What a program leaves behind (a JVM that outlives its Python) becomes our child, so that it is counted too.
    ctypes.CDLL(None).prctl(_SUBREAPER, 1)
    load = os.getloadavg()[0]
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        start = time.perf_counter()
        process = subprocess.Popen(  # noqa: S603 - our own programs
            command, stdout=out, stderr=err, env={**os.environ, **env}, start_new_session=True
        )
        ended = os.pidfd_open(process.pid)
        if not select.select([ended], [], [], timeout)[0]:
            _kill(process.pid)
        os.close(ended)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        usages = [usage, *_rest(process.pid)]
        ctypes.CDLL(None).prctl(_SUBREAPER, 0)
        out.seek(0)
        err.seek(0)
        lines = [line for line in out.read().decode(errors="replace").splitlines() if line.startswith("{")]
        if process.returncode != 0:
            said = err.read().decode(errors="replace")[-1500:]
            raise ProgramError(f"{' '.join(command)}: exit code {process.returncode}, {said}")
    cpu = sum(used.ru_utime + used.ru_stime for used in usages)
    peak = max(used.ru_maxrss for used in usages) * 1024 / 1e9
    return Measurement(seconds, cpu, peak, load, json.loads(lines[-1]) if lines else {})


def _rest(session: int) -> list[Any]:
    """What is left of the program's session, ended and counted."""
    usages, deadline = list[Any](), time.monotonic() + 10
    with contextlib.suppress(ChildProcessError):
        while True:
            pid, _, usage = os.wait4(-session, os.WNOHANG)
            usages += [usage] if pid else []
            if time.monotonic() > deadline:
                _kill(session)
            time.sleep(0.02)
    return usages


def _kill(group: int) -> None:
    # Nothing of it may be left.
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)
