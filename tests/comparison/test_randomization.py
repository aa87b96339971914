"""The randomization test: beside every sign counted out and the binomial, however small, and in any order of rows."""

import itertools

import numpy as np
import pytest
from scipy import stats

from ndcg_spark.comparison.statistics import EXACT, LEAST
from ndcg_spark.comparison.statistics import random_signs as p_value

#: Differences whose mean is not 0, so that p values are of every size.
DIFFERENCES = {
    "normal": lambda chance, n, shift: chance.normal(shift, 1, n),
    "skewed": lambda chance, n, shift: chance.exponential(1, n) - 1 + shift,
    "few-valued": lambda chance, n, shift: chance.choice([-0.5, -0.25, 0.25, 0.5], n, p=_tilted(shift)),
    "equal": lambda chance, n, shift: np.where(chance.random(n) < 0.5 + shift / 3, 0.3, -0.3),
}


def _tilted(shift):
    return np.array([0.3 - shift / 4, 0.3 - shift / 4, 0.2 + shift / 4, 0.2 + shift / 4])


def exact(apart):
    """The share of all signs whose sum is as far from 0 as the one that was seen."""
    half = len(apart) // 2
    sums = [np.array(list(itertools.product([1, -1], repeat=len(part)))) @ part for part in np.split(apart, [half])]
    limit = abs(apart.sum()) - 1e-9
    return np.mean([np.mean(np.abs(sums[1] + first) >= limit) for first in sums[0]])


@pytest.mark.parametrize("kind", DIFFERENCES)
@pytest.mark.parametrize("n", [3, 8, EXACT, EXACT + 1, 20])
def test_it_agrees_with_every_sign_counted_out(kind, n):
    for seed, shift in enumerate((0.0, 0.4, 0.8)):
        apart = DIFFERENCES[kind](np.random.default_rng([n, seed]), n, shift)
        assert p_value(apart, precise=True) == pytest.approx(exact(apart), rel=1e-9 if n <= EXACT else 0.05)


@pytest.mark.parametrize(("plus", "n"), [(12, 20), (45, 50), (160, 200), (620, 1000), (48, 50)])
def test_of_equal_magnitudes_it_is_the_binomial_test_however_small(plus, n):
    expected = stats.binomtest(plus, n).pvalue
    assert p_value(np.repeat([0.3, -0.3], [plus, n - plus]), precise=True) == pytest.approx(expected, rel=0.05)


@pytest.mark.parametrize(
    ("apart", "expected"),
    [
        ([-0.1, -0.5, 0.0, 0.0, -0.2], 2.0**-2),
        ([-1.0] * 143, 2.0**-142),
        ([1.0] * 4096, LEAST),
        *(([], 1.0), ([0.0, 0.0], 1.0), ([0.5, -0.5], 1.0), ([0.1] * 50 + [-0.1] * 50, 1.0)),
    ],
)
def test_where_all_agree_or_the_sum_is_0_no_sign_is_drawn(apart, expected):
    assert p_value(np.array(apart)) == expected


@pytest.mark.parametrize("shift", [0.0, 0.02, 0.1])
def test_neither_the_order_nor_the_unit_changes_it_and_a_thousand_signs_tell_about_how_large_it_is(shift):
    chance = np.random.default_rng(4)
    apart = chance.normal(shift, 0.1, 60)
    found = p_value(apart)
    assert p_value(chance.permutation(apart)) == found
    assert p_value(-1e-80 * apart) == pytest.approx(found, rel=1e-9)
    assert found == pytest.approx(p_value(apart, precise=True), rel=0.2)


def test_p_values_of_no_difference_are_spread_evenly():
    chance = np.random.default_rng(3)
    found = [p_value(chance.standard_t(3, 25)) for _ in range(400)]
    assert stats.kstest(found, "uniform").pvalue > 0.01
