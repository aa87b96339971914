"""The same small evaluation on every engine gives the same numbers."""

import pytest
from evaluate_on import MEASURED, check_same, scores, scores_on

from ndcg_spark.convention.presets import PRESETS

#: Conventions whose plans differ most.
VARIED = ["trec_eval_9", "retrieved_list", *MEASURED]


@pytest.fixture(scope="module")
def embedded():
    return scores_on("embedded")


#: NDCG@3 of queries 101, 102 and 103 as each tool printed it.
PRINTED = {
    ("trec_eval", "trec_eval_9", "ir_measures", "ranx"): [0.2100019958, 0, 0],
    ("pytrec_eval", "beir"): [0.2100019958, 0, None],
    ("elasticsearch", "mllib"): [0.1596969716, 0, 0],
    ("mllib_binary",): [0.2346393630, 0, 0],
    ("replay",): [0.5307212740, 1, 0],
    ("sklearn", "torchmetrics"): [0.4298593499, 0, None],
    ("xgboost", "lightgbm"): [0.5212960286, 1, None],
    ("catboost",): [0.3800937667, 1, None],
}


@pytest.mark.parametrize("presets", PRINTED, ids=lambda names: names[0])
def test_the_tiny_case_scores_as_each_tool_printed_it(embedded, presets):
    expected = [None if score is None else pytest.approx(score, abs=5e-11) for score in PRINTED[presets]]
    for preset in presets:
        assert [row[6] for row in embedded[preset] if row[1] == 3] == expected, preset


def test_classic_spark_gives_the_scores_of_the_embedded_engine(spark, embedded, thorough):
    names = [*PRESETS, *MEASURED] if thorough else VARIED
    check_same(scores(spark, names), embedded, names)
