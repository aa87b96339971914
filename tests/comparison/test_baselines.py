"""What a baseline stands for, by the log alone."""

import dataclasses
import json

import pytest
from gates import SAME, evaluate, gate
from kept_nights import committed_night, damage, record

from ndcg_spark.comparison.baselines import (
    Baseline,
    Kind,
    baseline_of_verdict,
    different_options,
    good_nights,
    is_accepted_for,
    is_good_for,
    named_baseline,
    newest_comparable,
    resolve,
)
from ndcg_spark.comparison.needed_nights import needed_dates
from ndcg_spark.comparison.references import (
    Link,
    accepted_reference,
    after_link,
    dated_reference,
    newest_link,
)
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.nights.log import Nights, committed

DAYS = [f"2026-11-{day:02}" for day in range(1, 6)]


@pytest.fixture
def output(tmp_path):
    """Five nights of a gate, the first accepted, the fourth with other judgments and no verdict."""
    for number, day in enumerate(DAYS):
        hashes = [2 if day == DAYS[3] else 1] * 60
        accepted = "first" if number == 0 else None
        scores = {"hybrid": SAME + number / 100}
        evaluate(tmp_path, gate(), day, scores, hashes=hashes, accepted=accepted)
    return tmp_path


def nights_of(output):
    nights = committed(str(output))
    return nights, {night.evaluated_on: night for night in nights}


def dates(baseline):
    return [night.evaluated_on for night in baseline.nights]


def resolved(name, tonight, nights, **more):
    """What a name stands for where all runs have the same nights."""
    (baseline,) = resolve(name, tonight, nights, **more)
    return baseline


@pytest.mark.parametrize(
    ("name", "most", "expected"),
    [
        ("good", 7, (Kind.GOOD, DAYS[:3], None)),
        ("good", 2, (Kind.GOOD, DAYS[1:3], None)),
        (DAYS[1], 7, (Kind.NIGHTS, [DAYS[1]], None)),
        # It has other judgments, so that it is compared on two sides.
        (DAYS[3], 7, (Kind.NIGHTS, [DAYS[3]], None)),
        ("2026-10-31", 7, (Kind.NIGHTS, [], "no_baseline")),
        (DAYS[4], 7, (Kind.NIGHTS, [], "no_baseline")),
        ("run bm25", 7, (Kind.RUN, [], None)),
        ("accepted", 7, (Kind.ACCEPTED, [], None)),
    ],
)
def test_what_a_name_stands_for(output, name, most, expected):
    nights, by_date = nights_of(output)
    baseline = resolved(name, by_date[DAYS[4]], nights, most=most)
    code = baseline.refused and baseline.refused.code
    assert (baseline.kind, dates(baseline), code) == expected
    assert baseline.run == ("bm25" if name == "run bm25" else None)
    assert baseline.has_other_judgments(by_date[DAYS[4]]) == (name == DAYS[3])


def test_without_a_good_night_of_its_judgments_a_night_has_the_good_ones_before(output):
    evaluate(output, gate(), "2026-11-06", {"hybrid": SAME}, hashes=[3] * 60)
    nights, by_date = nights_of(output)
    tonight = by_date["2026-11-06"]
    good = resolved("good", tonight, nights, most=3)
    assert dates(good) == [DAYS[1], DAYS[2], DAYS[4]]
    assert good.has_other_judgments(tonight)


def test_two_names_may_stand_for_the_same_scores(output):
    nights, by_date = nights_of(output)
    tonight = by_date[DAYS[4]]
    good, dated = (resolved(name, tonight, nights, most=1) for name in ("good", DAYS[2]))
    assert good != dated
    assert good.stands_for == dated.stands_for
    assert good.stands_for != resolved("good", tonight, nights, most=2).stands_for
    assert good.stands_for != resolved("run bm25", tonight, nights, most=1).stands_for


def test_a_night_of_another_convention_is_refused_by_all(output):
    evaluate(output, gate(), "2026-11-06", {"hybrid": SAME}, gain="linear")
    nights, by_date = nights_of(output)
    tonight = by_date["2026-11-06"]
    assert resolved(DAYS[1], tonight, nights, most=7).refused.code == "other_convention"
    with pytest.raises(ConfigurationError, match="has a different convention"):
        named_baseline(nights, tonight, DAYS[1])
    assert newest_comparable(tonight, nights, ["hybrid"]) == Baseline(Kind.NOTHING)
    options = [night.record["options"] for night in (tonight, by_date[DAYS[1]])]
    assert different_options(*options) == ["gain=exp2 there and linear here"]


def test_a_night_is_compared_with_itself_only_by_a_run(output):
    nights, by_date = nights_of(output)
    night = by_date[DAYS[4]]
    with pytest.raises(ConfigurationError, match="with itself"):
        named_baseline(nights, night, DAYS[4])
    assert named_baseline(nights, night, DAYS[4], ["bm25"]) == Baseline(
        Kind.NIGHTS,
        run="bm25",
        nights=(night,),
    )


def test_a_page_shows_what_the_verdict_is_about(output):
    nights, by_date = nights_of(output)
    shown = baseline_of_verdict(by_date[DAYS[4]], nights)
    assert (shown.kind, shown.name, dates(shown)) == (Kind.GOOD, "good", DAYS[:3])
    # One that was evaluated again is no longer what the gate saw.
    evaluate(output, gate(), DAYS[2], {"hybrid": SAME})
    nights, by_date = nights_of(output)
    again = baseline_of_verdict(by_date[DAYS[4]], nights)
    assert (again.kind, again.name, dates(again)) == (Kind.NIGHTS, None, DAYS[:3])
    assert baseline_of_verdict(by_date[DAYS[0]], nights) is None


def test_the_newest_comparable_night_has_the_same_judgments(output):
    nights, by_date = nights_of(output)
    assert dates(newest_comparable(by_date[DAYS[4]], nights, ["hybrid"])) == [DAYS[2]]
    first = by_date[DAYS[0]]
    assert newest_comparable(first, nights, ["hybrid"]) == Baseline(Kind.FIRST)
    assert newest_comparable(first, nights, ["hybrid", "bm25"]).run == "hybrid"


def test_the_newest_good_night_is_needed_without_a_gate_too(output):
    nights, _ = nights_of(output)
    assert needed_dates(nights, set(DAYS)) == {DAYS[4]}
    # One of another dataset, which has no good night.
    evaluate(output, None, DAYS[1], {"shop": {"hybrid": SAME}})
    nights, _ = nights_of(output)
    assert needed_dates(nights, set(DAYS)) == {DAYS[4]}


def test_a_damaged_log_of_a_date_refuses_good_nights_only_if_it_may_be_one(output):
    damage(output, DAYS[2])
    nights, by_date = nights_of(output)
    tonight = by_date[DAYS[4]]
    assert resolved("good", tonight, nights, most=7).refused.code == "no_baseline"
    assert resolved(DAYS[1], tonight, nights, most=7).refused is None


# By run: what the log says of each night is given, and there are no scores.


def logged(day, *, judgments="j1", good=True, accepted=None, runs=None, reason=None, **options):
    """A night of November; `runs` are those that it is accepted for."""
    inputs = {"judgments": {"fingerprint": judgments}}
    night = committed_night("web", f"2026-11-{day:02}", record(inputs=inputs, options=options))
    row = {**night.row, "is_baseline": good, "accepted": accepted, "reason": reason}
    row["accepted_runs"] = None if runs is None else json.dumps(runs)
    return dataclasses.replace(night, row=row)


def having(**runs):
    """Which runs a night has, given on which days each run was there."""
    return lambda night: [run for run, days in runs.items() if int(night.evaluated_on[-2:]) in days]


def days(nights):
    return [int(night.evaluated_on[-2:]) for night in nights]


ALWAYS = range(32)


def test_runs_that_were_not_in_the_same_good_nights_have_baselines_of_their_own():
    nights = Nights([logged(day) for day in (1, 2, 3, 4)])
    runs_of = having(r=ALWAYS, s=(1, 2), new=())
    runs = ["r", "s", "new"]
    baselines = resolve("good", logged(5), nights, most=2, runs=runs, runs_of=runs_of)
    # A run that is new stands beside the good nights of the others.
    assert [(baseline.runs, days(baseline.nights)) for baseline in baselines] == [
        (("r", "new"), [3, 4]),
        (("s",), [1, 2]),
    ]
    (same,) = resolve("good", logged(5), nights, most=2, runs=["r"], runs_of=runs_of)
    assert (same.runs, days(same.nights)) == (None, [3, 4])


def test_a_night_that_is_accepted_for_a_run_is_good_for_it_alone():
    one = logged(2, accepted="known", runs=["r"], reason="dropped")
    every = logged(2, accepted="known", reason="dropped")
    assert [is_accepted_for(one, run) for run in "rs"] == [True, False]
    assert [is_good_for(one, run) for run in ("r", "s", None)] == [True, False, True]
    assert [is_accepted_for(every, run) for run in "rs"] == [True, True]
    assert not is_good_for(logged(2, good=False), "r")
    assert not is_accepted_for(logged(2), "r")
    unverified = dataclasses.replace(every, row={**every.row, "reason": "not_verified"})
    assert (is_accepted_for(unverified, "r"), is_good_for(unverified, "r")) == (False, False)


@pytest.mark.parametrize("reason", ["dropped", "may_be_chance", "sides_disagree"])
def test_a_loss_that_was_accepted_for_a_run_hides_the_nights_before_it_for_that_run(reason):
    nights = [
        logged(1),
        logged(2),
        logged(3, accepted="known", runs=["r"], reason=reason),
        logged(4),
    ]
    assert days(good_nights(nights, logged(5), "r")) == [3, 4]
    assert days(good_nights(nights, logged(5), "s")) == [1, 2, 4]


def test_a_gain_that_was_accepted_hides_nothing():
    nights = [logged(1), logged(2, accepted="better"), logged(3)]
    assert days(good_nights(nights, logged(5), "r")) == [1, 2, 3]


def test_the_accepted_reference_is_the_newest_accepted_night_and_good_ones_after_it():
    nights = [
        logged(1, accepted="first"),
        logged(2),
        logged(3, accepted="second", runs=["r"]),
        logged(4, good=False),
        *map(logged, range(5, 15)),
    ]
    runs_of = having(r=ALWAYS, s=ALWAYS)
    tonight = logged(20)
    # At most seven nights, whatever the gate says.
    assert days(accepted_reference("r", tonight, nights, runs_of, 9).nights) == [
        3,
        5,
        6,
        7,
        8,
        9,
        10,
    ]
    assert days(accepted_reference("r", tonight, nights, runs_of, 1).nights) == [3]
    # What is accepted for another run is no good night of this one.
    assert days(accepted_reference("s", tonight, nights, runs_of, 3).nights) == [1, 2, 5]
    assert accepted_reference("r", tonight, nights, runs_of, 3).first == "2026-11-03"


def test_without_an_accepted_night_the_reference_is_the_first_good_one_that_has_the_run():
    nights = [logged(1), logged(2, good=False), logged(3), logged(4), logged(5, gain="linear")]
    runs_of = having(r=ALWAYS, s=(2, 3, 4), new=())
    assert days(accepted_reference("r", logged(6), nights, runs_of, 2).nights) == [1, 3]
    assert days(accepted_reference("s", logged(6), nights, runs_of, 2).nights) == [3, 4]
    assert accepted_reference("new", logged(6), nights, runs_of, 2) is None
    # Nights of other options, and later ones, do not count.
    assert days(accepted_reference("r", logged(6, gain="linear"), nights, runs_of, 2).nights) == [5]
    assert accepted_reference("r", logged(1), nights, runs_of, 2) is None


CHANGING = [
    logged(1, accepted="first"),
    logged(2),
    logged(3, judgments="j2", good=False),
    logged(4, judgments="j2"),
    logged(5, judgments="j2"),
    logged(6, judgments="j3", good=False),
]


def ends(reference):
    """The days of both ends of each link."""
    return [(*days([link.before]), *days([link.after])) for link in reference.links]


def test_a_change_of_judgments_ends_the_reference_and_is_a_link():
    tonight = logged(7, judgments="j3")
    reference = accepted_reference("r", tonight, CHANGING, having(r=ALWAYS), 7)
    assert (days(reference.nights), ends(reference)) == ([1, 2], [(2, 3), (5, 6)])
    # A link goes between the nights that have the run, whatever their verdict.
    reference = accepted_reference("r", tonight, CHANGING, having(r=(1, 4, 6, 7)), 7)
    assert (days(reference.nights), ends(reference)) == ([1], [(1, 4), (4, 6)])
    # The first night of other judgments is the end of its own link.
    tonight = logged(7, judgments="j4")
    assert ends(accepted_reference("r", tonight, CHANGING, having(r=ALWAYS), 7))[-1] == (6, 7)


def test_under_the_judgments_of_the_reference_there_is_no_link_whatever_lies_between():
    reference = accepted_reference("r", logged(7), CHANGING, having(r=ALWAYS), 7)
    assert (days(reference.nights), reference.links) == ([1, 2], ())


def test_an_unverified_night_is_no_end_of_a_link():
    (*before, last) = CHANGING
    unverified = dataclasses.replace(last, row={**last.row, "reason": "not_verified"})
    tonight = logged(7, judgments="j3")
    reference = accepted_reference("r", tonight, [*before, unverified], having(r=ALWAYS), 7)
    assert ends(reference) == [(2, 3), (5, 7)]


def test_a_date_is_that_night_alone_with_its_links():
    tonight = logged(7, judgments="j3")
    reference = dated_reference("r", "2026-11-04", tonight, CHANGING, having(r=ALWAYS))
    assert (days(reference.nights), ends(reference)) == ([4], [(5, 6)])
    # It need not be good.
    reference = dated_reference("r", "2026-11-03", tonight, CHANGING, having(r=ALWAYS))
    assert days(reference.nights) == [3]
    assert dated_reference("r", "2026-11-04", tonight, CHANGING, having(r=(1, 7))) is None
    assert dated_reference("r", "2026-10-31", tonight, CHANGING, having(r=ALWAYS)) is None


@pytest.mark.parametrize(
    ("day", "judgments", "runs", "expected"),
    [
        (3, "j2", ALWAYS, (2, 3)),
        (5, "j2", ALWAYS, None),
        (5, "j2", (1, 5), (1, 5)),
        (1, "j1", ALWAYS, None),
    ],
)
def test_the_newest_link_leads_to_the_first_night_of_a_run_under_its_judgments(
    day, judgments, runs, expected
):
    link = newest_link("r", logged(day, judgments=judgments), CHANGING, having(r=runs))
    assert (link and (*days([link.before]), *days([link.after]))) == expected


def test_after_a_link_the_reference_is_the_first_good_nights_of_its_judgments():
    nights = [*CHANGING[:5], *(logged(day, judgments="j2") for day in range(6, 14))]
    link = Link(nights[1], nights[2])
    tonight = logged(20, judgments="j2")
    # The night after the change is not good.
    assert days(after_link("r", link, tonight, nights, 7)) == [4, 5, 6, 7, 8, 9, 10]
    assert days(after_link("r", link, tonight, nights, 2)) == [4, 5]
    assert days(after_link("r", link, logged(5, judgments="j2"), nights, 7)) == [4]
    assert after_link("r", link, logged(4, judgments="j2"), nights, 7) == ()
    # Another change ends them.
    assert days(after_link("r", link, logged(9, judgments="j3"), CHANGING, 7)) == [4, 5]
