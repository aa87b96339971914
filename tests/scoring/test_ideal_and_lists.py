import contextlib
import datetime
import io

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import functions as F
from tables import judgment, judgments, random_rows, result, results

from ndcg_spark import Convention
from ndcg_spark.engine.engine import join_in_place
from ndcg_spark.rules import broken_judgments
from ndcg_spark.scoring import gains, ideal, lists, ranking
from ndcg_spark.scoring.evaluation import Evaluation, count_unjudged_queries, query_scores
from ndcg_spark.scoring.refusals import refuse_rows

KEY = ["query_id"]


def documents_of(session, judged, returned, depth=None, **options):
    """What the DCG is summed of: document, rank and gain, in the order of ranks."""
    convention = Convention(**options)
    worth = ideal.judged_documents(judgments(session, judged), KEY, convention)
    table = lists.listed_gains(results(session, returned), worth, KEY, convention, depth)
    return [(row["doc_id"], row["rank_in_list"], row["gain"]) for row in table.orderBy("rank_in_list").collect()]


def gains_of(session, judged, **options):
    """The query, the document and the gain of what was judged."""
    worth = ideal.judged_documents(judgments(session, judged), KEY, Convention(**options))
    return sorted((row["query_id"], row["doc_id"], row["gain"]) for row in worth.collect())


def gains_of_unchecked(session, judged, **options):
    """The same of a table that nobody has checked."""
    table, convention = judgments(session, judged), Convention(**options)
    broken = broken_judgments(dict(table.dtypes), gains.gain(F.col("relevance"), convention), convention)
    return ideal.judged_documents(refuse_rows(table, broken, "judgments"), KEY, convention).collect()


def ideal_of(session, judged, cutoffs, **options):
    """The ideal DCG of the only query at the cutoffs."""
    convention = Convention(**options)
    worth = ideal.judged_documents(judgments(session, judged), KEY, convention)
    ranked = ideal.ideal_ranking(ideal.of_queries(worth, KEY, None), KEY, convention)
    (row,) = ideal.ideal_scores(ranked, KEY, cutoffs, convention).collect()
    return row.asDict()


def dcg_at_1(session, judged, returned):
    """The DCG at 1 of lists that are ranked down to 2."""
    convention = Convention()
    worth = ideal.judged_documents(judgments(session, judged), KEY, convention)
    documents = lists.listed_gains(results(session, returned), worth, KEY, convention, 2)
    scores = lists.run_scores(documents, KEY, convention, [1, 2], 2)
    return lists.refuse_returned_twice(scores, ["run", *KEY], convention, [1, 2]).select("dcg_1").collect()


def test_a_negative_grade_is_as_unjudged_and_its_query_still_judged(evaluate_embedded):
    found = evaluate_embedded.call(gains_of, [judgment("a", -1.0), judgment("b", 2.0, "q2")])
    assert found == [("q1", "a", None), ("q2", "b", 2.0**2 - 1)]


NEGATIVE = r"refuses \[relevance_negative\] judgments: .*query_id=q1 doc_id=a"


def test_a_negative_grade_that_is_an_error_fails_the_plan_and_names_the_document(evaluate_embedded):
    with pytest.raises(PySparkException, match=NEGATIVE):
        evaluate_embedded.call(gains_of_unchecked, [judgment("a", -1.0)], negative="error")


def test_a_grade_that_the_table_lacks_fails_the_plan_and_is_named(evaluate_embedded):
    with pytest.raises(PySparkException, match=r"\[relevance_without_gain\].*e.g. query_id=q1 doc_id=a relevance=4"):
        evaluate_embedded.call(gains_of_unchecked, [judgment("a", 4.0)], gain={0: 0, 1: 1})


def test_a_mean_grade_that_the_table_lacks_fails_the_plan_and_is_named(evaluate_embedded):
    judged, options = [judgment("a", 1.0), judgment("a", 3.0)], {"gain": {1: 1, 3: 7}, "judgment_duplicates": "mean"}
    with pytest.raises(PySparkException, match=r"\[mean_without_gain\].*e.g. query_id=q1 doc_id=a relevance=2"):
        evaluate_embedded.call(gains_of, judged, **options)


@pytest.mark.parametrize(("policy", "grade"), [("max", 3.0), ("min", 1.0), ("mean", 2.0)])
def test_a_document_judged_twice_has_one_grade_by_its_policy(evaluate_embedded, policy, grade):
    judged = [judgment("a", 1.0), judgment("a", 3.0), judgment("b", 0.0)]
    found = evaluate_embedded.call(gains_of, judged, gain="linear", judgment_duplicates=policy)
    assert found == [("q1", "a", grade), ("q1", "b", 0.0)]


def test_a_document_judged_twice_fails_the_ideal_even_if_one_grade_is_beyond_the_cutoff(evaluate_embedded):
    judged = [judgment("a", 3.0), judgment("b", 2.0), judgment("a", 0.0)]
    with pytest.raises(PySparkException, match=r"judged twice.*query_id=q1; .*judgment_duplicates=max"):
        evaluate_embedded.call(ideal_of, judged, [1])


def test_an_unjudged_document_keeps_its_rank_and_has_no_gain_or_that_of_a_grade(evaluate_embedded):
    judged, returned = [judgment("a", 1.0)], [result("x", 2.0), result("a", 1.0)]
    assert evaluate_embedded.call(documents_of, judged, returned) == [("x", 1, 0.0), ("a", 2, 1.0)]
    found = evaluate_embedded.call(documents_of, judged, returned, unjudged=2)
    assert found == [("x", 1, 2.0**2 - 1), ("a", 2, 1.0)]


def test_dropped_documents_go_behind_the_list_so_that_the_query_stays_answered(evaluate_embedded):
    judged = [judgment("a", 1.0), judgment("n", -1.0)]
    returned = [result("x", 3.0), result("n", 2.0), result("a", 1.0)]
    for options in ({"unjudged": "drop"}, {"unjudged": "drop", "negative": "drop"}):
        assert evaluate_embedded.call(documents_of, judged, returned, **options)[0] == ("a", 1, 1.0)
    found = evaluate_embedded.call(documents_of, judged, returned, negative="drop")
    assert [doc for doc, _, _ in found] == ["x", "a", "n"]


def test_a_document_returned_twice_within_the_depth_fails_every_score(evaluate_embedded):
    returned = [result("a", 3.0), result("a", 2.0), result("b", 1.0)]
    with pytest.raises(PySparkException, match=r"returned, or judged, twice.*run=r query_id=q1"):
        evaluate_embedded.call(dcg_at_1, [judgment("a", 1.0)], returned)


def scores_of_all(session, judged, returned):
    """The query and the DCG of every query score, of results that have not been cut to those of judged queries."""
    tables = judgments(session, judged), results(session, returned)
    evaluated = Evaluation(Convention(), [10], datetime.date(2026, 11, 16), "id")
    scores = query_scores(*tables, count_unjudged_queries(*tables), evaluated)
    return [(row["query_id"], row["dcg"]) for row in scores.collect()]


def test_a_list_of_a_query_that_nobody_judged_changes_nothing_and_is_not_refused(evaluate_embedded):
    unjudged = [result("a", 3.0, "q2"), result("a", 2.0, "q2")]
    found = evaluate_embedded.call(scores_of_all, [judgment("a", 1.0)], [result("a", 3.0), *unjudged])
    assert found == [("q1", 1.0)]


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
    worth, returned = ideal.judged_documents(judged, KEY, convention), results(spark, rows)

    def scores(listing, documents):
        listed = lists.listed_gains(listing, documents, KEY, convention, 3)
        return lists.run_scores(listed, KEY, convention, [1, 3], 3)

    spark.conf.set("spark.sql.shuffle.partitions", "3")
    try:
        elsewhere = scores(returned, worth)
        assert moves(elsewhere) > 1 + 1
        join_in_place(spark)
        in_place = scores(ranking.repartitioned_by_query(returned, KEY), worth)
        # The results, and the judgments.
        assert moves(in_place) == 1 + 1
        assert sorted(in_place.collect()) == sorted(elsewhere.collect())
    finally:
        spark.conf.set("spark.sql.shuffle.partitions", "1")
        spark.conf.unset("spark.sql.requireAllClusterKeysForCoPartition")
