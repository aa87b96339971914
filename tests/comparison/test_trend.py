"""A year of nights: what stands out is flagged, and nothing else is."""

import random

import pytest
from gates import SAME, evaluate
from kept_nights import date

from ndcg_spark.comparison.trend import FLOOR, MIN_NIGHTS, NOTHING, WINDOW, last_stretch, lines, trend_points

YEAR = 365


def year(change=lambda _: 0.0, *, noise=0.003, judgments=lambda _: "j", convention=lambda _: "c", seed=1):
    """A year of nights of a system whose score is 0.6, varies by the noise, and changes by what the night says."""
    chance = random.Random(seed)  # noqa: S311  # it makes test data
    values = [0.6 + chance.uniform(-noise, noise) + change(number) for number in range(YEAR)]
    return [(date(n), value, convention(n), judgments(n)) for n, value in enumerate(values)]


def flagged(points, *codes):
    return [number for number, point in enumerate(points) if {*codes} & {code for code, _ in point.flags}]


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
    points = trend_points(year(lambda n: 0.1 if n >= 180 else 0.0, judgments=lambda n: "new" if n >= 180 else "old"))
    assert (breaks(points), flagged(points, "low", "high")) == ({180: ("judgments",)}, [])
    assert [point.median is None for point in points[178:190]] == [False] * 2 + [True] * MIN_NIGHTS + [False] * 3
    assert [point.date for point in last_stretch(points)] == [date(n) for n in range(180, YEAR)]


def test_a_night_under_another_convention_is_held_against_none_and_the_next_against_those_before_it():
    points = trend_points(year(lambda n: -0.3 if n == 100 else 0.0, convention=lambda n: "other" if n == 100 else "c"))
    assert breaks(points) == {100: ("convention",), 101: ("convention",)}
    assert (points[100].median, points[101].median is None, flagged(points, "low", "high")) == (None, False, [])


@pytest.mark.parametrize(("share", "low"), [(0.99, []), (1.01, [*range(100, 114)]), (1 + 4e-5 / FLOOR, [])])
def test_the_floor_is_the_least_distance_and_three_deviations_of_the_level(share, low):
    points = trend_points(year(lambda n: -share * FLOOR if n >= 100 else 0.0, noise=0.0))
    assert (flagged(points, "low"), flagged(points, "level_fell")[0]) == (low, 103)


def test_nights_without_a_score_are_neither_flagged_nor_reckoned_with():
    points = trend_points([(date(n), None if n % 2 else 0.6, "c", "j") for n in range(60)])
    assert (points[40].median, points[10].median, flagged(points, "low", "high")) == (0.6, None, [])


@pytest.mark.parametrize(
    ("drift", "noise", "most"), [(0.0005, 0.003, 14), (0.001, 0.003, 10), (0.001, 0.007, 15), (0.0001, 0.003, 60)]
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
