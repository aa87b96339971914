"""Measures a whole process from outside: its seconds, the processor seconds and memory of everything it starts, and its output."""

import contextlib
import json
import os
import select
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import psutil

PROJECT = Path(__file__).resolve().parents[2]
ENVIRONMENT = {"PYTHONPATH": str(PROJECT), "PYSPARK_PYTHON": sys.executable}


def measure(
    command: Sequence[str], env: Mapping[str, str]
) -> tuple[dict[str, float], dict[str, Any]]:
    """Run the command to its end. Return what it took, and the last line that it printed if that is JSON.

    Processor time includes everything it started; memory is that of the largest process. Raises CalledProcessError
    if it fails.
    """
    java: dict[int, tuple[float, int]] = {}
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        start = time.perf_counter()
        process = subprocess.Popen(  # noqa: S603
            command, stdout=out, stderr=err, env={**os.environ, **ENVIRONMENT, **env}
        )
        ended = os.pidfd_open(process.pid)
        while not select.select([ended], [], [], 0.1)[0]:
            # No Python waits for its JVM, so the usage of the process does not include it.
            with contextlib.suppress(psutil.Error):
                for child in psutil.Process(process.pid).children(recursive=True):
                    if child.name() == "java":
                        java[child.pid] = sum(child.cpu_times()[:2]), child.memory_info().rss
        os.close(ended)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        if process.returncode != 0:
            said = err.read().decode(errors="replace")[-1500:]
            raise subprocess.CalledProcessError(process.returncode, command, None, said)
        lines = [
            line
            for line in out.read().decode(errors="replace").splitlines()
            if line.startswith("{")
        ]
    cpu = usage.ru_utime + usage.ru_stime + sum(cpu for cpu, _ in java.values())
    peak = max(usage.ru_maxrss * 1024, *(rss for _, rss in java.values()), 0) / 1e9
    took = {"seconds": seconds, "processor seconds": cpu, "memory, GB": peak}
    return took, json.loads(lines[-1]) if lines else {}
