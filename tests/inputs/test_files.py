"""The files behind a path: which there are, what format they have, and which are damaged."""

import functools
import gzip
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyarrow import fs

from ndcg_spark.errors import InputError, StorageError
from ndcg_spark.inputs import files as files_module
from ndcg_spark.inputs.copying import write_parquet
from ndcg_spark.inputs.damage import damaged
from ndcg_spark.inputs.file_formats import format_of
from ndcg_spark.inputs.files import File, find
from ndcg_spark.inputs.first_lines import common_header
from ndcg_spark.inputs.footers import footers, refuse_different_types
from ndcg_spark.inputs.orc import orc_batches
from ndcg_spark.inputs.plain_parquet import plain_batches
from ndcg_spark.inputs.reading import Source
from ndcg_spark.inputs.storage import refuse_credentials, storage
from ndcg_spark.inputs.unchanged import refuse_changed, stamps_of

LINES = b"q1 Q0 d1 1 0.5 bm25\n" * 1000


def file(path: Path, content: bytes | str = b"x") -> File:
    """A file written with this content, as `find` gives it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return File(str(path), path.stat().st_size)


def parquet(path: Path, **columns: list) -> File:
    pq.write_table(pa.table(columns), path)
    return File(str(path), path.stat().st_size)


def check_parquet(files, columns, where):
    refuse_different_types(files, footers(files, "parquet", where), columns, where)


def spoilt(whole: File, content: bytes) -> File:
    """The same file with other content."""
    return file(Path(whole.path), content)


def content(whole: File) -> bytes:
    return Path(whole.path).read_bytes()


def names(found: list[File]) -> list[str]:
    return [Path(each.path).name for each in found]


def test_a_file_is_found_with_its_size(tmp_path):
    assert find(str(file(tmp_path / "bm25.run", "12345").path), "results") == [File(str(tmp_path / "bm25.run"), 5)]


def test_a_folder_stands_for_the_files_below_it_in_the_order_of_their_names(tmp_path):
    for name in ("b.run", "a.run", "day=1/c.run"):
        file(tmp_path / name)
    assert names(find(str(tmp_path), "results")) == ["a.run", "b.run", "c.run"]


@pytest.mark.parametrize(
    ("glob", "expected"),
    [("*.run", ["a1.run", "a2.run"]), ("a?.run", ["a1.run", "a2.run"]), ("a[2-9].*", ["a2.run"]), ("s*/*", ["c.run"])],
)
def test_a_glob_stands_for_what_it_matches(tmp_path, glob, expected):
    for name in ("a1.run", "a2.run", "b1.txt", "sub/c.run"):
        file(tmp_path / name)
    assert names(find(f"{tmp_path}/{glob}", "results")) == expected


def test_a_glob_that_matches_folders_stands_for_their_files(tmp_path):
    for day in ("2026-11-19", "2026-11-20", "2026-12-01"):
        file(tmp_path / day / f"{day}.run")
    assert names(find(f"{tmp_path}/2026-11-*", "results")) == ["2026-11-19.run", "2026-11-20.run"]


@pytest.mark.parametrize("hidden", ["_SUCCESS", ".a.run.crc", "_staging/b.run", ".git/b.run"])
@pytest.mark.parametrize("glob", ["", "/*"])
def test_hidden_files_and_folders_are_left_out(tmp_path, hidden, glob):
    file(tmp_path / "a.run")
    file(tmp_path / hidden)
    assert names(find(f"{tmp_path}{glob}", "results")) == ["a.run"]


@pytest.mark.parametrize("name", ["a[1].run", "a*.run", "a?.run"])
def test_a_name_with_wildcards_that_exists_is_that_file_alone(tmp_path, name):
    for each in (name, "a1.run", "ab.run"):
        file(tmp_path / each)
    assert names(find(str(tmp_path / name), "results")) == [name]


def test_a_relative_path_and_a_file_uri_are_local(tmp_path, monkeypatch):
    expected = [file(tmp_path / "a.run")]
    monkeypatch.chdir(tmp_path)
    assert find("a.run", "results") == find(f"file:{tmp_path}/a.run", "results") == expected
    assert find(f"file://{tmp_path}/a.run", "results") == expected


@pytest.mark.parametrize("name", ["2026-11-20", "*.run", "absent/*.run"])
def test_a_missing_path_is_refused_by_name(tmp_path, name):
    with pytest.raises(InputError, match=r"judgments: no such path, .*check the spelling") as refused:
        find(f"{tmp_path}/{name}", "judgments")
    assert f"{tmp_path}/{name}" in str(refused.value)


def test_a_folder_without_files_is_refused_as_empty(tmp_path):
    file(tmp_path / "night" / "_SUCCESS")
    with pytest.raises(InputError, match=r"results: no files in .*/night, an empty folder"):
        find(f"{tmp_path}/night", "results")


def test_an_unknown_scheme_is_refused_as_the_caller_asks():
    with pytest.raises(InputError, match=r"results: no storage for nope://x"):
        find("nope://x", "results")
    with pytest.raises(StorageError, match=r"output: no storage for nope://x.*check its scheme"):
        storage("nope://x", "output", StorageError)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("a.parquet", "parquet"),
        ("a.orc", "orc"),
        ("a.CSV", "csv"),
        ("a.tsv.gz", "tsv"),
        ("a.jsonl", "jsonl"),
        ("a.ndjson.gz", "jsonl"),
        ("a.run", "trec"),
        ("qrels.gz", "trec"),
        ("night.csv/part-0", "trec"),
    ],
)
def test_the_name_says_the_format_and_trec_where_it_says_nothing(name, expected):
    assert format_of([File(name, 1)], "results") == expected


def test_files_of_two_formats_are_refused_with_one_of_each():
    with pytest.raises(InputError, match=r"results: 2 formats in one place, csv \(a\.csv\), trec \(b\.run\); name one"):
        format_of([File("a.csv", 1), File("b.run", 1), File("c.csv", 1)], "results")


def test_whole_parquet_files_with_the_same_columns_pass(tmp_path):
    first = parquet(tmp_path / "1.parquet", query_id=["q1"], relevance=[1], note=["x"])
    second = parquet(tmp_path / "2.parquet", relevance=[2], query_id=["q2"], note=[5])
    check_parquet([first, second], ["query_id", "relevance"], "judgments")


@pytest.mark.parametrize("kept", [0, 3, 0.5, -1])
def test_a_truncated_parquet_file_is_refused_by_name(tmp_path, kept):
    whole, cut = (parquet(tmp_path / name, query_id=["q1"] * 99) for name in ("1.parquet", "2.parquet"))
    spoilt(cut, content(cut)[: int(cut.size * kept) if isinstance(kept, float) else kept])
    with pytest.raises(InputError, match=r"results: .*/2\.parquet is no whole Parquet file"):
        check_parquet([whole, cut], ["query_id"], "results")


@pytest.mark.parametrize(
    ("other", "told"),
    [
        ({"query_id": [1]}, r"different types, query_id is string in .*/1\.parquet and int64 in .*/2\.parquet"),
        ({"doc_id": ["d1"]}, r"different columns, .*/1\.parquet has query_id, .*/2\.parquet has doc_id"),
    ],
)
def test_parquet_files_whose_columns_differ_are_refused_with_both(tmp_path, other, told):
    files = [parquet(tmp_path / "1.parquet", query_id=["q1"]), parquet(tmp_path / "2.parquet", **other)]
    with pytest.raises(InputError, match=told):
        check_parquet(files, ["query_id", "doc_id"], "results")


def test_headers_that_are_the_same_line_pass_however_it_ends_or_is_packed(tmp_path):
    headers = [b"run,score\n1,2\n", b"run,score\r\n", b"\xef\xbb\xbfrun,score"]
    plain = [file(tmp_path / f"{number}.csv", header) for number, header in enumerate(headers)]
    common_header([*plain, file(tmp_path / "z.csv.gz", gzip.compress(headers[0]))], "results")


@pytest.mark.parametrize("header", ["score,run\n", "run,score,rank\n", "1,2\n", ""])
def test_headers_that_differ_are_refused_with_both(tmp_path, header):
    files = [file(tmp_path / "1.csv", "run,score\n"), file(tmp_path / "2.csv", header)]
    with pytest.raises(InputError, match=r"different headers, .*/1\.csv has 'run,score', .*/2\.csv has ") as refused:
        common_header(files, "results")
    assert repr(header.strip()) in str(refused.value)


def test_whole_files_are_not_called_damaged(tmp_path):
    assert damaged([parquet(tmp_path / "a.parquet", query_id=["q1"])], "parquet") is None
    assert damaged([file(tmp_path / "a.run", LINES), file(tmp_path / "a.run.gz", gzip.compress(LINES))], "trec") is None
    assert damaged([file(tmp_path / "a.csv", 'run,doc\nr,"a,\nb"\n\n')], "csv") is None


# mtime=0: workers of pytest-xdist must collect the same tests in whatever second they do.
GZIPPED = gzip.compress(LINES, mtime=0)


@pytest.mark.parametrize("stored", [GZIPPED[:-9], GZIPPED[:40], LINES], ids=["cut", "cut short", "text"])
def test_a_gzip_file_that_is_cut_or_no_gzip_is_damaged(tmp_path, stored):
    files = [file(tmp_path / "1.run", LINES), file(tmp_path / "2.run.gz", stored)]
    assert damaged(files, "trec").startswith(f"{files[1].path} cannot be read, ")


def test_a_parquet_file_whose_footer_is_whole_and_whose_pages_are_not_is_damaged(tmp_path):
    whole = parquet(tmp_path / "a.parquet", query_id=[f"q{number}" for number in range(1000)])
    bad = spoilt(whole, content(whole)[:4] + b"\xff" * 500 + content(whole)[504:])
    check_parquet([bad], ["query_id"], "results")
    assert damaged([bad], "parquet").startswith(f"{bad.path} cannot be read, ")


@pytest.mark.parametrize("kind", ["trec", "csv", "jsonl"])
def test_text_that_is_not_utf_8_is_damaged(tmp_path, kind):
    latin = file(tmp_path / "a.txt", "caf\xe9\n".encode("latin-1"))
    assert "'utf-8' codec can't decode byte 0xe9" in damaged([latin], kind)


def test_an_orc_file_is_damaged_only_if_it_is(tmp_path):
    from pyarrow import orc

    orc.write_table(pa.table({"run": ["r"]}), tmp_path / "a.orc")
    (tmp_path / "b.orc").write_bytes((tmp_path / "a.orc").read_bytes()[:-20])
    assert damaged(find(str(tmp_path / "a.orc"), "results"), "orc") is None
    assert "b.orc cannot be read" in str(damaged(find(str(tmp_path / "b.orc"), "results"), "orc"))


def test_a_glob_passes_over_a_file_where_it_wants_a_folder(tmp_path):
    (tmp_path / "README").write_text("x", encoding="utf-8")
    (tmp_path / "day").mkdir()
    (tmp_path / "day" / "a.run").write_text("x", encoding="utf-8")
    assert [file.path for file in find(str(tmp_path / "*" / "a.run"), "results")] == [str(tmp_path / "day" / "a.run")]


@pytest.mark.parametrize("name", ["h[12].csv", "h ?.csv"])
def test_a_file_uri_names_a_file_as_it_is(tmp_path, name):
    (tmp_path / name).write_text("x", encoding="utf-8")
    assert [file.path for file in find(f"file://{tmp_path}/{name}", "results")] == [str(tmp_path / name)]


def outside(path: Path, content: str) -> Path:
    """A folder elsewhere, with one file, that a symbolic link leads to."""
    file(path / "real" / "deep" / "a.run", content)
    file(path / "real" / "r.run", content)
    (path / "here").mkdir()
    (path / "here" / "link").symlink_to(path / "real" / "deep")
    file(path / "here" / "r.run", "another")
    return path / "here"


@pytest.mark.parametrize("given", ["link/../r.run", "./link/.././r.run", "link/../*.run", "link/.."])
def test_up_from_a_link_leads_where_the_operating_system_goes(tmp_path, monkeypatch, given):
    monkeypatch.chdir(outside(tmp_path, "content"))
    expected = str(tmp_path / "real" / "r.run")
    assert expected in [each.path for each in find(given, "results")]
    assert storage(given.replace("*", "r"), "output")[1].startswith(str(tmp_path / "real"))


def test_a_path_without_two_dots_keeps_its_links(tmp_path):
    here = outside(tmp_path, "content")
    assert [each.path for each in find(str(here / "link"), "results")] == [f"{here}/link/a.run"]


def special(path: Path, kind: str) -> None:
    if kind == "a link to nothing":
        path.symlink_to("nowhere")
    elif kind == "a pipe":
        os.mkfifo(path)
    else:
        with socket.socket(socket.AF_UNIX) as bound:
            bound.bind(str(path))


@pytest.mark.parametrize("kind", ["a link to nothing", "a pipe", "a socket"])
def test_what_is_no_file_is_refused_by_name_wherever_it_is_found(tmp_path, monkeypatch, kind):
    file(tmp_path / "runs" / "a.run")
    monkeypatch.chdir(tmp_path / "runs")
    special(Path("b.run"), kind)
    for given in ("", "*", "*.run", "b.run"):
        with pytest.raises(InputError, match=rf"results: .*/runs/b\.run is {kind}"):
            find(f"{tmp_path}/runs/{given}", "results")


def test_what_is_hidden_may_be_anything(tmp_path, monkeypatch):
    file(tmp_path / "a.run")
    monkeypatch.chdir(tmp_path)
    for name, kind in (("_pipe", "a pipe"), (".lost", "a link to nothing")):
        special(Path(name), kind)
    assert names(find(str(tmp_path), "results")) == ["a.run"]


def test_standard_input_is_refused_as_a_pipe_and_read_as_a_file(tmp_path):
    stored = file(tmp_path / "a.run", "q1 Q0 d1 1 0.5 bm25\n")
    program = "from ndcg_spark.inputs.files import find; print(find('/dev/stdin', 'results')[0].path)"
    command = [sys.executable, "-c", program]
    with Path(stored.path).open(encoding="utf-8") as opened:
        done = subprocess.run(command, stdin=opened, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == stored.path
    done = subprocess.run(command, input="q1", capture_output=True, text=True, check=False)
    assert "results: /dev/stdin is a pipe, and input is read more than once; write it to a file" in done.stderr


def test_folders_linked_in_a_circle_are_refused(tmp_path):
    file(tmp_path / "runs" / "a.run")
    (tmp_path / "runs" / "again").symlink_to(tmp_path / "runs")
    with pytest.raises(InputError, match=r"results: .*/runs/again is a link to a folder that it is in itself"):
        find(str(tmp_path), "results")


def test_two_links_to_one_folder_are_no_circle(tmp_path):
    file(tmp_path / "runs" / "one" / "a.run")
    (tmp_path / "runs" / "two").symlink_to("one")
    assert len(find(str(tmp_path / "runs"), "results")) == 2


def test_a_name_that_is_not_utf_8_is_refused(tmp_path):
    (tmp_path / "runs").mkdir()
    Path(os.fsdecode(bytes(tmp_path / "runs") + b"/caf\xe9.run")).write_bytes(b"x")
    for given in ("runs", "runs/*.run"):
        with pytest.raises(InputError, match=r"results: a name in .*/runs that is not UTF-8, b'caf\\xe9\.run'; rename"):
            find(str(tmp_path / given), "results")


@pytest.mark.skipif(os.getuid() != 0 or not shutil.which("setpriv"), reason="needs a user who may become another")
@pytest.mark.parametrize("closed", ["runs", "runs/a.run", "runs/sub"])
def test_what_may_not_be_read_is_refused_by_name(tmp_path, closed):
    file(tmp_path / "runs" / "a.run")
    file(tmp_path / "runs" / "sub" / "b.run")
    for above in (tmp_path, *tmp_path.parents):
        if above != Path(tempfile.gettempdir()) and above.is_relative_to(tempfile.gettempdir()):
            above.chmod(0o755)
    (tmp_path / closed).chmod(0)
    program = """if True:
        import sys
        from ndcg_spark.errors import InputError
        from ndcg_spark.inputs.files import find
        try:
            find(sys.argv[1], "results")
        except InputError as error:
            print(error)"""
    nobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
    command = [*nobody, sys.executable, "-c", program, str(tmp_path / "runs")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    (tmp_path / closed).chmod(0o755)
    assert done.stdout.startswith(f"results: {tmp_path / closed} cannot be "), done.stderr
    assert "Permission denied; check its rights" in done.stdout


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


@pytest.mark.usefixtures("_no_s3")
def test_a_storage_that_does_not_answer_is_refused():
    with pytest.raises(InputError, match=r"results: s3://bucket/runs cannot be listed, .*; check it and its rights"):
        find("s3://bucket/runs", "results")


@pytest.mark.parametrize(
    "path",
    ["s3://KEY:SECRET@bucket/x", "s3://bucket/x?endpoint_override=h:1&scheme=http", "hdfs://anna:SECRET@host/x"],
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
    monkeypatch.setattr(files_module, "storage", lambda path, _: (system, root))
    return system


@pytest.mark.parametrize(
    ("root", "address"),
    [("bucket", "s3://bucket"), ("in/", "abfss://in@account.dfs.core.windows.net"), ("", "hdfs://anna@host:9000")],
)
def test_a_file_of_a_far_storage_is_named_below_the_address_that_was_asked_for(monkeypatch, root, address):
    stored(monkeypatch, root, f"{root.rstrip('/')}/runs/run=a/x.run")
    (found,) = find(f"{address}/runs", "results")
    assert (found.path, found.root) == (f"{address}/runs/run=a/x.run", f"{address}/runs")
    assert found.partition == (("run", "a"),)


@pytest.mark.parametrize("name", ["run=a%2Fb/x 1.parquet", "a[1]#?.run"])
def test_a_name_of_a_far_storage_is_taken_literally(monkeypatch, name):
    system = stored(monkeypatch, "bucket", f"bucket/runs/{name}")
    for given in ("runs", f"runs/{name}"):
        (found,) = find(f"s3://bucket/{given}", "results")
        assert found.path == f"s3://bucket/runs/{name}"
        assert found.located("results") == (system, f"bucket/runs/{name}")


def test_files_on_two_storages_are_each_looked_at_on_their_own(monkeypatch, tmp_path):
    (near,) = find(file(tmp_path / "a.run").path, "results")
    system = stored(monkeypatch, "bucket", "bucket/b.run")
    (far,) = find("s3://bucket/b.run", "results")
    source = Source(None, "results", "trec", [near, far], True)
    before = stamps_of([source])
    assert {path: stamp[0] for path, stamp in before.items()} == {near.path: 1, far.path: 4}
    refuse_changed([source], before)
    system.delete_file("bucket/b.run")
    with pytest.raises(InputError, match=r"1 file\(s\) changed during the evaluation, e\.g\. s3://bucket/b\.run"):
        refuse_changed([source], before)


def orc_file(path: Path) -> File:
    from pyarrow import orc

    orc.write_table(pa.table({"run": [f"r{number}" for number in range(1000)]}), path)
    return File(str(path), path.stat().st_size)


def parquet_file(path: Path) -> File:
    return parquet(path, run=[f"r{number}" for number in range(1000)])


@pytest.mark.parametrize(("make", "batches"), [(orc_file, orc_batches), (parquet_file, plain_batches)])
def test_a_copy_that_has_no_room_is_not_blamed_on_the_file_nor_damage_on_the_room(tmp_path, make, batches):
    whole = make(tmp_path / "a")
    wanted = functools.partial(batches, ["run"])
    write_parquet(wanted, whole, tmp_path / "copy", "results")
    assert pq.read_table(tmp_path / "copy")["run"].to_pylist() == [f"r{number}" for number in range(1000)]
    with pytest.raises(OSError, match="No space left on device"):
        write_parquet(wanted, whole, Path("/dev/full"), "results")
    spoilt(whole, content(whole)[:8] + b"\xff" * 500 + content(whole)[508:])
    with pytest.raises(InputError, match=r"results: .*/a cannot be read, .*; write it again"):
        write_parquet(wanted, whole, tmp_path / "copy", "results")


@pytest.mark.parametrize("link", ["a.parquet", "folder", "within/a.parquet", "within/folder"])
def test_a_link_into_a_table_with_deleted_files_is_refused_wherever_it_stands(tmp_path, link):
    file(tmp_path / "t" / "_delta_log" / "0.json")
    target = Path(file(tmp_path / "t" / "run=x" / "a.parquet").path)
    place = tmp_path / link
    place.parent.mkdir(exist_ok=True)
    place.symlink_to(target if place.suffix else target.parent)
    asked = tmp_path / link.partition("/")[0]
    with pytest.raises(InputError, match=r"/t is a table of Delta, .*; read it as a catalog table"):
        find(str(asked), "results")
