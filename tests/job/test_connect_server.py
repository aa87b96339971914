"""A Spark Connect server in a process of its own: the command line gives the scores of the embedded engine."""

from pathlib import Path

import pyarrow.parquet as pq
import pytest
import servers
from evaluate_on import check_same, scores_on
from programs import command_line

pytestmark = pytest.mark.cluster

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "conf/example"


def evaluate(output, *engine):
    arguments = ["--judgments", EXAMPLE / "judgments.qrels", "--results", EXAMPLE / "runs", "--output", output]
    arguments += ["--cutoffs", "1,3,10,all", "--dataset", "shop", "--date", "2026-11-20"]
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
    command += ["--class", "org.apache.spark.sql.connect.service.SparkConnectServer", "spark-internal"]
    places = {"SPARK_HOME": servers.SPARK_HOME, "SPARK_CONF_DIR": folder / "none", "SPARK_LOCAL_DIRS": folder / "local"}
    log = folder / "server.log"
    with servers.running(command, log, servers.environment(**places)):
        servers.wait_until(lambda: servers.answers(port), "the Spark Connect server", log)
        yield f"sc://127.0.0.1:{port}"


@pytest.mark.parametrize("table", ["query_scores", "dataset_scores"])
def test_a_remote_server_gives_the_scores_of_the_embedded_engine(published, table):
    remote, embedded = (rows(output / table) for output in published)
    assert remote.keys() == embedded.keys()
    assert len(remote) > 0
    for key, row in embedded.items():
        near = {name: pytest.approx(v, abs=1e-12, rel=0) if isinstance(v, float) else v for name, v in row.items()}
        assert remote[key] == near, key


@pytest.fixture(scope="module")
def published(server, tmp_path_factory):
    folder = tmp_path_factory.mktemp("published")
    said = evaluate(folder / "remote", "--remote", server).stderr
    assert f"({server})" in said
    evaluate(folder / "embedded", "--engine", "embedded")
    return folder / "remote", folder / "embedded"


def rows(table):
    """Each row's numbers and words by its key."""
    found = pq.read_table(table).to_pylist()
    named = ("dataset", "evaluated_on", "run", "query_id", "cutoff", "status", "convention", "formula")
    return {
        tuple(str(row.get(name)) for name in named): {
            name: value for name, value in row.items() if name not in (*named, "evaluation_id")
        }
        for row in found
    }


def test_a_remote_server_gives_the_scores_of_functions_and_measures_too(server, thorough):
    # Connect has the engine of classic Spark, and only the way there is its own: a preset is but another plan.
    names = ["python, measures", *(["trec_eval_9", "averaged, measures"] if thorough else [])]
    check_same(scores_on(server, *names), scores_on("embedded", *names), names)
