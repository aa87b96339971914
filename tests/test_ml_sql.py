"""The SQL text of the evaluator, one function at a time: values by the engine, and by arithmetic."""

import math

import pytest

from ndcg_spark import Convention, ml_sql

STANDARD = Convention.parse("standard")


def value(session, text):
    return session.range(1).selectExpr(f"{text} as value").collect()[0]["value"]


def of(options):
    return Convention.parse(f"standard {options}")


@pytest.mark.parametrize(
    ("given", "kind", "text"),
    [
        ("7.0D", "double", "7"),
        ("7.5D", "double", None),
        ("9007199254740992D", "double", None),
        ("cast(16777216 as float)", "float", None),
        ("cast('NaN' as double)", "double", None),
        ("cast(-3 as decimal(10,2))", "decimal(10,2)", "-3"),
        ("cast(7 as bigint)", "bigint", "7"),
        ("'007'", "string", "007"),
    ],
)
def test_an_id_is_text_if_it_is_whole(session, given, kind, text):
    assert value(session, ml_sql.whole_text(given, kind)) == text


@pytest.mark.parametrize(
    ("given", "kind", "is_empty"),
    [("''", "string", True), ("'0'", "string", False), ("0L", "bigint", False)],
)
def test_an_id_of_no_letters_is_empty(session, given, kind, is_empty):
    assert value(session, ml_sql.is_empty(given, kind)) is is_empty
    assert value(session, ml_sql.is_empty(f"nullif({given}, {given})", kind)) is True


def test_a_number_has_no_negative_zero_and_is_finite_or_not(session):
    assert math.copysign(1, value(session, ml_sql.as_double("-0.0D", "double"))) == 1
    assert value(session, ml_sql.as_double("cast(0.1 as decimal(6,1))", "decimal(6,1)")) == 0.1
    for text, is_finite in [("1D", True), ("cast('Infinity' as double)", False)]:
        assert value(session, ml_sql.is_finite(text)) is is_finite
    for text in ("cast('NaN' as double)", "cast(null as double)"):
        assert value(session, ml_sql.is_finite(text)) is False


@pytest.mark.parametrize(
    ("rank", "is_rank"),
    [("1D", True), ("2147483647D", True), ("0D", False), ("1.5D", False), ("2147483648D", False)],
)
def test_a_rank_is_a_whole_number_from_1(session, rank, is_rank):
    assert value(session, ml_sql.is_rank(rank)) is is_rank


@pytest.mark.parametrize(
    ("options", "grade", "gain"),
    [
        ("gain=exp2", 3, 2**3 - 1),
        ("gain=linear", 3, 3),
        ("gain=binary", 3, 1),
        ("gain={0: 0, 2: 5}", 2, 5),
        ("gain={0: 0, 2: 5}", 1, None),
        ("gain=linear min_relevance=2", 3, 1),
        ("gain=linear min_relevance=2", 1, 0),
        ("gain=linear negative=as_unjudged", -1, None),
        ("gain=linear negative=keep", -1, -1),
    ],
)
def test_the_gain_of_a_grade(session, options, grade, gain):
    assert value(session, ml_sql.gain_of(f"{grade}D", of(options))) == gain


@pytest.mark.parametrize(
    ("options", "grade", "is_odd"),
    [
        ("gain=linear", "1D", False),
        ("gain=linear", "cast('NaN' as double)", True),
        ("gain=linear", "cast(null as double)", True),
        ("gain=exp2", "5000D", True),
        ("gain={0: 0, 2: 5}", "1D", True),
        ("negative=error", "-1D", True),
        ("negative=keep gain=linear", "-1D", True),
        ("negative=as_unjudged", "-1D", False),
    ],
)
def test_a_grade_that_may_be_refused_is_odd(session, options, grade, is_odd):
    assert value(session, ml_sql.is_odd_grade(grade, of(options))) is is_odd


@pytest.mark.parametrize(
    ("discount", "expected"),
    [
        ("log2", 3 + 2 / math.log2(3)),
        ("position", 3 + 2 / 2),
        ("none", 3 + 2),
        ("[1, 0.25]", 3 + 2 * 0.25),
    ],
)
def test_the_sum_of_the_first_gains_by_rank(session, discount, expected):
    convention = of(f"discount={discount}")
    text = ml_sql.discounted_sum("gains", "one", 2, convention)
    for gains, total in [("3D, 2D, 9D", expected), ("3D, null, 9D", 3)]:
        table = session.range(1).selectExpr(f"array({gains}, id * 0D) as gains")
        summed = table.selectExpr(f"{text} as value").collect()[0]["value"]
        assert summed == pytest.approx(total)
    nothing = session.range(1).selectExpr("cast(null as array<double>) as gains")
    assert nothing.selectExpr(f"{text} as value").collect()[0]["value"] == 0


def test_tied_gains_are_averaged_down_to_the_cutoff(session):
    pairs = [(1, 4), (2, 1), (2, 3), (3, 9)]
    entries = [f"struct({first}D as first, {gain}D as gain)" for first, gain in pairs]
    table = session.range(1).selectExpr(f"array({', '.join(entries)}) as listed")
    averaged = table.selectExpr(f"{ml_sql.averaged('listed', 3)} as value").collect()[0]["value"]
    assert averaged == [4, (1 + 3) / 2, (1 + 3) / 2]


@pytest.mark.parametrize(
    ("ties", "key", "is_descending"),
    [("doc_id_asc", "-2.0", False), ("doc_id_desc", "2.0", True), ("best", "-2.0", False)],
)
def test_lists_are_sorted_by_score_and_what_breaks_ties(session, ties, key, is_descending):
    convention = of(f"order=score ties={ties}")
    keys = ml_sql.order_keys("'a'", "2.0D", "1D", convention)
    assert value(session, keys["first"]) == float(key)
    assert ml_sql.is_descending(convention) is is_descending
    assert ("document" in keys) == ml_sql.orders_by_id(convention) == (ties != "best")
    assert bool(ml_sql.gain_tie_break("1D", convention)) == (ties == "best")


def test_numbers_in_text_are_sorted_by_their_value(session):
    convention = of("order=score ties=doc_id_num_asc")
    sorted_by = []
    for document in ("'9'", "'0010'", "'11'", "'x'"):
        keys = ml_sql.order_keys(document, "1D", "1D", convention)
        names = ("second", "third", "document")
        sorted_by.append(tuple(value(session, keys[name]) for name in names))
    assert sorted_by == sorted(sorted_by)


@pytest.mark.parametrize(
    ("options", "row", "expected"),
    [
        ("", "true, true, false, 1D, 2D", 1 / 2),
        ("", "false, true, false, 1D, 2D", None),
        ("", "true, true, true, 1D, 2D", math.nan),
        ("", "false, true, true, 1D, 2D", math.nan),
        ("", "true, true, false, 1D, cast('Infinity' as double)", math.nan),
        ("no_relevant=zero", "true, true, false, 0D, 0D", 0),
        ("no_relevant=one", "true, true, false, 0D, 0D", 1),
        ("no_relevant=skip", "true, true, false, 0D, 0D", None),
        ("no_relevant=error", "true, true, false, 0D, 0D", math.nan),
        ("missing_query=zero", "true, false, false, 0D, 2D", 0),
        ("missing_query=skip", "true, false, false, 0D, 2D", None),
        ("missing_query=error", "true, false, false, 0D, 2D", math.nan),
    ],
)
def test_the_ndcg_of_a_query_is_a_number_or_nothing_or_nan(session, options, row, expected):
    names = ("is_query", "answered", "odd", "dcg", "ideal_dcg")
    pairs = zip(row.split(", ", 4), names, strict=True)
    table = session.range(1).selectExpr(*(f"{given} as {name}" for given, name in pairs))
    found = table.selectExpr(f"{ml_sql.checked_ndcg(of(options))} as value").collect()[0]["value"]
    assert found == (expected if expected is None else pytest.approx(expected, nan_ok=True))


def test_the_best_sum_is_that_of_gains_of_1(session):
    expected = 1 + 1 / math.log2(3) + 1 / math.log2(4)
    assert value(session, ml_sql.best_sum(3, STANDARD)) == pytest.approx(expected)
