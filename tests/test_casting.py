"""Tables brought into their schemas: columns, types, and what is refused."""

import functools

import pyarrow as pa
import pytest
import tables
from chispa import assert_df_equality
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from tables import judgment, judgments, result, results

from ndcg_spark.casting import conform
from ndcg_spark.errors import InputError
from ndcg_spark.schemas import FAULT, JUDGMENTS, RESULTS, query_key


def judgments_of_text(session, texts):
    """Judgments whose relevance is one of these texts each, and whose document is its place among them."""
    rows = [judgment(f"{at}", text) for at, text in enumerate(texts)]
    return tables.table(session, rows, "query_id string, doc_id string, relevance string")


def relevances(session, texts):
    """The relevance that each of these texts is read as, all of them in one plan."""
    read = conform(judgments_of_text(session, texts), JUDGMENTS, "judgments").collect()
    found = {row["doc_id"]: row["relevance"] for row in read}
    return {text: found[f"{at}"] for at, text in enumerate(texts)}


def test_columns_come_out_under_their_own_names_in_the_schemas_order(session):
    stored = {"dataset": ["web"], "run": ["bm25"], "query_id": ["q1"], "doc_id": ["d1"], "score": [2.5]}
    expected = session.createDataFrame(pa.table(stored))
    table = expected.select("score", "doc_id", "run", "dataset", "query_id")
    assert_df_equality(conform(table, RESULTS, "results"), expected, ignore_nullable=True)


def test_numbers_become_ids_and_text_ids_keep_their_zeros(session):
    table = session.sql("select 7L query_id, '007' doc_id, 1 relevance")
    expected = judgments(session, [judgment("007", 1.0, query_id="7")])
    assert_df_equality(conform(table, JUDGMENTS, "judgments"), expected, ignore_nullable=True)


def test_text_is_read_as_a_relevance_and_null_where_it_is_no_number(session):
    written = {"2": 2.0, "-1": -1.0, " 0.5 ": 0.5, "2e1": 2e1, "+1.5": 1.5, ".5": 0.5, "1e-3": 0.001, "-2.": -2}
    # Some engines read the first four as numbers.
    written |= dict.fromkeys(["1d", "0x1p3", "1f", "1_0", "", "high", "1,5", None])
    read = relevances(session, [*written, "-1e-400"])
    assert str(read.pop("-1e-400")) == "0.0"
    assert read == written


def test_a_rank_is_null_where_it_is_not_whole_or_too_large(session):
    stored = ["3", "4.0", "2.7", "2147483648", "first"]
    text = "run string, query_id string, doc_id string, score string"
    table = tables.table(session, [result(rank, rank) for rank in stored], text).withColumnRenamed("score", "rank")
    ranks = conform(table, RESULTS, "results").select("doc_id", "rank")
    expected = [("3", 3), ("4.0", 4), ("2.7", None), ("2147483648", None), ("first", None)]
    assert_df_equality(ranks, session.createDataFrame(expected, "doc_id string, rank int"), ignore_row_order=True)


def scores_stored_as(session, score, kinds):
    """The score as it is read where it is stored as each of these types, all in one plan."""
    rows = results(session, [result(kind, score) for kind in kinds])
    stored = [
        rows.where(F.col("doc_id") == kind).selectExpr("run", "query_id", "doc_id", f"cast(score as {kind})")
        for kind in kinds
    ]
    read = functools.reduce(DataFrame.unionAll, [conform(table, RESULTS, "results") for table in stored])
    assert dict(read.dtypes)["score"] == "double"
    return {row["doc_id"]: row["score"] for row in read.collect()}


def test_a_score_may_be_stored_as_any_kind_of_number(session):
    kinds = ["tinyint", "bigint", "float", "decimal(9,2)", "string"]
    assert scores_stored_as(session, 2.0, kinds) == dict.fromkeys(kinds, 2.0)


def test_a_missing_column_is_refused_with_what_the_table_has(session):
    table = judgments(session, [judgment()]).withColumnRenamed("relevance", "grade")
    with pytest.raises(InputError, match=r"judgments \(j\.csv\): 1 column\(s\) missing, relevance; it has .*grade"):
        conform(table, JUDGMENTS, "judgments (j.csv)")
    with pytest.raises(InputError, match=r"2 column\(s\) missing, run, doc_id; "):
        conform(table.select("query_id"), RESULTS, "results")


@pytest.mark.parametrize(
    ("column", "kind"),
    [("doc_id", "double"), ("doc_id", "boolean"), ("relevance", "date"), ("relevance", "array<double>")],
)
def test_a_column_of_the_wrong_type_is_refused_by_name(session, column, kind):
    table = judgments(session, [judgment()]).selectExpr(
        *(f"cast(null as {kind}) as {name}" if name == column else name for name in JUDGMENTS.names[1:])
    )
    with pytest.raises(InputError, match=rf"1 column\(s\) of the wrong type, {column} is {kind}; ids are text"):
        conform(table, JUDGMENTS, "judgments")


@pytest.mark.parametrize(
    ("columns", "key"),
    [
        (["run", "query_id", "doc_id"], ["query_id"]),
        (["query_id", "doc_id", "relevance", "dataset"], ["dataset", "query_id"]),
    ],
)
def test_a_query_is_named_by_its_dataset_too_where_there_is_one(columns, key):
    assert query_key(columns) == key


def test_there_is_one_zero(session):
    kinds = ["double", "float", "string", "decimal(9,2)"]
    assert {kind: str(score) for kind, score in scores_stored_as(session, -0.0, kinds).items()} == dict.fromkeys(
        kinds, "0.0"
    )


def test_a_decimal_becomes_the_nearest_double(session):
    text = [
        "0.412345678901234567",
        "0.587654321098765433",
        "-0.000000000000000001",
        "12345678901234567890.123456789012345678",
    ]
    rows = judgments_of_text(session, text)
    decimals = rows.withColumn("relevance", rows.relevance.cast("decimal(38,18)"))
    read = {row["doc_id"]: row["relevance"] for row in conform(decimals, JUDGMENTS, "judgments").collect()}
    assert read == {f"{at}": float(each) for at, each in enumerate(text)}


def test_whole_decimals_become_ids_and_nulls_of_no_type_anything(session):
    table = session.sql("select 'q' query_id, cast(18446744073709551615 as decimal(20,0)) doc_id, null relevance")
    assert conform(table, JUDGMENTS, "judgments").collect() == [("q", "18446744073709551615", None)]


def test_columns_that_differ_by_case_only_are_refused_with_input_paths(session):
    table = judgments(session, [judgment()]).selectExpr("*", "1 as RELEVANCE", "1 as x", "2 as X")
    with pytest.raises(InputError, match=r"e\.g\. relevance and RELEVANCE; rename them"):
        conform(table, JUDGMENTS, "judgments")


def test_a_message_lists_no_column_that_reading_has_added(session):
    read = session.createDataFrame([("q", None)], f"query_id string, `{FAULT}` string")
    with pytest.raises(InputError, match=r"column\(s\) missing, doc_id, relevance; it has query_id; map names"):
        conform(read, JUDGMENTS, "judgments")
