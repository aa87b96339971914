"""The same comparison on classic Spark and Spark Connect gives the rows of the embedded engine."""

import numpy as np
import pyarrow as pa
import pytest
from compare_on import elsewhere, rows_on
from paired import NIGHT, attributes, pairs_of, scores, weights

N = 60


def case():
    """Runs that are normal, skewed, unchanged and partly missing, with slices and weights."""
    baseline, normal = pairs_of("normal", N, 1)
    skewed = baseline + pairs_of("skewed", N, 2)[1] - pairs_of("skewed", N, 2)[0]
    lacking = {f"q{at}": value for at, value in enumerate(normal[:50])} | {"q70": 0.5, "q71": None}
    runs = {"old": baseline, "normal": normal, "skewed": skewed, "same": baseline, "lacking": lacking}
    table = scores(runs, dataset="d", evaluated_on=NIGHT, evaluation_id="e", status="scored")
    deeper = table.set_column(table.schema.get_field_index("cutoff"), "cutoff", pa.nulls(table.num_rows, pa.int32()))
    sliced = attributes({f"q{at}": {"language": ["de", "en"][: 1 + at % 2]} for at in range(40)})
    return pa.concat_tables([table, deeper]), {
        "attributes": sliced,
        "weights": weights(np.random.default_rng(3).uniform(1, 2, N)),
    }


@pytest.fixture(scope="module")
def expected(embedded):
    table, options = case()
    rows = embedded.rows(table, "old", **options)
    assert len(rows) == 4 * 2 * 4 * 2
    assert {row["test"] for row in rows} >= {"t", "weighted t", "randomization", "weighted randomization"}
    return rows


def check_same(found, expected):
    for row, other in zip(found, expected, strict=True):
        assert row == {
            name: pytest.approx(value, rel=1e-9, abs=1e-9) if isinstance(value, float) else value
            for name, value in other.items()
        }


def test_classic_spark_compares_as_the_embedded_engine_does(spark, expected):
    table, options = case()
    check_same(rows_on(spark, table, "old", **options), expected)


@pytest.mark.spark
def test_a_connect_server_compares_as_the_embedded_engine_does(expected):
    table, options = case()
    with elsewhere("connect") as server:
        check_same(server.rows(table, "old", **options), expected)
