"""Every preset against the live tool it is named for, per query and as the mean, at every cutoff."""

import functools

import pytest
import tools
from score import case_for

# What the tools warn of is theirs.
pytestmark = [pytest.mark.embedded, pytest.mark.filterwarnings("ignore")]

#: The tool of each preset, and how close its numbers are: torchmetrics computes in float32, BEIR prints 5 decimals.
TOOLS = {
    "trec_eval": (tools.trec_eval, 1e-9),
    "trec_eval_9": (tools.ir_measures, 1e-9),
    "pytrec_eval": (tools.pytrec_eval, 1e-9),
    "ir_measures": (tools.ir_measures, 1e-9),
    "ranx": (tools.ranx, 1e-9),
    "ranx_burges": (functools.partial(tools.ranx, metric="ndcg_burges"), 1e-9),
    "beir": (tools.beir, 5.1e-6),
    "sklearn": (tools.sklearn, 1e-9),
    "torchmetrics": (tools.torchmetrics, 2e-6),
    "xgboost": (tools.xgboost, 1e-9),
    "lightgbm": (tools.lightgbm, 1e-9),
    "catboost": (tools.catboost, 1e-9),
    "recommenders": (tools.recommenders, 1e-9),
    "replay": (tools.replay, 1e-9),
    "rectools": (functools.partial(tools.rectools, achievable=False), 1e-9),
    "rectools_achievable": (functools.partial(tools.rectools, achievable=True), 1e-9),
    "elasticsearch": (tools.elasticsearch, 1e-9),
    "search_relevance": (tools.search_relevance, 1e-9),
    "mlflow": (tools.mlflow, 1e-9),
    "tfma": (tools.tfma, 1e-9),
}


#: The others are slow: another evaluation each, and some a tool that takes seconds to import.
QUICK = ("trec_eval", "sklearn", "lightgbm")


@pytest.mark.parametrize(
    "preset",
    [pytest.param(name, marks=() if name in QUICK else pytest.mark.slow) for name in TOOLS],
)
def test_a_preset_agrees_with_its_tool_for_every_query_and_cutoff(ours, seeds, preset):
    tool, close = TOOLS[preset]
    theirs = tool(case_for(preset, seeds))
    asked = sorted({k for values in theirs.values() for k in values})
    # What a tool leaves out at a cutoff is missing on its side, and must be on ours.
    mine = {
        q: {k: values[str(k)] for k in asked if str(k) in values}
        for q, values in ours(preset)["queries"].items()
    }
    assert {q: set(values) for q, values in mine.items() if values} == {
        q: set(values) for q, values in theirs.items()
    }
    different = [
        (query, k, mine[query][k], value)
        for query, values in theirs.items()
        for k, value in values.items()
        if mine[query][k] != pytest.approx(value, abs=close)
    ]
    assert different == []
    for k in asked:
        scored = [values[k] for values in theirs.values() if k in values]
        assert ours(preset)["mean"][str(k)] == pytest.approx(sum(scored) / len(scored), abs=close)


@pytest.mark.classic
@pytest.mark.parametrize("preset", ["mllib", "mllib_binary"])
def test_mllib_agrees_with_its_presets(session, ours, preset):
    case = case_for(preset, [0])
    theirs = tools.mllib(session, case, graded=preset == "mllib")
    mine = ours(preset)["queries"]
    for query, values in theirs.items():
        for k, value in values.items():
            assert mine[query][str(k)] == pytest.approx(value, abs=1e-9), (query, k)
