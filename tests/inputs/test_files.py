"""The files behind a path: which there are, what format they have, and which are damaged."""

import gzip
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from ndcg_spark.errors import InputError, StorageError
from ndcg_spark.inputs.checks import check_headers, damaged, footers, refuse_different_types
from ndcg_spark.inputs.files import File, find, format_of, storage

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
    check_headers([*plain, file(tmp_path / "z.csv.gz", gzip.compress(headers[0]))], "results")


@pytest.mark.parametrize("header", ["score,run\n", "run,score,rank\n", "1,2\n", ""])
def test_headers_that_differ_are_refused_with_both(tmp_path, header):
    files = [file(tmp_path / "1.csv", "run,score\n"), file(tmp_path / "2.csv", header)]
    with pytest.raises(InputError, match=r"different headers, .*/1\.csv has 'run,score', .*/2\.csv has ") as refused:
        check_headers(files, "results")
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
