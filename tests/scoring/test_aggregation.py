"""Query scores become dataset scores, and every run is told of."""

import datetime
import math
import statistics

from tables import assert_tables, of_tuples, table

from ndcg_spark.scoring.counted_queries import means

NIGHT = datetime.date(2026, 1, 31)
KEY = "dataset string, evaluated_on date, run string, cutoff int"
QUERY_SCORES = f"{KEY}, status string, returned bigint, judged bigint, ndcg double, dcg double, ideal_dcg double"


def scored(
    ndcg=0.5,
    dcg=1.0,
    ideal_dcg=2.0,
    status="scored",
    returned=10,
    judged=5,
    run="r",
    cutoff=10,
    dataset="web",
):
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
        {
            "queries": 0,
            **dict.fromkeys(("ndcg", "ndcg_pooled", "ndcg_stddev", "ndcg_stderr", "dcg")),
        },
    ),
    "the pool is null where the ideal adds up to 0": (
        [scored(0.0, 0.0, 0.0, "no_relevant"), scored(0.0, 0.0, 0.0, "no_relevant")],
        {"ndcg": 0.0, "ndcg_pooled": None},
    ),
    "one query has no deviation, and without results no judged rate": (
        [scored(0.0, status="missing", returned=0, judged=0)],
        {"queries": 1, "ndcg": 0.0, "ndcg_stddev": None, "ndcg_stderr": None, "judged_rate": None},
    ),
    "a deviation whose squares are too large for a double is null and never NaN": (
        [scored(1e200), scored(-1e200)],
        {"queries": 2, "ndcg": 0.0, "ndcg_stddev": None, "ndcg_stderr": None},
    ),
    "queries are counted by status whether they are in the mean or not": (
        [
            scored(None, status="missing"),
            scored(0.0, status="missing"),
            scored(0.0, status="no_relevant"),
            scored(),
        ],
        {"queries": 3, "missing_queries": 2, "no_relevant_queries": 1},
    ),
    "the judged rate is judged over returned documents of all queries": (
        [scored(returned=10, judged=5), scored(None, returned=2, judged=2)],
        {"judged_rate": (5 + 2) / (10 + 2)},
    ),
}


def test_a_dataset_score(session):
    query_scores, expected = [], []
    for case, (rows, scores) in CASES.items():
        # Each case is a run.
        query_scores += [(*row[:2], case, *row[3:]) for row in rows]
        for name, score in scores.items():
            value = None if score is None else float(score)
            expected.append({"run": case, "name": name, "score": value})
    named = sorted({row["name"] for row in expected})
    structs = [f"struct('{name}' as name, double({name}) as score)" for name in named]
    found = means(of_tuples(session, query_scores, QUERY_SCORES))
    found = found.selectExpr("run", f"inline(array({', '.join(structs)}))")
    wanted = table(session, expected, "run string, name string, score double")
    assert_tables(found.join(wanted, ["run", "name"], "semi"), wanted)
