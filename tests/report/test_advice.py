"""What to do next: a page that asks for each rule, and one that differs from it and does not."""

import dataclasses
import json

import pytest
from night_pages import FILE, against, changed, failed_page, judged, last_point

from ndcg_spark.comparison.corrected import Corrected, Interval
from ndcg_spark.comparison.human_grades import HumanEstimate
from ndcg_spark.comparison.known_losses import PastLoss
from ndcg_spark.comparison.moved_in_nights import Pair
from ndcg_spark.comparison.trend import Falling
from ndcg_spark.report import advice
from ndcg_spark.report.compared_page import NotCompared
from ndcg_spark.report.night import Unanswered
from ndcg_spark.report.outline import Request
from ndcg_spark.report.usual_range import UsualRange

CONFIGURATION = {
    "file": FILE,
    "gate": {"check": [{"cutoff": 10, "runs": ["z"]}], "baseline": ["run y"]},
}
NONE = {"result": "not_comparable"}


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    return failed_page(tmp_path_factory.mktemp("failed"))


def verdict_of(reason, **more):
    """The record and the result of a night that this reason decided."""

    def build(page):
        record = judged(page, "none", reason=reason)
        return {"record": {**record, **more}, "result": {**NONE, "reason": reason, "queries": 40}}

    return build


def with_new_run(page):
    """A night on which one run failed, and another is new."""
    (own,) = page.record["verdict"]["results"]
    new = {**own, **NONE, "run": "new", "reason": "new_run", "baseline": "good"}
    return {"record": {"verdict": {**page.record["verdict"], "results": [own, new]}}}


def unjudged(share):
    return lambda page: {"moved": page.moved._replace(unjudged=share)}


def cannot_tell(page, **fields):
    return {**against(page, **fields), "row": {"conclusion": "cannot_tell"}}


def named(run, **more):
    result = {
        **NONE,
        "check": "gate",
        "reason": "missing_run",
        "run": run,
        "baseline": None,
        **more,
    }

    def build(page):
        record = {**judged(page, "none", reason="missing_run"), "configuration": CONFIGURATION}
        return {"record": record, "result": result}

    return build


def foreign_ids(page):
    """The run writes its document ids in another way than the judgments."""
    inputs = {"results": {"unknown_ids": {page.night.dataset: {page.run: "no document is judged"}}}}
    night = dataclasses.replace(page.night, row={**page.night.row, "inputs": json.dumps(inputs)})
    return {"outline": dataclasses.replace(page.outline, night=night)}


def lacks_copies(page, reason=None):
    compared = dataclasses.replace(page.compared_with, refused=NotCompared(reason))
    return {"compared_with": compared}


def falls(page, conclusion="same"):
    """The line falls, and nothing says that the run is worse."""
    falling = Falling("2026-01-01", -0.02)
    usual = UsualRange(0.5, 0.6, 9, "2026-01-01", falling)
    return {"usual": usual, "row": {"conclusion": conclusion}, "record": judged(page, "pass")}


def with_unjudged(page):
    return {"record": {"verdict": {**page.record["verdict"], "unjudged_runs": ["dense"]}}}


def judged_rates(page, rates, **fields):
    """The page against a run of its own night, with these judged rates of both."""
    of_run = dict(zip((page.run, "dense"), rates, strict=True))
    scores = {
        key: {**row, "judged_rate": of_run.get(key[0], row["judged_rate"])}
        for key, row in page.scores.items()
    }
    # The gate compares with a night, and the loss would be explained by its documents.
    fine = {"moved": None, "judged_before": None, "scores": scores, **fields}
    return {**against(page, nights=(), run="dense"), **fine}


def known(page):
    loss = {"on": "2026-01-01", "until": "2026-02-01", "reason": "why"}
    return {"record": {"verdict": {**page.record["verdict"], "acknowledged": loss}}}


def rejudged(page, **more):
    record = judged(page, "none", reason="other_judgments")
    result = {**NONE, "reason": "other_judgments", "baseline_night": "2026-01-01"}
    return {"record": {**record, **more}, "result": result}


def lost_before(page, run="hybrid", **fields):
    """A known loss, after the nights that the page compares with."""
    losses = (PastLoss(run, "2026-01-02", {}, is_acknowledged=True),)
    outline = dataclasses.replace(page.outline, losses_before=losses)
    return {"outline": outline, **fields}


def dense_is_worse(page):
    compared = page.compared_with
    rows = {**compared.rows, "dense": {**compared.rows["dense"], "conclusion": "worse"}}
    return {"compared_with": dataclasses.replace(compared, rows=rows)}


def german_is_worse(page):
    """A slice that is worse where none explains the loss."""
    compared = page.compared_with
    slices = [{**row, "conclusion": "worse"} for row in compared.slices[page.run]]
    return {"causes": [], "compared_with": dataclasses.replace(compared, slices={page.run: slices})}


def same(page):
    return {}


def by(**changes):
    return lambda page: changes


#: By rule: what a page is changed by that asks for it, and by what one that does not. A change may need the page.
def people_say(low, high):
    """People have graded a sample; the judge says +0.02."""

    def build(page):
        known = Interval(0.01, low, high, 0.5)
        estimate = Corrected(
            machine=0.02,
            machine_interval=known,
            difference=(low + high) / 2,
            baseline_mean=0.5,
            these_queries=known,
            all_queries=known,
            drawn=20,
            graded=20,
            errors=12,
            moved=100,
            queries=60,
            without_ideal=0,
            unpaired=0,
            flags=[],
            alpha=0.05,
        )
        pair = Pair(page.night, page.run, page.baseline.nights[-1], page.run, 10)
        return {"human": HumanEstimate(pair, estimate, 20, 7)}

    return build


CASES = {
    "do_not_trust_judge": (people_say(-0.03, -0.01), people_say(0.01, 0.03)),
    "have_more_graded": (people_say(-0.01, 0.03), people_say(-0.03, -0.01)),
    "send_to_authors": (verdict_of("not_verified"), same),
    "wait_for_missing": (verdict_of("missing_dataset"), same),
    "find_out_why_silent": (by(unanswered=Unanswered(3, 0, 0.5)), same),
    "correct_ids": (foreign_ids, same),
    "make_copies": (lacks_copies, lambda page: lacks_copies(page, "no documents were kept")),
    "look_at_fall": (falls, lambda page: falls(page, "worse")),
    "open_queries": (same, by(row={"conclusion": "cannot_tell"}, result={"result": "pass"})),
    "look_at_slices": (german_is_worse, same),
    "repair": (same, by(record={"accepted": "why not"})),
    "judge_documents": (unjudged(0.1), unjudged(0.09)),
    "judge_alike": (
        lambda page: judged_rates(page, (0.8, 0.9)),
        lambda page: judged_rates(page, (0.81, 0.9)),
    ),
    "judge_aged": (with_unjudged, same),
    "look_at_others": (dense_is_worse, same),
    "judge_more_queries": (lambda page: cannot_tell(page, nights=[], run="dense"), cannot_tell),
    "find_out_why_judgments_changed": (rejudged, lambda page: rejudged(page, accepted="why not")),
    "restore_items": (verdict_of("other_items"), same),
    "accept_night": (same, lambda page: {"output": None}),
    "accept_new_runs": (with_new_run, same),
    "accepts_loss": (lost_before, same),
    "acknowledge": (same, known),
}
#: By kind of a change of the gate.
CHANGES = {
    "few_queries": (verdict_of("few_queries"), same),
    "below_min_value": (by(result={"reason": "below_min_value"}), same),
    "missing_slice": (verdict_of("missing_slice"), same),
    "not_measured": (verdict_of("not_measured"), same),
    "silent_slice": (named("x", slice="a=b"), named("x")),
    "named_run": (named("z"), named("x")),
    "missing_dataset": (verdict_of("missing_dataset"), same),
    "other_night": (by(result={"baseline": "2026-01-01"}), same),
    "other_run": (by(result={"baseline": "run <b>"}), same),
}


def test_every_rule_has_a_case():
    assert list(CASES) == [rule.__name__ for rule in advice.RULES]


@pytest.mark.parametrize("rule", CASES)
def test_a_rule_speaks_for_the_page_that_asks_for_it_alone(page, rule):
    asking, other = CASES[rule]
    say = getattr(advice, rule)
    said = say(changed(page, **asking(page)))
    assert (said is not None, say(changed(page, **other(page)))) == (True, None)
    assert "{" not in said.text


@pytest.mark.parametrize("kind", CHANGES)
def test_a_change_of_the_gate_is_advised_if_it_helps(page, kind):
    asking, other = CHANGES[kind]
    (said,) = advice.changes_of_gate(changed(page, **asking(page)))
    assert (said.kind, "{" in said.text) == (kind, False)
    others = advice.changes_of_gate(changed(page, **other(page)))
    assert kind not in [one.kind for one in others]


def kinds(page):
    return [step.kind for step in advice.next_steps(page)]


def test_steps_stand_in_the_order_of_the_rules(page):
    steps = ["open_queries", "repair", "judge_documents", "accept_night", "acknowledge"]
    assert kinds(page) == steps


def test_a_night_without_anything_to_do_says_so_or_names_its_warnings(page):
    fine = {"row": {"conclusion": "same"}, "record": {"verdict": None, "accepted": None}}
    assert kinds(changed(page, **fine)) == ["nothing"]
    assert kinds(changed(page, **fine, gone=["old"])) == ["warnings"]


def test_judgments_that_changed_are_looked_into_without_a_gate_too(page):
    breaks = last_point(page, breaks=("judgments",))
    record = {"verdict": None, "accepted": None}
    assert "find_out_why_judgments_changed" in kinds(changed(page, **breaks, record=record))


@pytest.mark.parametrize(
    ("change", "helps"),
    [
        (same, True),
        (by(record={"accepted": "why not"}), False),
        (by(result={"baseline": "run y"}), False),
        (by(result={"baseline": "2026-01-01"}), False),
        (named("x"), True),
        (named("z"), False),
        (named("z", check="gate.check[1]", baseline="run y"), False),
        (verdict_of("missing_dataset"), True),
        (verdict_of("not_measured"), False),
        (verdict_of("few_queries"), False),
        # If the judgments share no query, only accepting the night helps.
        (by(result={**NONE, "reason": "few_queries", "queries": 0}), True),
    ],
)
def test_accepting_a_night_is_advised_where_it_changes_the_verdict_on_later_ones(
    page, change, helps
):
    asked = changed(page, **change(page))
    assert (advice.accepting_helps(asked), "accept_night" in kinds(asked)) == (helps, helps)


@pytest.mark.parametrize(("highest", "is_named"), [(-0.001, True), (0.001, False)])
def test_slices_are_looked_at_only_if_they_fall_more_than_the_run(page, highest, is_named):
    asked = changed(page, **german_is_worse(page))
    fall = asked.row["difference"]
    compared = asked.compared_with
    slices = []
    for row in compared.slices[page.run]:
        slices.append({**row, "difference": fall - 0.01, "interval_high": fall + highest})
    others = dataclasses.replace(compared, slices={page.run: slices})
    uniform = changed(page, causes=[], compared_with=others)
    assert fall < 0
    assert (advice.look_at_slices(uniform) is not None) == is_named


def test_a_night_is_accepted_for_the_runs_that_alone_do_not_pass(page):
    (own,) = page.record["verdict"]["results"]
    results = [own, {**own, "run": "dense", "result": "pass"}]
    record = {"verdict": {**page.record["verdict"], "results": results}}
    said = [advice.accept_night(one).text for one in (page, changed(page, record=record))]
    assert ["--run hybrid" in text for text in said] == [False, True]


def test_a_new_run_is_accepted_without_the_runs_that_lost(page):
    asked = changed(page, **with_new_run(page))
    (of_lost, of_new) = (advice.accept_night(asked).text, advice.accept_new_runs(asked).text)
    assert ("--run hybrid" in of_lost, "--run new" in of_lost) == (True, False)
    assert ("--run hybrid" in of_new, "--run new" in of_new) == (False, True)


def test_a_run_that_fails_only_with_a_warning_is_not_accepted(page):
    failed = with_new_run(page)["record"]["verdict"]
    own, new = failed["results"]
    passed = {**own, "run": "bm25", "result": "pass"}
    results = [{**own, "severity": "warn"}, passed, new]
    asked = changed(page, record={"verdict": {**failed, "verdict": "none", "results": results}})
    assert advice.accept_new_runs(asked) is None
    said = advice.accept_night(asked).text
    assert ("--run new" in said, "hybrid" in said) == (True, False)


def test_a_loss_that_is_acknowledged_tonight_is_not_acknowledged_again(page):
    record = {"acknowledged": {"until": "2026-02-01", "reason": "why"}}
    assert advice.acknowledge(changed(page, record=record)) is None


@pytest.mark.parametrize(
    ("rates", "fields", "speaks"),
    [
        ((0.9, 0.5), {}, True),
        ((0.5, 0.9), {"output": None}, False),
        ((None, 0.9), {}, False),
        # The convention drops unjudged documents.
        ((1.0, 1.0), {}, False),
    ],
)
def test_both_sides_are_judged_alike_or_the_page_asks_for_it(page, rates, fields, speaks):
    asked = changed(page, **judged_rates(page, rates, **fields))
    assert (advice.judge_alike(asked) is not None) == speaks


@pytest.mark.parametrize(("before", "speaks"), [(0.9, True), (0.55, False), (None, False)])
def test_a_run_and_its_nights_before_are_judged_alike(page, before, speaks):
    key = page.run, page.metric[1]
    scores = {**page.scores, key: {**page.scores[key], "judged_rate": 0.5}}
    asked = changed(page, scores=scores, judged_before=before, moved=None)
    assert (advice.judge_alike(asked) is not None) == speaks


def test_a_page_asks_once_for_documents(page):
    asked = changed(page, **unjudged(0.1)(page), judged_before=0.0)
    assert "judge_documents" in kinds(asked)
    assert "judge_alike" not in kinds(asked)
    aged = changed(page, **with_unjudged(page), judged_before=0.0, moved=None)
    record = {"verdict": {**page.record["verdict"], "unjudged_runs": [page.run]}}
    known_to_gate = changed(page, record=record, judged_before=0.0, moved=None)
    assert [advice.judge_alike(one) is not None for one in (aged, known_to_gate)] == [True, False]


def test_a_run_and_its_baselines_are_named_as_text(page):
    (said,) = advice.changes_of_gate(changed(page, result={"baseline": "run <b>"}))
    assert "&lt;b&gt;" in said.text


def test_a_loss_of_a_failed_night_is_not_accepted_again_where_its_run_has_recovered(page):
    # The baseline is a night before the failed one.
    (before,) = page.baseline.nights
    recovered = changed(page, **lost_before(page, row={"difference": 0.0}))
    lost = changed(page, **lost_before(page, row={"difference": -0.1}))
    assert before.evaluated_on < "2026-01-02"
    assert (advice.accepts_loss(recovered), advice.accepts_loss(lost) is not None) == (None, True)


def test_a_run_has_recovered_if_its_own_nights_are_from_before_its_loss(page):
    (before,) = page.baseline.nights
    ours = dataclasses.replace(page.baseline, nights=(page.night,), runs=("dense",))
    theirs = dataclasses.replace(page.baseline, nights=(before,), runs=("hybrid",))
    asked = changed(page, **lost_before(page, row={"difference": 0.0}))
    outline = dataclasses.replace(asked.outline, baseline=ours, beside=[theirs])
    assert advice.accepts_loss(dataclasses.replace(asked, outline=outline)) is None


@pytest.mark.parametrize(("run", "is_said"), [("hybrid", True), ("dense", False)])
def test_the_known_losses_of_the_runs_to_accept_are_named(page, run, is_said):
    # Only hybrid fails, so the page advises to accept the night for hybrid.
    said = advice.accepts_loss(changed(page, **lost_before(page, run)))
    assert (said is not None) == is_said
    assert not is_said or ("2 January" in said.text and "(acknowledged)" in said.text)


def test_commands_repeat_what_the_page_was_asked_for(page):
    request = Request(measure="precision@10")
    asked = changed(page, **dense_is_worse(page))
    outline = dataclasses.replace(asked.outline, request=request)
    said = advice.look_at_others(changed(asked, outline=outline)).text
    assert "report /out" in said
    assert "--run dense --html report.html --measure precision@10" in said
