"""Texts of SQL against what an engine makes of them."""

import math
import sys

import pyarrow as pa
import pytest
from pyspark.sql import functions as F

from ndcg_spark import evaluate, sql


def value(session, text):
    """What a text of SQL is, in a table of one row."""
    return session.range(1).selectExpr(f"{text} as value").collect()[0]["value"]


@pytest.mark.parametrize("name", ["a", "a b", "a`b", "``", "a.b", "rank", "table", "é'\\n"])
def test_any_name_of_a_column_can_be_quoted(session, name):
    table = session.createDataFrame(pa.table({name: [1]}))
    row = table.selectExpr(*sql.named({"x": sql.quoted(name), name: "2"})).collect()[0]
    assert row.asDict() == {"x": 1, name: 2}


@pytest.mark.parametrize(
    "text", ["", "it's", "'", "\\", "\\'", r"^[0-9]+\.?\z", "a\nb\tc", "é`", "${env:HOME}", "--'"]
)
def test_a_literal_of_a_text_is_that_text(session, text):
    assert value(session, sql.text(text)) == text


@pytest.mark.parametrize("number", [0.1, 1, 1e-7, -2.5, 5e-324, 1e300, sys.float_info.max])
def test_a_literal_of_a_number_is_exact(session, number):
    assert value(session, sql.number(number)) == number
    # Two minus signs would begin a comment.
    assert value(session, f"1D -{sql.number(-number)}") == 1 + number
    assert math.copysign(1, value(session, sql.number(-0.0))) == -1


@pytest.mark.classic
@pytest.mark.parametrize(
    ("setting", "changed"),
    [
        ("spark.sql.parser.escapedStringLiterals", "true"),
        ("spark.sql.ansi.enabled", "false"),
        ("spark.sql.ansi.doubleQuotedIdentifiers", "true"),
    ],
)
def test_an_evaluation_is_the_same_whatever_a_session_makes_of_sql(session, setting, changed):
    judged = {"query_id": ["it's\\"] * 2, "doc_id": ["2", "10"], "relevance": [" 1", "x"]}
    returned = {"query_id": ["it's\\"] * 2, "doc_id": ["2", "10"], "score": [0.5, 0.5]}
    tables = [session.createDataFrame(pa.table(columns)) for columns in (judged, returned)]
    session.conf.set(setting, changed)
    try:
        scores = evaluate(
            *tables, 2, ties="doc_id_num_desc", grades={"1": 1, "x": 0}, dataset="'\\"
        )
        row = scores.query_scores.collect()[0]
    finally:
        session.conf.unset(setting)
    assert (row["dataset"], row["query_id"]) == ("'\\", "it's\\")
    # As numbers, 10 comes before 2.
    assert row["ndcg"] == pytest.approx((1 / math.log2(3)) / 1, abs=1e-15)


@pytest.mark.parametrize(
    ("number", "expected"), [("0D", True), ("cast('NaN' as double)", False), (sql.INFINITY, False)]
)
def test_a_number_is_finite_if_it_is_below_infinity(session, number, expected):
    assert value(session, sql.is_finite(number)) is expected


@pytest.mark.parametrize(("divisor", "expected"), [(2.0, 3.0 / 2.0), (0.0, None)])
def test_a_ratio_is_null_where_the_divisor_is_0(session, divisor, expected):
    table = session.createDataFrame(pa.table({"divisor": [divisor]}))
    assert table.selectExpr(f"{sql.ratio('3D', 'divisor')} as x").collect()[0]["x"] == expected


@pytest.mark.parametrize(
    ("conditions", "expected"),
    [([], True), (["true", "false or true"], True), (["false", "true or true"], False)],
)
def test_a_conjunction_is_true_if_all_conditions_are(session, conditions, expected):
    assert value(session, sql.conjunction(conditions)) is expected


def test_a_window_has_the_rows_of_a_key_in_an_order(session):
    rows = pa.table({"key": ["a", "a", "b"], "n": [1, 2, 3]})
    columns = {
        "place": sql.over("row_number()", ["key"], ["n desc"]),
        "rows": sql.over("count(1)", ["key"]),
    }
    table = session.createDataFrame(rows).withColumns(sql.columns(columns)).orderBy("n")
    places = [(row["place"], row["rows"]) for row in table.collect()]
    assert places == [(2, 2), (1, 2), (1, 1)]


def test_aggregates_have_their_names(session):
    table = session.range(3).groupBy(F.lit(1).alias("one"))
    row = table.agg(*sql.aggregates({"a sum": "sum(id)", "n": "count(*)"})).collect()[0]
    assert row.asDict() == {"one": 1, "a sum": 0 + 1 + 2, "n": 3}
