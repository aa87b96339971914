"""How numbers are written, everywhere in the same way."""

import pytest

from ndcg_spark.tables import format as numbers


@pytest.mark.parametrize(
    ("write", "value", "text"),
    [
        (numbers.score, 0.44331, "0.4433"),
        (numbers.score, None, "-"),
        # In binary this is a little less than 0.77075.
        (numbers.score, 0.77075, "0.7708"),
        (numbers.score, -1e-14, "0.0000"),
        (numbers.difference, 0.01126, "+0.0113"),
        (numbers.difference, -0.03631, "-0.0363"),
        (numbers.difference, -1e-9, "+0.0000"),
        (numbers.difference, None, "-"),
        (numbers.share, 0.974, "97%"),
        (numbers.share, 1.0, "100%"),
        (numbers.share, 0.996, "99.6%"),
        (numbers.share, 0.99999, "99.9%"),
        (numbers.share, 0.0, "0%"),
        (numbers.share, 0.004, "0.4%"),
        (numbers.share, 0.0001, "0.1%"),
        (numbers.share, -0.001, "0%"),
        (numbers.share, 1.2, "120%"),
        (numbers.share, None, "-"),
        (numbers.part, 0.974, "97%"),
        (numbers.part, 0.995, "all"),
        (numbers.part, 1.2, "all"),
        (numbers.p_value, 0.00271, "0.0027"),
        (numbers.p_value, 0.00009, "<0.0001"),
        (numbers.rounded_down, 12_345, "12,345"),
        (numbers.rounded_down, 12_345.0, "12,345"),
        # It is below 2,000, and does not look like it.
        (numbers.rounded_down, 1_999.96, "1,999.9"),
        (numbers.rounded_down, 2_000 - 1e-14, "2,000"),
        (numbers.rounded_down, 0.04, "0"),
        (numbers.level, 0.05, "95%"),
        (numbers.level, 0.025, "97.5%"),
    ],
)
def test_a_number_has_one_form(write, value, text):
    assert write(value) == text


def test_a_p_value_has_as_many_digits_as_show_its_side_of_alpha():
    assert numbers.p_value(0.04999, 0.05) == "0.04999"
    assert numbers.p_in_words(0.0027, 0.05) == "p = 0.0027"
    assert numbers.p_in_words(1e-7, 0.05) == "p < 0.0001"


def test_two_numbers_are_told_apart_if_they_differ():
    assert numbers.apart(0.1, 0.2) == ("0.1000", "0.2000")
    assert numbers.apart(0.100001, 0.1) == ("0.100001", "0.100000")
    assert numbers.apart(0.1, 0.1) == ("0.1000", "0.1000")


def test_things_are_counted():
    counts = [numbers.count(1, "query", "queries"), numbers.count(2_014, "file")]
    assert counts == ["1 query", "2,014 files"]
