"""A night on which no judgment has the ids of a run does not have the run for any later night."""

import numpy as np
import pytest
from gates import N, copied, evaluate, gate, spread

from ndcg_spark.comparison.references import newest_link
from ndcg_spark.comparison.sources import ScoreCache
from ndcg_spark.comparison.trend import UNMEASURED, History, falls_of_night
from ndcg_spark.nights.log import committed, revise

BASE = 0.6 + spread(0, 0.1)
ZERO = np.zeros(N)
OCTOBER, NOVEMBER = (1,) * N, (2,) * N
GATE = gate()
#: The second night: only dense writes ids that no judgment has.
OTHER_IDS = {"dense": "no document of dense is judged"}


def night(output, day, dense, bm25=BASE, **more):
    noise = spread(0, 0.001) * day
    scores = {"dense": dense + noise * (dense is not ZERO), "bm25": bm25 + noise}
    return evaluate(output, GATE, f"2026-11-{day:02}", scores, **more)["web"]


def published(output):
    return committed(str(output))


def decided(verdict, run="dense"):
    """What each baseline says about a run."""
    return {one.baseline: (one.result, one.reason) for one in verdict.results if one.run == run}


@pytest.fixture
def output(tmp_path):
    night(tmp_path, 1, BASE, accepted="first", hashes=OCTOBER)
    second = night(tmp_path, 2, ZERO, hashes=OCTOBER, unknown_ids=OTHER_IDS)
    assert (second.verdict, second.reason) == ("none", "not_measured")
    return tmp_path


def test_new_judgments_are_crossed_from_the_night_that_measured_the_run(output):
    first, second = published(output)
    # All lists and judgments of the third night have new ids, so neither side knows the other.
    copied(first, NOVEMBER, {"dense": ZERO, "bm25": ZERO})
    copied(second, NOVEMBER, {"dense": BASE, "bm25": ZERO})
    under = {OCTOBER: {"dense": ZERO, "bm25": ZERO}}
    third = night(output, 3, BASE, hashes=NOVEMBER, under=under)
    assert (third.verdict, third.exit_code) == ("none", 6)
    assert decided(third) == {"good": ("undecided", "sides_disagree")}
    (link,) = [one for one in published(output)[-1].record["links"] if one["run"] == "dense"]
    assert (link["before"], round(link["old"], 2), round(link["new"], 2)) == (
        "2026-11-01",
        -0.6,
        0.6,
    )


def test_a_night_does_not_begin_a_change_for_a_run_that_it_does_not_measure(output):
    nights = published(output)
    tonight = night(output, 3, ZERO, hashes=NOVEMBER, unknown_ids=OTHER_IDS)
    assert tonight.verdict == "none"
    third = published(output)[-1]
    runs_of = ScoreCache().runs_of
    assert newest_link("dense", third, nights, runs_of) is None
    assert newest_link("bm25", third, nights, runs_of) is not None


@pytest.mark.parametrize("runs", [None, ["dense"], ["bm25"]])
def test_accepting_the_night_sets_nothing_for_the_run(output, runs):
    revise(published(output)[-1], accepted="bm25 is fine", accepted_runs=runs)
    lost = night(output, 3, BASE - 0.05, hashes=OCTOBER)
    assert lost.verdict == "fail"
    assert decided(lost)["good"] == ("fail", "dropped")
    means = {one.baseline: one.baseline_mean for one in lost.results if one.run == "dense"}
    assert means["good"] == pytest.approx(0.6, abs=0.01)
    assert means["accepted"] == pytest.approx(0.6, abs=0.01)


def test_a_run_that_was_never_measured_is_new(tmp_path):
    night(tmp_path, 1, ZERO, accepted="bm25 is fine", unknown_ids=OTHER_IDS)
    second = night(tmp_path, 2, BASE)
    assert decided(second)["good"] == ("not_comparable", "new_run")
    assert decided(second, "bm25")["good"] == ("pass", None)


def test_the_only_run_is_compared_with_the_nights_that_measured_it(tmp_path):
    for day, values, more in ((1, BASE, {"accepted": "first"}), (2, ZERO, {"accepted": "quiet"})):
        ids = OTHER_IDS if values is ZERO else {}
        scores = {"dense": values}
        evaluate(tmp_path, GATE, f"2026-11-{day:02}", scores, unknown_ids=ids, **more)
    third = evaluate(tmp_path, GATE, "2026-11-03", {"dense": BASE + 0.001})["web"]
    (good,) = [one for one in third.results if one.baseline == "good"]
    assert (good.baseline_night, good.result) == ("2026-11-01", "pass")
    assert good.difference == pytest.approx(0.001)


def test_the_trend_has_no_value_on_the_night(output):
    for day in range(3, 9):
        night(output, day, ZERO, hashes=OCTOBER, unknown_ids=OTHER_IDS)
    nights = published(output)
    points = History(nights).points("web", "dense", "ndcg", 10)
    assert [point.value is None for point in points] == [False] + [True] * 7
    assert {code for point in points[1:] for code, _ in point.flags} == {UNMEASURED}
    metrics = {"dense": ("ndcg", 10)}
    assert falls_of_night(nights, "web", "2026-11-08", metrics) == {}
