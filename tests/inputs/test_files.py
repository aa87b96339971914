"""The files behind a path: which there are, and what format they have."""

import pytest
from input_files import file, names

from ndcg_spark.errors import InputError
from ndcg_spark.inputs.files import File, files_of, format_of


def test_a_folder_stands_for_the_files_below_it_in_the_order_of_their_names(tmp_path):
    for name in ("b.run", "a.run", "day=1/c.run"):
        file(tmp_path / name)
    assert names(files_of(str(tmp_path), "results")) == ["a.run", "b.run", "c.run"]


@pytest.mark.parametrize(
    ("glob", "expected"),
    [("*.run", ["a1.run", "a2.run"]), ("a?.run", ["a1.run", "a2.run"]), ("a[2-9].*", ["a2.run"]), ("s*/*", ["c.run"])],
)
def test_a_glob_stands_for_what_it_matches(tmp_path, glob, expected):
    for name in ("a1.run", "a2.run", "b1.txt", "sub/c.run"):
        file(tmp_path / name)
    assert names(files_of(f"{tmp_path}/{glob}", "results")) == expected


@pytest.mark.parametrize("hidden", ["_SUCCESS", ".a.run.crc", "_staging/b.run", ".git/b.run"])
@pytest.mark.parametrize("glob", ["", "/*"])
def test_hidden_files_and_folders_are_left_out(tmp_path, hidden, glob):
    file(tmp_path / "a.run")
    file(tmp_path / hidden)
    assert names(files_of(f"{tmp_path}{glob}", "results")) == ["a.run"]


@pytest.mark.parametrize("name", ["a[1].run", "a*.run", "a?.run"])
def test_a_name_with_wildcards_that_exists_is_that_file_alone(tmp_path, name):
    for each in (name, "a1.run", "ab.run"):
        file(tmp_path / each)
    assert names(files_of(str(tmp_path / name), "results")) == [name]


def test_a_relative_path_and_a_file_uri_are_local(tmp_path, monkeypatch):
    expected = [file(tmp_path / "a.run")]
    monkeypatch.chdir(tmp_path)
    assert files_of("a.run", "results") == files_of(f"file:{tmp_path}/a.run", "results") == expected
    assert files_of(f"file://{tmp_path}/a.run", "results") == expected


@pytest.mark.parametrize("name", ["2026-11-20", "*.run", "absent/*.run"])
def test_a_missing_path_is_refused_by_name(tmp_path, name):
    with pytest.raises(InputError, match=r"judgments: no such path, .*check the spelling") as refused:
        files_of(f"{tmp_path}/{name}", "judgments")
    assert f"{tmp_path}/{name}" in str(refused.value)


def test_a_folder_without_files_is_refused_as_empty(tmp_path):
    file(tmp_path / "night" / "_SUCCESS")
    with pytest.raises(InputError, match=r"results: no files in .*/night, an empty folder"):
        files_of(f"{tmp_path}/night", "results")


def known(name):
    return File(name, 1, found=(None, name))


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
    assert format_of([known(name)], None, "results") == expected


def test_what_only_the_engine_can_open_is_parquet_unless_its_name_says_otherwise():
    assert [format_of([File(name, 0)], None, "results") for name in ("part-0", "a.orc")] == ["parquet", "orc"]


def test_files_of_two_formats_are_refused_with_one_of_each():
    with pytest.raises(InputError, match=r"results: 2 formats in one place, csv \(a\.csv\), trec \(b\.run\); name one"):
        format_of(map(known, ("a.csv", "b.run", "c.csv")), None, "results")


def test_a_glob_passes_over_a_file_where_it_wants_a_folder(tmp_path):
    (tmp_path / "README").write_text("x", encoding="utf-8")
    (tmp_path / "day").mkdir()
    (tmp_path / "day" / "a.run").write_text("x", encoding="utf-8")
    assert [file.path for file in files_of(str(tmp_path / "*" / "a.run"), "results")] == [
        str(tmp_path / "day" / "a.run")
    ]


@pytest.mark.parametrize("name", ["h[12].csv", "h ?.csv"])
def test_a_file_uri_names_a_file_as_it_is(tmp_path, name):
    (tmp_path / name).write_text("x", encoding="utf-8")
    assert [file.path for file in files_of(f"file://{tmp_path}/{name}", "results")] == [str(tmp_path / name)]
