"""Inputs that are not there yet: what is waited for, for how long, and how a wait ends."""

import gzip
import os
import signal
import subprocess
import sys
import types
from pathlib import Path

import pyarrow as pa
import pytest
from commands import command_line
from input_files import Rows
from pyspark.errors import PySparkException

from ndcg_spark.config import validate
from ndcg_spark.engine import Engine
from ndcg_spark.errors import ConfigurationError, MissingInputError
from ndcg_spark.inputs import discover
from ndcg_spark.job import input_wait

ROOT = Path(__file__).parents[2]
ENGINE = Engine(None, "embedded", "none that computes", sees_local_files=True)
QRELS, RUN = "q1 0 a 2\n", "q1 Q0 a 1 3.0 bm25\n"


@pytest.fixture
def waited(monkeypatch, tmp_path):
    """Waits as configured, by a clock of its own; before each look but the first the next event happens."""
    monkeypatch.chdir(tmp_path)
    now = [0.0]

    def wait(events=(), paths=("qrels.txt", "runs"), most="2h", **more):
        left, told = list(events), []

        def sleep(seconds):
            now[0] += seconds
            if left:
                left.pop(0)()

        monkeypatch.setattr(input_wait, "time", types.SimpleNamespace(sleep=sleep, monotonic=lambda: now[0]))
        tables = {name: {"path": path} for name, path in zip(("judgments", "results"), paths, strict=True)}
        config = validate({**tables, "wait_for_input": most, "date": "2026-11-20", **more}, "test")
        input_wait.wait_for_inputs(ENGINE, config, lambda step, sentence: told.append((step, sentence)))
        return told, now[0]

    return wait


def put(path, content):
    def event():
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_text(content, encoding="utf-8")

    return event


def test_what_is_there_is_not_waited_for(waited):
    put("qrels.txt", QRELS)()
    put("runs/bm25.run", RUN)()
    assert waited() == ([], 0.0)


def test_a_path_a_folder_without_files_and_an_empty_file_are_late(waited):
    arriving = [put("qrels.txt", QRELS), Path("runs").mkdir, put("runs/_SUCCESS", "x"), put("runs/bm25.run", "")]
    told, seconds = waited([*arriving, put("runs/bm25.run", RUN)])
    assert [sentence for step, sentence in told if step == "waiting"] == [
        "at most 120 min for judgments in qrels.txt and 1 more",
        "at most 120 min for results in runs",
    ]
    # Looked at every ten seconds.
    assert (told[-1], seconds) == (("waited", "50 s; all inputs are there"), 50.0)


def test_an_unfinished_copy_and_a_gzip_file_of_nothing_are_late(waited):
    put("qrels.txt", QRELS)()
    arriving = [put("runs/bm25.run.tmp", RUN), lambda: Path("runs/bm25.run.gz").write_bytes(gzip.compress(b""))]
    told, seconds = waited([*arriving, lambda: Path("runs/bm25.run.gz").write_bytes(gzip.compress(RUN.encode()))])
    assert (told[-1], seconds) == (("waited", "30 s; all inputs are there"), 30.0)
    assert told[0] == ("waiting", "at most 120 min for results in runs")


def test_a_pattern_and_the_date_of_a_path_are_read_as_an_evaluation_reads_them(waited):
    put("qrels.txt", QRELS)()
    late = [put("2026-11-19/a.run", RUN), put("2026-11-20/a.run", RUN)]
    _, seconds = waited(late, paths=("qrels.txt", "{date}/*.run"))
    assert seconds == 20.0


def test_so_are_the_other_tables(waited):
    put("qrels.txt", QRELS)()
    put("runs/a.run", RUN)()
    _, seconds = waited([put("seen.csv", "query_id,doc_id\n")], exclude={"path": "seen.csv"})
    assert seconds == 10.0


def test_what_never_comes_is_refused_as_a_path_that_is_not_there(waited):
    with pytest.raises(MissingInputError, match=r"results: no such path, runs; .*; waited for 30s$") as refused:
        waited([put("qrels.txt", QRELS)], most="30s")
    assert (refused.value.exit_code, refused.value.code) == (3, "missing_input")
    put("runs", "")()
    with pytest.raises(MissingInputError, match=r"results: only empty files in runs, e.g. .*runs; .*; waited for 30s$"):
        waited(most="30s")


def test_a_catalog_table_and_what_is_wrong_in_another_way_are_left_to_the_reading(waited):
    put("qrels.txt", QRELS)()
    assert waited(paths=("qrels.txt", "table:db.results"))[1] == 0.0
    Path("runs/_delta_log").mkdir(parents=True)
    put("runs/a.parquet", "x")()
    assert waited()[1] == 0.0


class NotFound(PySparkException):
    condition = "PATH_NOT_FOUND"

    def getCondition(self):  # noqa: N802  # its name there
        return self.condition


def far(files):
    """A server that sees these files with their sizes, and this process does not."""

    def load(paths):
        if not files or "_delta_log" in paths or "metadata" in paths:
            raise NotFound("no such path")
        table = pa.table({"length": files})
        return Rows(table.schema, table)

    reader = types.SimpleNamespace(format=lambda _: reader, options=lambda **_: reader, load=load)
    return Engine(types.SimpleNamespace(read=reader), "connect", "a server", sees_local_files=False)


def test_a_path_that_only_the_engine_sees_is_looked_for_by_it(monkeypatch):
    with pytest.raises(MissingInputError, match="no such path"):
        discover.find(far([]), "s4://bucket/runs", "results")
    (found,) = discover.find(far([5, 7]), "s4://bucket/runs", "results")
    assert (found.path, found.size, found.found) == ("s4://bucket/runs", 12, None)
    monkeypatch.setattr(NotFound, "condition", "ANOTHER")
    with pytest.raises(Exception, match="no such path") as refused:
        discover.find(far([]), "s4://bucket/runs", "results")
    assert not isinstance(refused.value, MissingInputError)


def test_what_only_the_engine_sees_is_late_as_long_as_it_is_not_there_or_empty():
    late = [input_wait._lateness(far(files), "results", "s4://bucket/runs") for files in ([], [0], [0, 5])]
    assert ["no such path" in late[0], "only empty files" in late[1], late[2]] == [True, True, None]


@pytest.mark.parametrize("wrong", ["2", "2d", "0s", "-1m", "two hours", ""])
def test_what_is_no_time_is_refused(wrong):
    with pytest.raises(ConfigurationError, match=r"wait_for_input: .* is not a duration; write 90s, 90m or 2h"):
        validate({"judgments": {"path": "q"}, "results": {"path": "r"}, "wait_for_input": wrong}, "test")


@pytest.mark.parametrize("command", ["evaluate", "check"])
def test_a_command_waits_and_then_ends_with_exit_code_3(tmp_path, command):
    put(tmp_path / "qrels.txt", QRELS)()
    done = command_line(command, "qrels.txt", "runs", "--engine", "embedded", "--wait-for-input", "0.2s", cwd=tmp_path)
    assert done.returncode == 3
    assert "waiting  at most 0 s for results in runs" in done.stderr
    assert done.stderr.endswith("waited for 0.2s\n")


@pytest.mark.slow
def test_a_signal_ends_a_wait(tmp_path):
    with subprocess.Popen(
        [sys.executable, "-m", "ndcg_spark", "evaluate", "q", "r", "--engine", "embedded", "--wait-for-input", "2h"],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        while not process.stderr.readline().startswith("waiting"):
            assert process.poll() is None
        process.send_signal(signal.SIGTERM)
        assert "interrupted; nothing was published" in process.stderr.read()
    assert process.returncode == 143
