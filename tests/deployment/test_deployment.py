"""What runs the evaluation elsewhere: the submit command line, the nightly script, Kubernetes and Airflow."""

import datetime
import fcntl
import json
import logging
import os
import re
import runpy
import signal
import subprocess
import sys
import time
import types
from pathlib import Path

import pytest
from programs import forked
from servers import wait_until

from ndcg_spark.errors import InstallationError, refuse_old_spark

ROOT = Path(__file__).parents[2]
CONFIG = """output = "{0}/out"
engine = "embedded"
judgments = "{0}/qrels-{{date}}.txt"
results = "{0}/run-{{date}}.txt"
"""


def script(name, *arguments, cwd=ROOT, **environment):
    kept = {
        key: value
        for key, value in os.environ.items()
        if key not in ("SPARK_HOME", "NDCG_SPARK_SUBMIT")
    }
    command = [str(ROOT / "scripts" / name), *map(str, arguments)]
    return subprocess.run(
        command, cwd=cwd, env={**kept, **environment}, capture_output=True, text=True, check=False
    )


def fake_spark(folder, body=""):
    """A SPARK_HOME whose spark-submit is this script."""
    program = folder / "spark/bin/spark-submit"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/usr/bin/env bash\n{body}", encoding="utf-8")
    program.chmod(0o755)
    return str(folder / "spark")


SUBMISSIONS = {
    "local": "-- --config conf/example.toml",
    "standalone": "--master spark://host:7077 --py-files gains.py --driver-java-options --add-opens=a=b -- "
    "--set gain={0:0,1:5}",
    "yarn-cluster": "--master=yarn --deploy-mode=cluster --conf spark.executor.memory=8g -- --format json",
    "kubernetes": "--master k8s://https://host:6443 --archives more.zip#more --files a.txt --",
}


@pytest.mark.parametrize("case", SUBMISSIONS)
def test_the_submit_command_line_is_as_it_was_agreed(case, tmp_path):
    arguments = [word.replace(":0,1:", ": 0, 1: ") for word in SUBMISSIONS[case].split()]
    done = script(
        "submit.sh", "--dry-run", *arguments, cwd=tmp_path, SPARK_HOME=fake_spark(tmp_path)
    )
    assert done.returncode == 0, done.stderr
    printed = done.stdout.replace(str(ROOT), "PROJECT").replace(str(tmp_path), "HERE")
    assert printed == (ROOT / f"tests/golden/submit-{case}.txt").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ("--dry-run", "there is no --"),
        ("--master -- --format json", "--master lacks its value"),
        ("--master spark://host:7077 --deploy-mode cluster --", "runs no Python driver"),
        ("--dry-run --", "has no bin/spark-submit"),
    ],
)
def test_a_submission_that_cannot_work_is_refused_with_exit_code_2(arguments, reason, tmp_path):
    home = {"SPARK_HOME": str(tmp_path)} if "spark-submit" in reason else {}
    done = script("submit.sh", *arguments.split(), **home)
    assert (done.returncode, done.stdout, reason in done.stderr) == (2, "", True), done.stderr


@pytest.mark.parametrize("has_jars", [True, False])
@pytest.mark.parametrize(("version", "code"), [("3.5.7", 2), ("3.5.2-amzn-1", 2), ("4.0.1", 3)])
def test_a_spark_3_is_refused_in_the_words_of_the_program(version, code, has_jars, tmp_path):
    body = "exit 3\n"
    if not has_jars:
        body = f'[ "$1" = --version ] || exit 3; echo "  /_/   version {version}" >&2\n'
    home = fake_spark(tmp_path, body)
    if has_jars:
        jar = Path(home, f"jars/spark-core_2.12-{version}.jar")
        jar.parent.mkdir()
        jar.touch()
    done = script("submit.sh", "--", "--format", "json", SPARK_HOME=home)
    assert done.returncode == code, done.stderr
    if code == 2:
        with pytest.raises(InstallationError) as refusal:
            refuse_old_spark(version)
        assert done.stderr == f"{refusal.value}\n".replace("engine: ", "submit: ")


def test_submit_ends_with_the_exit_code_of_spark_submit_and_runs_where_it_was_called(tmp_path):
    home = fake_spark(tmp_path, 'echo "$PWD"; exit 3\n')
    done = script("submit.sh", "--", "--format", "json", cwd=tmp_path, SPARK_HOME=home)
    assert (done.returncode, done.stdout) == (3, f"{tmp_path}\n"), done.stderr


@pytest.mark.parametrize("name", ["nightly.sh", "submit.sh"])
def test_scripts_have_a_help_without_the_signs_of_comments(name):
    done = script(name, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert f"    scripts/{name} [" in done.stdout
    assert "#" not in done.stdout


@pytest.fixture
def night(tmp_path):
    """A folder with one night's files and a configuration for them, by absolute paths."""
    (tmp_path / "qrels-2020-01-02.txt").write_text(
        "q1 0 a 2\nq1 0 b 0\nq2 0 c 1\n", encoding="utf-8"
    )
    rows = "q1 Q0 a 1 3.0 bm25\nq1 Q0 b 2 2.5 bm25\nq2 Q0 c 1 1.0 bm25\n"
    (tmp_path / "run-2020-01-02.txt").write_text(rows, encoding="utf-8")
    (tmp_path / "night.toml").write_text(CONFIG.format(tmp_path), encoding="utf-8")
    return tmp_path


def yesterday():
    return str(datetime.datetime.now(datetime.UTC).date() - datetime.timedelta(days=1))


@pytest.mark.slow
def test_a_night_is_published_and_its_begin_and_end_are_told(night):
    with (night / "night.toml").open("a", encoding="utf-8") as file:
        file.write("[gate]\n[[gate.check]]\ncutoff = 10\nmax_drop = 0.01\n")
    tables = f"delta:{night}/tables"
    done = script(
        "nightly.sh", "2020-01-02", night / "night.toml", cwd=night, NDCG_SPARK_EXPORT=tables
    )
    assert done.returncode == 6, done.stderr
    told = [line for line in done.stderr.splitlines() if " nightly: " in line]
    assert re.fullmatch(r"\S+ INFO    nightly: begin 2020-01-02 \S+night.toml", told[0])
    # What people are told follows, in the same line.
    ending = "exit code 6, published, the gate came to no verdict: default of 2020-01-02: "
    said = rf"\S+ WARNING nightly: end 2020-01-02 \S+night.toml after \d+ s: {ending}"
    assert re.match(f"{said}.* [|] bm25: ndcg@10 1.0000 [|] ", told[-1]), told[-1]
    assert list(night.glob("out/dataset_scores/evaluated_on=2020-01-02/*/*.parquet"))
    assert (night / "tables/dataset_scores/_delta_log").is_dir()


def test_the_night_is_yesterday_in_utc_and_is_submitted_where_options_say_so(night):
    home, before = fake_spark(night, 'printf "%s\\n" "$@"\n'), yesterday()
    submitted = {"SPARK_HOME": home, "NDCG_SPARK_SUBMIT": "--master local[1]"}
    done = script("nightly.sh", night / "night.toml", **submitted)
    said = done.stdout.splitlines()
    assert (done.returncode, said[:2]) == (0, ["--master", "local[1]"]), done.stderr
    assert said[said.index("--date") + 1] in {before, yesterday()}
    quiet = script("nightly.sh", night / "night.toml", "--quiet", **submitted)
    assert (" nightly: " in done.stderr, " nightly: " in quiet.stderr) == (True, False)


def test_the_spark_of_a_python_package_is_found_by_the_python_beside_it(night):
    bin_folder = Path(fake_spark(night, 'echo "$SPARK_HOME"\n')) / "bin"
    (bin_folder / "find_spark_home.py").write_text(
        "import sys; print(sys.argv[0])", encoding="utf-8"
    )
    (bin_folder / "python3").symlink_to(sys.executable)
    done = script("submit.sh", "--", PATH=f"{bin_folder}:{os.environ['PATH']}")
    assert (done.returncode, done.stdout) == (0, f"{bin_folder}/find_spark_home.py\n"), done.stderr


def test_a_configuration_that_is_being_evaluated_is_left_alone_with_exit_code_75(night):
    with (night / "night.toml").open(encoding="utf-8") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        done = script("nightly.sh", "2020-01-02", night / "night.toml")
    assert (done.returncode, done.stdout) == (75, "")
    assert "already being evaluated" in done.stderr
    assert not (night / "out").exists()


def test_a_night_that_a_signal_ends_is_told_by_the_script(night):
    environment = {
        "SPARK_HOME": fake_spark(night, "kill -9 $$"),
        "NDCG_SPARK_SUBMIT": "--master local[1]",
    }
    done = script(
        "nightly.sh", "2020-01-02", night / "night.toml", "--on-end", "cat", **environment
    )
    assert (done.returncode, '"reason": "ended by signal 9"' in done.stderr) == (137, True)
    # bash would add a line of its own.
    assert "Killed" not in done.stderr


@pytest.mark.parametrize(
    ("code", "level"), [(0, "info"), (3, "error"), (5, "error"), (6, "warning")]
)
def test_the_last_line_has_the_level_of_the_end(night, code, level):
    environment = {
        "SPARK_HOME": fake_spark(night, f"exit {code}"),
        "NDCG_SPARK_SUBMIT": "--master local[1]",
    }
    done = script(
        "nightly.sh", "2020-01-02", night / "night.toml", "--log-format=json", **environment
    )
    assert (done.returncode, json.loads(done.stderr.splitlines()[-1])["level"]) == (code, level)


@pytest.mark.parametrize(
    "arguments",
    [
        "2020-01-02 no.toml",
        "2020-1-2 night.toml",
        "yesterday",
        "--date=2020-01-02",
        "--config night.toml",
    ],
)
def test_a_date_or_a_configuration_that_is_none_is_told_with_exit_code_2(night, arguments):
    done = script("nightly.sh", *arguments.split(), cwd=night)
    assert (done.returncode, "give [YYYY-MM-DD] [CONFIG.toml]" in done.stderr) == (2, True)


def test_lines_are_json_where_those_of_the_evaluation_are(tmp_path):
    done = script("nightly.sh", 'a "b"', "--log-format", "json", cwd=tmp_path)
    told = json.loads(done.stderr)
    assert (done.returncode, told["step"], told["level"]) == (2, "nightly", "error")
    assert told["message"].startswith("unexpected argument 'a \"b\"'")


def loaded_yaml(name):
    yaml = pytest.importorskip("yaml")
    return yaml.safe_load((ROOT / "conf/kubernetes" / name).read_text(encoding="utf-8"))


def names(mounts):
    return sorted(mount["name"] for mount in mounts)


def test_the_spark_application_runs_nightly_with_the_settings_of_spark_defaults():
    app = loaded_yaml("scheduled-spark-application.yaml")
    spec, template = app["spec"], app["spec"]["template"]
    assert (app["kind"], spec["concurrencyPolicy"], spec["timeZone"]) == (
        "ScheduledSparkApplication",
        "Forbid",
        "UTC",
    )
    assert (template["type"], template["mode"]) == ("Python", "cluster")
    assert (
        ROOT / template["mainApplicationFile"].removeprefix("local:///opt/ndcg_spark/")
    ).is_file()
    lines = (ROOT / "conf/spark-defaults.conf").read_text(encoding="utf-8").splitlines()
    assert template["sparkConf"] == dict(
        line.split() for line in lines if line.strip() and line[0] != "#"
    )
    assert names(template["driver"]["volumeMounts"]) == names(template["volumes"])
    read = pytest.importorskip(
        "kubeflow_spark_api.models"
    ).SparkV1beta2ScheduledSparkApplication.model_validate(app)
    # A key that the operator does not know would be lost.
    assert read.model_dump(by_alias=True, exclude_none=True) == app


def test_the_cron_job_evaluates_embedded_and_retries_only_what_a_retry_can_cure():
    cron_job = loaded_yaml("cronjob.yaml")
    job = cron_job["spec"]["jobTemplate"]["spec"]
    (container,) = job["template"]["spec"]["containers"]
    assert (cron_job["kind"], cron_job["spec"]["concurrencyPolicy"]) == ("CronJob", "Forbid")
    assert (ROOT / container["command"][1].removeprefix("/opt/ndcg_spark/")).is_file()
    assert container["args"][-2:] == ["--engine", "embedded"]
    rule = job["podFailurePolicy"]["rules"][0]
    assert (rule["action"], rule["onExitCodes"]["values"]) == ("FailJob", [1, 2, 3, 5, 6])
    assert names(container["volumeMounts"]) == names(job["template"]["spec"]["volumes"])
    pytest.importorskip("kubernetes_validate").validate(cron_job, "1.30", strict=True)


def nightly(*arguments):
    sys.argv = ["nightly.py", *arguments]
    runpy.run_path(str(ROOT / "jobs/nightly.py"), run_name="__main__")


def test_the_nightly_job_evaluates_yesterday_unless_a_date_is_given(night):
    arguments = ("--config", str(night / "night.toml"))
    done = forked(nightly, *arguments, "--date", "2020-01-02", cwd=night)
    assert done.returncode == 0, done.stderr
    before, done = yesterday(), forked(nightly, *arguments, cwd=night)
    assert done.returncode == 3
    assert f"qrels-{before}.txt" in done.stderr or f"qrels-{yesterday()}.txt" in done.stderr


class Retried(Exception):  # noqa: N818  # Airflow's names have no such ending
    pass


class NotRetried(Retried):
    pass


@pytest.fixture
def airflow_dag(monkeypatch, request):
    return imported_dag(monkeypatch, getattr(request, "param", {}))


def imported_dag(monkeypatch, variables):
    """The names of the DAG's module, on a stand-in for Airflow; its task is `evaluate`."""
    monkeypatch.setenv("NDCG_SPARK_PROJECT", str(ROOT))
    for name in ("MASTER", "SUBMIT"):
        monkeypatch.delenv(f"NDCG_SPARK_{name}", raising=False)
    for name, value in variables.items():
        monkeypatch.setenv(f"NDCG_SPARK_{name}", value)
    given = {}

    def decorator(**options):
        def decorated(function):
            given.update(options, **{function.__name__: function})
            return lambda: function() if function.__name__ == "ndcg_spark" else None

        return decorated

    modules = {
        "airflow": {},
        "airflow.timetables": {},
        "airflow.timetables.interval": {
            "CronDataIntervalTimetable": lambda cron, timezone: (cron, timezone)
        },
        "airflow.sdk": {"dag": decorator, "task": decorator},
        "airflow.sdk.exceptions": {"AirflowException": Retried, "AirflowFailException": NotRetried},
    }
    for name, members in modules.items():
        monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
        vars(sys.modules[name]).update(members)
    return runpy.run_path(str(ROOT / "conf/airflow/ndcg_spark_dag.py")) | given


@pytest.mark.parametrize(
    ("airflow_dag", "before", "after"),
    [
        ({"MASTER": "yarn"}, ["env", "NDCG_SPARK_SUBMIT=--master yarn"], []),
        ({}, [], ["--engine", "embedded"]),
        # The script submits by it, and would submit the embedded engine.
        ({"SUBMIT": "--master yarn"}, [], []),
    ],
    indirect=["airflow_dag"],
)
def test_the_dag_evaluates_the_date_of_its_interval(airflow_dag, before, after):
    night = [str(ROOT / "scripts/nightly.sh"), "2020-01-02", f"{ROOT}/conf/nightly.toml"]
    assert airflow_dag["command"]("2020-01-02") == [*before, *night, *after]
    assert (airflow_dag["schedule"], airflow_dag["retries"]) == (("30 2 * * *", "UTC"), 3)
    with pytest.raises(NotRetried, match="has no logical date, so no night"):
        airflow_dag["evaluate"]()


def test_a_dag_with_two_answers_to_where_it_computes_is_not_imported(monkeypatch):
    variables = {"MASTER": "yarn", "SUBMIT": "--deploy-mode cluster"}
    with pytest.raises(ValueError, match=r"yarn.*--deploy-mode cluster.*leave one"):
        imported_dag(monkeypatch, variables)


@pytest.mark.parametrize(
    ("code", "failure"), {4: Retried, **dict.fromkeys((1, 2, 3, 5, 6), NotRetried)}.items()
)
def test_the_dag_retries_what_a_retry_can_cure(airflow_dag, code, failure):
    with pytest.raises(Retried) as raised:
        airflow_dag["run"](["bash", "-c", f"echo said; exit {code}"])
    assert raised.type is failure
    airflow_dag["run"](["true"])


@pytest.mark.slow
@pytest.mark.parametrize("asked", ["trap 'echo asked; exit 143' TERM", "trap '' TERM"])
def test_a_job_ends_with_its_task_and_all_of_its_processes(airflow_dag, tmp_path, caplog, asked):
    """Airflow raises a timeout in the task, as this alarm does, which the job asks for once its line is logged."""

    def too_long(*_):
        raise TimeoutError

    caplog.set_level(logging.INFO, "airflow.task")
    file, logged = tmp_path / "processes", tmp_path / "logged"
    job = "; ".join(
        [
            asked,
            f"echo $$ >{file}",
            # It ignores the request, and the pipe of the output does not wait for it.
            f"(trap '' TERM; exec sleep 60) >/dev/null 2>&1 & echo $! >>{file}",
            "printf '\\xff\\n'",
            f"until [ -e {logged} ]; do sleep 0.01; done",
            f"kill -ALRM {os.getpid()}",
            "wait",
            "sleep 60",
        ]
    )
    # It makes its file at the first line, after caplog has the line.
    handler = logging.FileHandler(logged, encoding="utf-8", delay=True)
    logging.getLogger().addHandler(handler)
    airflow_dag["run"].__globals__["SECONDS_TO_END"] = 1
    before = signal.signal(signal.SIGALRM, too_long)
    try:
        # If the job does not ask.
        signal.setitimer(signal.ITIMER_REAL, 30)
        started = time.monotonic()
        with pytest.raises(TimeoutError):
            airflow_dag["run"](["bash", "-c", job])
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
        logging.getLogger().removeHandler(handler)
        handler.close()
    assert time.monotonic() - started < 20
    for process in file.read_text(encoding="ascii").split():
        wait_until(lambda process=process: not is_running(process), process, file, 10)
    said = [record.getMessage() for record in caplog.records]
    assert said == ["\N{REPLACEMENT CHARACTER}", *(["asked"] if "asked" in asked else [])]


def is_running(process):
    """Whether a process runs; one that nobody has waited for has ended."""
    try:
        state = Path(f"/proc/{process}/stat").read_text(encoding="ascii")
    except OSError:
        return False
    return state.rpartition(")")[2].split()[0] != "Z"


def test_the_embedded_engine_is_not_submitted(night):
    submitted = {"NDCG_SPARK_SUBMIT": "--master local[1]"}
    for words in (["--engine", "embedded"], ["--engine=embedded"]):
        done = script("nightly.sh", night / "night.toml", *words, **submitted)
        assert (done.returncode, "leave one of them out" in done.stderr) == (2, True)
