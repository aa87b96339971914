"""The SQL text of the evaluator, one function at a time: values by the engine, and by arithmetic."""

import math

import pytest
from tables import assert_rows, assert_truths, assert_values, table

from ndcg_spark import Convention, ml_sql, sql

STANDARD = Convention.parse("standard")


def of(options):
    return Convention.parse(f"standard {options}")


def test_an_id_is_text_if_it_is_whole(session):
    given = [
        ("7.0D", "double", "7"),
        ("7.5D", "double", None),
        ("9007199254740992D", "double", None),
        ("cast(16777216 as float)", "float", None),
        ("cast('NaN' as double)", "double", None),
        ("cast(-3 as decimal(10,2))", "decimal(10,2)", "-3"),
        ("cast(7 as bigint)", "bigint", "7"),
        ("'007'", "string", "007"),
    ]
    cases = {text: (ml_sql.whole_text(text, kind), whole) for text, kind, whole in given}
    assert_values(session, "string", cases)


def test_an_id_of_no_letters_is_empty(session):
    cases = {}
    for given, kind, is_empty in (
        ("''", "string", True),
        ("'0'", "string", False),
        ("0L", "bigint", False),
    ):
        cases[given] = ml_sql.is_empty(given, kind), is_empty
        cases[f"null for {given}"] = ml_sql.is_empty(f"nullif({given}, {given})", kind), True
    assert_values(session, "boolean", cases)


def test_a_number_is_a_double_without_a_negative_zero(session):
    tenth = ml_sql.as_double("cast(0.1 as decimal(6,1))", "decimal(6,1)")
    zero = ml_sql.as_double("-0.0D", "double")
    assert_values(session, "double", {"a decimal": (tenth, 0.1)})
    assert_values(session, "string", {"zero": (f"cast({zero} as string)", "0.0")})


NOT_FINITE = {
    "cast('Infinity' as double)": False,
    "cast('NaN' as double)": False,
    "cast(null as double)": False,
}
#: From 1 to the highest 32-bit number.
RANKS = {
    "1D": True,
    "2147483647D": True,
    "0D": False,
    "1.5D": False,
    "2147483648D": False,
}


@pytest.mark.parametrize(
    ("predicate", "given"),
    [
        (ml_sql.is_finite, {"1D": True, "-1.5D": True, **NOT_FINITE}),
        (ml_sql.is_rank, {**RANKS, **NOT_FINITE}),
    ],
    ids=["is_finite", "is_rank"],
)
def test_a_number_is_finite_or_a_rank_or_not(session, predicate, given):
    assert_truths(session, predicate, given)


def test_the_gain_of_a_grade(session):
    given = [
        ("gain=exp2", 3, 2**3 - 1),
        ("gain=linear", 3, 3),
        ("gain=binary", 3, 1),
        ("gain={0: 0, 2: 5}", 2, 5),
        ("gain={0: 0, 2: 5}", 1, None),
        ("gain=linear min_relevance=2", 3, 1),
        ("gain=linear min_relevance=2", 1, 0),
        ("gain=linear negative=as_unjudged", -1, None),
        ("gain=linear negative=keep", -1, -1),
    ]
    cases = {}
    for options, grade, gain in given:
        cases[f"{grade} with {options}"] = ml_sql.gain_of(f"{grade}D", of(options)), gain
    assert_values(session, "double", cases)


def test_a_grade_that_may_be_refused_is_odd(session):
    given = [
        ("gain=linear", "1D", False),
        ("gain=linear", "cast('NaN' as double)", True),
        ("gain=linear", "cast(null as double)", True),
        ("gain=exp2", "5000D", True),
        ("gain={0: 0, 2: 5}", "1D", True),
        ("negative=error", "-1D", True),
        ("negative=keep gain=linear", "-1D", True),
        ("negative=as_unjudged", "-1D", False),
    ]
    cases = {}
    for options, grade, is_odd in given:
        cases[f"{grade} with {options}"] = ml_sql.is_odd_grade(grade, of(options)), is_odd
    assert_values(session, "boolean", cases)


def test_the_sum_of_the_first_gains_by_rank(session):
    lists = {
        "all judged": "array(3D, 2D, 9D)",
        "one unjudged": "array(3D, null, 9D)",
        "no list": "cast(null as array<double>)",
    }
    discounts = {
        "log2": [3 + 2 / math.log2(3), 3, 0],
        "position": [3 + 2 / 2, 3, 0],
        "none": [3 + 2, 3, 0],
        "[1, 0.25]": [3 + 2 * 0.25, 3, 0],
    }
    cases = {}
    for discount, sums in discounts.items():
        text = ml_sql.discounted_sum("gains", "one", 2, of(f"discount={discount}"))
        for (name, gains), total in zip(lists.items(), sums, strict=True):
            cases[f"{name}, {discount}"] = text, total, f"{gains} as gains"
    assert_values(session, "double", cases)


def test_tied_gains_are_averaged_down_to_the_cutoff(session):
    pairs = [(1, 4), (2, 1), (2, 3), (3, 9)]
    entries = [f"struct({first}D as first, {gain}D as gain)" for first, gain in pairs]
    listed = session.range(1).selectExpr(f"array({', '.join(entries)}) as listed")
    averaged = listed.selectExpr(f"posexplode({ml_sql.gains_of_ranks('listed', 3)}) as (at, gain)")
    assert_rows(averaged, (0, 4.0), (1, (1 + 3) / 2), (2, (1 + 3) / 2))


@pytest.mark.parametrize(
    ("ties", "key", "is_descending"),
    [("doc_id_asc", "-2.0", False), ("doc_id_desc", "2.0", True), ("best", "-2.0", False)],
)
def test_lists_are_sorted_by_score_and_what_breaks_ties(ties, key, is_descending):
    convention = of(f"order=score ties={ties}")
    keys = ml_sql.order_keys("'a'", "2.0", "1.0", convention)
    assert float(keys["first"]) == float(key)
    assert ml_sql.is_descending(convention) is is_descending
    assert ("document" in keys) == ml_sql.orders_by_id(convention) == (ties != "best")
    assert bool(ml_sql.gain_tie_break("1D", convention)) == (ties == "best")


def test_numbers_in_text_are_sorted_by_their_value(session):
    by_value = ["9", "0010", "11", "x"]
    keys = ml_sql.order_keys("doc_id", "1D", "1D", of("order=score ties=doc_id_num_asc"))
    rows = table(session, [{"doc_id": document} for document in by_value[::-1]], "doc_id string")
    order = f"order by {keys['second']}, {keys['third']}, {keys['document']}"
    placed = rows.selectExpr("doc_id", f"row_number() over ({order}) as place")
    assert_rows(placed, *((document, place) for place, document in enumerate(by_value, 1)))


def test_the_ndcg_of_a_query_is_a_number_or_nothing_or_nan(session):
    names = ("is_query", "answered", "odd", "dcg", "ideal_dcg")
    given = [
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
    ]
    cases = {}
    for options, row, ndcg in given:
        pairs = zip(row.split(", ", 4), names, strict=True)
        columns = ", ".join(f"{value} as {name}" for value, name in pairs)
        cases[f"{options}: {row}"] = ml_sql.checked_ndcg(of(options)), ndcg, columns
    assert_values(session, "double", cases)


def test_the_best_sum_is_that_of_gains_of_1():
    expected = 1 + 1 / math.log2(3) + 1 / math.log2(4)
    assert ml_sql.best_sum(3, STANDARD) == sql.number(expected)
