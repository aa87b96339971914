"""Whether the process that wrote a note (`_owner.json`, `_claim.json`) may still be at work.

A process can only be looked up from the same machine, since the same boot, and in the same process namespace. Any
other process counts as alive until its note is too old.
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

#: An evaluation whose process cannot be looked up counts as dead after this many hours.
HOURS_UNTIL_DEAD = 12
#: The clocks of two machines may differ by this much. The time of a note from further in the future is ignored.
_SECONDS_APART = 3600.0
#: The unit of `started`, the time since the boot, as on Linux.
_TICKS_PER_SECOND = 100
#: The boot time is rounded to a second, in the note and again when it is compared.
_TICKS_APART = 2 * _TICKS_PER_SECOND
_HAS_ENDED = (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD)


def owner() -> dict[str, Any]:
    """A note about this process, from which others can tell whether it is still running."""
    started = _started(os.getpid()) if _sees_processes() else None
    return {**_whereabouts(), "pid": os.getpid(), "started": started, "at": time.time()}


def may_be_alive(note: Mapping[str, Any], written: float, seconds: float = HOURS_UNTIL_DEAD * 3600) -> bool:
    """Whether the process of a note may still be running. If it cannot be looked up, whether the note is recent enough.

    `written` is the time of the note's file, which is used if the note has no sensible time of its own.
    """
    runs = _runs(note)
    if runs is not None:
        return runs
    return time.time() - written_at(note, written) < seconds


def written_at(note: Mapping[str, Any], written: float) -> float:
    """When a note was written, in seconds since 1970: what it says itself, or else the time of its file."""
    at = note.get("at")
    sensible = isinstance(at, int | float) and math.isfinite(at) and at < time.time() + _SECONDS_APART
    return float(at) if sensible and at is not None else written


def _runs(note: Mapping[str, Any]) -> bool | None:
    """Whether the process of a note is running; None if it cannot be looked up from here."""
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
    # Earlier versions noted only the host. Such a process is alive if it runs here; if not, it may run elsewhere.
    return True if runs and "boot" not in note else None


def _whereabouts() -> dict[str, str | None]:
    """What tells whether two processes can look each other up: host name, boot and process namespace."""
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
    """The process namespace; other systems than Linux have only one."""
    try:
        return str(Path("/proc/self/ns/pid").stat().st_ino)
    except OSError:
        return None if sys.platform == "linux" else "only"


def _sees_processes() -> bool:
    """Whether other processes can be looked up, by the first of all: a missing or restricted /proc does not show it."""
    try:
        return bool(psutil.pid_exists(1) and psutil.pid_exists(os.getpid()))
    except (OSError, psutil.Error):
        return False


def _started(pid: int) -> str | None:
    """When a process started, in ticks since the boot; None if it has ended."""
    try:
        process = psutil.Process(pid)
        # In a container without an init process, one that has ended may stay in the table forever.
        if process.status() in _HAS_ENDED:
            return None
        return str(round((process.create_time() - psutil.boot_time()) * _TICKS_PER_SECOND))
    except psutil.NoSuchProcess:
        return None
