"""A year of nights: what stands out is flagged, and nothing else is."""

import random

import pytest
from gates import SAME, N, copied, evaluate, spread
from kept_nights import date

from ndcg_spark.comparison.judgment_changes import Change
from ndcg_spark.comparison.trend import (
    FLOOR,
    MIN_NIGHTS,
    NOTHING,
    WINDOW,
    chained_stretch,
    falling_since,
    last_stretch,
    lines,
    trend_points,
)
from ndcg_spark.nights.log import committed

YEAR = 365
#: How many queries both sets of judgments must have, without a gate.
MIN_QUERIES = 50


def year(
    change=lambda _: 0.0, *, noise=0.003, judgments=lambda _: "j", convention=lambda _: "c", seed=1
):
    """A year of nights of a system whose score is 0.6, varies by the noise, and changes by what the night says."""
    chance = random.Random(seed)  # noqa: S311  # it makes test data
    values = [0.6 + chance.uniform(-noise, noise) + change(number) for number in range(YEAR)]
    return [(date(n), value, convention(n), judgments(n)) for n, value in enumerate(values)]


def flagged(points, *codes):
    return [
        number
        for number, point in enumerate(points)
        if {*codes} & {code for code, _ in point.flags}
    ]


def breaks(points):
    return {number: point.breaks for number, point in enumerate(points) if point.breaks}


@pytest.mark.parametrize(
    ("change", "low", "high"),
    [
        (lambda n: 0.0, [], []),
        (lambda n: -0.05 if n == 200 else 0.0, [200], []),
        (lambda n: 0.05 if n == 200 else 0.0, [], [200]),
        # Until half of the window has the new level.
        (lambda n: -0.05 if n >= 200 else 0.0, [*range(200, 200 + WINDOW // 2)], []),
    ],
    ids=["unchanged", "fall", "rise", "step"],
)
def test_a_night_far_from_those_before_it_is_low_or_high(change, low, high):
    for seed in range(5):
        points = trend_points(year(change, seed=seed))
        assert (flagged(points, "low"), flagged(points, "high"), breaks(points)) == (low, high, {})


def test_other_judgments_break_the_line_and_begin_another_without_a_flag():
    points = trend_points(
        year(lambda n: 0.1 if n >= 180 else 0.0, judgments=lambda n: "new" if n >= 180 else "old")
    )
    assert (breaks(points), flagged(points, "low", "high")) == ({180: ("judgments",)}, [])
    assert [point.median is None for point in points[178:190]] == [False] * 2 + [
        True
    ] * MIN_NIGHTS + [False] * 3
    assert [point.date for point in last_stretch(points)] == [date(n) for n in range(180, YEAR)]


def test_a_night_under_another_convention_is_held_against_none_and_the_next_against_those_before_it():
    points = trend_points(
        year(lambda n: -0.3 if n == 100 else 0.0, convention=lambda n: "other" if n == 100 else "c")
    )
    assert breaks(points) == {100: ("convention",), 101: ("convention",)}
    assert (points[100].median, points[101].median is None, flagged(points, "low", "high")) == (
        None,
        False,
        [],
    )


@pytest.mark.parametrize(
    ("share", "low"), [(0.99, []), (1.01, [*range(100, 114)]), (1 + 4e-5 / FLOOR, [])]
)
def test_the_floor_is_the_least_distance_and_three_deviations_of_the_level(share, low):
    points = trend_points(year(lambda n: -share * FLOOR if n >= 100 else 0.0, noise=0.0))
    assert (flagged(points, "low"), flagged(points, "level_fell")[0]) == (low, 103)


def test_nights_without_a_score_are_neither_flagged_nor_reckoned_with():
    points = trend_points([(date(n), None if n % 2 else 0.6, "c", "j") for n in range(60)])
    assert (points[40].median, points[10].median, flagged(points, "low", "high")) == (0.6, None, [])


@pytest.mark.parametrize(
    ("drift", "noise", "most"),
    [(0.0005, 0.003, 14), (0.001, 0.003, 10), (0.001, 0.007, 15), (0.0001, 0.003, 60)],
)
def test_a_cusum_finds_drift(drift, noise, most):
    for seed in range(20):
        points = trend_points(year(lambda n: -drift * max(0, n - 60), noise=noise, seed=seed)[:140])
        assert 0 < min(flagged(points, "level_fell"), default=YEAR) - 60 <= most, seed


def test_an_unchanged_system_has_a_changed_level_less_than_once_in_two_years():
    years = [trend_points(year(noise=0.005, seed=seed)) for seed in range(10)]
    assert sum(len(flagged(points, "level_fell", "level_rose")) for points in years) <= 5


def test_a_changed_level_says_since_when_and_how_much_and_a_spike_is_none():
    points = trend_points(year(lambda n: -0.2 if n == 100 else -0.015 if n >= 200 else 0.0))
    (night,) = flagged(points, "level_fell")
    assert 200 < night <= 205
    words = dict(points[night].flags)["level_fell"]
    assert words.startswith(f"level since {date(200)}: ")
    assert float(words.split()[3].strip(",")) == pytest.approx(-0.015, abs=0.003)


def test_a_night_in_which_a_run_returned_nothing_has_no_value(tmp_path):
    for number in range(MIN_NIGHTS + 2):
        there = {"old": 0} if number == MIN_NIGHTS else {}
        evaluate(tmp_path, None, date(number), {"old": SAME, "new": SAME}, answered=there)
    new, old = sorted(lines(str(tmp_path))[0], key=lambda line: line.run)
    assert [point.value for point in new.points] == pytest.approx([0.6] * 9)
    lost, after = old.points[-2:]
    assert (lost.value, [code for code, _ in lost.flags], lost.median) == (None, [NOTHING], None)
    # It is in no median of later nights either.
    assert (after.value, after.median, after.flags) == (pytest.approx(0.6), pytest.approx(0.6), ())


def linked(at, shift=0.1, *, old=0.0, new=0.0, sides_disagree=False):
    """The change of judgments that leads to a night, by its date."""
    change = Change(
        date(at - 1),
        date(at),
        old,
        new,
        (old + new) / 2,
        abs(new - old) / 2,
        60,
        shift,
        sides_disagree,
    )
    return {date(at): change}


def judged_anew(at, level=0.1):
    """Nights whose judgments change: scores are `level` higher from then on."""
    return {"judgments": lambda n: "new" if n >= at else "old"}, lambda n: level if n >= at else 0.0


def test_a_line_leads_over_new_judgments_and_its_earlier_part_is_moved():
    judgments, level = judged_anew(180)
    nights = year(level, **judgments)
    points = trend_points(nights, linked(180))
    assert [point.chained for point in points] == pytest.approx(
        [value + 0.1 - level(n) for n, (_, value, *_) in enumerate(nights)]
    )
    assert [point.value for point in points] == [value for _, value, *_ in nights]
    assert breaks(points) == {180: ("judgments",)}
    assert [number for number, point in enumerate(points) if point.interrupted] == []
    assert len(chained_stretch(points)) == YEAR
    assert points[180].change.shift == 0.1
    # Without a link there are two lines, each in its own units.
    points = trend_points(nights)
    assert [number for number, point in enumerate(points) if point.interrupted] == [180]
    assert [point.chained for point in points] == [value for _, value, *_ in nights]


def test_nights_that_return_to_earlier_judgments_return_to_their_line():
    nights = year(
        lambda n: 0.1 if 100 <= n < 120 else 0.0,
        judgments=lambda n: "new" if 100 <= n < 120 else "old",
    )
    points = trend_points(nights, linked(100))
    assert not any(point.interrupted for point in points)
    assert max(point.chained for point in points) - min(point.chained for point in points) <= 0.006


@pytest.mark.parametrize(("sides_disagree", "found"), [(False, True), (True, False)])
def test_the_cusum_leads_over_a_change_unless_its_sides_are_far_apart(sides_disagree, found):
    judgments, level = judged_anew(40)
    points = trend_points(
        year(lambda n: level(n) - 0.001 * max(0, n - 40), **judgments)[:60],
        linked(40, sides_disagree=sides_disagree),
    )
    assert bool(flagged(points, "level_fell")) == found
    assert not any(point.interrupted for point in points)


@pytest.mark.parametrize(
    "shape", [lambda n: -0.0012 * max(0, n - 19), lambda n: -0.0204 if n >= 20 else 0.0]
)
def test_a_fall_says_since_when_and_how_far_over_new_judgments(shape):
    judgments, level = judged_anew(25)
    for seed in range(20):
        points = trend_points(
            year(lambda n: level(n) + shape(n), seed=seed, **judgments)[:37], linked(25)
        )
        since, fallen = falling_since(points)
        assert date(17) <= since <= date(22)
        assert fallen == pytest.approx(-0.0204, abs=0.004)
        assert falling_since(points[:20]) is None
        # Whoever accepts a night knows what was before it.
        points[-1].restarts = True
        assert falling_since(points) is None


def test_an_unchanged_system_does_not_fall():
    fell = []
    for seed in range(5):
        points = trend_points(year(noise=0.008, seed=seed))
        fell += [number for number in range(YEAR) if falling_since(points[:number])]
    assert len(fell) <= 5


def test_a_level_that_recovers_does_not_fall():
    points = trend_points(year(lambda n: -0.03 if 20 <= n < 30 else 0.0))
    assert falling_since(points[:30]) is not None
    assert falling_since(points[:45]) is None


def test_a_line_takes_its_changes_from_the_log_and_from_copies(tmp_path):
    old, new = (1,) * N, (2,) * N
    base = 0.6 + spread(0, 0.05)
    for day, (hashes, under) in enumerate([(old, new), (new, old)], 1):
        # Under the new judgments all lists have 0.1 more, and those of the second night lost 0.02.
        lists = base - 0.02 * (day - 1)
        scores = {"r": lists + (0.1 if hashes == new else 0.0)}
        copies = {under: {"r": lists + (0.1 if under == new else 0.0)}}
        evaluate(tmp_path, None, date(day), scores, hashes=hashes, under=copies)
    ((line,), notes) = lines(str(tmp_path))
    first, second = line.points
    assert (first.value, first.chained) == pytest.approx((0.6, 0.7))
    assert (second.value, second.chained) == pytest.approx((0.68, 0.68))
    assert (second.change.old, second.change.new, second.change.queries) == pytest.approx(
        (-0.02, -0.02, N)
    )
    assert second.change.sides_disagree is False
    assert not any("interrupted" in note for note in notes)


def test_too_few_queries_under_both_sets_interrupt_the_line(tmp_path):
    old = (1,) * N
    new = (2,) * (MIN_QUERIES - 1) + (0,) * (N - MIN_QUERIES + 1)
    evaluate(tmp_path, None, date(1), {"r": SAME}, hashes=old)
    (night,) = committed(str(tmp_path))
    copied(night, new, {"r": SAME})
    scores = {"r": [*SAME[: MIN_QUERIES - 1], *[None] * (N - MIN_QUERIES + 1)]}
    evaluate(tmp_path, None, date(2), scores, hashes=new, under={old: {"r": SAME}})
    ((line,), notes) = lines(str(tmp_path))
    assert [point.interrupted for point in line.points] == [False, True]
    assert any("interrupted at 1 change" in note and "rescore" in note for note in notes)
