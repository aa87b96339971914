"""Breaches of the input contract: counted with an example, and set aside."""

import dataclasses
import functools

import pyarrow as pa
import pytest
from pyspark.sql import functions as F
from tables import assert_rows, judgment, result, results, table

from ndcg_spark import Convention
from ndcg_spark.contract.counts import Breach, RunCounts
from ndcg_spark.contract.rows import rejected_rows
from ndcg_spark.contract.scan import breaches_of, count_judgments, count_results
from ndcg_spark.rules import broken_judgments, broken_results, reason_of
from ndcg_spark.schemas import FAULT, LINE

AS_READ = "query_id string, doc_id string, relevance string"


def checked_judgments(session, rows, columns=AS_READ, largest=4, negative="as_unjudged"):
    """The counts of judgments whose grades up to `largest` have a gain."""
    read = table(session, rows, columns)
    gain = F.expr(f"case when abs(try_cast(relevance as double)) <= {largest} then 1.0 end")
    reason = reason_of(broken_judgments(dict(read.dtypes), gain, Convention(negative=negative)))
    counts = count_judgments(read, reason)
    breaches = breaches_of("judgments", read, reason)
    assert counts.bad == sum(breach.rows for breach in breaches)
    return dataclasses.replace(counts, breaches=breaches)


def checked_results(session, rows, order="score"):
    """The counts of results where q1 is the judged query, of the dataset web if the results name theirs."""
    read = table(session, rows, "run string, query_id string, doc_id string, score string")
    reason = reason_of(broken_results({**dict(read.dtypes), "rank": "int"}, Convention(order=order)))
    judged = session.createDataFrame(pa.table({"query_id": ["q1"], "dataset": ["web"]}))
    counts = count_results(read, reason, judged if "dataset" in read.columns else judged.select("query_id"))
    breaches = breaches_of("results", read, reason)
    assert counts.bad == sum(breach.rows for breach in breaches)
    return dataclasses.replace(counts, breaches=breaches, runs=sorted(counts.runs, key=str))


@pytest.fixture
def judgments_of(session):
    return functools.partial(checked_judgments, session)


@pytest.fixture
def results_of(session):
    return functools.partial(checked_results, session)


def test_judgments_without_an_id_are_counted_with_an_example(judgments_of):
    rows = [judgment(query_id=None), judgment("d2", query_id=""), judgment(""), judgment("d4")]
    assert judgments_of(rows).breaches == [
        Breach("judgments", "no_query_id", 2, "query_id= doc_id=d2 relevance=1.0"),
        Breach("judgments", "no_doc_id", 1, "query_id=q1 doc_id= relevance=1.0"),
    ]


def test_judgments_without_a_row_have_no_query_and_no_breach(judgments_of):
    counts = judgments_of([])
    assert (counts.rows, counts.queries, counts.breaches) == (0, {}, [])


def test_a_relevance_that_is_no_finite_number_is_counted_and_shown_as_it_was_read(judgments_of):
    rows = [judgment(relevance=text) for text in ("high", "NaN", "Infinity", "-inf", None, "2.5")]
    counts = judgments_of(rows)
    example = "query_id=q1 doc_id=d1 relevance=-inf"
    assert counts.breaches == [Breach("judgments", "relevance_is_no_number", 5, example)]


def test_a_grade_without_a_gain_is_counted(judgments_of):
    counts = judgments_of([judgment("d1", "4"), judgment("d2", "5"), judgment("d3", "-5")])
    example = "query_id=q1 doc_id=d2 relevance=5"
    assert counts.breaches == [Breach("judgments", "relevance_without_gain", 1, example)]


def test_a_negative_grade_needs_a_gain_where_it_is_used(judgments_of):
    counts = judgments_of([judgment("d1", "-4"), judgment("d2", "-5")], negative="keep")
    example = "query_id=q1 doc_id=d2 relevance=-5"
    assert counts.breaches == [Breach("judgments", "relevance_without_gain", 1, example)]


def test_a_negative_grade_is_a_breach_where_it_is_refused(judgments_of):
    counts = judgments_of([judgment("d1", "-1"), judgment("d2", "0")], negative="error")
    example = "query_id=q1 doc_id=d1 relevance=-1"
    assert counts.breaches == [Breach("judgments", "relevance_negative", 1, example)]


def test_a_broken_line_is_its_own_example(judgments_of):
    line = {FAULT: "broken_line", LINE: "q1 0"}
    rows = [judgment(**dict.fromkeys(line)), judgment(None, None, query_id="q1", **line)]
    counts = judgments_of(rows, f"{AS_READ}, {FAULT} string, {LINE} string")
    assert counts.breaches == [Breach("judgments", "broken_line", 1, "q1 0")]


def test_a_row_with_several_breaches_counts_once_under_the_first(judgments_of):
    counts = judgments_of([judgment(None, "high", query_id=None), judgment(None, "high")])
    assert [(breach.reason, breach.rows) for breach in counts.breaches] == [("no_query_id", 1), ("no_doc_id", 1)]
    assert counts.rows == 2


def test_a_long_example_is_cut(judgments_of):
    (breach,) = judgments_of([judgment("d" * 500, "high")]).breaches
    assert breach.example == f"query_id=q1 doc_id={'d' * 500}"[:200]


def test_rows_and_judged_queries_are_counted(judgments_of):
    rows = [judgment("d1"), judgment("d2"), judgment("d3", query_id="q2"), judgment("d4", "high", query_id="q3")]
    counts = judgments_of(rows)
    assert (counts.rows, counts.queries) == (4, {None: 2})


def test_judged_queries_are_counted_by_dataset(judgments_of):
    queries = [("web", "q1"), ("web", "q2"), ("shop", "q1"), (None, "q1")]
    counts = judgments_of([judgment(query_id=query, dataset=dataset) for dataset, query in queries])
    assert counts.queries == {"web": 2, "shop": 1}
    assert [(breach.reason, breach.rows) for breach in counts.breaches] == [("no_dataset", 1)]


def test_results_without_a_name_or_a_score_are_counted_with_an_example(results_of):
    rows = [result(run=None), result(run=""), result(query_id=""), result(None)]
    rows += [result("d5", "best"), result("d6", None)]
    assert results_of(rows).breaches == [
        Breach("results", "no_run", 2, "run= query_id=q1 doc_id=d1 score=1.0"),
        Breach("results", "no_query_id", 1, "run=r query_id= doc_id=d1 score=1.0"),
        Breach("results", "no_doc_id", 1, "run=r query_id=q1 doc_id=null score=1.0"),
        Breach("results", "score_is_no_number", 2, "run=r query_id=q1 doc_id=d5 score=best"),
    ]


def test_a_rank_that_is_no_whole_number_from_1_is_a_breach(session):
    good, bad = [1.0, 2.0**31 - 1], [0.0, -1.0, 1.5, 2.0**31, float("nan"), None]
    read = results(session, [result(score=rank) for rank in [*good, *bad]]).withColumnRenamed("score", "rank")
    reason = reason_of(broken_results(dict(read.dtypes), Convention(order="rank")))
    found = [row["reason"] for row in read.select(reason.alias("reason")).collect()]
    assert found == [None] * len(good) + ["rank_is_no_rank"] * len(bad)


def test_a_score_is_not_looked_at_where_ranks_order_the_results(results_of):
    counts = results_of([result(score="best", rank=1)], order="rank")
    assert counts.breaches == []


def test_rows_and_judged_and_unjudged_queries_are_counted_by_run(results_of):
    rows = [result("d1"), result("d2"), result(query_id="q8"), result(query_id="q9"), result(query_id="q9", run="s")]
    counts = results_of(rows)
    assert counts.rows == 5
    assert counts.runs == [
        RunCounts(None, "r", 4, 1, 2, 2, lists=1, tied_lists=1, largest_score=1.0),
        RunCounts(None, "s", 1, 0, 1, 1, largest_score=1.0),
    ]


def test_a_query_is_judged_in_its_own_dataset_alone(results_of):
    counts = results_of([result(dataset="web"), result(dataset="shop"), result(dataset=None)])
    assert {run.dataset: (run.judged_queries, run.unjudged_queries) for run in counts.runs} == {
        "web": (1, 0),
        "shop": (0, 1),
    }
    assert [(breach.reason, breach.rows) for breach in counts.breaches] == [("no_dataset", 1)]


def test_a_query_of_which_every_row_is_refused_is_no_query_of_the_run(results_of):
    counts = results_of([result(), result(query_id="q2", score="best")])
    assert counts.runs == [RunCounts(None, "r", 1, 1, 0, largest_score=1.0)]
    assert (counts.rows, counts.breaches[0].rows) == (2, 1)
    counts = results_of([result(score="best"), result(query_id="q2")])
    assert counts.runs == [RunCounts(None, "r", 1, 0, 1, unjudged_rows=1, largest_score=1.0)]


def test_the_results_of_unjudged_queries_are_counted(results_of):
    rows = [result("d1"), result("d1", query_id="q8"), result("d2", query_id="q8"), result(query_id="q9")]
    (run,) = results_of(rows).runs
    assert run.unjudged_rows == 3


def test_a_fingerprint_is_of_the_rows_whatever_their_order_and_how_numbers_are_written(judgments_of):
    rows = [judgment("d1", "1"), judgment("d2", "2.0"), judgment("d2", "2.0")]
    one, other = (judgments_of(given) for given in (rows, [*rows[:0:-1], judgment("d1", "1.00")]))
    assert one.fingerprint == other.fingerprint
    assert len(one.fingerprint) == 16


def counts_of_query(session, query):
    """The counts of one result of a query, which is named by a text or by a number; the query 7 is judged."""
    read = session.createDataFrame(pa.table({"run": ["a"], "query_id": [query], "doc_id": ["d1"], "score": [1.0]}))
    judged = session.createDataFrame(pa.table({"query_id": ["7", "web"]}))
    return count_results(read, F.lit(None).cast("string"), judged)


def test_numbers_that_are_ids_count_as_their_text(session):
    numbers, text = (counts_of_query(session, query) for query in (7, "7"))
    assert numbers == text
    assert [run.judged_queries for run in numbers.runs] == [1]


@pytest.mark.parametrize("rows", [["d1", "d2"], ["d1", "d2", "d2", "d2"], ["d1", "d3", "d3"], ["d1", "", "d2", "d2"]])
def test_another_row_or_another_number_of_one_has_another_fingerprint(judgments_of, rows):
    one, other = (judgments_of([judgment(doc) for doc in given]).fingerprint for given in (["d1", "d2", "d2"], rows))
    assert one != other


def test_rejected_rows_are_as_they_were_read_with_their_reason(session):
    rows = [result("d1", "best"), result("d2", "2.50"), result(None, None, "")]
    broken = [None, None, ("broken_line", "q1 Q0")]
    read = table(
        session,
        [{**row, FAULT: line and line[0], LINE: line and line[1]} for row, line in zip(rows, broken, strict=True)],
        f"run string, query_id string, doc_id string, score string, {FAULT} string, {LINE} string",
    )
    rejected = rejected_rows(read, reason_of(broken_results(dict(read.dtypes), Convention())), "results")
    assert_rows(
        rejected.select("table", "reason", "run", "query_id", "doc_id", "score", "line", "relevance", "rank"),
        ("results", "score_is_no_number", "r", "q1", "d1", "best", None, None, None),
        ("results", "broken_line", "r", "", None, None, "q1 Q0", None, None),
    )
