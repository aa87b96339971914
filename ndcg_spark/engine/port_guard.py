"""The embedded engine's port accepts connections only from this process.

Sail has no authentication: without this guard, every user of the machine could connect to its port
on loopback and run code as the user of this process. A seccomp filter on Sail's accepting thread
makes the kernel pass each of its accept calls to the guard, which accepts instead and closes
connections whose other end is not a socket of this process.
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
from typing import Any

from ndcg_spark.errors import EngineError
from ndcg_spark.voices import Give

#: The numbers of the system calls seccomp and accept4, by machine.
_CALLS = {"x86_64": (317, 288), "aarch64": (277, 242)}
_NO_NEW_PRIVILEGES = 38
_SET_FILTER = 1
#: Flags of the filter: no Spectre mitigation, which slows a thread down; user space decides
#: (SECCOMP_USER_NOTIF).
_NO_MITIGATION, _USER_DECIDES = 1 << 2, 1 << 3
#: Instructions of the filter: load the number of the call, compare it, return an action.
_LOAD, _IS_EQUAL, _RETURN = 0x20, 0x15, 0x06
_NOTIFY, _ALLOW = 0x7FC00000, 0x7FFF0000
#: struct seccomp_notif: id, process, flags; the call's number, machine, instruction pointer and six
#: arguments.
_NOTIFICATION = struct.Struct("=QIIiIQ6Q")
#: struct seccomp_notif_resp: the id, the call's value, its error, flags.
_RESPONSE = struct.Struct("=QqiI")
_RECEIVE, _SEND = 0xC0502100, 0xC0182101
_ESTABLISHED = 1
#: The variable to set to 1 to start without a guard, if no other user can reach the loopback
#: interface.
OPEN_PORT = "NDCG_SPARK_OPEN_PORT"

_libc = ctypes.CDLL(None, use_errno=True)


def start(server: Any) -> threading.Event:
    """Start a server that accepts connections only from this process. The event is set when it has
    accepted one.

    The server's `start` starts the accepting thread and returns when it listens. Systems other than
    Linux have no guard: the server accepts every connection, and the event is set from the start.
    Raises EngineError if the kernel or the container does not allow a guard and OPEN_PORT is not
    set; the server is then not started.
    """
    admitted = threading.Event()
    if sys.platform != "linux":
        server.start(background=True)
        admitted.set()
        return admitted
    # A filter cannot be removed, and new threads inherit it, so it is set in a thread that starts
    # the server and ends.
    with ThreadPoolExecutor(max_workers=1) as thread:
        try:
            notifications = thread.submit(_filter_accept).result()
        except OSError as error:
            if os.environ.get(OPEN_PORT) == "1":
                thread.submit(server.start, background=True).result()
                admitted.set()
                return admitted
            what = (
                "engine: the embedded engine's port cannot be guarded against other users here, "
                f"{error}"
            )
            needs = "it needs Linux 5.0 on x86_64 or aarch64, and a container that allows seccomp"
            alone = f"or, if nobody else can log in, set {OPEN_PORT}=1"
            raise EngineError(
                f"{what}; {needs}", Give("engine", "spark", words="use", then=alone)
            ) from error
        # If the server does not start, no filtered thread is left, and the guard ends.
        threading.Thread(
            target=_guard, args=(notifications, admitted), name="port-guard", daemon=True
        ).start()
        thread.submit(server.start, background=True).result()
    return admitted


def _filter_accept() -> int:
    """Make accept calls of this thread wait for a guard, and return the descriptor of their
    notifications.
    """
    if platform.machine() not in _CALLS:
        raise OSError(f"unknown machine {platform.machine()}")
    seccomp, accept = _CALLS[platform.machine()]
    # An accept call waits for the guard; every other call is allowed. Each instruction is a code,
    # how many instructions to skip if it is true and if it is false, and an operand.
    instructions = [
        struct.pack("HBBI", _LOAD, 0, 0, 0),
        struct.pack("HBBI", _IS_EQUAL, 0, 1, accept),
        struct.pack("HBBI", _RETURN, 0, 0, _NOTIFY),
        struct.pack("HBBI", _RETURN, 0, 0, _ALLOW),
    ]
    code = ctypes.create_string_buffer(b"".join(instructions))
    # A program is the number of its instructions and their address.
    program = ctypes.create_string_buffer(
        struct.pack("HP", len(instructions), ctypes.addressof(code))
    )
    # An unprivileged thread may set a filter if it can never gain privileges.
    yes, unused = ctypes.c_ulong(1), ctypes.c_ulong(0)
    _checked(_libc.prctl(_NO_NEW_PRIVILEGES, yes, unused, unused, unused))
    flags = _NO_MITIGATION | _USER_DECIDES
    return _checked(_libc.syscall(ctypes.c_long(seccomp), _SET_FILTER, flags, program))


def _checked(value: int) -> int:
    """The value that a call returned; OSError if it reports an error."""
    if value < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return value


def _guard(notifications: int, admitted: threading.Event) -> None:
    """Accept for the filtered thread until it ends. If this ends first, that thread accepts nothing
    more.
    """
    with open(notifications, "rb", buffering=0) as file:
        poll = select.poll()
        poll.register(file, select.POLLIN)
        while _has_call(poll):
            # A call that a signal interrupts is cancelled, and is notified again.
            with contextlib.suppress(OSError):
                if _answer(file.fileno()):
                    admitted.set()


def _has_call(poll: select.poll) -> bool:
    """Wait for a call of the filtered thread; False when that has ended."""
    _, event = poll.poll()[0]
    return bool(event & select.POLLIN)


def _answer(notifications: int) -> bool:
    """Accept for one call. Return whether the filtered thread got a connection."""
    notification = bytearray(_NOTIFICATION.size)
    fcntl.ioctl(notifications, _RECEIVE, notification)
    number, _, _, _, _, _, *arguments = _NOTIFICATION.unpack(notification)
    connection = _accept(*arguments[:4])
    if connection < 0:
        _send(notifications, number, error=connection)
        return False
    try:
        _send(notifications, number, value=connection)
    except OSError:
        os.close(connection)
        raise
    return True


def _send(notifications: int, number: int, value: int = 0, error: int = 0) -> None:
    """Answer the call with this number: its value, or a negative error."""
    fcntl.ioctl(notifications, _SEND, _RESPONSE.pack(number, value, error, 0))


def _accept(listening: int, address: int, length: int, flags: int) -> int:
    """The next connection from this process, or the negative error of accept. Other connections are
    closed.
    """
    while True:
        connection: int = _libc.accept4(
            listening, ctypes.c_void_p(address), ctypes.c_void_p(length), flags
        )
        if connection < 0:
            return -ctypes.get_errno()
        with contextlib.suppress(OSError):
            if _is_ours(connection):
                return connection
        os.close(connection)


def _is_ours(connection: int) -> bool:
    """Whether the other end of a connection is an open socket of this process."""
    ends = _ends(connection)
    if ends is None:
        return False
    near, far = ends
    own = [_ends(int(entry.name)) for entry in Path("/proc/self/fd").iterdir()]
    # The socket at the other end has the same two addresses, in the opposite order.
    if (far, near) not in own:
        return False
    # Ends are unique only among established connections: a closed one may have had the same ends.
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, fileno=os.dup(connection)) as accepted:
        return accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 1)[0] == _ESTABLISHED


def _ends(descriptor: int) -> tuple[object, object] | None:
    """Host and port of the near and the far end of a connection, or None if the descriptor is not a
    connection.
    """
    with contextlib.suppress(OSError):
        # A socket of this family can return IPv4 and IPv6 addresses.
        end = socket.socket(socket.AF_INET6, socket.SOCK_STREAM, fileno=descriptor)
        try:
            return _host_and_port(end.getsockname()), _host_and_port(end.getpeername())
        finally:
            end.detach()
    return None


def _host_and_port(address: object) -> tuple[str, int] | None:
    """The address; IPv4 mapped into IPv6, as gRPC uses it, becomes plain IPv4."""
    match address:
        case (str(host), int(port), *_):
            return host.removeprefix("::ffff:"), port
    return None
