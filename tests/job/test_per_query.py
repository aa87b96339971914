"""Query scores that are handed over row by row, from the plan or from a night that was published."""

import pytest
from kept_nights import damage
from tables import judgment, judgments, result, results

from ndcg_spark import evaluate
from ndcg_spark.config import validate
from ndcg_spark.errors import InputError
from ndcg_spark.job import evaluate as job
from ndcg_spark.tables.sorting import OF_QUERIES, order_of

TABLE = "dataset string, run string, query_id string, cutoff int, ndcg double"


def handed_over(spark, sort=None):
    judged = judgments(spark, [judgment("a", 1.0, "q1"), judgment("a", 1.0, "q2"), judgment("a", 1.0, "q3")])
    returned = results(spark, [result("a", 1.0, "q1"), result("b", 2.0, "q2"), result("a", 1.0, "q2")])
    scores = evaluate(judged, returned, [1, None]).query_scores
    taken = job.query_scores_in_order(scores, sort and order_of(sort, OF_QUERIES, [1, None]))
    return [(row["query_id"], row["cutoff"]) for row in taken]


def test_rows_come_by_query_and_cutoff_the_whole_ranking_last(session):
    assert handed_over(session) == [(query, cutoff) for query in ("q1", "q2", "q3") for cutoff in (1, None)]


def test_rows_come_in_the_order_that_is_asked_for(session):
    # q1 scores 1 at both cutoffs, q2 0 and then 1 / log2(3), q3 0 at both.
    assert handed_over(session, "ndcg")[:3] == [("q1", 1), ("q1", None), ("q2", None)]
    assert handed_over(session, "ndcg@all:asc")[:3] == [("q3", None), ("q2", None), ("q1", None)]


def in_order_of_scores(spark, scores, sort):
    table = spark.createDataFrame([("d", "r", query, 10, ndcg) for query, ndcg in scores.items()], TABLE)
    taken = job.query_scores_in_order(table, order_of(sort, OF_QUERIES, [10]))
    return [row["query_id"] for row in taken]


@pytest.mark.parametrize("sort", ["ndcg", "ndcg@10:asc"])
def test_scores_that_differ_by_the_order_of_a_sum_come_by_query(session, sort):
    for scores in ({"q1": 0.3, "q2": 0.1 + 0.2}, {"q1": 0.1 + 0.2, "q2": 0.3}):
        assert in_order_of_scores(session, scores, sort) == ["q1", "q2"]
    assert in_order_of_scores(session, {"q1": 0.3, "q2": 0.2}, "query_id:desc") == ["q2", "q1"]


@pytest.fixture
def paths(tmp_path):
    (tmp_path / "qrels.txt").write_text("q1 0 a 1\nq2 0 c 1\n", encoding="utf-8")
    (tmp_path / "run.txt").write_text("q1 Q0 a 1 3.0 r\nq2 Q0 c 1 1.0 r\n", encoding="utf-8")
    return {"judgments": {"path": str(tmp_path / "qrels.txt")}, "results": {"path": str(tmp_path / "run.txt")}}


def handed(settings):
    """The evaluation's id, and the query scores that it handed over; none before it is refused."""
    taken = []
    try:
        outcome = job.evaluate(settings, write_queries=lambda scores: taken.extend(job.query_scores_in_order(scores)))
    except InputError:
        assert taken == []
        raise
    return outcome.evaluation_id, taken


@pytest.mark.parametrize("published", [False, True])
def test_an_evaluation_hands_over_its_own_query_scores(session, paths, tmp_path, published):
    more = {"output": str(tmp_path / "out"), "cutoffs": [1, 3]} if published else {"cutoffs": [1, 3]}
    if published:
        # Those of another night in the same folder are not among them.
        handed(validate({**paths, **more, "date": "2026-11-20"}, "test"))
        damage(tmp_path / "out", "2026-11-20")
    evaluation_id, taken = handed(validate({**paths, **more, "date": "2026-11-21"}, "test"))
    assert {row["evaluation_id"] for row in taken} == {evaluation_id}
    assert [(row["query_id"], row["cutoff"], row["ndcg"]) for row in taken] == [
        (query, cutoff, 1.0) for query in ("q1", "q2") for cutoff in (1, 3)
    ]


def test_no_row_is_handed_over_of_an_evaluation_that_is_refused(session, paths):
    with open(paths["judgments"]["path"], "a", encoding="utf-8") as file:  # noqa: PTH123
        file.write("q3 0 a 1\n")
    with pytest.raises(InputError, match="a judged query without results"):
        handed(validate({**paths, "convention": {"missing_query": "error"}}, "test"))
