"""Nights as runs of MLflow: what a server is sent, and that a night that is evaluated again replaces its runs."""

import dataclasses
import itertools
import json
import os
import subprocess
import sys
import types
import urllib.request
from pathlib import Path

import pytest
from evaluations import configuration, on_embedded
from servers import answers, environment, free_port, running, wait_until

from ndcg_spark.config import MlflowConfig
from ndcg_spark.monitoring import mlflow


@dataclasses.dataclass
class Run:
    """A run as the fake server keeps it."""

    experiment: str
    tags: dict
    name: str
    params: dict = dataclasses.field(default_factory=dict)
    metrics: dict = dataclasses.field(default_factory=dict)
    files: dict = dataclasses.field(default_factory=dict)
    status: str = "RUNNING"


class Client:
    """The part of MLflow's client that is used, over a dictionary; a real server is asked with --thorough."""

    def __init__(self):
        self.runs, self.names, self.numbers = {}, [], itertools.count()

    def get_experiment_by_name(self, name):
        return types.SimpleNamespace(experiment_id=name) if name in self.names else None

    def create_experiment(self, name):
        self.names.append(name)
        return name

    def search_runs(self, experiments, filter_string, max_results):
        night = filter_string.split("'")[1]
        found = [(k, r) for k, r in self.runs.items() if r.experiment in experiments and night in r.tags.values()]
        return [types.SimpleNamespace(info=types.SimpleNamespace(run_id=key)) for key, _ in found]

    def create_run(self, experiment, tags, run_name):
        key = f"run{next(self.numbers)}"
        self.runs[key] = Run(experiment, tags, run_name)
        return types.SimpleNamespace(info=types.SimpleNamespace(run_id=key))

    def log_param(self, run, name, value):
        self.runs[run].params[name] = value

    def log_text(self, run, text, name):
        self.runs[run].files[name] = text

    def log_artifact(self, run, path):
        self.runs[run].files[Path(path).name] = path

    def log_batch(self, run, metrics):
        self.runs[run].metrics |= {metric.key: metric for metric in metrics}

    def set_terminated(self, run):
        self.runs[run].status = "FINISHED"

    def delete_run(self, run):
        del self.runs[run]


@pytest.fixture
def client(monkeypatch):
    """The fake server in place of the library, which is in an extra."""
    client = Client()
    metric = dataclasses.make_dataclass("Metric", ["key", "value", "timestamp", "step"])
    module = types.ModuleType("mlflow")
    module.MlflowClient = lambda tracking_uri: client
    entities = types.ModuleType("mlflow.entities")
    entities.Metric = metric
    monkeypatch.setitem(sys.modules, "mlflow", module)
    monkeypatch.setitem(sys.modules, "mlflow.entities", entities)
    for name in mlflow._SETTINGS:
        monkeypatch.setenv(name, "set by the user")
    return client


def logged(tmp_path, report=None, date="2026-11-20"):
    settings = configuration(tmp_path)(output=str(tmp_path / "out"), date=date, measures=["P@1"])
    outcome, _ = on_embedded(settings)
    mlflow.log(MlflowConfig(uri="http://127.0.0.1:1"), outcome, report)
    return outcome


def test_a_night_is_a_run_with_one_for_each_system_below_it(client, tmp_path):
    page = tmp_path / "night.html"
    page.touch()
    outcome = logged(tmp_path, page)
    parent, child = client.runs.values()
    assert (parent.experiment, parent.name, child.name) == ("ndcg_spark/default", "2026-11-20", "bm25")
    assert {each.status for each in (parent, child)} == {"FINISHED"}
    assert child.tags["mlflow.parentRunId"] in client.runs
    assert parent.tags["ndcg_spark.evaluation_id"] == outcome.evaluation_id
    assert parent.params["gain"] == "exp2"
    assert json.loads(parent.files["record.json"])["evaluation_id"] == outcome.evaluation_id
    assert "night.html" in parent.files
    # q1 has its best document first, q2 has no results, q9 is unjudged.
    assert child.metrics["ndcg_at_1"].value == 1 / 2
    assert child.metrics["precision_at_1"].value == 1 / 2
    assert child.metrics["ndcg_at_1"].step == 20777  # days from 1970 to 2026-11-20


def test_a_night_that_is_evaluated_again_replaces_its_runs_and_no_others(client, tmp_path):
    logged(tmp_path, date="2026-11-19")
    first = logged(tmp_path)
    second = logged(tmp_path)
    found = sorted((run.tags["ndcg_spark.night"], run.name) for run in client.runs.values())
    assert found == sorted((night, name) for night in ("2026-11-19", "2026-11-20") for name in ("bm25", night))
    kept = {run.tags["ndcg_spark.evaluation_id"] for run in client.runs.values()}
    assert second.evaluation_id in kept
    assert first.evaluation_id not in kept


def test_without_mlflow_it_is_said_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "mlflow", None)
    with pytest.raises(Exception, match=r"install ndcg-spark\[mlflow\]"):
        logged(tmp_path)


JSON = {"Content-Type": "application/json"}


def asked(uri, path, **content):
    """What the server answers, by its own interface: MLflow's client wants pyspark's jars."""
    request = urllib.request.Request(f"{uri}/api/2.0/mlflow/{path}", headers=JSON)  # noqa: S310  # ours
    if content:
        request.data = json.dumps(content).encode()
    with urllib.request.urlopen(request) as answer:  # noqa: S310  # ours
        return json.load(answer)


@pytest.mark.slow
def test_a_real_server_has_each_night_once(tmp_path):
    python = os.environ.get("MLFLOW_PYTHON")
    if python is None:
        pytest.skip("set MLFLOW_PYTHON to a Python with this project and mlflow, as check.sh --thorough does")
    port, log = free_port(), tmp_path / "server.log"
    store = ["--backend-store-uri", f"sqlite:///{tmp_path}/db", "--artifacts-destination", tmp_path / "artifacts"]
    server = [python, "-m", "mlflow", "server", "--host", "127.0.0.1", "--port", port, "--workers", 1, *store]
    uri, root = f"http://127.0.0.1:{port}", Path(__file__).parents[2]
    configuration(tmp_path)()
    night = ["--output", tmp_path / "out", "--date", "2026-11-20", "--cutoffs", "1", "--mlflow", uri]
    evaluate = ["evaluate", tmp_path / "qrels.txt", tmp_path / "run.txt", *night]
    with running(server, log, environment()):
        wait_until(lambda: answers(port), "MLflow's server", log)
        for _ in range(2):
            done = subprocess.run(
                [python, "-m", "ndcg_spark", *map(str, evaluate)], capture_output=True, text=True, check=True, cwd=root
            )
            assert "warning" not in done.stderr
            assert "http" not in done.stdout
        runs = {run["info"]["run_name"]: run for run in asked(uri, "runs/search", experiment_ids=["1"])["runs"]}
        files = asked(uri, f"artifacts/list?run_id={runs['2026-11-20']['info']['run_id']}")["files"]
    assert {name: run["info"]["status"] for name, run in runs.items()} == {"bm25": "FINISHED", "2026-11-20": "FINISHED"}
    metrics = {each["key"]: (each["step"], each["value"]) for each in runs["bm25"]["data"]["metrics"]}
    assert metrics["ndcg_at_1"] == (20777, 0.5)
    assert [each["path"] for each in files] == ["record.json"]
