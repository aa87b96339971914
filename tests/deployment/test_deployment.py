"""What runs the evaluation elsewhere: the submit command line, the nightly script, Kubernetes and Airflow."""

import datetime
import fcntl
import importlib.util
import itertools
import os
import re
import runpy
import subprocess
import sys
import types
from pathlib import Path

import pytest
from programs import forked

ROOT = Path(__file__).parents[2]
GOLDEN = ROOT / "tests" / "golden"
QRELS = "q1 0 a 2\nq1 0 b 0\nq2 0 c 1\n"
RUN = "q1 Q0 a 1 3.0 bm25\nq1 Q0 b 2 2.5 bm25\nq2 Q0 c 1 1.0 bm25\n"


def script(name, *arguments, cwd=ROOT, **environment):
    kept = {key: value for key, value in os.environ.items() if key not in ("SPARK_HOME", "NDCG_SPARK_SUBMIT")}
    return subprocess.run(
        [str(ROOT / "scripts" / name), *map(str, arguments)],
        cwd=cwd,
        env={**kept, **environment},
        capture_output=True,
        text=True,
        check=False,
    )


SUBMISSIONS = {
    "local": ["--", "--config", "conf/example.toml"],
    "standalone": [
        *("--master", "spark://host:7077", "--py-files", "gains.py", "--driver-java-options", "--add-opens=a=b"),
        *("--", "--set", "gain={0: 0, 1: 5}"),
    ],
    "yarn-cluster": [
        "--master=yarn",
        "--deploy-mode=cluster",
        "--conf",
        "spark.executor.memory=8g",
        "--",
        "--format",
        "json",
    ],
    "kubernetes": ["--master", "k8s://https://host:6443", "--archives", "more.zip#more", "--files", "a.txt", "--"],
}


@pytest.mark.parametrize("case", SUBMISSIONS)
def test_the_submit_command_line_is_as_it_was_agreed(case, tmp_path):
    done = script("submit.sh", "--dry-run", *SUBMISSIONS[case], cwd=tmp_path, SPARK_HOME=str(fake_spark(tmp_path, "")))
    assert done.returncode == 0, done.stderr
    printed = done.stdout.replace(str(ROOT), "PROJECT").replace(str(tmp_path), "HERE")
    assert printed == (GOLDEN / f"submit-{case}.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--dry-run"], "there is no --"),
        (["--master", "--", "--format", "json"], "--master lacks its value"),
        (["--master", "spark://host:7077", "--deploy-mode", "cluster", "--"], "runs no Python driver"),
    ],
)
def test_a_submission_that_cannot_work_is_refused_with_exit_code_2(arguments, reason):
    done = script("submit.sh", *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert reason in done.stderr


def test_a_spark_home_without_spark_is_refused(tmp_path):
    done = script("submit.sh", "--dry-run", "--", SPARK_HOME=str(tmp_path))
    assert done.returncode == 2
    assert "has no bin/spark-submit" in done.stderr


def test_submit_ends_with_the_exit_code_of_spark_submit_and_runs_where_it_was_called(tmp_path):
    home = fake_spark(tmp_path, 'echo "$PWD"; exit 3\n')
    done = script("submit.sh", "--", "--format", "json", cwd=tmp_path, SPARK_HOME=str(home))
    assert (done.returncode, done.stdout) == (3, f"{tmp_path}\n"), done.stderr


def fake_spark(folder, body):
    program = folder / "spark/bin/spark-submit"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/usr/bin/env bash\n{body}", encoding="utf-8")
    program.chmod(0o755)
    return folder / "spark"


@pytest.fixture
def night(tmp_path):
    """A folder with one night's files and a configuration for them, by absolute paths."""
    (tmp_path / "qrels-2020-01-02.txt").write_text(QRELS, encoding="utf-8")
    (tmp_path / "run-2020-01-02.txt").write_text(RUN, encoding="utf-8")
    (tmp_path / "night.toml").write_text(
        f'output = "{tmp_path}/out"\nengine = "embedded"\n'
        f'[judgments]\npath = "{tmp_path}/qrels-{{date}}.txt"\n[results]\npath = "{tmp_path}/run-{{date}}.txt"\n',
        encoding="utf-8",
    )
    return tmp_path


@pytest.mark.slow
def test_a_night_is_published_and_its_begin_and_end_are_told(night):
    tables = f"delta:{night}/tables"
    done = script(
        "nightly.sh", "2020-01-02", night / "night.toml", "--cutoffs", "1", cwd=night, NDCG_SPARK_EXPORT=tables
    )
    assert done.returncode == 0, done.stderr
    assert (night / "tables/dataset_scores/_delta_log").is_dir()
    told = [line for line in done.stderr.splitlines() if " nightly: " in line]
    assert re.fullmatch(r"\S+Z nightly: begin 2020-01-02 \S+night.toml", told[0])
    assert re.fullmatch(r"\S+Z nightly: end 2020-01-02 \S+night.toml: exit code 0 after \d+ s", told[-1])
    assert list(night.glob("out/dataset_scores/evaluated_on=2020-01-02/*/*.parquet"))


def test_the_night_is_yesterday_in_utc_and_is_submitted_where_options_say_so(night):
    home = fake_spark(night, 'printf "%s\\n" "$@"\n')
    before = datetime.datetime.now(datetime.UTC).date()
    done = script("nightly.sh", night / "night.toml", SPARK_HOME=str(home), NDCG_SPARK_SUBMIT="--master local[1]")
    after = datetime.datetime.now(datetime.UTC).date()
    assert done.returncode == 0, done.stderr
    said = done.stdout.splitlines()
    assert said[:2] == ["--master", "local[1]"]
    yesterdays = {(day - datetime.timedelta(days=1)).isoformat() for day in (before, after)}
    assert said[said.index("--date") + 1] in yesterdays


@pytest.mark.slow
def test_a_night_that_its_gate_does_not_pass_is_published_and_that_is_told(night):
    with (night / "night.toml").open("a", encoding="utf-8") as file:
        file.write("[gate]\n[[gate.check]]\ncutoff = 10\nmax_drop = 0.01\n")
    done = script("nightly.sh", "2020-01-02", night / "night.toml", cwd=night)
    assert done.returncode == 6, done.stderr
    assert "exit code 6, published, the gate came to no verdict after" in done.stderr
    assert list(night.glob("out/dataset_scores/evaluated_on=2020-01-02/*/*.parquet"))


def test_a_configuration_that_is_being_evaluated_is_left_alone_with_exit_code_75(night):
    with (night / "night.toml").open(encoding="utf-8") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        done = script("nightly.sh", "2020-01-02", night / "night.toml")
    assert (done.returncode, done.stdout) == (75, "")
    assert "an evaluation of it is running, nothing was done" in done.stderr
    assert not (night / "out").exists()


def test_a_night_that_a_signal_ends_is_told_by_the_script(night):
    home = fake_spark(night, "kill -9 $$")
    arguments = ["nightly.sh", "2020-01-02", night / "night.toml", "--on-end", "cat"]
    done = script(*arguments, SPARK_HOME=str(home), NDCG_SPARK_SUBMIT="--master local[1]")
    assert done.returncode == 137
    assert '"reason": "ended by signal 9"' in done.stderr


def test_a_configuration_that_is_not_there_is_told_with_exit_code_2(tmp_path):
    done = script("nightly.sh", "2020-01-02", tmp_path / "no.toml")
    assert done.returncode == 2
    assert "cannot be read" in done.stderr


def defaults():
    lines = (ROOT / "conf/spark-defaults.conf").read_text(encoding="utf-8").splitlines()
    return dict(line.split() for line in lines if line.strip() and not line.startswith("#"))


@pytest.mark.parametrize("file", ["spark-defaults.conf", "log4j2.properties"])
def test_every_setting_of_spark_has_a_reason_above_it(file):
    lines = (ROOT / "conf" / file).read_text(encoding="utf-8").splitlines()
    # A log4j2 setting may follow others of the same thing.
    explained = "#" if file == "spark-defaults.conf" else "#arl"
    bare = [line for above, line in itertools.pairwise(lines) if line[:1].isalpha() and above[:1] not in explained]
    assert bare == []


def loaded_yaml(name):
    yaml = pytest.importorskip("yaml")
    return yaml.safe_load((ROOT / "conf/kubernetes" / name).read_text(encoding="utf-8"))


def test_the_manifests_are_what_the_schemas_of_kubernetes_and_of_the_spark_operator_allow():
    kubernetes = pytest.importorskip("kubernetes_validate")
    kubernetes.validate(loaded_yaml("cronjob.yaml"), "1.30", strict=True)
    models = pytest.importorskip("kubeflow_spark_api.models")
    application = loaded_yaml("scheduled-spark-application.yaml")
    read = models.SparkV1beta2ScheduledSparkApplication.model_validate(application)
    # A key that the operator does not know would be lost.
    assert read.model_dump(by_alias=True, exclude_none=True) == application


def test_the_spark_application_runs_nightly_with_the_settings_of_spark_defaults():
    found = loaded_yaml("scheduled-spark-application.yaml")
    template = found["spec"]["template"]
    assert (found["apiVersion"], found["kind"]) == ("sparkoperator.k8s.io/v1beta2", "ScheduledSparkApplication")
    assert (found["spec"]["concurrencyPolicy"], found["spec"]["timeZone"]) == ("Forbid", "UTC")
    assert (template["type"], template["mode"]) == ("Python", "cluster")
    main = template["mainApplicationFile"].removeprefix("local:///opt/ndcg_spark/")
    assert (ROOT / main).is_file()
    assert template["sparkConf"] == defaults()
    mounted = {mount["name"] for mount in template["driver"]["volumeMounts"]}
    assert mounted == {volume["name"] for volume in template["volumes"]}


def test_the_cron_job_evaluates_embedded_and_retries_only_what_a_retry_can_cure():
    found = loaded_yaml("cronjob.yaml")
    job = found["spec"]["jobTemplate"]["spec"]
    container = job["template"]["spec"]["containers"][0]
    assert (found["kind"], found["spec"]["concurrencyPolicy"]) == ("CronJob", "Forbid")
    assert (ROOT / container["command"][1].removeprefix("/opt/ndcg_spark/")).is_file()
    assert container["args"][-2:] == ["--engine", "embedded"]
    rule = job["podFailurePolicy"]["rules"][0]
    assert (rule["action"], rule["onExitCodes"]["values"]) == ("FailJob", [1, 2, 3, 5, 6])
    mounted = {mount["name"] for mount in container["volumeMounts"]}
    assert mounted == {volume["name"] for volume in job["template"]["spec"]["volumes"]}


def nightly(*arguments):
    sys.argv = ["nightly.py", *arguments]
    runpy.run_path(str(ROOT / "jobs/nightly.py"), run_name="__main__")


def test_the_nightly_job_evaluates_yesterday_unless_a_date_is_given(night):
    paths = (str(night / "night.toml"), "--date", "2020-01-02", "--cutoffs", "1", "--format", "json")
    done = forked(nightly, "--config", *paths, cwd=night)
    assert done.returncode == 0, done.stderr
    done = forked(nightly, "--config", str(night / "night.toml"), cwd=night)
    assert done.returncode == 3
    yesterday = datetime.datetime.now(datetime.UTC).date() - datetime.timedelta(days=1)
    assert f"qrels-{yesterday}.txt" in done.stderr


class AirflowException(Exception):  # noqa: N818  # its name there
    pass


class AirflowFailException(AirflowException):
    pass


@pytest.fixture
def airflow_dag(monkeypatch, request):
    """The DAG's module, on a stand-in for Airflow that notes what it was given; workers may have a Spark."""
    monkeypatch.setenv("NDCG_SPARK_PROJECT", str(ROOT))
    monkeypatch.delenv("NDCG_SPARK_MASTER", raising=False)
    if getattr(request, "param", None):
        monkeypatch.setenv("NDCG_SPARK_MASTER", request.param)
    given = {}

    def dag(**options):
        given["dag"] = options
        return lambda function: function

    def task(**options):
        given["task"] = options
        return lambda function: lambda *arguments: given.update(evaluate=function)

    modules = {
        "airflow": {},
        "airflow.timetables": {},
        "airflow.timetables.interval": {"CronDataIntervalTimetable": lambda cron, timezone: (cron, timezone)},
        "airflow.sdk": {"dag": dag, "task": task},
        "airflow.sdk.exceptions": {"AirflowException": AirflowException, "AirflowFailException": AirflowFailException},
    }
    for name, members in modules.items():
        module = types.ModuleType(name)
        vars(module).update(members)
        monkeypatch.setitem(sys.modules, name, module)
    spec = importlib.util.spec_from_file_location("ndcg_spark_dag", ROOT / "conf/airflow/ndcg_spark_dag.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    module.given = given
    return module


@pytest.mark.parametrize(
    ("airflow_dag", "before", "after"),
    [
        ("yarn", ["env", "NDCG_SPARK_SUBMIT=--master yarn"], []),
        (None, [], ["--engine", "embedded"]),
    ],
    indirect=["airflow_dag"],
)
def test_the_dag_evaluates_the_date_of_its_interval(airflow_dag, before, after, monkeypatch):
    ran = []
    monkeypatch.setattr(airflow_dag, "run", ran.append)
    airflow_dag.given["evaluate"](ds="2020-01-02")
    script = str(ROOT / "scripts/nightly.sh")
    assert ran == [[*before, script, "2020-01-02", f"{ROOT}/conf/nightly.toml", *after]]
    assert os.access(script, os.X_OK)
    assert airflow_dag.given["dag"]["schedule"] == ("30 2 * * *", "UTC")
    assert airflow_dag.given["task"]["retries"] == 3


def test_the_dag_evaluates_no_night_for_a_run_without_a_date(airflow_dag):
    with pytest.raises(AirflowFailException, match="has no logical date, so no night"):
        airflow_dag.given["evaluate"]()


@pytest.mark.parametrize(
    ("code", "failure"),
    [*((code, AirflowException) for code in (1, 4)), *((code, AirflowFailException) for code in (2, 3, 5, 6))],
)
def test_the_dag_retries_what_a_retry_can_cure(airflow_dag, code, failure):
    with pytest.raises(AirflowException) as raised:
        airflow_dag.run(["bash", "-c", f"echo said; exit {code}"])
    assert raised.type is failure
    airflow_dag.run(["true"])
