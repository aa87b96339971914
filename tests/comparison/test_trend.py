"""A year of nights: what stands out is flagged, and nothing else is."""

import random
import statistics

import pytest
from kept_nights import date

from ndcg_spark.comparison.trend import FLOOR, LEAST, WINDOW, NightScore, last_stretch, trend

YEAR = 365


def year(change=lambda _: 0.0, *, noise=0.003, judgments=lambda _: "j", convention=lambda _: "c", seed=1):
    """A year of nights of a system whose score is 0.6, varies by the noise, and changes by what the night says."""
    chance = random.Random(seed)  # noqa: S311  # it makes test data
    values = [0.6 + chance.uniform(-noise, noise) + change(number) for number in range(YEAR)]
    return [NightScore(date(n), value, convention(n), judgments(n)) for n, value in enumerate(values)]


def flagged(points, code):
    codes = ("low", "high") if code == "outlier" else (code,)
    return [number for number, point in enumerate(points) if {*codes} & {flag.code for flag in point.flags}]


def breaks(points):
    return {number: point.breaks for number, point in enumerate(points) if point.breaks}


@pytest.mark.parametrize("seed", range(5))
def test_a_year_of_an_unchanged_system_has_no_flag(seed):
    points = trend(year(seed=seed))
    assert (flagged(points, "outlier"), breaks(points)) == ([], {})


def test_nights_of_normal_noise_are_flagged_about_as_often_as_three_deviations_are_exceeded():
    found = []
    for seed in range(20):
        chance = random.Random(seed)  # noqa: S311  # it makes test data
        nights = [NightScore(date(n), chance.gauss(0.6, 0.01), "c", "j") for n in range(YEAR)]
        found.append(len(flagged(trend(nights), "outlier")) / YEAR)
    # 0.3 % with the true deviation; that of 28 nights, told by their MAD, is often too small: 1.7 % were measured, and
    # 4 % of the first 28 nights, which have fewer before them.
    assert 0.01 < statistics.mean(found) < 0.025


def test_a_spike_is_flagged_on_its_night_alone():
    points = trend(year(lambda n: -0.05 if n == 200 else 0.0))
    assert flagged(points, "outlier") == [200]
    words = points[200].flags[0].words
    band = points[200].band
    middle = f"{band.median:.4f} +- {band.high - band.median:.4f}"
    around = f"the band around the median of {WINDOW} comparable nights"
    assert words == f"{points[200].value:.4f} is below {middle}, {around}"


def test_a_rise_stands_out_too():
    assert flagged(trend(year(lambda n: 0.05 if n == 200 else 0.0)), "high") == [200]


def test_a_step_is_an_outlier_until_half_the_window_has_it():
    points = trend(year(lambda n: -0.05 if n >= 200 else 0.0))
    assert flagged(points, "outlier") == [*range(200, 200 + WINDOW // 2)]


def test_a_drift_that_no_night_shows_changes_the_level():
    points = trend(year(lambda n: -0.0001 * n))
    assert flagged(points, "outlier") == []
    assert 0 < flagged(points, "level_fell")[0] <= 60


def test_other_judgments_break_the_line_and_begin_another_without_a_flag():
    points = trend(year(lambda n: 0.1 if n >= 180 else 0.0, judgments=lambda n: "new" if n >= 180 else "old"))
    assert breaks(points) == {180: ("judgments",)}
    assert flagged(points, "outlier") == []
    assert [point.band is None for point in points[178:190]] == [False] * 2 + [True] * LEAST + [False] * 3


def test_a_night_under_another_convention_is_held_against_none_and_the_next_against_those_before_it():
    points = trend(year(lambda n: -0.3 if n == 100 else 0.0, convention=lambda n: "other" if n == 100 else "c"))
    assert breaks(points) == {100: ("convention",), 101: ("convention",)}
    assert (points[100].band, points[101].band.nights) == (None, WINDOW)
    assert flagged(points, "outlier") == []


def test_a_system_whose_score_never_moves_may_move_by_the_floor():
    for move, found in ((FLOOR * 0.99, []), (FLOOR * 1.01, [50])):
        points = trend(year(lambda n, move=move: move if n == 50 else 0.0, noise=0.0))
        assert flagged(points, "outlier") == found


def test_nights_without_a_score_are_neither_flagged_nor_reckoned_with():
    nights = [NightScore(date(n), None if n % 2 else 0.6, "c", "j") for n in range(60)]
    points = trend(nights)
    assert points[40].band.nights == 20
    assert flagged(points, "outlier") == []


@pytest.mark.parametrize(("drift", "noise", "most"), [(0.0005, 0.003, 14), (0.001, 0.003, 10), (0.001, 0.007, 15)])
def test_a_cusum_finds_drift_within_two_weeks(drift, noise, most):
    for seed in range(20):
        points = trend(year(lambda n: -drift * max(0, n - 60), noise=noise, seed=seed)[:100])
        found = flagged(points, "level_fell")
        assert 0 < min(found, default=YEAR) - 60 <= most, (seed, found)


def test_an_unchanged_system_has_a_changed_level_less_than_once_in_two_years():
    years = [trend(year(noise=0.005, seed=seed)) for seed in range(10)]
    assert sum(len(flagged(points, "level_fell") + flagged(points, "level_rose")) for points in years) <= 5


def test_a_changed_level_says_since_when_and_how_much():
    points = trend(year(lambda n: -0.015 if n >= 200 else 0.0))
    (night,) = flagged(points, "level_fell")
    assert 200 < night <= 205
    level = points[night].level
    assert (level.since, level.change) == (date(200), pytest.approx(-0.015, abs=0.003))
    assert f"level since {date(200)}: {level.change:+.4f}" in [flag.words for flag in points[night].flags][-1]
    # It is told ever more exactly until the next change.
    assert (points[-1].level.since, points[-1].level.change) == (date(200), pytest.approx(-0.015, abs=0.001))
    assert points[199].level is None


def test_a_spike_is_no_change_of_the_level():
    points = trend(year(lambda n: -0.2 if n in (100, 200) else 0.0))
    assert [points[-1].level, flagged(points, "level_fell")] == [None, []]


def test_a_stretch_ends_where_the_line_is_broken():
    points = trend(year(judgments=lambda n: "new" if n >= 180 else "old"))
    assert [point.date for point in last_stretch(points)] == [date(n) for n in range(180, YEAR)]


def test_the_floor_is_the_least_distance_and_three_deviations_of_the_level():
    step = year(lambda n: -0.004 if n >= 100 else 0.0, noise=0.0)
    assert flagged(trend(step), "low") == []
    assert flagged(trend(step, floor=0.003), "low") == [*range(100, 114)]
    assert flagged(trend(step, floor=0.003), "level_fell") == [103]
    assert flagged(trend(step, floor=0.1), "level_fell") == []
