import contextlib
import io
from math import log2

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import functions as F
from tables import judgment, judgments, random_rows, result, results

from ndcg_spark import Convention
from ndcg_spark.engine.opened import join_in_place
from ndcg_spark.rules import broken_judgments
from ndcg_spark.scoring import gains, lists, ranking
from ndcg_spark.scoring import judged as judged_side
from ndcg_spark.scoring.refusals import refuse_rows

KEY = ["query_id"]


def documents_of(judged, returned, convention, depth=None):
    """What the DCG is summed of: document, rank and gain, in the order of ranks."""
    worth = judged_side.judged_documents(judged, KEY, convention)
    table = lists.listed_gains(returned, worth, KEY, convention, depth)
    return [(row["doc_id"], row["rank_in_list"], row["gain"]) for row in table.orderBy("rank_in_list").collect()]


def guarded(judged, convention):
    """What the judged documents are worth, of a table that nobody has checked."""
    broken = broken_judgments(dict(judged.dtypes), gains.gain(F.col("relevance"), convention), convention)
    return judged_side.judged_documents(refuse_rows(judged, broken, "judgments"), KEY, convention)


def ideal_of(judged, convention, cutoffs):
    worth = judged_side.judged_documents(judged, KEY, convention)
    ideal = judged_side.ideal_ranking(judged_side.of_queries(worth, KEY, None), KEY, convention)
    return judged_side.ideal_scores(ideal, KEY, cutoffs, convention)


def test_a_negative_grade_is_as_unjudged_and_its_query_still_judged(spark):
    judged = judgments(spark, [judgment("a", -1.0), judgment("b", 2.0, "q2")])
    rows = judged_side.judged_documents(judged, KEY, Convention()).collect()
    assert {(row["query_id"], row["gain"]) for row in rows} == {("q1", None), ("q2", 2.0**2 - 1)}


def test_a_negative_grade_that_is_kept_has_a_negative_gain(spark):
    judged = judgments(spark, [judgment("a", -1.0)])
    assert judged_side.judged_documents(judged, KEY, Convention(negative="keep")).first()["gain"] == 2.0**-1 - 1


def test_a_negative_grade_that_is_an_error_fails_the_plan_and_names_the_document(spark):
    table = guarded(judgments(spark, [judgment("a", -1.0)]), Convention(negative="error"))
    with pytest.raises(PySparkException, match=r"refuses \[relevance_negative\] judgments: .*query_id=q1 doc_id=a"):
        table.collect()


def test_a_grade_that_the_table_lacks_fails_the_plan_and_is_named(spark):
    table = guarded(judgments(spark, [judgment("a", 4.0)]), Convention(gain={0: 0, 1: 1}))
    with pytest.raises(PySparkException, match=r"\[relevance_without_gain\].*e.g. query_id=q1 doc_id=a relevance=4"):
        table.collect()


def test_a_mean_grade_that_the_table_lacks_fails_the_plan_and_is_named(spark):
    judged = judgments(spark, [judgment("a", 1.0), judgment("a", 3.0)])
    table = judged_side.judged_documents(judged, KEY, Convention(gain={1: 1, 3: 7}, judgment_duplicates="mean"))
    with pytest.raises(PySparkException, match=r"\[mean_without_gain\].*e.g. query_id=q1 doc_id=a relevance=2"):
        table.collect()


@pytest.mark.parametrize(("policy", "grade"), [("max", 3.0), ("min", 1.0), ("mean", 2.0)])
def test_a_document_judged_twice_has_one_grade_by_its_policy(spark, policy, grade):
    judged = judgments(spark, [judgment("a", 1.0), judgment("a", 3.0), judgment("b", 0.0)])
    convention = Convention(gain="linear", judgment_duplicates=policy)
    rows = judged_side.judged_documents(judged, KEY, convention).collect()
    assert sorted((row["doc_id"], row["gain"]) for row in rows) == [("a", grade), ("b", 0.0)]


def test_the_ideal_sums_the_largest_gains_first_at_every_cutoff(spark):
    judged = judgments(spark, [judgment("a", 1.0), judgment("b", 3.0), judgment("c", 2.0)])
    row = ideal_of(judged, Convention(gain="linear"), [1, 2, None]).first()
    assert row["ideal_dcg_1"] == 3
    assert row["ideal_dcg_2"] == pytest.approx(3 + 2 / log2(3))
    assert row["ideal_dcg_all"] == pytest.approx(3 + 2 / log2(3) + 1 / log2(4))


def test_a_document_judged_twice_fails_the_ideal_even_if_one_grade_is_beyond_the_cutoff(spark):
    judged = judgments(spark, [judgment("a", 3.0), judgment("b", 2.0), judgment("a", 0.0)])
    with pytest.raises(PySparkException, match=r"judged twice.*query_id=q1; .*judgment_duplicates=max"):
        ideal_of(judged, Convention(), [1]).collect()


def test_results_of_a_query_that_nobody_judged_are_left_out(spark):
    judged = judgments(spark, [judgment("a", 1.0, "q1")])
    returned = results(spark, [result("a", 1.0, "q1"), result("b", 1.0, "q2")])
    kept = lists.of_judged_queries(returned, judged)
    assert [row["query_id"] for row in kept.collect()] == ["q1"]


def test_an_unjudged_document_keeps_its_rank_and_has_no_gain(spark):
    judged = judgments(spark, [judgment("a", 1.0)])
    returned = results(spark, [result("x", 2.0), result("a", 1.0)])
    assert documents_of(judged, returned, Convention()) == [("x", 1, 0.0), ("a", 2, 1.0)]


def test_an_unjudged_document_can_have_a_grade(spark):
    judged = judgments(spark, [judgment("a", 1.0)])
    returned = results(spark, [result("x", 2.0), result("a", 1.0)])
    assert documents_of(judged, returned, Convention(unjudged=2)) == [("x", 1, 2.0**2 - 1), ("a", 2, 1.0)]


def test_dropped_documents_go_behind_the_list_so_that_the_query_stays_answered(spark):
    judged = judgments(spark, [judgment("a", 1.0), judgment("n", -1.0)])
    returned = results(spark, [result("x", 3.0), result("n", 2.0), result("a", 1.0)])
    for options in ({"unjudged": "drop"}, {"unjudged": "drop", "negative": "drop"}):
        assert documents_of(judged, returned, Convention(**options))[0] == ("a", 1, 1.0)
    assert [doc for doc, _, _ in documents_of(judged, returned, Convention(negative="drop"))] == ["x", "a", "n"]


def test_the_query_itself_can_be_excluded_from_its_results(spark):
    judged = judgments(spark, [judgment("a", 1.0)])
    returned = results(spark, [result("q1", 2.0), result("a", 1.0)])
    assert documents_of(judged, returned, Convention(exclude_query_as_document=True))[0] == ("a", 1, 1.0)


def test_tied_documents_have_their_mean_gain_even_beyond_the_cutoff(spark):
    judged = judgments(spark, [judgment("b", 1.0), judgment("c", 1.0), judgment("a", 0.0)])
    returned = results(spark, [result("a", 3.0), result("b", 2.0), result("c", 2.0), result("d", 2.0)])
    assert documents_of(judged, returned, Convention(ties="average"), depth=2) == [
        ("a", 1, 0.0),
        ("d", 2, pytest.approx(2 / 3)),
    ]


def test_a_document_returned_twice_within_the_depth_fails_every_score(spark):
    judged = judgments(spark, [judgment("a", 1.0)])
    returned = results(spark, [result("a", 3.0), result("a", 2.0), result("b", 1.0)])
    worth = judged_side.judged_documents(judged, KEY, Convention())
    documents = lists.listed_gains(returned, worth, KEY, Convention(), 2)
    scores = lists.run_scores(documents, KEY, Convention(), [1, 2], 2)
    with pytest.raises(PySparkException, match=r"returned, or judged, twice.*run=r query_id=q1"):
        scores.select("dcg_1").collect()


def moves(table):
    """How often the plan moves rows from one part to another."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        table.explain()
    return sum("Exchange hashpartitioning" in line for line in printed.getvalue().splitlines())


@pytest.mark.parametrize("ties", ["doc_id_desc", "average", "best"])
def test_results_are_moved_once_where_the_rows_of_each_query_are_brought_together(spark, ties):
    convention, rows = Convention(ties=ties), list(random_rows(9))
    judged = judgments(spark, [judgment(row["doc_id"], len(row["query_id"]), row["query_id"]) for row in rows[::2]])
    worth, returned = judged_side.judged_documents(judged, KEY, convention), results(spark, rows)

    def scores(listing, documents):
        listed = lists.listed_gains(listing, documents, KEY, convention, 3)
        return lists.run_scores(listed, KEY, convention, [1, 3], 3)

    spark.conf.set("spark.sql.shuffle.partitions", "3")
    try:
        elsewhere = scores(returned, worth)
        assert moves(elsewhere) > 1 + 1
        join_in_place(spark)
        in_place = scores(ranking.brought_together(returned, KEY), worth)
        # The results, and the judgments.
        assert moves(in_place) == 1 + 1
        assert sorted(in_place.collect()) == sorted(elsewhere.collect())
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", "1")
        spark.conf.unset("spark.sql.requireAllClusterKeysForCoPartition")
