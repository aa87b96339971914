"""Files whose names begin with _ or a dot are left out; a warning counts those that look like data."""

import pytest
from input_files import file
from logged import logged_steps

from ndcg_spark.errors import MissingInputError
from ndcg_spark.inputs.files import list_files, listed_files

DATA = (
    "_b.run",
    ".b.csv",
    "_b",
    "_old/b.parquet",
    "_b.jsonl.gz",
    "night/.old/deep/b.tsv",
    ".B.ORC",
    "_part-00000",
)
NO_DATA = (
    *(
        "_SUCCESS",
        "._b.run",
        ".DS_Store",
        ".b.run.swp",
        ".b.parquet.crc",
        "_metadata",
        "_started_1",
        "_committed_1",
    ),
    *(
        "_temporary/0/b.parquet",
        ".ipynb_checkpoints/b-checkpoint.csv",
        ".git/b",
        "_spark_metadata/0",
    ),
    *(".hive-staging_hive_2026/b.parquet", "__pycache__/b.json"),
)


def warnings(path):
    with logged_steps() as told:
        found = [file.path for file in listed_files("results", [list_files(str(path))])]
    return found, [sentence for step, sentence in told if step == "warning"]


@pytest.mark.parametrize("name", DATA)
def test_hidden_data_is_left_out_with_a_warning(tmp_path, name):
    whole, hidden = (file(tmp_path / "runs" / one).path for one in ("a.run", name))
    found, said = warnings(tmp_path / "runs")
    assert found == [whole]
    assert said == [
        f"results: 1 file(s) left out, e.g. {hidden}, because a name begins with _ or a dot; rename the files that contain data"
    ]


def test_what_programs_leave_behind_is_no_data(tmp_path):
    for name in ("a.run", *NO_DATA):
        file(tmp_path / name)
    file(tmp_path / "_empty.run", "")
    file(tmp_path / "_run=b" / "c.run")
    (tmp_path / ".#a.run").symlink_to("nowhere")
    found, said = warnings(tmp_path)
    assert found == [f"{tmp_path}/_run=b/c.run", f"{tmp_path}/a.run"]
    assert said == []


@pytest.mark.parametrize("given", ["*", "*.run", "night/../*"])
def test_what_a_glob_matches_and_is_hidden_is_counted(tmp_path, given):
    for name in ("a.run", "_b.run", "_c.run", "night/a.run"):
        file(tmp_path / name)
    assert warnings(f"{tmp_path}/{given}")[1][0].startswith("results: 2 file(s) left out, e.g. ")


def test_a_hidden_file_that_is_named_is_read(tmp_path):
    hidden = file(tmp_path / "_old" / "_b.run").path
    assert warnings(hidden) == ([hidden], [])


def test_a_folder_with_hidden_data_alone_has_no_files(tmp_path):
    file(tmp_path / "_b.run")
    with logged_steps() as told, pytest.raises(MissingInputError):
        listed_files("results", [list_files(str(tmp_path))])
    assert told[0][0] == "warning"
