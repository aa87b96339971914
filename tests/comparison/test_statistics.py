"""The statistics, beside those of scipy and statsmodels, and of formulas worked out by hand."""

import math

import numpy as np
import pytest
from paired import pairs_of
from scipy import stats

from ndcg_spark.comparison import statistics

KINDS = ("normal", "skewed", "discrete", "zeros")
SIZES = (2, 3, 5, 10, 25, 50, 200, 500)


@pytest.mark.parametrize("kind", KINDS)
def test_the_paired_t_test_and_its_interval_are_those_of_scipy(kind):
    compared = 0
    for n in SIZES:
        for seed in range(20):
            baseline, run = pairs_of(kind, n, seed)
            apart = run - baseline
            if apart.std() == 0:
                continue
            found = statistics.paired_t(n, apart.mean(), apart.std(ddof=1), 0.1)
            expected = stats.ttest_rel(run, baseline)
            low, high = expected.confidence_interval(0.9)
            assert found["p_value"] == pytest.approx(expected.pvalue, rel=1e-12)
            assert [found["interval_low"], found["interval_high"]] == pytest.approx([low, high], rel=1e-12, abs=1e-15)
            assert found["effect_size"] == pytest.approx(expected.statistic / math.sqrt(n), rel=1e-10)
            compared += 1
    assert compared > 100


@pytest.mark.parametrize(("n", "deviation"), [(0, 0.0), (1, 0.0), (1, 0.5), (10, 0.0)])
def test_there_is_no_answer_for_fewer_than_two_queries_or_without_variation(n, deviation):
    found = statistics.paired_t(n, 0.1, deviation)
    assert np.isnan([found["p_value"], found["interval_low"], found["effect_size"], found["minimum_detectable"]]).all()


@pytest.mark.parametrize("n", [10, 11, 25, 50, 200, 1000])
@pytest.mark.parametrize("alpha", [0.05, 0.01])
def test_the_minimum_detectable_difference_is_found_with_a_power_of_four_fifths(n, alpha):
    power = pytest.importorskip("statsmodels.stats.power", reason="needs statsmodels: pip install --group parity")
    effect = power.TTestPower().solve_power(nobs=n, alpha=alpha, power=0.8)
    # The formula takes the central t for the noncentral: 0.2 % at 5 %, and a little more in the far tail of a few.
    assert statistics.paired_t(n, 0.0, 1.0, alpha)["minimum_detectable"] == pytest.approx(
        effect, rel=0.002 if alpha == 0.05 else 0.02
    )


@pytest.mark.slow
@pytest.mark.parametrize(("correction", "theirs"), [("holm", "holm"), ("bonferroni", "bonferroni"), ("bh", "fdr_bh")])
def test_adjusted_p_values_are_those_of_statsmodels(correction, theirs):
    multitest = pytest.importorskip("statsmodels.stats.multitest", reason="needs statsmodels")
    chance = np.random.default_rng(3)
    for count in (1, 2, 3, 10, 142):
        p_values = chance.random(count) ** 3
        p_values[chance.random(count) < 0.3] = p_values[0]
        expected = multitest.multipletests(p_values, method=theirs)[1]
        assert statistics.adjusted(p_values, correction) == pytest.approx(expected, rel=1e-12, abs=1e-300)


@pytest.mark.parametrize(
    ("correction", "expected"),
    [
        ("holm", [3 * 0.01, 2 * 0.03, 2 * 0.03]),
        ("bonferroni", [3 * 0.01, 3 * 0.04, 3 * 0.03]),
        ("bh", [3 * 0.01, 0.04, 0.04]),
        ("none", [0.01, 0.04, 0.03]),
    ],
)
def test_p_values_are_adjusted_in_any_order(correction, expected):
    assert statistics.adjusted([0.01, 0.04, 0.03], correction) == pytest.approx(expected)
    assert len(statistics.adjusted([], correction)) == 0


def test_the_error_of_a_weighted_mean_is_that_of_weighted_least_squares():
    api = pytest.importorskip("statsmodels.api", reason="needs statsmodels")
    chance = np.random.default_rng(4)
    for n in (2, 5, 50, 500):
        apart, weight = chance.normal(0.02, 0.1, n), chance.exponential(1.0, n) + 0.01
        expected = api.WLS(apart, np.ones(n), weights=weight).fit(cov_type="HC1")
        assert statistics.weighted_error(apart, weight) == pytest.approx(expected.bse[0], rel=1e-12)


def test_a_weighted_interval_covers_the_true_difference():
    """With n - 1 degrees of freedom the coverage is 87 %."""
    draws, n, chance = 4_000, 50, np.random.default_rng(10)
    weight, apart = chance.lognormal(0, 1.5, (draws, n)), chance.normal(0, 0.1, (draws, n))
    mean = (weight * apart).sum(axis=1) / weight.sum(axis=1)
    error = np.array([statistics.weighted_error(*pair) for pair in zip(apart, weight, strict=True)])
    freedom = weight.sum(axis=1) ** 2 / (weight**2).sum(axis=1) - 1
    found = statistics.paired_t(n, mean, error * math.sqrt(n), freedom=freedom)
    assert np.mean((found["interval_low"] < 0) & (found["interval_high"] > 0)) > 0.91


@pytest.mark.parametrize(("n", "share_of_zeros", "truth", "coverage"), [(25, 0.0, 0.02, 0.950), (50, 0.9, 0.0, 0.975)])
def test_intervals_cover_the_truth_and_detectable_differences_are_found_as_often_as_they_say(
    n, share_of_zeros, truth, coverage
):
    draws, chance = 2_000, np.random.default_rng(2026)

    def tests_of(shift):
        changed = chance.random((draws, n)) >= share_of_zeros
        apart = np.where(changed, chance.normal(shift, 0.1, (draws, n)), 0.0)
        return statistics.paired_t(n, apart.mean(axis=1), apart.std(axis=1, ddof=1))

    found = tests_of(truth)
    covered = np.mean((found["interval_low"] <= truth) & (truth <= found["interval_high"]))
    assert covered == pytest.approx(coverage, abs=3 * math.sqrt(coverage * (1 - coverage) / draws))
    if share_of_zeros == 0:
        # One in twenty tests of nothing is a false alarm.
        assert np.mean(tests_of(0.0)["p_value"] < 0.05) == pytest.approx(0.05, abs=3 * math.sqrt(0.05 * 0.95 / draws))
        detectable = float(statistics.paired_t(n, 0.0, 0.1)["minimum_detectable"])
        assert np.mean(tests_of(detectable)["p_value"] < 0.05) == pytest.approx(
            0.8, abs=3 * math.sqrt(0.8 * 0.2 / draws)
        )
