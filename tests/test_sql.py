"""Texts of SQL against what an engine makes of them."""

import math
import sys

import pyarrow as pa
import pytest
from pyspark.sql import functions as F
from tables import assert_rows, assert_truths, assert_values

from ndcg_spark import evaluate, sql


def test_any_name_of_a_column_can_be_quoted(session):
    names = ["a", "a b", "a`b", "``", "a.b", "rank", "table", "é'\\n"]
    table = session.createDataFrame(pa.table({name: [at] for at, name in enumerate(names)}))
    columns = {"x": sql.quoted("a b")} | {name: sql.quoted(name) for name in names}
    # chispa would sort by the names, which are to be quoted there, too.
    (row,) = table.selectExpr(*sql.named(columns)).collect()
    assert row.asDict() == {"x": 1} | {name: at for at, name in enumerate(names)}


def test_a_literal_of_a_text_is_that_text(session):
    texts = ["", "it's", "'", "\\", "\\'", r"^[0-9]+\.?\z", "a\nb\tc", "é`", "${env:HOME}", "--'"]
    cases = {f"text {at}": (sql.text(text), text) for at, text in enumerate(texts)}
    assert_values(session, "string", cases)


def test_a_literal_of_a_number_is_exact(session):
    cases = {}
    for number in (0.1, 1, 1e-7, -2.5, 5e-324, 1e300, sys.float_info.max):
        cases[f"{number}"] = f"{sql.number(number)} = double('{number!r}')", True
        # Two minus signs would begin a comment.
        taken = f"1D -{sql.number(-number)} = double('{1 + number!r}')"
        cases[f"1 and {number}"] = taken, True
    zero = sql.number(-0.0)
    cases["zero"] = f"cast({zero} as string) = '-0.0'", True
    assert_values(session, "boolean", cases)


@pytest.mark.classic
@pytest.mark.parametrize(
    "changed",
    [
        {"spark.sql.parser.escapedStringLiterals": "true", "spark.sql.ansi.enabled": "false"},
        # Only the SQL of ANSI has it.
        {"spark.sql.ansi.doubleQuotedIdentifiers": "true"},
    ],
    ids=" ".join,
)
def test_an_evaluation_is_the_same_whatever_a_session_makes_of_sql(session, changed):
    judged = {"query_id": ["it's\\"] * 2, "doc_id": ["2", "10"], "relevance": [" 1", "x"]}
    returned = {"query_id": ["it's\\"] * 2, "doc_id": ["2", "10"], "score": [0.5, 0.5]}
    tables = [session.createDataFrame(pa.table(columns)) for columns in (judged, returned)]
    for setting, value in changed.items():
        session.conf.set(setting, value)
    try:
        scores = evaluate(
            *tables, 2, ties="doc_id_num_desc", grades={"1": 1, "x": 0}, dataset="'\\"
        )
        row = scores.query_scores.collect()[0]
    finally:
        for setting in changed:
            session.conf.unset(setting)
    assert (row["dataset"], row["query_id"]) == ("'\\", "it's\\")
    # As numbers, 10 comes before 2.
    assert row["ndcg"] == pytest.approx((1 / math.log2(3)) / 1, abs=1e-15)


def test_a_number_is_finite_if_it_is_below_infinity(session):
    given = {"0D": True, "cast('NaN' as double)": False, sql.INFINITY: False}
    assert_truths(session, sql.is_finite, given)


def test_a_ratio_is_null_where_the_divisor_is_0(session):
    ratio = sql.ratio("3D", "divisor")
    cases = {"2": (ratio, 3.0 / 2.0, "2D as divisor"), "0": (ratio, None, "0D as divisor")}
    assert_values(session, "double", cases)


def test_a_conjunction_is_true_if_all_conditions_are(session):
    given = {
        "none": ([], True),
        "all are true": (["true", "false or true"], True),
        "one is false": (["false", "true or true"], False),
    }
    cases = {name: (sql.conjunction(texts), expected) for name, (texts, expected) in given.items()}
    assert_values(session, "boolean", cases)


def test_a_window_has_the_rows_of_a_key_in_an_order(session):
    rows = pa.table({"key": ["a", "a", "b"], "n": [1, 2, 3]})
    columns = {
        "place": sql.over("row_number()", ["key"], ["n desc"]),
        "rows": sql.over("count(1)", ["key"]),
    }
    table = session.createDataFrame(rows).withColumns(sql.columns(columns))
    assert_rows(table.select("n", "place", "rows"), (1, 2, 2), (2, 1, 2), (3, 1, 1))


def test_aggregates_have_their_names(session):
    table = session.range(3).groupBy(F.lit(1).alias("one"))
    found = table.agg(*sql.aggregates({"a sum": "sum(id)", "n": "count(*)"}))
    assert found.columns == ["one", "a sum", "n"]
    assert_rows(found, (1, 0 + 1 + 2, 3))
