"""What the pages of the gate and of changed judgments tell: nights have the verdicts that a reader predicts."""

import numpy as np
import pytest
from gates import N, copied, evaluate, gate, spread

from ndcg_spark.gate.verdict import accept_command, how_to_accept
from ndcg_spark.nights.log import committed, revise

BASE = 0.6 + spread(0, 0.1)
OCTOBER, NOVEMBER = (1,) * N, (2,) * N
LANGUAGE = {"language": ["en"] * 40 + ["de"] * 20}
DEFAULT = gate()
#: The codes of evaluations.
PASSED, FAILED = 0, 5


def level(drop=0.0, day=1):
    """Scores of a night that lost `drop`; lists move a little from night to night."""
    return BASE - drop + np.roll(spread(0, 0.002), day)


def night(output, day, drop=0.0, held=DEFAULT, **more):
    """The verdict on a night of the run `r`, or of several runs whose drops are given by name."""
    drops = drop if isinstance(drop, dict) else {"r": drop}
    scores = {run: level(of_run, day) for run, of_run in drops.items()}
    verdicts = evaluate(output, held, f"2026-11-{day:02}", scores, **more)
    return verdicts.get("web")


def published(output, day):
    (found,) = [one for one in committed(str(output)) if one.evaluated_on == f"2026-11-{day:02}"]
    return found


def accept(output, day, *runs):
    revise(published(output, day), accepted="a reason", accepted_runs=list(runs) or None)


def code(verdict):
    return verdict.verdict, verdict.exit_code


def test_drift_is_found_on_the_fifteenth_night(tmp_path):
    codes = [code(night(tmp_path, 1, accepted="first"))]
    codes += [code(night(tmp_path, day, 0.001 * (day - 1))) for day in range(2, 16)]
    assert codes == [("none", PASSED)] + [("pass", PASSED)] * 13 + [("fail", FAILED)]


def test_a_known_loss_may_move_within_the_limit(tmp_path):
    night(tmp_path, 1, accepted="first")
    night(tmp_path, 2, 0.03)
    acknowledged = {"reason": "repaired soon", "until": "2026-11-15"}
    revise(published(tmp_path, 2), acknowledged=acknowledged)
    assert code(night(tmp_path, 3, 0.035)) == ("fail", PASSED)
    assert code(night(tmp_path, 4, 0.05)) == ("fail", FAILED)


@pytest.mark.parametrize(
    ("drops", "expected"), [((0.006, 0.013), ("fail", "dropped")), ((0.002, 0.009), ("pass", None))]
)
def test_a_loss_before_and_after_a_change_of_judgments(tmp_path, drops, expected):
    before, after = drops
    night(tmp_path, 1, accepted="first", hashes=OCTOBER)
    for day in range(2, 8):
        night(tmp_path, day, 0, hashes=OCTOBER)
    night(tmp_path, 8, before, hashes=OCTOBER)
    for day in range(1, 9):
        copied(
            published(tmp_path, day), NOVEMBER, {"r": level(before if day == 8 else 0, day) + 0.001}
        )
    under = {OCTOBER: {"r": level(before, 9) + 0.001}}
    assert night(tmp_path, 9, before, hashes=NOVEMBER, under=under).verdict == "pass"
    for day in range(10, 13):
        night(tmp_path, day, (before + after) / 2, hashes=NOVEMBER)
    verdict = night(tmp_path, 13, after, hashes=NOVEMBER)
    assert (verdict.verdict, verdict.reason) == expected
    assert {one.result for one in verdict.results if one.baseline == "good"} == {"pass"}


def test_judgments_that_age_are_no_loss(tmp_path):
    dated = gate(baseline=["2026-11-01"])
    scores = {"r": BASE}
    evaluate(tmp_path, DEFAULT, "2026-11-01", scores, accepted="first")
    verdicts = []
    for day in range(2, 10):
        judged = 1 - 0.004 * day
        aged = {"r": (BASE + np.roll(spread(0, 0.002), day)) * judged}
        verdicts.append(
            evaluate(tmp_path, DEFAULT, f"2026-11-{day:02}", aged, judged=judged)["web"]
        )
    assert {one.verdict for one in verdicts} == {"pass"}
    assert any("have these judged" in note for note in verdicts[-1].notes)
    last = {"r": BASE * 0.96}
    by_date = evaluate(tmp_path, dated, "2026-11-10", last, judged=0.96)["web"]
    assert (by_date.verdict, by_date.reason) == ("none", "unjudged_documents")


def test_a_slice_that_broke_is_a_warning_alone(tmp_path):
    held = gate({"max_drop": 0.05}, min_queries=20)
    night(tmp_path, 1, held=held, accepted="first", attributes=LANGUAGE)
    broken = BASE - np.where(np.arange(N) < 40, 0, 0.11 + spread(0, 0.01))
    verdict = evaluate(tmp_path, held, "2026-11-02", {"r": broken}, attributes=LANGUAGE)["web"]
    assert code(verdict) == ("pass", PASSED)
    assert "language=de" in verdict.warnings[0]


def test_a_run_whose_ids_nobody_judges_is_not_measured(tmp_path):
    night(tmp_path, 1, {"r": 0, "bm25": 0}, accepted="first", attributes=LANGUAGE)
    drops = {"r": BASE, "bm25": 0}
    odd = {"r": "no document of r is judged"}
    verdict = night(tmp_path, 2, drops, gate(min_queries=20), attributes=LANGUAGE, unknown_ids=odd)
    assert (verdict.verdict, verdict.reason, verdict.run) == ("none", "not_measured", "r")
    assert verdict.lost_slices == ()


def test_a_date_is_not_replaced_by_good_nights_where_it_cannot_be_reached(tmp_path):
    held = gate(baseline=["2026-11-01"])
    night(tmp_path, 1, held=None, hashes=OCTOBER)
    copied(published(tmp_path, 1), NOVEMBER, {"r": level()})
    # The sides are 0.1 apart, so that what happened at the change is not known.
    under = {OCTOBER: {"r": level(0.1, 2)}}
    change = night(tmp_path, 2, held=held, hashes=NOVEMBER, under=under, accepted="new judgments")
    after = night(tmp_path, 3, held=held, hashes=NOVEMBER)
    assert [one.reason for one in (change, after)] == ["other_judgments"] * 2


@pytest.mark.parametrize("runs", [(), ("bm25",)])
def test_a_run_that_the_gate_names_is_never_given_up(tmp_path, runs):
    held = gate({"runs": ["r"]}, {"runs": ["bm25"]})
    night(tmp_path, 1, {"r": 0, "bm25": 0}, held, accepted="first")
    night(tmp_path, 2, held=held)
    accept(tmp_path, 2, *runs)
    after = night(tmp_path, 3, held=held)
    assert (after.reason, after.run) == ("missing_run", "bm25")


#: Levels above the first night, and what the sentence says: the largest change first, and at most three runs.
MOVED = {
    "both": ({"a": 0.001, "b": -0.004}, "b 0.5960 (-0.0040), a 0.6010 (+0.0010) against the good"),
    "many": (
        {"a": 0.001, "b": 0, "c": 0.002, "d": -0.005, "e": 0.003},
        "d 0.5950 (-0.0050), e 0.6030 (+0.0030), c 0.6020 (+0.0020) and 2 more runs against",
    ),
}


@pytest.mark.parametrize(("moved", "said"), MOVED.values(), ids=MOVED)
@pytest.mark.parametrize("checks", [1, 2])
def test_the_run_that_moved_most_is_named_first(tmp_path, moved, said, checks):
    # With two checks, the first one is for one run that did not move most.
    held = gate({"runs": ["a"]}, {"max_drop": 0.02}) if checks == 2 else DEFAULT
    for day, scale, reason in ((1, 0, "first"), (2, 1, None)):
        scores = {run: BASE + scale * by for run, by in moved.items()}
        verdict = evaluate(tmp_path, held, f"2026-11-0{day}", scores, accepted=reason)["web"]
    assert said in verdict.sentence


def test_runs_with_different_good_nights_are_both_named(tmp_path):
    scores = {"a": BASE, "b": BASE}
    evaluate(tmp_path, DEFAULT, "2026-11-01", scores, accepted="first")
    lost = {"a": BASE - 0.1, "b": BASE}
    evaluate(tmp_path, DEFAULT, "2026-11-02", lost)
    accept(tmp_path, 2, "a")
    moved = {"a": BASE - 0.095, "b": BASE - 0.001}
    sentence = evaluate(tmp_path, DEFAULT, "2026-11-03", moved)["web"].sentence
    named = "a 0.5050 (+0.0050), b 0.5990 (-0.0010)"
    assert sentence == f"ndcg@10: {named} against the good nights of each run"


@pytest.mark.parametrize(
    ("drops", "end"),
    [
        ({"a": 0.05, "b": 0.06}, "(and 1 more comparison fails)"),
        ({"a": 0.05, "b": 0.06, "c": 0.07}, "(and 2 more comparisons fail)"),
    ],
)
def test_what_is_counted_is_named(tmp_path, drops, end):
    for day in (1, 2):
        night(tmp_path, day, dict.fromkeys(drops, 0), accepted="first" if day == 1 else None)
    assert night(tmp_path, 3, drops).sentence.endswith(end)


@pytest.mark.parametrize(("answered", "is_said"), [(N - 2, True), (N - 1, False), (N, False)])
def test_a_run_that_answered_fewer_queries_than_on_its_last_good_night_has_a_note(
    tmp_path, answered, is_said
):
    scores = {"r": BASE}
    before = {"r": N - 1}
    evaluate(
        tmp_path, gate({"max_drop": 0.5}), "2026-09-01", scores, accepted="ok", answered=before
    )
    more = {"r": BASE + spread(0, 0.001)}
    now = {"r": answered}
    verdict = evaluate(tmp_path, gate({"max_drop": 0.5}), "2026-09-02", more, answered=now)["web"]
    said = [note for note in verdict.notes if "2 judged queries" in note]
    assert len(said) == is_said
    assert verdict.verdict == "pass"


def test_a_run_that_was_never_good_disappears_with_a_warning(tmp_path):
    night(tmp_path, 1, {"a": 0}, accepted="first")
    new = night(tmp_path, 2, {"a": 0, "b": 0})
    # The verdict says that the run is new; a note would only repeat it.
    assert (new.reason, new.notes) == ("new_run", ())
    gone = night(tmp_path, 3, {"a": 0})
    assert code(gone) == ("pass", PASSED)
    assert gone.warnings == ("b had scores on 2 November and has none tonight",)
    assert night(tmp_path, 4, {"a": 0}).warnings == ()


def test_a_run_that_must_arrive_is_only_missing(tmp_path):
    night(tmp_path, 1, {"a": 0, "b": 0}, accepted="first")
    verdict = night(tmp_path, 2, {"a": 0})
    assert (verdict.reason, verdict.warnings) == ("missing_run", ())


@pytest.mark.parametrize(
    ("more", "runs"),
    [({}, ["b"]), ({"gain": "linear"}, [])],
)
def test_a_night_that_lacks_only_a_baseline_says_how_to_accept_it(tmp_path, more, runs):
    night(tmp_path, 1, {"a": 0}, accepted="first")
    verdict = night(tmp_path, 2, {"a": 0, **dict.fromkeys(runs, 0)}, **more)
    advice = how_to_accept(verdict.as_json(), "out", "gate.toml")
    command = accept_command("out", "gate.toml", "web", "2026-11-02", runs)
    assert advice.endswith(command)
    # Nobody should accept a missing run or a loss unseen.
    missing = night(tmp_path, 3, {"c": 0})
    assert how_to_accept(missing.as_json(), "out", "gate.toml") is None


def test_a_loss_that_only_warns_is_not_accepted_with_a_new_run(tmp_path):
    held = gate({"runs": ["a", "new"]}, {"runs": ["b"], "severity": "warn"})
    night(tmp_path, 1, {"a": 0, "b": 0}, held, accepted="first")
    verdict = night(tmp_path, 2, {"a": 0, "b": 0.1, "new": 0}, held)
    assert (verdict.reason, verdict.runs_to_accept) == ("new_run", ["new"])
    assert "fail" in {result.result for result in verdict.results if result.run == "b"}
