"""The order of documents within a query: total, whatever ties."""

import functools

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from tables import random_rows, result, results

from ndcg_spark.casting import conform
from ndcg_spark.convention.convention import Convention
from ndcg_spark.schemas import RESULTS
from ndcg_spark.scoring.ranking import (
    LISTED,
    RANK,
    TIE_RANK,
    by_window,
    first_of_each_document,
    list_by_list,
    rank_by_gain,
    removes_documents,
    settle_ties,
)

KEY = ["run", "query_id"]
RANKED = f"run string, query_id string, doc_id string, {RANK} int, {TIE_RANK} int, gain double"


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
    """The rows of the ranked table as dictionaries, by their rank; documents that are `off` are off their list."""
    # Reading the table settles what an engine makes of -0.0.
    table, convention = conform(results(session, rows), RESULTS, "results"), Convention(**options)
    if removes_documents(convention):
        table = table.withColumn(LISTED, ~F.col("doc_id").isin(*off))
    return [row.asDict() for row in rank(table, KEY, convention, depth).orderBy(*KEY, RANK).collect()]


def order(embedded, rows, depth=None, **options):
    """The document ids by their rank, which both ways of ranking agree on."""
    found = embedded.call(ranked, rows, depth, **options)
    ids = [row["doc_id"] for row in found]
    # Whole lists are ranked by the window; of a list of as many documents as the depth nothing is cut either.
    depth = depth or len(rows)
    assert [row["doc_id"] for row in embedded.call(ranked, rows, depth, list_by_list, **options)] == ids
    return ids


def settled(session, documents, ties, depth=None):
    """Document id, rank and gain after ties are settled; `documents` are (doc_id, rank, rank of the tie, gain)."""
    table = session.createDataFrame([("r", "q1", *document) for document in documents], RANKED)
    found = settle_ties(table, KEY, Convention(ties=ties), depth)
    return [tuple(row) for row in found.orderBy(RANK).select("doc_id", RANK, "gain").collect()]


def best_first(session, gains):
    """The query, the document and the place of each, in the order of gains."""
    table = session.createDataFrame(gains, "query_id string, doc_id string, gain double")
    places = rank_by_gain(table, ["query_id"], "gain", "place").select("query_id", "doc_id", "place")
    return sorted(tuple(row) for row in places.collect())


def first_rows(session, rows):
    """The query, the document and the score of the rows that are the first of their document."""
    table = results(session, rows)
    firsts = table.select("query_id", "doc_id", "score", first_of_each_document(KEY, Convention()).alias("first"))
    return sorted((row["query_id"], row["doc_id"], row["score"]) for row in firsts.collect() if row["first"])


@pytest.mark.parametrize(
    ("ties", "expected"),
    [
        ("doc_id_desc", ["b", "9", "100", "10", "-5"]),
        ("doc_id_num_desc", ["100", "10", "9", "b", "-5"]),
        ("doc_id_num_asc", ["9", "10", "100", "-5", "b"]),
    ],
)
def test_a_tie_may_be_broken_by_the_number_that_an_id_is(evaluate_embedded, ties, expected):
    rows = [result(doc, 1.0) for doc in ("9", "b", "10", "-5", "100")]
    assert order(evaluate_embedded, rows, ties=ties) == expected


def test_a_number_may_have_any_length_and_leading_zeros(evaluate_embedded):
    large, larger = "9" * 30, "1" + "0" * 30
    rows = [result(doc, 1.0) for doc in (large, "0012", larger, "9", "12", "000", "0")]
    # Of equal numbers the id that is larger as text comes first.
    assert order(evaluate_embedded, rows, ties="doc_id_num_desc") == [larger, large, "12", "0012", "9", "000", "0"]
    assert order(evaluate_embedded, rows, ties="doc_id_num_asc")[-2:] == [large, larger]


def test_document_ids_are_compared_by_their_bytes(evaluate_embedded):
    rows = [result("Z"), result("z"), result("é"), result("10"), result("9")]
    assert order(evaluate_embedded, rows) == sorted(["Z", "z", "é", "10", "9"], key=str.encode, reverse=True)
    assert order(evaluate_embedded, rows)[:2] == ["é", "z"]


@pytest.mark.parametrize("precision", ["float64", "float32"])
def test_minus_zero_ties_with_zero(evaluate_embedded, precision):
    rows = [result("a", 0.0), result("b", -0.0), result("c", 0.0)]
    assert order(evaluate_embedded, rows, score_precision=precision) == ["c", "b", "a"]


def test_a_tie_may_be_broken_by_the_rank_column(evaluate_embedded):
    rows = [result("a", 1.0, rank=2), result("b", 1.0, rank=3), result("c", 2.0, rank=9), result("d", 1.0, rank=2)]
    assert order(evaluate_embedded, rows, ties="rank") == ["c", "d", "a", "b"]


SHARED = [result("a", rank=1), result("b", rank=2), result("c", rank=2), result("d", rank=3)]


@pytest.mark.parametrize("rank", [by_window, list_by_list])
@pytest.mark.parametrize("depth", [2, 3, 9, None])
def test_two_documents_with_one_rank_within_the_depth_or_at_its_end_are_refused(evaluate_embedded, rank, depth):
    with pytest.raises(PySparkException, match=r"refuses \[rank_twice\] results: a rank with two documents"):
        evaluate_embedded.call(ranked, SHARED, depth, rank, order="rank")


@pytest.mark.parametrize("rank", [by_window, list_by_list])
def test_two_documents_with_one_rank_below_the_depth_matter_to_no_score(evaluate_embedded, rank):
    assert [row["doc_id"] for row in evaluate_embedded.call(ranked, SHARED, 1, rank, order="rank")] == ["a"]


def test_a_rank_of_a_document_that_leaves_the_list_may_be_given_again(evaluate_embedded):
    rows = evaluate_embedded.call(ranked, SHARED, 3, off=["c"], order="rank", exclude_query_as_document=True)
    assert [row["doc_id"] for row in rows if row[LISTED]] == ["a", "b", "d"]


def test_classic_spark_refuses_two_documents_with_one_rank_too(spark):
    with pytest.raises(Exception, match=r"refuses \[rank_twice\]"):
        ranked(spark, SHARED, 2, order="rank")
    assert [row["doc_id"] for row in ranked(spark, SHARED, 1, order="rank")] == ["a"]


@pytest.mark.parametrize("ties", ["average", "worst", "best"])
def test_a_tie_across_the_depth_is_kept_whole_where_gains_settle_it(evaluate_embedded, ties):
    rows = [result("a", 3.0), result("b", 2.0), result("c", 2.0), result("d", 2.0), result("e", 1.0)]
    found = evaluate_embedded.call(ranked, rows, 2, ties=ties)
    assert {row["doc_id"]: row[TIE_RANK] for row in found} == {"a": 1, "b": 2, "c": 2, "d": 2}


def test_documents_off_the_list_come_last_and_tie_with_none_on_it(evaluate_embedded):
    rows = [result("x", 9.0), result("a", 1.0), result("b", 1.0), result("y", 1.0)]
    found = evaluate_embedded.call(ranked, rows, off=("x", "y"), unjudged="drop", ties="average")
    assert [(row["doc_id"], row[RANK], row[TIE_RANK]) for row in found] == [
        ("b", 1, 1),
        ("a", 2, 1),
        ("x", 3, 3),
        ("y", 4, 4),
    ]


def test_averaged_ties_give_each_document_the_mean_gain_of_its_group(evaluate_embedded):
    documents = [("a", 1, 1, 7.0), ("d", 2, 2, 0.0), ("c", 3, 2, 3.0), ("b", 4, 2, 6.0)]
    mean = (0 + 3 + 6) / 3
    assert evaluate_embedded.call(settled, documents, "average", depth=3) == [
        ("a", 1, 7.0),
        ("d", 2, mean),
        ("c", 3, mean),
    ]


@pytest.mark.parametrize(
    ("ties", "expected"),
    [
        ("best", [("a", 1, 1.0), ("b", 2, 6.0), ("d", 3, 3.0)]),
        ("worst", [("a", 1, 1.0), ("c", 2, 0.0), ("d", 3, 3.0)]),
    ],
)
def test_best_and_worst_reorder_a_group_by_gain_and_cut_it_then(evaluate_embedded, ties, expected):
    documents = [("a", 1, 1, 1.0), ("d", 2, 2, 3.0), ("c", 3, 2, 0.0), ("b", 4, 2, 6.0)]
    assert evaluate_embedded.call(settled, documents, ties, depth=3) == expected


def test_equal_gains_in_a_tie_go_by_the_larger_document_id(evaluate_embedded):
    documents = [("a", 1, 1, 2.0), ("c", 2, 1, 2.0), ("b", 3, 1, 2.0)]
    assert evaluate_embedded.call(settled, documents, "best") == [("c", 1, 2.0), ("b", 2, 2.0), ("a", 3, 2.0)]


def test_the_ideal_order_is_by_gain_with_null_gains_last(evaluate_embedded):
    gains = [("q1", "a", None), ("q1", "b", -1.0), ("q1", "c", 3.0), ("q1", "d", 3.0), ("q2", "a", 0.0)]
    found = evaluate_embedded.call(best_first, gains)
    assert found == [("q1", "a", 4), ("q1", "b", 3), ("q1", "c", 2), ("q1", "d", 1), ("q2", "a", 1)]


def test_of_a_document_returned_twice_the_better_row_is_its_first(evaluate_embedded):
    rows = [result("a", 1.0), result("a", 5.0), result("b", 2.0), result("a", 1.0, query_id="q2")]
    found = evaluate_embedded.call(first_rows, rows)
    assert found == [("q1", "a", 5.0), ("q1", "b", 2.0), ("q2", "a", 1.0)]


def test_lists_sorted_one_by_one_have_the_ranks_of_a_window_on_classic_spark(spark, evaluate_embedded):
    rows = [
        {**row, "doc_id": NUMBERED.get(row["doc_id"], row["doc_id"])} for row in random_rows(60, ranks_repeat=False)
    ]
    each = [
        by_window(results(spark, rows), KEY, Convention(**options), 3).select(*KEY, "doc_id", RANK, F.lit(f"{options}"))
        for options in WITHOUT_GAINS
    ]
    found = functools.reduce(DataFrame.unionAll, each).collect()
    for options in WITHOUT_GAINS:
        lists = evaluate_embedded.call(ranked, rows, 3, list_by_list, **options)
        expected = {(row["run"], row["query_id"], row["doc_id"], row[RANK]) for row in lists}
        assert {tuple(row)[:-1] for row in found if row[-1] == f"{options}"} == expected
        assert len(lists) == len(expected) > 100
