"""Which engine is opened, what is known of it, and its errors if it is missing or stops."""

import contextlib
import functools
import io
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from unittest.mock import Mock

import grpc
import pyspark
import pytest
import serverless
import servers
import sessions
from programs import forked
from pyspark.errors import AnalysisException

from ndcg_spark import engine, errors
from ndcg_spark.__main__ import main
from ndcg_spark.engine import failure_reason, failures, lost
from ndcg_spark.engine import sessions as engines
from ndcg_spark.errors import EngineError, InstallationError
from ndcg_spark.scratch import Scratch

ROOT = Path(__file__).parents[1]


def printed(program, **environment):
    """What a program prints in a process whose Spark starts quickly, or the end of its errors."""
    clean = sessions.environment()
    for name in ("SPARK_REMOTE", "JAVA_HOME"):
        clean.pop(name, None)
    done = subprocess.run(
        [sys.executable, "-c", program],
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


#: Opens each engine twice: a session that is stopped is no longer running, and one that dies is told.
BOTH_ENGINES = """
import gc, signal
from concurrent.futures import ThreadPoolExecutor

import psutil
from pysail.spark import SparkConnectServer

from ndcg_spark.engine import open_engine, running_session
from ndcg_spark.errors import EngineError

def kinds(choice, engine):
    with open_engine(choice) as inner:
        return running_session() is engine.session, inner.session is engine.session

def stop(choice):
    with open_engine(choice) as engine, ThreadPoolExecutor(1) as pool:
        print(engine.kind, engine.sees_local_files, engine.session.range(3).count())
        print(*pool.submit(kinds, choice, engine).result())
        engine.session.stop()
        print(pool.submit(running_session).result(), running_session())

def die(choice, kill):
    try:
        with open_engine(choice) as engine:
            kill()
            engine.session.range(3).count()
    except EngineError as error:
        print(error)

def kill_server():
    for server in gc.get_objects():
        if type(server) is SparkConnectServer:
            server.stop()

def kill_java():
    for child in psutil.Process().children(recursive=True):
        child.send_signal(signal.SIGKILL)

stop("embedded")
die("embedded", kill_server)
stop("spark")
die("spark", kill_java)
"""


@pytest.mark.slow
@pytest.mark.spark
def test_a_session_runs_in_every_thread_until_it_is_stopped_and_its_death_is_an_engine_error():
    # A server that is named is for neither of them.
    said = printed(BOTH_ENGINES, SPARK_REMOTE="sc://127.0.0.1:9").splitlines()
    for choice, lines in (("embedded", said[:4]), ("spark", said[4:])):
        assert lines[:3] == [f"{choice} True 3", "True True", "None None"], said
        assert lines[3].startswith("engine: it stopped, "), said
    assert "rendezvous" not in "".join(said).lower()


def print_partitions():
    """How many partitions embedded engines have, each with a number of its own, or the user's."""
    os.sched_getaffinity = lambda _: {0, 1}
    for partitions, chosen in ((3, None), (5, None), (None, None), (3, "7"), (None, "7")):
        os.environ.pop("SAIL_EXECUTION__DEFAULT_PARALLELISM", None)
        if chosen:
            os.environ["SAIL_EXECUTION__DEFAULT_PARALLELISM"] = chosen
        said = io.StringIO()
        opened = engine.open_engine("embedded", partitions=partitions)
        with opened as one, contextlib.redirect_stdout(said):
            one.session.range(9).groupBy("id").count().explain()
        (found,) = re.findall(r"Hash.*?, (\d+)\)", said.getvalue())
        sys.stdout.write(f"{found}\n")


def test_each_embedded_engine_has_its_own_number_of_partitions_or_the_users(tmp_path):
    assert forked(print_partitions, cwd=tmp_path).stdout.split() == ["3", "5", "16", "7", "7"]


KNOCK = "import socket, sys; print(socket.create_connection(('127.0.0.1', sys.argv[1])).recv(2))"


def knock():
    """What another process and this one hear at the engine's port, and what the engine answers."""
    with engine.open_engine("auto") as opened:
        port = opened.session.client._builder.endpoint.rsplit(":", 1)[1]
        subprocess.run([sys.executable, "-c", KNOCK, port], timeout=60, check=True)
        heard = socket.create_connection(("127.0.0.1", port), timeout=9).recv(2)
        rows = opened.session.range(3).count()
        sys.stdout.write(f"{heard}\n{opened.kind} {opened.sees_local_files} {rows}\n")


@pytest.mark.skipif(sys.platform != "linux", reason="the kernel's filter is Linux's")
def test_no_other_process_is_answered_at_the_port_of_the_embedded_engine(tmp_path):
    # A proxy for web pages is not asked for the engine.
    said = forked(knock, cwd=tmp_path, http_proxy="http://127.0.0.1:9", no_proxy="")
    # A server of HTTP/2 speaks first, and its first two bytes are zero.
    assert said.stdout.splitlines() == ["b''", str(bytes(2)), "embedded True 3"], said.stderr


@pytest.mark.parametrize(
    ("choice", "environment", "answer"),
    [
        ("embedded", {"PYSPARK_GATEWAY_PORT": "1"}, "engine: spark-submit brings its own Spark"),
        (
            "auto",
            {"SPARK_REMOTE": "sc://127.0.0.1:9/;token=secret;x-api-key=hidden"},
            "engine: no Spark Connect server answers at sc://127.0.0.1:9/;token=***;x-api-key=***",
        ),
    ],
)
def test_an_engine_that_cannot_be_opened(choice, environment, answer, monkeypatch):
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(engine, "running_session", lambda: None)
    with pytest.raises(EngineError) as refused, engine.open_engine(choice):
        pass
    assert str(refused.value).startswith(answer)
    assert not {"secret", "hidden"} & set(str(refused.value).replace("=", ";").split(";"))


def test_a_client_does_not_take_a_program_in_no_file_for_its_doctests():
    doctests = "import sys; sys.modules['pyspark.testing.connectutils'] = None"
    program = f"{doctests}; from ndcg_spark import open_session as on; on('embedded'); assert not hasattr(sys, 'ps1')"
    environment = {
        **os.environ,
        "SPARK_SKIP_CONNECT_COMPAT_TESTS": "1",
    }  # as if pyspark-client were alone
    assert (
        subprocess.run([sys.executable, "-c", program], env=environment, check=False).returncode
        == 0
    )


def test_a_server_of_sail_is_refused(sail_server, tmp_path):
    said = forked(engines.connect, sail_server, cwd=tmp_path)
    assert "EngineError: engine: Sail " in said.stderr


def run_without(package, *arguments):
    """The command line where a package is not installed."""
    for name in [package, *sys.modules]:
        if name.partition(".")[0] == package:
            sys.modules[name] = None
    main(arguments)


def started_without_pyspark(*arguments):
    code = "import sys; sys.modules['pyspark'] = None; import ndcg_spark.__main__ as own; own.program()"
    # As a program, it would start itself again where the locale is not UTF-8.
    command = [sys.executable, "-X", "utf8", "-c", code, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.slow
@pytest.mark.parametrize("absent", ["pyspark", "grpc", "pysail"])
def test_an_engine_that_is_not_installed_is_exit_code_2_with_what_to_install(absent, tmp_path):
    choice = ["--remote", "sc://127.0.0.1:9"] if absent == "grpc" else ["--engine", "embedded"]
    arguments = ["evaluate", os.devnull, os.devnull, *choice]
    if absent == "pyspark":
        done = started_without_pyspark(*arguments)
    else:
        done = forked(run_without, absent, *arguments, cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, ""), done.stderr
    assert absent in done.stderr
    assert "pip install 'ndcg-spark[spark]'" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("java", ["", os.environ["PATH"]])
def test_local_spark_needs_java_and_more_than_a_client(java, monkeypatch):
    monkeypatch.setenv("PATH", java)
    monkeypatch.setattr(engines, "is_client_alone", lambda: bool(java))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(
        InstallationError, match=r"pip install 'ndcg-spark\[embedded\]'.*openjdk-17"
    ):
        engines.start_local()


@pytest.mark.parametrize(
    ("installed", "advice"),
    [
        (
            "pyspark-4.3.0 pyspark_client-4.2.0",
            "pip uninstall -y pyspark pyspark-client, then install",
        ),
        # pip uninstall pyspark has removed what the client shares with it, and pip install would do nothing.
        ("pyspark_client-4.2.0", "pip uninstall -y pyspark-client, then install"),
        ("", "No module named 'pyspark.sql'; install"),
    ],
)
def test_a_pyspark_without_its_files_is_told_from_one_that_is_not_installed(
    installed, advice, tmp_path, monkeypatch
):
    for package in installed.split():
        name, version = package.replace("_", "-").rsplit("-", 1)
        (tmp_path / f"{package}.dist-info").mkdir()
        (tmp_path / f"{package}.dist-info/METADATA").write_text(
            f"Name: {name}\nVersion: {version}\n", "utf-8"
        )
    monkeypatch.setattr(sys, "path", [str(tmp_path)])
    with pytest.raises(EngineError, match=advice), errors.engine_imports():
        raise ModuleNotFoundError("No module named 'pyspark.sql'", name="pyspark.sql")
    # Where its files are there, only versions that differ are refused.
    with (
        pytest.raises(EngineError, match=advice)
        if "4.3.0" in installed
        else contextlib.nullcontext()
    ):
        errors.refuse_mixed_sparks()


@pytest.mark.parametrize(
    ("first", "second", "is_refused"),
    [
        # Those of a virtual environment hide those of the system.
        (["pyspark-4.2.0"], ["pyspark-3.5.1"], False),
        (["pyspark-4.2.0", "pyspark_client-4.2.0"], ["pyspark-3.5.1"], False),
        (["pyspark-4.2.0"], ["pyspark_client-4.1.0"], False),
        (["pyspark-4.2.0", "pyspark_client-4.1.0"], ["pyspark_client-4.2.0"], True),
        ([], ["pyspark-4.2.0", "pyspark_client-4.1.0"], True),
    ],
)
def test_only_the_packages_that_are_imported_must_fit(
    first, second, is_refused, tmp_path, monkeypatch
):
    for folder, packages in (("first", first), ("second", second)):
        if packages:
            (tmp_path / folder / "pyspark").mkdir(parents=True)
            (tmp_path / folder / "pyspark/__init__.py").touch()
        for package in packages:
            name, version = package.replace("_", "-").rsplit("-", 1)
            described = tmp_path / folder / f"{package}.dist-info"
            described.mkdir()
            (described / "METADATA").write_text(f"Name: {name}\nVersion: {version}\n", "utf-8")
    monkeypatch.setattr(sys, "path", [str(tmp_path / "first"), str(tmp_path / "second")])
    refused = (
        pytest.raises(EngineError, match=r"4\.1\.0") if is_refused else contextlib.nullcontext()
    )
    with refused:
        errors.refuse_mixed_sparks()


@pytest.mark.parametrize(
    ("pyarrow", "numpy", "fits"),
    [
        ("26.0.1", "1.26.4", False),
        ("30.0.0", "1.26.4", False),
        ("25.0.1", "1.26.4", True),
        ("26.0.1", "2.0.0", True),
        ("26.0.1", "", True),
        ("", "1.26.4", True),
    ],
)
def test_a_pyarrow_that_needs_a_newer_numpy_is_refused(pyarrow, numpy, fits):
    refused = pytest.raises(errors.InstallationError, match="numpy>=2")
    with contextlib.nullcontext() if fits else refused:
        errors.refuse_old_numpy(pyarrow, numpy)


def refusing(name, _):
    raise AnalysisException(f"[CONFIG_NOT_AVAILABLE] Configuration {name} is not available.")


@pytest.fixture
def old_spark(tmp_path, monkeypatch):
    """A folder on the path with a pyspark of Spark 3.5, which Python 3.12 and later cannot import."""
    package = tmp_path / "pyspark"
    package.mkdir()
    (package / "__init__.py").write_text("import typing.io\n", encoding="utf-8")
    (package / "version.py").write_text('__version__: str = "3.5.7"\n', encoding="utf-8")
    return tmp_path


DOORS = {
    "evaluate": ["-m", "ndcg_spark", "evaluate", "--engine", "spark", os.devnull, os.devnull],
    "auto": ["-m", "ndcg_spark", "check", os.devnull, os.devnull],
    "job": ["jobs/evaluate.py", os.devnull, os.devnull],
    "python": ["-c", "import ndcg_spark; ndcg_spark.open_session()"],
    "worker": ["-c", "import ndcg_spark; ndcg_spark.evaluate({'q': {'a': 1}}, {'q': {'a': 2.0}})"],
}


@pytest.mark.parametrize(
    ("is_archive", "door"),
    # As an archive in a driver on YARN.
    [(False, "evaluate"), (False, "auto"), (False, "python"), (True, "job"), (True, "worker")],
)
def test_spark_3_is_refused_with_exit_code_2_and_what_to_do(door, is_archive, old_spark):
    where = old_spark
    if is_archive:
        # As YARN gives it to a driver of its own.
        where = Path(shutil.make_archive(str(old_spark / "pyspark"), "zip", old_spark, "pyspark"))
    path = os.pathsep.join([str(where), str(ROOT)])
    done = subprocess.run(
        [sys.executable, "-X", "utf8", *DOORS[door]],
        env={**os.environ, "PYTHONPATH": path},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == (1 if DOORS[door][0] == "-c" else 2), done.stderr
    last = done.stderr.splitlines()[-1]
    assert str(old_spark_refusal("3.5.7")) in last, done.stderr


def old_spark_refusal(version):
    with pytest.raises(InstallationError) as refusal:
        errors.refuse_old_spark(version)
    return refusal.value


def test_the_refusal_of_spark_3_names_a_guide_that_is_there():
    guide = re.search(r"ndcg_spark/guides/\S+", str(old_spark_refusal("3.5.7")))
    assert "Spark 3.5" in (ROOT / guide[0]).read_text(encoding="utf-8").splitlines()[0]


@pytest.mark.parametrize("version", ["4.0.0", "4.1.0.dev0", "10.0", "17.3", ""])
def test_a_newer_spark_is_not_refused(version):
    errors.refuse_old_spark(version)


@pytest.mark.parametrize("version", ["3.5.2-amzn-1", "3.4.0", "2.4.8"])
def test_a_session_of_an_older_spark_is_refused(version, monkeypatch):
    monkeypatch.setattr(engines, "is_classic", lambda _: True)
    session = Mock(version=version)
    for door in (engines.wrap_session, engine.require_read_values):
        with pytest.raises(InstallationError, match=version):
            door(session)


def test_the_pyspark_that_is_installed_has_the_version_it_says():
    assert errors.installed_spark() == pyspark.__version__


class OldServer(grpc.GenericRpcHandler):
    """A Spark Connect server of Spark 3.5: it does not know how to release a session."""

    def service(self, call):
        """Answer what version this is."""
        from pyspark.sql.connect import proto

        if not call.method.endswith("/AnalyzePlan"):
            return None
        answer = proto.AnalyzePlanResponse()
        answer.spark_version.version = "3.5.7"
        return grpc.unary_unary_rpc_method_handler(lambda *_: answer.SerializeToString())


@pytest.mark.parametrize("is_old", [True, False])
def test_a_server_of_spark_3_is_told_from_one_of_another_kind(is_old):
    server = grpc.server(ThreadPoolExecutor(1))
    if is_old:
        server.add_generic_rpc_handlers([OldServer()])
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    try:
        with pytest.raises(EngineError) as refusal:
            engines.connect(f"sc://127.0.0.1:{port}")
    finally:
        server.stop(None).wait()
    assert refusal.value.exit_code == (2 if is_old else 4)
    assert ("Spark 3.5.7" in str(refusal.value)) == is_old


@pytest.mark.parametrize("is_refused", [False, True])
def test_a_platform_that_refuses_settings_is_known_by_that(is_refused):
    said = {}
    conf = SimpleNamespace(set=said.__setitem__)
    if is_refused:
        conf.set = functools.partial(serverless.refuse_setting, conf)
    assert engines.configure(SimpleNamespace(conf=conf)) is not is_refused
    assert len(said) == (0 if is_refused else 2)


def test_a_table_that_is_not_kept_is_computed_at_each_use():
    scratch = Mock()
    table = Mock(persist=serverless.refuse_keeping)
    assert engines.keep_rows(table, scratch) is table
    scratch.call_at_end.assert_not_called()


@pytest.mark.parametrize(
    ("default", "storage", "is_near"),
    [
        ("file:///", "", True),
        ("hdfs://host:9000/", "hdfs://host:9000", False),
        ("dbfs:///", "", False),
    ],
)
def test_paths_without_a_scheme_are_in_a_storage_that_has_a_host(
    default, storage, is_near, monkeypatch
):
    values = {"spark.master": "local[*]", "spark.hadoop.fs.defaultFS": default}
    conf = SimpleNamespace(get=values.get, set=lambda *_: None)
    monkeypatch.setattr(engines, "is_classic", lambda _: True)
    opened = engines.wrap_session(Mock(conf=conf, version="4.1.1"))
    assert (opened.default_storage, opened.sees_local_files) == (storage, is_near)


def test_failures_where_only_the_client_is_installed(monkeypatch):
    monkeypatch.setitem(sys.modules, "py4j", None)
    monkeypatch.setitem(sys.modules, "py4j.protocol", None)
    assert issubclass(AnalysisException, failures())
    assert not issubclass(ImportError, failures())
    assert lost(ConnectionResetError())
    assert not lost(AnalysisException("no_such"))


def test_a_server_that_says_nothing(monkeypatch):
    monkeypatch.setattr(engines, "ANSWER_SECONDS", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = rf"sc://127\.0\.0\.1:{server.getsockname()[1]}"
        with pytest.raises(EngineError, match=f"answers at {address}"):
            engines.require_server(address.replace("\\", ""))


def test_a_token_for_a_server_without_encryption_is_told_at_once(sail_server, monkeypatch):
    # Once a full run of the tests stood still where a connection with a token was closed.
    monkeypatch.setattr(grpc._channel.Channel, "close", lambda _: pytest.fail("it is closed"))
    engines.require_server(sail_server)
    with pytest.raises(EngineError, match=r"answers at .*token=\*\*\*, "):
        engines.require_server(f"{sail_server}/;token=abc")


@pytest.mark.parametrize("url", ["sc://host:1/;a", "sc://host:port", "http://host"])
def test_what_is_no_address(url):
    with pytest.raises(EngineError, match="no Spark Connect server answers at"):
        engines.require_server(url)


def open_unguarded():
    def start(server):
        return server.start(background=True) or threading.Event()

    engine.port_guard.start = start
    engine.open_engine("embedded").__enter__()


def test_an_embedded_engine_that_is_not_guarded_is_refused(tmp_path):
    said = forked(open_unguarded, cwd=tmp_path).stderr
    assert "EngineError: engine: the embedded engine accepts connections past its guard" in said


@pytest.mark.slow
def test_a_signal_ends_the_command_line_at_once_and_leaves_its_folder_to_the_next_start(
    tmp_path, monkeypatch
):
    program = """if True:
        import signal, time
        import ndcg_spark.__main__ as program
        from ndcg_spark.engine import open_engine
        def run(**_):
            with open_engine("embedded") as engine:
                print(engine.scratch.folder().parent, flush=True)
                time.sleep(60)
        program.app = run
        # A shell's background jobs begin with this signal ignored.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        program.main()
        """
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    command = [sys.executable, "-c", program]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:
        folder = Path(process.stdout.readline().strip())
        process.send_signal(signal.SIGINT)
        assert process.wait(10) == -signal.SIGINT
    assert folder.is_dir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    scratch = Scratch()
    scratch.folder()
    assert not folder.exists()
    scratch.remove()


@pytest.mark.classic
def test_an_engine_says_why_in_one_line(session):
    with pytest.raises(Exception, match="no_such") as failed:
        session.sql("SELECT no_such").collect()
    assert failure_reason(failed.value).startswith("[UNRESOLVED_COLUMN")


@pytest.mark.embedded
def test_an_answer_that_cannot_be_decoded_is_asked_for_again(session, monkeypatch):
    decode, damaged = grpc._common.deserialize, iter([True])
    monkeypatch.setattr(
        "grpc._common.deserialize", lambda *given: None if next(damaged, False) else decode(*given)
    )
    assert session.range(3).selectExpr("id AS asked_again").columns == ["asked_again"]
    assert next(damaged, None) is None


def started(monkeypatch, start):
    monkeypatch.setattr("os.environ", {**os.environ})
    os.environ.pop("SAIL_EXECUTION__DEFAULT_PARALLELISM", None)
    monkeypatch.setattr(
        engines, "start_session", lambda builder, _: pytest.fail(json.dumps(builder._options))
    )
    monkeypatch.setattr(
        engine.port_guard, "start", lambda _: pytest.fail(json.dumps({**os.environ}))
    )
    with pytest.raises(pytest.fail.Exception) as options:
        start()
    return json.loads(str(options.value))


@pytest.mark.parametrize(
    ("limits", "cores", "gigabytes"),
    [
        ({"cpu.max": "150000 100000", "memory.max": str(2**30)}, 2, 1),
        ({"cpu.max": "max 100000", "memory.max": "max"}, 8, None),
        ({"job/cpu.max": "300000 100000", "job/memory.max": str(2**30)}, 3, 1),
        ({"job/memory.max": str(2**30), "cpu.max": "99900000 100000"}, 8, 1),
        # The first version of control groups, as in a container and on its machine.
        (
            {
                "cpu/cpu.cfs_quota_us": "150000",
                "cpu/cpu.cfs_period_us": "100000",
                "memory/memory.limit_in_bytes": str(2**30),
            },
            2,
            1,
        ),
        (
            {
                "cpu/job/cpu.cfs_quota_us": "-1",
                "cpu/job/cpu.cfs_period_us": "100000",
                "memory/memory.limit_in_bytes": str(2**63 - 4096),
                "memory/job/memory.limit_in_bytes": str(2**30),
            },
            8,
            1,
        ),
    ],
)
def test_the_cores_and_the_memory_are_those_that_a_process_may_use(
    limits, cores, gigabytes, tmp_path, monkeypatch
):
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {*range(8)}, raising=False)
    monkeypatch.setattr(engines, "CONTROL_GROUPS", tmp_path)
    monkeypatch.setattr(engines, "OWN_GROUPS", tmp_path / "own")
    (tmp_path / "own").write_text("0::/job/step\n", "ascii")
    for name, limit in limits.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"{limit}\n", "ascii")
    machine = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    assert (engines.usable_cores(), engines.machine_memory()) == (
        cores,
        gigabytes * 2**30 if gigabytes else machine,
    )
    options = started(monkeypatch, engines.start_local)
    assert (options["spark.master"], options["spark.authenticate"]) == (f"local[{cores}]", "true")
    parallelism = started(monkeypatch, engine.start_embedded)["SAIL_EXECUTION__DEFAULT_PARALLELISM"]
    assert int(parallelism) == max(16, 4 * cores)
