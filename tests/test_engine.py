"""Which engine is opened, what is known of it, and how it says that it is not there or died."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from types import SimpleNamespace

import grpc
import pytest
import servers
import sessions
from pyspark.errors import AnalysisException

from ndcg_spark import errors
from ndcg_spark.engine import classic, connect, embedded, failures, lost, open_engine, reason_of
from ndcg_spark.engine.engine import join_in_place, keep_partition_names, machine_memory, usable_cores
from ndcg_spark.errors import EngineError

COUNT = "print(engine.kind, engine.sees_local_files, engine.session.range(3).count())"


def said_with(choices, program=COUNT, **environment):
    """What a program says with each of these engines open, in one process, or the error that it ends with."""
    lines = [
        "from ndcg_spark.engine import open_engine",
        "from ndcg_spark.errors import EngineError",
        "try:",
        f"    for choice in {choices.split()}:",
        "        with open_engine(choice) as engine:",
        *(f"            {line}" for line in program.splitlines()),
        "except EngineError as error:",
        "    print('refused:', error)",
    ]
    clean = {name: value for name, value in sessions.environment().items() if name not in ("SPARK_REMOTE", "JAVA_HOME")}
    done = subprocess.run(
        [sys.executable, "-c", "\n".join(lines)],
        env={**clean, **servers.QUICK_SPARK, **environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=180,
    )
    return done.stdout.strip() or done.stderr[-2000:]


@pytest.fixture(scope="module")
def sail_server(tmp_path_factory):
    port, log = servers.free_port(), tmp_path_factory.mktemp("sail") / "log"
    program = f"from pysail.spark import SparkConnectServer as S; S('127.0.0.1', {port}).start(background=False)"
    with servers.running([sys.executable, "-c", program], log, dict(os.environ)):
        servers.wait_until(lambda: servers.answers(port), "the Sail server", log)
        yield f"sc://127.0.0.1:{port}"


@pytest.fixture
def silent():
    """The port of a server that accepts, and says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening.getsockname()[1]


@pytest.fixture
def web_server():
    """The port of a server of another kind."""

    def answer():
        with contextlib.suppress(OSError):
            while True:
                connection, _ = listening.accept()
                with connection:
                    connection.recv(100)
                    connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=answer, daemon=True)
        thread.start()
        yield listening.getsockname()[1]
        listening.shutdown(socket.SHUT_RDWR)
    thread.join()


def test_a_running_session_is_used_and_left_running(session):
    with open_engine("auto") as opened:
        assert opened.session is session
    assert session.range(1).count() == 1


@pytest.mark.parametrize("choice", ["spark", "embedded"])
def test_a_session_is_running_in_every_thread_until_it_is_stopped(choice):
    program = """
from concurrent.futures import ThreadPoolExecutor
from ndcg_spark.engine import running_session
def kinds():
    with open_engine(choice) as found:
        return running_session() is engine.session, found.session is engine.session
with ThreadPoolExecutor(1) as pool:
    print(pool.submit(kinds).result())
    engine.session.stop()
    print(pool.submit(running_session).result(), running_session())"""
    assert said_with(choice, program) == "(True, True)\nNone None"


def test_the_embedded_engine_is_taken_where_it_is_installed():
    assert said_with("auto") == "embedded True 3"


def test_no_java_and_no_embedded_engine_is_an_error_that_names_both_ways_out(monkeypatch):
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(EngineError, match=r"pip install 'ndcg-spark\[embedded\]'.*openjdk-17"):
        classic.start_local()


@pytest.mark.parametrize("absent", ["pyspark", "grpc", pytest.param("pysail", marks=pytest.mark.slow)])
def test_an_engine_that_is_not_installed_is_exit_code_4_with_what_to_install(absent, tmp_path):
    program = f"import sys; sys.modules[{absent!r}] = None; from ndcg_spark.__main__ import program; program()"
    engine = ["--remote", "sc://127.0.0.1:9"] if absent == "grpc" else ["--engine", "embedded"]
    arguments = ["evaluate", "--judgments", os.devnull, "--results", os.devnull, *engine]
    done = subprocess.run([sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (4, "")
    assert absent in done.stderr
    assert "pip install 'ndcg-spark[spark]'" in done.stderr
    assert "Traceback" not in done.stderr


def test_the_library_says_what_to_install_where_there_is_no_spark():
    program = "import sys; sys.modules['pyspark'] = None; from ndcg_spark import Convention, errors\n"
    program += "try: from ndcg_spark import open_session\nexcept errors.EngineError as error: print(error)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert "pip install 'ndcg-spark[spark]'" in done.stdout, done.stderr


def test_local_spark_is_not_looked_for_where_only_the_client_is_installed(monkeypatch):
    monkeypatch.setattr(classic, "is_remote_only", lambda: True)
    with pytest.raises(EngineError, match="pyspark-client has no Spark of its own"):
        classic.start_local()


@pytest.mark.parametrize("start", [classic.submitted, lambda _: connect.connect("local")])
def test_a_client_in_place_of_the_spark_of_a_platform_is_named_as_what_is_wrong(start, monkeypatch):
    monkeypatch.setattr(classic, "is_remote_only", lambda: True)
    with pytest.raises(EngineError, match="pyspark-client has no Spark of its own"):
        start("auto")


def install(folder, monkeypatch, **versions):
    """Let these be the only distributions that are installed."""
    for name, version in versions.items():
        (folder / f"{name}-{version}.dist-info").mkdir()
        text = f"Name: {name.replace('_', '-')}\nVersion: {version}\n"
        (folder / f"{name}-{version}.dist-info/METADATA").write_text(text, encoding="utf-8")
    monkeypatch.setattr(sys, "path", [str(folder)])


def test_pyspark_and_its_client_at_two_versions_are_refused_with_how_to_repair_them(tmp_path, monkeypatch):
    install(tmp_path, monkeypatch, pyspark="4.3.0", pyspark_client="4.2.0")
    said = "pyspark 4.3.0 and pyspark-client 4.2.0 .*pip uninstall --yes pyspark pyspark-client, then"
    with pytest.raises(EngineError, match=said), open_engine("embedded"):
        pass


def test_pyspark_and_its_client_at_one_version_are_not_refused(tmp_path, monkeypatch):
    install(tmp_path, monkeypatch, pyspark="4.2.0", pyspark_client="4.2.0")
    errors.refuse_mixed_sparks()


@pytest.mark.parametrize(
    ("installed", "advice"),
    [
        # pip uninstall pyspark has removed what the client shares with it, and pip install would do nothing.
        ({"pyspark_client": "4.2.0"}, "pip uninstall --yes pyspark-client, then install"),
        ({}, "No module named 'pyspark.sql'; install"),
    ],
)
def test_a_pyspark_without_its_files_is_told_from_one_that_is_not_installed(installed, advice, tmp_path, monkeypatch):
    install(tmp_path, monkeypatch, **installed)
    with pytest.raises(EngineError, match=advice), errors.engine_imports():
        raise ModuleNotFoundError("No module named 'pyspark.sql'", name="pyspark.sql")


def refusing(name, _):
    raise AnalysisException(f"[CONFIG_NOT_AVAILABLE] Configuration {name} is not available.")


def test_a_platform_that_refuses_settings_is_exit_code_4_where_one_is_needed():
    session = SimpleNamespace(conf=SimpleNamespace(set=refusing))
    join_in_place(session)
    with pytest.raises(EngineError, match=r"cannot be set, \[CONFIG_NOT_AVAILABLE\].*serverless"):
        keep_partition_names(session)


@pytest.mark.parametrize(
    ("default", "storage", "is_near"),
    [("file:///", "", True), ("hdfs://host:9000/", "hdfs://host:9000", False), ("dbfs:///", "", False)],
)
def test_paths_without_a_scheme_are_in_a_storage_that_has_a_host(default, storage, is_near):
    values = {"spark.master": "local[*]", "spark.hadoop.fs.defaultFS": default}
    conf = SimpleNamespace(get=values.get, set=lambda *_: None)
    opened = classic.engine_of(SimpleNamespace(conf=conf, version="4.1.1"))
    assert (opened.default_storage, opened.sees_local_files) == (storage, is_near)


def test_failures_of_an_engine_are_known_where_only_the_client_is_installed(monkeypatch):
    monkeypatch.setitem(sys.modules, "py4j", None)
    monkeypatch.setitem(sys.modules, "py4j.protocol", None)
    assert issubclass(AnalysisException, failures())
    assert not issubclass(ImportError, failures())
    assert lost(ConnectionResetError())
    assert not lost(AnalysisException("no_such"))


def test_the_ports_of_local_spark_require_a_secret(monkeypatch):
    monkeypatch.setattr(classic, "start_session", lambda builder, _: pytest.fail(json.dumps(builder._options)))
    with pytest.raises(pytest.fail.Exception) as options:
        classic.start_local()
    assert json.loads(str(options.value))["spark.authenticate"] == "true"


def test_the_embedded_engine_cannot_be_had_under_spark_submit():
    assert "refused: engine: spark-submit brings its own Spark" in said_with("embedded", PYSPARK_GATEWAY_PORT="1")


@pytest.mark.slow
def test_a_server_that_is_not_there_is_an_engine_error_without_secrets():
    answer = said_with("auto", SPARK_REMOTE="sc://127.0.0.1:9/;token=secret;x-api-key=hidden")
    assert answer.startswith(
        "refused: engine: no Spark Connect server answers at sc://127.0.0.1:9/;token=***;x-api-key=***"
    )
    assert "secret" not in answer
    assert "hidden" not in answer


@pytest.mark.spark
@pytest.mark.slow
def test_an_engine_that_is_named_is_not_overruled_by_the_environment():
    named = said_with("embedded spark", SPARK_REMOTE="sc://127.0.0.1:9")
    assert named.splitlines() == ["embedded True 3", "spark True 3"]


def test_a_server_that_says_nothing_is_given_up(silent, monkeypatch):
    monkeypatch.setattr(connect, "ANSWER_SECONDS", 0.5)
    with pytest.raises(EngineError, match=r"no Spark Connect server answers at sc://127\.0\.0\.1:\d+, Deadline"):
        connect.require_server(f"sc://127.0.0.1:{silent}")


def test_a_server_of_another_kind_is_told_at_once(web_server):
    with pytest.raises(EngineError, match="no Spark Connect server answers at"):
        connect.require_server(f"sc://127.0.0.1:{web_server}")


def test_a_token_for_a_server_without_encryption_is_told_at_once(sail_server, monkeypatch):
    # Once a full run of the tests stood still where a connection with a token was closed.
    monkeypatch.setattr(grpc._channel.Channel, "close", lambda _: pytest.fail("it is closed"))
    connect.require_server(sail_server)
    with pytest.raises(EngineError, match=r"token=\*\*\* \(encrypted, as use_ssl or a token demands\)"):
        connect.require_server(f"{sail_server}/;token=abc")


@pytest.mark.parametrize("url", ["sc://host:1/;a", "sc://host:port", "http://host"])
def test_what_is_no_address_is_told(url):
    with pytest.raises(EngineError, match="is not the address of a Spark Connect server"):
        connect.require_server(url)


@pytest.mark.spark
@pytest.mark.slow
def test_local_spark_starts_where_the_embedded_engine_was_used_before():
    assert said_with("embedded spark").splitlines() == ["embedded True 3", "spark True 3"]


@pytest.mark.slow
def test_a_server_of_sail_is_refused(sail_server):
    assert said_with("auto", SPARK_REMOTE=sail_server).startswith(f"refused: engine: Sail 0.7.2 ({sail_server}) is a")


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's filter is Linux's")
def test_no_other_process_is_answered_at_the_port_of_the_embedded_engine():
    # A server of HTTP/2 speaks first, and its first two bytes are zero.
    knocking = """
import socket, subprocess, sys
port = engine.session.client._builder.endpoint.rsplit(":", 1)[1]
knock = "import socket, sys; print(socket.create_connection(('127.0.0.1', sys.argv[1]), timeout=9).recv(2))"
print(subprocess.run([sys.executable, "-c", knock, port], capture_output=True, text=True).stdout.strip())
print(socket.create_connection(("127.0.0.1", port), timeout=9).recv(2))
print(engine.session.range(3).count())
""".strip()
    assert said_with("embedded", knocking).splitlines() == ["b''", str(bytes(2)), "3"]


@pytest.mark.slow
def test_an_embedded_engine_that_is_not_guarded_is_refused():
    unguarded = """import threading
from ndcg_spark.engine import open_engine, port_guard
port_guard.start = lambda server: server.start(background=True) or threading.Event()
with open_engine("embedded"):
    pass
"""
    done = subprocess.run([sys.executable, "-c", unguarded], capture_output=True, text=True, check=False, timeout=60)
    assert "EngineError: engine: the embedded engine accepts connections past its guard" in done.stderr


@pytest.mark.slow
def test_a_proxy_for_web_pages_is_not_asked_for_the_embedded_engine():
    assert said_with("embedded", http_proxy="http://127.0.0.1:9", no_proxy="") == "embedded True 3"


@pytest.mark.slow
@pytest.mark.parametrize("choice", ["embedded", pytest.param("spark", marks=pytest.mark.spark)])
def test_an_engine_that_dies_at_its_work_is_an_engine_error_soon(choice):
    dying = {
        "embedded": "import gc; from pysail.spark import SparkConnectServer as S\n"
        "[found.stop() for found in gc.get_objects() if type(found) is S]",
        "spark": "import psutil, signal\n"
        "[child.send_signal(signal.SIGKILL) for child in psutil.Process().children(recursive=True)]",
    }
    answer = said_with(choice, f"{dying[choice]}\nprint(engine.session.range(3).count())")
    assert answer.startswith("refused: engine: it died, "), answer
    assert "rendezvous" not in answer.lower()


@pytest.mark.slow
def test_a_signal_ends_the_command_line_at_once_whatever_the_engine_has_installed():
    program = """if True:
        import signal, time
        from ndcg_spark.__main__ import _default_signals
        from ndcg_spark.engine import open_engine
        # A shell's background jobs begin with this signal ignored.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        with _default_signals(), open_engine("embedded"):
            print("open", flush=True)
            time.sleep(60)
        """
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "open\n"
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == -signal.SIGINT


@pytest.mark.slow
def test_temporary_folders_of_an_engine_end_with_it(tmp_path):
    program = f"""if True:
        from ndcg_spark.engine import open_engine
        with open_engine("embedded") as engine:
            (engine.scratch.folder() / "a").symlink_to("/nowhere")
            print("made", flush=True)
        import pathlib
        print([*pathlib.Path({str(tmp_path)!r}).glob("ndcg-spark-*")])
        """
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "TMPDIR": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.stdout == "made\n[]\n", done.stderr
    assert [*tmp_path.glob("ndcg-spark-*")] == []


@pytest.mark.classic
def test_an_engine_says_why_in_one_line(session):
    with pytest.raises(Exception, match="no_such") as failed:
        session.sql("SELECT no_such").collect()
    assert reason_of(failed.value).startswith("[UNRESOLVED_COLUMN")


def test_the_memory_of_the_machine_is_what_a_process_may_use():
    assert 2**28 < machine_memory() <= os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


@pytest.mark.parametrize(
    ("limits", "cores"),
    [
        ({"cpu.max": "150000 100000"}, 2),
        ({"cpu.max": "max 100000"}, 8),
        ({"cpu/cpu.cfs_quota_us": "300000", "cpu/cpu.cfs_period_us": "100000"}, 3),
        ({"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"}, 8),
        ({"cpu.max": "99900000 100000"}, 8),
        ({}, 8),
    ],
)
def test_the_cores_are_those_that_a_process_may_use_on_every_engine(limits, cores, tmp_path, monkeypatch):
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {*range(8)}, raising=False)
    monkeypatch.setattr("ndcg_spark.engine.engine.CONTROL_GROUPS", tmp_path)
    monkeypatch.setattr("os.environ", {**os.environ})
    os.environ.pop("SAIL_EXECUTION__DEFAULT_PARALLELISM", None)
    (tmp_path / "cpu").mkdir()
    for name, limit in limits.items():
        (tmp_path / name).write_text(f"{limit}\n", "ascii")
    assert usable_cores() == cores
    monkeypatch.setattr(classic, "start_session", lambda builder, _: pytest.fail(json.dumps(builder._options)))
    with pytest.raises(pytest.fail.Exception) as options:
        classic.start_local()
    assert json.loads(str(options.value))["spark.master"] == f"local[{cores}]"
    monkeypatch.setattr(embedded.port_guard, "start", lambda _: pytest.fail("it starts"))
    with pytest.raises(pytest.fail.Exception):
        embedded.start()
    assert int(os.environ["SAIL_EXECUTION__DEFAULT_PARALLELISM"]) == max(16, 4 * cores)
