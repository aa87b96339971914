"""What people decide about a published night, and what it changes for later ones."""

import json

import numpy as np
import pytest
from gates import N, evaluate, gate, spread
from logged import logged_steps

from ndcg_spark.comparison.differences import ComparisonOptions
from ndcg_spark.comparison.known_losses import acknowledged_now
from ndcg_spark.config import NightConfig, validate
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.gate.acknowledged import why_not_known
from ndcg_spark.gate.decide import rehearse
from ndcg_spark.job.decisions import Decision
from ndcg_spark.job.gate import gate_published
from ndcg_spark.nights.log import committed

BASE = 0.6 + spread(0, 0.1)
LOST = BASE - 0.05
HELD = {"check": [{"cutoff": 10, "max_drop": 0.01}], "min_queries": 30}
GATE = gate()


def night(output, day, held=GATE, **runs):
    """The verdict on a night of runs, whose lists are never the same."""
    noise = spread(0, 0.001) * day
    scores = {run: level + noise for run, level in (runs or {"ltr": BASE}).items()}
    return evaluate(output, held, f"2026-11-{day:02}", scores)["web"]


def decide(output, day, **decision):
    settings = validate(
        {"gate": HELD, "output": str(output), "date": f"2026-11-{day:02}"}, "gate", NightConfig
    )
    (verdict,) = gate_published(settings, str(output), None, Decision(**decision))
    return verdict


def row(output, day):
    (found,) = [one for one in committed(str(output)) if one.evaluated_on == f"2026-11-{day:02}"]
    return found.record


@pytest.fixture
def output(tmp_path):
    """The first night has two runs and is accepted."""
    night(tmp_path, 1, ltr=BASE, bm25=BASE - 0.1)
    decide(tmp_path, 1, accepted="first")
    return tmp_path


def test_a_known_loss_fails_no_later_night_until_it_gets_worse(output):
    assert night(output, 2, ltr=LOST, bm25=BASE - 0.1).exit_code == 5
    verdict = decide(output, 2, acknowledged="a smaller index")
    # The night itself stays a failure, so that no deployment passes.
    assert (verdict.verdict, verdict.exit_code) == ("fail", 5)
    assert row(output, 2)["acknowledged"] == {"reason": "a smaller index", "until": "2026-11-16"}
    later = night(output, 3, ltr=LOST, bm25=BASE - 0.1)
    known = {"on": "2026-11-02", "reason": "a smaller index", "until": "2026-11-16"}
    assert (later.verdict, later.exit_code, later.acknowledged) == ("fail", 0, known)
    assert not later.is_baseline
    json.dumps(later.as_json(), allow_nan=False)
    for day, runs in enumerate(
        (
            {"ltr": LOST - 0.03},
            {"ltr": LOST, "bm25": BASE - 0.15},
            {"ltr": BASE, "bm25": BASE - 0.15},
        ),
        4,
    ):
        worse = night(output, day, **{"bm25": BASE - 0.1, **runs})
        assert (worse.exit_code, worse.acknowledged) == (5, None), runs
    # A missing run beside the known loss is not silent.
    assert night(output, 7, ltr=LOST).acknowledged is None
    # On the sixth, ltr was fixed.
    assert night(output, 8, ltr=LOST, bm25=BASE - 0.1).exit_code == 5


@pytest.mark.parametrize(("day", "code"), [(16, 0), (17, 5)])
def test_an_acknowledgement_ends_after_two_weeks(output, day, code):
    night(output, 2, ltr=LOST, bm25=BASE - 0.1)
    decide(output, 2, acknowledged="a smaller index")
    night(output, 3, ltr=LOST, bm25=BASE - 0.1)
    assert night(output, day, ltr=LOST, bm25=BASE - 0.1).exit_code == code


#: What the night after the acknowledged one returns, and whether it fixes ltr's loss.
BETWEEN = {
    "fixed": ({"ltr": BASE, "bm25": BASE - 0.1}, {}, True),
    "another run fails": ({"ltr": BASE, "bm25": BASE - 0.2}, {}, True),
    "it lasts": ({"ltr": LOST, "bm25": BASE - 0.1}, {}, False),
    "skipped": (None, {}, False),
    "missing": ({"bm25": BASE - 0.1}, {}, False),
    "other options": ({"ltr": BASE, "bm25": BASE - 0.1}, {"gain": "linear"}, False),
    "without a gate": ({"ltr": BASE, "bm25": BASE - 0.1}, {"gate": None}, False),
    "undecided": ({"ltr": BASE - spread(0.02, 0.1), "bm25": BASE - 0.1}, {}, False),
    "no verdict": ({"ltr": BASE}, {}, False),
    "not measured": ({"ltr": 0 * BASE, "bm25": BASE - 0.1}, {"unknown_ids": {"ltr": "ids"}}, False),
}


@pytest.mark.parametrize(("scores", "more", "is_fixed"), BETWEEN.values(), ids=BETWEEN)
def test_a_loss_that_returns_after_its_repair(output, scores, more, is_fixed):
    night(output, 2, ltr=LOST, bm25=BASE - 0.1)
    decide(output, 2, acknowledged="a smaller index")
    if scores is not None:
        evaluate(output, **{"gate": GATE, "date": "2026-11-03", "scores": scores, **more})
    in_force = [known.night.evaluated_on for known in acknowledged_now(committed(str(output)))]
    assert in_force == ([] if is_fixed else ["2026-11-02"])
    later = night(output, 4, ltr=LOST, bm25=BASE - 0.1)
    assert (later.verdict, later.exit_code) == ("fail", 5 if is_fixed else 0)
    is_back = "acknowledged on 2 November was fixed on 3 November and is back"
    assert any(is_back in warning for warning in later.warnings) == is_fixed


def test_a_check_that_only_warns_holds_no_acknowledgement(output):
    held = gate({"runs": ["ltr"]}, {"runs": ["bm25"], "severity": "warn"})
    night(output, 2, held, ltr=LOST, bm25=BASE - 0.2)
    decide(output, 2, acknowledged="a smaller index")
    night(output, 3, held, ltr=BASE, bm25=BASE - 0.1)
    assert not [*acknowledged_now(committed(str(output)))]


def test_each_run_has_its_own_repair(output):
    night(output, 2, ltr=LOST, bm25=BASE - 0.2)
    decide(output, 2, acknowledged="two defects")
    assert night(output, 3, ltr=BASE, bm25=BASE - 0.2).exit_code == 0
    assert night(output, 4, ltr=BASE, bm25=BASE - 0.2).exit_code == 0
    assert night(output, 5, ltr=LOST, bm25=BASE - 0.2).exit_code == 5
    decide(output, 5, acknowledged="again")
    assert night(output, 6, ltr=LOST, bm25=BASE - 0.2).exit_code == 0


def test_a_loss_that_was_accepted_was_not_fixed(output):
    night(output, 2, ltr=LOST, bm25=BASE - 0.1)
    decide(output, 2, acknowledged="a smaller index")
    decide(output, 2, accepted="it stays smaller")
    assert night(output, 3, ltr=LOST, bm25=BASE - 0.1).verdict == "pass"
    worse = night(output, 4, ltr=LOST - 0.05, bm25=BASE - 0.1)
    assert (worse.exit_code, len(worse.warnings)) == (5, 0)


NOT_COVERED = {
    "other_failure": {"ltr": LOST, "bm25": BASE - 0.2},
    "fallen": {"ltr": LOST - 0.05, "bm25": BASE - 0.1},
    "not_a_failure": {"ltr": LOST},
}


@pytest.mark.parametrize(("code", "scores"), NOT_COVERED.items(), ids=NOT_COVERED)
def test_why_an_acknowledgement_does_not_cover_a_night(output, code, scores):
    night(output, 2, ltr=LOST, bm25=BASE - 0.1)
    decide(output, 2, acknowledged="a smaller index")
    verdict = night(output, 3, **scores)
    assert verdict.exit_code == 5
    assert verdict.warnings[0].startswith("not covered by the acknowledgement of 2 November: ")
    (known,) = acknowledged_now(committed(str(output)))
    uncovered = why_not_known(verdict, known)
    assert (uncovered.code if uncovered else "fallen") == code


def test_a_failure_against_another_baseline_is_not_covered(output):
    accepted_alone = gate(baseline=["accepted"])
    night(output, 2, accepted_alone, ltr=LOST, bm25=BASE - 0.1)
    decide(output, 2, acknowledged="a smaller index")
    verdict = night(output, 3, ltr=LOST, bm25=BASE - 0.1)
    assert verdict.exit_code == 5
    assert verdict.warnings[0].endswith("also fails against the good nights")


ALL_QUERIES_NEW = {"hashes": (2,) * N}


@pytest.mark.parametrize("is_acknowledged", [True, False])
@pytest.mark.parametrize(("runs", "is_said"), [((), True), (("ltr",), True), (("bm25",), False)])
def test_accepting_new_queries_says_which_losses_are_accepted(
    output, is_acknowledged, runs, is_said
):
    night(output, 2, ltr=LOST, bm25=BASE - 0.1)
    if is_acknowledged:
        decide(output, 2, acknowledged="a smaller index")
    scores = {"ltr": LOST, "bm25": BASE - 0.1}
    renamed = evaluate(output, GATE, "2026-11-03", scores, **ALL_QUERIES_NEW)["web"]
    assert (renamed.verdict, renamed.warnings) == ("none", ())
    verdict = decide(output, 3, accepted="queries have new names", runs=runs)
    said = [warning for warning in verdict.warnings if "also accepts a known loss" in warning]
    assert len(said) == is_said
    assert all("ltr failed on 2 November (-0.0500" in warning for warning in said)
    assert all((", acknowledged)" in warning) == is_acknowledged for warning in said)


@pytest.mark.parametrize(
    ("between", "number"),
    [
        ({"ltr": BASE, "bm25": BASE - 0.1}, 0),  # It passed.
        ({"ltr": LOST}, 1),  # Another run was missing, and it failed again.
    ],
)
def test_a_loss_that_is_over_is_not_accepted(output, between, number):
    night(output, 2, ltr=LOST, bm25=BASE - 0.1)
    night(output, 3, **between)
    scores = {"ltr": LOST, "bm25": BASE - 0.1}
    evaluate(output, GATE, "2026-11-04", scores, **ALL_QUERIES_NEW)
    assert len(decide(output, 4, accepted="queries have new names").warnings) == number


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({}, ["bm25: ndcg@10 0.5000, was 0.5000 on 2026-11-01", "ltr: ndcg@10 0.5500, was 0.6000"]),
        (
            ALL_QUERIES_NEW,
            ["bm25: ndcg@10 0.5000, was 0.5000 on 2026-11-01 under different judgments"],
        ),
        ({"unknown_ids": {"ltr": "no document"}}, ["ltr: not measured"]),
    ],
)
def test_accepting_says_what_levels_are_comparable(output, more, said):
    scores = {"ltr": LOST, "bm25": BASE - 0.1}
    evaluate(output, GATE, "2026-11-02", scores, **more)
    with logged_steps() as steps:
        decide(output, 2, accepted="a smaller index")
    levels = [text for step, text in steps if step == "accepted"]
    for start in said:
        assert any(level.startswith(start) for level in levels), levels
    is_other = any("different judgments" in level for level in levels)
    assert is_other == ("hashes" in more)


def test_a_loss_that_was_accepted_is_not_known_again(output):
    night(output, 2, ltr=LOST, bm25=BASE - 0.1)
    decide(output, 2, accepted="a smaller index")
    scores = {"ltr": LOST, "bm25": BASE - 0.1}
    evaluate(output, GATE, "2026-11-03", scores, **ALL_QUERIES_NEW)
    assert decide(output, 3, accepted="queries have new names").warnings == ()


def test_an_acknowledgement_is_withdrawn(output):
    night(output, 2, ltr=LOST, bm25=BASE - 0.1)
    decide(output, 2, acknowledged="a smaller index", until="2026-11-20")
    assert row(output, 2)["acknowledged"]["until"] == "2026-11-20"
    decide(output, 2, withdrawn=True)
    assert not row(output, 2)["acknowledged"]
    assert night(output, 3, ltr=LOST, bm25=BASE - 0.1).exit_code == 5


def test_an_acceptance_is_withdrawn(output):
    night(output, 2, ltr=LOST, bm25=BASE - 0.1)
    decide(output, 2, accepted="a smaller index")
    assert night(output, 3, ltr=LOST, bm25=BASE - 0.1).verdict == "pass"
    verdict = decide(output, 2, withdrawn=True)
    assert verdict.verdict == "fail"
    record = row(output, 2)
    assert (record["accepted"], record["is_baseline"], record["withdrawn"]) == (
        None,
        False,
        ["acceptance"],
    )
    # The night after it was judged beside it, and is good itself; later ones fail again.
    assert night(output, 4, ltr=LOST, bm25=BASE - 0.1).verdict == "fail"
    decide(output, 1, withdrawn=True)
    assert not row(output, 1)["is_baseline"]
    decide(output, 1, accepted="once more")
    assert row(output, 1)["accepted"] == "once more"


def test_a_night_is_accepted_for_one_run_alone(output):
    fell = night(output, 2, ltr=LOST, bm25=BASE - 0.2)
    assert fell.runs_to_accept == []
    decide(output, 2, accepted="a smaller index", runs=("ltr",))
    assert row(output, 2)["accepted_runs"] == ["ltr"]
    both = night(output, 3, ltr=LOST, bm25=BASE - 0.2)
    assert {result.run for result in both.results if result.result == "fail"} == {"bm25"}
    assert both.runs_to_accept == ["bm25"]
    # What must arrive is given up for the runs that are named, and for no others.
    assert night(output, 4, ltr=LOST).reason == "missing_run"
    decide(output, 4, accepted="bm25 is gone", runs=("bm25",))
    assert night(output, 5, ltr=LOST).verdict == "pass"


def test_the_same_evaluation_again_takes_over_what_was_decided(output):
    night(output, 2, ltr=LOST, bm25=BASE - 0.1)
    decide(output, 2, acknowledged="a smaller index")
    assert night(output, 2, ltr=LOST, bm25=BASE - 0.1).exit_code == 0
    assert night(output, 3, ltr=LOST, bm25=BASE - 0.1).exit_code == 0
    # Other results end it.
    assert night(output, 2, ltr=LOST - 0.001, bm25=BASE - 0.1).exit_code == 5
    assert night(output, 3, ltr=LOST, bm25=BASE - 0.1).exit_code == 5
    decide(output, 2, accepted="a smaller index", runs=("ltr",))
    again = night(output, 2, ltr=LOST - 0.001, bm25=BASE - 0.1)
    assert (again.accepted, again.accepted_runs) == ("a smaller index", ("ltr",))
    assert row(output, 2)["accepted_runs"] == ["ltr"]


WRONG = [
    ({"accepted": "a", "acknowledged": "b"}, "acknowledge"),
    ({"accepted": "a", "withdrawn": True}, "withdraw"),
    ({"runs": ("ltr",)}, "run"),
    ({"until": "2026-12-01"}, "until"),
    ({"acknowledged": " "}, "acknowledge"),
    ({"acknowledged": "REASON"}, "acknowledge"),
    ({"accepted": "say why "}, "accept-baseline"),
    ({"acknowledged": "b", "until": "2026-10-01"}, "until"),
    ({"accepted": "a", "runs": ("lrt",)}, None),
]


@pytest.mark.parametrize(("decision", "option"), WRONG)
def test_what_cannot_be_decided(output, decision, option):
    night(output, 2, ltr=LOST, bm25=BASE - 0.1)
    before = len(committed(str(output)).rows)
    with pytest.raises(ConfigurationError) as caught:
        decide(output, 2, **decision)
    assert option in (None, caught.value.option)
    assert len(committed(str(output)).rows) == before


def test_only_a_failure_is_acknowledged_and_only_what_was_decided_withdrawn(output):
    night(output, 2, ltr=BASE, bm25=BASE - 0.1)
    for decision in ({"acknowledged": "b"}, {"withdrawn": True}):
        with pytest.raises(ConfigurationError):
            decide(output, 2, **decision)


@pytest.mark.parametrize("published", [None, gate({"max_drop": 0.2})])
def test_a_night_that_was_not_published_as_failed_has_nothing_to_acknowledge(output, published):
    evaluate(output, published, "2026-11-02", {"ltr": LOST, "bm25": BASE - 0.1})
    with pytest.raises(ConfigurationError) as caught:
        decide(output, 2, acknowledged="a smaller index")
    assert caught.value.option == "acknowledge"
    assert not row(output, 2)["acknowledged"]


def test_a_rehearsal_says_what_is_acknowledged(output):
    night(output, 2, ltr=LOST, bm25=BASE - 0.1)
    decide(output, 2, acknowledged="a smaller index")
    night(output, 3, ltr=LOST, bm25=BASE - 0.1)
    said = list(rehearse(GATE, committed(str(output)), ComparisonOptions(only_losses=True)))
    assert [verdict.acknowledged is None for verdict in said] == [True, False, False]


def test_of_several_datasets_those_with_a_decision_are_withdrawn(tmp_path):
    scores = {"a": {"ltr": BASE}, "b": {"ltr": BASE}}
    evaluate(tmp_path, gate(), "2026-11-01", scores)
    settings = validate(
        {"gate": HELD, "output": str(tmp_path), "date": "2026-11-01"}, "gate", NightConfig
    )
    gate_published(settings, str(tmp_path), "b", Decision(accepted="first"))
    (verdict,) = gate_published(settings, str(tmp_path), None, Decision(withdrawn=True))
    assert verdict.dataset == "b"
    assert [one.record["accepted"] for one in committed(str(tmp_path))] == [None, None]
    with pytest.raises(ConfigurationError) as caught:
        gate_published(settings, str(tmp_path), None, Decision(withdrawn=True))
    assert caught.value.option == "withdraw"


def test_a_check_of_judged_rates(tmp_path):
    rate = gate({"measure": "judged_rate", "max_drop": 0.05, "min_value": 0.5})
    assert len(np.asarray(BASE)) == N
    night(tmp_path, 1, rate)
    decide(tmp_path, 1, accepted="first")
    verdict = night(tmp_path, 2, rate)
    assert verdict.verdict == "pass"
    assert [result.mean for result in verdict.results] == [1.0, 1.0]
    # It is compared with the good nights and with its minimum, not with the accepted night.
    assert [result.baseline for result in verdict.results] == ["good", None]
