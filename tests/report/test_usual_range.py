"""The usual range of a run, and since when its level moves."""

import numpy as np
import pytest

from ndcg_spark.comparison.trend import FLOOR, trend_points
from ndcg_spark.report.usual_range import usual_range

NOISE = 0.002


def points(values):
    dates = [f"2026-{1 + at // 28:02}-{1 + at % 28:02}" for at in range(len(values))]
    pairs = zip(dates, values, strict=True)
    return trend_points([(date, float(value), "standard", "j1") for date, value in pairs])


def calm(nights=28, seed=0):
    return 0.6 + np.random.default_rng(seed).normal(0, NOISE, nights)


def drift(size, start=14, nights=28):
    """A level that moves from a night on, by `size` until the last one."""
    away = np.clip((np.arange(nights) - start + 1) / (nights - start), 0, 1)
    return calm(nights) + size * away


@pytest.mark.parametrize("size", [-0.02, 0.02])
def test_a_drift_is_not_in_the_usual_range(size):
    found = usual_range(points(drift(size)))
    assert abs(int(found.moved_on[-2:]) - 15) <= 3
    assert found.nights == int(found.moved_on[-2:]) - 1
    assert not found.low <= 0.6 + size <= found.high
    assert (found.falling is not None) == (size < 0)


def test_a_line_that_falls_from_its_first_night_on_is_not_in_its_range():
    found = usual_range(points(0.6 - 0.0012 * np.arange(13)))
    assert found.nights == 7
    assert found.low == pytest.approx(0.6 - 0.0012 * 3 - FLOOR)


@pytest.mark.parametrize("seed", range(10))
def test_the_range_of_a_calm_line_is_that_of_all_nights_before(seed):
    found = usual_range(points(calm(seed=seed)))
    assert (found.moved_on, found.falling, found.nights) == (None, None, 27)
    assert found.high - found.low >= 2 * FLOOR


def test_an_accepted_night_begins_another_level():
    line = points([*calm(10), *(calm(10) - 0.1)])
    line[10].restarts = True
    found = usual_range(line)
    assert (found.moved_on, found.nights) == (None, 9)
    assert found.low < 0.5 < found.high


@pytest.mark.parametrize(("nights", "is_known"), [(7, False), (8, True)])
def test_few_nights_have_no_range(nights, is_known):
    assert (usual_range(points(calm(nights))) is not None) == is_known
