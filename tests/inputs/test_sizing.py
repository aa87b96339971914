"""Whether what an evaluation will read is little, as far as that can be told before it is read."""

import pytest

from ndcg_spark.inputs.sizing import is_little


@pytest.fixture
def folder(tmp_path):
    """A folder with files of 10, 20 and 30 bytes, the last below another folder."""
    (tmp_path / "run=b").mkdir()
    for name, size in (("one.run", 10), ("two.run", 20), ("run=b/three.parquet", 30)):
        (tmp_path / name).write_bytes(b"x" * size)
    return tmp_path


@pytest.mark.parametrize(
    ("path", "size"), [("one.run", 10), ("*.run", 10 + 20), ("", 10 + 20 + 30), ("**/*.parquet", 30), ("none*", 0)]
)
def test_files_folders_and_patterns_count_with_all_that_is_in_them(folder, path, size):
    assert is_little([str(folder / path)], most=size)
    assert size == 0 or not is_little([str(folder / path)], most=size - 1)


def test_all_paths_count_together(folder):
    both = [str(folder / "one.run"), f"file://{folder}/two.run"]
    assert is_little(both, most=10 + 20)
    assert not is_little(both, most=10 + 20 - 1)


def test_compressed_text_counts_as_the_text_that_it_holds(tmp_path):
    (tmp_path / "one.run.gz").write_bytes(b"x" * 10)
    assert not is_little([str(tmp_path / "one.run.gz")], most=10)
    assert is_little([str(tmp_path / "one.run.gz")], most=5 * 10)


@pytest.mark.parametrize("path", ["s3://bucket/results", "hdfs://host/results", "table:db.results"])
def test_what_cannot_be_told_is_not_little(path):
    assert not is_little([path])


def test_a_link_to_nothing_is_left_for_the_reader_to_refuse(tmp_path):
    (tmp_path / "gone.run").symlink_to(tmp_path / "nowhere.run")
    assert not is_little([str(tmp_path)])
