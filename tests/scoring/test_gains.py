"""Gains of grades and discounts of ranks, against arithmetic."""

import math

import pytest
from pyspark.sql import functions as F

from ndcg_spark.convention.convention import Convention
from ndcg_spark.reference import unjudged_gain
from ndcg_spark.scoring.gains import discount, gain


def gains_of(session, grades, rule, **options):
    table = session.createDataFrame([(grade,) for grade in grades], "relevance double")
    return [row[0] for row in table.select(gain(F.col("relevance"), Convention(gain=rule, **options))).collect()]


def discounts_of(session, ranks, rule):
    table = session.createDataFrame([(rank,) for rank in ranks], "rank int")
    return [row[0] for row in table.select(discount(F.col("rank"), Convention(discount=rule))).collect()]


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("exp2", [2**-1 - 1, 2**0 - 1, 2**0.5 - 1, 2**3 - 1]),
        ("linear", [-1.0, 0.0, 0.5, 3.0]),
        ("binary", [0.0, 0.0, 1.0, 1.0]),
        ("judged", [1.0, 1.0, 1.0, 1.0]),
        ("python:numpy.square", [1.0, 0.0, 0.25, 9.0]),
    ],
)
def test_a_gain_is_its_rule_of_the_grade(session, rule, expected):
    assert gains_of(session, [-1.0, 0.0, 0.5, 3.0], rule) == pytest.approx(expected, rel=1e-15)


@pytest.mark.parametrize(("rule", "largest", "too_large"), [("exp2", 996.0, 997.0), ("linear", 1e300, 1.1e300)])
def test_a_grade_whose_gain_could_not_be_summed_has_none(session, rule, largest, too_large):
    largest_gain, *none = gains_of(session, [largest, too_large, math.inf, math.nan], rule)
    assert largest_gain == (2.0**996 - 1 if rule == "exp2" else 1e300)
    assert none == [None, None, None]
    assert gains_of(session, [-1e300, -1.1e300], "linear") == [-1e300, None]


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        ("log2", [1 / math.log2(1 + 1), 1 / math.log2(2 + 1), 1 / math.log2(3 + 1), 1 / math.log2(100 + 1)]),
        ("ln", [1 / math.log(1 + 1), 1 / math.log(2 + 1), 1 / math.log(3 + 1), 1 / math.log(100 + 1)]),
        ("position", [1 / 1, 1 / 2, 1 / 3, 1 / 100]),
        ("jarvelin", [1.0, 1.0, 1 / math.log2(3), 1 / math.log2(100)]),
        ("none", [1.0, 1.0, 1.0, 1.0]),
        ([0.9, 0.5, 0.25], [0.9, 0.5, 0.25, 0.0]),
        ("python:numpy.reciprocal", [1 / 1, 1 / 2, 1 / 3, 1 / 100]),
    ],
)
def test_a_discount_is_its_rule_of_the_rank(session, rule, expected):
    assert discounts_of(session, [1, 2, 3, 100], rule) == pytest.approx(expected, rel=1e-15)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"gain": "exp2"}, 0.0),
        ({"gain": "linear"}, 0.0),
        ({"gain": "binary"}, 0.0),
        ({"gain": "judged"}, 0.0),
        ({"gain": "exp2", "unjudged": 2}, 2**2 - 1),
        ({"gain": "linear", "unjudged": 2}, 2.0),
        ({"gain": "binary", "unjudged": 2}, 1.0),
        ({"gain": "binary", "unjudged": 0}, 0.0),
        ({"gain": {0: 0.1, 2: 5}}, 0.1),
        ({"gain": {1: 3, 2: 5}}, 0.0),
        ({"gain": {0: 0.1, 2: 5}, "unjudged": 2}, 5.0),
        ({"gain": "python:numpy.exp"}, math.exp(0)),
        ({"gain": "python:numpy.exp", "unjudged": 2}, math.exp(2)),
    ],
)
def test_an_unjudged_document_has_the_gain_of_its_policys_grade(options, expected):
    assert unjudged_gain(Convention(**options)) == expected
