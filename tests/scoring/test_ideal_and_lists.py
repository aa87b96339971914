import pytest
from pyspark.errors import PySparkException
from pyspark.sql import functions as F
from tables import judgment, judgments, result, results

from ndcg_spark import Convention
from ndcg_spark.rules import broken_judgments
from ndcg_spark.scoring import ideal, lists
from ndcg_spark.scoring.refusals import refuse_rows

KEY = ["query_id"]


def gains_of(session, judged, **options):
    return ideal.judged_documents(judgments(session, judged), KEY, Convention(**options)).drop("relevance")


def listed(session, judged, returned, depth=None, **options):
    """What the DCG is summed of."""
    convention = Convention(**options)
    worth = ideal.judged_documents(judgments(session, judged), KEY, convention)
    return lists.listed_gains(results(session, returned), worth, KEY, convention, depth)


@pytest.mark.parametrize(
    ("grade", "options", "reason"),
    [(-1.0, {"negative": "error"}, "relevance_negative"), (4.0, {"gain": {0: 0, 1: 1}}, "relevance_without_gain")],
)
def test_a_grade_without_a_gain_fails_the_plan_of_a_table_that_nobody_has_checked(session, grade, options, reason):
    table, convention = judgments(session, [judgment("a", grade)]), Convention(**options)
    broken = broken_judgments(dict(table.dtypes), ideal.gain(F.col("relevance"), convention), convention)
    with pytest.raises(PySparkException, match=rf"refuses \[{reason}\] judgments: .*query_id=q1 doc_id=a"):
        ideal.judged_documents(refuse_rows(table, broken, "judgments"), KEY, convention).collect()


def test_a_mean_grade_that_the_table_lacks_fails_the_plan_and_is_named(session):
    judged, options = [judgment("a", 1.0), judgment("a", 3.0)], {"gain": {1: 1, 3: 7}, "judgment_duplicates": "mean"}
    with pytest.raises(PySparkException, match=r"\[mean_without_gain\].*e.g. query_id=q1 doc_id=a relevance=2"):
        gains_of(session, judged, **options).collect()


def test_a_document_judged_twice_fails_the_ideal_even_if_one_grade_is_beyond_the_cutoff(session):
    judged = judgments(session, [judgment("a", 3.0), judgment("b", 2.0), judgment("a", 0.0)])
    worth = ideal.judged_documents(judged, KEY, Convention())
    ranked = ideal.ideal_ranking(ideal.judged_queries(worth, KEY, None), KEY, Convention())
    with pytest.raises(PySparkException, match=r"\[judged_twice\].*query_id=q1; .*judgment_duplicates=max"):
        ideal.ideal_scores(ranked, KEY, [1], Convention()).collect()


def test_a_document_returned_twice_within_the_depth_fails_every_score(session):
    documents = listed(session, [judgment("a", 1.0)], [result("a", 3.0), result("a", 2.0), result("b", 1.0)], 2)
    scores = lists.run_scores(documents, KEY, Convention(), [1, 2], 2)
    with pytest.raises(PySparkException, match=r"\[returned_twice\].*run=r query_id=q1"):
        lists.refuse_returned_twice(scores, ["run", *KEY], Convention(), [1, 2]).select("dcg_1").collect()
