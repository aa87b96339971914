"""The recipes: what their page shows is run as it stands there."""

import concurrent.futures
import contextlib
import http.server
import io
import json
import math
import os
import shlex
import subprocess
import sys
import types
from pathlib import Path
from unittest import mock

import pyarrow as pa
import pytest
from commands import command_line
from pages import recipe

ROOT = Path(__file__).parents[2]


class DagsterError(Exception):
    """Dagster's Failure, whose retries are looked at."""

    def __init__(self, description, allow_retries):
        super().__init__(description)
        self.allow_retries = allow_retries


@pytest.mark.parametrize(
    ("code", "has_gate", "expected"),
    [
        (0, True, (True, "ERROR")),
        (0, False, (False, "ERROR")),
        (5, True, (False, "ERROR")),
        (6, True, (False, "WARN")),
        *((1, True, False), (2, True, False), (3, True, False), (4, True, True), (-9, True, True)),
    ],
)
def test_the_check_of_a_dagster_asset_is_the_verdict_and_it_retries_what_a_retry_can_cure(
    monkeypatch, code, has_gate, expected
):
    # Stand-ins for Dagster, and for a program that ends with this code and prints a night.
    shown = ("AssetCheckResult", "MaterializeResult", "AssetExecutionContext")
    unused = ("AssetCheckSpec", "DailyPartitionsDefinition", "Definitions", "RetryPolicy")
    dagster = types.SimpleNamespace(
        **dict.fromkeys(shown, types.SimpleNamespace), Failure=DagsterError
    )
    vars(dagster).update(
        dict.fromkeys(unused, lambda *_, **__: None), asset=lambda **_: lambda function: function
    )
    dagster.AssetCheckSeverity = types.SimpleNamespace(WARN="WARN", ERROR="ERROR")
    dagster.Backoff = types.SimpleNamespace(EXPONENTIAL=None)
    monkeypatch.setitem(sys.modules, "dagster", dagster)
    night = {"dataset_scores": [{"dataset": "web", "run": "bm25", "cutoff": None, "ndcg": 0.5}]}
    night |= {"verdicts": [{"sentence": "as it is"}]} if has_gate else {}
    printed = json.dumps(night).encode()
    monkeypatch.setattr(
        subprocess, "run", lambda command, **_: subprocess.CompletedProcess(command, code, printed)
    )
    names = {}
    exec(recipe("Dagster", "python"), names)  # noqa: S102  # our own page
    context = types.SimpleNamespace(partition_key="2026-11-20")
    if isinstance(expected, bool):
        with pytest.raises(DagsterError) as failure:
            names["ndcg"](context)
        assert failure.value.allow_retries is expected
        return
    result = names["ndcg"](context)
    (check,) = result.check_results
    assert (check.passed, check.severity) == expected
    assert result.metadata == {"web bm25 ndcg@all": 0.5}


def test_a_pull_request_gets_the_scores_and_the_verdict_as_its_comment(tmp_path):
    yaml = pytest.importorskip("yaml")
    steps = yaml.safe_load(recipe("GitHub Actions", "yaml"))["jobs"]["ndcg"]["steps"]
    (command,) = (step["run"] for step in steps if step.get("run", "").startswith("ndcg-spark"))
    program, *arguments = shlex.split(command.removesuffix(" >comment.md"))
    assert program == "ndcg-spark"
    (tmp_path / "ndcg.toml").write_text(recipe("GitHub Actions", "toml"), encoding="utf-8")
    (tmp_path / "runs").mkdir()
    queries = range(50)
    lines = {
        "judgments.qrels": [f"q{n} 0 good 1" for n in queries],
        "runs/main.run": [f"q{n} Q0 good 1 2.0 x\nq{n} Q0 bad 2 1.0 x" for n in queries],
        # Three places down in every query: 1 / log2(1 + 1) becomes 1 / log2(4 + 1).
        "runs/branch.run": [
            f"q{n} Q0 bad{place} {place + 1} {-place} x" for n in queries for place in range(3)
        ]
        + [f"q{n} Q0 good 4 -4 x" for n in queries],
    }
    for name, rows in lines.items():
        (tmp_path / name).write_text("\n".join(rows) + "\n", encoding="utf-8")
    done = command_line(*arguments, cwd=tmp_path)
    assert done.returncode == 5, done.stderr
    assert "| main | 1.0000 | 0.0000 | 50 |" in done.stdout
    assert "| branch | 0.4307 | 0.0000 | 50 |" in done.stdout
    assert "\nfail: ndcg@10 of branch" in done.stdout


@pytest.mark.parametrize(("arrives", "naps"), [(0, 0), (2, 2), (9, 3)])
def test_late_files_are_waited_for_and_then_the_night_begins_in_any_case(tmp_path, arrives, naps):
    programs = {
        "date": "echo 2026-11-20",
        # The file arrives at the end of a nap.
        "sleep": f'echo "$1" >> naps; [ $(wc -l < naps) -lt {arrives} ] || echo x > results/2026-11-20/_SUCCESS',
        "nightly.sh": 'echo "$@" > begun',
    }
    (tmp_path / "results/2026-11-20").mkdir(parents=True)
    (tmp_path / "scripts").mkdir()
    if not arrives:
        (tmp_path / "results/2026-11-20/_SUCCESS").write_text("x", encoding="utf-8")
    for name, text in programs.items():
        (tmp_path / "scripts" / name).write_text(f"#!/bin/sh\n{text}\n", encoding="utf-8")
        (tmp_path / "scripts" / name).chmod(0o755)
    shell = {"PATH": f"{tmp_path}/scripts:/usr/bin:/bin", "MOST_TRIES": "3"}
    subprocess.run(
        ["/bin/sh", "-c", recipe("Files that arrive late", "sh")],
        cwd=tmp_path,
        env=shell,
        check=True,
    )
    slept = tmp_path / "naps"
    assert (slept.read_text(encoding="utf-8").split() if slept.exists() else []) == ["60"] * naps
    assert (tmp_path / "begun").read_text(encoding="utf-8") == "2026-11-20 nightly.toml\n"


def test_a_night_is_logged_to_mlflow(tmp_path, monkeypatch):
    said = []

    @contextlib.contextmanager
    def start_run(run_name, tags):
        said.append((run_name, tags))
        yield

    mlflow = types.SimpleNamespace(set_experiment=said.append, start_run=start_run)
    mlflow.log_metrics = lambda metrics, step: said.append((metrics, step))
    monkeypatch.setitem(sys.modules, "mlflow", mlflow)
    (tmp_path / "qrels.txt").write_text("q1 0 a 1\n", encoding="utf-8")
    (tmp_path / "run.txt").write_text("q1 Q0 b 1 2.0 bm25\nq1 Q0 a 2 1.0 bm25\n", encoding="utf-8")
    arguments = (
        "evaluate",
        "qrels.txt",
        "run.txt",
        "--cutoffs",
        "1,all",
        "--date",
        "1970-01-03",
        "--format",
        "json",
    )
    printed = command_line(*arguments, cwd=tmp_path).stdout
    (tmp_path / "night.json").write_text(printed, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    exec(recipe("MLflow", "python"), {})  # noqa: S102  # our own page
    run = ("bm25", {"evaluation_id": json.loads(printed)["evaluation_id"]})
    first = {"ndcg_at_1": 0.0, "judged_rate_at_1": 0.0, "queries_at_1": 1.0}
    whole = {
        "ndcg_at_all": pytest.approx(1 / math.log2(3)),
        "judged_rate_at_all": 0.5,
        "queries_at_all": 1.0,
    }
    assert said == ["ndcg_spark/default", run, (first, 2), "ndcg_spark/default", run, (whole, 2)]


@pytest.mark.parametrize(("previous", "lines"), [("fail", 1), ("pass", 0), (None, 0)])
def test_two_failures_in_a_row_are_told(monkeypatch, capsys, previous, lines):
    failed = {
        "dataset": "web",
        "evaluated_on": "2026-11-20",
        "verdict": "fail",
        "sentence": "it fell",
    }
    content = json.dumps(
        {"verdicts": [failed], "previous": {"web": {"verdict": previous}} if previous else {}}
    )
    monkeypatch.setattr(sys, "stdin", io.StringIO(content))
    exec(recipe("Two failures in a row", "python"), {})  # noqa: S102  # our own page
    assert len(capsys.readouterr().out.splitlines()) == lines


def test_the_hook_for_a_chat_posts_the_text():
    posted = []

    class Chat(http.server.BaseHTTPRequestHandler):
        def do_POST(self):
            posted.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(200)
            self.end_headers()

    with (
        http.server.HTTPServer(("127.0.0.1", 0), Chat) as server,
        concurrent.futures.ThreadPoolExecutor() as pool,
    ):
        answered = pool.submit(server.handle_request)
        environment = {**os.environ, "NDCG_SPARK_WEBHOOK": f"http://127.0.0.1:{server.server_port}"}
        program = [sys.executable, str(ROOT / "conf/chat-hook.py")]
        said = {"text": "q <!channel> <http://evil.example|Login> & @all, a@b"}
        subprocess.run(program, input=json.dumps(said).encode(), env=environment, check=True)
        answered.result()
    shown = "q &lt;!channel&gt; &lt;http://evil.example|Login&gt; &amp; @\u200ball, a@b"
    assert posted == [{"text": shown}]
    for address in (
        "nothing/HIDDEN",
        "http://127.0.0.1:1/HIDDEN",
        "http://127.0.0.1:1/HID DEN\n",
        "x://h/HIDDEN",
    ):
        environment["NDCG_SPARK_WEBHOOK"] = address
        done = subprocess.run(
            program,
            input='{"text": ""}',
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert (
            done.returncode,
            "check NDCG_SPARK_WEBHOOK" in done.stderr,
            "HID" in done.stderr,
        ) == (1, True, False)
    del environment["NDCG_SPARK_WEBHOOK"]
    done = subprocess.run(program, env=environment, capture_output=True, text=True, check=False)
    assert (done.returncode, "NDCG_SPARK_WEBHOOK is not set" in done.stderr) == (1, True)


@pytest.mark.slow
def test_beside_a_cluster_a_script_reads_tables_of_delta_and_writes_others(tmp_path):
    deltalake = pytest.importorskip("deltalake")
    data = tmp_path / "data"
    judgments = {"query_id": ["q1", "q2"], "doc_id": ["a", "a"], "relevance": [1.0, 1.0]}
    results = {"run": ["r"] * 4, "query_id": ["q1", "q2"] * 2, "doc_id": ["b", "b", "a", "a"]}
    results["score"] = [2.0, 2.0, 1.0, 1.0]
    deltalake.write_deltalake(str(data / "judgments"), pa.table(judgments))
    deltalake.write_deltalake(str(data / "results"), pa.table(results), partition_by=["run"])
    # The relevant document is second in one list, and first in the other.
    deltalake.DeltaTable(str(data / "results")).delete("query_id = 'q1' AND doc_id = 'b'")
    config = recipe("The container", "toml", "SPARK_3.md")
    # Tables are written though the gate has no verdict, and the exit code is the gate's.
    config += "[gate]\n[[gate.check]]\ncutoff = 10\nmax_drop = 0.01\n"
    (tmp_path / "nightly.toml").write_text(config.replace("/data", str(data)), encoding="utf-8")
    program = f'#!/bin/sh\nexec {sys.executable} -m ndcg_spark "$@"\n'
    (tmp_path / "ndcg-spark").write_text(program, encoding="utf-8")
    (tmp_path / "ndcg-spark").chmod(0o755)
    pod = airflow_pod(recipe("In Airflow", "python", "SPARK_3.md"))
    told = {"NIGHT": "2026-11-20", "TABLES": pod.env_vars["TABLES"].replace("/data", str(data))}
    assert pod.env_vars.keys() == told.keys()
    script = recipe("The container", "sh", "SPARK_3.md").replace("/data", str(data))
    (tmp_path / "night.sh").write_text(script, encoding="utf-8")
    command = [word.replace("/etc/ndcg_spark", str(tmp_path)) for word in pod.cmds]
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT), **told}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 6, done.stderr
    table = deltalake.DeltaTable(str(data / "ndcg/dataset_scores"))
    (row,) = table.to_pyarrow_table().to_pylist()
    assert (row["run"], str(row["evaluated_on"])) == ("r", "2026-11-20")
    assert row["ndcg"] == pytest.approx((1 + 1 / math.log2(3)) / 2)


def airflow_pod(code):
    """The arguments of the operator of a DAG, with stand-ins for Airflow and Kubernetes."""
    pods = []

    def dag(**_):
        return lambda function: function

    shown = types.SimpleNamespace
    kinds = ("V1ConfigMapVolumeSource", "V1PersistentVolumeClaimVolumeSource", "V1Volume")
    kinds += ("V1VolumeMount", "V1ResourceRequirements")
    modules = {
        "airflow.decorators": shown(dag=dag),
        "airflow.providers.cncf.kubernetes.operators.pod": shown(
            KubernetesPodOperator=lambda **given: pods.append(shown(**given))
        ),
        "airflow.timetables.interval": shown(CronDataIntervalTimetable=lambda *_, **__: None),
        "kubernetes.client": shown(models=shown(**dict.fromkeys(kinds, shown))),
    }
    with mock.patch.dict(sys.modules, modules):
        exec(code, {})  # noqa: S102  # our own page
    (pod,) = pods
    mounted = [mount.name for mount in pod.volume_mounts]
    assert mounted == [volume.name for volume in pod.volumes]
    return pod
