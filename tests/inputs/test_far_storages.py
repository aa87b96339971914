"""Files on other storages than this machine's, and addresses with secrets in them."""

import importlib.util
import os
import re
import subprocess
import sys
import time
import types
from pathlib import Path

import hdfs_native
import pytest
from input_files import file
from pyarrow import fs

from ndcg_spark.errors import EngineError, InputError, MissingInputError, StorageError
from ndcg_spark.inputs import files
from ndcg_spark.inputs.engine_files import read_paths
from ndcg_spark.inputs.files import files_of
from ndcg_spark.inputs.read import Source, refuse_changed
from ndcg_spark.inputs.storage import refuse_credentials, storage

ROOT = Path(__file__).parents[2]


def test_an_unknown_scheme_is_refused_as_the_caller_asks():
    with pytest.raises(InputError, match=r"results: no storage for nope://x"):
        files_of("nope://x", "results")
    with pytest.raises(StorageError, match=r"output: no storage for nope://x.*check its scheme"):
        storage("nope://x", "output", StorageError)


def test_an_hdfs_that_is_not_configured_is_told_with_what_to_do(monkeypatch):
    monkeypatch.delenv("HADOOP_CONF_DIR", raising=False)
    with pytest.raises(InputError, match=r"no storage for hdfs:///x, .*; check HADOOP_CONF_DIR"):
        storage("hdfs:///x", "results", InputError)
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(InputError, match=r"no storage for hdfs:///x, .*; pip install 'ndcg-spark\[hdfs\]'"):
        storage("hdfs:///x", "results", InputError)


def test_classic_spark_starts_after_an_hdfs_was_used_in_the_same_process():
    # As pyspark starts Java: what is done before it forks, and again in the child.
    program = (
        "import subprocess; from ndcg_spark.inputs.storage import storage; storage('hdfs://127.0.0.1:1/x', 'results');"
        "subprocess.run(['true'], preexec_fn=lambda: None, check=True)"
    )
    subprocess.run([sys.executable, "-c", program], env={**os.environ, "PYTHONPATH": str(ROOT)}, check=True, timeout=60)


@pytest.mark.classic
def test_a_storage_for_which_spark_has_no_client_is_a_failure_of_the_engine_that_names_the_client(engine):
    with pytest.raises(
        EngineError, match=r"s3a://bucket/x cannot be read by Spark.*S3AFileSystem not found; .*hadoop-aws"
    ):
        read_paths(engine, "parquet", ["s3a://bucket/x"], "results")


@pytest.mark.classic
def test_a_path_that_the_engine_does_not_find_is_named(engine, tmp_path):
    (tmp_path / "there").touch()
    paths = [f"{tmp_path}/there", f"{tmp_path}/absent"]
    with pytest.raises(MissingInputError, match=rf"^results: no such path, (file:)?{tmp_path}/absent; check"):
        read_paths(engine, "binaryFile", paths, "results")


@pytest.fixture
def _no_s3(monkeypatch):
    """An S3 storage at an address where nothing answers."""
    for name, value in {
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_ENDPOINT_URL": "http://127.0.0.1:1",
        "AWS_DEFAULT_REGION": "us-east-1",
    }.items():
        monkeypatch.setenv(name, value)


@pytest.mark.slow
@pytest.mark.usefixtures("_no_s3")
def test_a_storage_that_does_not_answer_is_worth_a_retry():
    with pytest.raises(StorageError, match=r"results: s3://bucket/runs cannot be read, .* its storage answers"):
        files_of("s3://bucket/runs", "results")


@pytest.mark.parametrize(
    "path", ["s3://KEY:SECRET@bucket/x", "s3://bucket/x?endpoint_override=h:1&scheme=http", "hdfs://anna:SECRET@host/x"]
)
def test_a_uri_with_keys_or_parameters_is_refused_without_telling_them(path):
    with pytest.raises(InputError, match=r"\*\*\*.* has keys or parameters in it, .*AWS_ACCESS_KEY_ID") as refused:
        refuse_credentials(path, "results")
    assert not re.search(r"KEY:|:SECRET|h:1", str(refused.value))


@pytest.mark.parametrize(
    "path", ["s3://bucket/a?.run", "hdfs://anna@host:9000/x", "abfss://in@a.dfs.core.windows.net/x", "/a;b=c/d@e"]
)
def test_a_uri_without_secrets_is_taken(path):
    refuse_credentials(path, "results")


def stored(monkeypatch, root: str, *places: str) -> fs.FileSystem:
    """A storage with these files, whose top pyarrow calls `root`, behind every URI."""
    system = fs._MockFileSystem()
    for place in places:
        system.create_dir(place.rpartition("/")[0])
        with system.open_output_stream(place) as stream:
            stream.write(b"PAR1")
    monkeypatch.setattr(files, "storage", lambda path, _: (system, root))
    return system


@pytest.mark.parametrize(
    ("root", "address"),
    [("bucket", "s3://bucket"), ("in/", "abfss://in@account.dfs.core.windows.net"), ("", "hdfs://anna@host:9000")],
)
def test_a_file_of_a_far_storage_is_named_below_the_address_that_was_asked_for(monkeypatch, root, address):
    stored(monkeypatch, root, f"{root.rstrip('/')}/runs/run=a/x.run")
    (found,) = files_of(f"{address}/runs", "results")
    assert (found.path, found.root) == (f"{address}/runs/run=a/x.run", f"{address}/runs")
    assert found.partition == (("run", "a"),)


@pytest.mark.parametrize("name", ["run=a%2Fb/x 1.parquet", "a[1]#?.run"])
def test_a_name_of_a_far_storage_is_taken_literally(monkeypatch, name):
    system = stored(monkeypatch, "bucket", f"bucket/runs/{name}")
    for given in ("runs", f"runs/{name}"):
        (found,) = files_of(f"s3://bucket/{given}", "results")
        assert found.path == f"s3://bucket/runs/{name}"
        assert found.location("results") == (system, f"bucket/runs/{name}")


def test_files_on_two_storages_are_each_looked_at_on_their_own(monkeypatch, tmp_path):
    (near,) = files_of(file(tmp_path / "a.run").path, "results")
    system = stored(monkeypatch, "bucket", "bucket/b.run")
    (far,) = files_of("s3://bucket/b.run", "results")
    source = Source(None, "results", "trec", [near, far])
    assert [each.stamp[0] for each in (near, far)] == [1, 4]
    refuse_changed([source])
    system.delete_file("bucket/b.run")
    with pytest.raises(InputError, match=r"1 file\(s\) changed during the evaluation, e\.g\. s3://bucket/b\.run"):
        refuse_changed([source])


def in_hdfs(monkeypatch, file: str) -> None:
    """An HDFS with this file, whose NameNode answers as it does to users who are not its superuser."""

    def status(_: object, path: str) -> types.SimpleNamespace:
        if path.startswith(f"{file}/"):
            said = f'{file} (is not a directory of \\"alice\\")\\n\\tat org.apache.hadoop'
            raise RuntimeError(f'RPCError("org.apache.hadoop.security.AccessControlException", "{said}")')
        if not file.startswith(path):
            raise FileNotFoundError(path)
        names = ("permission", "owner", "group", "modification_time", "access_time")
        return types.SimpleNamespace(path=path, length=4, isdir=path != file, **dict.fromkeys(names, 0))

    monkeypatch.setattr(hdfs_native.Client, "get_file_info", status)
    monkeypatch.setattr(hdfs_native.Client, "list_status", lambda *_: ())


def test_nothing_is_looked_for_below_a_file_because_hdfs_refuses_that(monkeypatch):
    in_hdfs(monkeypatch, "/in/qrels")
    (found,) = files_of("hdfs://host:9000/in/qrels", "judgments")
    assert found.path == "hdfs://host:9000/in/qrels"


def test_what_hdfs_says_is_told_without_the_lines_of_java(monkeypatch):
    in_hdfs(monkeypatch, "/in/qrels")
    said = 'judgments: hdfs://host:9000/in/qrels/x cannot be read, /in/qrels (is not a directory of "alice"); check'
    with pytest.raises(StorageError, match=f"^{re.escape(said)} that its storage answers, and its rights$"):
        files_of("hdfs://host:9000/in/qrels/x", "judgments")


@pytest.mark.slow
def test_a_namenode_that_is_not_there_is_refused_in_seconds():
    began = time.monotonic()
    with pytest.raises(StorageError, match=r"hdfs://localhost:1/runs cannot be read, Connection refused"):
        files_of("hdfs://localhost:1/runs", "results")
    # Between the tries it waits for 1 + 2 + 4 s; this client's default is three minutes.
    assert time.monotonic() - began < 30


def test_the_user_of_hdfs_is_that_of_spark_in_a_container_that_belongs_to_another(monkeypatch):
    monkeypatch.delenv("HADOOP_USER_NAME", raising=False)
    monkeypatch.setenv("SPARK_USER", "alice")
    storage("hdfs://host:9000/x", "output")
    assert os.environ["HADOOP_USER_NAME"] == "alice"
    monkeypatch.setenv("HADOOP_USER_NAME", "bob")
    storage("hdfs://host:9000/x", "output")
    assert os.environ["HADOOP_USER_NAME"] == "bob"
