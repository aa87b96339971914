from itertools import chain
from math import log2
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from scored import scored
from sessions import on_spark
from tables import arrow_results, assert_rows, graded_list, judgment, judgments, result, results

from ndcg_spark import Convention, evaluate
from ndcg_spark.errors import InputError
from ndcg_spark.schemas import DATASET_SCORES, QUERY_SCORES
from ndcg_spark.scoring import ideal

#: Worked examples from the literature, each the arithmetic of its list.
WORKED = [
    ([3, 1, 2, 0, 2], "exp2", 0.950849602851865),
    ([0, 1, 2, 2, 3], "exp2", 0.5664478625498256),
    ([3, 2, 2, 1, 0], "exp2", 1.0),
    ([2, 3, 1, 2], "exp2", 0.8508),
    ([3, 2, 3, 0, 1], "linear", 0.9724),
    ([3, 2, 3, 0, 1], "exp2", 0.9575),
    ([3, 2, 5, 0, 1], "linear", 0.8589),
]
#: A query of each status; 104 has results and no judgments.
JUDGED = [
    *(
        judgment(doc, grade, "101")
        for doc, grade in {"a": 2.0, "b": 0.0, "c": 1.0, "z": 3.0}.items()
    ),
    judgment("a", 0.0, "102"),
    judgment("b", 0.0, "102"),
    judgment("a", 1.0, "103"),
]
RETURNED = [
    *(result(doc, score, "101") for doc, score in {"x": 3.0, "a": 2.0, "b": 2.0, "c": 1.0}.items()),
    result("a", 2.0, "102"),
    result("b", 1.0, "102"),
    result("a", 1.0, "104"),
]
OTHER = result("a", 1.0, "103", "other")


def evaluated(session, judged, returned, cutoffs, convention="standard", **more):
    return evaluate(
        judgments(session, judged), results(session, returned), cutoffs, convention, **more
    )


@pytest.fixture(scope="module")
def tiny(session):
    scores = evaluated(
        session, JUDGED, [*RETURNED, OTHER], [3, None, 1], "trec_eval", dataset="tiny"
    )
    tables = {}
    for name in ("query_scores", "dataset_scores"):
        # Computed once for all tests.
        tables[name] = session.createDataFrame(getattr(scores, name).toArrow())
    return SimpleNamespace(**tables)


@pytest.mark.parametrize("gain", on_spark(["exp2", "linear"], "exp2"))
def test_a_worked_example_of_the_literature_has_its_score(session, gain):
    lists = {f"{grades}": (grades, score) for grades, of, score in WORKED if of == gain}
    rows = [graded_list(grades, query) for query, (grades, _) in lists.items()]
    judged, returned = (list(chain(*side)) for side in zip(*rows, strict=True))
    scores = scored(session, judged, returned, [4, 5], Convention(gain=gain, ideal="retrieved"))
    for query, (grades, expected) in lists.items():
        digits = 5e-5 if expected < 1 and len(str(expected)) < 8 else 1e-12
        assert scores.of(query, len(grades))["ndcg"] == pytest.approx(expected, abs=digits)


def home_made(grades, k):
    """NDCG as home-made jobs compute it: the list is cut at k, and its ideal is the cut list sorted."""
    cut = np.array(grades[:k], dtype=float)
    weights = 1 / np.log2(np.arange(2, len(cut) + 2))
    best = float((2.0 ** np.sort(cut)[::-1] - 1) @ weights)
    return float((2.0**cut - 1) @ weights) / best if best else 0.0


def test_a_home_made_ideal_of_the_cut_list_has_its_scores(session):
    chance = np.random.default_rng(7)
    drawn = chance.choice([0, 0, 1, 2, 3], (20, 12)).tolist()
    lists = {f"q{at}": grades for at, grades in enumerate(drawn)}
    # A relevant document that was not returned, or is below the cutoff, does not matter.
    rows = [graded_list(grades, query) for query, grades in lists.items()]
    judged, returned = (list(chain(*side)) for side in zip(*rows, strict=True))
    judged += [judgment("not returned", 3.0, query) for query in lists]
    convention = Convention(ideal="retrieved_at_k", no_relevant="zero")
    scores = scored(session, judged, returned, [1, 3, 10, None], convention)
    for query, grades in lists.items():
        for cutoff in (1, 3, 10, None):
            expected = home_made(grades, cutoff)
            assert scores.of(query, cutoff)["ndcg"] == pytest.approx(expected, abs=1e-12)
    first = [grades[0] > 0 for grades in lists.values()]
    statuses = [scores.of(query, 1)["status"] == "scored" for query in lists]
    assert (statuses, {*first}) == (first, {True, False})


def test_scores_have_their_schemas_and_a_row_for_every_run_judged_query_and_cutoff(tiny):
    assert (tiny.query_scores.columns, tiny.dataset_scores.columns) == (
        QUERY_SCORES.names,
        DATASET_SCORES.names,
    )
    keys = [(run, cutoff) for run in ("r", "other") for cutoff in (1, 3, None)]
    assert_rows(tiny.dataset_scores.select("run", "cutoff"), *keys)
    expected = [(run, query, cutoff) for run, cutoff in keys for query in ("101", "102", "103")]
    assert_rows(tiny.query_scores.select("run", "query_id", "cutoff"), *expected)


def test_status_and_counts_say_what_a_score_is_made_of(tiny):
    rows = tiny.query_scores.where("run = 'r' and cutoff = 3")
    assert_rows(
        rows.select("query_id", "status", "returned", "judged", "judgments_hash"),
        # The hash is the same on every engine.
        ("101", "scored", 3, 2, -5617087781903105544),
        ("102", "no_relevant", 2, 2, -2679488308036731589),
        ("103", "missing", 0, 0, 9054921231356182114),
    )


def test_dataset_scores_count_what_they_are_means_of(tiny):
    expected = {
        "dataset": "tiny",
        "convention": "trec_eval",
        "queries": 3,
        "missing_queries": 1,
        "no_relevant_queries": 1,
        "unjudged_queries": 1,
        "ndcg": (0.21000199575396408 + 0 + 0) / 3,
        "judged_rate": (2 + 2 + 0) / (3 + 2 + 0),
    }
    assert_rows(
        tiny.dataset_scores.where("run = 'r' and cutoff = 3").select(*expected),
        tuple(expected.values()),
    )


@pytest.mark.parametrize(
    ("option", "query"),
    on_spark([("no_relevant", "102"), ("missing_query", "103")], ("missing_query", "103")),
)
def test_a_policy_of_error_fails_the_plan_and_names_the_query(session, option, query):
    scores = evaluated(session, JUDGED, RETURNED, [3], Convention(**{option: "error"}))
    for table in (scores.query_scores, scores.dataset_scores):
        with pytest.raises(PySparkException, match=rf"\[{option}\].* e.g. run=r query_id={query}"):
            table.collect()


def test_a_run_of_which_no_query_was_judged_has_null_scores_and_its_count(session):
    judged = [judgment("a", 1.0, "q1", dataset="one")]
    returned = [
        result("a", 1.0, "q1", dataset="one"),
        result("a", 1.0, "q1", dataset="unknown", run="s"),
    ]
    scores = evaluated(session, judged, returned, [1, None]).dataset_scores
    names = (
        "run",
        "cutoff",
        "queries",
        "missing_queries",
        "no_relevant_queries",
        "unjudged_queries",
        "ndcg",
    )
    expected = [
        row for k in (1, None) for row in (("r", k, 1, 0, 0, 0, 1.0), ("s", k, 0, 0, 0, 1, None))
    ]
    assert_rows(scores.select(*names), *expected)


@pytest.mark.parametrize(
    ("returned", "options", "message"),
    [
        (arrow_results(*RETURNED).drop_columns("score"), {}, "missing, score or rank"),
        (arrow_results(*RETURNED), {"ties": "rank"}, "no column rank"),
        (arrow_results(result(dataset="one")), {}, "judgments: no column dataset"),
    ],
)
def test_tables_without_a_column_that_is_needed_are_refused(session, returned, options, message):
    with pytest.raises(InputError, match=message):
        evaluate(judgments(session, JUDGED), returned, [1], Convention(**options))


#: Rows that nobody has checked, beside good ones: of which table, under which options, and what is said.
BAD = [
    ([result(score=float("nan"))], {}, r"\[score_is_no_number\] results: .*doc_id=d1"),
    ([result(query_id=None)], {}, r"\[no_query_id\] results: .*query_id=null"),
    ([result(run="")], {}, r"\[no_run\] results: "),
    ([result(rank=0)], {"order": "rank"}, r"\[rank_is_no_rank\] results: "),
    ([result("d2", 0.5)], {}, r"\[returned_twice\].*run=r query_id=q1"),
    ([judgment("d2", None)], {}, r"\[relevance_is_no_number\] judgments: "),
    (
        [judgment("d2", -1.0)],
        {"negative": "error"},
        r"\[relevance_negative\] judgments: .*query_id=q1 doc_id=d2",
    ),
    (
        [judgment("d2", 4.0)],
        {"gain": {0: 0, 1: 1}},
        r"\[relevance_without_gain\] judgments: .*query_id=q1 doc_id=d2",
    ),
    # One of its grades is beyond the cutoff.
    (
        [judgment("d1", 0.0), judgment("d3", 0.5)],
        {},
        r"\[judged_twice\].*query_id=q1; .*judgment_duplicates=max",
    ),
    (
        [judgment("a", 1.0), judgment("a", 3.0)],
        {"gain": {1: 1, 3: 7}, "judgment_duplicates": "mean"},
        r"\[mean_without_gain\].*e.g. query_id=q1 doc_id=a relevance=2",
    ),
]


#: A column, values of which the second does not fit, and how it is shown.
UNFIT = [
    ("rank", [1, 2**31], "rank=2147483648"),
    ("rank", [1.0, 1.5], "rank=1.5"),
    ("score", ["1", "best"], "score=best"),
]


@pytest.mark.parametrize(("name", "values", "told"), on_spark(UNFIT, *UNFIT[1:]))
def test_a_value_that_does_not_fit_is_shown_as_it_is_in_the_library(session, name, values, told):
    returned = pa.table({"query_id": ["q1"] * 2, "doc_id": ["d1", "d2"], name: values})
    with pytest.raises(PySparkException, match=told):
        evaluate(judgments(session, [judgment()]), returned, [1]).query_scores.collect()


@pytest.mark.parametrize(("rows", "options", "reason"), on_spark(BAD, *BAD[::3]))
def test_a_row_that_cannot_be_scored_fails_the_plan_of_the_library(session, rows, options, reason):
    judged, returned = (
        [judgment("d1")],
        [result("d2", **({"rank": 1} if "rank" in rows[0] else {}))],
    )
    (returned if "run" in rows[0] else judged).extend(rows)
    with pytest.raises(PySparkException, match=reason):
        evaluated(session, judged, returned, [2], Convention(**options)).query_scores.collect()


@pytest.mark.embedded
@pytest.mark.parametrize(
    ("ranks", "scores"), [([1, 2, 1], [9.0, 8.0, 9.0]), ([1, 1, 1], [9.0, 8.0, 7.0])]
)
def test_results_that_share_rank_1_are_one_list(session, ranks, scores):
    judged = [judgment("a"), judgment("c")]
    returned = [
        result(doc, score, rank=rank) for doc, rank, score in zip("abc", ranks, scores, strict=True)
    ]
    (row,) = scored(session, judged, returned, 1, "trec_eval").query_scores
    assert row["cg"] == 1


def test_results_of_rank_1_with_different_scores_are_refused(session):
    returned = [
        result(doc, score, rank=rank)
        for doc, rank, score in [("a", 1, 9.0), ("b", 2, 8.0), ("c", 1, 7.0)]
    ]
    with pytest.raises(
        PySparkException, match=r"\[two_lists_in_one\] results: .* run=r query_id=q1; give each run"
    ):
        scored(session, [judgment("a")], returned, 1, "trec_eval").ndcg(1)
    chosen = scored(session, [judgment("a")], returned, 1, "trec_eval order=score")
    assert chosen.ndcg(1) == {"q1": 1.0}


#: Discounts, and their first three weights.
WEIGHTS = [
    ("log2", [1, 1 / log2(3), 1 / 2]),
    ([1, 0.5], [1, 0.5, 0]),
    ("python:numpy.reciprocal", [1, 1 / 2, 1 / 3]),
]


@pytest.mark.parametrize(("discount", "weights"), on_spark(WEIGHTS, WEIGHTS[-1]), ids=str)
def test_an_ideal_of_k_relevant_documents_is_of_k_whatever_was_judged(session, discount, weights):
    convention = Convention(gain="binary", ideal="k_relevant", discount=discount)
    judged, returned = [judgment("a"), judgment("b", 0.0)], [result("b", 2.0), result("a", 1.0)]
    scores = evaluated(session, judged, returned, [1, 3], convention).query_scores
    whole = sum(weights)
    expected = (1, weights[0], 0.0), (3, whole, weights[1] / whole)
    assert_rows(scores.select("cutoff", "ideal_dcg", "ndcg"), *expected)


GRADES = [("a", 2.0), ("b", 0.0), ("c", 1.0)]


def hashes(session, *lists):
    """The hash of each list of judgments, as a query among the others."""
    rows = [
        judgment(doc, grade, f"q{at}") for at, judged in enumerate(lists) for doc, grade in judged
    ]
    judged = ideal.judged_documents(judgments(session, rows[::-1]), ["query_id"], Convention())
    queries = ideal.judged_queries(judged, ["query_id"], 1)
    by_query = {row["query_id"]: row["judgments_hash"] for row in queries.collect()}
    return [by_query[f"q{at}"] for at in range(len(lists))]


def test_only_other_judgments_have_another_hash(session):
    others = [[("a", 3.0), *GRADES[1:]], [*GRADES, ("d", 0.0)], GRADES[1:]]
    first, same, *changed = hashes(session, GRADES, GRADES[::-1], *others)
    assert first == same
    assert len({first, *changed}) == 1 + len(others)
    assert hashes(session, GRADES) == [first]


#: The list x, a, b, c, of which x is not judged, with the sums of the discounts of judged and of all ranks. With
#: averaged ties, a rank of the pair x and a is half judged.
OF_3, OF_4 = 1 / log2(3) + 1 / log2(4), 1 / log2(3) + 1 / log2(4) + 1 / log2(5)
SHARES = [
    ({}, {1: (0.0, 1.0), 3: (OF_3, 1 + OF_3), None: (OF_4, 1 + OF_4)}),
    ({"ties": "average"}, {1: (1 / 2, 1.0), 3: (1 / 2 + OF_3 - 1 / 2 / log2(3), 1 + OF_3)}),
    ({"unjudged": "drop"}, {3: (1.0, 1.0)}),
    ({"discount": [1, 0.5, 0]}, {3: (0.5, 1.5)}),
]


@pytest.mark.parametrize(("options", "shares"), on_spark(SHARES, *SHARES[:2]), ids=str)
def test_the_share_of_the_discounts_that_judged_documents_have(session, options, shares):
    scores = {"x": 2.0, "a": 2.0, "b": 1.0, "c": 0.5}
    returned = [result(doc, score, "q1") for doc, score in scores.items()]
    judged = [judgment(doc, 1.0, "q1") for doc in "abc"] + [judgment("a", 1.0, "q2")]
    found = scored(session, judged, returned, [*shares], Convention(**options))
    for cutoff, (judged_ranks, all_ranks) in shares.items():
        share = found.of("q1", cutoff)["judged_discount_share"]
        assert share == pytest.approx(judged_ranks / all_ranks, rel=1e-12)
        # Nothing is on the list of a missing query.
        assert found.of("q2", cutoff)["judged_discount_share"] is None
