import numpy as np
import pytest

from ndcg_spark import Convention
from ndcg_spark.convention.catalog import CATALOG_PRESETS
from ndcg_spark.convention.convention import (
    definition,
    describe_preset,
    list_presets_and_options,
    mathematics,
)
from ndcg_spark.convention.measures import MEASURES, NDCG_ONLY
from ndcg_spark.convention.options import OPTIONS, show
from ndcg_spark.convention.parsing import parse_measures
from ndcg_spark.convention.presets import PRESETS, about_grades


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_is_described_with_its_formula_options_and_differences(name):
    convention, lines = Convention.preset(name), describe_preset(name)
    assert convention.label == name
    assert lines[:2] == [f"{name}: {PRESETS[name].tool}", f"verified with {PRESETS[name].verified}"]
    assert {f"  {line}" for line in mathematics(convention)} <= {*lines}
    options = lines[lines.index("Options, with the value in standard if it differs") + 1 :]
    standard = Convention().options()
    assert [line.split() for line in options[: len(OPTIONS)]] == [
        [option, show(value), *([] if value == standard[option] else [show(standard[option])])]
        for option, value in convention.options().items()
    ]
    assert len(lines[lines.index("Not reproduced, deliberately") :]) > 1


@pytest.mark.parametrize(
    ("name", "tool"),
    [*((tool, tool) for tool in CATALOG_PRESETS), ("rectools_achievable", "rectools")],
)
def test_a_preset_of_measures_of_the_catalog_is_described_with_the_calls_of_its_tool(name, tool):
    preset, text = CATALOG_PRESETS[tool], "\n".join(describe_preset(name))
    for call in [*preset.calls.values(), *preset.not_reproduced, preset.verified]:
        assert call in text
    for option, value in preset.options.items():
        assert f"{option.partition('_')[2]}={value}" in text


@pytest.mark.parametrize(("persistence", "shown"), [(0.8, "0.8"), (0.5, "0.5")])
def test_a_definition_names_the_persistence_of_rbp(persistence, shown):
    convention = Convention(rbp_persistence=persistence)
    measures = parse_measures("RBP@10", None, [10]).measure_set
    sentence = definition(convention.label, convention.formula, measures)
    assert sentence.count(f"persistence {shown} in RBP") == 1
    without = definition(Convention().label, Convention().formula, NDCG_ONLY)
    assert "RBP" not in without


def test_a_definition_in_mathematical_notation():
    convention = Convention(
        gain="binary", discount="position", ties="average", ideal="k_relevant", min_relevance=2
    )
    assert mathematics(convention)[:-1] == [
        "rel(d) = [grade of d >= 2], but a negative grade is unchanged",
        "g(d) = [rel(d) > 0]",
        "w(r) = 1 / r",
        "DCG@k = sum over r = 1..k of g(d_r) * w(r), expected over all orderings of equal scores",
        "IDCG@k = sum over r = 1..k of w(r)",
    ]


def test_the_list_has_every_option_and_measure_as_the_field_writes_it():
    lines = list_presets_and_options()
    for option, choice in (
        ("relevant_from", "1, judged, a grade above 0"),
        ("rbp_persistence", "0.8, a number between"),
    ):
        assert any(line.split()[:1] == [option] and choice in line for line in lines)
    written = {line.split()[0]: line.split()[1] for line in lines[-len(MEASURES) :]}
    assert list(written) == list(MEASURES)
    assert [written[name] for name in ("ndcg", "precision", "rbp", "bpref")] == [
        *("nDCG@10", "P(rel=...)@10", "RBP(p=...)@10", "Bpref(rel=...)")
    ]


def pytrec_eval_of(grades):
    tool = pytest.importorskip("pytrec_eval")
    return tool.RelevanceEvaluator({"q": {"a": grades[0], "b": grades[1]}}, {"ndcg"})


def ir_measures_of(grades):
    tool = pytest.importorskip("ir_measures")
    qrels = {"q": {"a": grades[0], "b": grades[1]}}
    return tool.calc_aggregate([tool.nDCG @ 2], qrels, {"q": {"a": 1.0}})


def lightgbm_of(grades):
    tool = pytest.importorskip("lightgbm")
    data = tool.Dataset(np.zeros((2, 1)), label=grades, group=[2])
    options = {"objective": "lambdarank", "metric": "ndcg", "verbose": -1}
    return tool.train(options, data, 1, valid_sets=[data])


def xgboost_of(grades):
    tool = pytest.importorskip("xgboost")
    data = tool.DMatrix(np.zeros((2, 1)), label=grades)
    data.set_group([2])
    options = {"objective": "rank:ndcg", "eval_metric": "ndcg@2", "verbosity": 0}
    return tool.train(options, data, 1).eval(data)


ASKED = {
    "pytrec_eval": pytrec_eval_of,
    "ir_measures": ir_measures_of,
    "lightgbm": lightgbm_of,
    "xgboost": xgboost_of,
}


@pytest.mark.parametrize("name", ASKED)
def test_a_tool_refuses_the_grades_that_its_preset_warns_of(name):
    highest = min(PRESETS[name].grades.highest, 100)
    ASKED[name]([int(highest), 1])
    assert [*about_grades(name, None, highest)] == []
    refused = [[0.9, 1]] if highest == 100 else [[0.9, 1], [highest + 1, 1]]
    for grades in refused:
        fractional = 0.9 if 0.9 in grades else None
        (sentence,) = about_grades(name, fractional, max(grades))
        assert f"{name} itself refuses grades" in sentence
        # Each tool has an exception of its own.
        with pytest.raises(Exception, match=r"(?i)integer|int type|label|lesser"):
            ASKED[name](grades)


def test_trec_eval_truncates():
    (sentence,) = about_grades("trec_eval", 0.9, 2.0)
    assert sentence == (
        "judgments: trec_eval itself truncates grades that are not whole numbers, e.g. 0.9, and would "
        "not give these scores"
    )
    assert "  it truncates grades that are not whole numbers" in describe_preset("trec_eval")
    assert [*about_grades("standard", 0.9, 1e300)] == []
