"""The measures beside NDCG against the live tools that have them, per query and as the mean, at every cutoff."""

import cases
import measured_tools
import pytest
from score import case_for
from scored import scored

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


def test_capped_recall_is_that_of_beir(session, seeds):
    # BEIR takes equal scores in the order in which they come, and here no document is taken out.
    case = cases.make(seeds, tied=False)
    convention = "beir exclude_query_as_document=false"
    theirs = measured_tools.beir_capped_recall(case)
    ours = scored(
        session, *case.qrels_and_run(), cases.CUTOFFS, convention, measures=["recall_cap"]
    )
    assert len(theirs) > 20
    for query, values in theirs.items():
        mine = {k: ours.of(query, k)["recall_cap"] for k in cases.CUTOFFS}
        assert mine == pytest.approx(values, abs=5.1e-6)
