"""The randomization test: beside every sign counted out, and the same whatever the order of the rows."""

import itertools
import math

import numpy as np
import pytest
from paired import pairs_of

from ndcg_spark.comparison.randomization import REPLICATES, p_values


def units(n):
    return [f"q{at}" for at in range(n)]


def exact(apart):
    """The share of all signs whose sum is as far from 0 as the one that was seen."""
    signs = np.array(list(itertools.product([1.0, -1.0], repeat=len(apart))))
    return np.mean(np.abs(signs @ apart) >= abs(apart.sum()) - 1e-9)


@pytest.mark.parametrize("kind", ["normal", "skewed", "discrete"])
@pytest.mark.parametrize("n", [3, 8, 13])
def test_it_agrees_with_every_sign_counted_out(kind, n):
    for seed in range(5):
        baseline, run = pairs_of(kind, n, seed)
        expected = exact(run - baseline)
        # 3.5 errors, as 45 p values are compared; and the 1 that is added above and below.
        error = 3.5 * math.sqrt(expected * (1 - expected) / REPLICATES) + 1 / REPLICATES
        assert p_values(units(n), (run - baseline)[:, None], seed) == pytest.approx(expected, abs=error)


def test_the_least_p_value_is_one_in_as_many_as_were_drawn():
    assert p_values(units(200), np.ones((200, 1))) == pytest.approx(1 / (REPLICATES + 1))


def test_a_sum_of_nothing_is_as_large_as_any():
    assert p_values(units(4), np.array([[0.5, 0.0], [-0.5, 0.0], [0.1, 0.0], [-0.1, 0.0]])) == pytest.approx(1.0)


def test_neither_the_order_of_rows_nor_what_else_is_compared_changes_it():
    chance = np.random.default_rng(1)
    apart = chance.normal(0.03, 0.1, (700, 3))
    order = chance.permutation(700)
    names = units(700)
    together = p_values(names, apart, 5)
    assert p_values([names[at] for at in order], apart[order], 5).tolist() == together.tolist()
    assert [p_values(names, apart[:, [at]], 5)[0] for at in range(3)] == together.tolist()


def test_another_seed_draws_other_signs():
    apart = np.random.default_rng(2).normal(0.02, 0.1, (60, 1))
    found = {float(p_values(units(60), apart, seed)[0]) for seed in range(5)}
    assert len(found) > 1
    assert max(found) - min(found) < 6 * math.sqrt(0.25 / REPLICATES)


def test_signs_of_a_replicate_are_as_good_as_independent():
    """Were two queries' signs alike in most replicates, the p value of their difference would be far from 0.5."""
    apart = np.zeros((64, 63))
    apart[0] = 1.0
    apart[np.arange(1, 64), np.arange(63)] = 1.0
    # |+-1 +-1| is 2 in half of all replicates.
    assert p_values(units(64), apart) == pytest.approx(0.5, abs=4.5 * math.sqrt(0.25 / REPLICATES))
