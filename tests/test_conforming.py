"""Tables brought into their schemas: columns, types, and what is refused."""

import pytest
from chispa import assert_df_equality
from tables import judgment, judgments, result, results

from ndcg_spark.conforming import conform
from ndcg_spark.errors import InputError
from ndcg_spark.schemas import BROKEN_LINE, JUDGMENTS, RESULTS, query_key


def test_columns_come_out_under_their_own_names_in_the_schemas_order(spark):
    ids = "dataset string, run string, query_id string, doc_id string"
    expected = spark.createDataFrame([("web", "bm25", "q1", "d1", 2.5)], f"{ids}, score double")
    table = expected.select("score", "doc_id", "run", "dataset", "query_id")
    assert_df_equality(conform(table, RESULTS, "results"), expected, ignore_nullable=True)


def test_columns_that_the_schema_does_not_have_are_left_out(spark):
    table = judgments(spark, [judgment("d1", 3.0)]).selectExpr("'ann' as judge", "*", "1 as depth")
    assert conform(table, JUDGMENTS, "judgments").collect() == [("q1", "d1", 3.0)]


def test_numbers_become_ids_and_text_ids_keep_their_zeros(spark):
    table = spark.createDataFrame([(7, "007", 1)], "query_id bigint, doc_id string, relevance int")
    expected = judgments(spark, [judgment("007", 1.0, query_id="7")])
    assert_df_equality(conform(table, JUDGMENTS, "judgments"), expected, ignore_nullable=True)


def test_text_is_read_as_a_relevance_and_null_where_it_is_no_number(spark):
    stored = [("q1", "d1", text) for text in ("2", "-1", " 0.5 ", "2e1", "high", "", "1,5", None)]
    table = spark.createDataFrame(stored, "query_id string, doc_id string, relevance string")
    read = [row["relevance"] for row in conform(table, JUDGMENTS, "judgments").collect()]
    assert read == [2.0, -1.0, 0.5, 2e1, None, None, None, None]


def test_a_rank_is_a_whole_number_and_null_where_it_is_too_large_for_one(spark):
    stored = [("r", "q1", "d1", rank) for rank in ("3", "4.0", "2147483648", "first")]
    table = spark.createDataFrame(stored, "run string, query_id string, doc_id string, rank string")
    ranks = conform(table, RESULTS, "results").select("rank")
    assert ranks.dtypes == [("rank", "int")]
    assert [row["rank"] for row in ranks.collect()] == [3, 4, None, None]


@pytest.mark.parametrize("kind", ["tinyint", "bigint", "float", "decimal(9,2)", "string"])
def test_a_score_may_be_stored_as_any_kind_of_number(spark, kind):
    table = results(spark, [result(score=2.0)]).selectExpr("run", "query_id", "doc_id", f"cast(score as {kind})")
    assert conform(table, RESULTS, "results").collect() == [("r", "q1", "d1", 2.0)]


def test_a_missing_column_is_refused_with_what_the_table_has(spark):
    table = judgments(spark, [judgment()]).withColumnRenamed("relevance", "grade")
    with pytest.raises(InputError, match=r"judgments \(j\.csv\): 1 column\(s\) missing, relevance; it has .*grade"):
        conform(table, JUDGMENTS, "judgments (j.csv)")


def test_every_missing_column_is_named_and_optional_ones_are_not(spark):
    table = spark.createDataFrame([("q1",)], "query_id string")
    with pytest.raises(InputError, match=r"2 column\(s\) missing, run, doc_id; "):
        conform(table, RESULTS, "results")


@pytest.mark.parametrize(
    ("column", "kind"),
    [("doc_id", "double"), ("doc_id", "boolean"), ("relevance", "date"), ("relevance", "array<double>")],
)
def test_a_column_of_the_wrong_type_is_refused_by_name(spark, column, kind):
    table = judgments(spark, [judgment()]).selectExpr(
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


@pytest.mark.parametrize("text", ["1d", "0x1p3", "1f", "1_0", "", "one"])
def test_text_that_is_a_number_to_some_engines_only_is_none(spark, text):
    rows = spark.createDataFrame([("q1", "d1", text)], "query_id string, doc_id string, relevance string")
    assert conform(rows, JUDGMENTS, "judgments").first()["relevance"] is None


@pytest.mark.parametrize(("text", "number"), [(" 1 ", 1), ("+1.5", 1.5), (".5", 0.5), ("1e-3", 0.001), ("-2.", -2)])
def test_a_number_may_be_written_as_c_writes_it(spark, text, number):
    rows = spark.createDataFrame([("q1", "d1", text)], "query_id string, doc_id string, relevance string")
    assert conform(rows, JUDGMENTS, "judgments").first()["relevance"] == number


def test_a_rank_that_is_not_whole_is_null(spark):
    rows = spark.createDataFrame(
        [("r", "q", "d", 2.0), ("r", "q", "e", 2.7)], "run string, query_id string, doc_id string, rank double"
    )
    ranks = conform(rows, RESULTS, "results").orderBy("doc_id").collect()
    assert [row["rank"] for row in ranks] == [2, None]


@pytest.mark.parametrize("kind", ["double", "float", "string", "decimal(9,2)"])
def test_there_is_one_zero(spark, kind):
    rows = spark.createDataFrame([("r", "q1", "d1", -0.0)], "run string, query_id string, doc_id string, score double")
    score = conform(rows.withColumn("score", rows.score.cast(kind)), RESULTS, "results").first()["score"]
    assert str(score) == "0.0"


def test_a_score_too_small_for_a_double_is_zero(spark):
    rows = spark.createDataFrame(
        [("r", "q1", "d1", "-1e-400")], "run string, query_id string, doc_id string, score string"
    )
    assert str(conform(rows, RESULTS, "results").first()["score"]) == "0.0"


def test_a_decimal_becomes_the_nearest_double(spark):
    text = [
        "0.412345678901234567",
        "0.587654321098765433",
        "-0.000000000000000001",
        "12345678901234567890.123456789012345678",
    ]
    rows = spark.createDataFrame(
        [("q1", each, each) for each in text], "query_id string, doc_id string, relevance string"
    )
    decimals = rows.withColumn("relevance", rows.relevance.cast("decimal(38,18)"))
    assert [row["relevance"] for row in conform(decimals, JUDGMENTS, "judgments").collect()] == [float(t) for t in text]


def test_whole_decimals_become_ids_and_nulls_of_no_type_anything(spark):
    table = spark.sql("select 'q' query_id, cast(18446744073709551615 as decimal(20,0)) doc_id, null relevance")
    assert conform(table, JUDGMENTS, "judgments").collect() == [("q", "18446744073709551615", None)]


def test_columns_that_differ_by_case_only_are_refused_with_both(spark):
    table = judgments(spark, [judgment()]).selectExpr("*", "1 as RELEVANCE", "1 as x", "2 as X")
    with pytest.raises(InputError, match=r"e\.g\. relevance and RELEVANCE; name each once"):
        conform(table, JUDGMENTS, "judgments")


def test_a_message_lists_no_column_that_reading_has_added(spark):
    read = spark.createDataFrame([("q", None)], f"query_id string, `{BROKEN_LINE}` string")
    with pytest.raises(InputError, match=r"column\(s\) missing, doc_id, relevance; it has query_id; map names"):
        conform(read, JUDGMENTS, "judgments")
