"""A comparison of every kind of difference, which must give the same rows on every engine."""

import numpy as np
import pyarrow as pa
import pytest
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


def check_same_rows(found, expected):
    for row, other in zip(found, expected, strict=True):
        assert row == {
            name: pytest.approx(value, rel=1e-9, abs=1e-9) if isinstance(value, float) else value
            for name, value in other.items()
        }
