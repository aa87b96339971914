"""Query scores become dataset scores, and every run is told of."""

import datetime
import math
import statistics

import pytest
from tables import assert_rows

from ndcg_spark.scoring.counted_queries import means, with_every_run

NIGHT = datetime.date(2026, 1, 31)
KEY = "dataset string, evaluated_on date, run string, cutoff int"
QUERY_SCORES = f"{KEY}, status string, returned bigint, judged bigint, ndcg double, dcg double, ideal_dcg double"
COUNTS = "queries bigint, missing_queries bigint, no_relevant_queries bigint"
RUNS = "dataset string, evaluated_on date, run string, unjudged_queries bigint"


def scored(ndcg=0.5, dcg=1.0, ideal_dcg=2.0, status="scored", returned=10, judged=5, run="r", cutoff=10, dataset="web"):
    return (dataset, NIGHT, run, cutoff, status, returned, judged, ndcg, dcg, ideal_dcg)


#: Query scores of one run, and what their dataset score has.
CASES = {
    "the mean and the deviation are over queries that have an ndcg": (
        [scored(1.0), scored(0.5), scored(0.0), scored(None)],
        {
            "queries": 3,
            "ndcg": (1.0 + 0.5 + 0.0) / 3,
            "ndcg_stddev": statistics.stdev([1.0, 0.5, 0.0]),
            "ndcg_stderr": statistics.stdev([1.0, 0.5, 0.0]) / math.sqrt(3),
        },
    ),
    "pooled is the sum of dcg over that of ideal dcg, of the queries in the mean": (
        [scored(0.5, 2.0, 4.0), scored(0.1, 1.0, 10.0), scored(None, 7.0, 100.0)],
        {"ndcg_pooled": (2.0 + 1.0) / (4.0 + 10.0), "dcg": (2.0 + 1.0) / 2},
    ),
    "a query that scores 0 without an ideal weighs in the mean and not in the pool": (
        [scored(1.0, 3.0, 3.0), scored(0.0, 0.0, 0.0, status="no_relevant")],
        {"ndcg": (1 + 0) / 2, "ndcg_pooled": 3 / 3, "dcg": (3 + 0) / 2},
    ),
    "without a query in the mean every score is null and never 0": (
        [scored(None, 0.0, 0.0, "no_relevant"), scored(None, 0.0, 3.0, "missing")],
        {"queries": 0, **dict.fromkeys(("ndcg", "ndcg_pooled", "ndcg_stddev", "ndcg_stderr", "dcg"))},
    ),
    "the pool is null where the ideal adds up to 0": (
        [scored(0.0, 0.0, 0.0, "no_relevant"), scored(0.0, 0.0, 0.0, "no_relevant")],
        {"ndcg": 0.0, "ndcg_pooled": None},
    ),
    "one query has no deviation, and without results no judged rate": (
        [scored(0.0, status="missing", returned=0, judged=0)],
        {"queries": 1, "ndcg": 0.0, "ndcg_stddev": None, "ndcg_stderr": None, "judged_rate": None},
    ),
    "queries are counted by status whether they are in the mean or not": (
        [scored(None, status="missing"), scored(0.0, status="missing"), scored(0.0, status="no_relevant"), scored()],
        {"queries": 3, "missing_queries": 2, "no_relevant_queries": 1},
    ),
    "the judged rate is judged over returned documents of all queries": (
        [scored(returned=10, judged=5), scored(None, returned=2, judged=2)],
        {"judged_rate": (5 + 2) / (10 + 2)},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_a_dataset_score(session, case):
    rows, expected = CASES[case]
    found = means(session.createDataFrame(rows, QUERY_SCORES))
    assert_rows(found.select(*expected), tuple(expected.values()))


def test_a_run_without_a_judged_query_has_a_row_of_zeros_and_nulls_at_every_cutoff(session):
    rows = [("web", NIGHT, "r", 10, None, 4, 2, 1, 0.5), ("web", NIGHT, "r", None, None, 4, 2, 1, 0.6)]
    table = session.createDataFrame(rows, f"{KEY}, attribute string, {COUNTS}, ndcg double")
    runs = session.createDataFrame([("web", NIGHT, "r", 3), ("web", NIGHT, "idle", 7)], RUNS)
    names = ["run", "cutoff", *(count.split()[0] for count in COUNTS.split(", ")), "unjudged_queries", "ndcg"]
    assert_rows(
        with_every_run(table, runs, [10, None]).select(*names),
        ("r", 10, 4, 2, 1, 3, 0.5),
        ("r", None, 4, 2, 1, 3, 0.6),
        ("idle", 10, 0, 0, 0, 7, None),
        ("idle", None, 0, 0, 0, 7, None),
    )
