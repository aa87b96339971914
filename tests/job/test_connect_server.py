"""A Spark Connect server in a process of its own: the command line gives the scores of the embedded engine."""

import json
import math
from pathlib import Path

import pytest
import serverless
import servers
from programs import command_line, forked

pytestmark = pytest.mark.cluster

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "conf/example"
MEASURES = ["--measures", "nDCG P R AP RR RBP ERR Bpref"]


def evaluate(output, *engine):
    arguments = [
        "--judgments",
        EXAMPLE / "judgments.qrels",
        "--results",
        EXAMPLE / "runs",
        "--output",
        output,
    ]
    arguments += ["--cutoffs", "1,3,10,all", "--dataset", "shop", "--date", "2026-11-20"]
    arguments += [
        "--set",
        "gain=python:numpy.square",
        "--set",
        "discount=python:numpy.reciprocal",
        *MEASURES,
    ]
    done = command_line("evaluate", *engine, *arguments, cwd=ROOT)
    assert done.returncode == 0, done.stderr[-3000:]
    return done


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    folder, port = tmp_path_factory.mktemp("connect"), servers.free_port()
    settings = {
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": port,
        "spark.ui.enabled": "false",
        # The plans are those of classic Spark, which other tests are about: made small and quick, as in conftest.py.
        "spark.sql.shuffle.partitions": 1,
        "spark.sql.adaptive.enabled": "false",
        **servers.QUICK_PLANS,
        "spark.sql.warehouse.dir": folder / "warehouse",
    }
    command = [servers.SPARK_HOME / "bin/spark-submit", "--master", "local[2]"]
    command += [part for name, value in settings.items() for part in ("--conf", f"{name}={value}")]
    command += [
        "--class",
        "org.apache.spark.sql.connect.service.SparkConnectServer",
        "spark-internal",
    ]
    places = {
        "SPARK_HOME": servers.SPARK_HOME,
        "SPARK_CONF_DIR": folder / "none",
        "SPARK_LOCAL_DIRS": folder / "local",
    }
    log = folder / "server.log"
    with servers.running(command, log, servers.environment(**places)):
        servers.wait_until(lambda: servers.answers(port), "the Spark Connect server", log)
        yield f"sc://127.0.0.1:{port}"


def test_a_remote_server_gives_the_scores_of_the_embedded_engine(server, tmp_path):
    assert f"({server})" in evaluate(tmp_path / "remote", "--remote", server).stderr
    evaluate(tmp_path / "embedded", "--engine", "embedded")
    remote, embedded = (servers.score_tables(tmp_path / name) for name in ("remote", "embedded"))
    servers.assert_same_scores(remote, embedded)


def test_a_server_that_refuses_settings_and_keeps_no_table_evaluates_those_of_its_catalog(
    server, tmp_path
):
    saved = forked(serverless.save_tables, server, cwd=tmp_path)
    assert saved.returncode == 0, saved.stderr
    arguments = ["evaluate", "--remote", server, "--format", "json", "--cutoffs", "2"]
    arguments += ["--judgments", "table:judgments", "--results", "table:results"]
    for output in ([], ["--output", str(tmp_path / "out"), "--date", "2026-11-20"]):
        done = forked(serverless.command_line, *arguments, *output, cwd=tmp_path)
        assert done.returncode == 0, done.stderr[-3000:]
        (row,) = json.loads(done.stdout)["dataset_scores"]
        expected = (1 + 7 / math.log2(3)) / (7 + 1 / math.log2(3))
        assert (row["run"], row["ndcg"]) == ("007", pytest.approx(expected))
