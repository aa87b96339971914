"""The measures of the catalog in plain Python, beside arithmetic by hand."""

from itertools import permutations
from math import log2, sqrt

import pytest
from shown import usage_of

from ndcg_spark.catalog_reference import (
    Item,
    categories,
    coverage,
    exposures,
    gini,
    novelty,
    personalization,
    popularity,
    run_measures,
)

ITEMS = {
    "a": Item(8.0, 10.0, "x"),
    "b": Item(2.0, 6.0, "x"),
    "c": Item(0.0, 0.0, "y"),
}
USAGE = usage_of(ITEMS.values(), 8.0)
SHOWN = ["a", "b", "c", "new"]


@pytest.mark.parametrize(
    ("options", "cutoff", "expected"),
    [
        ({}, 2, (0 + log2(8 / 2)) / 2),
        ({}, 3, (0 + 2 + log2(8 / 1)) / 3),
        ({}, 4, (0 + 2 + 3 + 3) / 4),
        ({}, None, (0 + 2 + 3 + 3) / 4),
        ({"novelty_unseen": "drop"}, 4, (0 + 2) / 2),
        ({"novelty_unseen": "zero"}, 4, (0 + 2) / 4),
        ({"novelty_over": "k"}, 10, (0 + 2 + 3 + 3) / 10),
        ({"novelty_scale": "share"}, 2, (0 + 2) / log2(8) / 2),
        ({"novelty_of": "interactions"}, 2, (log2(16 / 10) + log2(16 / 6)) / 2),
    ],
)
def test_novelty(options, cutoff, expected):
    assert novelty(SHOWN, ITEMS, USAGE, options, cutoff) == pytest.approx(expected, abs=1e-15)


@pytest.mark.parametrize(
    ("options", "cutoff", "expected"),
    [
        ({}, 2, (8 + 2) / 2),
        ({}, 4, (8 + 2) / 4),
        ({"popularity_unseen": "drop"}, 4, (8 + 2) / 2),
        ({"popularity_of": "interactions"}, 2, (10 + 6) / 2),
        ({"popularity_of": "interactions", "popularity_scale": "share"}, 2, (10 + 6) / 16 / 2),
        ({"popularity_scale": "share"}, 2, (8 + 2) / 8 / 2),
        ({"popularity_scale": "max"}, 2, (8 + 2) / 8 / 2),
    ],
)
def test_popularity(options, cutoff, expected):
    assert popularity(SHOWN, ITEMS, USAGE, options, cutoff) == pytest.approx(expected, abs=1e-15)


def test_categories_are_over_k_and_those_that_are_unknown_do_not_count():
    assert categories(SHOWN, ITEMS, 2) == 1 / 2
    assert categories(SHOWN, ITEMS, 10) == 2 / 10
    assert categories(SHOWN, ITEMS, None) == 2 / 4


def test_nothing_on_a_list_has_no_measure():
    assert novelty([], ITEMS, USAGE, {}, 5) is None
    assert popularity(["new"], ITEMS, USAGE, {"popularity_unseen": "drop"}, 5) is None
    assert categories([], ITEMS, 5) is None


def test_coverage_is_of_the_catalog_and_counts_others_if_asked():
    assert coverage({"a", "new"}, {"a", "b", "c"}, {}) == 1 / 3
    assert coverage({"a", "new"}, {"a", "b", "c"}, {"coverage_unknown": "count"}) == 2 / 3


def test_gini_is_half_the_mean_difference_over_the_mean():
    lists = [["a", "b"], ["a", "new"], ["a"]]
    exposure = exposures(lists, {})
    assert exposure == {"a": 3, "b": 1, "new": 1}
    for options, values, divisor in (
        ({}, [0, 1, 3], 3),
        ({"gini_of": "shown"}, [1, 1, 3], 3),
        ({"gini_of": "shown", "gini_divisor": "n-1"}, [1, 1, 3], 2),
    ):
        apart = sum(abs(one - other) for one, other in permutations(values, 2))
        expected = apart / (2 * divisor * sum(values))
        assert gini(exposure, {"a", "b", "c"}, options) == pytest.approx(expected, abs=1e-15)
    assert exposures(lists, {"gini_p": "0.5"}) == {"a": 3, "b": 0.5, "new": 0.5}


def test_personalization_is_one_minus_the_mean_cosine_of_two_lists():
    lists = [["a", "b"], ["a", "c", "d"], ["e"], ["a", "b"]]
    cosines = []
    for one, other in permutations(lists, 2):
        cosines.append(len({*one} & {*other}) / sqrt(len(one) * len(other)))
    expected = 1 - sum(cosines) / len(cosines)
    assert personalization(lists) == pytest.approx(expected, abs=1e-15)
    assert personalization(lists[:1]) is None


def test_a_run_is_measured_over_all_of_its_lists_within_the_cutoff():
    run = run_measures([["a", "new"], ["a", "b", "c"], []], ITEMS, {}, 2)
    assert (run.lists, run.items, run.unknown) == (2, 3, 1)
    assert run.coverage == 2 / 3
