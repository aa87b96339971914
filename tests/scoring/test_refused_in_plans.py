"""Rows that a plan refuses: which columns fail, for which rule, and how a message shows a row."""

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import functions as F
from tables import assert_table

from ndcg_spark.rules import RULES
from ndcg_spark.schemas import BROKEN_LINE, FAULT, LINE
from ndcg_spark.scoring.refusals import refuse_rows, refused, row_example


def refused_table(session, folder, **columns):
    """Judgments, in which a document named "bad" and a negative grade break a rule.

    From a file, because Spark computes every column of rows that it has in memory.
    """
    row = {"query_id": "q1", "doc_id": "d1", "relevance": 1.0} | columns
    tests = [
        (RULES["no_doc_id"], F.expr("doc_id = 'bad'")),
        (RULES["relevance_is_no_number"], F.expr("relevance = -2")),
        (RULES["relevance_negative"], F.expr("relevance < 0")),
    ]
    if FAULT in columns:
        tests.insert(0, (RULES[BROKEN_LINE], F.col(FAULT).isNotNull()))
    pq.write_table(pa.table({name: [value] for name, value in row.items()}), folder / "a.parquet")
    return refuse_rows(session.read.parquet(str(folder)), tests, "judgments")


def why(table, column):
    """The code and the sentence of the refusal that a column fails with."""
    with pytest.raises(Exception, match="ndcg_spark refuses") as failure:
        table.select(column).collect()
    return refused(failure.value)


def test_any_name_and_value_of_a_column_is_shown(session):
    table = session.createDataFrame(pa.table({"a`b": ["it's"], "c'\\": [1], "d e": ["\\"]}))
    shown = table.select(row_example(table.columns).alias("row")).collect()[0]["row"]
    assert shown == "a`b=it's c'\\=1 d e=\\"


@pytest.mark.parametrize(
    "columns", [{"query_id": "a\nb\rc"}, {FAULT: BROKEN_LINE, LINE: "a\nb\rc"}]
)
def test_a_value_with_line_breaks_does_not_cut_the_sentence(session, tmp_path, columns):
    table = refused_table(session, tmp_path, doc_id="bad", **columns)
    _, sentence = why(table, "doc_id")
    assert "a\\nb\\rc" in sentence
    assert sentence.endswith("; correct the row")


def test_good_rows_stay_as_they_are(session, tmp_path):
    columns = "query_id string, doc_id string, relevance double"
    assert_table(refused_table(session, tmp_path), columns, ("q1", "d1", 1.0))


@pytest.mark.parametrize(
    ("columns", "column", "code"),
    [
        ({"doc_id": "bad"}, "doc_id", "no_doc_id"),
        ({"relevance": -1.0}, "relevance", "relevance_negative"),
        # Of two rules for a column, the first counts.
        ({"relevance": -2.0}, "relevance", "relevance_is_no_number"),
    ],
)
def test_the_column_of_a_rule_fails_and_no_other(session, tmp_path, columns, column, code):
    table = refused_table(session, tmp_path, **columns)
    assert why(table, column)[0] == code
    others = [name for name in table.columns if name != column]
    assert len(table.select(*others).collect()) == 1


@pytest.mark.parametrize("column", ["doc_id", "relevance"])
def test_a_line_that_is_no_row_fails_in_every_column_with_a_rule(session, tmp_path, column):
    broken = {FAULT: BROKEN_LINE, LINE: "a, b"}
    table = refused_table(session, tmp_path, relevance=-1.0, **broken)
    code, sentence = why(table, column)
    assert code == BROKEN_LINE
    assert "a, b" in sentence
