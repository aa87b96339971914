"""What a baseline stands for, by the log alone."""

import pytest
from gates import SAME, evaluate, gate
from kept_nights import damage

from ndcg_spark.comparison.baselines import (
    Baseline,
    Kind,
    baseline_of_verdict,
    different_options,
    named_baseline,
    needed_dates,
    newest_comparable,
    resolve,
)
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.nights.log import committed

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


@pytest.mark.parametrize(
    ("name", "most", "expected"),
    [
        ("good", 7, (Kind.GOOD, DAYS[:3], None)),
        ("good", 2, (Kind.GOOD, DAYS[1:3], None)),
        (DAYS[1], 7, (Kind.NIGHTS, [DAYS[1]], None)),
        # It has other judgments; the hashes tell which queries can be compared.
        (DAYS[3], 7, (Kind.NIGHTS, [DAYS[3]], None)),
        ("2026-10-31", 7, (Kind.NIGHTS, [], "no_baseline")),
        (DAYS[4], 7, (Kind.NIGHTS, [], "no_baseline")),
        ("run bm25", 7, (Kind.RUN, [], None)),
    ],
)
def test_what_a_name_stands_for(output, name, most, expected):
    nights, by_date = nights_of(output)
    baseline = resolve(name, by_date[DAYS[4]], nights, most=most)
    code = baseline.refused and baseline.refused.code
    assert (baseline.kind, dates(baseline), code) == expected
    assert baseline.run == ("bm25" if name == "run bm25" else None)


def test_two_names_may_stand_for_the_same_scores(output):
    nights, by_date = nights_of(output)
    tonight = by_date[DAYS[4]]
    good, dated = (resolve(name, tonight, nights, most=1) for name in ("good", DAYS[2]))
    assert good != dated
    assert good.stands_for == dated.stands_for
    assert good.stands_for != resolve("good", tonight, nights, most=2).stands_for
    assert good.stands_for != resolve("run bm25", tonight, nights, most=1).stands_for


def test_a_night_of_another_convention_is_refused_by_all(output):
    evaluate(output, gate(), "2026-11-06", {"hybrid": SAME}, gain="linear")
    nights, by_date = nights_of(output)
    tonight = by_date["2026-11-06"]
    assert resolve(DAYS[1], tonight, nights, most=7).refused.code == "other_convention"
    with pytest.raises(ConfigurationError, match="has another convention"):
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
    assert resolve("good", tonight, nights, most=7).refused.code == "no_baseline"
    assert resolve(DAYS[1], tonight, nights, most=7).refused is None
