"""The embedded engine's port, which lets in only connections of this very process.

Sail has no passwords: whoever reaches its port can run code as the user of this process, and every user of the machine
can see and reach ports on loopback. So the thread that accepts Sail's connections gets a filter of system calls
(seccomp) by which the kernel hands each of its calls of accept to the guard, before it is executed. The guard accepts
in its place and closes every connection whose other end is not a socket of this process. Sail never reads a byte of it,
from the first moment on, and whoever was faster gains nothing.
"""

import contextlib
import ctypes
import fcntl
import os
import platform
import select
import socket
import struct
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Protocol

from ndcg_spark.errors import EngineError

#: The numbers of the system calls seccomp and accept4, by machine.
_CALLS = {"x86_64": (317, 288), "aarch64": (277, 242)}
_NO_NEW_PRIVILEGES = 38
_SET_FILTER = 1
#: Flags of a filter: its threads are not slowed down against Spectre, and a guard can answer for the kernel.
_QUICK, _WITH_GUARD = 1 << 2, 1 << 3
#: Instructions of the filter: load the call's number, compare it, and answer.
_LOAD, _IS_EQUAL, _RETURN = 0x20, 0x15, 0x06
_ASK_THE_GUARD, _ALLOW = 0x7FC00000, 0x7FFF0000
#: What the kernel asks the guard: id, process, flags; the call's number, machine, place in the code and six arguments.
_QUESTION = struct.Struct("=QIIiIQ6Q")
#: What it is told: the id, the call's value, its error, flags.
_ANSWER = struct.Struct("=QqiI")
_RECEIVE, _SEND = 0xC0502100, 0xC0182101
_ESTABLISHED = 1
#: Set to 1, the variable says that no other user can reach this machine's loopback, where there can be no guard.
OPEN_PORT = "NDCG_SPARK_OPEN_PORT"

_libc = ctypes.CDLL(None, use_errno=True)


class Server(Protocol):
    """A server that accepts connections in a thread of its own, which `start` starts."""

    def start(self, *, background: bool) -> None:
        """Return when it listens."""


def start(server: Server) -> threading.Event:
    """Start a server that accepts connections of this process only; the event is set when it has accepted one.

    Linux can do that. On other systems the server accepts whoever comes, and the event is set from the beginning.

    Raises
    ------
    EngineError
        The kernel, or the container that this process is in, does not allow it, and OPEN_PORT is not set; the server
        was not started.
    """
    admitted = threading.Event()
    if sys.platform != "linux":
        server.start(background=True)
        admitted.set()
        return admitted
    # The filter cannot be taken off a thread, and the threads that it starts inherit it: so it is a thread's that ends.
    with ThreadPoolExecutor(max_workers=1) as thread:
        try:
            questions = thread.submit(_filter_accept).result()
        except OSError as error:
            if os.environ.get(OPEN_PORT) == "1":
                thread.submit(server.start, background=True).result()
                admitted.set()
                return admitted
            raise EngineError(
                f"engine: the embedded engine's port cannot be guarded against other users here, {error}; it needs "
                "Linux 5.0 on x86_64 or aarch64, and a container that allows seccomp; use --engine spark or, where "
                f"nobody else can log in, set {OPEN_PORT}=1"
            ) from error
        # If the server does not start, nobody is left to ask the guard, and it ends.
        threading.Thread(target=_guard, args=(questions, admitted), name="port-guard", daemon=True).start()
        thread.submit(server.start, background=True).result()
    return admitted


def _filter_accept() -> int:
    """From now on, this thread's calls of accept wait for a guard; returns the descriptor that it is asked through."""
    if platform.machine() not in _CALLS:
        raise OSError(f"unknown machine {platform.machine()}")
    seccomp, accept = _CALLS[platform.machine()]
    instructions = [
        (_LOAD, 0, 0, 0),
        (_IS_EQUAL, 0, 1, accept),
        (_RETURN, 0, 0, _ASK_THE_GUARD),
        (_RETURN, 0, 0, _ALLOW),
    ]
    code = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *each) for each in instructions))
    program = ctypes.create_string_buffer(struct.pack("HP", len(instructions), ctypes.addressof(code)))
    # Without privileges of its own, a thread may be filtered if it can never gain any.
    _checked(_libc.prctl(_NO_NEW_PRIVILEGES, *(ctypes.c_ulong(value) for value in (1, 0, 0, 0))))
    return _checked(_libc.syscall(ctypes.c_long(seccomp), _SET_FILTER, _QUICK | _WITH_GUARD, program))


def _checked(value: int) -> int:
    if value < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return value


def _guard(questions: int, admitted: threading.Event) -> None:
    """Accept in the place of a filtered thread until it ends; if this ends first, that thread accepts nothing more."""
    with open(questions, "rb", buffering=0) as file:
        poll = select.poll()
        poll.register(file, select.POLLIN)
        while poll.poll()[0][1] & select.POLLIN:
            question = bytearray(_QUESTION.size)
            # A call that a signal interrupted is not waited for any more, and comes again.
            with contextlib.suppress(OSError):
                fcntl.ioctl(file, _RECEIVE, question)
                number, _, _, _, _, _, *arguments = _QUESTION.unpack(question)
                connection = _accept(*arguments[:4])
                if connection >= 0:
                    admitted.set()
                try:
                    fcntl.ioctl(file, _SEND, _ANSWER.pack(number, max(connection, 0), min(connection, 0), 0))
                except OSError:
                    if connection >= 0:
                        os.close(connection)


def _accept(listening: int, address: int, length: int, flags: int) -> int:
    """The next connection of this process, or the negative error of accept; all others are closed."""
    while True:
        connection: int = _libc.accept4(listening, ctypes.c_void_p(address), ctypes.c_void_p(length), flags)
        if connection < 0:
            return -ctypes.get_errno()
        with contextlib.suppress(OSError):
            if _is_ours(connection):
                return connection
        os.close(connection)


def _is_ours(connection: int) -> bool:
    """Whether a connection stands whose other end is a socket of this process."""
    ends = _ends(connection)
    if ends is None or not any(_ends(int(entry.name)) == ends[::-1] for entry in Path("/proc/self/fd").iterdir()):
        return False
    # No two connections that stand have the same ends, but one that was given up may have had those of ours.
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, fileno=os.dup(connection)) as accepted:
        return accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0] == _ESTABLISHED


def _ends(descriptor: int) -> tuple[object, object] | None:
    """Host and port of both ends of a connection, first this one; None if a descriptor is of something else."""
    with contextlib.suppress(OSError):
        # With IPv6 there is room for addresses of both kinds.
        end = socket.socket(socket.AF_INET6, socket.SOCK_STREAM, fileno=descriptor)
        try:
            return _host_and_port(end.getsockname()), _host_and_port(end.getpeername())
        finally:
            end.detach()
    return None


def _host_and_port(address: object) -> tuple[str, int] | None:
    """An address of IPv4, also where a socket of IPv6 writes it, as gRPC's do."""
    match address:
        case (str(host), int(port), *_):
            return host.removeprefix("::ffff:"), port
    return None
