"""Which counts are refused."""

import pytest

from ndcg_spark.contract.limits import (
    refuse_gaps,
    refuse_lost,
    refuse_low_rates,
    refuse_rejected,
    refuse_unrelated,
)
from ndcg_spark.contract.scan import Counts, JudgmentCounts, Rejection, ResultCounts, RunCounts
from ndcg_spark.errors import InputError
from ndcg_spark.inputs.source_tables import Source

RESULTS = Source(None, "results", "runs/bm25", [])


def run(name="bm25", judged=4, unjudged=1, dataset=None):
    return RunCounts(dataset, name, 10 * (judged + unjudged), judged, unjudged)


def returned(*runs):
    return ResultCounts(rows=sum(run.rows for run in runs), runs=runs)


def judged(queries=5, dataset=None):
    return JudgmentCounts(rows=100, queries={dataset: queries})


def bad(rows, of, reason="no_run", example="run="):
    rejections = [Rejection("results", reason, rows, example)] if rows else []
    return Counts(rows=of, rejected=rows, rejections=rejections)


@pytest.mark.parametrize(
    ("refuse", "arguments", "words"),
    [
        (refuse_rejected, (RESULTS, bad(0, 1)), None),
        (refuse_rejected, (RESULTS, bad(0, 0)), "no rows in runs/bm25"),
        (refuse_rejected, (RESULTS, bad(1, 9)), r"^results: 1 row\(s\) without a run"),
        (refuse_rejected, (RESULTS, bad(1, 9, "score_is_no_number", "q;d;0,6")), "with a point"),
        (
            refuse_rejected,
            (RESULTS, bad(1, 9, "score_is_no_number", "query_id=q score=-1,5")),
            "with a point",
        ),
        (refuse_rejected, (RESULTS, bad(1, 9, "score_is_no_number", "1,2,bad")), "correct them"),
        (refuse_rejected, (RESULTS, bad(3, 30), 0.1), None),
        (
            refuse_rejected,
            (RESULTS, bad(3, 29), 0.1),
            "3 of 29 rows rejected, max_rejected_fraction is 0.1",
        ),
        (refuse_rejected, (RESULTS, bad(3, 3), 1.0), "3 of 3 rows rejected"),
        (
            refuse_rejected,
            (Source(None, "results", "r", [], 8), bad(0, 9)),
            "the engine read 9 rows of r, which has 8",
        ),
        (
            refuse_unrelated,
            (returned(run("a", 0, 3), run("b", 1, 2)), "runs/bm25", None, None),
            None,
        ),
        (refuse_gaps, (judged(5), returned(run(judged=4)), 0.2, 1.0), None),
        (
            refuse_gaps,
            (judged(5), returned(run(), run("dense", 3)), 0.2, 1.0),
            "e.g. run=dense lacks 2 of 5; complete",
        ),
        (refuse_gaps, (judged(9), returned(run(dataset="web")), 0.0, 1.0), None),
        (
            refuse_gaps,
            (judged(9, "web"), returned(run(dataset="web")), 0.0, 1.0),
            "run=bm25 lacks 5 of 9",
        ),
        (refuse_gaps, (judged(), returned(run(judged=3, unjudged=1)), 1.0, 0.25), None),
        (
            refuse_gaps,
            (judged(), returned(run(judged=3, unjudged=2)), 1.0, 0.25),
            "run=bm25 has 2 of 5",
        ),
        (
            refuse_gaps,
            (judged(5), returned(run(judged=1)), 0.0, 0.0),
            r"judged queries .*; 1 run.* unjudged queries",
        ),
        (
            refuse_gaps,
            (judged(5), returned(run(), run("d", 0)), 0.2, 1.0),
            "e.g. run=d lacks 5 of 5; check that",
        ),
        (refuse_low_rates, ({"bm25": 0.5, "none": None}, 10, 0.5, "do it"), None),
        (
            refuse_low_rates,
            ({"a": 0.4, "b": 0.2, "c": 0.9}, 10, 0.5, "do it"),
            "run=b with 0.2000; judge",
        ),
        (refuse_low_rates, ({"a": 0.1, "b": 0.0}, 10, 0.5, "do it"), "run=b with 0.0000; do it"),
    ],
)
def test_limits(refuse, arguments, words):
    if words is None:
        refuse(*arguments)
        return
    with pytest.raises(InputError, match=words):
        refuse(*arguments)


@pytest.mark.parametrize("percent", [29, 57, 58])
def test_a_budget_that_is_met_exactly(percent):
    allowed = percent / 100
    refuse_rejected(RESULTS, bad(percent, 100), allowed)
    refuse_gaps(judged(100), returned(run(judged=100 - percent, unjudged=0)), allowed, 1.0)
    with pytest.raises(InputError, match=f"{percent} of 99 rows rejected"):
        refuse_rejected(RESULTS, bad(percent, 99), allowed)


def test_scores_that_lack_more_queries_than_the_results():
    row = {"dataset": "default", "run": "bm25", "missing_queries": 1}
    refuse_lost(judged(5), returned(run(judged=4)), [row])
    with pytest.raises(
        InputError, match="run=bm25 lacks 2 judged queries in its scores, but lacked 1 when"
    ):
        refuse_lost(judged(5), returned(run(judged=4)), [{**row, "missing_queries": 2}])


def test_the_advice_is_about_the_rejections_that_one_mistake_explains():
    broken = Rejection("results", "broken_line", 1, "q;d;;")
    commas = Rejection("results", "score_is_no_number", 4, "q;d;0,6")
    counts = Counts(rows=9, rejected=5, rejections=[broken, commas])
    with pytest.raises(InputError, match="with a point") as caught:
        refuse_rejected(RESULTS, counts)
    assert "q;d;0,6 is in runs/bm25" in str(caught.value)
