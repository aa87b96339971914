"""Whether the process that wrote a note (`_owner.json`, `_claim.json`) may still be at work.

A process can be looked up only where it runs: in the same boot of the same machine and in the same process namespace.
Of any other process nobody can tell, so it counts as alive until its note is too old.
"""

import math
import os
import socket
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import psutil

#: After so many hours without a sign of life, an evaluation that cannot be looked up is taken for dead.
HOURS_UNTIL_DEAD = 12
#: Clocks of machines may be apart by so much; a note from further in the future says nothing about its age.
_SECONDS_APART = 3600.0
#: `started` is counted in these after the boot, as Linux does.
_TICKS_PER_SECOND = 100
#: A boot time is known to the second, twice.
_TICKS_APART = 2 * _TICKS_PER_SECOND
_HAS_ENDED = (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)


def owner() -> dict[str, Any]:
    """A note about this process, by which others can tell whether it is still at work."""
    started = _started(os.getpid()) if _sees_processes() else None
    return {**_whereabouts(), "pid": os.getpid(), "started": started, "at": time.time()}


def may_be_alive(note: Mapping[str, Any], written: float, seconds: float = HOURS_UNTIL_DEAD * 3600) -> bool:
    """Whether the process of a note may still be at work; if it cannot be told, whether the note is recent enough.

    `written` is when the note's file was written; it stands in for a note that does not say so, or nothing sensible.
    """
    runs = _runs(note)
    if runs is not None:
        return runs
    return time.time() - written_at(note, written) < seconds


def written_at(note: Mapping[str, Any], written: float) -> float:
    """When a note was written, in seconds since 1970, by its own word or else by its file's time."""
    at = note.get("at")
    sensible = isinstance(at, int | float) and math.isfinite(at) and at < time.time() + _SECONDS_APART
    return float(at) if sensible and at is not None else written


def _runs(note: Mapping[str, Any]) -> bool | None:
    """Whether the process of a note runs; None where this process cannot tell."""
    pid, started = note.get("pid"), str(note.get("started"))
    if type(pid) is not int or pid < 1 or not started.isdecimal() or not _sees_processes():
        return None
    here = _whereabouts()
    if note.get("host") != here["host"]:
        return None
    since = _started(pid)
    runs = since is not None and abs(int(since) - int(started)) <= _TICKS_APART
    if all(note.get(name) == here[name] is not None for name in ("boot", "namespace")):
        return runs
    # Earlier versions noted the host only: a process that is found here is theirs, one that is not may be elsewhere.
    return True if runs and "boot" not in note else None


def _whereabouts() -> dict[str, str | None]:
    """The table of processes that this process is in: host name, boot of the machine and process namespace."""
    return {"host": socket.gethostname(), "boot": _boot(), "namespace": _namespace()}


def _boot() -> str | None:
    try:
        return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        pass
    try:
        return str(int(psutil.boot_time()))
    except (OSError, RuntimeError, psutil.Error):
        return None


def _namespace() -> str | None:
    """Of other systems than Linux, each machine has one table of processes."""
    try:
        return str(Path("/proc/self/ns/pid").stat().st_ino)
    except OSError:
        return None if sys.platform == "linux" else "only"


def _sees_processes() -> bool:
    """Whether processes of others can be looked up: a missing or restricted /proc shows not even the first."""
    try:
        return bool(psutil.pid_exists(1) and psutil.pid_exists(os.getpid()))
    except (OSError, psutil.Error):
        return False


def _started(pid: int) -> str | None:
    """When a process started, in ticks after the boot; None if it has ended."""
    try:
        process = psutil.Process(pid)
        # In a container without an init nobody may ever take note that a process has ended.
        if process.status() in _HAS_ENDED:
            return None
        return str(round((process.create_time() - psutil.boot_time()) * _TICKS_PER_SECOND))
    except psutil.NoSuchProcess:
        return None
