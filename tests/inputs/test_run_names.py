"""What files call their runs."""

import pytest

from ndcg_spark.errors import InputError
from ndcg_spark.inputs.batches import named_by_file
from ndcg_spark.inputs.files import File


@pytest.mark.parametrize(
    ("path", "name"),
    [
        ("/r/bm25.run.gz", "bm25"),
        ("/r/bm25.v2", "bm25.v2"),
        ("/r/input.bm25.txt", "input.bm25"),
        ("/r/.run", ".run"),
        ("s3://b/r/dense.parquet", "dense"),
        (
            "/r/dense.parquet/part-00000-0a1b2c3d-0000-0000-0000-0a1b2c3d4e5f-c000.snappy.parquet",
            "dense",
        ),
        ("/r/dense/day=1/part.0.parquet", "dense"),
        ("/r/run=a%2Fb/part-00000.parquet", "a/b"),
    ],
)
def test_a_run_is_called_what_its_file_is_without_what_tells_the_format(path, name):
    (named,) = named_by_file([File(path, 1)], "run")
    assert named.partition == (("run", name),)


def test_part_files_are_one_run_and_two_files_of_one_name_are_refused():
    parts = [File(f"/r/dense/day={at}/part-0000{at}-{at}.csv", 1) for at in range(2)]
    assert [file.partition for file in named_by_file(parts, "run")] == [(("run", "dense"),)] * 2
    others = [
        File(f"/r/{name}_{at}.csv", 1) for name in ("data", "crossencoderbase") for at in range(2)
    ]
    assert len({file.partition for file in named_by_file(others, "run")}) == 4
    with pytest.raises(
        InputError, match=r"two files name the run bm25, /a/bm25\.run and /b/bm25\.run\.gz; rename"
    ):
        named_by_file([File("/a/bm25.run", 1), File("/b/bm25.run.gz", 1)], "run")
    (named,) = named_by_file(
        [File("/r/run=x/day=1/bm25.csv", 1, (("run", "x"), ("day", "1")))], "run"
    )
    assert named.partition == (("day", "1"), ("run", "bm25"))
