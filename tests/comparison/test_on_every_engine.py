"""A comparison on classic Spark has the rows of the embedded engine; for Connect see job/test_connect_server.py."""

import pytest
from compare_on import rows_on
from same_comparison import case, check_same_rows


@pytest.fixture(scope="module")
def expected(embedded):
    table, options = case()
    rows = embedded.rows(table, "old", **options)
    assert len(rows) == 4 * 2 * 4 * 2
    assert {row["test"] for row in rows} >= {"t", "weighted t", "randomization", "weighted randomization"}
    return rows


def test_classic_spark_compares_as_the_embedded_engine_does(spark, expected):
    table, options = case()
    check_same_rows(rows_on(spark, table, "old", **options), expected)
