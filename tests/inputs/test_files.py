"""The files behind a path: which there are, on which storage, and what format they have; or why they are refused."""

import importlib.util
import os
import re
import subprocess
import sys
import tempfile
import types
from pathlib import Path

import hdfs_native
import pytest
from input_files import file
from pyarrow import fs

from ndcg_spark.errors import EngineError, InputError, MissingInputError, StorageError
from ndcg_spark.inputs import files
from ndcg_spark.inputs.dataframes import read_paths
from ndcg_spark.inputs.files import File, file_format, list_files, listed_files
from ndcg_spark.inputs.source_tables import Source, refuse_changed_files
from ndcg_spark.inputs.storage import refuse_credentials, storage

ROOT = Path(__file__).parents[2]
THERE = (
    "a1.run",
    "a2.run",
    "b1.txt",
    "sub/c.run",
    "sub/day=1/d.run",
    "a[1].run",
    "e*",
    ".hidden",
    "_SUCCESS",
)


def paths(path):
    return [file.path for file in list_files(str(path)).files]


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("", ["a1.run", "a2.run", "a[1].run", "b1.txt", "e*", "sub/c.run", "sub/day=1/d.run"]),
        ("a?.run", ["a1.run", "a2.run"]),
        ("a[2-9].*", ["a2.run"]),
        ("s*", ["sub/c.run", "sub/day=1/d.run"]),
        ("*/*.run", ["sub/c.run"]),
        ("a[1].run", ["a[1].run"]),
        ("e*", ["e*"]),
    ],
)
@pytest.mark.parametrize("is_far", [False, True])
def test_a_path_stands_for_a_file_a_folder_or_what_a_glob_matches(
    monkeypatch, tmp_path, given, expected, is_far
):
    if is_far:
        stored(monkeypatch, "bucket", *(f"bucket/{name}" for name in THERE))
    for name in () if is_far else THERE:
        file(tmp_path / name)
    root = "s3://bucket" if is_far else str(tmp_path)
    assert paths(f"{root}/{given}") == [f"{root}/{name}" for name in expected]


def test_a_relative_path_and_a_file_uri_are_local(tmp_path, monkeypatch):
    expected = file(tmp_path / "h ?.run").path
    monkeypatch.chdir(tmp_path)
    for given in ("h ?.run", f"file:{expected}", f"file://{expected}"):
        assert paths(given) == [expected]


@pytest.mark.parametrize("name", ["2026-11-20", "*.run", "absent/*.run", "night"])
def test_a_path_without_files_is_refused_by_name(tmp_path, name):
    file(tmp_path / "night" / "_SUCCESS")
    with pytest.raises(MissingInputError, match=rf"no files at {re.escape(str(tmp_path / name))}"):
        listed_files("judgments", [list_files(f"{tmp_path}/{name}")])


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        *(
            ("a.parquet", "parquet"),
            ("a.orc", "orc"),
            ("a.CSV", "csv"),
            ("a.tsv.gz", "tsv"),
            ("a.jsonl", "jsonl"),
        ),
        *(
            ("a.ndjson.gz", "jsonl"),
            ("a.run", "trec"),
            ("qrels.gz", "trec"),
            ("night.csv/part-0", "trec"),
        ),
    ],
)
def test_the_name_says_the_format_and_trec_where_it_says_nothing(name, expected):
    assert file_format([File(name, 1, storage=(fs.LocalFileSystem(), name))], None) == expected


def test_what_only_the_engine_can_open_is_parquet():
    assert file_format([File("part-0", 0)], None) == "parquet"


@pytest.mark.parametrize(
    "given", ["link/../r.run", "./link/.././r.run", "link/../*.run", "link/.."]
)
def test_up_from_a_link_leads_where_the_operating_system_goes(tmp_path, monkeypatch, given):
    for name in ("real/deep/a.run", "real/r.run", "here/r.run"):
        file(tmp_path / name)
    (tmp_path / "here" / "link").symlink_to(tmp_path / "real" / "deep")
    monkeypatch.chdir(tmp_path / "here")
    assert str(tmp_path / "real" / "r.run") in paths(given)
    assert storage(given.replace("*", "r"))[1].startswith(str(tmp_path / "real"))


@pytest.mark.parametrize(
    "make",
    [
        lambda path: path.symlink_to("nowhere"),
        lambda path: path.symlink_to("b.run"),
        lambda path: path.symlink_to(path.parent),
        os.mkfifo,
    ],
    ids=["a link to nothing", "a link to itself", "folders in a circle", "a pipe"],
)
def test_what_is_no_file_is_refused_by_name_wherever_it_is_found(tmp_path, make):
    file(tmp_path / "runs" / "a.run")
    # As editors lock a file.
    (tmp_path / "runs" / ".#a.run").symlink_to("nowhere")
    assert paths(tmp_path) == [f"{tmp_path}/runs/a.run"]
    make(tmp_path / "runs" / "b.run")
    for given in ("", "*", "*.run", "b.run"):
        with pytest.raises(InputError, match=r"^.*/runs/.*b\.run"):
            list_files(f"{tmp_path}/runs/{given}")
    assert paths(f"{tmp_path}/runs/a.run") == [f"{tmp_path}/runs/a.run"]


@pytest.mark.skipif(os.getuid() != 0, reason="needs a user who may become another")
@pytest.mark.parametrize("closed", [".", "runs", "runs/sub"])
def test_what_may_not_be_read_is_refused_by_name(tmp_path, closed):
    inner = file(tmp_path / "runs" / "sub" / "b.run")
    for above in Path(inner.path).parents:
        if above != Path(tempfile.gettempdir()) and above.is_relative_to(tempfile.gettempdir()):
            above.chmod(0o755)
    (tmp_path / closed).chmod(0)
    os.seteuid(65534)
    try:
        with pytest.raises(InputError, match=rf"^(?=.*{tmp_path / closed}).*Permission denied"):
            list_files(f"{tmp_path}/runs")
    finally:
        os.seteuid(0)
        (tmp_path / closed).chmod(0o755)


def stored(monkeypatch, root: str, *places: str) -> fs.FileSystem:
    """A storage with these files, whose top pyarrow calls `root`, behind every URI."""
    system = fs._MockFileSystem()
    for place in places:
        system.create_dir(place.rpartition("/")[0])
        with system.open_output_stream(place) as stream:
            stream.write(b"PAR1")
    monkeypatch.setattr(files, "storage", lambda path: (system, root))
    return system


@pytest.mark.parametrize(
    ("root", "address"),
    [
        ("bucket", "s3://bucket"),
        ("in/", "abfss://in@account.dfs.core.windows.net"),
        ("", "hdfs://host:9000"),
    ],
)
@pytest.mark.parametrize("name", ["run=a/x.run", "run=a/x 1%2Fb.parquet", "run=a/a[1]#?.run"])
def test_a_file_of_a_far_storage_is_named_literally_below_its_address(
    monkeypatch, root, address, name
):
    system = stored(monkeypatch, root, f"{root.rstrip('/')}/runs/{name}")
    (file,) = list_files(f"{address}/runs").files
    assert (file.path, file.partition) == (f"{address}/runs/{name}", (("run", "a"),))
    assert file.location == (system, f"{root.rstrip('/')}/runs/{name}")
    assert paths(f"{address}/runs/{name}") == [file.path]


def test_a_file_that_is_rewritten_within_a_second_has_changed(tmp_path):
    path = tmp_path / "a.run"
    path.write_bytes(b"q1")
    whole_milliseconds = 1_700_000_000_123 * 10**6
    os.utime(path, ns=(whole_milliseconds, whole_milliseconds))
    (listed,) = list_files(str(path)).files
    assert not listed.has_changed
    path.write_bytes(b"q2")
    os.utime(path, ns=(whole_milliseconds, whole_milliseconds + 10**6))
    assert listed.has_changed


def test_a_far_storage_may_tell_only_the_second_of_a_change():
    listed = fs.FileInfo("bucket/b.run", mtime_ns=1_700_000_000_123 * 10**6, size=1)
    asked_for = fs.FileInfo("bucket/b.run", mtime_ns=1_700_000_000 * 10**9, size=1)
    far, near = fs._MockFileSystem(), fs.LocalFileSystem()
    assert files._stamp(far, listed) == files._stamp(far, asked_for)
    assert files._stamp(near, listed) != files._stamp(near, asked_for)


def test_files_on_two_storages_are_each_compared_with_what_they_were(monkeypatch, tmp_path):
    (near,) = list_files(file(tmp_path / "a.run").path).files
    system = stored(monkeypatch, "bucket", "bucket/b.run")
    (far,) = list_files("s3://bucket/b.run").files
    source = Source(None, "results", "trec", [near, far])
    refuse_changed_files([source])
    system.delete_file("bucket/b.run")
    with pytest.raises(
        InputError, match=r"1 file\(s\) changed during the evaluation, e\.g\. s3://bucket/b\.run"
    ):
        refuse_changed_files([source])


@pytest.mark.parametrize(
    "path",
    [
        "s3://KEY:SECRET@bucket/x",
        "s3://bucket/x?endpoint_override=h:1&scheme=http",
        "hdfs://anna:SECRET@host/x",
    ],
)
def test_a_uri_with_keys_or_parameters_is_refused_without_telling_them(path):
    with pytest.raises(
        InputError, match=r"\*\*\*.* contains a user, keys or parameters"
    ) as refused:
        refuse_credentials(path)
    assert not re.search(r"KEY:|:SECRET|h:1", str(refused.value))
    for safe in ("s3://bucket/a?.run", "abfss://in@a.dfs.core.windows.net/x", "/a;b=c/d@e"):
        refuse_credentials(safe)


def test_a_storage_that_is_not_known_is_told_with_what_to_do(monkeypatch):
    with pytest.raises(
        StorageError, match=r"^the storage of nope://x cannot be opened.*check its scheme"
    ):
        storage("nope://x", StorageError)
    monkeypatch.delenv("HADOOP_CONF_DIR", raising=False)
    with pytest.raises(
        StorageError, match=r"the storage of s3:///x cannot be opened, .* AWS_ENDPOINT_URL"
    ):
        storage("s3:///x", StorageError)
    for _ in range(2):
        with pytest.raises(
            InputError,
            match=r"the storage of hdfs:///x cannot be opened, .* HADOOP_CONF_DIR, or pip install",
        ):
            storage("hdfs:///x")
        monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)


def test_hdfs_is_not_asked_below_a_file_and_its_failures_are_those_of_a_storage(monkeypatch):
    def status(_: object, path: str) -> types.SimpleNamespace:
        """What a NameNode answers to users who are not its superuser, with the file /in/qrels."""
        if path.startswith("/in/qrels/"):
            raise RuntimeError(
                'RPCError("AccessControlException", "/in/qrels (is not a directory)")'
            )
        if not "/in/qrels".startswith(path):
            raise FileNotFoundError(path)
        names = ("permission", "owner", "group", "modification_time", "access_time")
        return types.SimpleNamespace(
            path=path, length=4, isdir=path != "/in/qrels", **dict.fromkeys(names, 0)
        )

    monkeypatch.setattr(hdfs_native.Client, "get_file_info", status)
    monkeypatch.setattr(hdfs_native.Client, "list_status", lambda *_: ())
    assert paths("hdfs://host:9000/in/qrels") == ["hdfs://host:9000/in/qrels"]
    with pytest.raises(
        StorageError, match=r"^hdfs://host:9000/in/qrels/x cannot be read, RPCError"
    ):
        list_files("hdfs://host:9000/in/qrels/x")


def test_classic_spark_starts_after_an_hdfs_was_used_in_the_same_process():
    # As pyspark starts Java: what is done before it forks, and again in the child.
    program = (
        "import subprocess; from ndcg_spark.inputs.storage import storage; storage('hdfs://127.0.0.1:1/x');"
        "subprocess.run(['true'], preexec_fn=lambda: None, check=True)"
    )
    subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        check=True,
        timeout=60,
    )


def test_the_user_of_hdfs_is_that_of_spark_in_a_container_that_belongs_to_another(monkeypatch):
    monkeypatch.delenv("HADOOP_USER_NAME", raising=False)
    monkeypatch.setenv("SPARK_USER", "alice")
    for user in ("alice", "bob"):
        storage("hdfs://host:9000/x")
        assert os.environ["HADOOP_USER_NAME"] == user
        monkeypatch.setenv("HADOOP_USER_NAME", "bob")


@pytest.mark.classic
def test_what_spark_cannot_read_is_told_with_its_path_and_the_client_that_is_missing(
    engine, tmp_path
):
    with pytest.raises(
        EngineError,
        match=r"s3a://bucket/x cannot be read by Spark.*S3AFileSystem not found; .*hadoop",
    ):
        read_paths(engine, ["s3a://bucket/x"])
    with pytest.raises(MissingInputError, match=rf"^no files at (file:)?{tmp_path}/absent; check"):
        read_paths(engine, [f"{tmp_path}/absent"])
