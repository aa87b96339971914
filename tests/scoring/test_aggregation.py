"""Query scores become dataset scores, and every run is told of."""

import datetime
import math
import statistics

import pytest

from ndcg_spark.scoring.aggregation import means, with_every_run

NIGHT = datetime.date(2026, 1, 31)
KEY = "dataset string, evaluated_on date, run string, cutoff int"
QUERY_SCORES = f"{KEY}, status string, returned bigint, judged bigint, ndcg double, dcg double, ideal_dcg double"
COUNTS = "queries bigint, missing_queries bigint, no_relevant_queries bigint"
RUNS = "dataset string, evaluated_on date, run string, unjudged_queries bigint"


def scored(ndcg=0.5, dcg=1.0, ideal_dcg=2.0, status="scored", returned=10, judged=5, run="r", cutoff=10, dataset="web"):
    return (dataset, NIGHT, run, cutoff, status, returned, judged, ndcg, dcg, ideal_dcg)


def all_aggregated(session, *rows):
    return [row.asDict() for row in means(session.createDataFrame(rows, QUERY_SCORES)).collect()]


def aggregated(session, *rows):
    """The one dataset score of these query scores."""
    (row,) = all_aggregated(session, *rows)
    return row


def with_runs(session, runs, cutoffs, rows, columns):
    """These columns of the scores, with a row for every one of the runs."""
    scores = session.createDataFrame(rows, columns)
    table = with_every_run(scores, session.createDataFrame(runs, RUNS), cutoffs)
    return [row.asDict() for row in table.collect()]


def test_the_mean_and_the_deviation_are_over_queries_that_have_an_ndcg(evaluate_embedded):
    row = evaluate_embedded.call(aggregated, scored(1.0), scored(0.5), scored(0.0), scored(None))
    assert row["queries"] == 3
    assert row["ndcg"] == pytest.approx((1.0 + 0.5 + 0.0) / 3)
    assert row["ndcg_stddev"] == pytest.approx(statistics.stdev([1.0, 0.5, 0.0]))
    assert row["ndcg_stderr"] == pytest.approx(statistics.stdev([1.0, 0.5, 0.0]) / math.sqrt(3))


def test_pooled_is_the_sum_of_dcg_over_the_sum_of_ideal_dcg_of_the_queries_in_the_mean(evaluate_embedded):
    row = evaluate_embedded.call(aggregated, scored(0.5, 2.0, 4.0), scored(0.1, 1.0, 10.0), scored(None, 7.0, 100.0))
    assert row["ndcg_pooled"] == pytest.approx((2.0 + 1.0) / (4.0 + 10.0))
    assert row["dcg"] == pytest.approx((2.0 + 1.0) / 2)


def test_a_query_that_scores_0_without_an_ideal_weighs_in_the_mean_and_not_in_the_pool(evaluate_embedded):
    row = evaluate_embedded.call(aggregated, scored(1.0, 3.0, 3.0), scored(0.0, 0.0, 0.0, status="no_relevant"))
    assert (row["ndcg"], row["ndcg_pooled"], row["dcg"]) == ((1 + 0) / 2, 3 / 3, (3 + 0) / 2)


def test_without_a_query_in_the_mean_every_score_is_null_and_never_0(evaluate_embedded):
    row = evaluate_embedded.call(aggregated, scored(None, 0.0, 0.0, "no_relevant"), scored(None, 0.0, 3.0, "missing"))
    assert row["queries"] == 0
    assert [row[name] for name in ("ndcg", "ndcg_pooled", "ndcg_stddev", "ndcg_stderr", "dcg")] == [None] * 5


def test_the_pool_is_null_where_the_ideal_adds_up_to_0(evaluate_embedded):
    row = evaluate_embedded.call(aggregated, scored(0.0, 0.0, 0.0, "no_relevant"), scored(0.0, 0.0, 0.0, "no_relevant"))
    assert (row["ndcg"], row["ndcg_pooled"]) == (0.0, None)


def test_one_query_has_no_deviation_and_without_results_no_judged_rate(evaluate_embedded):
    row = evaluate_embedded.call(aggregated, scored(0.0, status="missing", returned=0, judged=0))
    assert (row["queries"], row["ndcg"]) == (1, 0.0)
    assert [row[name] for name in ("ndcg_stddev", "ndcg_stderr", "judged_rate")] == [None] * 3


def test_queries_are_counted_by_status_whether_they_are_in_the_mean_or_not(evaluate_embedded):
    statuses = [(None, "missing"), (0.0, "missing"), (0.0, "no_relevant"), (0.9, "scored")]
    row = evaluate_embedded.call(aggregated, *(scored(ndcg, status=status) for ndcg, status in statuses))
    assert (row["queries"], row["missing_queries"], row["no_relevant_queries"]) == (3, 2, 1)


def test_the_judged_rate_is_judged_over_returned_documents_of_all_queries(evaluate_embedded):
    row = evaluate_embedded.call(aggregated, scored(returned=10, judged=5), scored(None, returned=2, judged=2))
    assert row["judged_rate"] == pytest.approx((5 + 2) / (10 + 2))


def test_each_dataset_run_and_cutoff_has_a_row_and_null_is_a_cutoff(evaluate_embedded):
    keys = [("web", "r", 10), ("web", "r", None), ("web", "s", 10), ("shop", "r", 10)]
    rows = [scored(run=run, cutoff=cutoff, dataset=dataset) for dataset, run, cutoff in keys]
    found = evaluate_embedded.call(all_aggregated, *rows, *rows)
    assert {(row["dataset"], row["run"], row["cutoff"], row["queries"]) for row in found} == {(*key, 2) for key in keys}
    assert len(found) == len(keys)


def test_a_run_without_a_judged_query_has_a_row_of_zeros_and_nulls_at_every_cutoff(evaluate_embedded):
    columns = f"{KEY}, attribute string, {COUNTS}, ndcg double"
    rows = [("web", NIGHT, "r", 10, None, 4, 2, 1, 0.5), ("web", NIGHT, "r", None, None, 4, 2, 1, 0.6)]
    runs = [("web", NIGHT, "r", 3), ("web", NIGHT, "idle", 7)]
    found = evaluate_embedded.call(with_runs, runs, [10, None], rows, columns)
    names = ["run", "cutoff", *(count.split()[0] for count in COUNTS.split(", ")), "unjudged_queries", "ndcg"]
    expected = {("r", 10, 4, 2, 1, 3, 0.5), ("r", None, 4, 2, 1, 3, 0.6)}
    expected |= {("idle", 10, 0, 0, 0, 7, None), ("idle", None, 0, 0, 0, 7, None)}
    assert {tuple(row[name] for name in names) for row in found} == expected
    assert len(found) == len(expected)
