"""Query scores that are handed over row by row, from the plan or from a night that was published."""

import pytest
from kept_nights import damage
from tables import judgment, judgments, result, results

from ndcg_spark import evaluate
from ndcg_spark.errors import InputError
from ndcg_spark.job import evaluate as job
from ndcg_spark.tables.sorting import QUERY_COLUMNS, parse_order

TABLE = "dataset string, run string, query_id string, cutoff int, ndcg double"


@pytest.mark.parametrize(
    ("sort", "first"),
    [
        (None, [(query, cutoff) for query in ("q1", "q2", "q3") for cutoff in (1, None)]),
        # q1 scores 1 at both cutoffs, q2 0 and then 1 / log2(3), q3 0 at both.
        ("ndcg", [("q1", 1), ("q1", None), ("q2", None)]),
        ("ndcg@all:asc", [("q3", None), ("q2", None), ("q1", None)]),
    ],
)
def test_order(session, sort, first):
    judged = judgments(session, [judgment("a", 1.0, f"q{n}") for n in (1, 2, 3)])
    returned = results(session, [result("a", 1.0, "q1"), result("b", 2.0, "q2"), result("a", 1.0, "q2")])
    scores = evaluate(judged, returned, [1, None]).query_scores
    rows = job.query_scores_in_order(scores, sort and parse_order(sort, QUERY_COLUMNS, [1, None]))
    assert [(row["query_id"], row["cutoff"]) for row in rows][: len(first)] == first


@pytest.mark.parametrize(
    ("scores", "sort", "queries"),
    [
        # Sums in another order.
        *(
            ({"q1": a, "q2": b}, sort, "q1 q2")
            for a, b in ((0.3, 0.1 + 0.2), (0.1 + 0.2, 0.3))
            for sort in ("ndcg", "ndcg@10:asc")
        ),
        ({"q1": 0.3, "q2": 0.2}, "query_id:desc", "q2 q1"),
    ],
)
def test_equal_scores_come_by_query(session, scores, sort, queries):
    table = session.createDataFrame([("d", "r", query, 10, ndcg) for query, ndcg in scores.items()], TABLE)
    rows = job.query_scores_in_order(table, parse_order(sort, QUERY_COLUMNS, [10]))
    assert [row["query_id"] for row in rows] == queries.split()


def handed(settings):
    """The evaluation's id, and the query scores that it handed over; none before it is refused."""
    taken = []
    try:
        outcome = job.evaluate(settings, write_queries=lambda scores: taken.extend(job.query_scores_in_order(scores)))
    except InputError:
        assert taken == []
        raise
    return outcome.evaluation_id, taken


FILES = {"qrels.txt": "q1 0 a 1\nq2 0 c 1\n", "run.txt": "q1 Q0 a 1 3.0 r\nq2 Q0 c 1 1.0 r\n"}


@pytest.mark.parametrize("output", [None, "out"])
def test_an_evaluation_hands_over_its_own_query_scores(session, configured, tmp_path, output):
    if output:
        # Those of another night in the same folder are not among them.
        handed(configured(FILES, output=output))
        damage(tmp_path / "out", "2026-11-20")
    evaluation_id, taken = handed(configured(FILES, output=output, date="2026-11-21"))
    assert {row["evaluation_id"] for row in taken} == {evaluation_id}
    expected = [(query, cutoff, 1.0) for query in ("q1", "q2") for cutoff in (1, 3)]
    assert [(row["query_id"], row["cutoff"], row["ndcg"]) for row in taken] == expected


def test_no_row_is_handed_over_of_an_evaluation_that_is_refused(session, configured):
    with pytest.raises(InputError, match="a judged query without results"):
        handed(configured({**FILES, "qrels.txt": "q1 0 a 1\nq3 0 a 1\n"}, convention={"missing_query": "error"}))
