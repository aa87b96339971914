"""What is refused of the counts, in words that say what to do."""

import pytest

from ndcg_spark.contract.counts import Breach, JudgmentCounts, ResultCounts, RunCounts
from ndcg_spark.contract.limits import refuse_breaches, refuse_gaps, refuse_lost, refuse_unjudged, refuse_unrelated
from ndcg_spark.errors import InputError

BAD_SCORES = [Breach("results", "score_is_no_number", 3, "score=x")]


def run(name="bm25", judged=4, unjudged=1, dataset=None):
    return RunCounts(dataset, name, 10 * (judged + unjudged), judged, unjudged)


def returned(*runs):
    return ResultCounts(sum(run.rows for run in runs), list(runs), [])


def judged(queries=5, dataset=None):
    return JudgmentCounts(100, {dataset: queries}, [])


def test_a_refusal_tells_every_breach_with_its_count_its_example_and_the_place():
    breaches = [Breach("results", "no_run", 2, "run= doc_id=d1"), Breach("results", "score_is_no_number", 1, "score=x")]
    with pytest.raises(InputError) as refused:
        refuse_breaches("results", breaches, 10, "runs/bm25.run")
    assert str(refused.value) == (
        "results: 2 row(s) without a run, e.g. run= doc_id=d1; 1 score(s) that are not finite numbers, e.g. score=x; "
        "correct them in runs/bm25.run"
    )


def test_an_empty_table_is_refused_by_its_place():
    with pytest.raises(InputError, match=r"^judgments: no rows in nightly/qrels; the table is empty"):
        refuse_breaches("judgments", [], 0, "nightly/qrels")


def test_rows_without_a_breach_are_not_refused():
    refuse_breaches("judgments", [], 1, "nightly/qrels")


def test_results_of_which_no_query_was_judged_are_refused():
    counts = ResultCounts(9, [RunCounts(None, "bm25", 5, 0, 3), RunCounts(None, "dense", 4, 0, 2)], [])
    with pytest.raises(InputError, match=r"none of 5 queries of 2 run\(s\), e\.g\. of run=bm25, .* in some/runs"):
        refuse_unrelated(counts, "some/runs")


def test_one_run_with_one_judged_query_is_enough():
    refuse_unrelated(ResultCounts(9, [RunCounts(None, "a", 5, 0, 3), RunCounts(None, "b", 4, 1, 2)], []), "some/runs")


def test_breaches_within_the_budget_are_not_refused():
    refuse_breaches("results", BAD_SCORES, 30, "runs", 0.1)


def test_breaches_past_the_budget_are_refused_with_the_budget():
    with pytest.raises(InputError) as refused:
        refuse_breaches("results", BAD_SCORES, 29, "runs", 0.1)
    assert str(refused.value) == (
        "results: 3 of 29 rows rejected, max_rejected_fraction is 0.1: 3 score(s) that are not finite numbers, "
        "e.g. score=x; correct them in runs"
    )


def test_a_table_without_a_good_row_is_refused_whatever_the_budget():
    with pytest.raises(InputError, match="3 of 3 rows rejected"):
        refuse_breaches("results", BAD_SCORES, 3, "runs", 1.0)


def test_a_run_that_lacks_more_judged_queries_than_allowed_is_refused():
    refuse_gaps(judged(5), returned(run(judged=4)), 0.2, 1.0)
    with pytest.raises(InputError) as refused:
        refuse_gaps(judged(5), returned(run(judged=4), run("dense", judged=3)), 0.2, 1.0)
    assert str(refused.value) == (
        "results: 1 run(s) lack more of the judged queries than max_missing_fraction=0.2, e.g. run=dense lacks 2 of 5; "
        "complete the tables, or allow more"
    )


def test_the_gaps_of_a_run_are_those_of_its_own_dataset():
    counts = JudgmentCounts(9, {"web": 4, "shop": 9}, [])
    refuse_gaps(counts, returned(run(judged=4, dataset="web"), run(judged=9, dataset="shop")), 0.0, 1.0)
    with pytest.raises(InputError, match="run=bm25 lacks 5 of 9"):
        refuse_gaps(counts, returned(run(judged=4, dataset="shop")), 0.0, 1.0)


def test_a_run_with_more_unjudged_queries_than_allowed_is_refused():
    refuse_gaps(judged(), returned(run(judged=3, unjudged=1)), 1.0, 0.25)
    with pytest.raises(InputError, match=r"than max_unjudged_fraction=0\.25, e\.g\. run=bm25 has 2 of 5;"):
        refuse_gaps(judged(), returned(run(judged=3, unjudged=2)), 1.0, 0.25)


def test_both_gaps_are_told_at_once():
    with pytest.raises(InputError, match=r"lack more of the judged queries .*; 1 run.* unjudged queries"):
        refuse_gaps(judged(5), returned(run(judged=1, unjudged=1)), 0.0, 0.0)


def test_runs_whose_results_are_judged_less_than_wanted_are_refused_by_the_worst():
    refuse_unjudged({"bm25": 0.5, "none": None}, 10, 0.5)
    with pytest.raises(InputError, match=r"2 run\(s\) with a judged_rate@10 below .*=0\.5, e\.g\. run=b with 0\.2000"):
        refuse_unjudged({"a": 0.4, "b": 0.2, "c": 0.9}, 10, 0.5)
    for rates, advice in (({"a": 0.1}, "judge more"), ({"a": 0.1, "b": 0.0}, "write document ids alike")):
        with pytest.raises(InputError, match=advice):
            refuse_unjudged(rates, 10, 0.5)


@pytest.mark.parametrize("percent", [29, 57, 58])
def test_a_budget_that_is_met_exactly_is_not_passed(percent):
    allowed = percent / 100
    breaches = [Breach("results", "no_run", percent, "run=")]
    refuse_breaches("results", breaches, 100, "runs", allowed)
    refuse_gaps(judged(100), returned(run(judged=100 - percent, unjudged=0)), allowed, 1.0)
    with pytest.raises(InputError, match=f"{percent} of 99 rows rejected"):
        refuse_breaches("results", breaches, 99, "runs", allowed)


def test_scores_that_lack_more_queries_than_the_results_did_are_refused():
    row = {"dataset": "default", "run": "bm25", "missing_queries": 1}
    refuse_lost(judged(5), returned(run(judged=4)), [row])
    with pytest.raises(InputError, match="run=bm25 lacks 2 judged queries in its scores, but lacked 1 when"):
        refuse_lost(judged(5), returned(run(judged=4)), [{**row, "missing_queries": 2}])
