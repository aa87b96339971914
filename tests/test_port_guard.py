"""Connections to the embedded engine: only those of its own process are accepted, from the first moment on."""

import contextlib
import os
import select
import socket
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import servers

from ndcg_spark.engine import port_guard
from ndcg_spark.errors import EngineError

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the kernel's filter is Linux's")

#: What another process says to a port, and what it hears: nothing if the connection is closed or reset.
STRANGER = """if True:
    import socket, sys
    heard = b""
    with socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=10) as connection:
        try:
            connection.sendall(b"obey")
            if sys.argv[2] == "waits":
                heard = connection.recv(100)
        except ConnectionError:
            pass
    print(heard)
"""


class Greeting:
    """A server that greets whoever it accepts, in a thread that its `start` starts."""

    def __init__(self):
        self.listening = socket.socket()
        self.may_accept = threading.Event()
        self.may_accept.set()
        self.ended = threading.Event()
        self.greeted = []
        self.thread = threading.Thread(target=self._accept)

    def start(self, *, background):
        assert background
        self.listening.bind(("127.0.0.1", 0))
        self.listening.listen()
        self.listening.setblocking(False)
        self.port = self.listening.getsockname()[1]
        self.thread.start()

    def _accept(self):
        self.may_accept.wait()
        while not self.ended.is_set():
            select.select([self.listening], [], [], 0.05)
            with contextlib.suppress(BlockingIOError):
                connection, address = self.listening.accept()
                self.greeted.append(address)
                with connection:
                    connection.sendall(b"welcome")


@pytest.fixture
def greeting():
    server = Greeting()
    yield server
    server.ended.set()
    server.may_accept.set()
    if server.thread.ident:
        server.thread.join()
    server.listening.close()


def stranger(port, then="waits"):
    said = subprocess.run(
        [sys.executable, "-c", STRANGER, str(port), then],
        capture_output=True,
        text=True,
        check=True,
    )
    return said.stdout.strip()


def visit(port, family=socket.AF_INET):
    with socket.socket(family) as ours:
        ours.settimeout(10)
        ours.connect(("127.0.0.1" if family == socket.AF_INET else "::ffff:127.0.0.1", port))
        return ours.recv(100), ours.getsockname()[1]


@pytest.mark.parametrize("family", [socket.AF_INET, socket.AF_INET6])
def test_only_a_connection_of_this_process_is_accepted(greeting, family):
    admitted = port_guard.start(greeting)
    assert stranger(greeting.port) == "b''"
    assert stranger(greeting.port, "leaves") == "b''"
    assert not admitted.is_set()
    heard, port = visit(greeting.port, family)
    assert heard == b"welcome"
    assert stranger(greeting.port) == "b''"
    # It is set when the server has the connection, which may greet before.
    assert admitted.wait(10)
    assert greeting.greeted == [("127.0.0.1", port)]


def test_a_stranger_who_came_before_the_server_accepts_hears_nothing_and_does_not_hold_up_ours(
    greeting,
):
    greeting.may_accept.clear()
    port_guard.start(greeting)
    assert stranger(greeting.port, "leaves") == "b''"
    with subprocess.Popen(
        [sys.executable, "-c", STRANGER, str(greeting.port), "waits"],
        stdout=subprocess.PIPE,
        text=True,
    ) as waiting:
        servers.wait_until(
            lambda: connections_to(greeting.port) == 2,
            "the stranger's connection",
            Path(os.devnull),
            10,
        )
        with socket.create_connection(("127.0.0.1", greeting.port), timeout=10) as ours:
            greeting.may_accept.set()
            assert ours.recv(100) == b"welcome"
        assert waiting.communicate()[0].strip() == "b''"
    assert len(greeting.greeted) == 1


def connections_to(port):
    """How many connections to a port the kernel keeps at the server's end, whether they stand or were left."""
    lines = Path("/proc/self/net/tcp").read_text(encoding="ascii").splitlines()[1:]
    return sum(
        line.split()[1].endswith(f":{port:04X}") and line.split()[3] in {"01", "08"}
        for line in lines
    )


def test_a_connection_of_ours_that_was_given_up_is_not_accepted(greeting):
    with socket.create_server(("127.0.0.1", 0)) as listening:
        with socket.create_connection(listening.getsockname()) as ours:
            accepted, _ = listening.accept()
            assert port_guard._is_ours(accepted.fileno())
            accepted.shutdown(socket.SHUT_RDWR)
            assert not port_guard._is_ours(accepted.fileno())
        accepted.close()
        assert ours.fileno() == -1


def guards():
    return [thread for thread in threading.enumerate() if thread.name == "port-guard"]


def test_the_guard_ends_with_the_thread_that_it_guards(greeting):
    # Those of earlier tests may be ending.
    before = guards()
    port_guard.start(greeting)
    (guard,) = set(guards()) - set(before)
    greeting.ended.set()
    servers.wait_until(lambda: not guard.is_alive(), "the guard's end", Path(os.devnull), 10)


def test_where_no_guard_is_possible_the_server_starts_only_for_somebody_who_is_alone_and_says_so(
    greeting, monkeypatch
):
    monkeypatch.setattr(port_guard.platform, "machine", lambda: "pdp11")
    with pytest.raises(
        EngineError, match=r"cannot be guarded .* unknown machine pdp11; "
    ) as refused:
        port_guard.start(greeting)
    assert (refused.value.advice.option, refused.value.advice.value) == ("engine", "spark")
    assert not hasattr(greeting, "port")
    monkeypatch.setenv(port_guard.OPEN_PORT, "1")
    assert port_guard.start(greeting).is_set()
    assert greeting.port
