"""HDFS and YARN on loopback, and s3a:// by Hadoop's own client: what a cluster has and the embedded engine has not.

The jars come from Maven Central (hadoop/pom.xml), of the Hadoop that pyspark has, into .venv, once. It needs Maven,
Java and minutes: pytest tests/deployment/test_hadoop.py --thorough.
"""

import contextlib
import os
import random
import shutil
import subprocess
import sys
from pathlib import Path

import pandas as pd
import psutil
import pyarrow.dataset as ds
import pytest
import servers
from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway
from pyarrow import fs

from ndcg_spark.inputs.storage import storage
from ndcg_spark.nights.log import committed

pytestmark = pytest.mark.cluster
ROOT = Path(__file__).parents[2]
#: Says which Python computes it, and lets the first take its time: that executor is killed while it has this work.
GAIN = """
import os, sys, time
from pathlib import Path
from pyspark import TaskContext

def worth(grades):
    if TaskContext.get():
        is_first = not any(Path({marks!r}).iterdir())
        Path({marks!r}, str(os.getpid())).write_text(sys.prefix)
        time.sleep(30 if is_first else 0)
    return grades * grades / 3 + grades
"""
RESULTS = ["query_id", "q0", "doc_id", "rank", "score", "run"]
#: What a client must know of the cluster.
KNOWN = (
    "fs.defaultFS",
    *(f"yarn.resourcemanager.{name}" for name in ("address", "scheduler.address", "hostname")),
)
YARN = "org.apache.hadoop.yarn.server"
SETTINGS = {
    "yarn.nodemanager.disk-health-checker.max-disk-utilization-per-disk-percentage": "100",
    "yarn.nodemanager.vmem-check-enabled": "false",
    "yarn.nodemanager.resource.memory-mb": "6000",
    "yarn.scheduler.minimum-allocation-mb": "256",
    "yarn.nodemanager.hostname": "127.0.0.1",
    "yarn.resourcemanager.hostname": "127.0.0.1",
    # Its default has queues in a file of its own.
    "yarn.resourcemanager.scheduler.class": f"{YARN}.resourcemanager.scheduler.fifo.FifoScheduler",
}


@pytest.fixture(scope="module")
def jars(thorough):
    if not thorough:
        pytest.skip("downloads 80 MB and takes minutes: --thorough")
    if not shutil.which("mvn"):
        pytest.skip("needs Maven: apt-get install maven")
    (api,) = servers.SPARK_HOME.glob("jars/hadoop-client-api-*.jar")
    version = api.stem.removeprefix("hadoop-client-api-")
    folder = ROOT / ".venv" / f"hadoop-{version}"
    command = [
        "mvn",
        "-q",
        "-B",
        "-f",
        Path(__file__).parent / "hadoop/pom.xml",
        "dependency:copy-dependencies",
    ]
    if not (folder / "whole").exists():
        subprocess.run(
            [*command, f"-Dhadoop.version={version}", f"-DoutputDirectory={folder}"], check=True
        )
        (folder / "whole").touch()
    return folder


def put(source, uri):
    system, target = storage(uri)
    system.create_dir(target.rpartition("/")[0])
    fs.copy_files(
        str(source), target, source_filesystem=fs.LocalFileSystem(), destination_filesystem=system
    )


@pytest.fixture(scope="module")
def hadoop(jars, tmp_path_factory):
    """The address of HDFS and the folder of its configuration.

    A NameNode, a DataNode, a ResourceManager and two NodeManagers run in one Java, which ends with this process.
    """
    folder = tmp_path_factory.mktemp("hadoop")
    with (folder / "log").open("w") as log:
        port, token, process = launch_gateway(
            classpath=f"{jars}/*:{servers.SPARK_HOME}/jars/*",
            javaopts=["-Xmx1g", "-XX:+UseSerialGC"],
            redirect_stdout=log,
            redirect_stderr=log,
            die_on_exit=True,
            enable_auth=True,
            return_proc=True,
            cwd=folder,
        )
    gateway = JavaGateway(gateway_parameters=GatewayParameters(port=port, auth_token=token))
    jvm = gateway.jvm
    try:
        conf = jvm.org.apache.hadoop.conf.Configuration()
        for name, value in {**SETTINGS, "hadoop.tmp.dir": str(folder)}.items():
            conf.set(name, value)
        files = jvm.org.apache.hadoop.hdfs.MiniDFSCluster.Builder(
            conf, jvm.java.io.File(f"{folder}/dfs")
        ).build()
        yarn = jvm.org.apache.hadoop.yarn.server.MiniYARNCluster("yarn", 2, 1, 1)
        yarn.init(jvm.org.apache.hadoop.yarn.conf.YarnConfiguration(files.getConfiguration(0)))
        yarn.start()
        values = {name: yarn.getConfig().get(name) for name in KNOWN}
        properties = "".join(
            f"<property><name>{name}</name><value>{values[name]}</value></property>"
            for name in KNOWN
        )
        for name in ("core-site.xml", "yarn-site.xml"):
            (folder / name).write_text(
                f"<configuration>{properties}</configuration>", encoding="utf-8"
            )
        everybody = jvm.org.apache.hadoop.fs.permission.FsPermission("777")
        files.getFileSystem().setPermission(jvm.org.apache.hadoop.fs.Path("/"), everybody)
        yield values["fs.defaultFS"], folder
    finally:
        gateway.shutdown()
        java = psutil.Process(process.pid)
        for child in [*java.children(recursive=True), java]:
            # What YARN started may end meanwhile.
            with contextlib.suppress(psutil.NoSuchProcess):
                child.kill()
        # A thread of py4j reads and closes its output.
        process.stdin.close()
        process.wait()


def write_text(folder, queries, depth, files):
    """TREC text of two runs, twice `queries` times `depth` lines, in a folder of these files."""
    chance = random.Random(7)  # noqa: S311  # no secret
    (folder / "runs").mkdir()
    with (folder / "qrels").open("w", encoding="utf-8") as file:
        file.writelines(
            f"q{query} 0 doc{doc:07} {chance.choice((0, 0, 1, 2, 3))}\n"
            for query in range(queries)
            for doc in chance.sample(range(4 * depth), depth // 16)
        )
    for run, name in zip(("bm25", "dense"), files, strict=True):
        with (folder / "runs" / name).open("a", encoding="utf-8") as file:
            file.writelines(
                f"q{query} Q0 doc{doc:07} {rank} {1000 - rank / 2} {run}\n"
                for query in range(queries)
                for rank, doc in enumerate(chance.sample(range(4 * depth), depth), 1)
            )


def scores(output):
    """What counts in the output, whose only night this is."""
    (night,) = committed(output)
    system, place = storage(output)
    files = ds.dataset(
        f"{place}/query_scores", filesystem=system, partitioning="hive", format="parquet"
    )
    table = files.to_table(filter=ds.field("evaluation_id") == night.evaluation_id).to_pandas()
    return table.sort_values(["run", "query_id", "cutoff"], ignore_index=True)[
        ["run", "query_id", "cutoff", "ndcg"]
    ]


@pytest.mark.parametrize(
    ("mode", "queries", "depth", "files"),
    [
        ("client", 50, 64, ["bm25.run", "dense.run"]),
        ("cluster", 350, 1000, ["both.run", "both.run"]),
    ],
    ids=["client mode, two files", "cluster mode, one file of 700,000 lines"],
)
def test_yarn_reads_and_publishes_in_hdfs_where_executors_lack_the_project_and_one_is_killed(
    hadoop, tmp_path, monkeypatch, mode, queries, depth, files
):
    # The user of this process is the superuser of HDFS, who has all rights, and the user of YARN's containers.
    monkeypatch.setenv("HADOOP_USER_NAME", "alice")
    write_text(tmp_path, queries, depth, files)
    (tmp_path / "marks").mkdir()
    (tmp_path / "shop_gains.py").write_text(
        GAIN.format(marks=str(tmp_path / "marks")), encoding="utf-8"
    )
    uri, configuration = hadoop
    place, outputs = f"{uri}/{mode}", [f"{uri}/{mode}/{name}" for name in ("yarn", "embedded")]
    for name in ("runs", "qrels"):
        put(tmp_path / name, f"{place}/{name}")
    arguments = [
        "--judgments",
        f"{place}/qrels",
        "--results",
        f"{place}/runs",
        "--date",
        "2026-11-20",
    ]
    # This process reads the text, and the engine gets it with the plan.
    arguments += ["--set", "gain=python:shop_gains.worth", "--cutoffs", "1,10,all", "--output"]
    loopback = (
        {"driver.bindAddress": "127.0.0.1", "driver.host": "localhost"} if mode == "client" else {}
    )
    loopback |= {
        f"{name}.SPARK_LOCAL_IP": "127.0.0.1" for name in ("yarn.appMasterEnv", "executorEnv")
    }
    settings = {
        "yarn.jars": f"local:{servers.SPARK_HOME}/jars/*",
        "ui.enabled": "false",
        "sql.shuffle.partitions": 4,
    }
    # In cluster mode the limit of YARN holds for the driver's Python too, which reads the text: half a gigabyte.
    settings["driver.memoryOverhead"] = "1g"
    command = [
        ROOT / "scripts/submit.sh",
        "--master",
        "yarn",
        "--deploy-mode",
        mode,
        "--executor-memory",
        "1g",
    ]
    command += [
        part
        for key, value in {**loopback, **settings}.items()
        for part in ("--conf", f"spark.{key}={value}")
    ]
    command += ["--py-files", tmp_path / "shop_gains.py", "--", *arguments, outputs[0]]
    known = servers.environment(
        HADOOP_CONF_DIR=configuration, SPARK_HOME=servers.SPARK_HOME, HADOOP_USER_NAME="alice"
    )
    log = tmp_path / "submit.log"
    with servers.running(
        ["bash", "-c", 'cd "$0"; "$@"; echo "ended with $?"', tmp_path, *command], log, known
    ):
        servers.wait_until(
            lambda: any((tmp_path / "marks").iterdir()) or servers.says(log, "ended with"),
            "the first gain",
            log,
            900,
        )
        worker = psutil.Process(int(next((tmp_path / "marks").iterdir()).name))
        next(parent for parent in worker.parents() if parent.name() == "java").kill()
        servers.wait_until(lambda: servers.says(log, "ended with"), "the evaluation", log, 900)
    assert servers.says(log, "ended with 0"), log.read_text()[-3000:]
    # Spark's remark that a plan is long is not for the log.
    assert not servers.says(log, "Truncated the string")
    marks = list((tmp_path / "marks").iterdir())
    # The task of the one that was killed began again elsewhere.
    assert len(marks) > 1
    assert all("/environment" in mark.read_text() for mark in marks)
    system, output = storage(outputs[0])
    assert {info["owner"] for info in system.handler.fs.find(output, detail=True).values()} == {
        "alice"
    }
    yarn_scores = scores(outputs[0])
    assert len(yarn_scores) == 2 * 3 * queries
    # The embedded engine, which has a client of HDFS of its own.
    alone = [
        sys.executable,
        "-m",
        "ndcg_spark",
        "evaluate",
        "--engine",
        "embedded",
        *arguments,
        outputs[1],
    ]
    done = subprocess.run(
        alone,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": f"{ROOT}:{tmp_path}"},
    )
    assert done.returncode == 0, done.stderr[-2000:]
    pd.testing.assert_frame_equal(yarn_scores, scores(outputs[1]), rtol=0, atol=1e-12)


def test_classic_spark_reads_and_publishes_where_its_paths_are_s3a(jars, tmp_path, monkeypatch):
    if not (program := os.environ.get("MOTO_SERVER")):
        pytest.skip("needs the S3 server of moto, MOTO_SERVER")
    port, log = servers.free_port(), tmp_path / "moto.log"
    for name, value in {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_REGION": "us-east-1",
    }.items():
        monkeypatch.setenv(name, value)
    write_text(tmp_path, queries=20, depth=32, files=["bm25.run", "dense.run"])
    results = [
        pd.read_csv(file, sep=" ", names=RESULTS) for file in sorted((tmp_path / "runs").iterdir())
    ]
    settings = {
        "endpoint": f"http://127.0.0.1:{port}",
        "endpoint.region": "us-east-1",
        "path.style.access": "true",
    }
    of_aws = [str(jar) for jar in jars.glob("*.jar") if "minicluster" not in jar.name]
    command = [ROOT / "scripts/submit.sh", "--jars", ",".join(of_aws)]
    command += [
        part
        for key, value in settings.items()
        for part in ("--conf", f"spark.hadoop.fs.s3a.{key}={value}")
    ]
    alone = [sys.executable, "-m", "ndcg_spark", "evaluate", "--engine", "embedded"]
    environ = {**os.environ, **servers.environment(SPARK_HOME=servers.SPARK_HOME)}
    with servers.running([program, "-H", "127.0.0.1", "-p", port], log, servers.environment()):
        servers.wait_until(lambda: servers.answers(port), "moto", log)
        pd.concat(results).drop(columns=["q0", "rank"]).to_parquet(tmp_path / "results.parquet")
        system, _ = fs.FileSystem.from_uri("s3://bucket?allow_bucket_creation=true")
        system.create_dir("bucket")
        for name in ("qrels", "results.parquet"):
            put(tmp_path / name, f"s3://bucket/{name}")
        for engine, scheme in ((command, "s3a"), (alone, "s3")):
            place = f"{scheme}://bucket"
            arguments = ["--judgments", f"{place}/qrels", "--results", f"{place}/results.parquet"]
            arguments += ["--output", f"{place}/{scheme}", "--date", "2026-11-20"]
            line = [*engine, *(["--"] if engine is command else []), *arguments]
            done = subprocess.run(
                line, capture_output=True, text=True, check=False, env=environ, cwd=ROOT
            )
            assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
        pd.testing.assert_frame_equal(
            scores("s3a://bucket/s3a"), scores("s3://bucket/s3"), rtol=0, atol=1e-12
        )
