"""Query scores that are handed over row by row, from the plan or from a night that was published."""

import pytest
from kept_nights import damage
from sessions import on_spark

from ndcg_spark.errors import InputError
from ndcg_spark.job import evaluate_inputs as job

TABLE = "dataset string, run string, query_id string, cutoff int, ndcg double"


#: Two scores of each query, the order that is asked for, and the order of the rows.
ORDERS = [
    ({"q2": (0, 0.6), "q1": (1, 1)}, None, "q1@1 q1@all q2@1 q2@all"),
    (
        {"q3": (0, 0), "q2": (0, 0.6), "q1": (1, 1)},
        ("ndcg", True),
        "q1@1 q1@all q2@all q2@1 q3@1 q3@all",
    ),
    ({"q2": (0, 0.6), "q1": (1, 1)}, ("ndcg",), "q2@1 q2@all q1@1 q1@all"),
    # Sums in another order are equal, and come by query.
    ({"q2": (0.1 + 0.2, 0), "q1": (0.3, 0)}, ("ndcg", True), "q1@1 q2@1 q1@all q2@all"),
    ({"q2": (0.3, 0), "q1": (0.1 + 0.2, 0)}, ("ndcg", True), "q1@1 q2@1 q1@all q2@all"),
    ({"q1": (0.3, 0.2), "q2": (0.2, 0.1)}, ("query_id", True), "q2@1 q2@all q1@1 q1@all"),
]


@pytest.mark.parametrize(("scores", "sort", "expected"), on_spark(ORDERS, ORDERS[0], ORDERS[4]))
def test_order(session, scores, sort, expected):
    rows = [
        ("d", "r", query, *row)
        for query, both in scores.items()
        for row in ((1, float(both[0])), (None, float(both[1])))
    ]
    order = job.QueryOrder(*sort) if sort else None
    rows = job.query_scores_in_order(session.createDataFrame(rows, TABLE), order)
    assert " ".join(f"{row['query_id']}@{row['cutoff'] or 'all'}" for row in rows) == expected


def handed(settings):
    """The evaluation's id, and the query scores that it handed over; none before it is refused."""
    taken = []
    try:
        outcome = job.evaluate(
            settings, write_queries=lambda scores: taken.extend(job.query_scores_in_order(scores))
        )
    except InputError:
        assert taken == []
        raise
    return outcome.evaluation_id, taken


FILES = {"qrels.txt": "q1 0 a 1\nq2 0 c 1\n", "run.txt": "q1 Q0 a 1 3.0 r\nq2 Q0 c 1 1.0 r\n"}


@pytest.mark.parametrize("output", on_spark([None, "out"], "out"))
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
        handed(
            configured(
                {**FILES, "qrels.txt": "q1 0 a 1\nq3 0 a 1\n"},
                convention={"missing_query": "error"},
            )
        )
