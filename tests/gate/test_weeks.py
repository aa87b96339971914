"""Weeks of nights, written and judged as an evaluation does it: which verdict each has, and why."""

import json

import numpy as np
import pytest
from gates import N, evaluate, gate, spread

from ndcg_spark.comparison.differences import ComparisonOptions, explains_change
from ndcg_spark.comparison.sources import ScoreCache
from ndcg_spark.gate.compared_night import row_key
from ndcg_spark.gate.decide import acceptance_of, judge, rehearse
from ndcg_spark.gate.gate_inputs import GateInputs
from ndcg_spark.nights.log import committed
from ndcg_spark.nights.reader import read_rows

BASE = 0.6 + spread(0, 0.1)
LANGUAGE = {"language": ["de"] * 20 + ["en"] * (N - 20)}
#: The German queries lose 0.3.
BROKEN = BASE - np.where(np.arange(N) < 20, 0.3 + spread(0, 0.01), 0)
BACKWARDS, GERMANS_LAST = BASE[::-1], {"language": LANGUAGE["language"][::-1]}
#: A drop of more than is allowed that may be chance; and one that is allowed.
UNSURE, LITTLE = BASE + spread(-0.02, 0.2), BASE + spread(-0.005, 0.01)
REGRADED = (2,) * 6 + (1,) * (N - 6)
NO_GERMAN = {"language": ["en"] * N}
WEIGHTS = [10.0 if at < 20 else 1.0 for at in range(N)]
NAN = [float("nan"), *BASE[1:]]
INFINITE = [float("inf"), *BASE[1:]]
PASS, DROPPED, CHANCE = ("pass", None), ("fail", "dropped"), ("none", "may_be_chance")
NO_BASELINE, NO_RUN, NO_DATASET = (
    ("none", code) for code in ("no_baseline", "missing_run", "missing_dataset")
)
OTHER_JUDGMENTS, NOT_MEASURED = ("none", "other_judgments"), ("none", "not_measured")


def night(expected, hybrid=BASE, *, scores=None, date=None, **more):
    """A night of one run, or of the runs or datasets in `scores`, and its verdict and reason."""
    return expected, date, scores or {"hybrid": hybrid}, more


FIRST = night(NO_BASELINE, accepted="the first night")
RUNS_OF_ONE = {"hybrid": BASE}
BOTH = {"web": {"hybrid": BASE}, "shop": {"hybrid": BASE}}
RUNS = {"hybrid": BASE, "bm25": BASE - 0.1}
GERMAN = {"slice": "language=de"}
WEEKS = {
    "a regression": (
        gate(),
        FIRST,
        night(PASS, LITTLE),
        night(DROPPED, BROKEN),
        night(CHANCE, UNSURE),
        night(PASS),
        # A better night does not fail, however sure that is.
        night(PASS, BASE + 0.1),
    ),
    "a total loss": (gate(), FIRST, night(DROPPED, BASE * 0)),
    "nobody accepts the first night": (gate(), night(NO_BASELINE), night(NO_BASELINE)),
    "a missing run": (
        gate(),
        night(NO_BASELINE, scores=RUNS, accepted="first"),
        night(NO_RUN),
        night(NO_RUN),
        night(DROPPED, BROKEN),
        night(NO_RUN, accepted="bm25 was given up"),
        night(PASS),
        night(PASS, scores=RUNS),
    ),
    "a run that returns nothing is a missing run": (
        gate(),
        night(NO_BASELINE, scores=RUNS, accepted="first"),
        night(NO_RUN, scores=RUNS, answered={"bm25": 0}),
        night(NO_RUN, scores=RUNS, answered={"bm25": 0, "hybrid": 0}),
        night(DROPPED, scores=RUNS, answered={"bm25": 1}),
        night(PASS, scores=RUNS),
    ),
    "a run that returns nothing is given up": (
        gate(),
        night(NO_RUN, scores=RUNS, answered={"bm25": 0}),
        night(NO_RUN, scores=RUNS, answered={"bm25": 0}, accepted="bm25 was given up"),
        night(PASS, scores=RUNS, answered={"bm25": 0}),
        # What returned nothing is no baseline.
        night(("none", "new_run"), scores=RUNS),
    ),
    "a new run that returns nothing": (
        gate(),
        FIRST,
        night(NO_RUN, scores=RUNS, answered={"bm25": 0}),
    ),
    "the least value of a run that returns nothing": (
        gate({"min_value": 0.0, "max_drop": None}),
        night(NO_RUN, scores=RUNS, answered={"bm25": 0}),
    ),
    "a baseline of the night that returns nothing": (
        gate(baseline="run bm25"),
        night(NO_RUN, scores=RUNS, answered={"bm25": 0}),
    ),
    "a slice in which a run returns nothing": (
        gate({"max_drop": 0.9}, {**GERMAN, "min_queries": 20}),
        night(NO_BASELINE, scores={"hybrid": BACKWARDS}, attributes=GERMANS_LAST, accepted="first"),
        night(NO_RUN, BACKWARDS, attributes=GERMANS_LAST, answered={"hybrid": N - 20}),
        night(PASS, BACKWARDS, attributes=GERMANS_LAST),
    ),
    "a new run": (
        gate(),
        FIRST,
        night(("none", "new_run"), scores=RUNS),
        night(("none", "new_run"), scores=RUNS, accepted="bm25 is new"),
        night(PASS, scores=RUNS),
    ),
    "a missing run that no check is for": (
        gate({"runs": ["hybrid"]}),
        night(NO_BASELINE, scores=RUNS, accepted="first"),
        night(NO_RUN),
    ),
    "a run that no night has had": (gate({"runs": ["hybrid", "dense"]}), night(NO_RUN)),
    "a run beside another of its night": (
        gate(baseline="run bm25"),
        night(PASS, scores=RUNS),
        night(DROPPED, scores={"hybrid": BASE - 0.3, "bm25": BASE}),
        night(NO_RUN),
        night(NO_RUN, scores={"bm25": BASE}),
        night(NO_RUN, accepted="bm25 was given up"),
        night(NO_RUN),
    ),
    "the least value alone": (
        gate({"min_value": 0.55, "max_drop": None}),
        night(PASS, scores=RUNS | {"bm25": BASE}),
        night(("none", "missing_run")),
        night(("fail", "below_min_value"), scores=RUNS),
        night(NO_RUN, accepted="bm25 was given up"),
        night(PASS),
        night(NOT_MEASURED, [None] * N),
    ),
    "a missing dataset": (
        gate(),
        night(NO_BASELINE, scores=BOTH, accepted="first"),
        night(NO_DATASET),
        night(NO_DATASET, accepted="shop was given up"),
        night(PASS),
    ),
    "a missing dataset after only one was evaluated again": (
        gate(),
        night(NO_BASELINE, scores=BOTH, accepted="first"),
        night(PASS, scores=BOTH),
        night(PASS, date=2),
        night(NO_DATASET),
    ),
    "a dataset that is judged but has no results": (
        gate(),
        FIRST,
        night(NO_DATASET, without=["shop"]),
        night(PASS),
        # Its night of that date is from an evaluation before it.
        night(PASS, scores=BOTH),
        night(NO_DATASET, date=4, without=["shop"]),
    ),
    "a dataset of a check that nobody knows": (gate({}, {"datasets": ["wbe"]}), night(NO_DATASET)),
    "no check is for the dataset": (
        gate({"datasets": ["shop"]}),
        night(NOT_MEASURED, scores={"web": {"hybrid": BASE}, "shop": {"hybrid": BASE}}),
    ),
    "other judgments": (
        gate(),
        FIRST,
        night(OTHER_JUDGMENTS, hashes=REGRADED),
        night(PASS),
        night(OTHER_JUDGMENTS, hashes=REGRADED, accepted="judged again"),
        night(PASS, hashes=REGRADED),
        # Of the good nights those with tonight's judgments are compared.
        night(PASS),
    ),
    "another convention": (
        gate(),
        FIRST,
        night(("none", "other_convention"), gain="linear"),
        night(("none", "other_convention"), gain="linear", accepted="linear from now on"),
        night(PASS, gain="linear"),
        night(PASS),
    ),
    "NaN and infinite values": (
        gate(),
        FIRST,
        night(NOT_MEASURED, NAN),
        night(NOT_MEASURED, INFINITE),
        night(NOT_MEASURED, [None, *BASE[1:]]),
        night(NOT_MEASURED, [None] * N),
    ),
    "infinite values of a baseline": (
        gate(),
        night(NO_BASELINE, INFINITE, accepted="odd"),
        night(NOT_MEASURED),
    ),
    "weights": (
        gate({"weighted": True}, min_queries=10),
        night(NO_BASELINE, accepted="first", weights=WEIGHTS),
        night(PASS, LITTLE, weights=WEIGHTS),
        night(
            DROPPED, BASE - np.where(np.arange(N) < 20, 0.1 + spread(0, 0.01), 0), weights=WEIGHTS
        ),
        night(NOT_MEASURED, LITTLE, weights=WEIGHTS[1:]),
        night(("none", "few_queries"), LITTLE, weights=[1e6, *WEIGHTS[1:]]),
        night(NOT_MEASURED, LITTLE),
    ),
    "a check that can never be measured is named before chance": (
        gate({}, {"weighted": True}),
        FIRST,
        night(NOT_MEASURED, UNSURE),
    ),
    "a slice": (
        gate({"max_drop": 0.5}, {**GERMAN, "min_queries": 20}),
        night(NO_BASELINE, attributes=LANGUAGE, accepted="first"),
        night(PASS, LITTLE, attributes=LANGUAGE),
        night(DROPPED, BROKEN, attributes=LANGUAGE),
        night(("none", "missing_slice"), attributes=NO_GERMAN),
        night(("none", "missing_slice")),
    ),
    "a misspelt slice is named on the first night": (
        gate({}, {"slice": "language=dee"}),
        night(("none", "missing_slice"), attributes=LANGUAGE),
    ),
    "warnings only": (
        gate({"severity": "warn"}),
        night(NO_BASELINE),
        night(NO_BASELINE, scores=RUNS, accepted="first"),
        night(PASS, scores=RUNS | {"hybrid": BROKEN}),
        night(NO_RUN),
        night(OTHER_JUDGMENTS, scores=RUNS, hashes=REGRADED),
    ),
    "warnings beside a check that can fail": (
        gate({"max_drop": 0.5}, {"severity": "warn"}),
        FIRST,
        night(PASS, BROKEN),
        night(DROPPED, BASE * 0),
    ),
    "a cutoff that the baseline has not": (
        gate(),
        night(NO_BASELINE, cutoffs=[20], accepted="first"),
        night(("none", "other_cutoff")),
        night(("none", "other_cutoff"), cutoffs=[20]),
    ),
    "the same results": (
        gate(same_results="undecided"),
        FIRST,
        night(NOT_MEASURED),
        night(PASS, LITTLE),
    ),
    "an anchor": (
        gate(baseline=["good", "2026-11-01"]),
        night(NO_BASELINE, accepted="first"),
        *(night(PASS, BASE - 0.003 * day + spread(0, 0.001)) for day in (1, 2, 3)),
        night(DROPPED, BASE - 0.013 + spread(0, 0.001)),
    ),
    "an accepted loss": (
        gate(baseline=["good"]),
        FIRST,
        *(night(PASS, BASE + spread(0, 0.001)) for _ in range(3)),
        night(DROPPED, BROKEN, accepted="a smaller index"),
        # Beside the nights before it, the next one would have dropped again.
        night(PASS, BROKEN + spread(0, 0.001)),
        night(DROPPED, BROKEN - 0.1),
    ),
    "a fraction of the baseline's mean": (
        gate({"max_drop": None, "max_relative_drop": 0.05}),
        FIRST,
        night(PASS, BASE - 0.029 + spread(0, 0.001)),
        night(DROPPED, BASE - 0.05 + spread(0, 0.001)),
    ),
}


KEY = ("dataset", "evaluation_id", "baseline", "baseline_night", "baseline_nights", "reading")


@pytest.mark.parametrize("name", WEEKS)
def test_week(tmp_path, name):
    held, *week = WEEKS[name]
    verdicts = [
        evaluate(tmp_path, held, f"2026-11-{date or number:02}", scores, **more)["web"]
        for number, (_, date, scores, more) in enumerate(week, 1)
    ]
    assert [(verdict.verdict, verdict.reason) for verdict in verdicts] == [
        expected for expected, *_ in week
    ]
    for verdict in verdicts:
        codes = {"pass": 0, "fail": 5, "none": 0 if verdict.accepted else 6}
        assert verdict.exit_code == codes[verdict.verdict]
        json.dumps(verdict.as_json(), allow_nan=False)
    nights = committed(str(tmp_path))
    keys = [
        tuple(row[name] for name in KEY) + row_key(row)
        for row in read_rows(nights, "comparisons").to_pylist()
    ]
    assert len(set(keys)) == len(keys)
    if not any("weights" in more for *_, more in week):
        last = {verdict.evaluated_on: said(verdict) for verdict in verdicts}
        options = ComparisonOptions(only_losses=True)
        assert [said(verdict) for verdict in rehearse(held, nights, options, "web")] == [
            *last.values()
        ]
        own, scores = [night for night in nights if night.dataset == "web"], ScoreCache()
        again = []
        for night in own:
            inputs = GateInputs(held, night, nights, scores, options)
            again.append(judge(inputs, acceptance_of(night)))
        assert [said(judged.verdict) for judged in again] == [*last.values()]


def said(verdict):
    return verdict.evaluated_on, verdict.verdict, verdict.sentence, verdict.exit_code


def test_the_slice_that_has_most_of_a_loss(tmp_path):
    held, both = gate(), {**LANGUAGE, "device": ["phone", "desktop"] * 30, "market": ["eu"] * N}
    evaluate(tmp_path, held, "2026-11-01", {"hybrid": BASE}, attributes=both, accepted="first")
    (verdict,) = evaluate(
        tmp_path, held, "2026-11-02", {"hybrid": BROKEN}, attributes=both
    ).values()
    german, *others = verdict.causes
    assert (german["attribute"], german["value"], german["queries"], german["of_queries"]) == (
        "language",
        "de",
        20,
        N,
    )
    assert german["share"] == pytest.approx(1.0)
    # All queries are of one market, which says nothing; the English ones lost nothing.
    phones, desktops, english = others
    assert {phones["value"], desktops["value"], english["value"]} == {"phone", "desktop", "en"}
    assert (phones["share"] + desktops["share"], english["share"]) == (
        pytest.approx(1.0),
        pytest.approx(0.0, abs=1e-9),
    )
    assert verdict.sentence.endswith("; language=de: 20 of 60 queries, all of the loss")
    # What most queries have explains nothing.
    assert not explains_change({"share": 0.62, "queries": 115, "of_queries": 200})
    (unsure,) = evaluate(tmp_path, held, "2026-11-03", {"hybrid": UNSURE}, attributes=both).values()
    assert unsure.causes == ()


def test_what_is_said_beside_the_verdict(tmp_path):
    held = gate({}, {"severity": "warn", "slice": "language=fr"})
    evaluate(tmp_path, held, "2026-11-01", RUNS_OF_ONE, attributes=LANGUAGE, accepted="first")
    (verdict,) = evaluate(tmp_path, held, "2026-11-02", RUNS_OF_ONE, attributes=LANGUAGE).values()
    slice_warning, same, not_good = verdict.warnings
    assert "language=fr" in slice_warning
    assert "2026-11-01" in same
    assert ("not good" in not_good, verdict.is_baseline) == (True, False)
    against, accepted = verdict.baselines
    assert accepted["name"] == "accepted"
    assert (against["name"], against["nights"]) == ("good", ["2026-11-01"])
    # What is wrong with a baseline is about no run.
    (verdict,) = evaluate(tmp_path / "new", held, "2026-11-02", RUNS, attributes=LANGUAGE).values()
    assert (verdict.reason, verdict.run) == ("no_baseline", None)
    # What is missing is said first, by name, though another run fails.
    runs = {"hybrid": BASE * 0}
    evaluate(tmp_path, None, "2026-11-03", {"hybrid": BASE, "bm25": BASE})
    evaluate(
        tmp_path,
        held,
        "2026-11-03",
        {"hybrid": BASE, "bm25": BASE},
        attributes=LANGUAGE,
        accepted="bm25 is new",
    )
    (verdict,) = evaluate(tmp_path, held, "2026-11-04", runs, attributes=LANGUAGE).values()
    assert (verdict.verdict, verdict.run) == ("fail", "hybrid")
    assert verdict.sentence.startswith(
        "bm25 has no results for this night, but had some on 2026-11-03; ndcg@10 of hybrid fell"
    )


def test_a_verdict_says_that_a_run_returned_nothing_or_how_many_queries_it_answered(tmp_path):
    whole = {"hybrid": BASE, "bm25": BASE}
    evaluate(tmp_path, gate(), "2026-11-01", whole, accepted="first")
    nothing = evaluate(tmp_path, gate(), "2026-11-02", whole, answered={"bm25": 0})["web"]
    assert nothing.sentence == "bm25 returned nothing for this night, but had some on 2026-11-01"
    assert (nothing.run, nothing.exit_code, nothing.is_baseline) == ("bm25", 6, False)
    few = evaluate(tmp_path, gate(), "2026-11-02", whole, answered={"bm25": 12})["web"]
    assert few.sentence.endswith("0.0100 is allowed; it answered 12 of 60 queries")
    # One query of twenty more is not few; nor are few where the baseline has no more.
    most = evaluate(tmp_path, gate(), "2026-11-02", whole, answered={"bm25": 57})["web"]
    evaluate(
        tmp_path, gate(), "2026-11-03", whole, answered={"bm25": 12}, accepted="a smaller index"
    )
    again = evaluate(tmp_path, gate(), "2026-11-04", whole, answered={"bm25": 12})["web"]
    assert ["answered" in verdict.sentence for verdict in (most, again)] == [False, False]
    assert again.verdict == "pass"
    back = evaluate(tmp_path, gate(), "2026-11-04", whole)["web"]
    rows = [row for row in back.results if row.run == "bm25"]
    assert all(row.sentence.endswith("; the baseline answered 12 of 60 queries") for row in rows)
    least = gate({"min_value": 0.55, "max_drop": None})
    low = evaluate(tmp_path, least, "2026-11-05", whole, answered={"bm25": 12})["web"]
    assert low.sentence.endswith("the minimum is 0.5500; it answered 12 of 60 queries")


def test_a_slice_that_a_run_has_not_answered_is_named_as_the_cause_of_a_loss(tmp_path):
    evaluate(
        tmp_path,
        gate(),
        "2026-11-01",
        {"hybrid": BACKWARDS},
        attributes=GERMANS_LAST,
        accepted="first",
    )
    lost = {"attributes": GERMANS_LAST, "answered": {"hybrid": N - 20}}
    verdict = evaluate(tmp_path, gate(), "2026-11-02", {"hybrid": BACKWARDS}, **lost)["web"]
    assert (verdict.verdict, verdict.reason) == ("fail", "dropped")
    assert verdict.sentence.endswith("language=de: 20 of 60 queries, all of the loss")


def test_nights_that_were_evaluated_without_a_gate_are_rehearsed(tmp_path):
    held = gate()
    for day, scores in enumerate((BASE, LITTLE, BROKEN), 1):
        evaluate(tmp_path, None, f"2026-11-0{day}", {"hybrid": scores})
    evaluate(tmp_path, None, "2026-11-04", {"hybrid": BASE}, hashes=REGRADED)
    evaluate(tmp_path, None, "2026-11-05", {"hybrid": LITTLE}, hashes=REGRADED)
    verdicts = [
        (v.verdict, v.reason) for v in rehearse(held, committed(str(tmp_path)), ComparisonOptions())
    ]
    assert verdicts == [NO_BASELINE, PASS, DROPPED, OTHER_JUDGMENTS, PASS]
