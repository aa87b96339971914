"""The gate of a configuration: what its keys mean, and what contradicts what, each told with the key's path."""

import datetime
from pathlib import Path

import pytest

from ndcg_spark.config import NightConfig, load, validate
from ndcg_spark.errors import ConfigurationError

CONF = Path(__file__).parents[2] / "conf"
BASELINE = {"night": "last_good"}
CHECK = {"cutoff": 10, "max_drop": 0.01}


def gate(**given):
    paths = {"judgments": {"path": "qrels"}, "results": {"path": "run"}}
    return validate({**paths, "gate": {"baseline": [BASELINE], "check": [CHECK], **given}}, "night.toml").gate


def test_the_example_of_a_gate_is_read_with_its_baselines_and_checks():
    found = load(CONF / "gate.toml", {}).gate
    assert [baseline.name for baseline in found.baseline] == ["recent_good", "2026-11-20"]
    assert [(check.cutoff, check.severity, check.runs, check.slice) for check in found.check] == [
        (10, "fail", ["hybrid"], None),
        (3, "warn", None, None),
        (10, "warn", ["hybrid"], "language=de"),
    ]
    assert (found.rule, found.alpha, found.on_changed_judgments) == ("regression", 0.05, "refuse")


def test_a_night_is_a_word_or_a_date_and_the_whole_ranking_a_cutoff():
    found = validate(
        {
            "judgments": {"path": "qrels"},
            "results": {"path": "run"},
            "cutoffs": "all",
            "gate": {
                "baseline": [{"night": "2026-11-01"}, {"night": datetime.date(2026, 11, 2)}],
                "check": [{"cutoff": "all", "max_drop": 0.01}],
            },
        },
        "night.toml",
    ).gate
    assert [baseline.night for baseline in found.baseline] == [datetime.date(2026, 11, 1), datetime.date(2026, 11, 2)]
    assert found.cutoffs == [None]


WRONG = [
    ({"rule": "regresion"}, "gate.rule: "),
    ({"alpha": 0}, "gate.alpha: "),
    ({"min_querys": 5}, "gate.min_querys: "),
    ({"confirm": 2}, "gate.confirm: "),
    ({"baseline": [{"night": "last_good", "nights": 3}]}, "gate.baseline.0: nights belongs to night = 'recent_good'"),
    ({"correction": "bh"}, "gate.correction: "),
    ({"baseline": [{"nigth": "last_good"}]}, "gate.baseline.0.nigth: "),
    (
        {"baseline": [{"night": "yesterday"}]},
        "gate.baseline.0.night: 'yesterday' is not a night; write recent_good, last_good, or",
    ),
    ({"baseline": [{}]}, "gate.baseline.0: a baseline is a night or another run"),
    ({"baseline": [{"night": "last_good", "run": "bm25"}]}, "gate.baseline.0: a baseline is a night or another run"),
    ({"baseline": [BASELINE, BASELINE]}, "gate.baseline.1: last_good is a baseline already"),
    ({"check": [{"cutoff": 10, "max_drop": 1}]}, "gate.check.0.max_drop: ndcg cannot fall .*; write 0.01 for 1 %"),
    (
        {"check": [{"cutoff": 10, "max_share_losing": {"by": 20, "share": 0.1}}]},
        "gate.check.0.max_share_losing.by: ndcg cannot fall by more than 1; write 0.2 for 20 %",
    ),
    ({"baseline": []}, r"gate.check.0: it needs a \[\[gate.baseline\]\], but there is none"),
    ({"baseline": [{"run": "a"}], "check": [{**CHECK, "runs": ["a"]}]}, "gate.check.0.runs: a is a baseline"),
    ({"check": [{**CHECK, "max_drp": 1}]}, "gate.check.0.max_drp: "),
    ({"check": [{"max_drop": 0.01}]}, "gate.check.0.cutoff: "),
    ({"check": [{**CHECK, "cutoff": 20}]}, "gate.check.0.cutoff: 20 is not evaluated; cutoffs has 1, 3, 5, 10"),
    ({"check": [{**CHECK, "max_drop": -0.1}]}, "gate.check.0.max_drop: "),
    ({"check": [{"cutoff": 10}]}, "gate.check.0: no limit on the drop against last_good; give max_drop"),
    ({"check": [{**CHECK, "runs": ["a", "a"]}]}, "gate.check.0.runs: a is named twice"),
    ({"check": [{**CHECK, "slice": "de"}]}, "gate.check.0.slice: 'de' is not a slice; write ATTRIBUTE=VALUE"),
    ({"check": [{**CHECK, "slice": "language=de"}]}, r"gate.check.0.slice: .* \[query_attributes\] with path"),
    ({"check": [{**CHECK, "weighted": True}]}, r"gate.check.0.weighted: .* \[query_weights\] with path"),
    ({"check": [{**CHECK, "max_share_losing": {"by": 0, "share": 2}}]}, "2 problem.*max_share_losing.by: .*share: "),
    ({"check": [{**CHECK, "severity": "error"}]}, "gate.check.0.severity: "),
]


@pytest.mark.parametrize(("given", "told"), WRONG)
def test_a_key_that_is_wrong_is_told_by_its_path(given, told):
    with pytest.raises(ConfigurationError, match=told):
        gate(**given)


def test_weights_which_only_a_gate_uses_are_refused_without_one():
    tables = {"judgments": {"path": "qrels"}, "results": {"path": "run"}, "query_weights": {"path": "table.csv"}}
    with pytest.raises(ConfigurationError, match="query_weights: only a gate uses it"):
        validate(tables, "night.toml")


def test_a_file_with_nothing_but_a_gate_judges_what_is_published(tmp_path):
    file = tmp_path / "gate.toml"
    file.write_text('[gate]\nbaseline = [{run = "a"}]\ncheck = [{cutoff = 20, max_drop = 0.1}]\n', encoding="utf-8")
    assert load(file, {"date": "2026-11-20"}, NightConfig).gate.cutoffs == [20]
    for text, told in (
        ("gate = 5", "gate: "),
        ('[gate]\nbaseline = "last_good"', "gate.baseline: "),
        ("gate.check = 5", "gate.check: "),
        ("[gat]", "gat: "),
    ):
        file.write_text(text, encoding="utf-8")
        with pytest.raises(ConfigurationError, match=told):
            load(file, {}, NightConfig)


def test_all_contradictions_stand_in_one_message():
    with pytest.raises(ConfigurationError, match=r"night.toml: 4 problem\(s\): gate.baseline.1.*check.0.cut.*check.1:"):
        gate(baseline=[BASELINE, BASELINE], check=[{**CHECK, "cutoff": 20}, {"cutoff": 10}])
