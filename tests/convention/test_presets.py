import pytest

from ndcg_spark import Convention
from ndcg_spark.convention.description import describe_preset, differences, list_presets_and_options
from ndcg_spark.convention.measures import MEASURES
from ndcg_spark.convention.options import OPTIONS
from ndcg_spark.convention.presets import PRESETS


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_is_a_convention_that_says_what_it_was_verified_with(name):
    assert Convention.preset(name).label == name
    assert PRESETS[name].tool
    assert PRESETS[name].verified


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_is_explained_with_every_option_and_its_differences(name):
    lines = describe_preset(name)
    convention = Convention.preset(name)
    assert lines[0].startswith(f"{name}: ")
    for option in OPTIONS:
        assert any(line.split()[:1] == [option] for line in lines)
    for difference in differences(convention, Convention()):
        assert f"  {difference}" in lines
    assert len(lines[lines.index("Not reproduced, deliberately") :]) > 1


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


def test_what_differs_is_said_option_by_option():
    assert differences(Convention.preset("trec_eval"), Convention()) == [
        "gain=linear: gain relevance",
        "no_relevant=zero: queries without gain score 0",
    ]
    assert differences(Convention(gain={0: 0, 1: 2}), Convention()) == ["gain={0: 0, 1: 2}: gain {0: 0, 1: 2}"]
