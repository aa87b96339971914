"""What a page says: for each rule a page that it speaks about, and one that it does not; and the answer at the top."""

import dataclasses

import pytest
from night_pages import against, changed, failed_page, judged, last_point

from ndcg_spark.comparison.baselines import Kind
from ndcg_spark.comparison.judgment_changes import Change
from ndcg_spark.comparison.trend import NOTHING, Falling
from ndcg_spark.report import answer, words
from ndcg_spark.report.compared_page import one_row
from ndcg_spark.report.night import Answered, Unanswered
from ndcg_spark.report.sentences import apply_rules
from ndcg_spark.report.usual_range import UsualRange


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    return failed_page(tmp_path_factory.mktemp("failed"))


def by(**changes):
    return lambda page: changes


def same(page):
    return {}


def without_gate(page):
    return {"record": {"verdict": None}}


def with_slices(page, conclusion):
    """Slices with this conclusion."""
    compared = page.compared_with
    slices = [{**row, "conclusion": conclusion} for row in compared.slices[page.run]]
    return {"compared_with": dataclasses.replace(compared, slices={page.run: slices})}


def no_cause(page):
    """The slices are not what lost."""
    causes = [{**cause, "share": 0.01} for cause in page.causes]
    return {**with_slices(page, "same"), "causes": causes}


def moved(**fields):
    return lambda page: {"moved": page.moved._replace(**fields)}


def breaking(page):
    return last_point(page, breaks=("judgments",), interrupted=True)


def kept_nothing(page):
    row = {**page.night.row, "files": '{"query_scores": {}}'}
    night = dataclasses.replace(page.night, row=row)
    return {"outline": dataclasses.replace(page.outline, night=night), "moved": None}


def rate(page, value):
    key = (page.run, page.metric[1])
    return {"scores": {**page.scores, key: {**page.scores[key], "judged_rate": value}}}


def published_unverified(page):
    row = {**page.night.row, "verified": "not verified: why", "reason": "not_verified"}
    night = dataclasses.replace(page.night, row=row)
    return {"outline": dataclasses.replace(page.outline, night=night)}


def other_hashes(page):
    compared = page.compared_with
    sides = compared.sides
    ours = sides.own.hashes().copy() + 1
    changed_hashes = type("Matrix", (), {"hashes": lambda self: ours})()
    other = dataclasses.replace(sides, own=changed_hashes)
    return {"compared_with": dataclasses.replace(compared, sides=other)}


def usual(page, size=None):
    falling = None if size is None else Falling("2026-01-01", size)
    return {"usual": UsualRange(0.5, 0.6, 9, "2026-01-01", falling)}


def over_new_judgments(page):
    change = Change("2026-01-01", "2026-01-02", 0.01, 0.02, 0.015, 0.005, 60, 0.1, is_far=False)
    return last_point(page, change=change)


UNCHANGED = {"flags": ["unchanged"]}
#: By rule, as for advice: what is different in a page that it speaks about, and in one that it does not.
CASES = {
    "usual_range": (usual, same),
    "judgments_changed": (over_new_judgments, same),
    "interrupted": (breaking, same),
    # The page is compared with the night before.
    "since_the_night_before": (lambda page: against(page, nights=[]), same),
    "silent_nights": (lambda page: last_point(page, flags=((NOTHING, ""),)), same),
    "unanswered": (by(unanswered=Unanswered(3, 0, 0.5)), same),
    "answered": (by(answered=Answered(3, 0.5)), same),
    "cause": (same, no_cause),
    "spread": (no_cause, same),
    "slices": (lambda page: with_slices(page, "better"), same),
    "missing": (by(silent=["dense"]), same),
    "no_documents": (kept_nothing, same),
    "unexplained": (by(moved=None), lambda page: {"moved": None, "row": UNCHANGED}),
    "unjudged_loss": (moved(unjudged=0.05), moved(unjudged=0.04)),
    "judged": (same, lambda page: rate(page, None)),
    "partly": (moved(share=0.9), moved(share=1.0)),
    "unverified": (published_unverified, same),
    "rejudged": (other_hashes, same),
}
RULES = [
    *words.TREND,
    *words.WHY,
    *words.UNMOVED,
    *words.JUDGED,
    words.partly,
    words.unverified,
    words.rejudged,
]


def test_every_rule_has_a_case():
    assert sorted(CASES) == sorted(rule.__name__ for rule in RULES)


@pytest.mark.parametrize("rule", CASES)
def test_a_rule_speaks_about_the_page_that_it_is_for_alone(page, rule):
    own, other = CASES[rule]
    say = getattr(words, rule)
    found = say(changed(page, **own(page)))
    assert (found is not None, say(changed(page, **other(page)))) == (True, None)
    assert "{" not in found.text


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        (by(moved=None), "none_kept"),
        (moved(share=0.005), "few_kept"),
        # It moved up, and the run has lost.
        (moved(sums={"up": 0.1}), "few_kept"),
        (moved(sums={}), "few_kept"),
        (
            lambda page: {"moved": page.moved._replace(sums={}), "row": {"conclusion": "same"}},
            "cancels_out",
        ),
    ],
)
def test_a_page_says_why_it_does_not_show_what_moved(page, change, kind):
    assert words.unexplained(changed(page, **change(page))).kind == kind


def test_what_is_doubtful_is_warned_of_in_its_order(page):
    doubtful = changed(page, gone=["old"], unread=["2026-01-01"])
    assert [warning.kind for warning in words.warnings(doubtful)] == ["gate", "gone", "unread"]


# The answer.


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        (same, "worse"),
        (by(row={"conclusion": "better", "difference": 0.1}), "better"),
        (by(row={"conclusion": "same"}), "same"),
        (by(row={"conclusion": "cannot_tell"}), "cannot_tell"),
        (by(row={"conclusion": None}), "cannot_tell"),
        (by(row=UNCHANGED), "unchanged"),
        (by(row={"difference": None}), "not_compared"),
        (by(row={"difference": None}, silent=["hybrid"]), "silent"),
    ],
)
def test_the_headline_says_what_happened_to_the_run(page, change, kind):
    assert answer.headline_of(changed(page, **change(page))).kind == kind


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (same, ("FAIL", "bad", "worse")),
        (without_gate, ("NO GATE", "bad", "worse")),
        # The verdict is about something else, so that it comes first.
        (by(result={"result": "pass"}), ("FAIL", "bad", "verdict")),
        (
            lambda page: {**against(page, kind=Kind.FIRST), "record": {"verdict": None}},
            ("NO GATE", "mid", "first_night"),
        ),
    ],
)
def test_the_verdict_is_the_headline_if_it_is_about_something_else(page, change, expected):
    top = answer.answer(changed(page, **change(page)))
    assert (top.word, top.tone, top.headline.kind) == expected


@pytest.mark.parametrize(
    ("row", "kind"),
    [
        ({}, "real"),
        ({"conclusion": "same"}, "same"),
        ({"conclusion": "cannot_tell"}, "may_be_chance"),
        ({"flags": ["doubt"]}, "doubt"),
        ({"flags": ["other_judgments"]}, "other_judgments"),
        ({"p_decides": None, "interval_low": None, "interval_high": None}, "too_few"),
    ],
)
def test_the_answer_says_how_sure_a_difference_is(page, row, kind):
    assert answer.evidence(changed(page, row=row)).kind == kind


def test_the_answer_has_the_cause_and_the_queries_without_results_before_how_sure_it_is(page):
    lost = changed(page, unanswered=Unanswered(3, 0, 0.5))
    kinds = [sentence.kind for sentence in apply_rules(answer.EVIDENCE, lost)]
    assert kinds == ["unanswered", "cause", "real"]
    assert [
        sentence.kind for sentence in apply_rules(answer.EVIDENCE, changed(page, row=UNCHANGED))
    ] == ["all_same"]


@pytest.mark.parametrize(
    ("row", "number"),
    [
        ({**UNCHANGED, "queries": 2000}, "2,000"),
        ({**UNCHANGED, "queries": 1}, "only query"),
        ({**UNCHANGED, "queries": 0}, None),
        ({"queries": 9, "difference": None}, None),
        ({"queries": 9, "difference": 0.1}, None),
    ],
    ids=["many", "one", "none", "not compared", "changed"],
)
def test_queries_score_the_same_only_where_the_run_is_unchanged(page, row, number):
    said = answer.all_same(changed(page, row=row))
    assert said is None if number is None else number in said.text


@pytest.mark.parametrize(
    ("flags", "is_unchanged"),
    [
        ([[], ["unchanged"]], False),
        ([["unchanged"], []], False),
        ([["unchanged"], ["unchanged"]], True),
    ],
)
def test_a_run_is_unchanged_if_every_side_is(page, flags, is_unchanged):
    # A gain and a loss of 0.5 have the mean 0, as a side without any change.
    parts = [{**page.row, "side": "old", "difference": 0.0, "flags": own} for own in flags]
    assert ("unchanged" in one_row(parts)["flags"]) == is_unchanged


@pytest.mark.parametrize(("many", "is_said"), [(5, False), (6, True)])
def test_other_runs_are_counted_where_the_chart_does_not_show_all(page, many, is_said):
    compared = page.compared_with
    others = {f"run {at}": compared.rows["dense"] for at in range(many)}
    rows = {page.run: page.row, **others}
    asked = changed(page, runs=[page.run], compared_with=dataclasses.replace(compared, rows=rows))
    assert (answer.others(asked) is not None) == is_said


def test_a_verdict_of_a_run_without_scores_stands_alone(page):
    record = judged(page, "none", run="hybrid")
    rows = dataclasses.replace(page.compared_with, rows={})
    top = answer.answer(changed(page, runs=[page.run], record=record, compared_with=rows))
    assert (top.headline.kind, top.sentences) == ("verdict", [])


@pytest.mark.parametrize("conclusion", ["same", "cannot_tell", "worse"])
def test_a_line_that_falls_is_in_the_headline(page, conclusion):
    row = {"conclusion": conclusion}
    steady, falls = (changed(page, row=row, **usual(page, size)) for size in (None, -0.02))
    texts = [answer.headline_of(one).text for one in (steady, falls)]
    assert ["since 1 January" in text for text in texts] == [False, True]


KNOWN = {"on": "2026-01-01", "until": "2026-01-15", "reason": "the <index>"}


def test_a_known_loss_is_said_and_is_no_pass(page):
    record = {"verdict": {**page.record["verdict"], "acknowledged": KNOWN}}
    asked = changed(page, record=record)
    top = answer.answer(asked)
    (note,) = [one for one in answer.notes(asked) if one.kind == "acknowledged"]
    assert (top.word, top.tone) == ("FAIL (ACKNOWLEDGED)", "bad")
    assert "15 January: the &lt;index&gt;" in note.text


def test_notes_of_a_verdict_are_shown_unless_it_says_them(page):
    verdict = page.record["verdict"]
    record = {"verdict": {**verdict, "notes": ["hybrid is lower", verdict["sentence"]]}}
    found = [one.kind for one in words.warnings(changed(page, record=record))]
    assert found == ["gate", "verdict_note"]


def test_sides_that_disagree_are_the_headline_and_not_said_again(page):
    sides = [{"side": "old", "difference": -0.05}, {"side": "new", "difference": 0.02}]
    record = judged(page, "none", reason="sides_disagree")
    top = answer.answer(changed(page, record=record, row={"sides": sides}))
    assert top.headline.kind == "sides_disagree"
    assert "-0.0500 under the old judgments and +0.0200 under the new ones" in top.headline.text
    assert "both_sides" not in {one.kind for one in top.sentences}
    assert answer.change_of_judgments(changed(page, row={"sides": sides})).kind == "both_sides"
