"""The same small evaluation gives the numbers that the tools printed, on every engine."""

import pytest
from scored import scored
from sessions import on_spark
from tables import judgment, result

JUDGED = [
    ("101", "a", 2.0),
    ("101", "b", 0.0),
    ("101", "c", 1.0),
    ("101", "z", 3.0),
    ("102", "a", 0.0),
]
JUDGED += [("102", "b", 0.0), ("103", "a", 1.0)]
RETURNED = [("101", "x", 3.0, 1), ("101", "a", 2.0, 2), ("101", "b", 2.0, 3), ("101", "c", 1.0, 4)]
RETURNED += [("102", "a", 2.0, 1), ("102", "b", 1.0, 2), ("104", "a", 1.0, 1)]
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


@pytest.mark.parametrize(
    "preset",
    on_spark(
        [preset for presets in PRINTED for preset in presets],
        *(presets[0] for presets in PRINTED),
    ),
)
def test_the_tiny_case_scores_as_each_tool_printed_it(session, preset):
    judged = [judgment(doc, grade, query) for query, doc, grade in JUDGED]
    returned = [result(doc, score, query, rank=rank) for query, doc, score, rank in RETURNED]
    (expected,) = [scores for presets, scores in PRINTED.items() if preset in presets]
    ndcg = scored(session, judged, returned, [1, 3, None], preset).ndcg(3)
    assert ndcg == {
        query: None if score is None else pytest.approx(score, abs=5e-11)
        for query, score in zip(("101", "102", "103"), expected, strict=True)
    }
