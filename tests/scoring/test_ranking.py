"""The order of documents within a query: total, whatever ties."""

import pytest
from pyspark.sql import functions as F
from tables import random_rows, result, results

from ndcg_spark.convention.convention import Convention
from ndcg_spark.scoring.ranking import (
    LISTED,
    RANK,
    TIE_RANK,
    by_window,
    first_of_each_document,
    list_by_list,
    rank_by_gain,
    settle_ties,
    takes_documents_off,
)

KEY = ["run", "query_id"]
RANKED = f"run string, query_id string, doc_id string, {RANK} int, {TIE_RANK} int, gain double"


#: Some documents of random lists get numbers for ids, of any length, so that lists mix both.
NUMBERED = {"a": "9", "b": "10", "c": "007", "d": "12345678901234567890", "e": "0"}


def order(spark, rows, depth=None, **options):
    """The document ids by their rank."""
    ranked = by_window(results(spark, rows), KEY, Convention(**options), depth)
    return [row["doc_id"] for row in ranked.orderBy(RANK).collect()]


def settled(spark, documents, ties, depth=None):
    """Document id, rank and gain after ties are settled; `documents` are (doc_id, rank, rank of the tie, gain)."""
    ranked = spark.createDataFrame([("r", "q1", *document) for document in documents], RANKED)
    table = settle_ties(ranked, KEY, Convention(ties=ties), depth)
    return table.orderBy(RANK).select("doc_id", RANK, "gain").collect()


def test_the_highest_score_ranks_first(spark):
    assert order(spark, [result("a", 1.0), result("b", 3.0), result("c", -2.0)]) == ["b", "a", "c"]


def test_every_query_of_every_run_has_ranks_of_its_own(spark):
    rows = [result("a", 1.0), result("b", 2.0), result("c", query_id="q2"), result("d", run="s")]
    ranked = by_window(results(spark, rows), KEY, Convention(), depth=None)
    assert {row["doc_id"]: row[RANK] for row in ranked.collect()} == {"a": 2, "b": 1, "c": 1, "d": 1}


def test_a_tie_is_broken_by_the_larger_document_id(spark):
    assert order(spark, [result("a"), result("c"), result("b")]) == ["c", "b", "a"]


def test_a_tie_may_be_broken_by_the_smaller_document_id(spark):
    assert order(spark, [result("b"), result("c"), result("a")], ties="doc_id_asc") == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("ties", "expected"),
    [
        ("doc_id_desc", ["b", "9", "100", "10", "-5"]),
        ("doc_id_num_desc", ["100", "10", "9", "b", "-5"]),
        ("doc_id_num_asc", ["9", "10", "100", "-5", "b"]),
    ],
)
def test_a_tie_may_be_broken_by_the_number_that_an_id_is(spark, ties, expected):
    rows = [result(doc, 1.0) for doc in ("9", "b", "10", "-5", "100")]
    assert order(spark, rows, ties=ties) == expected


def test_a_number_may_have_any_length_and_leading_zeros(spark):
    large, larger = "9" * 30, "1" + "0" * 30
    rows = [result(doc, 1.0) for doc in (large, "0012", larger, "9", "12", "000", "0")]
    ranked = order(spark, rows, ties="doc_id_num_desc")
    # Of equal numbers the id that is larger as text comes first.
    assert ranked == [larger, large, "12", "0012", "9", "000", "0"]
    assert order(spark, rows, ties="doc_id_num_asc")[-2:] == [large, larger]


def test_document_ids_are_compared_by_their_bytes(spark):
    rows = [result("Z"), result("z"), result("é"), result("10"), result("9")]
    assert order(spark, rows) == sorted(["Z", "z", "é", "10", "9"], key=str.encode, reverse=True)
    assert order(spark, rows)[:2] == ["é", "z"]


@pytest.mark.parametrize(("smaller", "larger"), [(16777216.0, 16777217.0), (0.1, 0.1 + 1e-9)])
def test_scores_that_a_float_cannot_tell_apart_tie_in_float32_alone(spark, smaller, larger):
    rows = [result("a", larger), result("b", smaller)]
    assert order(spark, rows) == ["a", "b"]
    assert order(spark, rows, score_precision="float32") == ["b", "a"]


@pytest.mark.parametrize("precision", ["float64", "float32"])
def test_minus_zero_ties_with_zero(spark, precision):
    rows = [result("a", 0.0), result("b", -0.0), result("c", 0.0)]
    assert order(spark, rows, score_precision=precision) == ["c", "b", "a"]


def test_a_tie_may_be_broken_by_the_rank_column(spark):
    rows = [result("a", 1.0, rank=2), result("b", 1.0, rank=3), result("c", 2.0, rank=9), result("d", 1.0, rank=2)]
    assert order(spark, rows, ties="rank") == ["c", "d", "a", "b"]


def test_results_may_be_ordered_by_the_rank_column_alone(spark):
    rows = [result("a", 9.0, rank=3), result("b", 1.0, rank=1), result("c", 5.0, rank=3)]
    assert order(spark, rows, order="rank") == ["b", "c", "a"]


def test_a_list_is_cut_at_the_depth_where_ids_break_ties(spark):
    rows = [result("a", 3.0), result("b", 2.0), result("c", 2.0), result("d", 1.0)]
    assert order(spark, rows, depth=2) == ["a", "c"]


@pytest.mark.parametrize("ties", ["average", "worst", "best"])
def test_a_tie_across_the_depth_is_kept_whole_where_gains_settle_it(spark, ties):
    rows = [result("a", 3.0), result("b", 2.0), result("c", 2.0), result("d", 2.0), result("e", 1.0)]
    ranked = by_window(results(spark, rows), KEY, Convention(ties=ties), depth=2)
    assert {row["doc_id"]: row[TIE_RANK] for row in ranked.collect()} == {"a": 1, "b": 2, "c": 2, "d": 2}


def test_documents_off_the_list_come_last_and_tie_with_none_on_it(spark):
    rows = [result("x", 9.0), result("a", 1.0), result("b", 1.0), result("y", 1.0)]
    table = results(spark, rows).withColumn(LISTED, F.col("doc_id").isin("a", "b"))
    ranked = by_window(table, KEY, Convention(unjudged="drop", ties="average"), depth=None)
    found = ranked.orderBy(RANK).select("doc_id", RANK, TIE_RANK).collect()
    assert found == [("b", 1, 1), ("a", 2, 1), ("x", 3, 3), ("y", 4, 4)]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, False),
        ({"negative": "keep", "unjudged": 1}, False),
        ({"unjudged": "drop"}, True),
        ({"negative": "drop"}, True),
        ({"duplicates": "best"}, True),
        ({"exclude_query_as_document": True}, True),
    ],
)
def test_documents_leave_the_list_only_by_an_option_that_says_so(options, expected):
    assert takes_documents_off(Convention(**options)) is expected


def test_averaged_ties_give_each_document_the_mean_gain_of_its_group(spark):
    documents = [("a", 1, 1, 7.0), ("d", 2, 2, 0.0), ("c", 3, 2, 3.0), ("b", 4, 2, 6.0)]
    mean = (0 + 3 + 6) / 3
    assert settled(spark, documents, "average", depth=3) == [("a", 1, 7.0), ("d", 2, mean), ("c", 3, mean)]


@pytest.mark.parametrize(
    ("ties", "expected"),
    [
        ("best", [("a", 1, 1.0), ("b", 2, 6.0), ("d", 3, 3.0)]),
        ("worst", [("a", 1, 1.0), ("c", 2, 0.0), ("d", 3, 3.0)]),
    ],
)
def test_best_and_worst_reorder_a_group_by_gain_and_cut_it_then(spark, ties, expected):
    documents = [("a", 1, 1, 1.0), ("d", 2, 2, 3.0), ("c", 3, 2, 0.0), ("b", 4, 2, 6.0)]
    assert settled(spark, documents, ties, depth=3) == expected


def test_equal_gains_in_a_tie_go_by_the_larger_document_id(spark):
    documents = [("a", 1, 1, 2.0), ("c", 2, 1, 2.0), ("b", 3, 1, 2.0)]
    assert settled(spark, documents, "best") == [("c", 1, 2.0), ("b", 2, 2.0), ("a", 3, 2.0)]


def test_ties_that_ids_broke_are_left_as_they_are(spark):
    documents = [("c", 1, 1, 2.0), ("b", 2, 1, 5.0), ("a", 3, 1, 0.0)]
    assert settled(spark, documents, "doc_id_desc") == [("c", 1, 2.0), ("b", 2, 5.0), ("a", 3, 0.0)]


def test_the_ideal_order_is_by_gain_with_null_gains_last(spark):
    gains = [("q1", "a", None), ("q1", "b", -1.0), ("q1", "c", 3.0), ("q1", "d", 3.0), ("q2", "a", 0.0)]
    table = spark.createDataFrame(gains, "query_id string, doc_id string, gain double")
    ranked = rank_by_gain(table, ["query_id"], "gain", "place").orderBy("query_id", "place")
    assert [row["doc_id"] for row in ranked.collect()] == ["d", "c", "b", "a", "a"]
    assert [row["place"] for row in ranked.collect()] == [1, 2, 3, 4, 1]


def test_of_a_document_returned_twice_the_better_row_is_its_first(spark):
    rows = results(spark, [result("a", 1.0), result("a", 5.0), result("b", 2.0), result("a", 1.0, query_id="q2")])
    firsts = rows.select("query_id", "doc_id", "score", first_of_each_document(KEY, Convention()).alias("first"))
    kept = [row for row in firsts.collect() if row["first"]]
    assert sorted(kept) == [("q1", "a", 5.0, True), ("q1", "b", 2.0, True), ("q2", "a", 1.0, True)]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"ties": "doc_id_asc"},
        {"ties": "doc_id_num_desc"},
        {"ties": "doc_id_num_asc"},
        {"ties": "rank"},
        {"order": "rank"},
        {"order": "rank", "ties": "doc_id_num_asc"},
        {"order": "rank", "ties": "doc_id_asc"},
        {"score_precision": "float32"},
    ],
    ids=str,
)
def test_lists_sorted_one_by_one_have_the_ranks_of_a_window(spark, options):
    rows = [{**row, "doc_id": NUMBERED.get(row["doc_id"], row["doc_id"])} for row in random_rows(60)]
    table = results(spark, rows)
    found = [
        rank(table, KEY, Convention(**options), 3).select(*KEY, "doc_id", RANK).collect()
        for rank in (by_window, list_by_list)
    ]
    assert sorted(found[0]) == sorted(found[1])
    assert len(found[0]) > 100
