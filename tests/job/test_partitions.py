"""How many partitions the embedded engine gets for the tables of a configuration."""

import pytest

from ndcg_spark.config import validate
from ndcg_spark.job.inputs import partitions_for

MEGABYTE = 1 << 20


def partitions(judgments, results):
    settings = {"judgments": str(judgments), "results": str(results)}
    return partitions_for(validate(settings, "test"))


@pytest.fixture
def tables(tmp_path):
    (tmp_path / "judgments").write_bytes(b"q" * 10)
    (tmp_path / "results/day=1").mkdir(parents=True)
    return tmp_path


@pytest.mark.parametrize(("size", "expected"), [(MEGABYTE - 10, 2), (MEGABYTE - 9, None)])
@pytest.mark.parametrize("results", ["results", "res*", "results/*"])
def test_tables_of_a_megabyte_together_get_two(tables, results, size, expected):
    (tables / "results/day=1/a.run").write_bytes(b"r" * size)
    assert partitions(tables / "judgments", tables / results) == expected


@pytest.mark.parametrize("results", ["absent", "table:catalog.web.runs", "s3://bucket/runs"])
def test_tables_whose_size_is_unknown_get_those_of_large_ones(tables, results):
    far = results if ":" in results else tables / results
    assert partitions(tables / "judgments", far) is None


def test_a_link_to_nothing_counts_as_unknown(tables):
    (tables / "results/a.run").symlink_to(tables / "absent")
    assert partitions(tables / "judgments", tables / "results") is None
