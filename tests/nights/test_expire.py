"""Which old nights stay, as the gate leads back to them."""

import pytest
from gates import N, evaluate, gate, spread
from kept_nights import date

from ndcg_spark.comparison.needed_nights import needed_dates
from ndcg_spark.nights.expire import Removal, removable, removals_in_words, remove
from ndcg_spark.nights.log import committed, revise
from ndcg_spark.nights.store import Store
from ndcg_spark.voices import OPTIONS

BASE = 0.6 + spread(0, 0.05)
OLD, NEW = (1,) * N, (2,) * N
#: After all nights.
LATER = "2026-12-01"


def night(output, day, judgments=OLD, *, accepted=None, runs=("r",), held=None):
    """A night of unchanged lists, kept under the judgments of both months."""
    level = BASE + spread(0, 0.001 * (day + 1))
    scores = dict.fromkeys(runs, level)
    other = NEW if judgments is OLD else OLD
    held = held or gate(nights=2)
    evaluate(
        output,
        held,
        date(day),
        scores,
        hashes=judgments,
        under={other: scores},
        accepted=accepted,
        configuration={"gate": held.model_dump(mode="json")},
    )


def staying(output):
    kept = needed_dates(committed(str(output)), {date(day) for day in range(30)})
    return {day for day in range(30) if date(day) in kept}


def test_the_accepted_night_and_the_nights_around_new_judgments_stay(tmp_path):
    for day in range(10):
        night(tmp_path, day, OLD if day < 6 else NEW, accepted="first" if day == 1 else None)
    # The accepted night and a good one, both ends of the change, and the newest two good nights.
    assert staying(tmp_path) == {1, 2, 5, 6, 8, 9}
    # One that is accepted since takes their place.
    (newest,) = [one for one in committed(str(tmp_path)) if one.evaluated_on == date(8)]
    revise(newest, accepted="new ranker")
    assert staying(tmp_path) == {8, 9}


def test_dates_that_follow_each_other_are_one_range(tmp_path):
    for day in (0, 1, 2, 4, 6, 7):
        accepted = "first" if day == 0 else None
        night(tmp_path, day, held=gate(baseline="good", nights=2), accepted=accepted)
    output = str(tmp_path)
    removals, (kept,) = removable(output, before=LATER, needed=needed_dates)
    assert kept.worded(OPTIONS).startswith(f"the nights of {date(6)} to {date(7)} are kept: ")
    removals.insert(0, Removal("leftovers", []))
    dates = f"the nights of {date(0)} to {date(2)}, {date(4)}"
    assert removals_in_words(removals, "would remove") == [
        "would remove leftovers",
        f"would remove {dates}",
    ]
    assert remove(output, removals) == [f"removed {dates}"]
    assert remove(output, removals) == []


def test_each_run_has_its_own_reference(tmp_path):
    for day in range(6):
        night(tmp_path, day, runs=("r", "s"), accepted="first" if day == 0 else None)
    (third,) = [one for one in committed(str(tmp_path)) if one.evaluated_on == date(3)]
    revise(third, accepted="of s", accepted_runs=["s"])
    assert staying(tmp_path) == {0, 1, 3, 4, 5}


@pytest.mark.parametrize(("until", "stays"), [(9, True), (4, False)])
def test_an_acknowledged_night_stays_as_long_as_that_holds(tmp_path, until, stays):
    held = gate(baseline="good", nights=1)
    for day in range(7):
        night(tmp_path, day, held=held)
    (second,) = [one for one in committed(str(tmp_path)) if one.evaluated_on == date(2)]
    revise(second, acknowledged={"reason": "known", "until": date(until)})
    assert (2 in staying(tmp_path)) == stays


def test_copies_go_with_their_night(tmp_path):
    for day in range(4):
        night(tmp_path, day, accepted="first" if day == 0 else None)
    output, store = str(tmp_path), Store(str(tmp_path))
    removals, _ = removable(output, before=LATER, needed=needed_dates)
    gone = date(1)
    assert f"the nights of {gone}" not in [what for what, *_ in removals]
    removals, _ = removable(output, date=gone, needed=needed_dates)
    assert any(gone in path for path in store.files("rescored", ""))
    remove(output, removals)
    left = store.files("rescored", "")
    assert left
    assert not any(gone in path for path in left)
