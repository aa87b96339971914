"""A real standalone cluster on loopback: one master, two workers whose Python has nothing of this project.

The job gets there as README says: through scripts/submit.sh, with the packaged environment and a user's own gain.
"""

import contextlib
import dataclasses
import functools
import json
import os
import random
import subprocess
import time
import venv
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import servers
from commands import command_line

pytestmark = pytest.mark.cluster

ROOT = Path(__file__).parents[2]
#: Says where it ran, and takes its time there, so that a worker can be lost meanwhile.
GAIN = """
import os, sys, time
from pathlib import Path

def worth(grades):
    if Path("environment").is_dir():
        Path({marks!r}, f"{{os.getpid()}}-{{time.time_ns()}}").write_text(f"{{sys.prefix}}\\n{{os.getcwd()}}")
        time.sleep(0.3)
    return grades * grades / 3 + grades
"""
QUERIES, DEPTH = 150, 40


@dataclasses.dataclass
class Cluster:
    master: str
    workers: list[subprocess.Popen]
    folder: Path

    def said(self):
        """What the last job said, its end."""
        return [
            (self.folder / name).read_text(errors="replace")[-2500:]
            for name in ("submit.out", "submit.log")
        ]


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    chance = np.random.default_rng(7)
    queries = np.repeat([f"q{number}" for number in range(QUERIES)], DEPTH)
    judgments = pd.DataFrame(
        {"query_id": queries, "doc_id": np.tile([f"d{n}" for n in range(DEPTH)], QUERIES)}
    )
    judgments["relevance"] = chance.integers(0, 5, len(judgments)).astype("float64")
    judgments.to_parquet(folder / "judgments.parquet", index=False)
    (folder / "results").mkdir()
    for run in ("bm25", "dense"):
        results = pd.DataFrame(
            {"run": run, "query_id": queries, "score": chance.normal(size=len(queries))}
        )
        results["doc_id"] = [
            f"d{n}" for _ in range(QUERIES) for n in chance.permutation(2 * DEPTH)[:DEPTH]
        ]
        results.to_parquet(folder / "results" / f"{run}.parquet", index=False)
    (folder / "marks").mkdir()
    (folder / "shop_gains.py").write_text(
        GAIN.format(marks=str(folder / "marks")), encoding="utf-8"
    )
    return folder


def arguments(data, output):
    return [
        *(
            "--judgments",
            data / "judgments.parquet",
            "--results",
            data / "results",
            "--output",
            output,
        ),
        *(
            "--cutoffs",
            "1,10,all",
            "--set",
            "gain=python:shop_gains.worth",
            "--date",
            "2026-11-20",
            "--format",
            "json",
        ),
    ]


@pytest.fixture(scope="module")
def embedded(data):
    """The tables as the embedded engine of the tests publishes them."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(data)
        done = command_line("evaluate", *arguments(data, data / "embedded"), cwd=data)
    assert done.returncode == 0, done.stderr[-2000:]
    return servers.score_tables(data / "embedded")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    folder = tmp_path_factory.mktemp("cluster")
    # What is sent to the workers is packed before, once: it takes a minute, which the first gain is not waited for.
    subprocess.run(
        [ROOT / "scripts/package.sh"], env=servers.environment(), check=True, capture_output=True
    )
    # Nothing is installed there, not even pip.
    venv.create(folder / "bare", symlinks=True)
    port = servers.free_port()
    with_contents = {
        "PYSPARK_PYTHON": folder / "bare/bin/python",
        "PATH": f"{folder / 'bare/bin'}:{os.environ['PATH']}",
        "SPARK_HOME": servers.SPARK_HOME,
        "SPARK_LOG_DIR": folder / "log",
        "SPARK_CONF_DIR": folder / "no-configuration",
    }
    start = [servers.SPARK_HOME / "bin/spark-class"]

    def worker(number):
        own = folder / f"worker{number}"
        own.mkdir()
        places = {"SPARK_WORKER_DIR": own / "work", "SPARK_LOCAL_DIRS": own / "local"}
        command = [
            *start,
            "org.apache.spark.deploy.worker.Worker",
            "--host",
            "127.0.0.1",
            "--port",
            0,
        ]
        command += ["--webui-port", 0, "--cores", 1, "--memory", "1g", f"spark://127.0.0.1:{port}"]
        return servers.running(
            command, folder / f"worker{number}.log", servers.environment(**with_contents, **places)
        )

    master = [
        *start,
        "org.apache.spark.deploy.master.Master",
        "--host",
        "127.0.0.1",
        "--port",
        port,
    ]
    master += ["--webui-port", servers.free_port()]
    with (
        servers.running(master, folder / "master.log", servers.environment(**with_contents)),
        worker(1) as first,
        worker(2) as second,
    ):
        for number in (1, 2):
            log = folder / f"worker{number}.log"
            registered = functools.partial(servers.says, log, "Successfully registered with master")
            servers.wait_until(registered, f"registering worker {number}", log)
        yield Cluster(f"spark://127.0.0.1:{port}", [first, second], folder)


@contextlib.contextmanager
def submitted(cluster, data, output):
    """scripts/submit.sh at work, as a newcomer calls it; what it prints goes beside its log."""
    command = [
        ROOT / "scripts/submit.sh",
        "--master",
        cluster.master,
        "--py-files",
        data / "shop_gains.py",
    ]
    # Short tasks on two cores: most of their time would be a compiler's and a collector's.
    settings = {
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": 2,
        **servers.QUICK_PLANS,
    }
    # An executor that is killed leaves the packed environment, 130 MB, where it keeps temporary files.
    settings["spark.executor.extraJavaOptions"] = (
        f"{servers.QUICK_OPTIONS} -Djava.io.tmpdir={cluster.folder}"
    )
    # What a lost worker held is asked for once more, not three times five seconds apart.
    settings |= {"spark.shuffle.io.maxRetries": 1, "spark.shuffle.io.retryWait": "100ms"}
    command += ["--executor-cores", 1, "--driver-java-options", servers.QUICK_OPTIONS]
    command += [part for name, value in settings.items() for part in ("--conf", f"{name}={value}")]
    local = {
        "SPARK_LOCAL_DIRS": cluster.folder / "driver",
        "SPARK_CONF_DIR": cluster.folder / "no-configuration",
    }
    with (
        (cluster.folder / "submit.out").open("wb") as out,
        (cluster.folder / "submit.log").open("wb") as log,
    ):
        job = subprocess.Popen(
            [
                "bash",
                "-c",
                servers.WATCHED_JOB,
                "job",
                *map(str, [*command, "--", *arguments(data, output)]),
            ],
            stdin=subprocess.PIPE,
            stdout=out,
            stderr=log,
            env=servers.environment(**local),
            start_new_session=True,
        )
        try:
            yield job
        finally:
            servers.kill(job)


def marks(data):
    return sorted((data / "marks").iterdir())


def check_where_it_ran(cluster, data):
    """On executors alone, whose Python is the one that was packed."""
    ran = [mark.read_text().splitlines() for mark in marks(data)]
    assert ran, "the gain ran on no executor"
    assert all(prefix == f"{folder}/environment" for prefix, folder in ran)
    assert {Path(folder).relative_to(cluster.folder).parts[0] for _, folder in ran} <= {
        "worker1",
        "worker2",
    }


def test_a_worker_that_is_lost_midway_changes_no_score_on_executors_without_the_project(
    cluster, data, embedded, thorough
):
    seed = random.SystemRandom().randrange(10**6)
    # Without --thorough at the first gain, so that it is the same in every run.
    moment = random.Random(seed).uniform(0, 2) if thorough else 0  # noqa: S311  # no secret
    before = len(marks(data))
    with submitted(cluster, data, data / "on-half-a-cluster") as job:
        log = cluster.folder / "submit.log"
        servers.wait_until(
            lambda: len(marks(data)) > before or job.poll() is not None, "the first gain", log, 200
        )
        assert len(marks(data)) > before, (seed, cluster.said())
        # A mark is there before it is written.
        servers.wait_until(
            lambda: len(marks(data)[-1].read_text().splitlines()) == 2,
            "what the gain has said",
            log,
            9,
        )
        at_work = (
            Path(marks(data)[-1].read_text().splitlines()[1]).relative_to(cluster.folder).parts[0]
        )
        time.sleep(moment)
        alive = job.poll() is None
        servers.kill(cluster.workers[int(at_work.removeprefix("worker")) - 1])
        code = job.wait(timeout=300)
    assert alive, f"seed {seed}: the job had ended before the worker was killed"
    assert code == 0, (seed, cluster.said())
    assert "Lost executor" in log.read_text(), f"seed {seed}"
    assert json.loads((cluster.folder / "submit.out").read_text())["engine"].endswith(
        f"({cluster.master})"
    )
    check_where_it_ran(cluster, data)
    servers.assert_same_scores(servers.score_tables(data / "on-half-a-cluster"), embedded)
