"""Breaches of the input contract: counted with an example, and set aside."""

import dataclasses

import pytest
from pyspark.sql import functions as F
from tables import judgment, result, results, table

from ndcg_spark import Convention
from ndcg_spark.contract.counting import breaches_of, count_judgments, count_results
from ndcg_spark.contract.counts import Breach, RunCounts
from ndcg_spark.contract.rejecting import rejected
from ndcg_spark.rules import broken_judgments, broken_results, reason_of
from ndcg_spark.schemas import BROKEN_LINE

AS_READ = "query_id string, doc_id string, relevance string"


def checked_judgments(spark, rows, columns=AS_READ, largest=4, negative="as_unjudged"):
    """The counts of judgments whose grades up to `largest` have a gain."""
    read = table(spark, rows, columns)
    gain = F.expr(f"case when abs(try_cast(relevance as double)) <= {largest} then 1.0 end")
    reason = reason_of(broken_judgments(dict(read.dtypes), gain, Convention(negative=negative)))
    counts = count_judgments(read, reason)
    breaches = breaches_of("judgments", read, reason)
    assert counts.bad == sum(breach.rows for breach in breaches)
    return dataclasses.replace(counts, breaches=breaches)


def checked_results(spark, rows, order="score"):
    """The counts of results where q1 is the judged query, of the dataset web if the results name theirs."""
    read = table(spark, rows, "run string, query_id string, doc_id string, score string")
    reason = reason_of(broken_results({**dict(read.dtypes), "rank": "int"}, Convention(order=order)))
    judged = spark.createDataFrame([("q1", "web")], "query_id string, dataset string")
    counts = count_results(read, reason, judged if "dataset" in read.columns else judged.select("query_id"))
    breaches = breaches_of("results", read, reason)
    assert counts.bad == sum(breach.rows for breach in breaches)
    return dataclasses.replace(counts, breaches=breaches)


def test_judgments_without_an_id_are_counted_with_an_example(spark):
    rows = [judgment(query_id=None), judgment("d2", query_id=""), judgment(""), judgment("d4")]
    assert checked_judgments(spark, rows).breaches == [
        Breach("judgments", "no_query_id", 2, "query_id= doc_id=d2 relevance=1.0"),
        Breach("judgments", "no_doc_id", 1, "query_id=q1 doc_id= relevance=1.0"),
    ]


def test_judgments_without_a_row_have_no_query_and_no_breach(spark):
    counts = checked_judgments(spark, [])
    assert (counts.rows, counts.queries, counts.breaches) == (0, {}, [])


def test_a_relevance_that_is_no_finite_number_is_counted_and_shown_as_it_was_read(spark):
    rows = [judgment(relevance=text) for text in ("high", "NaN", "Infinity", "-inf", None, "2.5")]
    counts = checked_judgments(spark, rows)
    example = "query_id=q1 doc_id=d1 relevance=-inf"
    assert counts.breaches == [Breach("judgments", "relevance_is_no_number", 5, example)]


def test_a_grade_without_a_gain_is_counted(spark):
    counts = checked_judgments(spark, [judgment("d1", "4"), judgment("d2", "5"), judgment("d3", "-5")])
    example = "query_id=q1 doc_id=d2 relevance=5"
    assert counts.breaches == [Breach("judgments", "relevance_without_gain", 1, example)]


def test_a_negative_grade_needs_a_gain_where_it_is_used(spark):
    counts = checked_judgments(spark, [judgment("d1", "-4"), judgment("d2", "-5")], negative="keep")
    example = "query_id=q1 doc_id=d2 relevance=-5"
    assert counts.breaches == [Breach("judgments", "relevance_without_gain", 1, example)]


def test_a_negative_grade_is_a_breach_where_it_is_refused(spark):
    counts = checked_judgments(spark, [judgment("d1", "-1"), judgment("d2", "0")], negative="error")
    example = "query_id=q1 doc_id=d1 relevance=-1"
    assert counts.breaches == [Breach("judgments", "relevance_negative", 1, example)]


def test_a_broken_line_is_its_own_example(spark):
    rows = [judgment(**{BROKEN_LINE: None}), judgment(None, None, query_id="q1", **{BROKEN_LINE: "q1 0"})]
    counts = checked_judgments(spark, rows, f"{AS_READ}, {BROKEN_LINE} string")
    assert counts.breaches == [Breach("judgments", "broken_line", 1, "q1 0")]


def test_a_row_with_several_breaches_counts_once_under_the_first(spark):
    counts = checked_judgments(spark, [judgment(None, "high", query_id=None), judgment(None, "high")])
    assert [(breach.reason, breach.rows) for breach in counts.breaches] == [("no_query_id", 1), ("no_doc_id", 1)]
    assert counts.rows == 2


def test_a_long_example_is_cut(spark):
    (breach,) = checked_judgments(spark, [judgment("d" * 500, "high")]).breaches
    assert breach.example == f"query_id=q1 doc_id={'d' * 500}"[:200]


def test_rows_and_judged_queries_are_counted(spark):
    rows = [judgment("d1"), judgment("d2"), judgment("d3", query_id="q2"), judgment("d4", "high", query_id="q3")]
    counts = checked_judgments(spark, rows)
    assert (counts.rows, counts.queries) == (4, {None: 2})


def test_judged_queries_are_counted_by_dataset(spark):
    queries = [("web", "q1"), ("web", "q2"), ("shop", "q1"), (None, "q1")]
    counts = checked_judgments(spark, [judgment(query_id=query, dataset=dataset) for dataset, query in queries])
    assert counts.queries == {"web": 2, "shop": 1}
    assert [(breach.reason, breach.rows) for breach in counts.breaches] == [("no_dataset", 1)]


def test_results_without_a_name_or_a_score_are_counted_with_an_example(spark):
    rows = [result(run=None), result(run=""), result(query_id=""), result(None)]
    rows += [result("d5", "best"), result("d6", None)]
    assert checked_results(spark, rows).breaches == [
        Breach("results", "no_run", 2, "run= query_id=q1 doc_id=d1 score=1.0"),
        Breach("results", "no_query_id", 1, "run=r query_id= doc_id=d1 score=1.0"),
        Breach("results", "no_doc_id", 1, "run=r query_id=q1 doc_id=null score=1.0"),
        Breach("results", "score_is_no_number", 2, "run=r query_id=q1 doc_id=d5 score=best"),
    ]


def test_a_rank_that_is_no_whole_number_from_1_is_a_breach(spark):
    good, bad = [1.0, 2.0**31 - 1], [0.0, -1.0, 1.5, 2.0**31, float("nan"), None]
    read = results(spark, [result(score=rank) for rank in [*good, *bad]]).withColumnRenamed("score", "rank")
    reason = reason_of(broken_results(dict(read.dtypes), Convention(order="rank")))
    found = [row["reason"] for row in read.select(reason.alias("reason")).collect()]
    assert found == [None] * len(good) + ["rank_is_no_rank"] * len(bad)


def test_a_score_is_not_looked_at_where_ranks_order_the_results(spark):
    counts = checked_results(spark, [result(score="best", rank=1)], order="rank")
    assert counts.breaches == []


def test_rows_and_judged_and_unjudged_queries_are_counted_by_run(spark):
    rows = [result("d1"), result("d2"), result(query_id="q8"), result(query_id="q9"), result(query_id="q9", run="s")]
    counts = checked_results(spark, rows)
    assert counts.rows == 5
    assert sorted(counts.runs, key=lambda run: run.run) == [
        RunCounts(None, "r", 4, 1, 2, 2, lists=1, tied_lists=1),
        RunCounts(None, "s", 1, 0, 1, 1),
    ]


def test_a_query_is_judged_in_its_own_dataset_alone(spark):
    counts = checked_results(spark, [result(dataset="web"), result(dataset="shop"), result(dataset=None)])
    assert {run.dataset: (run.judged_queries, run.unjudged_queries) for run in counts.runs} == {
        "web": (1, 0),
        "shop": (0, 1),
    }
    assert [(breach.reason, breach.rows) for breach in counts.breaches] == [("no_dataset", 1)]


def test_a_query_of_which_every_row_is_refused_is_no_query_of_the_run(spark):
    counts = checked_results(spark, [result(), result(query_id="q2", score="best")])
    assert counts.runs == [RunCounts(None, "r", 1, 1, 0)]
    assert (counts.rows, counts.breaches[0].rows) == (2, 1)


def test_the_results_of_unjudged_queries_are_counted(spark):
    rows = [result("d1"), result("d1", query_id="q8"), result("d2", query_id="q8"), result(query_id="q9")]
    (run,) = checked_results(spark, rows).runs
    assert run.unjudged_rows == 3


def test_a_fingerprint_is_of_the_rows_whatever_their_order_and_how_numbers_are_written(spark):
    rows = [judgment("d1", "1"), judgment("d2", "2.0"), judgment("d2", "2.0")]
    one, other = (checked_judgments(spark, given) for given in (rows, [*rows[:0:-1], judgment("d1", "1.00")]))
    assert one.fingerprint == other.fingerprint
    assert len(one.fingerprint) == 16


def test_numbers_that_are_ids_count_as_their_text(spark):
    columns = "run string, query_id {}, doc_id string, score double"
    judged = spark.createDataFrame([("7",), ("web",)], "query_id string")
    fine = F.lit(None).cast("string")
    numbers = count_results(spark.createDataFrame([("a", 7, "d1", 1.0)], columns.format("bigint")), fine, judged)
    text = count_results(spark.createDataFrame([("a", "7", "d1", 1.0)], columns.format("string")), fine, judged)
    assert numbers == text
    assert [run.judged_queries for run in numbers.runs] == [1]


@pytest.mark.parametrize("rows", [["d1", "d2"], ["d1", "d2", "d2", "d2"], ["d1", "d3", "d3"], ["d1", "", "d2", "d2"]])
def test_another_row_or_another_number_of_one_has_another_fingerprint(spark, rows):
    one, other = (
        checked_judgments(spark, [judgment(doc) for doc in given]).fingerprint for given in (["d1", "d2", "d2"], rows)
    )
    assert one != other


def test_rejected_rows_are_as_they_were_read_with_their_reason(spark):
    read = table(
        spark,
        [
            result("d1", "best", **{BROKEN_LINE: None}),
            result("d2", "2.50", **{BROKEN_LINE: None}),
            result(None, None, "", **{BROKEN_LINE: "q1 Q0"}),
        ],
        f"run string, query_id string, doc_id string, score string, {BROKEN_LINE} string",
    )
    reason = reason_of(broken_results(dict(read.dtypes), Convention()))
    found = {row["reason"]: row.asDict() for row in rejected(read, reason, "results").collect()}
    nothing = {"table": "results", "dataset_read": None, "relevance": None, "rank": None}
    bad = {"reason": "score_is_no_number", "run": "r", "query_id": "q1", "doc_id": "d1", "score": "best", "line": None}
    line = {"reason": "broken_line", "run": "r", "query_id": "", "doc_id": None, "score": None, "line": "q1 Q0"}
    assert found == {"score_is_no_number": {**nothing, **bad}, "broken_line": {**nothing, **line}}
