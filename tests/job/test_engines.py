"""The same small evaluation on every engine, each in a process of its own, gives the same numbers."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from ndcg_spark.convention.presets import PRESETS

PROGRAM = Path(__file__).parents[1] / "support" / "evaluate_on.py"


#: Presets whose plans differ most; Connect has the engine of classic Spark, and only the way there is its own.
VARIED = {
    "classic": [
        "standard",
        "trec_eval_9",
        "sklearn",
        "catboost",
        "elasticsearch",
        "retrieved_list",
        "replay",
        "rectools",
    ],
    "connect": ["trec_eval_9", "sklearn", "replay"],
}


def scores_on(engine: str, *presets: str) -> dict[str, list[list[object]]]:
    done = subprocess.run([sys.executable, str(PROGRAM), engine, *presets], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


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
        assert [row[5] for row in embedded[preset] if row[1] == 3] == expected, preset


@pytest.mark.spark
@pytest.mark.parametrize("engine", VARIED)
def test_another_engine_gives_the_scores_of_the_embedded_one(embedded, engine, thorough):
    presets = list(PRESETS) if thorough else VARIED[engine]
    found = scores_on(engine, *presets)
    assert found.keys() == {*presets, "python"}
    for name, rows in found.items():
        assert [row[:5] for row in rows] == [row[:5] for row in embedded[name]], name
        numbers = [value for row in embedded[name] for value in row[5:]]
        assert [value for row in rows for value in row[5:]] == pytest.approx(numbers, abs=1e-12, nan_ok=False), name
