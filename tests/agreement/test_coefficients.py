"""Coefficients of agreement beside scikit-learn and published values; rank correlations beside scipy and all orders."""

import itertools

import numpy as np
import pytest

from ndcg_spark.agreement import kappa, krippendorff_alpha, tau_ap, tau_b

#: The coincidences of Krippendorff's example of four observers and twelve units (2011, section C), whose ordinal alpha
#: he publishes as 0.815; and of his two observers of ten units with the grades 0 and 1 (section A), 0.095.
FOUR_OBSERVERS = [
    [7, 4 / 3, 1 / 3, 1 / 3, 0],
    [4 / 3, 10, 4 / 3, 1 / 3, 0],
    [1 / 3, 4 / 3, 8, 1 / 3, 0],
    [1 / 3, 1 / 3, 1 / 3, 4, 0],
    [0, 0, 0, 0, 3],
]
MEG, OWEN = [0, 1, 0, 0, 0, 0, 0, 0, 1, 0], [1, 1, 1, 0, 0, 1, 0, 0, 0, 0]


def matrix(a, b, grades):
    counts = np.zeros((grades, grades))
    np.add.at(counts, (a, b), 1)
    return counts


def test_krippendorffs_alpha_has_the_values_that_he_published():
    assert krippendorff_alpha(FOUR_OBSERVERS) == pytest.approx(0.815, abs=5e-4)
    counts = matrix(MEG, OWEN, 2)
    assert krippendorff_alpha(counts + counts.T) == pytest.approx(0.095, abs=5e-4)


def test_alpha_is_one_minus_observed_over_expected_disagreement_of_every_pair_of_values():
    random = np.random.default_rng(3)
    a, b = random.integers(0, 4, (2, 60))
    values = np.concatenate([a, b])
    count = np.bincount(values, minlength=4)

    def distance(c, k):
        low, high = min(c, k), max(c, k)
        return (count[low : high + 1].sum() - (count[low] + count[high]) / 2) ** 2

    observed = np.mean([distance(one, other) for one, other in zip(a, b, strict=True)])
    expected = np.mean([distance(one, other) for one, other in itertools.permutations(values, 2)])
    counts = matrix(a, b, 4)
    assert krippendorff_alpha(counts + counts.T) == pytest.approx(1 - observed / expected, abs=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(5))
def test_kappa_is_that_of_scikit_learn(seed):
    metrics = pytest.importorskip("sklearn.metrics")
    a, b = np.random.default_rng(seed).integers(0, 4, (2, 50))
    for weights in (None, "quadratic"):
        expected = metrics.cohen_kappa_score(a, b, labels=range(4), weights=weights)
        assert kappa(matrix(a, b, 4), weights == "quadratic") == pytest.approx(expected, abs=1e-12)


def test_agreement_beyond_chance_has_no_value_where_all_grades_are_the_same():
    for counts in ([[5, 0], [0, 0]], [[0, 0], [0, 0]]):
        assert np.isnan([kappa(counts), kappa(counts, is_quadratic=True), krippendorff_alpha(counts)]).all()


@pytest.mark.parametrize("levels", [3, 1000])
def test_tau_b_is_that_of_scipy_with_ties_and_without(levels):
    from scipy import stats

    a, b = np.random.default_rng(levels).integers(0, levels, (2, 40)) / levels
    assert tau_b(a, b) == pytest.approx(stats.kendalltau(a, b).statistic, abs=1e-12)


def test_a_rounding_error_is_no_difference_between_runs():
    assert np.isnan(tau_b([0.1 + 0.2, 0.3], [0.5, 0.6]))


def test_tau_ap_is_larger_where_the_mistake_is_at_the_bottom():
    # By the definition: 2 / 3 * (C(2) / 1 + C(3) / 2 + C(4) / 3) - 1.
    reference = [4, 3, 2, 1]
    assert tau_ap(reference, [4, 3, 2, 1]) == pytest.approx(1)
    assert tau_ap(reference, [1, 2, 3, 4]) == pytest.approx(-1)
    assert tau_ap(reference, [3, 4, 2, 1]) == pytest.approx(2 / 3 * (0 / 1 + 2 / 2 + 3 / 3) - 1)
    assert tau_ap(reference, [4, 3, 1, 2]) == pytest.approx(2 / 3 * (1 / 1 + 2 / 2 + 2 / 3) - 1)
    assert tau_b(reference, [3, 4, 2, 1]) == pytest.approx(tau_b(reference, [4, 3, 1, 2]))


def test_tied_runs_have_the_mean_tau_ap_of_all_their_orders():
    a, b = [5, 4, 4, 2, 1, 3], [0.3, 0.7, 0.3, 0.7, 0.3, 0.1]
    every = []
    for places in itertools.permutations(range(6)):
        sequence = np.array(places)
        if all(b[one] >= b[other] for one, other in itertools.pairwise(sequence)):
            terms = [
                sum((np.sign(a[j] - a[sequence[rank]]) + 1) / 2 for j in sequence[:rank]) / rank for rank in range(1, 6)
            ]
            every.append(2 / 5 * sum(terms) - 1)
    assert len(every) == 2 * 6
    assert tau_ap(a, b) == pytest.approx(np.mean(every), abs=1e-12)
