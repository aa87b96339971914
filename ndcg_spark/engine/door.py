"""The embedded engine's port, closed to everybody else on this machine.

Sail has no passwords: whoever reaches its port can run code as the user of this process, and every user of the machine
can reach ports on loopback. So once our own connection is established, the listening socket drops all other requests.
"""

import contextlib
import ctypes
import os
import socket
import struct
import sys
from collections.abc import Iterator
from pathlib import Path

from ndcg_spark.errors import EngineError

_ATTACH_FILTER = 26
#: The only instruction of a program for Linux's packet filter: return 0, which drops the packet.
_RETURN, _DROP_ALL = 0x06, 0
#: How /proc/net/tcp marks an established connection.
_ESTABLISHED = "01"


def shut(port: int) -> bool:
    """Refuse every further connection to a port that this process listens on; True if that was possible.

    Only Linux has such a filter. On other systems the port stays open for as long as the engine runs.

    Raises
    ------
    EngineError
        Another user was connected to it already.
    """
    if sys.platform != "linux":
        return False
    with contextlib.suppress(OSError):
        for listening in _sockets():
            if listening.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN) and listening.getsockname()[1] == port:
                instruction = ctypes.create_string_buffer(struct.pack("HBBI", _RETURN, 0, 0, _DROP_ALL))
                program = struct.pack("HP", 1, ctypes.addressof(instruction))
                listening.setsockopt(socket.SOL_SOCKET, _ATTACH_FILTER, program)
                _refuse_others(port)
                return True
    return False


def _sockets() -> Iterator[socket.socket]:
    """Every socket of this process, as a handle of its own that is closed when the next is asked for."""
    for entry in Path("/proc/self/fd").iterdir():
        with contextlib.suppress(OSError):
            if entry.readlink().name.startswith("socket:"):
                with socket.socket(fileno=os.dup(int(entry.name))) as found:
                    yield found


def _refuse_others(port: int) -> None:
    """EngineError if a process of another user connected to the port before it was closed."""
    ours = os.getuid()
    for table in ("/proc/self/net/tcp", "/proc/self/net/tcp6"):
        for line in Path(table).read_text(encoding="ascii").splitlines()[1:]:
            _, _, remote, state, *rest = line.split()
            if int(remote.rsplit(":", 1)[1], 16) == port and state == _ESTABLISHED and int(rest[3]) != ours:
                raise EngineError(
                    "engine: a process of another user is connected to the embedded engine's port; use --engine spark"
                )
