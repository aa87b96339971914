"""Gains of grades and discounts of ranks, against arithmetic; the Columns of both are compared in test_properties."""

import math

import pytest
from tables import assert_table, of_tuples

from ndcg_spark.convention.convention import Convention
from ndcg_spark.reference import discounts, unjudged_gain
from ndcg_spark.reference import gain as reference_gain
from ndcg_spark.scoring.ideal import gain


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
def test_a_gain_is_its_rule_of_the_grade(rule, expected):
    convention = Convention(gain=rule, negative="keep")
    assert [reference_gain(grade, convention) for grade in (-1.0, 0.0, 0.5, 3.0)] == pytest.approx(
        expected, rel=1e-15
    )


@pytest.mark.parametrize(
    ("rule", "grades", "expected"),
    [
        ("exp2", [996.0, 997.0, math.inf, math.nan], [2.0**996 - 1, None, None, None]),
        ("linear", [1e300, 1.1e300, -1e300, -1.1e300, math.inf], [1e300, None, -1e300, None, None]),
    ],
)
def test_a_grade_whose_gain_could_not_be_summed_has_none(session, rule, grades, expected):
    table = of_tuples(session, enumerate(grades), "place int, relevance double")
    gains = table.select("place", gain("relevance", Convention(gain=rule)).alias("gain"))
    assert_table(gains, "place int, gain double", *enumerate(expected))


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        (
            "log2",
            [
                1 / math.log2(1 + 1),
                1 / math.log2(2 + 1),
                1 / math.log2(3 + 1),
                1 / math.log2(4 + 1),
            ],
        ),
        (
            "ln",
            [1 / math.log(1 + 1), 1 / math.log(2 + 1), 1 / math.log(3 + 1), 1 / math.log(4 + 1)],
        ),
        ("position", [1 / 1, 1 / 2, 1 / 3, 1 / 4]),
        ("jarvelin", [1.0, 1.0, 1 / math.log2(3), 1 / math.log2(4)]),
        ("none", [1.0, 1.0, 1.0, 1.0]),
        ((0.9, 0.5, 0.25), [0.9, 0.5, 0.25, 0.0]),
        ("python:numpy.reciprocal", [1 / 1, 1 / 2, 1 / 3, 1 / 4]),
    ],
)
def test_a_discount_is_its_rule_of_the_rank(rule, expected):
    assert discounts(4, rule) == pytest.approx(expected, rel=1e-15)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        *(({"gain": name}, 0.0) for name in ("exp2", "linear", "binary", "judged")),
        ({"gain": "exp2", "unjudged": 2}, 2**2 - 1),
        ({"gain": "binary", "unjudged": 2}, 1.0),
        ({"gain": {1: 3, 2: 5}}, 0.0),
        ({"gain": {0: 0.1, 2: 5}, "unjudged": 2}, 5.0),
        ({"gain": "python:numpy.exp", "unjudged": 2}, math.exp(2)),
    ],
)
def test_an_unjudged_document_has_the_gain_of_its_policys_grade(options, expected):
    assert unjudged_gain(Convention(**options)) == expected
