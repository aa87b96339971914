"""A whole process from outside: its seconds, the processor seconds and memory of all it starts, and what it prints."""

import contextlib
import ctypes
import dataclasses
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

_SUBREAPER = 36
_SAMPLE_SECONDS = 0.05
_LAST_WORDS = 1500


@dataclasses.dataclass(frozen=True)
class Measurement:
    """What one process took."""

    seconds: float
    #: User and system time of the process and of all it started, a JVM too.
    cpu_seconds: float
    #: The largest resident memory of all of them together, pages they share counted for each.
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
        sampler = _Sampler(process.pid)
        killer = threading.Timer(timeout, _kill, [process.pid])
        sampler.start()
        killer.start()
        try:
            _, status, usage = os.wait4(process.pid, 0)
            seconds = time.perf_counter() - start
        finally:
            killer.cancel()
            sampler.stop()
        process.returncode = os.waitstatus_to_exitcode(status)
        usages = [usage, *_rest(process.pid)]
        ctypes.CDLL(None).prctl(_SUBREAPER, 0)
        printed, said = _read(out), _read(err)
    if process.returncode != 0:
        raise ProgramError(f"{' '.join(command)}: exit code {process.returncode}, {said[-_LAST_WORDS:]}")
    peak = max(sampler.peak, *(used.ru_maxrss * 1024 for used in usages))
    cpu = sum(used.ru_utime + used.ru_stime for used in usages)
    return Measurement(seconds, cpu, peak / 1e9, load, _json(printed))


def _json(printed: str) -> dict[str, Any]:
    lines = [line for line in printed.splitlines() if line.startswith("{")]
    return dict(json.loads(lines[-1])) if lines else {}


def _read(stream: Any) -> str:
    stream.seek(0)
    return str(stream.read().decode(errors="replace"))


def _rest(session: int) -> list[Any]:
    """What is left of the program's session, ended and counted."""
    usages: list[Any] = []
    deadline = time.monotonic() + 10
    while True:
        try:
            pid, _, usage = os.wait4(-session, os.WNOHANG)
        except ChildProcessError:
            return usages
        if pid:
            usages.append(usage)
        elif time.monotonic() > deadline:
            _kill(session)
        else:
            time.sleep(0.02)


def _kill(group: int) -> None:
    try:
        os.killpg(group, signal.SIGKILL)
    except ProcessLookupError:
        sys.stderr.write(f"benchmark: nothing of {group} is left to end\n")


class _Sampler(threading.Thread):
    """Looks every so often at the memory of a process and all below it."""

    def __init__(self, pid: int) -> None:
        super().__init__(daemon=True)
        self.peak = 0
        self._pid = pid
        self._stopped = threading.Event()

    def run(self) -> None:
        while not self._stopped.wait(_SAMPLE_SECONDS):
            self.peak = max(self.peak, sum(map(_resident, _tree(self._pid))))

    def stop(self) -> None:
        """Look no more."""
        self._stopped.set()
        self.join()


def _tree(pid: int) -> list[int]:
    found = [pid]
    for parent in found:
        # Both a process and a thread may end while it is looked at.
        with contextlib.suppress(OSError):
            for task in list(Path(f"/proc/{parent}/task").glob("*/children")):
                with contextlib.suppress(OSError):
                    found.extend(map(int, task.read_text(encoding="ascii").split()))
    return found


def _resident(pid: int) -> int:
    try:
        pages = Path(f"/proc/{pid}/statm").read_text(encoding="ascii").split()[1]
    except OSError:  # a process that has just ended
        return 0
    return int(pages) * os.sysconf("SC_PAGE_SIZE")
