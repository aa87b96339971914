import os
import subprocess
import sys

import pytest

from ndcg_spark.engine import classic, open_engine
from ndcg_spark.engine.opened import machine_memory
from ndcg_spark.errors import EngineError


def engine_name(choice, **environment):
    """What `open_engine` opens in a process of its own, or the error that it ends with."""
    program = f"""
from ndcg_spark.engine import open_engine
from ndcg_spark.errors import EngineError
try:
    with open_engine({choice!r}) as engine:
        print(engine.kind, engine.sees_local_files, engine.session.range(3).count())
except EngineError as error:
    print("refused:", error)
"""
    clean = {name: value for name, value in os.environ.items() if name not in ("SPARK_REMOTE", "JAVA_HOME")}
    return subprocess.run(
        [sys.executable, "-c", program], env={**clean, **environment}, capture_output=True, text=True, check=False
    ).stdout.strip()


def test_a_running_session_is_used_and_left_running(spark):
    with open_engine("auto") as opened:
        assert opened.session is spark
        assert opened.name.startswith("Spark 4")
    assert spark.range(1).count() == 1


def test_the_embedded_engine_is_taken_where_it_is_installed():
    assert engine_name("auto") == "embedded True 3"


def test_no_java_and_no_embedded_engine_is_an_error_that_names_both_ways_out(monkeypatch):
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("JAVA_HOME", raising=False)
    with pytest.raises(EngineError, match=r"pip install 'ndcg-spark\[embedded\]'.*openjdk-17"):
        classic.local()


def test_a_server_that_is_not_there_is_an_engine_error():
    answer = engine_name("auto", SPARK_REMOTE="sc://127.0.0.1:9/;token=secret")
    assert answer.startswith("refused: engine: no Spark Connect server answers at sc://127.0.0.1:9/;token=***")


def test_the_embedded_engine_cannot_be_had_under_spark_submit():
    assert "refused: engine: spark-submit brings its own Spark" in engine_name("embedded", PYSPARK_GATEWAY_PORT="1")


def test_the_memory_of_the_machine_is_what_a_process_may_use():
    assert 2**28 < machine_memory() <= os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
