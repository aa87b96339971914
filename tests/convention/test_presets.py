import pytest

from ndcg_spark import Convention
from ndcg_spark.convention.convention import describe_preset, list_presets_and_options, mathematics
from ndcg_spark.convention.measures import MEASURES
from ndcg_spark.convention.options import OPTIONS, show
from ndcg_spark.convention.presets import PRESETS


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_is_described_with_its_formula_options_and_differences(name):
    convention, lines = Convention.preset(name), describe_preset(name)
    assert convention.label == name
    assert lines[:2] == [f"{name}: {PRESETS[name].tool}", f"verified with {PRESETS[name].verified}"]
    assert {f"  {line}" for line in mathematics(convention)} <= {*lines}
    options = lines[lines.index("Options, and what standard has where it differs") + 1 :]
    standard = Convention().options()
    assert [line.split() for line in options[: len(OPTIONS)]] == [
        [option, show(value), *([] if value == standard[option] else [show(standard[option])])]
        for option, value in convention.options().items()
    ]
    assert len(lines[lines.index("Not reproduced, deliberately") :]) > 1


def test_a_definition_in_mathematical_notation():
    convention = Convention(gain="binary", discount="position", ties="average", ideal="k_relevant", min_relevance=2)
    assert mathematics(convention)[:-1] == [
        "rel(d) = [grade of d >= 2], but a negative grade is unchanged",
        "g(d) = [rel(d) > 0]",
        "w(r) = 1 / r",
        "DCG@k = sum over r = 1..k of g(d_r) * w(r), expected over all orders of equal scores",
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
