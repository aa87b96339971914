"""Checks of measures of the catalog: what they hold, what they compare with, and what they say."""

import json

import numpy as np
import pytest
from gates import N, Shown, evaluate, gate, spread

from ndcg_spark.comparison.differences import ComparisonOptions
from ndcg_spark.comparison.sources import ScoreCache
from ndcg_spark.config import NightConfig, validate
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.gate.decide import judge, rehearse
from ndcg_spark.gate.gate_inputs import GateInputs
from ndcg_spark.job.decisions import Decision
from ndcg_spark.job.gate import gate_published
from ndcg_spark.nights.log import committed
from ndcg_spark.nights.reader import read_rows

BASE = 0.6 + spread(0, 0.1)
#: How popular what each query shows is: 1,000 users on average.
POPULAR = 1_000 + spread(0, 100)
PASS, DROPPED, ROSE = ("pass", None), ("fail", "dropped"), ("fail", "rose")
UNKNOWN = {name: ("none", name) for name in ("may_be_chance", "other_items", "other_convention")}


def check(measure, **limits):
    """A check of a measure with these limits alone."""
    return {"measure": measure, "cutoff": 10, "max_drop": None, **limits}


def query(values, measure="popularity", **more):
    return Shown(of_queries={measure: {"als": values}}, **more)


def number(value, measure="coverage", **more):
    return Shown(of_runs={measure: {"als": value}}, **more)


def nights(folder, held, *shown, **more):
    """The verdicts on nights of a run that show this, one after the other; the first is accepted."""
    verdicts = []
    for at, one in enumerate(shown):
        accepted = "first" if at == 0 else None
        date = f"2026-11-{at + 1:02}"
        scores = {"als": BASE + at * spread(0, 1e-4)}
        night = evaluate(folder, held, date, scores, shown=one, accepted=accepted, **more)
        verdicts.append(night.get("web"))
    return verdicts


def said(verdict):
    return verdict.verdict, verdict.reason


@pytest.mark.parametrize(
    ("limits", "values", "expected"),
    [
        ({"max_rise": 50}, POPULAR + spread(60, 10), ROSE),
        ({"max_rise": 50}, POPULAR + spread(50, 10), PASS),
        ({"max_rise": 50}, POPULAR + spread(60, 500), UNKNOWN["may_be_chance"]),
        ({"max_rise": 50}, POPULAR - 900, PASS),
        # A share of the mean before, 1,000.
        ({"max_relative_drop": 0.1}, POPULAR + spread(-101, 10), DROPPED),
        ({"max_relative_drop": 0.1}, POPULAR + spread(-99, 10), PASS),
        ({"max_relative_drop": 0.1}, POPULAR + 900, PASS),
        ({"max_relative_drop": 0.1, "max_rise": 50}, POPULAR + spread(60, 10), ROSE),
        ({"max_relative_drop": 0.1, "max_rise": 50}, POPULAR + spread(-101, 10), DROPPED),
        ({"min_value": 900}, POPULAR - 99, PASS),
        ({"min_value": 900}, POPULAR - 101, ("fail", "below_min_value")),
    ],
)
def test_a_measure_of_queries_is_tested_like_a_score(tmp_path, limits, values, expected):
    *_, last = nights(tmp_path, gate(check("popularity", **limits)), query(POPULAR), query(values))
    assert said(last) == expected
    json.dumps(last.as_json(), allow_nan=False)


@pytest.mark.parametrize(
    ("limits", "value", "expected"),
    [
        # A share of 0.5.
        ({"max_relative_drop": 0.1}, 0.449, DROPPED),
        ({"max_relative_drop": 0.1}, 0.45, PASS),
        ({"max_rise": 0.02}, 0.521, ROSE),
        ({"max_rise": 0.02}, 0.52, PASS),
        ({"max_rise": 0}, 0.5, PASS),
        ({"min_value": 0.4}, 0.41, PASS),
        ({"min_value": 0.4}, 0.39, ("fail", "below_min_value")),
        ({"max_rise": 0.02}, None, ("none", "not_measured")),
    ],
)
def test_a_number_of_a_run_is_decided_without_a_test(tmp_path, limits, value, expected):
    *_, last = nights(tmp_path, gate(check("coverage", **limits)), number(0.5), number(value))
    assert said(last) == expected
    results = [result for result in last.results if result.check != "gate"]
    assert {result.p for result in results} == {None}


def test_a_number_is_beside_the_mean_of_the_good_nights(tmp_path):
    held = gate(check("items", max_relative_drop=0.1), baseline="good")
    values = [100, 110, 120, 99.1, 95.0]
    *_, near, below = nights(tmp_path, held, *(number(value, "items") for value in values))
    (result,) = near.results
    assert said(near) == PASS
    assert result.baseline_mean == pytest.approx((100 + 110 + 120) / 3)
    assert result.allowed == pytest.approx(0.1 * 110)
    assert result.difference == pytest.approx(99.1 - 110)
    (result,) = below.results
    assert said(below) == DROPPED
    assert result.baseline_mean == pytest.approx((100 + 110 + 120 + 99.1) / 4)
    assert "one number per night cannot be tested" in result.sentence
    assert "1,000 lists" in result.sentence


def test_a_number_drifts_from_the_accepted_nights(tmp_path):
    held = gate(check("gini", max_rise=0.05), nights=3)
    values = [0.5 + 0.01 * at for at in range(12)]
    verdicts = nights(tmp_path, held, *(number(value, "gini") for value in values))
    # The accepted night and the two good ones after it: 0.51; 0.56 is the last that passes.
    assert [said(one) for one in verdicts[1:7]] == [PASS] * 6
    assert said(verdicts[7]) == ROSE
    assert (verdicts[7].results[0].result, verdicts[7].results[1].result) == ("pass", "fail")
    assert verdicts[7].results[1].since == "2026-11-01"


def test_a_measure_of_queries_fails_against_the_accepted_nights_in_one_reading(tmp_path):
    held = gate(check("popularity", max_rise=50), nights=1)
    steps = [query(POPULAR + spread(15 * at, 5)) for at in range(6)]
    verdicts = nights(tmp_path, held, *steps)
    assert [said(one) for one in verdicts[1:4]] == [PASS] * 3
    assert said(verdicts[4]) == ROSE
    (failed,) = [result for result in verdicts[4].results if result.result == "fail"]
    assert failed.baseline == "accepted"
    assert failed.difference == pytest.approx(60)
    assert failed.sides == ()


@pytest.mark.parametrize(
    ("shown", "reason"),
    [
        (number(0.5, items="i2"), "other_items"),
        (query(POPULAR, items="i2"), "other_items"),
        (number(0.5, "gini", options={"gini": "(of=shown)"}), "other_convention"),
    ],
)
def test_other_items_are_no_verdict_until_a_night_is_accepted(tmp_path, shown, reason):
    (measure,) = [*shown.of_queries, *shown.of_runs]
    held = gate(check(measure, max_rise=0.02))
    before = Shown(shown.of_queries, shown.of_runs)
    *_, last = nights(tmp_path, held, before, before, shown)
    assert said(last) == UNKNOWN[reason]
    assert last.exit_code == 6
    assert not last.is_baseline
    assert {result.difference for result in last.results} == {None}
    accepted = evaluate(tmp_path, held, "2026-11-03", {"als": BASE}, shown=shown, accepted="new")
    assert accepted["web"].exit_code == 0
    after = evaluate(tmp_path, held, "2026-11-04", {"als": BASE}, shown=shown)["web"]
    assert said(after) == PASS
    # It alone has these items, though older nights are good.
    assert after.results[0].baseline_night == "2026-11-03"
    assert "the good night 2026-11-03" in after.results[0].sentence


def test_items_are_of_no_matter_where_they_are_not_looked_up(tmp_path):
    held = gate(check("personalization", max_rise=0.02))
    shown = [number(0.5, "personalization", items=name) for name in ("i1", "i2")]
    assert said(nights(tmp_path, held, *shown)[1]) == PASS


def test_new_judgments_are_no_other_sides(tmp_path):
    held = gate(check("popularity", max_rise=50), check("coverage", max_rise=0.01))
    both = [
        Shown({"popularity": {"als": POPULAR + 60 * at}}, {"coverage": {"als": 0.5}})
        for at in range(2)
    ]
    evaluate(tmp_path, held, "2026-11-01", {"als": BASE}, shown=both[0], accepted="first")
    rejudged = (2,) * N
    night = {"shown": both[1], "hashes": rejudged}
    last = evaluate(tmp_path, held, "2026-11-02", {"als": BASE}, **night)["web"]
    assert said(last) == ROSE
    assert {result.sides for result in last.results} == {()}
    differences = sorted({round(result.difference, 9) for result in last.results})
    assert differences == [0.0, 60.0]
    rows = read_rows([committed(str(tmp_path))[-1]], "comparisons").to_pylist()
    assert {row["side"] for row in rows if row["measure"] != "ndcg"} == {None}


def test_only_queries_that_both_nights_judge_are_compared(tmp_path):
    held = gate(check("popularity", max_rise=50))
    evaluate(tmp_path, held, "2026-11-01", {"als": BASE}, shown=query(POPULAR), accepted="first")
    more = np.concatenate([POPULAR, np.full(20, 5_000.0)])
    hashes = (1,) * N + (1,) * 20
    scores = {"als": np.concatenate([BASE, BASE[:20]])}
    last = evaluate(tmp_path, held, "2026-11-02", scores, shown=query(more), hashes=hashes)["web"]
    assert said(last) == PASS
    assert {result.queries for result in last.results} == {N}


def test_few_lists_are_no_verdict(tmp_path):
    held = gate(check("coverage", max_rise=0.02), min_queries=50)
    *_, last = nights(tmp_path, held, number(0.5), number(0.5, lists=49))
    assert said(last) == ("none", "few_queries")
    *_, last = nights(tmp_path / "more", held, number(0.5), number(0.5, lists=50))
    assert said(last) == PASS


def test_a_query_without_a_list_lacks_nothing(tmp_path):
    held = gate(check("popularity", max_rise=50))
    values = [None if at < 5 else value for at, value in enumerate(POPULAR)]
    *_, last = nights(tmp_path, held, query(POPULAR), query(values))
    assert said(last) == PASS
    assert {result.queries for result in last.results} == {N - 5}


def test_runs_of_one_night_are_compared(tmp_path):
    held = gate(check("coverage", max_relative_drop=0.5, runs=["als"]), baseline="run pop")
    scores = {"als": BASE, "pop": BASE - 0.1}
    for day, als, expected in ((1, 0.04, DROPPED), (2, 0.06, PASS)):
        shown = Shown(of_runs={"coverage": {"als": als, "pop": 0.1}})
        verdict = evaluate(tmp_path, held, f"2026-11-{day:02}", scores, shown=shown)["web"]
        assert said(verdict) == expected


def test_a_slice_of_a_measure_of_queries(tmp_path):
    german = {"language": ["de"] * 40 + ["en"] * (N - 40)}
    held = gate(check("popularity", max_rise=50, slice="language=de"))
    rises = POPULAR + np.where(np.arange(N) < 40, 60 + spread(0, 5), 0)
    *_, last = nights(tmp_path, held, query(POPULAR), query(rises), attributes=german)
    assert said(last) == ROSE
    assert {result.queries for result in last.results} == {40}
    # No slice lost anything, as this is no loss.
    assert (last.lost_slices, last.causes) == ((), ())


def test_relevance_that_falls_is_told_though_a_check_of_the_catalog_comes_first(tmp_path):
    held = gate(check("popularity", max_relative_drop=0.9), {"max_drop": 0.5})
    for at in range(20):
        night = {"shown": query(POPULAR - 5 * at), "accepted": "first" if at == 0 else None}
        scores = {"als": BASE - 0.01 * at}
        last = evaluate(tmp_path, held, f"2026-11-{at + 1:02}", scores, **night)["web"]
    # That less popular items are shown is no loss.
    assert [fall["measure"] for fall in last.falls] == ["ndcg"]


@pytest.mark.parametrize(
    ("loss", "fewer", "named"),
    [
        # Twice the limit of nDCG is 0.02.
        (0.05, 0, ["language=de"]),
        (0.015, 0, []),
        # A hundred times the limit of popularity.
        (0, 100, []),
    ],
)
def test_a_slice_is_held_to_the_limit_of_relevance(tmp_path, loss, fewer, named):
    held = gate(check("popularity", max_relative_drop=0.001), {"max_drop": 0.01})
    is_german = np.arange(N) < 40
    german = {"language": np.where(is_german, "de", "en").tolist()}
    for day, times in ((1, 0), (2, 1)):
        scores = {"als": BASE - times * np.where(is_german, loss + spread(0, 1e-4), 0)}
        shown = query(POPULAR - times * np.where(is_german, fewer + spread(0, 1), 0))
        night = {"shown": shown, "attributes": german, "accepted": None if times else "first"}
        last = evaluate(tmp_path, held, f"2026-11-{day:02}", scores, **night)["web"]
    assert [one.split(" changed")[0] for one in last.lost_slices] == [
        f"ndcg@10 of als for {one}" for one in named
    ]


def test_documents_are_kept_of_the_queries_whose_relevance_changed_most(tmp_path):
    held = gate(check("popularity", max_rise=50), {"max_drop": 0.5})
    of_first, of_second = np.eye(N)[3], np.eye(N)[7]
    evaluate(tmp_path, held, "2026-11-01", {"als": BASE}, shown=query(POPULAR), accepted="first")
    shown = query(POPULAR + 500 * of_first)
    evaluate(tmp_path, held, "2026-11-02", {"als": BASE - 0.3 * of_second}, shown=shown)
    known = committed(str(tmp_path))
    judged = judge(GateInputs(held, known[-1], known, ScoreCache(), ComparisonOptions(queries=1)))
    assert judged.changed == [("als", "q7")]


def test_a_change_of_judgments_is_told_by_measures_that_judgments_change(tmp_path):
    held = gate(check("popularity", max_rise=50), {"max_drop": 0.5})
    first = {"shown": query(POPULAR), "accepted": "first", "under": {(2,) * N: {"als": BASE}}}
    evaluate(tmp_path, held, "2026-11-01", {"als": BASE}, **first)
    second = {"shown": query(POPULAR), "hashes": (2,) * N, "under": {(1,) * N: {"als": BASE}}}
    evaluate(tmp_path, held, "2026-11-02", {"als": BASE}, **second)
    (link,) = committed(str(tmp_path))[-1].record["links"]
    assert link["measure"] == "ndcg"


def test_a_loss_of_relevance_is_said_before_a_change_of_the_catalog(tmp_path):
    held = gate(check("popularity", max_rise=50), {"max_drop": 0.01})
    evaluate(tmp_path, held, "2026-11-01", {"als": BASE}, shown=query(POPULAR), accepted="first")
    for at, change in enumerate((900, -900)):
        # More than the drop of the score, and in other units.
        limit = check("popularity", max_rise=50, max_relative_drop=0.1)
        both = gate(limit, {"max_drop": 0.01})
        shown = query(POPULAR + change)
        scores = {"als": BASE - 0.05}
        last = evaluate(tmp_path, both, f"2026-11-{at + 2:02}", scores, shown=shown)["web"]
        assert last.sentence.startswith("ndcg@10 of als fell by 0.0500")
        assert "(and 1 more comparison fails)" in last.sentence


def test_an_accepted_rise_is_where_later_nights_begin(tmp_path):
    held = gate(check("popularity", max_rise=50))
    high = query(POPULAR + 100)
    nights(tmp_path, held, query(POPULAR), query(POPULAR))
    risen = evaluate(tmp_path, held, "2026-11-03", {"als": BASE}, shown=high, accepted="on purpose")
    assert (said(risen["web"]), risen["web"].exit_code) == (ROSE, 5)
    later = evaluate(tmp_path, held, "2026-11-04", {"als": BASE}, shown=high)["web"]
    assert said(later) == PASS
    means = {round(result.baseline_mean, 9) for result in later.results}
    assert means == {1_000.0 + 100.0}


def test_a_date_is_compared_with_alone(tmp_path):
    held = gate(check("coverage", max_relative_drop=0.1), baseline="2026-11-01")
    verdicts = nights(tmp_path, held, number(0.5), number(0.47), number(0.46), number(0.44))
    assert [said(one) for one in verdicts[1:]] == [PASS, PASS, DROPPED]
    assert verdicts[3].results[0].baseline_mean == 0.5
    *_, last = nights(tmp_path / "other", held, number(0.5), number(0.5, items="i2"))
    assert said(last) == UNKNOWN["other_items"]


def test_a_known_change_fails_no_later_night_until_it_grows(tmp_path):
    limits = {"measure": "coverage", "cutoff": 10, "max_relative_drop": 0.1}
    held = gate({**limits, "max_drop": None})
    nights(tmp_path, held, number(0.5), number(0.4))
    settings = {"gate": {"check": [limits], "min_queries": 30}, "date": "2026-11-02"}
    config = validate({**settings, "output": str(tmp_path)}, "gate", NightConfig)
    gate_published(config, str(tmp_path), None, Decision(acknowledged="fewer items on sale"))
    # A tenth of 0.4 is allowed below the acknowledged night.
    for day, value, code in ((3, 0.4, 0), (4, 0.37, 0), (5, 0.35, 5)):
        later = evaluate(tmp_path, held, f"2026-11-{day:02}", {"als": BASE}, shown=number(value))
        assert (said(later["web"]), later["web"].exit_code) == (DROPPED, code)


def test_a_known_value_below_its_minimum_must_not_fall_further(tmp_path):
    limits = [{"cutoff": 10, "max_drop": 0.05}, check("coverage", min_value=0.5)]
    held = gate(*limits)
    nights(tmp_path, held, number(0.6), number(0.49))
    given = [{name: value for name, value in one.items() if value is not None} for one in limits]
    settings = {"gate": {"check": given, "min_queries": 30}, "date": "2026-11-02"}
    config = validate({**settings, "output": str(tmp_path)}, "gate", NightConfig)
    gate_published(config, str(tmp_path), None, Decision(acknowledged="fewer items on sale"))
    # Nothing else compares coverage with the acknowledged night.
    for day, value, code in ((3, 0.49, 0), (4, 0.495, 0), (5, 0.05, 5)):
        later = evaluate(tmp_path, held, f"2026-11-{day:02}", {"als": BASE}, shown=number(value))
        assert later["web"].exit_code == code


def test_both_sides_of_a_number_of_a_run_need_enough_lists(tmp_path):
    held = gate(check("coverage", max_relative_drop=0.1), min_queries=50)
    *_, last = nights(tmp_path, held, number(0.5, lists=2), number(0.4, lists=1_000))
    assert said(last) == ("none", "few_queries")


def test_a_rehearsal_says_the_same(tmp_path):
    held = gate(check("popularity", max_rise=50), check("coverage", max_relative_drop=0.1))
    shown = []
    for rise, coverage in ((0, 0.5), (20, 0.5), (80, 0.5), (20, 0.4), (10, 0.5)):
        values = {"popularity": {"als": POPULAR + spread(rise, 5)}}
        shown.append(Shown(values, {"coverage": {"als": coverage}}))
    published = nights(tmp_path, held, *shown)
    assert [said(one) for one in published[1:]] == [PASS, ROSE, DROPPED, PASS]
    rehearsed = rehearse(held, committed(str(tmp_path)), ComparisonOptions())
    assert [said(one) for one in rehearsed] == [said(one) for one in published]


def test_a_rehearsal_begins_anew_at_other_items(tmp_path):
    """Nobody could accept a night that had no gate."""
    held = gate(check("coverage", max_rise=0.02))
    nights(tmp_path, None, *(number(0.5, items=name) for name in ("i1", "i1", "i2", "i2")))
    rehearsed = list(rehearse(held, committed(str(tmp_path)), ComparisonOptions()))
    expected = [("none", "no_baseline"), PASS, UNKNOWN["other_items"], PASS]
    assert [said(one) for one in rehearsed] == expected


def test_holm_counts_what_is_tested(tmp_path):
    """One number of a run has no p, so that it is in no family."""
    coverage = [check("coverage", max_rise=0.02 + 0.01 * at) for at in range(9)]
    alone = gate(check("popularity", max_rise=50), baseline="good")
    among = gate(check("popularity", max_rise=50), *coverage, baseline="good")
    shown = []
    for rise in (0, 60):
        values = {"popularity": {"als": POPULAR + spread(rise, 150)}}
        shown.append(Shown(values, {"coverage": {"als": 0.5}}))
    p = []
    for folder, held in (("alone", alone), ("among", among)):
        *_, last = nights(tmp_path / folder, held, *shown)
        p.append(last.results[0].p)
    assert p[0] == pytest.approx(p[1])


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (check("coverage", max_drop=0.1), r"max_drop: .*max_relative_drop or max_rise"),
        (check("ndcg", max_rise=0.1), r"max_rise: .*novelty.*for ndcg"),
        (check("coverage"), r": .*max_relative_drop, max_rise or min_value"),
        (check("gini", max_rise=0.1, slice="a=b"), "slice: gini "),
        (check("items", max_rise=1, weighted=True), "weighted: items "),
        (check("diversity", max_rise=1), "measure: .*'diversity'"),
        (check("gini", max_rise=-0.1), "max_rise: "),
    ],
)
def test_what_contradicts_the_measure_is_refused(wrong, told):
    with pytest.raises(ConfigurationError, match=rf"gate.check\[1\]\.?{told}"):
        gate(wrong)


def test_a_night_without_the_measure_is_not_compared(tmp_path):
    held = gate(check("coverage", max_rise=0.02))
    nights(tmp_path, held, None)
    last = evaluate(tmp_path, held, "2026-11-02", {"als": BASE}, shown=number(0.5))["web"]
    assert said(last) == ("none", "other_cutoff")
