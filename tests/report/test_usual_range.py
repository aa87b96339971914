"""The usual range of a run, and since when its level moves."""

import numpy as np
import pytest

from ndcg_spark.comparison.trend import FLOOR, Point
from ndcg_spark.report.usual_range import usual_range

NOISE = 0.002


def points(values):
    return [Point(f"night {at:02}", float(value)) for at, value in enumerate(values)]


def calm(nights=28, seed=0):
    return 0.6 + np.random.default_rng(seed).normal(0, NOISE, nights)


def drift(size, start=14, nights=28):
    """A level that falls from a night on, by `size` until the last one."""
    return calm(nights) + size * np.clip((np.arange(nights) - start + 1) / (nights - start), 0, 1)


@pytest.mark.parametrize(("size", "sign"), [(-0.02, -1), (0.02, 1)])
def test_a_drift_is_not_in_the_usual_range(size, sign):
    found = usual_range(points(drift(size)))
    assert found.move.is_slope
    assert abs(int(found.move.since[-2:]) - 14) <= 3
    assert found.move.size == pytest.approx(size, abs=2 * NOISE)
    assert not found.low <= 0.6 + size <= found.high
    assert found.last < found.move.since
    assert sign * found.move.size > 0


def test_a_level_that_moved_once():
    values = calm()
    values[20:] -= 0.03
    found = usual_range(points(values))
    assert (found.move.since, found.move.is_slope) == ("night 20", False)
    assert found.move.size == pytest.approx(-0.03, abs=2 * NOISE)


@pytest.mark.parametrize("seed", range(10))
def test_a_calm_line_does_not_move(seed):
    found = usual_range(points(calm(seed=seed)))
    assert (found.move, found.nights) == (None, 27)
    assert found.high - found.low >= 2 * FLOOR


def test_single_nights_and_what_has_come_back_move_nothing():
    bad = calm()
    bad[20] -= 0.2
    back = calm()
    back[16:20] -= 0.03
    for values in (bad, back):
        found = usual_range(points(values))
        assert found.move is None
        assert found.low < 0.6 < found.high


@pytest.mark.parametrize(("nights", "is_known"), [(7, False), (8, True)])
def test_few_nights_have_no_range(nights, is_known):
    assert (usual_range(points(calm(nights))) is not None) == is_known
