"""Documents that stand twice for one query: found, counted and set aside in one scan."""

import pytest
from tables import assert_rows, judgment, judgments, result, results

from ndcg_spark.contract import duplicates
from ndcg_spark.contract.counts import Breach, RunCounts


@pytest.fixture
def judged(session):
    return session.createDataFrame([("q1",)], "query_id string")


@pytest.mark.parametrize("most", [0, 10_000], ids=["searched again", "by name"])
def test_of_a_document_that_stands_twice_no_row_stays(session, monkeypatch, most):
    monkeypatch.setattr(duplicates, "MOST_NAMED", most)
    rows = [judgment("d1", 1.0), judgment("d1", 2.0), judgment("d2"), judgment("d1", query_id="q2")]
    table = judgments(session, rows)
    found, queries = duplicates.in_judgments(table)
    once, copies = found.split(table)
    assert queries == {None: 2}
    assert_rows(once.select("query_id", "doc_id"), ("q1", "d2"), ("q2", "d1"))
    copied = copies.select("reason", "doc_id", "relevance")
    assert_rows(copied, ("judged_twice", "d1", "1.0"), ("judged_twice", "d1", "2.0"))


def test_documents_returned_twice_are_counted_with_their_rows_and_an_example(session, judged):
    rows = [result("d1"), result("d1", 2.0), result("d2"), result("d2"), result("d2"), result("d1", query_id="q2")]
    found, _ = duplicates.in_results(results(session, rows), judged)
    assert (found.different, found.column) == (2, "doc_id")
    assert found.breach == Breach("results", "returned_twice", 5, "run=r query_id=q1 doc_id=d1")


def test_what_is_left_is_counted_and_a_query_of_which_nothing_is_left_is_no_query_of_the_run(session, judged):
    rows = [result("d1"), result("d1"), result("d1", query_id="q2"), result("d2", query_id="q2"), result("d2", run="s")]
    _, runs = duplicates.in_results(results(session, rows), judged)
    assert sorted(runs, key=lambda run: run.run) == [RunCounts(None, "r", 2, 0, 1, 2), RunCounts(None, "s", 1, 1, 0)]


def test_judged_queries_that_are_left_are_counted_by_dataset(session):
    rows = [judgment(dataset=name) for name in ("web", "web", "shop")]
    found, queries = duplicates.in_judgments(judgments(session, rows))
    assert found.breach.example == "dataset=web query_id=q1 doc_id=d1"
    assert queries == {"shop": 1}


def test_a_document_of_two_runs_or_two_queries_is_no_duplicate(session, judged):
    rows = [result(), result(run="s"), result(query_id="q2")]
    assert duplicates.in_results(results(session, rows), judged)[0] is None


def test_the_ranks_of_two_documents_are_counted_and_what_is_left_without_them(session, judged):
    rows = [result("d1", rank=1), result("d2", rank=1), result("d3", rank=2), result("d4", query_id="q2", rank=1)]
    table = results(session, rows)
    found, runs = duplicates.in_results(table, judged, "rank")
    assert (found.different, found.breach) == (1, Breach("results", "rank_twice", 2, "run=r query_id=q1 rank=1"))
    assert runs == [RunCounts(None, "r", 2, 1, 1, 1)]
    once, copies = found.split(table)
    assert_rows(once.select("doc_id"), ("d3",), ("d4",))
    assert_rows(copies.select("doc_id", "reason"), ("d1", "rank_twice"), ("d2", "rank_twice"))


def test_a_document_that_has_its_rank_twice_shares_it_with_no_other(session, judged):
    rows = [result("d1", rank=1), result("d1", rank=1), result("d2", rank=2)]
    assert duplicates.in_results(results(session, rows), judged, "rank")[0] is None
