"""The measures beside NDCG against the live tools that have them, per query and as the mean, at every cutoff."""

import measured_tools
import pytest
from score import case_for

# What the tools warn of is theirs.
pytestmark = [pytest.mark.embedded, pytest.mark.filterwarnings("ignore")]

TOOLS = {
    "pytrec_eval": measured_tools.pytrec_eval,
    "ir_measures": measured_tools.ir_measures,
    "ranx": measured_tools.ranx,
}


@pytest.mark.parametrize(
    "preset",
    [
        "pytrec_eval",
        *(pytest.param(name, marks=pytest.mark.slow) for name in ("ir_measures", "ranx")),
    ],
)
def test_a_preset_has_the_measures_of_its_tool_for_every_query_and_cutoff(measured, seeds, preset):
    theirs = TOOLS[preset](case_for(preset, seeds))
    mine = measured(preset)["measures"]
    assert mine.keys() == theirs.keys()
    different = [
        (query, at, column, mine[query][at][column], value)
        for query, values in theirs.items()
        for (column, at), value in values.items()
        if mine[query][at][column] != pytest.approx(value, abs=1e-9)
    ]
    assert different == []
    for column, at in next(iter(theirs.values())):
        mean = sum(values[column, at] for values in theirs.values()) / len(theirs)
        assert measured(preset)["means"][at][column] == pytest.approx(mean, abs=1e-9), (column, at)
