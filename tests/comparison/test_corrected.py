"""The difference that grades of people correct: exact, by simulation, and beside the theory."""

import itertools
import math

import judges
import numpy as np
import pytest
from judges import DISCOUNTS, GAINS
from scipy import stats

from ndcg_spark.comparison.corrected import (
    FEWEST_ERRORS,
    MovedDocuments,
    corrected_difference,
    grade_steps,
)
from ndcg_spark.comparison.human_sample import errors_by_grade, grade_name, probabilities

#: A case that can be enumerated: eight documents of three queries.
QUERY = [0, 0, 0, 1, 1, 2, 2, 2]
WEIGHTS = [0.5, -0.2, 0.1, 0.3, -0.4, 0.25, -0.05, 0.6]
MACHINE = [3, 0, 1, 2, math.nan, 0, 1, 3]
PEOPLE = [1, 0, 3, 2, 2, 1, 1, 0]


def moved(query=QUERY, weights=WEIGHTS, machine=MACHINE, gains=GAINS, **more):
    grade = np.array(machine, float)
    return MovedDocuments(
        queries=[f"q{at}" for at in range(max(query) + 1)],
        query=np.array(query),
        doc_ids=[f"d{at}" for at in range(len(query))],
        weight=np.array(weights),
        grade=grade,
        gain=np.where(np.isnan(grade), 0, 2 ** np.nan_to_num(grade) - 1),
        baseline=np.full(max(query) + 1, 0.4),
        gains=np.asarray(gains, float),
        **more,
    )


def human(grades=PEOPLE):
    return 2.0 ** np.array(grades, float) - 1


def sampled(documents, pi, drawn, gains=None):
    gains = human() if gains is None else gains
    drawn = np.array(drawn, bool)
    return corrected_difference(documents, pi, np.where(drawn, gains, np.nan), drawn)


def test_over_all_samples_the_mean_is_the_truth_and_the_variance_that_of_poisson_sampling():
    documents = moved()
    pi = probabilities(documents, 4)
    truth = np.sum(documents.weight * human()) / 3
    mean = square = covered = 0.0
    for drawn in itertools.product([False, True], repeat=8):
        chance = np.prod(np.where(drawn, pi, 1 - pi))
        found = sampled(documents, pi, drawn)
        mean += chance * found.difference
        square += chance * found.difference**2
        covered += chance * (found.these_queries.low <= truth <= found.these_queries.high)
    assert mean == pytest.approx(truth, abs=1e-14)
    errors = (human() - documents.gain) ** 2
    exact = np.sum((1 - pi) / pi * documents.weight**2 * errors) / 9
    assert square - mean**2 == pytest.approx(exact, rel=1e-10)
    # Four documents say little about how large the errors are.
    assert covered > 0.8
    machine = np.sum(documents.weight * documents.gain) / 3
    assert found.machine == pytest.approx(machine, abs=1e-15)
    assert abs(machine - truth) > 0.5


def test_the_standard_error_is_that_of_the_errors_and_of_one_grade_step_more():
    # Two documents of one grade; one is drawn, and graded 3 in place of 1.
    documents = moved([0, 1], [0.4, 0.4], [1, 1])
    pi = np.array([0.5, 0.5])
    found = sampled(documents, pi, [True, False], human([3, 1]))
    assert found.difference == pytest.approx((0.4 * 1 + 0.4 * 1 + 0.4 * (7 - 1) / 0.5) / 2)
    # The next gain above that of 1 is 3, the one below 0: the farther step is 2.
    spread = ((7 - 1) ** 2 + 2**2) / 2
    error = math.sqrt(2 * (1 - 0.5) / 0.5 * 0.4**2 * spread) / 2
    assert found.these_queries.error == pytest.approx(error)
    values = np.array([0.4 + 0.4 * 6 / 0.5, 0.4])
    assert found.all_queries.error == pytest.approx(values.std(ddof=1) / math.sqrt(2))
    assert found.relative(found.difference) == pytest.approx(found.difference / 0.4)
    assert (found.graded, found.errors, found.flags) == (1, 1, ["few_errors"])


def test_errors_of_a_grade_are_weighted_as_the_variance_is():
    documents = moved([0, 1, 2], [0.4, 0.2, 0.3], [0, 0, 0])
    pi = np.array([0.5, 0.8, 0.5])
    found = sampled(documents, pi, [True, True, False], human([1, 2, 0]))
    weights = (1 - pi) * documents.weight**2 / pi**2
    first, second = weights[:2] / weights[:2].mean()
    spread = (first * 1**2 + second * 3**2 + 1**2) / 3
    error = math.sqrt(np.sum((1 - pi) / pi * documents.weight**2 * spread)) / 3
    assert found.these_queries.error == pytest.approx(error)
    # Two grades, so one degree of freedom; those of all queries are of both sources.
    assert found.these_queries.high - found.difference == pytest.approx(
        error * stats.t.ppf(0.975, 1)
    )
    wide = found.all_queries
    share = min(error / wide.error, 1) ** 2
    freedom = 1 / (share**2 / 1 + (1 - share) ** 2 / 2)
    half = wide.error * stats.t.ppf(0.975, freedom)
    assert wide.high - found.difference == pytest.approx(half)
    p = 2 * stats.t.sf(abs(found.difference / wide.error), freedom)
    assert wide.p_value == pytest.approx(p)


def test_a_judge_that_makes_no_error_in_the_sample_still_has_an_interval():
    documents = moved([0, 1, 2], [0.3, 0.2, 0.1], [0, 2, 3])
    pi = np.full(3, 0.5)
    found = sampled(documents, pi, [True] * 3, human([0, 2, 3]))
    assert found.difference == found.machine
    # One of two errors is a step: 1 for grade 0, and 4 for grades 2 and 3.
    spread = np.array([1, 16, 16]) / 2
    error = math.sqrt(np.sum(np.array([0.3, 0.2, 0.1]) ** 2 * spread)) / 3
    assert found.these_queries.error == pytest.approx(error)


@pytest.mark.parametrize(
    ("gains", "machine", "steps"),
    [
        (GAINS, [0, 1, 2, 3], [1, 2, 4, 4]),
        ([0, 1], [1, math.nan], [1, 1]),
        ([1], [1, 1], [1, 1]),
        ([3], [2], [3]),
    ],
)
def test_a_grade_step_is_the_farther_of_both(gains, machine, steps):
    documents = moved([0] * len(machine), [0.1] * len(machine), machine, gains)
    assert grade_steps(documents).tolist() == steps


def test_where_all_documents_are_graded_nothing_is_left_to_chance():
    documents = moved()
    found = sampled(documents, probabilities(documents, 8), [True] * 8)
    truth = np.sum(documents.weight * human()) / 3
    assert found.difference == pytest.approx(truth)
    assert found.these_queries == (0.0, found.difference, found.difference, None)
    assert found.flags == ["all_graded"]


def test_blank_grades_count_as_if_they_had_been_drawn_less_often():
    documents = moved()
    pi = np.full(8, 0.5)
    drawn = np.array([1, 1, 1, 1, 0, 0, 0, 0], bool)
    gains = np.where(drawn, human(), np.nan)
    gains[1] = np.nan
    found = corrected_difference(documents, pi, gains, drawn)
    errors = documents.weight * (human() - documents.gain)
    added = errors[[0, 2, 3]].sum() / (0.5 * 3 / 4)
    assert found.difference == pytest.approx(found.machine + added / 3)
    assert (found.drawn, found.graded) == (4, 3)
    assert "missing_grades" in found.flags


def test_few_errors_are_flagged():
    grades = [0] * FEWEST_ERRORS * 2
    documents = moved([0] * len(grades), [0.1] * len(grades), grades)
    pi = np.full(len(grades), 0.9)
    for wrong, flags in ((FEWEST_ERRORS - 1, ["few_errors"]), (FEWEST_ERRORS, [])):
        people = [1] * wrong + [0] * (len(grades) - wrong)
        assert sampled(documents, pi, [True] * len(grades), human(people)).flags == flags


def test_probabilities_follow_the_sizes_and_add_up():
    documents = moved()
    sizes = np.abs(documents.weight)
    assert probabilities(documents, 2) == pytest.approx(2 * sizes / sizes.sum())
    before = np.zeros(8)
    for many in range(1, 9):
        pi = probabilities(documents, many)
        assert pi.sum() == pytest.approx(many)
        assert pi.max() <= 1
        # More documents contain those that were drawn before.
        assert np.all(pi >= before - 1e-15)
        before = pi
    assert np.all(probabilities(documents, 100) == 1)


def test_more_is_drawn_where_the_machine_errs_more():
    documents = moved([0, 0, 0], [0.1, 0.1, 0.1], [0, 1, 3])
    # Nobody has graded a 3 yet, so that it may be as wrong as the worst.
    pi = probabilities(documents, 1, {"0": 1.0, "1": 3.0})
    assert pi == pytest.approx(np.array([1, 3, 3]) / 7)
    found = errors_by_grade(documents, np.full(3, 0.5), human([0, 3, math.nan]))
    assert found == {"0": ((0 + 1) / 2, 1), "1": ((36 + 4) / 2, 1)}


@pytest.mark.parametrize("judge", judges.JUDGES)
def test_whatever_the_judge_the_mean_is_the_truth_and_the_interval_covers_it(judge):
    rng = np.random.default_rng(3)
    population = judges.population(150, "inserted", judge, rng)
    draws = 400
    for many in (20, 100):
        pi = probabilities(population.moved, many)
        found = [population.estimate(pi, rng) for _ in range(draws)]
        means = np.array([one.difference for one in found])
        off = abs(means.mean() - population.truth)
        assert off < 4 * means.std() / math.sqrt(draws)
        ends = [one.these_queries[1:3] for one in found]
        covered = sum(low <= population.truth <= high for low, high in ends)
        # At least 93.5 %, within three standard errors; 2,000 draws are in scripts.
        assert covered / draws > 0.935 - 3 * math.sqrt(0.05 * 0.95 / draws)


@pytest.mark.parametrize("judge", ["biased", "useless"])
def test_the_wider_interval_covers_the_difference_over_all_queries(judge):
    rng = np.random.default_rng(4)
    whole = judges.population(3_000, "inserted", judge, rng)
    covered, draws = 0, 300
    for _ in range(draws):
        some = whole.of_queries(rng.integers(0, 3_000, 200))
        interval = some.estimate(probabilities(some.moved, 20), rng).all_queries
        covered += interval.low <= whole.truth <= interval.high
    assert covered / draws > 0.935 - 3 * math.sqrt(0.05 * 0.95 / draws)


@pytest.mark.parametrize("movement", judges.MOVEMENTS)
def test_beside_documents_drawn_at_random_the_error_is_as_small_as_the_theory_says(movement):
    population = judges.population(2_000, movement, "useless", np.random.default_rng(5))
    sizes = np.abs(population.moved.weight)
    squares = sizes**2 * (population.human - population.moved.gain) ** 2
    many = 25
    ways = probabilities(population.moved, many), np.full(len(sizes), many / len(sizes))
    ours, random = (math.sqrt(np.sum((1 - pi) / pi * squares)) for pi in ways)
    variation = sizes.std() / sizes.mean()
    assert ours / random == pytest.approx(1 / math.sqrt(1 + variation**2), rel=0.05)


def test_a_lenient_judge_makes_the_difference_smaller_and_keeps_its_sign():
    # One query, two documents that change places; the judge gives one grade more to both.
    change = DISCOUNTS[0] - DISCOUNTS[1]
    people = [2, 1]
    for lenient in (0, 1):
        grades = [grade + lenient for grade in people]
        gains = 2.0 ** np.array(grades) - 1
        ideal = gains @ DISCOUNTS[:2]
        documents = moved([0, 0], [change / ideal, -change / ideal], grades)
        found = sampled(documents, np.ones(2), [True] * 2, human(people))
        assert found.difference == pytest.approx(change * (3 - 1) / ideal)


def test_two_grades_have_two_names():
    assert {grade_name(grade) for grade in (1_234_567.0, 1_234_568.0, 2.0)} == {
        "1234567",
        "1234568",
        "2",
    }
