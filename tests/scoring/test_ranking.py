"""The order of documents within a query: total, whatever ties."""

import functools

import pytest
from chispa import assert_df_equality
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from sessions import on_spark
from tables import random_rows, result, results

from ndcg_spark.convention.convention import Convention
from ndcg_spark.rules import conform
from ndcg_spark.schemas import RESULTS
from ndcg_spark.scoring.ranking import LISTED, RANK, by_window, list_by_list, removes_documents

KEY = ["run", "query_id"]
#: Some documents of random lists get numbers for ids, of any length, so that lists mix both.
NUMBERED = {"a": "9", "b": "10", "c": "007", "d": "12345678901234567890", "e": "0"}
#: Conventions whose ties are settled without gains.
WITHOUT_GAINS = [
    {},
    {"ties": "doc_id_asc"},
    {"ties": "doc_id_num_desc"},
    {"ties": "doc_id_num_asc"},
    {"ties": "rank"},
    {"order": "rank"},
    {"order": "rank", "ties": "doc_id_num_asc"},
    {"order": "rank", "ties": "doc_id_asc"},
    {"score_precision": "float32"},
]


def ranked(session, rows, depth=None, rank=by_window, off=(), **options):
    """The ranked table; documents that are `off` are off their list."""
    # Reading the table settles what an engine makes of -0.0.
    table, convention = conform(results(session, rows), RESULTS), Convention(**options)
    if removes_documents(convention):
        table = table.withColumn(LISTED, ~F.col("doc_id").isin(*off))
    return rank(table, KEY, convention, depth)


def documents(table):
    listed = table.where(LISTED) if LISTED in table.columns else table
    return [row[0] for row in listed.orderBy(RANK).select("doc_id").collect()]


@pytest.mark.parametrize("rank", [by_window, list_by_list])
def test_a_number_may_have_any_length_and_leading_zeros(session, rank):
    large, larger = "9" * 30, "1" + "0" * 30
    rows = [result(doc, 1.0) for doc in (large, "0012", larger, "9", "12", "000", "0")]
    # Of equal numbers the id that is larger as text comes first.
    falling = documents(ranked(session, rows, len(rows), rank, ties="doc_id_num_desc"))
    assert falling == [larger, large, "12", "0012", "9", "000", "0"]
    assert documents(ranked(session, rows, len(rows), rank, ties="doc_id_num_asc"))[-2:] == [
        large,
        larger,
    ]


SHARED = [result("a", rank=1), result("b", rank=2), result("c", rank=2), result("d", rank=3)]


@pytest.mark.parametrize("rank", [by_window, list_by_list])
@pytest.mark.parametrize("depth", on_spark([2, 9, None], 2))
def test_two_documents_with_one_rank_within_the_depth_or_at_its_end_are_refused(
    session, rank, depth
):
    with pytest.raises(
        PySparkException, match=r"refuses \[rank_twice\] results: a rank with two rows"
    ):
        ranked(session, SHARED, depth, rank, order="rank").collect()
    assert documents(ranked(session, SHARED, 1, rank, order="rank")) == ["a"]


def test_a_rank_of_a_document_that_leaves_the_list_may_be_given_again(session):
    rows = ranked(session, SHARED, 3, off=["c"], order="rank", exclude_query_as_document=True)
    assert documents(rows) == ["a", "b", "d"]


def test_lists_sorted_one_by_one_have_the_ranks_of_a_window(session):
    rows = [
        {**row, "doc_id": NUMBERED.get(row["doc_id"], row["doc_id"])}
        for row in random_rows(60, ranks_repeat=False)
    ]
    by_list, windowed = [], []
    for options in WITHOUT_GAINS:
        # All conventions are one table: each has a column's value.
        name = F.lit(str(options)).alias("options")
        one_by_one = ranked(session, rows, 3, list_by_list, **options)
        by_list.append(one_by_one.select(*one_by_one.columns, name))
        whole = ranked(session, rows, 3, by_window, **options)
        windowed.append(whole.select(*one_by_one.columns, name))
    # The embedded engine takes run and query_id for a key of exploded lists, and does not sort by what comes after it.
    found = session.createDataFrame(functools.reduce(DataFrame.unionByName, by_list).toArrow())
    expected = functools.reduce(DataFrame.unionByName, windowed).select(found.columns)
    assert_df_equality(found, expected, ignore_nullable=True, ignore_row_order=True)
    assert found.count() > 100 * len(WITHOUT_GAINS)
