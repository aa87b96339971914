"""Changes of judgments whose sides disagreed are named with their check until a later night is accepted."""

import pytest
from gates import result, verdict
from kept_nights import committed_night, record

from ndcg_spark.gate.past_changes import unknown_changes

SIDES = (
    {"side": "old", "reading": 1, "difference": -0.021},
    {"side": "new", "reading": 1, "difference": -0.0178},
)
PASSED = result("pass")


def disagrees(run="ltr", slice_=None, **more):
    return result("undecided", "sides_disagree", run=run, slice=slice_, sides=SIDES, **more)


def night(day, *results, accepted=None, accepted_runs=None, judgments="j1"):
    date = f"2026-11-{day:02}"
    said = verdict(*results or (PASSED,), evaluated_on=date).as_json()
    kept = record(
        verdict=said,
        accepted=accepted,
        accepted_runs=accepted_runs,
        inputs={"judgments": {"fingerprint": judgments}},
    )
    return committed_night("web", date, kept)


def said(*nights):
    tonight = night(28)
    return unknown_changes(tonight, [*nights, tonight])


def of(subject, day=11):
    change = f"it is unclear how {subject} changed when the judgments did on {day} November"
    return f"{change} (-0.0210 to -0.0178); look at that night, or accept a night"


@pytest.mark.parametrize(
    ("results", "subject"),
    [
        ([disagrees()], "ndcg@10 of ltr"),
        ([disagrees(slice_="device=tablet")], "ndcg@10 of ltr for device=tablet"),
        ([disagrees(weighted=True)], "weighted ndcg@10 of ltr"),
        ([disagrees(), disagrees(baseline="2026-11-01")], "ndcg@10 of ltr"),
        ([disagrees(slice_="device=tablet"), disagrees()], "ndcg@10 of ltr and 1 more check"),
    ],
)
def test_the_check_is_named(results, subject):
    assert said(night(11, *results)) == [of(subject)]


def test_each_run_and_change_has_a_sentence():
    first = night(11, disagrees(), disagrees(run="bm25"))
    later = night(15, disagrees(), judgments="j2")
    # The night after a change is compared across the same change.
    found = said(first, night(12, disagrees()), later)
    assert sorted(found) == sorted(
        [of("ndcg@10 of ltr"), of("ndcg@10 of bm25"), of("ndcg@10 of ltr", 15)]
    )


@pytest.mark.parametrize("at", [11, 13])
@pytest.mark.parametrize(
    ("runs", "left"),
    [(None, []), (["ltr"], ["ndcg@10 of bm25"]), (["bm25"], ["ndcg@10 of ltr"])],
)
def test_an_acceptance_ends_it_for_its_runs(at, runs, left):
    both = (disagrees(), disagrees(run="bm25"))
    accepted = {"accepted": "looked at it", "accepted_runs": runs}
    if at == 11:
        nights = [night(11, *both, **accepted)]
    else:
        nights = [night(11, *both), night(at, **accepted)]
    assert said(*nights) == [of(subject) for subject in left]


def test_an_acceptance_before_the_change_does_not_end_it():
    assert said(night(10, accepted="first"), night(11, disagrees())) == [of("ndcg@10 of ltr")]
