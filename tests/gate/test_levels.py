"""How often the example's gate is wrong, by simulated nights: few here, more with --slow, 1,000 in gate_levels.py."""

import numpy as np
import pytest
from gate_levels import (
    LOSSES,
    broken_slices,
    example,
    falsely_ruled_out,
    nights_of,
    replaced_tops,
    resampled,
    shares,
    symmetric,
    zero_inflated,
)

#: Of pairs of runs that answer most queries alike, and some not at all.
PAIRS = resampled(np.random.default_rng(5).beta(2, 1, (30, 12)) * (np.random.default_rng(6).random((30, 12)) < 0.8))


@pytest.mark.parametrize("noise", [symmetric, zero_inflated, PAIRS])
def test_a_system_that_does_not_change_seldom_fails(noise):
    # Of 150 nights at a rate of 3 %, 8 or fewer in 96 %.
    assert shares(nights_of(example(), 50, 0.05, noise, 150))["fail"] <= 8 / 150


@pytest.mark.slow
@pytest.mark.parametrize("noise", [symmetric, zero_inflated])
@pytest.mark.parametrize("deviation", [0.02, 0.05, 0.1])
@pytest.mark.parametrize("n", [50, 200])
def test_a_system_that_does_not_change_fails_in_at_most_three_of_a_hundred_nights(n, deviation, noise):
    assert shares(nights_of(example(), n, deviation, noise, 300))["fail"] <= 0.03


def test_a_loss_that_is_there_is_hardly_ever_ruled_out():
    for shape in LOSSES:
        assert max(falsely_ruled_out(shape, n, 40) for n in (50, 100)) <= 0.025


@pytest.mark.slow
@pytest.mark.parametrize("shape", LOSSES)
@pytest.mark.parametrize("n", [50, 100, 200, 400, 1000])
def test_a_loss_that_is_there_is_ruled_out_in_at_most_one_of_forty_nights(shape, n):
    assert falsely_ruled_out(shape, n, 400) <= 0.025


def test_lost_documents_and_a_broken_slice_are_found():
    assert replaced_tops(example(), 40) >= 0.95
    assert min(broken_slices(n, 0.05, 20) for n in (200, 1000)) >= 0.95


def test_a_drift_that_no_night_shows_is_found_by_the_anchor():
    found = [number for number, each in nights_of(example(), 200, 0.05, symmetric, 100, drift=0.001) if each.exit_code]
    first = [number for number, before in zip(found, [99, *found], strict=False) if number < before]
    assert len(first) == 2
    assert max(first) <= 15
