"""The extremes of NDCG over all judgments of unjudged documents, against all assignments one by one."""

import functools
import itertools
import math
import random
import subprocess
import sys

import numpy as np
import pytest
from pyspark import cloudpickle

from ndcg_spark import reference
from ndcg_spark.scoring import bounds
from ndcg_spark.scoring.extremes import Rules, at_cutoffs, extremes

DISCOUNTS = np.array([1 / math.log2(rank + 1) for rank in range(1, 60)])


def one_by_one(listed, others, cutoff, gains, nothing):
    """The least and the largest NDCG of a list of gains (None: unjudged) over all assignments, NaN if there is none."""
    within = listed[:cutoff]
    unjudged = [at for at, gain in enumerate(within) if gain is None]
    judged = [*others, *(gain for gain in listed if gain is not None)]
    scores = []
    for assigned in itertools.product(gains, repeat=len(unjudged)):
        filled = dict(zip(unjudged, assigned, strict=True))
        dcg = sum((filled.get(at, gain) or 0.0) * DISCOUNTS[at] for at, gain in enumerate(within))
        ideal = sorted([*judged, *assigned], reverse=True)[:cutoff]
        ideal_dcg = sum(gain * DISCOUNTS[at] for at, gain in enumerate(ideal))
        scores.append(dcg / ideal_dcg if ideal_dcg > 0 else nothing)
    known = [score for score in scores if not math.isnan(score)]
    return (min(known), max(known)) if known else (math.nan, math.nan)


def found(listed, others, cutoff, gains, nothing):
    within = listed[:cutoff]
    dcg = sum(gain * DISCOUNTS[at] for at, gain in enumerate(within) if gain is not None)
    ranks = np.array([at + 1 for at, gain in enumerate(within) if gain is None], dtype=int)
    judged = np.array([*others, *(gain for gain in listed if gain is not None)])
    counts = np.array([[(judged >= gain).sum() for gain in gains]])
    low, high = extremes(np.array([dcg]), [ranks], counts, np.array([cutoff]), np.array(gains), DISCOUNTS, nothing)
    return low[0], high[0]


@pytest.mark.parametrize("gains", [[0.0, 1.0], [0.0, 1.0, 3.0, 7.0], [0.5, 1.0, 2.0], [0.0, 2.5, 3.0]])
def test_the_bounds_are_the_extremes_of_all_assignments(gains):
    rng = random.Random(4)  # noqa: S311  # it makes test data
    for _ in range(150):
        listed = [rng.choice([None, rng.choice(gains)]) for _ in range(rng.randrange(1, 7))]
        others = [rng.choice(gains) for _ in range(rng.randrange(4))]
        case = (listed, others, rng.choice([1, 2, 3, 5, 40]), gains, rng.choice([math.nan, 0.0, 1.0]))
        assert found(*case) == pytest.approx(one_by_one(*case), abs=1e-12, nan_ok=True), case


def test_the_best_grade_for_every_document_is_not_always_the_best_score():
    # One relevant document at rank 1; another one at rank 5 would make the ideal better than the list.
    low, high = found([7.0, 0.0, 0.0, 0.0, None], [], 5, [0.0, 7.0], math.nan)
    assert high == 1.0
    assert low == pytest.approx((1 + 1 / math.log2(6)) / (1 + 1 / math.log2(3)))


def test_long_lists_are_done_in_parts_and_each_has_the_bounds_that_it_has_alone():
    rng = np.random.default_rng(3)
    ranks = [np.sort(rng.choice(np.arange(1, 1001), size=700, replace=False)) for _ in range(2000)]
    dcg = rng.uniform(0, 3, size=(2000, 1))
    judged = [np.array([1.0, 1.0, 0.0])] * 2000

    def bounds_of(lists):
        discounts = lambda size: 1 / np.log2(np.arange(2.0, size + 2))  # noqa: E731
        arguments = [list(dcg[lists]), [ranks[at] for at in lists], [1000] * len(lists), [judged[at] for at in lists]]
        return at_cutoffs(*arguments, np.array([0.0, 1.0]), Rules([None], discounts, 0.0, False, math.nan))

    together = bounds_of(list(range(2000)))
    assert [together[at] for at in (0, 999, 1999)] == [bounds_of([at])[0] for at in (0, 999, 1999)]


def test_discounts_that_increase_have_no_bounds():
    with pytest.raises(ValueError, match="do not increase"):
        at_cutoffs(
            [np.array([1.0])],
            [np.array([2])],
            [2],
            [np.array([1.0])],
            np.array([0.0, 1.0]),
            Rules([2], lambda size: np.arange(1.0, size + 1), 0.0, False, math.nan),
        )


WORKER = """
import pickle, sys
sys.modules["ndcg_spark"] = None
rules, at_cutoffs, arguments = pickle.load(sys.stdin.buffer)
print(at_cutoffs(*arguments, rules))
"""


def test_a_worker_of_a_cluster_that_lacks_the_package_finds_the_same_extremes():
    bounds.send_to_workers()
    rules = Rules([2], functools.partial(reference.discounts, rule="log2"), 0.0, False, math.nan)
    arguments = ([np.array([1.0])], [np.array([2])], [2], [np.array([1.0])], np.array([0.0, 1.0]))
    sent = cloudpickle.dumps((rules, at_cutoffs, arguments))
    done = subprocess.run([sys.executable, "-c", WORKER], input=sent, capture_output=True, check=True)
    assert done.stdout.decode().strip() == str(at_cutoffs(*arguments, rules))
