"""The gate of a configuration: what its keys mean, and what contradicts what, each told with the key's path."""

import datetime
from pathlib import Path

import pytest

from ndcg_spark.config import NightConfig, load, validate
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.text import baseline_run

CONF = Path(__file__).parents[2] / "conf"
CHECK = {"cutoff": 10, "max_drop": 0.01}


def gate(**given):
    paths = {"judgments": {"path": "qrels"}, "results": {"path": "run"}}
    return validate({**paths, "gate": {"check": [CHECK], **given}}, "night.toml").gate


def test_the_example():
    config = load(CONF / "gate.toml", {}).gate
    assert (config.baseline, config.nights) == (("good", "accepted"), 7)
    assert [(check.cutoff, check.severity, check.runs, check.slice) for check in config.check] == [
        (10, "fail", ["hybrid"], None),
        (3, "warn", None, None),
        (10, "fail", ["hybrid"], "language=de"),
    ]


def test_baselines():
    assert gate().baseline == ("good", "accepted")
    assert gate(baseline="good").baseline == gate(baseline=["good", "good"]).baseline == ("good",)
    given = ["good", datetime.date(2026, 11, 1), "2026-11-02", "run a b"]
    assert gate(baseline=given).baseline == ("good", "2026-11-01", "2026-11-02", "run a b")
    assert [baseline_run(name) for name in ("good", "2026-11-02", "run a b")] == [None, None, "a b"]


@pytest.mark.parametrize(
    ("limits", "mean", "allowed"),
    [
        ((0.01, None), 0.6, 0.01),
        ((None, 0.02), 0.6, 0.012),
        ((0.01, 0.02), 0.6, 0.01),
        ((0.1, 0.02), 0.6, 0.012),
    ],
)
def test_the_stricter_limit_counts(limits, mean, allowed):
    (check,) = gate(
        check=[{"cutoff": 10, "max_drop": limits[0], "max_relative_drop": limits[1]}]
    ).check
    assert check.allowed(mean) == pytest.approx(allowed)


WRONG = [
    ({"min_querys": 5}, "gate.min_querys: "),
    ({"baseline": "yesterday"}, r"gate.baseline: .*good.*YYYY-MM-DD.*run NAME"),
    ({"baseline": "run "}, r"gate.baseline: .*good.*YYYY-MM-DD.*run NAME"),
    ({"check": []}, "gate.check: "),
    (
        {"check": [{**CHECK, "max_drop": 1}]},
        r"gate.check\[1\].max_drop: ndcg cannot fall .*; write 0.01 for 1%",
    ),
    ({"check": [{"max_drop": 0.01}]}, r"gate.check\[1\].cutoff: "),
    (
        {"check": [{**CHECK, "cutoff": 20}]},
        r"gate.check\[1\].cutoff: 20 is not evaluated; cutoffs has 1, 3, 5, 10",
    ),
    ({"check": [{"cutoff": 10}]}, r"gate.check\[1\]: it has no limit"),
    ({"check": [{**CHECK, "slice": "de"}]}, r"gate.check\[1\].slice: "),
    (
        {"check": [{**CHECK, "slice": "language=de"}]},
        r"gate.check\[1\].slice: .* \[query_attributes\] with path",
    ),
    (
        {"check": [{**CHECK, "weighted": True}]},
        r"gate.check\[1\].weighted: .* \[query_weights\] with path",
    ),
]


@pytest.mark.parametrize(("given", "told"), WRONG)
def test_wrong(given, told):
    with pytest.raises(ConfigurationError, match=told):
        gate(**given)


def test_a_file_with_nothing_but_a_gate(tmp_path):
    file = tmp_path / "gate.toml"
    file.write_text(
        '[gate]\nbaseline = "run a"\ncheck = [{cutoff = 20, max_drop = 0.1}]\n', encoding="utf-8"
    )
    assert load(file, {"date": "2026-11-20"}, NightConfig).gate.check[0].cutoff == 20
    for text, told in (
        ("gate = 5", "gate: "),
        ("[gate]\ncheck = 5", "gate.check: "),
        ("[gat]", "gat: "),
    ):
        file.write_text(text, encoding="utf-8")
        with pytest.raises(ConfigurationError, match=told):
            load(file, {}, NightConfig)
