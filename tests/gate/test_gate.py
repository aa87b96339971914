"""The gate as a function of plain data: each rule, each reason for no verdict, and how findings become a verdict."""

import dataclasses
import json

import numpy as np
import pytest
from gates import ANCHOR, TONIGHT, YESTERDAY, against, gate, minimums, night, row, spread, verdict
from kept_nights import committed_night
from ndcg_spark.gate.baseline import Baseline, Night, key_of, refused_baseline, refused_judgments
from ndcg_spark.gate.decision import decide, decide_absent
from ndcg_spark.gate.rules import allowed_drop

from ndcg_spark.comparison.comparable import ChangedJudgments
from ndcg_spark.convention.convention import Convention
from ndcg_spark.gate.verdict import exit_code_of
from ndcg_spark.tables.verdicts import verdict_table

#: Differences of 100 queries: far below what is allowed and sure of it; below, and not sure; a little, sure or not.
FAR, UNSURE, LITTLE, LOOSE = spread(-0.05, 0.05), spread(-0.02, 0.2), spread(-0.005, 0.01), spread(-0.005, 0.2)
#: Of so many queries that no kind of query can have remained unseen that loses much.
MANY = spread(-0.002, 0.05, 2_000)

RULES = [
    ("regression", FAR, "fail", "dropped"),
    ("regression", UNSURE, "none", "drop_not_significant"),
    ("regression", LITTLE, "pass", "interval_within_limit"),
    ("regression", MANY, "pass", "drop_ruled_out"),
    ("regression", LOOSE, "pass", "no_drop_seen"),
    # Of 100 queries, up to 3.6 % could be of a kind that loses everything; it rose by more than that, or by less.
    ("regression", spread(0.05, 0.05), "pass", "drop_ruled_out"),
    ("regression", spread(0.02, 0.05), "pass", "interval_within_limit"),
    ("noninferiority", FAR, "fail", "dropped"),
    ("noninferiority", UNSURE, "none", "drop_not_ruled_out"),
    ("noninferiority", LITTLE, "pass", "interval_within_limit"),
    ("noninferiority", MANY, "pass", "drop_ruled_out"),
    ("noninferiority", LOOSE, "none", "drop_not_ruled_out"),
    ("threshold", FAR, "fail", "dropped"),
    ("threshold", UNSURE, "fail", "dropped"),
    ("threshold", LOOSE, "pass", "within_limit"),
    *((rule, np.zeros(100), "pass", "unchanged") for rule in ("regression", "noninferiority", "threshold")),
    *((rule, np.full(100, -0.5), "none", "degenerate") for rule in ("regression", "noninferiority")),
    *((rule, np.full(100, 0.5), "none", "degenerate") for rule in ("regression", "noninferiority")),
    ("threshold", np.full(100, -0.5), "fail", "dropped"),
]


@pytest.mark.parametrize(("rule", "differences", "word", "code"), RULES)
def test_a_rule_decides_by_the_drop_and_its_interval(rule, differences, word, code):
    found = verdict(gate(rule=rule), row(differences))
    (finding,) = found.findings
    assert (found.verdict, finding.code, found.exit_code) == (word, code, {"pass": 0, "fail": 5, "none": 6}[word])
    assert (finding.value, finding.threshold) == (pytest.approx(differences.mean()), -0.01)


def test_a_drop_of_exactly_what_is_allowed_is_allowed():
    found = verdict(gate(), row(spread(-0.01, 0.01)))
    assert (found.verdict, found.findings[0].code) == ("pass", "no_drop_seen")


def test_a_failure_says_what_was_measured_and_what_is_allowed():
    found = verdict(gate(), row(FAR))
    low, high = found.findings[0].interval_low, found.findings[0].interval_high
    assert found.reason == (
        f"ndcg@10 of hybrid fell by 0.0500 against last_good (2026-11-19), from 0.6000 to 0.5500 (95 % interval "
        f"{low:+.4f} to {high:+.4f}, adjusted p {found.findings[0].p_adjusted:.2g}, 100 queries); 0.0100 is allowed"
    )


def test_a_pass_that_proves_nothing_says_how_low_it_could_be_and_what_would_have_been_seen():
    (finding,) = verdict(gate(), row(LOOSE)).findings
    assert finding.reason.endswith(
        f"no drop of more than 0.0100 was seen, but it could be as low as {finding.interval_low:+.4f}; "
        f"detectable: {finding.minimum_detectable:.4f}"
    )


@pytest.mark.parametrize(
    ("absolute", "relative", "baseline_mean", "allowed"),
    [(0.01, None, 0.6, 0.01), (None, 0.02, 0.6, 0.012), (0.01, 0.02, 0.6, 0.01), (0.1, 0.02, 0.6, 0.012)],
)
def test_of_an_absolute_and_a_relative_limit_the_stricter_counts(absolute, relative, baseline_mean, allowed):
    assert allowed_drop(absolute, relative, baseline_mean) == pytest.approx(allowed)


def test_of_a_mean_of_nothing_no_part_can_be_lost():
    assert allowed_drop(0.01, 0.5, 0.0) == 0.01
    found = verdict(gate({"max_relative_drop": 0.5}), row(spread(0.01, 0.01), baseline_mean=0.0))
    assert (found.verdict, found.code) == ("none", "baseline_is_zero")


#: A drop that is significant alone, and nine runs that did not change on average.
SURE_ALONE, OTHERS = row(spread(-0.03, 0.12)), [f"r{n}" for n in range(9)]


def with_others(held):
    """The verdict on `hybrid`, whose drop is sure alone, beside the nine others."""
    runs = ["hybrid", *OTHERS]
    rows = [SURE_ALONE, *(row(spread(0, 0.1), run=run) for run in OTHERS)]
    return verdict(held, *rows, tonight=night(runs=runs), night=night(YESTERDAY, runs=runs))


def test_holm_asks_more_of_each_failure_the_more_is_checked():
    assert 0.005 < SURE_ALONE["p_value"] < 0.05
    found = with_others(gate())
    assert (verdict(gate(), SURE_ALONE).verdict, found.verdict) == ("fail", "none")
    assert with_others(gate(correction="none")).verdict == "fail"
    assert found.findings[0].p_adjusted == pytest.approx(10 * SURE_ALONE["p_value"])


def test_checks_that_only_warn_take_nothing_from_those_that_fail():
    checks = [{"max_drop": 0.01, "runs": ["hybrid"]}, {"max_drop": 0.01, "runs": OTHERS, "severity": "warn"}]
    assert with_others(gate(*checks)).verdict == "fail"


def test_a_comparison_that_two_checks_or_two_baselines_rest_on_is_one_hypothesis():
    twice = gate({"max_drop": 0.01}, {"max_drop": 0.02, "runs": ["hybrid"]})
    found = verdict(twice, SURE_ALONE)
    assert [finding.p_adjusted for finding in found.findings] == [SURE_ALONE["p_value"]] * 2
    same_night = gate(baseline=[{"night": "last_good"}, {"night": YESTERDAY}])
    found = decide(same_night, night(), [against(same_night, SURE_ALONE, at=at) for at in (0, 1)])
    assert [finding.p_adjusted for finding in found.findings] == [SURE_ALONE["p_value"]] * 2
    other_night = gate(baseline=[{"night": "last_good"}, {"night": ANCHOR}])
    found = decide(other_night, night(), [against(other_night, SURE_ALONE, at=at) for at in (0, 1)])
    assert [finding.p_adjusted for finding in found.findings] == [pytest.approx(2 * SURE_ALONE["p_value"])] * 2


def test_a_total_and_uniform_loss_fails_from_six_queries_on():
    lost = {n: row(np.full(n, -1.0), 1.0, p_value=2.0 ** (1 - n), flags=["no_variation"]) for n in (5, 6, 60)}
    words = {n: verdict(gate(min_queries=2), each).verdict for n, each in lost.items()}
    # p is 2^(1 - n), and 2^-4 is above 0.05.
    assert words == {5: "none", 6: "fail", 60: "fail"}


def test_a_gate_over_143_runs_fails_where_each_loses_everything():
    runs = [f"r{n}" for n in range(143)]
    rows = [row(np.full(50, -0.6), p_value=2.0**-49, flags=["no_variation"], run=run) for run in runs]
    found = verdict(gate(), *rows, tonight=night(runs=runs), night=night(YESTERDAY, runs=runs))
    assert (found.verdict, found.exit_code, len(found.findings)) == ("fail", 5, 143)


@pytest.mark.parametrize("flag", ["few_changed", "doubt", "few_effective", "one_weighs_much", "no_variation"])
def test_nothing_is_ruled_out_where_a_flag_doubts_the_interval(flag):
    for rule, word, code in (("regression", "pass", "no_drop_seen"), ("noninferiority", "none", "drop_not_ruled_out")):
        found = verdict(gate(rule=rule), row(MANY, flags=[flag]))
        assert (found.verdict, found.findings[0].code) == (word, code)
        assert "could be as low as" not in found.findings[0].reason
        assert found.findings[0].reason.endswith(
            "of 2,000 queries none lost 0.2 or more, and up to 0.15 % of such queries could"
        )


def test_queries_that_all_score_the_same_prove_nothing_of_others():
    (finding,) = verdict(gate(), row(np.zeros(50))).findings
    assert finding.reason.endswith("all 50 queries score the same; up to 5.8 % of such queries could have changed")


@pytest.mark.parametrize("checks", [1, 4])
def test_what_is_detectable_fails_in_four_of_five_nights(checks):
    chance = np.random.default_rng(22)
    held = gate({"max_drop": 0.01})
    others = [row(spread(0, 0.1), run=run) for run in OTHERS[: checks - 1]]
    runs = ["hybrid", *OTHERS[: checks - 1]]

    def found(differences):
        of_nights = {"tonight": night(runs=runs), "night": night(YESTERDAY, runs=runs)}
        return verdict(held, row(differences), *others, **of_nights).findings[0]

    drop = found(spread(0, 0.1)).minimum_detectable
    failed = sum(found(chance.normal(-drop, 0.1, 100)).outcome == "fail" for _ in range(400))
    assert 300 <= failed <= 345


def test_a_gate_of_which_all_checks_warn_has_no_verdict_where_nothing_was_measured():
    warns = gate({"max_drop": 0.01, "severity": "warn"})
    assert verdict(warns, row(FAR)).verdict == "pass"
    for found in (verdict(warns, night=None), decide_absent(warns, "shop", TONIGHT, YESTERDAY)):
        assert (found.verdict, found.exit_code) == ("none", 6)


def test_a_night_of_which_nothing_was_measured_is_no_baseline_even_where_all_checks_only_warn():
    def counts(*rows, **more):
        found = verdict(gate({"max_drop": 0.01, "severity": more.pop("severity")}), *rows, **more)
        return committed_night("web", TONIGHT, {"verdict": found.as_json()}).is_not_worse

    assert not counts(severity="warn", night=None)
    assert not counts(severity="fail", night=None)
    assert counts(row(FAR), severity="warn")
    assert counts(row(UNSURE), severity="fail")


def test_queries_of_unequal_weights_are_as_many_as_they_come_down_to():
    weighed = gate({"max_drop": 0.01, "weighted": True})
    found = verdict(weighed, row(LITTLE), row(LITTLE, weight_effective_n=49.9))
    assert (found.verdict, found.code) == ("none", "too_few_queries")
    assert found.reason.endswith(
        "only 49.9 queries of equal weight, which is what the weights of 100 come down to, and min_queries is 50"
    )


NUMBERS = ["mean", "baseline_mean", "difference", "interval_low", "interval_high", "p_value", "minimum_detectable"]


@pytest.mark.parametrize("rule", ["regression", "noninferiority", "threshold"])
@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_no_number_that_is_not_finite_is_a_pass(rule, number, value):
    held = gate({"max_drop": 0.01, "min_value": 0.1, "slice": "language=de"}, rule=rule)
    found = verdict(held, row(LITTLE, attribute="language", value="de", **{number: value}))
    assert (found.verdict, found.code, found.exit_code) == ("none", "not_finite", 6)
    # Standard JSON has no such numbers.
    json.dumps(found.as_json(), allow_nan=False)


@pytest.mark.parametrize("number", ["mean", "baseline_mean", "difference"])
def test_a_mean_that_is_not_known_is_no_pass(number):
    for rule in ("regression", "threshold"):
        assert verdict(gate(rule=rule), {**row(np.zeros(100)), number: None}).code == "not_finite"


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_a_mean_of_a_night_that_is_not_finite_is_no_pass(value):
    least = gate({"min_value": 0.1}, baseline=[])
    own = {key: {**each, "mean": value, "difference": value} for key, each in minimums(least).items()}
    found = decide(least, night(), [], minimums=own)
    assert (found.verdict, found.code, found.findings[0].mean) == ("none", "not_finite", None)


REFUSALS = [
    ("no_baseline", {"night": None}, "there is no earlier night that passed or was accepted; --accept-baseline REASON"),
    (
        "other_convention",
        {"night": night(YESTERDAY, options=Convention(gain="linear").options())},
        "2026-11-19 was scored under another convention, gain=linear there and exp2 here",
    ),
    ("missing_run", {"night": night(YESTERDAY, runs=[])}, "hybrid has no results in 2026-11-19; find out"),
    (
        "other_cutoffs",
        {"night": night(YESTERDAY, scores=[{"run": "hybrid", "cutoff": 20}])},
        "ndcg@10 of hybrid was not evaluated in 2026-11-19",
    ),
]


@pytest.mark.parametrize(("code", "baseline", "sentence"), REFUSALS)
def test_what_cannot_be_compared_has_no_verdict_though_it_fell(code, baseline, sentence):
    found = verdict(gate(), row(FAR), **baseline)
    assert (found.verdict, found.code, found.exit_code) == ("none", code, 6)
    assert found.reason.startswith(sentence)


ROWS = [
    ("not_measured", {"queries": 0, "difference": None, "mean": None}, "no query has a value both here and in"),
    ("too_many_unpaired", {"unpaired_queries": 1}, "1 of 101 queries have a value on one side only"),
    ("too_few_queries", {"queries": 49}, "only 49 queries, and min_queries is 50"),
]


@pytest.mark.parametrize(("code", "changed", "sentence"), ROWS)
def test_a_comparison_of_too_little_has_no_verdict(code, changed, sentence):
    found = verdict(gate(), row(FAR, **changed))
    assert (found.verdict, found.code, found.exit_code) == ("none", code, 6)
    assert sentence in found.reason


def test_so_many_queries_may_be_unpaired_as_the_gate_says():
    assert verdict(gate(max_unpaired_fraction=0.01), row(LITTLE, unpaired_queries=1)).verdict == "pass"


def test_a_cutoff_that_this_night_has_not_is_told():
    tonight = night(scores=[{"run": "hybrid", "cutoff": 5, "ndcg": 0.6, "queries": 100}])
    for checked in (gate(), gate({"min_value": 0.1}, baseline=[])):
        found = decide(checked, tonight, [against(checked, row(LITTLE), tonight=tonight)] if checked.baseline else [])
        assert (found.code, found.reason) == (
            "other_cutoffs",
            "ndcg@10 of hybrid was not evaluated in this night; name a cutoff that it has",
        )


def test_a_row_that_is_not_there_is_no_pass():
    assert verdict(gate(), row(LITTLE, cutoff=5)).code == "not_measured"
    assert verdict(gate()).code == "not_measured"


def test_a_gate_without_checks_has_no_verdict():
    empty = gate().model_copy(update={"check": ()})
    assert (verdict(empty, row(LITTLE)).verdict, verdict(empty, row(LITTLE)).code) == ("none", "no_checks")


def test_a_night_without_any_run_to_judge_has_no_verdict():
    own = gate(baseline=[{"run": "hybrid"}])
    assert verdict(own, row(LITTLE)).code == "missing_run"


def test_a_run_of_the_baseline_that_did_not_arrive_has_no_verdict():
    found = verdict(gate(), row(LITTLE), night=night(YESTERDAY, runs=["hybrid", "other"]))
    assert (found.verdict, found.code) == ("none", "missing_run")


LEAST = {"min_value": 0.1}


@pytest.mark.parametrize("baseline", [[{"night": "last_good"}], [{"run": "bm25"}, {"night": "last_good"}]])
@pytest.mark.parametrize("check", [LEAST, {**LEAST, "slice": "language=de"}])
def test_a_least_value_alone_notices_a_run_of_the_baseline_that_did_not_arrive(baseline, check):
    least = gate(check, baseline=baseline)
    tonight = night(runs=["bm25", "hybrid"])
    before = night(YESTERDAY, runs=["bm25", "hybrid", "dense"])
    rows = [row(LITTLE, run=run, attribute="language", value="de") for run in ("bm25", "hybrid")]
    sides = [
        against(least, *rows, at=at, tonight=tonight, **({} if "run" in each else {"night": before}))
        for at, each in enumerate(baseline)
    ]
    own = minimums(least, tonight)
    found = decide(least, tonight, sides, minimums=own)
    assert (found.verdict, found.code, found.exit_code) == ("none", "missing_run", 6)
    assert found.reason == "dense has no results in this night; find out why it did not arrive"
    without = dataclasses.replace(sides[-1], night=night(YESTERDAY, runs=["bm25", "hybrid"]))
    assert decide(least, tonight, [*sides[:-1], without], minimums=own).verdict == "pass"


def test_a_least_value_alone_notices_that_the_run_that_is_the_baseline_did_not_arrive():
    least = gate(LEAST, baseline=[{"run": "bm25"}])
    assert (verdict(least).verdict, verdict(least).code) == ("none", "missing_run")


@pytest.mark.parametrize("check", [LEAST, {"max_drop": 0.01}, {"max_share_losing": {"by": 0.2, "share": 0.5}}])
def test_a_dataset_of_the_baselines_night_that_is_not_there_has_no_verdict(check):
    before = night(YESTERDAY, datasets=["shop", "web"])
    found = verdict(gate(check), row(LITTLE), night=before, tonight=night(datasets=["web"]))
    assert (found.verdict, found.code, found.exit_code) == ("none", "missing_dataset", 6)
    assert found.reason == (
        "the dataset shop of 2026-11-19 has no results in this night; find out why, or if it was given up, accept this "
        "night with --accept-baseline REASON"
    )
    both = night(datasets=["shop", "web", "another"])
    assert verdict(gate(check), row(LITTLE), night=before, tonight=both).verdict == "pass"


@pytest.mark.parametrize("baseline", [[], [{"run": "hybrid"}]])
def test_a_gate_that_compares_no_nights_expects_the_datasets_of_the_last_ones_all_the_same(baseline):
    least = gate(LEAST, baseline=baseline)
    found = verdict(least, tonight=night(expected_datasets={"shop": YESTERDAY}))
    assert (found.verdict, found.code, found.exit_code) == ("none", "missing_dataset", 6)
    there = night(datasets=["shop", "web"], expected_datasets={"shop": YESTERDAY})
    assert verdict(least, tonight=there).verdict == "pass"


def test_a_dataset_that_is_not_there_only_warns_where_every_check_does():
    tonight, before = night(datasets=["web"]), night(YESTERDAY, datasets=["a", "b", "web"])
    found = verdict(gate({"max_drop": 0.01, "severity": "warn"}), row(LITTLE), night=before, tonight=tonight)
    assert found.verdict == "pass"
    assert found.warnings[0].startswith("2 datasets, e.g. a of 2026-11-19, have no results in this night; find out")
    one_fails = gate({"max_drop": 0.01, "severity": "warn"}, LEAST)
    assert verdict(one_fails, row(LITTLE), night=before, tonight=tonight).code == "missing_dataset"


def test_a_dataset_that_an_anchor_has_and_that_is_not_there_is_told_how_to_be_given_up():
    anchored = gate(baseline=[{"night": ANCHOR}])
    found = verdict(anchored, row(LITTLE), night=night(ANCHOR, datasets=["shop", "web"]))
    assert found.reason.endswith("find out why, or if it was given up, name a later night as the baseline")


def test_a_drop_goes_before_a_dataset_that_is_not_there():
    found = verdict(gate(), row(FAR), night=night(YESTERDAY, datasets=["shop", "web"]))
    assert (found.verdict, found.code) == ("fail", "dropped")


@pytest.mark.parametrize(("baseline", "code"), [("last_good", "nights_unreadable"), (ANCHOR, "no_baseline")])
def test_a_least_value_alone_has_no_verdict_where_nobody_can_say_what_should_have_arrived(baseline, code):
    least = gate(LEAST, baseline=[{"night": baseline}])
    unreadable = "output: cannot be read" if baseline == "last_good" else None
    refused = refused_baseline(least.baseline[0], night(), None, unreadable)
    assert decide(least, night(), [Baseline(least.baseline[0], None, refused)]).code == code


def test_the_first_night_needs_no_baseline_to_be_held_to_a_least_value():
    assert verdict(gate(LEAST), night=None).verdict == "pass"


def test_a_dataset_without_a_night_of_the_date_has_no_verdict():
    found = decide_absent(gate(), "shop", TONIGHT, YESTERDAY)
    assert (found.dataset, found.verdict, found.code, found.exit_code) == ("shop", "none", "missing_dataset", 6)
    assert found.reason == (
        "the dataset shop has no night of 2026-11-20; its last night before that is of 2026-11-19; find out why or, if "
        "it was given up, name the others with --dataset"
    )


def test_a_run_that_is_named_and_did_not_arrive_has_no_verdict():
    found = verdict(gate({"max_drop": 0.01, "runs": ["hybrid", "dense"]}), row(LITTLE))
    assert [finding.outcome for finding in found.findings] == ["pass", "incomparable"]
    assert found.reason == "dense has no results in this night; find out why it did not arrive"


def test_a_date_that_is_this_night_is_no_baseline_of_it():
    found = verdict(gate(baseline=[{"night": TONIGHT}]), row(LITTLE))
    assert (found.verdict, found.code) == ("none", "baseline_is_this_night")


def test_another_run_of_the_night_is_a_baseline_and_is_not_judged_itself():
    of_run = gate(baseline=[{"run": "bm25"}])
    tonight = night(runs=["bm25", "dense", "hybrid"])
    rows = [row(LITTLE, run="dense"), row(FAR, run="hybrid")]
    found = verdict(of_run, *rows, tonight=tonight)
    assert [(finding.run, finding.outcome) for finding in found.findings] == [("dense", "pass"), ("hybrid", "fail")]
    assert found.findings[1].reason.startswith("ndcg@10 of hybrid fell by 0.0500 against run bm25")
    assert verdict(of_run, *rows).reason == "the baseline bm25 has no results in this night"


def test_with_two_baselines_slow_drift_fails_against_the_anchor_alone():
    both = gate({"max_drop": 0.01}, baseline=[{"night": "last_good"}, {"night": ANCHOR, "max_drop": 0.02}])
    drift = [against(both, row(spread(-0.008, 0.02))), against(both, row(spread(-0.03, 0.02)), at=1)]
    found = decide(both, night(), drift)
    assert (found.verdict, found.exit_code) == ("fail", 5)
    assert [(f.baseline, f.baseline_night, f.threshold, f.outcome) for f in found.findings] == [
        ("last_good", YESTERDAY, -0.01, "pass"),
        (ANCHOR, ANCHOR, -0.02, "fail"),
    ]
    assert decide(both, night(), [drift[0], against(both, at=1, night=None)]).code == "no_baseline"


def test_what_failed_goes_before_what_could_not_be_judged():
    both = gate({"max_drop": 0.01}, baseline=[{"night": "last_good"}, {"night": ANCHOR}])
    found = decide(both, night(), [against(both, night=None), against(both, row(FAR), at=1)])
    assert (found.verdict, found.code) == ("fail", "dropped")


def test_of_many_failures_the_verdict_names_the_largest_drop():
    runs = ["a", "b", "c"]
    rows = [row(spread(mean, 0.05), run=run) for run, mean in zip(runs, (-0.05, -0.2, -0.1), strict=True)]
    found = verdict(gate(), *rows, tonight=night(runs=runs), night=night(YESTERDAY, runs=runs))
    assert found.reason == f"{found.findings[1].reason} (and 2 more)"


def test_a_slice_has_its_own_tolerance_and_may_only_warn():
    checks = [
        {"max_drop": 0.01},
        {"max_drop": 0.03, "slice": "language=de"},
        {"max_drop": 0.03, "slice": "language=fr", "severity": "warn"},
    ]
    slices = [row(spread(-0.02, 0.02), attribute="language", value="de"), row(FAR, attribute="language", value="fr")]
    found = verdict(gate(*checks), row(LITTLE), *slices)
    assert (found.verdict, found.exit_code) == ("pass", 0)
    assert [finding.outcome for finding in found.findings] == ["pass", "pass", "fail"]
    (warning,) = found.warnings
    assert warning.startswith("ndcg@10 of hybrid for language=fr fell by 0.0500")
    assert found.reason == "2 of 3 findings pass, and the others only warn"


def test_a_slice_that_is_configured_and_absent_has_no_verdict():
    checks = [{"max_drop": 0.01}, {"max_drop": 0.01, "slice": "language=xx"}]
    empty = row([], attribute="language", value="xx")
    for rows in ([row(LITTLE)], [row(LITTLE), empty]):
        found = verdict(gate(*checks), *rows)
        assert (found.verdict, found.code) == ("none", "missing_slice")


@pytest.mark.parametrize(("says", "word"), [("no_verdict", "none"), ("warn", "pass"), ("fail", "fail")])
def test_the_gate_says_what_follows_where_the_queries_are_too_few_to_tell(says, word):
    found = verdict(gate(on_inconclusive=says), row(UNSURE))
    assert (found.verdict, len(found.warnings)) == (word, says == "warn")


@pytest.mark.parametrize(
    ("rule", "least", "word", "code"),
    [
        ("regression", 0.6, "pass", "within_limit"),
        ("regression", 0.61, "none", "may_be_chance"),
        ("regression", 0.63, "fail", "below_min_value"),
        ("noninferiority", 0.57, "pass", "within_limit"),
        ("noninferiority", 0.59, "none", "may_be_chance"),
        ("threshold", 0.6, "pass", "within_limit"),
        ("threshold", 0.601, "fail", "below_min_value"),
    ],
)
def test_a_mean_is_below_its_least_value_where_its_interval_is(rule, least, word, code):
    # 0.6 +- 1.98 * 0.1 / 10
    found = verdict(gate({"min_value": least}, baseline=[], rule=rule))
    (finding,) = found.findings
    assert (found.verdict, finding.code, finding.value) == (word, code, pytest.approx(0.6))
    assert (finding.interval_low, finding.interval_high) == (
        pytest.approx(0.5802, abs=1e-4),
        pytest.approx(0.6198, abs=1e-4),
    )
    if rule == "regression" and word == "fail":
        assert found.reason.startswith(
            "ndcg@10 of hybrid is 0.6000, below the required minimum of 0.6300 (95 % interval 0.5802 to 0.6198, "
        )


def test_a_run_of_which_every_query_scores_nothing_is_below_its_least_value():
    nothing = row(
        np.full(60, -0.5), 0.5, p_value=2.0**-59, interval_low=-0.5, interval_high=-0.5, flags=["no_variation"]
    )
    least = gate({"min_value": 0.5}, baseline=[])
    found = decide(least, night(), [], minimums={(0.5, key_of(nothing)): nothing})
    assert (found.verdict, found.code, found.findings[0].value) == ("fail", "below_min_value", 0.0)


def test_the_least_value_of_a_slice_needs_no_baseline():
    least = gate({"min_value": 0.65, "slice": "language=de"}, baseline=[])
    found = verdict(least)
    assert (found.verdict, found.code, found.findings[0].baseline) == ("fail", "below_min_value", None)
    assert decide(least, night(), []).code == "missing_slice"


def test_a_mean_of_nothing_or_of_too_few_is_no_pass():
    least = gate({"min_value": 0.1}, baseline=[])
    assert decide(least, night(), []).code == "not_measured"
    assert verdict(least, own={"n": 49}).code == "too_few_queries"


@pytest.mark.parametrize(
    ("rule", "losing", "share", "word", "code"),
    [
        ("regression", 4, 0.04, "pass", "within_limit"),
        # At least 4 of 100 by chance where 3 % are usual: 35 %; at least 9: 0.3 %.
        ("regression", 4, 0.03, "none", "may_be_chance"),
        ("regression", 9, 0.03, "fail", "too_many_lose"),
        ("regression", 1, 0.0, "fail", "too_many_lose"),
        ("regression", 0, 0.0, "pass", "within_limit"),
        # Up to 9.9 % could lose so much.
        ("noninferiority", 4, 0.05, "none", "may_be_chance"),
        ("noninferiority", 4, 0.1, "pass", "within_limit"),
        ("threshold", 4, 0.03, "fail", "too_many_lose"),
    ],
)
def test_more_queries_lose_than_may_where_the_interval_of_their_share_says_so(rule, losing, share, word, code):
    held = gate({"max_share_losing": {"by": 0.2, "share": share}}, rule=rule)
    found = verdict(held, row([-0.2] * losing + [0.01] * (100 - losing)))
    assert (found.verdict, found.findings[0].code, found.findings[0].value) == (word, code, losing / 100)
    if code == "may_be_chance" and rule == "regression":
        assert found.reason == (
            "ndcg@10 of hybrid: 4 of 100 queries (4.00%, 95 % interval 1.10% to 9.93%) lost 0.2 or more against "
            "last_good (2026-11-19); 3.00% is allowed, and it may be chance"
        )


def test_another_size_of_a_loss_is_counted_on_its_own():
    held = gate({"max_share_losing": {"by": 0.5, "share": 0.01}})
    few, many = ({**row([-0.2] * 4 + [0.01] * 96), "lost": {0.2: 4, 0.5: count}} for count in (0, 6))
    assert (verdict(held, few).verdict, verdict(held, many).verdict) == ("pass", "fail")


def test_queries_without_a_weight_are_no_pass_of_a_weighted_check():
    plain, weighed = row(FAR), row(LITTLE[:90], weight_effective_n=80.0)
    found = verdict(gate({"max_drop": 0.01, "weighted": True}), plain, weighed)
    assert (found.verdict, found.code) == ("none", "too_many_without_weight")
    assert found.reason.startswith(
        "weighted ndcg@10 of hybrid: 10 of 100 queries have no weight; max_unpaired_fraction allows"
    )
    enough = gate({"max_drop": 0.01, "weighted": True}, max_unpaired_fraction=0.1)
    assert verdict(enough, plain, weighed).verdict == "pass"


def test_weights_have_rows_of_their_own():
    held = gate({"max_drop": 0.01, "weighted": True})
    assert verdict(held, row(FAR)).code == "not_measured"
    found = verdict(held, row(FAR), row(LITTLE, weight_effective_n=80.0))
    assert (found.verdict, found.findings[0].reason.split()[0]) == ("pass", "weighted")
    assert verdict_table(found.as_json()).rows[0][0] == "weighted ndcg@10"


@pytest.mark.parametrize(("says", "word"), [("note", "pass"), ("fail", "fail")])
def test_the_same_results_again_are_told_and_fail_if_asked(says, word):
    stale = night(YESTERDAY, results=night().results)
    found = verdict(gate(on_same_results=says), row(np.zeros(100)), night=stale)
    assert found.verdict == word
    told = "the results are identical to those of 2026-11-19; check that the system produced new output"
    assert found.warnings == (told,) if says == "note" else found.reason == told


def test_a_night_that_is_its_own_anchor_is_not_told_to_have_the_same_results():
    own = gate(on_same_results="fail", baseline=[{"night": TONIGHT}])
    replaced = night()
    refused = refused_baseline(own.baseline[0], night(), replaced)
    found = decide(own, night(), [Baseline(own.baseline[0], replaced, refused)], accepted="the anchor")
    assert (found.code, found.exit_code) == ("baseline_is_this_night", 0)


def test_a_run_that_did_not_arrive_is_told_before_what_is_wrong_with_the_baseline():
    named = gate({"max_drop": 0.01, "runs": ["dense"]})
    assert decide(named, night(), [against(named, night=None)]).code == "missing_run"


def test_what_the_verdict_says_is_not_said_again_as_a_warning():
    checks = gate({"max_drop": 0.01}, {"cutoff": 5, "max_drop": 0.05, "severity": "warn"})
    found = decide(checks, night(), [against(checks, night=None)])
    assert [finding.effect for finding in found.findings] == ["none", "warning"]
    assert (found.code, found.warnings) == ("no_baseline", ())


def test_an_accepted_night_keeps_that_there_is_no_verdict_and_is_no_problem():
    first = gate()
    found = decide(first, night(), [against(first, night=None)], accepted="the first night")
    assert (found.verdict, found.code, found.exit_code) == ("none", "no_baseline", 0)
    assert (found.accepted, found.in_words) == ("the first night", "no verdict (accepted)")
    assert found.reason.startswith("there is no earlier night that passed or was accepted")
    assert exit_code_of([found, verdict(gate(), row(LITTLE))]) == 0
    assert exit_code_of([found, verdict(gate(), row(UNSURE))]) == 6


def test_a_failure_stays_one_though_the_night_is_accepted_as_a_baseline():
    found = decide(gate(), night(), [against(gate(), row(FAR))], accepted="the new index")
    assert (found.verdict, found.exit_code, found.in_words) == ("fail", 5, "fail (accepted)")


CHANGES = [
    ("refuse", ChangedJudgments(100, 0), None),
    (
        "refuse",
        ChangedJudgments(100, 1, "q7"),
        "1 of 100 queries have other judgments than on 2026-11-19, e.g. q7; on_",
    ),
    ("unchanged_queries", ChangedJudgments(100, 1, "q7"), None),
    (
        "unchanged_queries",
        ChangedJudgments(100, 100, "q7"),
        "100 of 100 queries have other judgments than on 2026-11-19, so",
    ),
]


@pytest.mark.parametrize(("says", "changes", "sentence"), CHANGES)
def test_other_judgments_are_refused_unless_the_gate_compares_the_unchanged_queries(says, changes, sentence):
    found = refused_judgments(gate(on_changed_judgments=says), night(YESTERDAY), changes)
    if sentence is None:
        assert found is None
    else:
        assert (found[0], found[1].startswith(sentence)) == ("other_judgments", True)


def test_the_share_of_unchanged_queries_is_told():
    found = verdict(
        gate(on_changed_judgments="unchanged_queries"), row(LITTLE), changes=ChangedJudgments(125, 25, "q7")
    )
    (warning,) = found.warnings
    assert warning.startswith("100 of 125 queries (80.00%) were compared with last_good (2026-11-19)")
    assert found.baselines[0] == {
        "baseline": "last_good",
        "night": YESTERDAY,
        "nights": 1,
        "first_night": None,
        "evaluation_id": f"id of {YESTERDAY}",
        "judged_queries": 125,
        "queries_with_other_judgments": 25,
    }


def test_a_convention_is_its_options_and_not_its_name():
    record = {"options": {**Convention.preset("xgboost").options()}, "convention": "xgboost"}
    same = Night.of_record("web", YESTERDAY, record, night(YESTERDAY).scores)
    tonight = night(options=Convention.preset("lightgbm").options())
    different = {k for k, v in Convention.preset("lightgbm").options().items() if record["options"][k] != v}
    found = verdict(gate(), row(LITTLE), night=same, tonight=tonight)
    assert found.verdict == ("none" if different else "pass")


def test_an_option_that_an_older_version_did_not_know_has_its_default():
    older = {name: value for name, value in Convention().options().items() if name != "min_relevance"}
    assert verdict(gate(), row(LITTLE), night=night(YESTERDAY, options=older)).verdict == "pass"
    tonight = night(options=Convention(min_relevance=2).options())
    assert (
        verdict(gate(), row(LITTLE), night=night(YESTERDAY, options=older), tonight=tonight).code == "other_convention"
    )


def test_of_several_nights_one_that_fails_goes_before_one_without_a_verdict():
    passed, failed, none = (verdict(gate(), row(each)) for each in (LITTLE, FAR, UNSURE))
    assert exit_code_of([passed, none, failed]) == 5
    assert exit_code_of([none, passed]) == 6
    assert exit_code_of([passed]) == 0


def test_a_verdict_is_plain_json():
    found = verdict(gate(), row(FAR)).as_json()
    assert json.loads(json.dumps(found)) == found
    assert (found["verdict"], found["findings"][0]["cutoff"]) == ("fail", "10")
