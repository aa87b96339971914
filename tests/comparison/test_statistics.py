"""The statistics beside those of scipy and statsmodels; random signs beside every sign counted out, however small."""

import itertools
import math

import numpy as np
import pytest
from scipy import stats

from ndcg_spark.comparison.statistics import (
    EXACT,
    MIN_P,
    adjusted,
    paired_t,
    random_signs,
    weighted_error,
)


@pytest.mark.parametrize(
    ("n", "deviation"), [(0, 0.0), (1, 0.0), (1, 0.5), (10, 0.0), (10, math.inf)]
)
def test_there_is_no_answer_for_fewer_than_two_queries_or_without_variation(n, deviation):
    assert np.isnan(list(paired_t(n, 0.1, deviation).values())).all()


@pytest.mark.parametrize("n", [10, 11, 25, 50, 200, 1000])
@pytest.mark.parametrize(("alpha", "error"), [(0.05, 0.002), (0.01, 0.02)])
def test_the_minimum_detectable_difference_is_detected_with_a_power_of_four_fifths(n, alpha, error):
    power = pytest.importorskip(
        "statsmodels.stats.power", reason="needs statsmodels: pip install --group parity"
    )
    effect = power.TTestPower().solve_power(nobs=n, alpha=alpha, power=0.8)
    # The formula takes the central t for the noncentral.
    assert paired_t(n, 0.0, 1.0, alpha)["minimum_detectable"] == pytest.approx(effect, rel=error)


def test_p_values_are_adjusted_in_any_order():
    p_values = [0.01, 0.04, 0.03]
    assert adjusted(p_values, "holm") == pytest.approx([3 * 0.01, 2 * 0.03, 2 * 0.03])
    assert adjusted(p_values, "bonferroni") == pytest.approx([3 * 0.01, 3 * 0.04, 3 * 0.03])
    assert adjusted(p_values, "bh") == pytest.approx([3 * 0.01, 0.04, 0.04])
    assert adjusted(p_values, "none").tolist() == p_values
    assert len(adjusted([], "holm")) == 0


def test_the_error_of_a_weighted_mean_is_that_of_weighted_least_squares():
    api = pytest.importorskip("statsmodels.api", reason="needs statsmodels")
    chance = np.random.default_rng(4)
    for n in (2, 5, 50, 500):
        apart, weight = chance.normal(0.02, 0.1, n), chance.exponential(1.0, n) + 0.01
        expected = api.WLS(apart, np.ones(n), weights=weight).fit(cov_type="HC1")
        assert weighted_error(apart, weight) == pytest.approx(expected.bse[0], rel=1e-12)


# Random signs

#: Differences whose mean is not 0, so that p values are of every size.
DIFFERENCES = {
    "normal": lambda chance, n, shift: chance.normal(shift, 1, n),
    "skewed": lambda chance, n, shift: chance.exponential(1, n) - 1 + shift,
    "few-valued": lambda chance, n, shift: chance.choice([-2, -1, 1, 2, 3], n) / 4 + shift,
    "equal": lambda chance, n, shift: np.where(chance.random(n) < 0.5 + shift / 3, 0.3, -0.3),
}


def counted(apart):
    """The share of all signs whose sum is as far from 0 as the one that was seen."""
    half = len(apart) // 2
    sums = [
        np.array(list(itertools.product([1, -1], repeat=len(part)))) @ part
        for part in np.split(apart, [half])
    ]
    limit = abs(apart.sum()) - 1e-9
    return np.mean([np.mean(np.abs(sums[1] + first) >= limit) for first in sums[0]])


@pytest.mark.parametrize("kind", DIFFERENCES)
@pytest.mark.parametrize("n", [3, 8, EXACT, EXACT + 1, 20])
def test_random_signs_agree_with_every_sign_counted_out(kind, n):
    for seed, shift in enumerate((0.0, 0.4, 0.8)):
        apart = DIFFERENCES[kind](np.random.default_rng([n, seed]), n, shift)
        assert random_signs(apart, precise=True) == pytest.approx(
            counted(apart), rel=1e-9 if n <= EXACT else 0.05
        )


@pytest.mark.parametrize(("plus", "n"), [(12, 20), (45, 50), (160, 200), (620, 1000), (48, 50)])
def test_of_equal_magnitudes_they_are_the_binomial_test_however_small(plus, n):
    expected = stats.binomtest(plus, n).pvalue
    assert random_signs(np.repeat([0.3, -0.3], [plus, n - plus]), precise=True) == pytest.approx(
        expected, rel=0.05
    )


@pytest.mark.parametrize(
    ("apart", "expected"),
    [
        *(
            ([-0.1, -0.5, 0.0, 0.0, -0.2], 2.0**-2),
            ([-1.0] * 143, 2.0**-142),
            ([1.0] * 4096, MIN_P),
        ),
        *(([], 1.0), ([0.0, 0.0], 1.0), ([0.5, -0.5], 1.0), ([0.1] * 50 + [-0.1] * 50, 1.0)),
    ],
)
def test_where_all_agree_or_the_sum_is_0_no_sign_is_drawn(apart, expected):
    assert random_signs(np.array(apart)) == expected


@pytest.mark.parametrize("shift", [0.0, 0.02, 0.1])
def test_neither_the_order_nor_the_unit_changes_it_and_a_thousand_signs_tell_about_how_large_it_is(
    shift,
):
    chance = np.random.default_rng(4)
    apart = chance.normal(shift, 0.1, 60)
    p_value = random_signs(apart)
    assert random_signs(chance.permutation(apart)) == p_value
    assert random_signs(-1e-80 * apart) == pytest.approx(p_value, rel=1e-9)
    assert p_value == pytest.approx(random_signs(apart, precise=True), rel=0.2)


def test_p_values_of_no_difference_are_spread_evenly():
    chance = np.random.default_rng(3)
    assert (
        stats.kstest([random_signs(chance.standard_t(3, 25)) for _ in range(400)], "uniform").pvalue
        > 0.01
    )
